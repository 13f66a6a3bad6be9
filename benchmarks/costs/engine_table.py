"""The table of engines, in a terminal and in benchmarks/RESULTS.md."""

from typing import Any

TITLE = "What an engine adds"
HEADINGS = (
    "case",
    "n, t, ell; m x d, k",
    "engine",
    "identify s",
    "share s",
    "share MB",
    "round ms (least to most)",
    "x processes",
    "CPU ms a round",
    "MB a round",
    "memory MiB",
    "start s",
)


def engine_cells(rows: list[dict[str, Any]]) -> list[list[str]]:
    """A line for each case and engine. Rounds are compared with those of one process per party."""
    pipes = {row["case"]: row["round_seconds"] for row in rows if row["driver"] == "multiprocess"}
    lines = []
    for row in rows:
        low, high = row["round_spread"]
        share = row["phases"]["share"]
        beside = pipes.get(row["case"])
        lines.append(
            [
                row["case"],
                f"{row['n']}, {row['t']}, {row['ell']}; {row['m']:,} x {row['d']}, {row['k']}",
                row["driver"],
                f"{row['phases']['identify']['wall']:.2f}",
                f"{share['wall']:.2f}",
                f"{share['bytes'] / 1e6:,.1f}",
                f"{1e3 * row['round_seconds']:,.0f} ({1e3 * low:,.0f} to {1e3 * high:,.0f})",
                f"{row['round_seconds'] / beside:.2f}" if beside else "",
                f"{1e3 * row['round_cpu_seconds']:,.0f}",
                f"{row['round_bytes'] / 1e6:,.2f}",
                ", ".join(f"{role} {size >> 20:,}" for role, size in sorted(row["memory"].items())),
                f"{row['start_seconds']:.1f}" if "start_seconds" in row else "",
            ]
        )
    return lines
