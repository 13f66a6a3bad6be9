"""Three hospitals and a coordinator run the commands of docs/deployment.md in order."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil
import pytest

from secfc.agreement.audit import audit
from secfc.agreement.job_file import read_job
from secfc.agreement.statement import read_summary
from secfc.drivers.flare.federation import free_port
from secfc.drivers.flare.kits import CLASSES
from secfc.drivers.flare.run_state import read_standing

PAGE = (Path(__file__).parents[3] / "docs" / "deployment.md").read_text()
BLOCKS = re.findall(r"^```sh title=\"([^\n]+)\"\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
STEPS = [(place, line) for place, text in BLOCKS for line in text.replace("\\\n", " ").splitlines()]
HAND_OVERS = re.findall(
    r"^\| (each hospital|the coordinator) \| `(\S+)` \| [^|]+ \| `(\S+)` \|", PAGE, re.MULTILINE
)
LETTERS = "abc"
pytestmark = pytest.mark.flare
MOST_COMMANDS = 15


def test_the_page_has_15_commands_in_all_and_hands_over_three_times():
    assert all(line.startswith("secfc ") for _, line in STEPS)
    at = [place for place, _ in STEPS]
    assert set(at) == {"coordinator", "hospital-a"}
    assert at.count("coordinator") + len(LETTERS) * at.count("hospital-a") == MOST_COMMANDS
    assert len(HAND_OVERS) == 3


def test_the_page_names_the_class_that_a_site_allows():
    assert CLASSES["client"] in PAGE


def of_a_hospital(text, letter):
    return text.replace("hospital-a", f"hospital-{letter}")


def write_rows(folder, letter):
    rng = np.random.default_rng(ord(letter))
    rows = rng.normal(size=(40, 4)) + rng.integers(3, size=(40, 1)) * 6
    lines = ["patient,diagnosis,w,x,y,z"]
    lines += [f"{letter}{at},none,{','.join(map(str, row.tolist()))}" for at, row in enumerate(rows)]
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")


def hand_over(folder):
    """Copy each existing file of the page's table to its recipients."""
    sites = [f"hospital-{letter}" for letter in LETTERS]
    for who, file, name in HAND_OVERS:
        for site in sites:
            giver, taker = (site, "coordinator") if who == "each hospital" else ("coordinator", site)
            letter = site[-1]
            given = folder / giver / of_a_hospital(file, letter)
            if given.exists():
                shutil.copy(given, folder / taker / of_a_hospital(name, letter))


def kits(folder):
    """FLARE's folders of the server and of each hospital."""
    server = folder / "coordinator" / "consortium" / "server"
    return [server, *(folder / f"hospital-{letter}" / "consortium" / "kit" for letter in LETTERS)]


def alive(folder):
    commands = [" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])]
    return [command for command in commands if str(folder) in command]


def end_all(folder, started):
    for process in started:
        process.kill()
        process.wait()
    for process in psutil.process_iter(["cmdline"]):
        if str(folder) in " ".join(process.info["cmdline"] or []):
            with suppress(psutil.NoSuchProcess):
                process.kill()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_three_hospitals_follow_the_page(tmp_path):
    port = str(free_port())
    paths = [str(Path(sys.executable).parent), os.environ["PATH"]]
    environment = os.environ | {"HOME": str(tmp_path), "PATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    started = {}

    def start(place, line):
        line = line.replace("coordinator.example.com", "localhost").replace("8002", port)
        with (tmp_path / f"{place}.said").open("a") as said:
            return subprocess.Popen(
                ["bash", "-eu", "-c", line],
                cwd=tmp_path / place,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )

    def ends_well(place, line, process):
        assert process.wait(timeout=300) == 0, (place, line, (tmp_path / f"{place}.said").read_text())

    (tmp_path / "coordinator").mkdir()
    for letter in LETTERS:
        (tmp_path / f"hospital-{letter}").mkdir()
        write_rows(tmp_path / f"hospital-{letter}", letter)
    try:
        for place, line in STEPS:
            hand_over(tmp_path)
            who = [place] if place == "coordinator" else [f"hospital-{letter}" for letter in LETTERS]
            for one in who:
                own = line if place == "coordinator" else of_a_hospital(line, one[-1])
                process = start(one, own)
                if own.startswith("secfc consortium start"):  # it ends with the coordinator's next command
                    started[one] = own, process
                else:
                    ends_well(one, own, process)
        for one, (own, process) in started.items():
            ends_well(one, own, process)
        folder = tmp_path / "coordinator" / "consortium"
        summary, agreement = read_summary(folder / "job.summary.json"), read_job(folder / "job.toml")
        assert summary.coordinator["ended"] == "complete"
        assert [finding.text for finding in audit(summary, agreement) if not finding.holds] == []
        assert [one.statement.party for one in summary.statements] == [f"hospital-{one}" for one in LETTERS]
        assert "Blood values" in (tmp_path / "coordinator" / "report.html").read_text()
        for kit in kits(tmp_path):  # a good run logs no error
            logged = [*kit.rglob("*.txt"), *kit.rglob("*.json")]
            assert not [path for path in logged if re.search(r" - ERROR - |\"ERROR\", ", path.read_text())]
            assert "error_log.txt" not in {path.name for path in logged if path.stat().st_size}
            assert read_standing(kit)[1] == "ended: complete"
        for letter in LETTERS:
            (run_folder,) = (tmp_path / f"hospital-{letter}" / "results").iterdir()
            lines = (run_folder / "labels.csv").read_text().splitlines()
            assert lines[0] == '"patient","label"'
            assert len(lines) == 41
            statement = json.loads((run_folder / "statement.json").read_text())["statement"]
            assert statement["run"] == run_folder.name == summary.coordinator["run"]
        until = time.monotonic() + 60
        while alive(tmp_path) and time.monotonic() < until:
            time.sleep(1)
        assert alive(tmp_path) == []
    finally:
        end_all(tmp_path, [process for _, process in started.values()])
