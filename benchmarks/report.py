"""Write benchmarks/RESULTS.md from benchmarks/results/*.json."""

import json
from pathlib import Path
from typing import Any

from benchmarks.costs.tables import TITLES, cells, seconds_text
from secfc.errors import DataError

BENCHMARKS = ("iteration", "runs", "labels", "peers")
"""Benchmarks on the page, in this order."""

Result = dict[str, Any]
"""A stored benchmark. Its "notes" say what has changed since; a new result has none."""

ABOUT = {
    "iteration": (
        "A client's iteration: a new assignment in, its encoded coded distances out. The server's: R "
        "encoded answers in, the next assignment out. Ratios are to scikit-learn's Lloyd iteration on"
        " the pooled rows, turn by turn of the same run; medians with quartiles. dgemm: a product of two "
        "float64 matrices of 1,000 rows and columns, in the same turns. Of a client's iteration, only the "
        "multiplications of its shares are counted for its rate."
    ),
    "runs": (
        "From the call to its labels, all parties on this machine, against n + 1 whole scikit-learn "
        "runs from the same start one after another. CPU seconds count every process, its start and "
        "the carrying of messages. Where the start is by k-means++ (disclosure 'labels'), plaintext runs "
        "find one too and then continue from that of the run."
    ),
    "labels": (
        "Seconds of all parties together, from one question to the next, medians over iterations but the "
        "first three; messages are sealed and carried in memory. The last columns are one client with "
        "'labels' to one with 'coded'. scikit-learn: its Lloyd iteration on the pooled rows."
    ),
    "peers": (
        "Seconds of one Lloyd iteration, all parties on this machine; what differs is who has to be "
        "trusted and what is revealed. SecFC's are all its parties' one after another on one thread, "
        "without sockets, with compiled kernels, which a job of 1,000 rows does not load by itself, since "
        "that takes half a second; MPyC's and CrypTen's are wall-clock seconds of three processes over "
        "loopback TCP, SPU's of three threads linked in memory, without its compilation."
    ),
}


def write_report(results: Path) -> Path:
    """Write RESULTS.md beside the folder of results, and return its path.

    Raises
    ------
    DataError
        If the folder has no results.
    """
    folder = results.resolve()
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    stored = {one["benchmark"]: one for one in found}
    stored = {name: stored[name] for name in BENCHMARKS if name in stored}
    if not stored:
        raise DataError(f"no results in {folder}; python -m benchmarks record makes them")
    target = folder.parent / "RESULTS.md"
    target.write_text(_page(stored), encoding="utf-8")
    return target


def _page(results: dict[str, Result]) -> str:
    parts = [
        "# Results",
        "Made by `python -m benchmarks report` from `benchmarks/results/`; `python -m benchmarks record` "
        "measures everything again. Ratios compare times of the same run; times alone hold for the machine "
        "that each table names. Its rate is that of products of two float64 matrices of 1,000 rows and "
        "columns, one thread, when results were stored. Commit: the last one that changed measured code. "
        "Scale: the power of two that rows are multiplied by. Kernels: small jobs do not load compiled code. "
        "Attacks have [a page of their own](privacy/README.md).",
    ]
    if any(one["quick"] for one in results.values()):
        parts.append("**Some results are of `--quick` runs: sizes too small to judge by.**")
    for name, result in results.items():
        parts += _section(name, result)
    return "\n\n".join(parts) + "\n"


def _section(name: str, result: Result) -> list[str]:
    rows = result["rows"]
    headings, lines = _peer_cells(rows) if name == "peers" else cells(name, rows)
    return [
        f"## {TITLES.get(name, 'Peers on the same data')}",
        " ".join([ABOUT[name], *result.get("notes", [])]),
        f"`{result['command']}`, {seconds_text(result['seconds'])}, {result['started']}. {_machine(result)}",
        _table(headings, lines),
    ]


def _machine(result: Result) -> str:
    """The machine, its rate and the commit of a result, in a sentence."""
    on = result["machine"]
    rate = f"{on['matrix_rate']} · 10⁹/s" if "matrix_rate" in on else "rate not stored"
    packages = ", ".join(f"{key} {value}" for key, value in on["packages"].items())
    return (
        f"{on['processor']}, {on['cores']} cores, {on['memory_gib']} GiB, {rate}; {on['system']}; Python "
        f"{on['python']}, {packages}; BLAS {', '.join(on['blas']) or 'unknown'}; commit `{result['commit']}`."
    )


def _peer_cells(rows: list[Result]) -> tuple[list[str], list[list[str]]]:
    """The peers' table. Each row is compared with SecFC's smallest run and with NumPy at its size."""
    plain = {row["size"]: row["seconds"] for row in rows if row["system"].startswith("NumPy")}
    ours: dict[str, float] = {}
    for row in rows:
        if row["system"].startswith("SecFC"):
            ours.setdefault(row["size"], row["seconds"])
    headings = [
        "size",
        "m x d, k",
        "system",
        "parties",
        "model",
        "reveals in an iteration",
        "seconds (quartiles)",
        "x NumPy",
        "x SecFC",
        "sent by a party",
        "rows labelled otherwise",
    ]
    lines = []
    for row in rows:
        low, high = row["seconds_quartiles"]
        lines.append(
            [
                row["size"],
                f"{row['m']:,} x {row['d']}, {row['k']}",
                row["system"],
                row["parties"],
                row["model"],
                row["reveals"],
                f"{seconds_text(row['seconds'])} ({seconds_text(low)} to {seconds_text(high)})",
                f"{row['seconds'] / plain[row['size']]:,.0f}",
                f"{row['seconds'] / ours[row['size']]:,.2f}",
                f"{row['sent_bytes']:,}" if row["sent_bytes"] else "",
                f"{row['differing_rows']:,}",
            ]
        )
    return headings, lines


def _table(headings: list[str], lines: list[list[str]]) -> str:
    def line(texts: list[str]) -> str:
        return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"

    return "\n".join([line(headings), "|" + " --- |" * len(headings), *map(line, lines)])
