"""Promised bounds on costs, compared with the results; every other ratio is compared with 1."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Claim:
    """A bound, and whether a result meets it."""

    text: str
    asked: str
    found: str
    holds: bool


CLIENT_BOUNDS = {4: 1.0, 2: 1.6, 1: 3.0}
SERVER_BOUNDS = {(60_000, 784, 10): 1.0, (100_000, 100, 16): 1.5}
CLIENT_RATE = 0.6
"""A client's multiplications a second to those of the machine's product of large matrices."""

RUNS = {
    (10_000, 50, 8, 11, "in-process"): {"labels": 6.0},
    (10_000, 50, 8, 11, "multiprocess"): {"labels": 10.0},
    (100_000, 100, 16, 11, "multiprocess"): {"coded": 2.0},
}
"""CPU seconds of whole runs to those of n + 1 plaintext runs, by size, driver and disclosure."""

MANY, MANY_SECONDS, MANY_BYTES = 301, 10.0, 400e6
"""Number of parties in one process, wall-clock seconds of their run, and bytes of memory."""

SHARING_RATE = 100.0
MOST_BYTES = 1.02
LABELS_SECONDS = {(1_000, 20, 4): 0.008, (10_000, 100, 4): 0.04, (10_000, 100, 16): 0.15}
"""CPU seconds of all parties of an iteration with disclosure "labels", n = 3."""

OTHER_CLIENT, COMPARER = 1.3, 8.0
"""A client's iteration with "labels" to one with "coded": a client that does not compare, each that does."""

AHEAD_OF_PEERS = {"a": 3.0, "b": 9.0, "c": 9.0}
"""How many times as long a system that reveals nothing must take as SecFC with "labels"."""


def claims(results: dict[str, Any]) -> list[Claim]:
    """All claims about the stored results, in the order of the benchmarks."""
    found: list[Claim] = []
    for name, judge in _JUDGES.items():
        if name in results:
            found += [claim for row in results[name]["rows"] for claim in judge(row)]
    if "figure1" in results:
        found += _figure1(results["figure1"]["rows"])
    if "peers" in results:
        found += _peers(results["peers"]["rows"])
    return found


def _most(text: str, bound: float, value: float, unit: str = "x") -> Claim:
    return Claim(text, f"at most {bound:g}{unit}", f"{value:.3g}{unit}", value <= bound)


def _size(row: dict[str, Any]) -> str:
    return f"{row['m']:,} x {row['d']}, k = {row['k']}, n = {row['n']}, t = {row['t']}, ell = {row['ell']}"


def _iteration(row: dict[str, Any]) -> list[Claim]:
    size = (row["m"], row["d"], row["k"])
    if size not in SERVER_BOUNDS or row["ell"] not in CLIENT_BOUNDS:
        return []
    judged = [_most(f"client iteration, {_size(row)}", CLIENT_BOUNDS[row["ell"]], row["client_ratio"])]
    rate, text = row["client_rate"], f"client's rate to the matrix product's, {_size(row)}"
    judged.append(Claim(text, f"at least {CLIENT_RATE:.0%}", f"{rate:.0%}", rate >= CLIENT_RATE))
    if row["R"] == 11:
        judged.append(
            _most(f"server iteration, {_size(row)}, R = 11", SERVER_BOUNDS[size], row["server_ratio"])
        )
    else:
        judged.append(_lost(f"server iteration, {_size(row)}, R = {row['R']}", row["server_ratio"]))
    return judged


def _sharing(row: dict[str, Any]) -> list[Claim]:
    text = f"sharing, {_size(row)}, {row['residues']} residues"
    rate = row["rate"]
    return [
        Claim(text, f"at least {SHARING_RATE:.0f} MB/s per core", f"{rate:.0f} MB/s", rate >= SHARING_RATE)
    ]


