"""Run every attack and write benchmarks/privacy/results/: attacks.json, and the plots.

Usage: python benchmarks/privacy/run.py [--quick] [--plots-only]

The attacks are `secfc bench privacy --json`; plots need matplotlib (pip install ".[plots]").
"""

import argparse
import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(ROOT)]

from attack_plots import draw

from secfc.bench.machine import commit, machine


def main() -> int:
    """Attack, then draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, seconds")
    parser.add_argument("--plots-only", action="store_true", help="draw the stored results again")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "attacks.json"
    if not options.plots_only:
        result = _attack(quick=options.quick)
        if result is None:
            return 1
        draft = path.with_suffix(".part")
        draft.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        os.replace(draft, path)
    draw(json.loads(path.read_text(encoding="utf-8"))["rows"], options.out)
    return 0


def _attack(*, quick: bool) -> dict | None:
    arguments = ["bench", "privacy", "--json", *(["--quick"] if quick else [])]
    started, clock = datetime.now(UTC), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "secfc", *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        return None
    return {
        "benchmark": "privacy",
        "command": "secfc " + " ".join(arguments),
        "quick": quick,
        "commit": commit(ROOT),
        "started": started.isoformat(timespec="seconds"),
        "seconds": round(time.perf_counter() - clock, 1),
        "machine": machine(),
        "rows": json.loads(done.stdout),
    }


if __name__ == "__main__":
    sys.exit(main())
