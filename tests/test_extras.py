"""What works in an installation without extras, and which extra an error names."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import secfc

FOUND = [Path(secfc.__file__).parents[1], Path(__file__).resolve().parents[1]]  # secfc, then benchmarks

BLOCKED = """
import sys
sys.modules |= dict.fromkeys(("numba", "llvmlite", "sklearn", "scipy", "joblib", "threadpoolctl"))
"""

WORKS = """
import json
import secfc
from secfc import *
from secfc.cli.app import app

def command(*words):
    assert not app(words, standalone_mode=False), words

rows = [[[0.0], [0.2]], [[9.0], [9.1]], [[0.1], [9.2]]]
labels = {
    driver: [part.tolist() for part in run(rows, 2, 1, 1, driver=driver, seed=1).labels]
    for driver in ("in-process", "multiprocess")
}
for name, part in zip("abc", rows):
    with open(f"{name}.csv", "w") as file:
        file.write("x\\n" + "".join(f"{row[0]}\\n" for row in part))
files = ["a.csv", "b.csv", "c.csv"]
command("run", *files, "-k", "2", "--out", "out", "--report", "page.html")
command("predict", *files, "--run", "out", "--new", "a=b.csv", "--consent", "all", "--out", "new")
command("choose-k", *files, "--from", "2", "--to", "2", "--disclosure", "coded")
print(json.dumps(labels))
"""

ERRORS = """
import secfc
from secfc.prepare import Column, Schema

def told(call):
    try:
        call()
    except Exception as error:
        print(f"{type(error).__name__}: {error}")

rows = [[[0.0]], [[9.0]], [[0.1]]]
result = secfc.run(rows, 2, 1, 1, seed=1)
told(lambda: secfc.SecureKMeans(2))
told(lambda: secfc.Prepare(Schema(columns=(Column(name="age", low=0, high=120),))))
told(lambda: result.report("page.html", pooled=rows))
told(lambda: __import__("plaintext_baselines"))
"""

INSTALL = "pip install '.[sklearn]' in a checkout of secfc"


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """Run Python where Numba, scikit-learn and what they bring are missing, also in child processes."""
    place = tmp_path_factory.mktemp("bare")
    (place / "sitecustomize.py").write_text(BLOCKED)

    def run(*words):
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, [place, *FOUND]))}
        return subprocess.run(
            [sys.executable, *words], capture_output=True, text=True, env=environment, cwd=place, check=False
        )

    return run


@pytest.mark.interpreters
def test_runs_files_reports_and_predictions_need_no_scikit_learn(bare):
    done = bare("-c", WORKS)
    assert done.returncode == 0, done.stderr
    same = "[[0, 0], [1, 1], [0, 1]]"
    assert done.stdout.splitlines()[-1] == f'{{"in-process": {same}, "multiprocess": {same}}}'


@pytest.mark.interpreters
def test_what_needs_scikit_learn_names_the_extra(bare):
    done = bare("-c", ERRORS)
    assert done.stdout.splitlines() == [
        f"ParameterError: scikit-learn is needed for secfc.SecureKMeans, {INSTALL}",
        f"ParameterError: scikit-learn is needed for secfc.Prepare, {INSTALL}",
        f"ParameterError: scikit-learn is needed for a comparison with the pooled rows, {INSTALL}",
        f"ModuleNotFoundError: plaintext_baselines needs scikit-learn, {INSTALL}",
    ], done.stderr


@pytest.mark.interpreters
@pytest.mark.parametrize(
    ("command", "purpose"),
    [(("secfc", "demo"), "secfc demo"), (("benchmarks", "reproduce", "--list"), "benchmarks")],
)
def test_a_command_that_needs_scikit_learn_names_the_extra(bare, command, purpose):
    done = bare("-m", *command)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        " ".join(done.stderr.split())
        == f"error: ParameterError: scikit-learn is needed for {purpose}, {INSTALL}"
    )
