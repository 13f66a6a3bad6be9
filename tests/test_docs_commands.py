"""Every command in a block of README.md and docs/ runs as written, or is listed here with a reason."""

import csv
import os
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from support import warm
from test_docs_agreeing import run_page

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

PAGES_WITH_A_TEST = {
    "guide.md": "tests/docs/test_guide.py",  # makes the files that it is about
    "prepare.md": "tests/prepare/test_page.py",  # makes files that fit the page's schema
    "agreeing-on-a-job.md": "tests/test_docs_agreeing.py",  # makes the files that it is about
    "committee.md": "tests/test_docs_committee.py",  # makes the files that it is about
    "databases.md": "tests/test_docs_databases.py",  # needs a PostgreSQL server
    "deployment.md": "tests/drivers/flare/test_deployment_page.py",  # needs NVIDIA FLARE
}
RUN_ELSEWHERE = {
    "secfc demo": "tests/test_cli.py",
    "secfc consortium rehearse": "tests/drivers/flare/test_rehearsal.py",  # needs NVIDIA FLARE
    # Minutes, or files that are not part of the project:
    "python -m benchmarks reproduce secfc-table2": "tests/reproduce/test_reproduce.py",
    "python -m benchmarks reproduce fkm-figure3": "tests/reproduce/test_reproduce.py",
    "python -m benchmarks reproduce dwf-synthetic": "tests/reproduce/test_reproduce.py",
}
"""Commands that the test below leaves out, by their beginning, and the tests that run such a command."""


def commands(page):
    """The commands of secfc and benchmarks in a page's blocks, fenced and indented, in order."""
    text = page.read_text().replace("\\\n", " ")
    blocks = re.findall(
        r"^```(?:bash|sh|)(?: [^\n]*)?\n(.*?)^```|^    (\S.*)$", text, re.DOTALL | re.MULTILINE
    )
    lines = [line for fenced, indented in blocks for line in (fenced or indented).splitlines()]
    found = [
        re.fullmatch(r"(?:.*&& )?((?:secfc|python -m benchmarks) [a-z].*)", line.strip()) for line in lines
    ]
    return [match[1] for match in found if match]


def elsewhere(command):
    return next((begin for begin in RUN_ELSEWHERE if command.startswith(begin)), None)


WITH_COMMANDS = [
    page
    for page in PAGES
    if page.name not in PAGES_WITH_A_TEST and any(not elsewhere(one) for one in commands(page))
]


@pytest.fixture
def folder(tmp_path):
    """Files of the pages' organisations: a CSV file each, and for north another one with new rows."""
    rng = np.random.default_rng(8)
    for number, (name, m) in enumerate((("north", 24), ("south", 21), ("west", 27), ("admitted", 5))):
        rows = rng.normal(0, 1, (m, 2)) + rng.integers(5, size=(m, 1)) * 9
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["patient", "age", "dose", "diagnosis"])
            writer.writerows([f"p{number}{at}", *row, "none"] for at, row in enumerate(rows.tolist()))
    return tmp_path


ABOUT_A_JOB = {"sign-off.md"}
"""Pages whose commands are about the job of docs/agreeing-on-a-job.md after its run."""


@pytest.mark.processes
@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.stem)
def test_commands_of_a_page_work_as_they_stand(page, folder):
    if page.name in ABOUT_A_JOB:
        run_page(folder, until="secfc ids-key")
    written = {}
    for at, command in enumerate(commands(page)):
        if elsewhere(command):
            continue
        # Each command of a page writes to its own folder, because most pages call it "result".
        line = re.sub(r"(--out|--report) (\S+)", rf"\1 {at}-\2", command)
        for name, folder_of_run in written.items():
            line = line.replace(f"--run {name} ", f"--run {folder_of_run} ")
        written |= {name: f"{at}-{name}" for name in re.findall(r"--out (\S+)", command)}
        words = shlex.split(line, comments=True)
        at_hand = {"PYTHONPATH": str(ROOT)} if words[0] == "python" else {}  # benchmarks/ is not installed
        done = warm.run(
            [sys.executable, *(words[1:] if words[0] == "python" else ["-m", *words])],
            cwd=folder,
            env={**os.environ, **at_hand, "COLUMNS": "100", "NO_COLOR": "1", "MPLBACKEND": "agg"},
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )
        if "matplotlib" in done.stderr and "--plot" in command:  # an extra that the tests do without
            assert done.returncode == 2
            continue
        assert done.returncode == 0, (command, done.stderr)
        assert "Traceback" not in done.stderr


def test_pages_and_commands_that_are_run_elsewhere_are_on_a_page_and_their_tests_exist():
    for name, test in PAGES_WITH_A_TEST.items():
        assert name in {page.name for page in PAGES}
        assert (ROOT / test).is_file()
    everything = [command for page in PAGES for command in commands(page)]
    for begin, test in RUN_ELSEWHERE.items():
        assert any(command.startswith(begin) for command in everything), begin
        assert (ROOT / test).is_file()