def _figure1(rows: list[dict[str, Any]]) -> list[Claim]:
    """The point of Figure 1 where an iteration compares worst."""
    row = max(rows, key=_of_kfed)
    text = "one iteration of a client and the server against a whole run of k-FED, worst of Figure 1"
    return [_lost(f"{text}: {_size(row)}", _of_kfed(row))]


def _of_kfed(row: dict[str, Any]) -> float:
    return float(row["client_to_kfed"] + row["server_to_kfed"])


def _runs(row: dict[str, Any]) -> list[Claim]:
    text = f'{row["driver"]}, "{row["disclosure"]}", {_size(row)}'
    found = [
        Claim(
            f"labels, {text}", "scikit-learn's", f"{row['differing_rows']} rows differ", row["labels_equal"]
        )
    ]
    asked = RUNS.get(tuple(row[key] for key in ("m", "d", "k", "n", "driver")), {})
    seconds = f"CPU seconds against {row['n'] + 1} plaintext runs, {text}"
    if row["disclosure"] in asked:
        found.append(_most(seconds, asked[row["disclosure"]], row["cpu_ratio"]))
    else:
        found.append(_lost(seconds, row["cpu_ratio"]))
    found.append(_lost(f"wall seconds against {row['n'] + 1} plaintext runs, {text}", row["wall_ratio"]))
    if row["n"] == MANY and row.get("peak_bytes") is not None:
        found.append(_most(f"seconds, {text}", MANY_SECONDS, row["wall_seconds"], " s"))
        found.append(_most(f"memory, {text}", MANY_BYTES / 1e6, row["peak_bytes"] / 1e6, " MB"))
    return found


def _labels(row: dict[str, Any]) -> list[Claim]:
    found = []
    if (bound := LABELS_SECONDS.get((row["m"], row["d"], row["k"]))) is not None:
        text = f'iteration with "labels", all parties, {_size(row)}'
        found.append(_most(text, bound * 1e3, row["labels_seconds"] * 1e3, " ms"))
    if row["other_ratio"] is not None:
        text = f'with "labels" to with "coded", {_size(row)}'
        found.append(_most(f"other client {text}", OTHER_CLIENT, row["other_ratio"]))
        most = max(row["dealer_ratio"], row["first_ratio"], row["second_ratio"])
        found.append(_most(f"each comparer {text}", COMPARER, most))
    return found


def _bytes(row: dict[str, Any]) -> list[Claim]:
    if not row["large"]:
        return []
    text = f"bytes of {row['phase']}, {row['kind']}, against the fewest, {_size(row)}"
    return [Claim(text, f"at most {MOST_BYTES:g}x", f"{row['ratio']:.4f}x", row["ratio"] <= MOST_BYTES)]


def _lost(text: str, ratio: float) -> Claim:
    """A ratio without a promised bound, compared with 1."""
    return Claim(text, "(even at 1x)", f"{ratio:.3g}x", ratio <= 1)


def _peers(rows: list[dict[str, Any]]) -> list[Claim]:
    """SecFC with three clients against each other system at the same size.

    If the other system reveals nothing in an iteration, it is compared with SecFC's "labels".
    """
    ours: dict[tuple[str, str], float] = {}
    for row in rows:
        if row["system"].startswith("SecFC"):
            disclosure = "labels" if row["reveals"].startswith("labels") else "coded"
            ours.setdefault((row["size"], disclosure), row["seconds"])
    found = []
    for row in rows:
        if not row["system"].startswith("SecFC"):
            disclosure = "labels" if row["reveals"].startswith("nothing") else "coded"
            text = f'SecFC, n = 3, "{disclosure}", against {row["system"]} at size {row["size"]}'
            ratio = ours[row["size"], disclosure] / row["seconds"]
            if disclosure == "labels":
                found.append(_most(text, round(1 / AHEAD_OF_PEERS[row["size"]], 3), ratio))
            else:
                found.append(_lost(text, ratio))
    return found


_JUDGES = {
    "iteration": _iteration,
    "sharing": _sharing,
    "runs": _runs,
    "labels": _labels,
    "bytes": _bytes,
}
