"""What `secfc job run` says beside the result."""

import pytest
from support.organisations import NAMES, Organisations
from typer.testing import CliRunner

from secfc.cli.app import app


@pytest.mark.processes
def test_the_command_says_which_log_has_the_text_of_a_sites_error(tmp_path):
    made = Organisations(tmp_path)
    made.replace(made.job, "k = 2", 'k = 2\nreveal_centres = ["south"]')
    for name in NAMES:
        made.write_site(name, more='[limits]\nreveal_centres = ["south"]\n')
    made.sign()
    made.write_site("west")
    (tmp_path / "north.log").write_text("of an earlier run\n")
    done = CliRunner().invoke(app, ["job", "run", str(made.job), *map(str, map(made.site, NAMES)), "--quiet"])
    assert done.exit_code == 3
    assert f"{tmp_path / 'west.log'}: the whole text of an error" in done.stderr
    assert "limits.reveal_centres" in (tmp_path / "west.log").read_text()
    assert "north.log" not in done.stderr
