"""The cost of more owners than are measured, projected from the work of each party in a measured run."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from benchmarks.costs.owners import ROWS, Deposited, Ran, deposit, run
from benchmarks.costs.setting import PRECISION, Case, same_kernels
from secfc.protocol.messages import SERVER
from secfc.sharing.deposits import label_bytes

MEASURED, QUICK_MEASURED = 10_000, 40
"""Owners of the measured run."""

_LINE = 10e9 / 8  # bytes a second
_SHARE_BYTES = 4  # a residue of a share in memory or in a file


@dataclass(frozen=True, kw_only=True)
class ProjectedRow:
    """A part of a run by one party, the busiest of its kind.

    Attributes
    ----------
    rows, owners, cores, iterations : int
        Those of the projected run.
    measured : int
        Owners of the measured run.
    primes : int
        Primes of shares.
    party, part : str
    core_seconds : float
        CPU seconds, in proportion to rows, owners and primes.
    seconds : float
        The same if all cores are busy, which needs processes that divide the rows.
    bytes : int
        Bytes sent and received.
    line_seconds : float
        Seconds for these on a line of 10 Gbit/s, one direction after the other.
    disk : int
        Bytes kept.
    first : bool
        Whether it takes the most time, by cores or line, of all parties except owners. It is divided first.
    """

    rows: int
    owners: int
    cores: int
    iterations: int
    measured: int
    primes: int
    party: str
    part: str
    core_seconds: float
    seconds: float
    bytes: int
    line_seconds: float
    disk: int
    first: bool


def project(
    *, rows: int, owners: int, cores: int, base: Case, measured: int, precision: int = PRECISION
) -> Iterator[ProjectedRow]:
    """A row for each part. Deposits are measured with as many rows as an owner has in the projected run."""
    each = -(-rows // owners)
    with same_kernels():
        run(deposit(base, max(2, measured // 10), ROWS, precision))
        small = deposit(base, measured, ROWS, precision)
        ran = run(small, one_by_one=True)
        wide = deposit(base, max(2, measured * ROWS // each), each, precision)
    job = small.committee.job
    primes, before = job.residues(rows), len(small.committee.call.primes)
    scaled = rows / (measured * ROWS) * primes / before
    parts = _parts(base, small, ran, wide, owners, scaled)
    share = _SHARE_BYTES * primes * (job.width + 1) * rows
    received = wide.committee.call.deposit_bytes(each)
    received = received * primes // len(wide.committee.call.primes)
    sizes = {
        ("owner", "deals"): (job.n * received, 0),
        ("owner", "opens its labels"): (job.n * label_bytes(each), 0),
        ("member", "opens deposits"): (owners * received, owners * received + share),
        ("member", "seals labels"): (owners * label_bytes(each), 0),
    }
    found = []
    for place, (seconds, moved) in parts.items():
        carried, disk = sizes.get(place, (moved, 0))
        one = ProjectedRow(
            rows=rows,
            owners=owners,
            cores=cores,
            iterations=ran.iterations,
            measured=measured,
            primes=primes,
            party=place[0],
            part=place[1],
            core_seconds=seconds,
            seconds=seconds / (1 if place[0] == "owner" else cores),
            bytes=int(carried),
            disk=int(disk),
            line_seconds=carried / _LINE,
            first=False,
        )
        found.append(one)
    divided = [one for one in found if one.party != "owner"]
    most = max(divided, key=lambda one: max(one.seconds, one.line_seconds))
    yield from (replace(one, first=one is most) for one in found)


def _parts(
    base: Case, small: Deposited, ran: Ran, wide: Deposited, owners: int, scaled: float
) -> dict[tuple[str, str], tuple[float, float]]:
    """CPU seconds, and bytes sent and received, of each part of a party."""
    n, opened = base.n, len(wide.rows)
    kinds: dict[str, Callable[[int], bool]] = {
        "member": lambda party: 1 <= party <= n,
        "helper": lambda party: party > n,
        "server": lambda party: party == SERVER,
    }
    of_labels = len(small.rows)
    found = {
        ("owner", "deals"): (wide.dealing / opened, 0.0),
        ("owner", "opens its labels"): (ran.opening / of_labels, 0.0),
        ("member", "opens deposits"): (owners * wide.opening / opened / n, 0.0),
    }
    for name, is_kind in kinds.items():
        for part, phases in (("before the first round", ("share", "check")), ("iterations", ("iterate",))):
            seconds: dict[int, float] = {}
            for (phase, party), value in ran.phases.items():
                if phase in phases and is_kind(party):
                    seconds[party] = seconds.get(party, 0.0) + value
            if seconds:
                moved = _moved(ran, max(seconds, key=lambda party: seconds[party]))
                of_rounds = scaled * moved if part == "iterations" else 0.0
                found[name, part] = scaled * max(seconds.values()), of_rounds
    found["member", "seals labels"] = owners * (ran.labels - ran.opening) / of_labels / n, 0.0
    return found


def _moved(ran: Ran, party: int) -> int:
    """Bytes that a party sent and received in the rounds."""
    return sum(one.size for one in ran.messages if one.round and party in (one.sender, one.recipient))
