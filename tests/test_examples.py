"""The examples run, and say what they promise."""

import runpy
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_registries(capsys):
    runpy.run_path(str(EXAMPLES / "registries.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "260 patients in clusters of [70, 79, 111]"
    assert lines[-1] == "a patient in two registries: ids: an ID is held more than once"
    assert len([line for line in lines if "looks up its own patients" in line]) == 3
