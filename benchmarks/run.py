"""Run every benchmark and write benchmarks/results/*.json and benchmarks/RESULTS.md.

Usage: python benchmarks/run.py [--quick] [--only NAME ...] [--skip NAME ...] [--out DIR] [--storage DIR]

Each benchmark is its own command (`secfc bench NAME --json` or a script beside this), started with the
interpreter that runs this; its rows are stored with the machine, the commit and the command. One that fails
is named at the end and keeps its old results. RESULTS.md is made by benchmarks/report.py, which can be run
again by itself.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from secfc.bench.machine import commit, machine

BENCHMARKS = (
    "iteration",
    "sharing",
    "figure1",
    "scaling",
    "runs",
    "disclosure",
    "resilience",
    "bytes",
    "memory",
    "membership",
    "engines",
    "peers",
)


def main() -> int:
    """Run what was asked for; the number of failures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, a few minutes")
    parser.add_argument("--only", nargs="+", choices=BENCHMARKS, default=BENCHMARKS)
    parser.add_argument("--skip", nargs="+", choices=BENCHMARKS, default=())
    parser.add_argument("--out", type=Path, default=HERE / "results")
    parser.add_argument("--storage", type=Path, help="folder with 30 GB free for the memory benchmark")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    failed = []
    for name in (one for one in options.only if one not in options.skip):
        print(f"{datetime.now():%H:%M:%S} {name}", file=sys.stderr, flush=True)
        if not _measure(name, options):
            failed.append(name)
    subprocess.run([sys.executable, str(HERE / "report.py"), "--results", str(options.out)], check=True)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return len(failed)


def _measure(name: str, options: argparse.Namespace) -> bool:
    """Run one benchmark and store what it found; whether it succeeded."""
    started, clock = datetime.now(UTC), time.perf_counter()
    if name == "peers":
        shown, rows = _peers(options.quick)
    elif name == "engines":
        shown, rows = _engines(options.quick)
    else:
        shown, rows = _bench(name, options)
    if rows is None:
        return False
    result = {
        "benchmark": name,
        "command": shown,
        "quick": options.quick,
        "commit": commit(HERE.parent),
        "started": started.isoformat(timespec="seconds"),
        "seconds": round(time.perf_counter() - clock, 1),
        "machine": machine(),
        "rows": rows,
    }
    path = options.out / f"{name}.json"
    draft = path.with_suffix(".part")
    draft.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    os.replace(draft, path)
    return True


def _bench(name: str, options: argparse.Namespace) -> tuple[str, list | None]:
    arguments = ["bench", name, "--json", *(["--quick"] if options.quick else [])]
    shown = "secfc " + " ".join(arguments)
    if name == "memory" and options.storage is not None:
        arguments += ["--storage", str(options.storage)]
    path = os.pathsep.join(filter(None, (str(HERE.parent), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, "-m", "secfc", *arguments],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    return shown, json.loads(done.stdout) if done.returncode == 0 else None


def _engines(quick: bool) -> tuple[str, list | None]:
    """Needs secfc[flare]."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "engines.json"
        arguments = ["--quick"] if quick else []
        command = [sys.executable, str(HERE / "engines.py"), *arguments, "--json", str(out)]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        shown = " ".join(["python benchmarks/engines.py", *arguments])
        return shown, json.loads(out.read_text(encoding="utf-8")) if done.returncode == 0 else None


def _peers(quick: bool) -> tuple[str, list | None]:
    sizes = ["a"] if quick else ["a", "b", "c"]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "peers.json"
        command = ["sh", str(HERE / "peers" / "run.sh"), str(out), *sizes]
        done = subprocess.run(command, env={**os.environ, "PYTHON": sys.executable}, check=False)
        shown = " ".join(["benchmarks/peers/run.sh peers.json", *sizes])
        return shown, json.loads(out.read_text(encoding="utf-8")) if done.returncode == 0 else None


if __name__ == "__main__":
    sys.exit(main())
