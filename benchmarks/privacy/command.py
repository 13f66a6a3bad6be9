"""`python -m benchmarks privacy`: attack, print, store and draw."""

import json
import time
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.privacy.measure import FULL, QUICK, measure_attacks
from benchmarks.privacy.plots import draw
from benchmarks.record import write_result
from benchmarks.shown import show_rows
from secfc.errors import ParameterError


def attack(*, quick: bool, as_json: bool, out: Path | None, plots_only: bool) -> None:
    """Run all attacks; with a folder, store them in its attacks.json and draw its plots.

    Raises
    ------
    ParameterError
        If there is nothing to draw again.
    """
    if plots_only and (out is None or not (out / "attacks.json").is_file()):
        raise ParameterError("--plots-only: --out must name a folder with attacks.json")
    if not plots_only:
        started, clock = datetime.now(UTC), time.perf_counter()
        rows = show_rows("privacy", measure_attacks(QUICK if quick else FULL), as_json)
        if out is not None:
            command = "python -m benchmarks privacy --json" + " --quick" * quick
            seconds = time.perf_counter() - clock
            write_result(
                out / "attacks.json",
                "privacy",
                rows,
                command=command,
                quick=quick,
                started=started,
                seconds=seconds,
            )
    if out is not None:
        draw(json.loads((out / "attacks.json").read_text(encoding="utf-8"))["rows"], out)
