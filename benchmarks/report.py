"""Write benchmarks/RESULTS.md and its plots from benchmarks/results/*.json.

Plots need matplotlib (pip install ".[plots]"). Without it, existing plots are kept and linked.
"""

import json
from pathlib import Path
from typing import Any

from benchmarks import plots
from benchmarks.claims import claims
from benchmarks.costs.engine_table import HEADINGS, TITLE, engine_cells
from benchmarks.costs.tables import TITLES, cells, seconds_text
from benchmarks.privacy.table import label_cells, liar_cells, view_cells
from secfc.errors import DataError

BENCHMARKS = (
    "iteration",
    "sharing",
    "threads",
    "figure1",
    "scaling",
    "runs",
    "protections",
    "labels",
    "comparing",
    "resilience",
    "privacy",
    "bytes",
    "links",
    "memory",
    "membership",
    "engines",
    "rehearsal",
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
    "threads": (
        "Seconds of all parties of a role, and how many times as fast two threads are in the best of three "
        "pairs of runs. For 16 the work is cut as for these and done by one thread, whose CPU seconds are "
        "counted: what no two threads share, and the longest of 16 queues of the rest."
    ),
    "figure1": (
        "The paper reports under 16 s an iteration in its worst case, on 48 threads, and that one "
        "iteration takes longer than the whole of k-FED; the last two columns are above 1 where that "
        "holds here. t = ceil(n/3), and ell the largest that fits."
    ),
    "scaling": (
        "Slopes of least-squares lines in log-log, and the slope of the paper's formula at the same "
        "values. Costs: sharing one client's m/n rows; one iteration of a client; one of the server."
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
    "comparing": (
        "CPU seconds of each party for the labels of a round, medians; mail is carried in memory, unsealed. "
        "What makes the masked distances is not counted. Rows that change: 'all' is "
        "the first iteration, which compares all pairs of centres. scikit-learn: its Lloyd iteration on "
        "as many pooled rows of 100 columns, turn by turn."
    ),
    "resilience": (
        "Seeded runs on a simulated network, compared with exact Lloyd on the rows that were in. Within "
        "n >= R + S + 2A every run must end exact; beyond it theory promises nothing: more liars than "
        "max_liars may agree among themselves and be believed. Liars are not named whose answers came when "
        "enough others had agreed. Missed: the bound of "
        "docs/faults.md, eq. 13, over a whole run. Overheads are CPU seconds of the role's iterations, or of "
        "sharing, with the check over those without, turn by turn."
    ),
    "privacy": (
        "Programs that take distances or answers, on all that the server holds after a real run or, with "
        'disclosure "labels", on all that a coalition holds: what masks leave is taken for distances. '
        '"Labels alone": all but labels is drawn at random. An error of 1 is guessing the mean. No two '
        "comparers may collude; the last column has what they would find. On the right, and in the second "
        "table: a client that answers wrongly, or a comparer that lies. In the third: what draws and labels "
        "tell clients who do not lie. All attacks: [the page of attacks](privacy/README.md)."
    ),
    "bytes": (
        "A residue has 24 bits, a label ceil(log2(k + 1)); headers and whole bytes are what is spent beyond."
    ),
    "links": (
        "Computed from the messages of a run, not measured: every party and the coordinator have a line of "
        "this rate each way, all messages cross the coordinator, a round trip to it takes 20 ms, and work "
        "takes no time. Seconds are the bytes of the busiest line over its rate, and 10 ms for each leg, a "
        "message to or from the coordinator that waits for another. Later iterations: medians."
    ),
    "memory": (
        "RssAnon, sampled every 20 ms, in a run of two iterations with a process per party. The "
        "driver is the process that starts the others and carries their messages; it is no party."
    ),
    "engines": (
        "The same job, data and seed through each driver, one after the other, all parties on this "
        "machine; the roles do the same work, so what a round takes beyond a process per party is the "
        "engine's. FLARE is a server and sites with mutual TLS over loopback; start is the time until all "
        "sites are there. Wall clock, peaks of resident memory by role; with n = 11, FLARE's 28 processes "
        "share this machine's cores (24 where there are no helpers)."
    ),
    "rehearsal": (
        "A FLARE server and sites with mutual TLS on this machine; a relay between them makes lines slow, "
        "with TCP's windows. Each site and the coordinator have a line of this rate each way. Exact: labels "
        "of all sites are those of exact Lloyd. Wall clock; iterations behind the first are medians. "
        "Computed: from messages, as in the table of slow lines, without work. All processes share this "
        "machine's cores, so what the lines added to the iteration without delay stands beside it. Messages "
        "and relay: all sites' lines and both ways, before FLARE and TLS, and with them."
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
    drawn = plots.draw(stored, folder)
    target = folder.parent / "RESULTS.md"
    target.write_text(_page(stored, drawn, folder.name), encoding="utf-8")
    return target


def _page(results: dict[str, Result], drawn: dict[str, list[str]], folder: str) -> str:
    parts = [
        "# Results",
        "Made by `python -m benchmarks report` from `benchmarks/results/`; `python -m benchmarks record` "
        "measures everything again. Ratios compare times of the same run; times alone hold for this machine. "
        "Scale: the power of two that rows are multiplied by. Kernels: small jobs do not load compiled code.",
    ]
    if any(one["quick"] for one in results.values()):
        parts.append("**Some results are of `--quick` runs: sizes too small to judge by.**")
    parts += _machines(results)
    parts += ["## What was promised, and where we lose", _claims_table(results)]
    for name, result in results.items():
        parts += _section(name, result, drawn.get(name, []), folder)
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


def _claims_table(results: dict[str, Result]) -> str:
    lines = [[one.text, one.asked, one.found, "yes" if one.holds else "**no**"] for one in claims(results)]
    return _table(["what", "asked", "found", "holds"], lines)


def _section(name: str, result: Result, images: list[str], folder: str) -> list[str]:
    title = {**TITLES, "engines": TITLE, "peers": "Peers on the same data"}[name]
    parts = [f"## {title}", ABOUT[name]]
    parts.append(f"`{result['command']}`, {seconds_text(result['seconds'])}, {result['started']}")
    parts += [_picture(image, folder, title) for image in images]
    if name == "peers":
        parts.append(_table(*_peer_cells(result["rows"])))
    elif name == "privacy":
        parts += [_table(*cells_of(result["rows"])) for cells_of in (view_cells, liar_cells, label_cells)]
    elif name == "engines":
        parts.append(_table(list(HEADINGS), engine_cells(result["rows"])))
    elif name == "scaling":
        for cost in dict.fromkeys(row["cost"] for row in result["rows"]):
            parts.append(_table(*cells(name, [row for row in result["rows"] if row["cost"] == cost])))
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


def _picture(image: str, folder: str, title: str) -> str:
    """An image in a light and a dark version; the viewer chooses one by the reader's colour scheme."""
    return (
        f'<picture><source media="(prefers-color-scheme: dark)" srcset="{folder}/{image}-dark.png">'
        f'<img alt="{title}" src="{folder}/{image}-light.png"></picture>'
    )


def _table(headings: list[str], lines: list[list[str]]) -> str:
    def line(texts: list[str]) -> str:
        return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"

    return "\n".join([line(headings), "|" + " --- |" * len(headings), *map(line, lines)])
