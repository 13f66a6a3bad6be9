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


def _over(heading: str, at: int) -> TableColumn:
    """Seconds over one of the links."""
    return TableColumn(heading, lambda row: seconds_text(row["seconds"][at]))


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


def _yes(heading: str, name: str) -> TableColumn:
    return TableColumn(heading, lambda row: "yes" if row[name] else "no")


def _hours(seconds: float) -> str:
    hours = seconds / 3600
    return seconds_text(seconds) if hours < 1 else f"{hours:,.1f} h"


def _lines(row: Values) -> str:
    if row["mbit"] is None:
        return "no delay"
    return f"{row['delay_ms']:g} ms, {row['mbit']:g} Mbit/s, {row['loss']:.1%} lost"


_PARTS = {
    "before": "all before iterations",
    "first": "the first iteration",
    "later": "a later iteration",
}

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
    "sharing": (
        *setting_columns(),
        _number("MB in", "megabytes", 1),
        _seconds("CPU", "seconds"),
        _spread("MB/s per core", "rate", "{:.0f}".format),
        TableColumn("generator", lambda row: f"{row['generator_share']:.0%}"),
        TableColumn("sealing", lambda row: f"{row['sealing_share']:.1%}"),
        TableColumn("opening", lambda row: f"{row['opening_ratio']:.1%}"),
        _number("in Lloyd iterations", "plaintext_ratio", 1),
    ),
    "threads": (
        _plain("disclosure", "disclosure"),
        _plain("work", "work"),
        _seconds("one thread", "seconds"),
        _number("two, times as fast", "two"),
        TableColumn("serial, of 16", lambda row: f"{row['serial_share']:.1%}"),
        _number("16 counted, times as fast", "many", 1),
        *setting_columns(),
    ),
    "figure1": (
        _plain("swept", "swept"),
        *setting_columns(),
        _plain("turns", "turns"),
        _seconds("scikit-learn iteration", "plaintext_seconds"),
        _spread("client iteration", "client_seconds", seconds_text),
        _spread("server iteration", "server_seconds", seconds_text),
        _spread("k-FED run", "kfed_seconds", seconds_text),
        _number("client / k-FED", "client_to_kfed", 3),
        _number("server / k-FED", "server_to_kfed", 3),
    ),
    "scaling": (
        _plain("cost", "cost"),
        _plain("swept", "swept"),
        TableColumn("values", lambda row: ", ".join(f"{value:,}" for value in row["values"])),
        TableColumn("seconds", lambda row: ", ".join(seconds_text(value) for value in row["seconds"])),
        TableColumn("exponent", lambda row: f"{row['exponent']:.2f} ± {row['exponent_error']:.2f}"),
        TableColumn("paper's", lambda row: f"{row['paper_exponent']:.2f}"),
        _plain("paper's formula", "paper"),
        *setting_columns(),
    ),
    "owners": (
        _plain("cost", "cost"),
        TableColumn("owners", lambda row: ", ".join(f"{value:,}" for value in row["owners"])),
        TableColumn("seconds", lambda row: ", ".join(map(seconds_text, row["wall_seconds"]))),
        TableColumn("CPU, all parties", lambda row: ", ".join(map(seconds_text, row["seconds"]))),
        TableColumn("ms an owner", lambda row: ", ".join(f"{value:.2f}" for value in row["milliseconds"])),
        TableColumn("primes", lambda row: ", ".join(map(str, row["residues_swept"]))),
        _number("exponent", "exponent", 2),
        TableColumn("iterations", lambda row: ", ".join(map(str, row["iterations"]))),
        TableColumn("peak, all parties", lambda row: ", ".join(map(bytes_text, row["peak_bytes"]))),
        _bytes("peak, a member", "member_bytes"),
        _bytes("deposit at a member", "deposit_bytes"),
        *setting_columns(),
    ),
    "projected": (
        _plain("party", "party"),
        _plain("part", "part"),
        TableColumn("CPU", lambda row: _hours(row["core_seconds"])),
        TableColumn("all cores busy", lambda row: _hours(row["seconds"])),
        _bytes("sent and received", "bytes"),
        TableColumn("at 10 Gbit/s", lambda row: _hours(row["line_seconds"])),
        _bytes("kept", "disk"),
        _yes("divided first", "first"),
        _plain("rows", "rows"),
        _plain("owners", "owners"),
        _plain("cores", "cores"),
        _plain("iterations", "iterations"),
        _plain("primes", "primes"),
        _plain("owners measured", "measured"),
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
    "bytes": (
        _plain("phase", "phase"),
        _plain("message", "kind"),
        *setting_columns(),
        _plain("messages", "messages"),
        _plain("bytes", "bytes"),
        TableColumn("element bits", lambda row: str(row["element_bits"] or "mixed")),
        _plain("elements", "elements"),
        _number("bytes / least", "ratio", 4),
        _yes(">= 64 KiB", "large"),
    ),
    "links": (
        *setting_columns(),
        _plain("disclosure", "disclosure"),
        TableColumn("part", lambda row: _PARTS[row["part"]]),
        TableColumn("legs", lambda row: f"{row['legs']:g}"),
        _bytes("busiest line", "line_bytes"),
        *(_over(rate, at) for at, rate in enumerate(("10 Mbit/s", "100 Mbit/s", "1 Gbit/s"))),
    ),
    "resilience": (
        _plain("faults or check", "what"),
        *setting_columns(),
        _plain("max_liars", "tolerated"),
        _yes("n >= R + S + 2A", "within"),
        TableColumn(
            "missed", lambda row: "" if row["missed_bits"] is None else f"< 2^-{int(row['missed_bits'])}"
        ),
        _plain("runs", "runs"),
        _plain("exact", "exact"),
        _plain("stopped", "stopped"),
        _plain("wrong", "wrong"),
        TableColumn("liars named", lambda row: "" if row["named"] is None else f"{row['named']:.0%}"),
        TableColumn(
            "seconds a run", lambda row: "" if row["seconds"] is None else seconds_text(row["seconds"])
        ),
        TableColumn("overhead", lambda row: "" if row["overhead"] is None else f"{row['overhead']:.2f}"),
    ),
    "memory": (
        *setting_columns(),
        _bytes("client", "client_peak"),
        _bytes("driver", "driver_peak"),
        _bytes("idle process", "idle"),
        _bytes("own rows", "rows_bytes"),
        _bytes("shares", "share_bytes"),
        _bytes("pooled rows", "pooled_bytes"),
        _number("client / pooled", "client_ratio", 3),
        _seconds("CPU", "cpu_seconds"),
        _seconds("wall", "wall_seconds"),
    ),
    "membership": (
        *setting_columns(),
        _plain("iterations", "n_iter"),
        _yes("same labels", "labels_equal"),
        _bytes("client", "client_peak"),
        _bytes("ordinary client", "ordinary_client_peak"),
        _bytes("driver", "driver_peak"),
        _bytes("all processes", "total_peak"),
        _seconds("union CPU", "union_seconds"),
        _seconds("sharing CPU", "share_seconds"),
        _seconds("ordinary sharing CPU", "ordinary_share_seconds"),
        _seconds("iteration CPU", "round_seconds"),
        _seconds("ordinary iteration CPU", "ordinary_round_seconds"),
        _bytes("union", "union_bytes"),
        _bytes("sharing", "share_bytes"),
        _bytes("ordinary sharing", "ordinary_share_bytes"),
        _seconds("CPU", "cpu_seconds"),
        _seconds("ordinary CPU", "ordinary_cpu_seconds"),
        _seconds("wall", "wall_seconds"),
        _seconds("ordinary wall", "ordinary_wall_seconds"),
    ),
    "protections": (
        *setting_columns(),
        _plain("without", "without"),
        _number("client", "client"),
        _number("server", "server"),
        _number("sharing", "sharing"),
        _number("client ratio", "client_ratio"),
        _number("server ratio", "server_ratio"),
        _number("sharing ratio", "sharing_ratio"),
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
    "comparing": (
        TableColumn("m, k", lambda row: f"{row['m']:,}, {row['k']}"),
        _plain("residues", "residues"),
        _plain("kernels", "kernels"),
        TableColumn("c; fan-ins", lambda row: f"{row['chunk']}; {row['first_fan']}, {row['fan']}"),
        TableColumn("rows that change", lambda row: f"{row['changed']:.0%}" if row["changed"] < 1 else "all"),
        _seconds("dealer", "dealer_seconds"),
        _seconds("E0", "first_seconds"),
        _seconds("E1", "second_seconds"),
        _bytes("dealer to E1", "dealt_bytes"),
        _bytes("each way", "each_way_bytes"),
        _plain("exchanges", "exchanges"),
        _seconds("scikit-learn", "plaintext_seconds"),
        _spread("all three / scikit-learn", "ratio"),
    ),
    "rehearsal": (
        *setting_columns(),
        _plain("helpers", "helpers"),
        _plain("disclosure", "disclosure"),
        TableColumn("lines", _lines),
        _yes("exact", "exact"),
        _seconds("identify", "identify_seconds"),
        _seconds("share", "share_seconds"),
        _seconds("first iteration", "first_seconds"),
        TableColumn(
            "a later iteration",
            lambda row: (
                f"{seconds_text(row['round_seconds'])} "
                f"({' to '.join(map(seconds_text, row['round_spread']))})"
            ),
        ),
        TableColumn("x without delay", lambda row: f"{row['round_seconds'] / row['free_seconds']:.2f}"),
        TableColumn("exchanges", lambda row: f"{row['legs'] / 2:g}"),
        _bytes("busiest line", "line_bytes"),
        _seconds("computed", "computed_seconds"),
        TableColumn(
            "added / computed",
            lambda row: (
                f"{(row['round_seconds'] - row['free_seconds']) / row['computed_seconds']:.2f}"
                if row["computed_seconds"]
                else ""
            ),
        ),
        _bytes("messages, an iteration", "message_bytes"),
        _bytes("relay, an iteration", "relay_bytes"),
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
    "sharing": "Sharing: rows in, sealed shares for n clients out, per core",
    "threads": "Iterations and sharing in threads: two beside one, and 16 by counted work",
    "figure1": "The paper's Figure 1: an iteration beside a whole run of k-FED, one thread",
    "scaling": "How costs grow, beside the paper's complexity",
    "owners": "Owners of ten rows each and a committee, in one process",
    "projected": "Many owners and a committee on many machines, from a measured run",
    "runs": "Whole runs beside n + 1 plaintext runs from the same start",
    "bytes": "Bytes against element bits times elements",
    "links": "Seconds over slow lines",
    "resilience": "Runs with parties that vanish or lie, and what checks cost an iteration",
    "memory": "Peak anonymous memory of a process",
    "membership": "Whole runs with membership privacy beside the same without",
    "protections": "What the margin in Q, the range check and signatures cost, one thread",
    "labels": "Whole iterations with each disclosure, all parties, one thread",
    "comparing": "Labels by a dealer and two evaluators, a round, one thread",
    "rehearsal": "A rehearsal on NVIDIA FLARE over slow lines",
    "privacy": "Attacks: what an adversary learns, between nothing and everything",
}


def cells(name: str, rows: list[Values]) -> tuple[list[str], list[list[str]]]:
    """Headings and rows of text of a benchmark's table."""
    columns = TABLES[name]
    return [column.heading for column in columns], [[column.text(row) for column in columns] for row in rows]
