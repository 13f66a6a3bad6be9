"""What people see, and what logs keep, during a run."""

import io
import logging
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

import secfc
from secfc.api.progress_bar import progress_bar
from secfc.protocol.progress import Progress

ROWS = [np.random.default_rng(2).normal(size=(m, 2)) * 1.2345 for m in (30, 20, 25)]


def run(**arguments):
    return secfc.run(ROWS, 4, 1, 1, seed=3, disclosure="coded", **arguments)


def lines_of(caplog, **arguments):
    with caplog.at_level(logging.DEBUG, logger="secfc"):
        result = run(**arguments)
    return result, [record for record in caplog.records if record.name == "secfc.run"]


@pytest.mark.parametrize("driver", ["in-process", pytest.param("multiprocess", marks=pytest.mark.processes)])
def test_every_log_line_carries_the_run(caplog, driver):
    result, records = lines_of(caplog, driver=driver)
    assert len(records) > 5
    assert {record.run for record in records} == {result.run_id}
    assert all(result.run_id in record.getMessage() for record in records)


def test_log_lines_name_phases_iterations_and_the_end(caplog):
    result, records = lines_of(caplog)
    text = "\n".join(record.getMessage() for record in records)
    assert [text.count(f"phase {name}") for name in ("share", "iterate", "reveal")] == [1, 1, 1]
    assert f"converged after {result.n_iter} iterations" in text
    assert len(re.findall("rows moved", text)) == result.n_iter


def test_log_lines_hold_no_label_and_no_value(caplog):
    _, records = lines_of(caplog)
    text = "\n".join(record.getMessage() for record in records)
    assert "[" not in text
    for value in np.concatenate(ROWS).ravel():
        assert f"{value:.4g}" not in text


def test_nothing_is_logged_where_nobody_listens():
    code = "import secfc; secfc.run([[[1.0]], [[2.0]], [[9.0]]], 2, 1, 1, init=[[0], [0], [1]])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_a_bar_shows_phase_iterations_moved_rows_inertia_and_bytes():
    console = Console(record=True, width=140, force_terminal=True, file=io.StringIO())
    with progress_bar(n=3, console=console) as show:
        run(progress=show)
    text = console.export_text()
    assert re.search(r"done .*iteration \d+, 0 rows moved, inertia [\d.]+, [\d.]+ kB", text)


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_a_bar_says_as_much_as_fits(width):
    console = Console(record=True, width=width, force_terminal=True, file=io.StringIO())
    standing = Progress(
        phase="iterate",
        waiting_for=0,
        round=20,
        iteration=120,
        moved=12345,
        inertia=1.23456e14,
        sent_bytes=10**9,
    )
    with progress_bar(n=3, console=console) as show:
        show(standing)
    text = console.export_text()
    assert "iterate" in text
    assert "iteration 120" in text
    assert "12345 rows moved" in text
    assert ("1.00 GB" in text) == (width >= 100)
    assert len(text.splitlines()) == 1


def test_the_bar_of_a_run_goes_to_standard_error():
    code = (
        "import secfc; secfc.run([[[1.0]], [[2.0]], [[9.0]]], 2, 1, 1, init=[[0], [0], [1]], progress='bar')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert "done" in done.stderr


def test_another_word_than_bar_is_refused():
    with pytest.raises(secfc.ParameterError, match="progress: 'bar' or a callable"):
        run(progress="tqdm")


def test_in_a_notebook_the_bar_is_one_line_that_changes(monkeypatch):
    lines = []

    class Line:
        def update(self, data, raw):
            lines.append(data["text/plain"])

    def display(data, raw, display_id):
        lines.append(data["text/plain"])
        return Line()

    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    run(progress="bar")
    assert lines[0] == "starting"
    assert re.fullmatch(r"(identify|share) +█*░* \d of 3 clients, \d.*, 0 s", lines[1])
    assert re.fullmatch(r"done +█+ iteration \d+, 0 rows moved, inertia [\d.]+, [\d.]+ kB, \d+ s", lines[-1])


def test_in_a_terminal_of_ipython_the_bar_is_on_standard_error(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=SimpleNamespace))
    run(progress="bar")
    assert "done" in capsys.readouterr().err
