"""Run benchmarks and attacks, and store their results.

Each is its own command (`python -m benchmarks NAME --json`, or the script of the peers), started with the
current interpreter. Attacks of a letter are stored apart, as "privacy-l". Rows are stored with the machine,
the commit and the command. If one fails, the last message names it and its old results stay.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.costs.machine import commit, machine
from benchmarks.privacy.measure import letters
from benchmarks.report import BENCHMARKS, write_report
from secfc.errors import ParameterError

HERE = Path(__file__).resolve().parent

_ATTACKS = "privacy-"

Rows = list[dict[str, Any]]


def record_all(only: Sequence[str], skip: Sequence[str], *, quick: bool, out: Path) -> list[str]:
    """Run benchmarks and attacks, store their results in a folder and write RESULTS.md beside that folder.

    RESULTS.md has no attacks: if only attacks are run, it stays as it is.

    Parameters
    ----------
    only, skip : sequences of str
        Names of `BENCHMARKS`, and "privacy-" with a letter of attacks; all if `only` is empty.
    quick : bool
        Small sizes, a few minutes.
    out : Path
        The folder; it is created if missing.

    Returns
    -------
    list of str
        The benchmarks that failed.
    """
    known = (*BENCHMARKS, *(f"{_ATTACKS}{letter}" for letter in letters()))
    for name in (*only, *skip):
        if name not in known:
            raise ParameterError(f"there is no benchmark {name!r}, only {', '.join(known)}")
    out.mkdir(parents=True, exist_ok=True)
    failed = []
    chosen = [one for one in only or known if one not in skip]
    for name in chosen:
        print(f"{datetime.now():%H:%M:%S} {name}", file=sys.stderr, flush=True)
        started, clock = datetime.now(UTC), time.perf_counter()
        shown, rows = _peers(quick) if name == "peers" else _command(name, quick)
        if rows is None:
            failed.append(name)
            continue
        seconds = time.perf_counter() - clock
        path = out / f"{name}.json"
        write_result(path, name, rows, command=shown, quick=quick, started=started, seconds=seconds)
    if set(chosen) & set(BENCHMARKS):
        write_report(out)
    return failed


def write_result(
    path: Path, name: str, rows: Rows, *, command: str, quick: bool, started: datetime, seconds: float
) -> None:
    """Store a benchmark's rows with machine and commit. An old file stays until the new one is complete."""
    result = {
        "benchmark": name,
        "command": command,
        "quick": quick,
        "commit": commit(HERE.parent),
        "started": started.isoformat(timespec="seconds"),
        "seconds": round(seconds, 1),
        "machine": machine(),
        "rows": rows,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".part")
    draft.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    os.replace(draft, path)


def _command(name: str, quick: bool) -> tuple[str, Rows | None]:
    attack = name.removeprefix(_ATTACKS)
    asked = [name] if attack == name else ["privacy", "--only", attack]
    arguments = ["-m", "benchmarks", *asked, "--json", *(["--quick"] if quick else [])]
    shown = " ".join(["python", *arguments])
    path = os.pathsep.join(filter(None, (str(HERE.parent), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    return shown, json.loads(done.stdout) if done.returncode == 0 else None


def _peers(quick: bool) -> tuple[str, Rows | None]:
    sizes = ["a"] if quick else ["a", "b", "c"]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "peers.json"
        command = ["sh", str(HERE / "peers" / "run.sh"), str(out), *sizes]
        done = subprocess.run(command, env={**os.environ, "PYTHON": sys.executable}, check=False)
        shown = " ".join(["benchmarks/peers/run.sh peers.json", *sizes])
        return shown, json.loads(out.read_text(encoding="utf-8")) if done.returncode == 0 else None
