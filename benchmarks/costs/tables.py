"""Tables of results, with the same columns in a terminal and in benchmarks/RESULTS.md.

Columns read rows as dictionaries, as from JSON, so that tables can be made again from the files.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import log2
from typing import Any

Values = dict[str, Any]


@dataclass(frozen=True)
class TableColumn:
    """A heading, and the function for the text of a row."""

    heading: str
    text: Callable[[Values], str]


def seconds_text(seconds: float) -> str:
    """Seconds as text, in a unit with few zeros."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 1:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 100 else f"{seconds:,.0f} s"


def bytes_text(count: float) -> str:
    """Bytes as text, in binary units."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.2f} GiB"


def setting_columns() -> tuple[TableColumn, ...]:
    """Columns of every table: size, thresholds, scale and residues."""
    return (
        TableColumn("m x d, k", lambda row: f"{row['m']:,} x {row['d']}, {row['k']}"),
        *(_plain(name, name) for name in ("n", "t", "ell", "R")),
        TableColumn("scale", lambda row: f"2^{log2(row['scale']):.0f}"),
        _plain("residues", "residues"),
        _plain("kernels", "kernels"),
    )


def _plain(heading: str, name: str) -> TableColumn:
    return TableColumn(
        heading, lambda row: f"{row[name]:,}" if isinstance(row[name], int) else str(row[name])
    )


def _seconds(heading: str, name: str) -> TableColumn:
    return TableColumn(heading, lambda row: seconds_text(row[name]))


def _bytes(heading: str, name: str) -> TableColumn:
    return TableColumn(heading, lambda row: bytes_text(row[name]))


def _number(heading: str, name: str, digits: int = 2) -> TableColumn:
    return TableColumn(heading, lambda row: f"{row[name]:.{digits}f}")


def _spread(heading: str, name: str, text: Callable[[float], str] = "{:.2f}".format) -> TableColumn:
    """A median with its quartiles."""

    def show(row: Values) -> str:
        low, high = row[f"{name}_quartiles"]
        return f"{text(row[name])} ({text(low)} to {text(high)})"

    return TableColumn(heading, show)


def _line_of_time(row: Values) -> str:
    """From leg to leg, two legs a character."""
    before, after = int(row["begins"]) // 2, -(-int(row["ends"]) // 2)
    return "·" * before + "━" * (after - before)


TABLES: dict[str, tuple[TableColumn, ...]] = {
    "iteration": (
        *setting_columns(),
        _plain("moved", "moved"),
        _plain("near-ties", "near_ties"),
        _seconds("scikit-learn", "plaintext_seconds"),
        _seconds("client", "client_seconds"),
        _seconds("server", "server_seconds"),
        _spread("client ratio", "client_ratio"),
        _spread("server ratio", "server_ratio"),
        _number("dgemm, 10^9/s", "matrix_rate", 1),
        TableColumn("client's rate to it", lambda row: f"{row['client_rate']:.0%}"),
    ),
    "runs": (
        _plain("driver", "driver"),
        _plain("disclosure", "disclosure"),
        *setting_columns(),
        _plain("iterations", "n_iter"),
        TableColumn(
            "same labels",
            lambda row: "all" if row["labels_equal"] else f"all but {row['differing_rows']:,}",
        ),
        _plain("near-ties", "near_ties"),
        _bytes("sent", "bytes"),
        TableColumn(
            "peak memory", lambda row: "" if row.get("peak_bytes") is None else bytes_text(row["peak_bytes"])
        ),
        _seconds("CPU, all parties", "cpu_seconds"),
        _seconds("wall", "wall_seconds"),
        _seconds("n + 1 plaintext CPU", "plaintext_cpu_seconds"),
        _seconds("n + 1 plaintext wall", "plaintext_wall_seconds"),
        _spread("CPU ratio", "cpu_ratio"),
        _spread("wall ratio", "wall_ratio"),
    ),
    "timeline": (
        _plain("from", "sender"),
        _plain("letter", "tag"),
        _plain("messages", "messages"),
        _bytes("bytes", "bytes"),
        TableColumn("legs", lambda row: f"{row['begins']} to {row['ends']}"),
        TableColumn("", _line_of_time),
        *setting_columns(),
    ),
    "labels": (
        *setting_columns(),
        _seconds("coded", "coded_seconds"),
        _seconds("labels", "labels_seconds"),
        _spread("labels / coded", "ratio"),
        _seconds("first iteration", "first_round_seconds"),
        _seconds("scikit-learn", "plaintext_seconds"),
        _plain("exchanges", "exchanges"),
        _bytes("dealer to E1", "dealt_bytes"),
        _bytes("E0 to E1", "each_way_bytes"),
        TableColumn(
            "other client", lambda row: f"{row['other_ratio']:.2f}" if row["other_ratio"] else "none"
        ),
        _number("dealer", "dealer_ratio"),
        _number("E0", "first_ratio"),
        _number("E1", "second_ratio"),
    ),
    "workers": (
        _plain("workers", "workers"),
        _plain("blocks", "blocks"),
        _bytes("letters", "bytes"),
        _seconds("CPU, busiest worker", "busiest_seconds"),
        _number("times as fast", "speed"),
        TableColumn("same letters", lambda row: "yes" if row["same"] else "no"),
        *setting_columns(),
    ),
    "privacy": (
        _plain("attack", "attack"),
        _plain("adversary", "adversary"),
        _plain("against", "against"),
        TableColumn("at", lambda row: f"{row['swept']} = {row['value']:g}"),
        _plain("measure", "measure"),
        TableColumn("success", lambda row: f"{row['success']:.3g}"),
        TableColumn("nothing, everything", lambda row: f"{row['nothing']:g}, {row['everything']:g}"),
        _plain("note", "note"),
        *setting_columns(),
    ),
}
"""Columns of each benchmark's table."""

TITLES = {
    "iteration": "One iteration beside scikit-learn's on the pooled rows, one thread",
    "runs": "Whole runs beside n + 1 plaintext runs from the same start",
    "timeline": "What is sent in an iteration with labels",
    "labels": "Whole iterations with each disclosure, all parties, one thread",
    "workers": "Blocks of an iteration by worker processes of one holder",
    "privacy": "Attacks: what an adversary learns, between nothing and everything",
}


def cells(name: str, rows: list[Values]) -> tuple[list[str], list[list[str]]]:
    """Headings and rows of text of a benchmark's table."""
    columns = TABLES[name]
    return [column.heading for column in columns], [[column.text(row) for column in columns] for row in rows]
