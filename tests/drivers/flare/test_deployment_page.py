"""docs/deployment.md as it stands: its files written and its commands run, in order, for three hospitals."""

import json
import os
import re
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil
import pytest

from secfc.agreement.statement import read_summary
from secfc.drivers.flare.federation import free_port
from secfc.drivers.flare.kits import AUTHORIZATION, CLASSES

PAGE = (Path(__file__).parents[3] / "docs" / "deployment.md").read_text()
BLOCKS = re.findall(r"^```(\w+) title=\"([^\n]+)\"\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
LETTERS = "abc"


def block(name):
    return next(text for _, place, text in BLOCKS if place == name)


def test_the_page_shows_the_authorization_that_a_kit_gets():
    assert json.loads(block("authorization.json")) == AUTHORIZATION


def test_the_page_shows_the_class_that_a_site_allows():
    assert json.loads("{" + block("resources.json") + "}")["class_allow_list"] == [CLASSES["site"]]


def of_a_hospital(text, letter):
    return text.replace("hospital-a", f"hospital-{letter}").replace("hospital_a", f"hospital_{letter}")


def write_rows(folder, letter):
    rng = np.random.default_rng(ord(letter))
    rows = rng.normal(size=(40, 4)) + rng.integers(3, size=(40, 1)) * 6
    lines = ["patient,diagnosis,w,x,y,z"]
    lines += [f"{letter}{at},none,{','.join(map(str, row.tolist()))}" for at, row in enumerate(rows)]
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")


def end_all(folder):
    for _ in range(3):  # a daemon may have started another in between
        for process in psutil.process_iter(["cmdline"]):
            if str(folder) in " ".join(process.info["cmdline"] or []):
                with suppress(psutil.NoSuchProcess):
                    process.kill()
        time.sleep(0.5)


@pytest.mark.slow
@pytest.mark.flare
@pytest.mark.timeout(900)
def test_three_hospitals_follow_the_page(tmp_path):
    port = str(free_port())
    paths = [str(Path(sys.executable).parent), os.environ["PATH"]]
    environment = os.environ | {"HOME": str(tmp_path), "PATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}

    def here(text):
        return text.replace("coordinator.example.com", "localhost").replace("8002", port)

    def run(place, script):
        with (tmp_path / "said").open("w") as said:
            done = subprocess.run(
                ["bash", "-eu", "-c", here(script)],
                cwd=tmp_path / place,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                timeout=200,
                check=False,
            )
        assert done.returncode == 0, (place, script, (tmp_path / "said").read_text())

    (tmp_path / "coordinator").mkdir()
    for letter in LETTERS:
        (tmp_path / f"hospital-{letter}").mkdir()
        write_rows(tmp_path / f"hospital-{letter}", letter)
    try:
        for kind, place, text in BLOCKS:
            copies = [(place, text)]
            if place.startswith("hospital-a"):
                copies = [(of_a_hospital(place, one), of_a_hospital(text, one)) for one in LETTERS]
            for where, what in copies:
                if kind == "sh":
                    run(where, what)
                elif "/" in where:
                    what = what.replace("expires = 2030-12-31", "expires = 9999-12-31")  # noqa: PLW2901
                    (tmp_path / here(where)).write_text(here(what))
        summary = read_summary(tmp_path / "coordinator" / "summary.json")
        assert summary.coordinator["ended"] == "complete"
        assert [one.statement.party for one in summary.statements] == [f"hospital-{one}" for one in LETTERS]
        for letter in LETTERS:
            (run_folder,) = (tmp_path / f"hospital-{letter}" / "results").iterdir()
            lines = (run_folder / "labels.csv").read_text().splitlines()
            assert lines[0] == '"patient","label"'
            assert len(lines) == 41
            statement = json.loads((run_folder / "statement.json").read_text())["statement"]
            assert statement["run"] == run_folder.name == summary.coordinator["run"]
        until = time.monotonic() + 90
        while alive(tmp_path) and time.monotonic() < until:
            time.sleep(1)
        assert alive(tmp_path) == []
    finally:
        end_all(tmp_path)


def alive(folder):
    commands = [" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])]
    return [command for command in commands if str(folder) in command]
