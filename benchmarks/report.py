"""Write benchmarks/RESULTS.md from benchmarks/results/*.json."""

import json
from pathlib import Path
from typing import Any

from benchmarks.costs.engine_table import HEADINGS, TITLE, engine_cells
from benchmarks.costs.tables import TITLES, cells, seconds_text
from benchmarks.privacy.table import label_cells, liar_cells
from secfc.errors import DataError

BENCHMARKS = (
    "iteration",
    "sharing",
    "runs",
    "protections",
    "labels",
    "privacy",
    "links",
    "membership",
    "engines",
    "peers",
)
"""Benchmarks on the page, in this order."""

Result = dict[str, Any]
"""A stored benchmark."""

ABOUT = {
    "iteration": (
        "A client's iteration: a new assignment in, its encoded coded distances out. The server's: R "
        "encoded answers in, the next assignment out. Ratios are to scikit-learn's Lloyd iteration on"
        " the pooled rows, turn by turn of the same run; medians with quartiles. dgemm: a product of two "
        "float64 matrices of 1,000 rows and columns, in the same turns. Of a client's iteration, only the "
        "multiplications of its shares are counted for its rate."
    ),
    "sharing": (
        "Quantising, masking, encoding, packing and sealing all rows. MB are 10^6 bytes of float64 "
        "input, seconds CPU seconds of one thread; generator and sealing are parts of them, opening is "
        "what the recipients spend beside, relative to them; the last column is that time in Lloyd "
        "iterations of scikit-learn on the same rows."
    ),
    "runs": (
        "From the call to its labels, all parties on this machine, against n + 1 whole scikit-learn "
        "runs from the same start one after another. CPU seconds count every process, its start and "
        "the carrying of messages. Where the start is by k-means++ (disclosure 'labels'), plaintext runs "
        "find one too and then continue from that of the run."
    ),
    "protections": (
        "CPU seconds in iterations of scikit-learn on the pooled rows, turn by turn in one run; medians. "
        "The last three columns are relative to secfc with all protections. The margin takes one prime more "
        "where the sizes of the clusters leave no room for it."
    ),
    "labels": (
        "Seconds of all parties together, from one question to the next, medians over iterations but the "
        "first three; messages are sealed and carried in memory. The last columns are one client with "
        "'labels' to one with 'coded'. scikit-learn: its Lloyd iteration on the pooled rows."
    ),
    "privacy": (
        'First table: rounds after which a client that answers wrongly has all rows, with "coded". '
        "An error of 1 is guessing the mean. Second table: what labels tell parties that choose their "
        "rows, and empty sets a comparer that lies. All attacks: [the page of attacks](privacy/README.md)."
    ),
    "links": (
        "Computed from the messages of a run, not measured: every party and the coordinator have a line of "
        "this rate each way, all messages cross the coordinator, a round trip to it takes 20 ms, and work "
        "takes no time. Seconds are the bytes of the busiest line over its rate, and 10 ms for each leg, a "
        "message to or from the coordinator that waits for another. Later iterations: medians."
    ),
    "engines": (
        "The same job, data and seed through each driver, one after the other, all parties on this "
        "machine; the roles do the same work, so what a round takes beyond a process per party is the "
        "engine's. FLARE is a server and sites with mutual TLS over loopback; start is the time until all "
        "sites are there. Wall clock, peaks of resident memory by role; with n = 11, FLARE's 28 processes "
        "share this machine's cores (24 where there are no helpers)."
    ),
    "membership": (
        "All parties on this machine, a process each. Membership privacy hides whose rows are whose: "
        "first the union of row IDs, then every client shares a vector for every row. The ordinary run "
        "begins with the same sets and must give the same labels. CPU seconds of phases are all "
        "parties' together."
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
        "measures everything again. Ratios compare times of the same run; times alone hold for this machine. "
        "Scale: the power of two that rows are multiplied by. Kernels: small jobs do not load compiled code.",
    ]
    if any(one["quick"] for one in results.values()):
        parts.append("**Some results are of `--quick` runs: sizes too small to judge by.**")
    parts += _machines(results)
    for name, result in results.items():
        parts += _section(name, result)
    return "\n\n".join(parts) + "\n"


def _machines(results: dict[str, Result]) -> list[str]:
    """One paragraph for each machine and commit, naming the benchmarks measured on it."""
    groups: dict[str, list[str]] = {}
    for name, result in results.items():
        on = result["machine"]
        text = (
            f"{on['processor']}, {on['cores']} cores, {on['memory_gib']} GiB; {on['system']}; Python "
            f"{on['python']}, {', '.join(f'{key} {value}' for key, value in on['packages'].items())}; BLAS "
            f"{', '.join(on['blas']) or 'unknown'}; commit `{result['commit']}`"
        )
        groups.setdefault(text, []).append(name)
    if len(groups) == 1:
        return [next(iter(groups)) + "."]
    return [f"{', '.join(names)}: {text}." for text, names in groups.items()]


def _section(name: str, result: Result) -> list[str]:
    title = {**TITLES, "engines": TITLE, "peers": "Peers on the same data"}[name]
    parts = [f"## {title}", ABOUT[name]]
    parts.append(f"`{result['command']}`, {seconds_text(result['seconds'])}, {result['started']}")
    if name == "peers":
        parts.append(_table(*_peer_cells(result["rows"])))
    elif name == "privacy":
        parts += [_table(*cells_of(result["rows"])) for cells_of in (liar_cells, label_cells)]
    elif name == "engines":
        parts.append(_table(list(HEADINGS), engine_cells(result["rows"])))
    else:
        parts.append(_table(*cells(name, result["rows"])))
    return parts


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
