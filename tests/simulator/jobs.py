"""A whole job, drawn from a seed: parties, rows with ties and edge values, and the options of a run."""

import random
from dataclasses import dataclass, replace

import numpy as np

from secfc.drivers.deposits.committee import Committee
from secfc.drivers.setup import Setup
from secfc.field.array_types import Floats, Ints
from secfc.operations.beginning.totals import STEPS
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import make_job
from secfc.sharing.row_checks import largest_norm
from secfc.tables.ids import row_ids

CONSENT = Limits(reveal_centres=True, reveal_inertia=True, reveal_tables=True, predict=True, describe=2)
KEY, SALT = bytes(32), bytes(16)
COLUMNS = 1, 2, 2, 3, 4


@dataclass(frozen=True, kw_only=True)
class Size:
    """n clients, of which `dropouts` may vanish and `liars` lie: `taken` are the liars, then the others."""

    n: int
    t: int
    ell: int
    liars: int
    dropouts: int
    taken: tuple[int, ...]


def draw_size(rng: random.Random, *, liars: int) -> Size:
    """n >= R + S + 2A and n > 2S + 2A + t, most often the least such number."""
    t, ell = rng.choice(((1, 1), (1, 1), (1, 2), (2, 1)))
    dropouts = rng.choice((0, 0, 1, 2))
    least = max(2 * (t + ell) - 1 + dropouts + 2 * liars, 2 * dropouts + 2 * liars + t + 1)
    n = least + rng.choice((0, 0, 0, 1))
    taken = tuple(rng.sample(range(1, n + 1), liars + dropouts))
    return Size(n=n, t=t, ell=ell, liars=liars, dropouts=dropouts, taken=taken)


def draw_setup(rng: random.Random, size: Size, *, seed: int, rows_of: str) -> Setup:
    """A job of these parties.

    `rows_of` says who has the rows: "clients", "union" (clients with hidden numbers of rows), "overlap" (such
    clients, of which two have a row of one ID) or "owners", who deposit them with the clients.
    """
    clients = rows_of == "clients"
    labels, d = rng.random() < 0.6, rng.choice(COLUMNS)
    parties = size.n if rows_of != "owners" else rng.randint(1, 5)
    counts = [rng.choice((0, 1, 2, 2, 3)) for _ in range(parties)]
    counts[rng.randrange(parties)] = rng.choice((3, 4, 5))
    if rows_of == "overlap":
        counts[0], counts[-1] = max(1, counts[0]), max(1, counts[-1])
    rows, whole = _rows(rng, counts, d, seed)
    k = rng.randint(1, min(4, sum(counts)))
    given = clients and rng.random() < 0.25
    starts_of = ("random", "k-means++" if labels else "separation")
    options = {
        "bound": float(largest_norm(np.concatenate(rows), name="rows") * rng.choice((1, 1, 3)) or 1.0),
        "max_iter": rng.choice((1, 2, 3, 20)),
        "tol_moved": rng.choice((0, 0, 0, 0.3)),
        "init": "labels" if given else rng.choice(starts_of),
        "n_init": 1 if given else rng.choice((1, 1, 2)),
        "disclosure": "labels" if labels else "coded",
        "comparers": _comparers(rng, size) if labels else (),
        "seed": None if labels and rng.random() < 0.2 else seed,
        "reveal_inertia": labels and rng.random() < 0.3,
    }
    if whole and rng.random() < 0.4:
        options["step"] = 1.0
    else:
        options["precision"] = rng.choice((1, 3, 12, 20, 32, 52))
    if rows_of != "owners" and rng.random() < 0.3:
        options["reveal_to"] = tuple(sorted(rng.sample(range(1, size.n + 1), rng.choice((1, 2)))))
    if rows_of in {"union", "overlap"}:
        options["ids_cap"] = sum(counts) + rng.choice((0, 1, 3))
    starts = weights = None
    if given:
        starts = np.split((np.arange(sum(counts)) % k).astype(np.int32), np.cumsum(counts)[:-1])
        if rng.random() < 0.4 and sum(counts) > k:
            _predict(rng, options, starts)
    elif rows_of != "overlap" and k > 1 and rng.random() < 0.3 and (not labels or options["reveal_inertia"]):
        options |= {"compared": tuple(sorted({rng.randint(1, k), k}))}
        options["init"] = options["init"] if labels else "random"
    if clients and labels and not options.get("compared") and rng.random() < 0.3:
        options["weighted"] = True
        weights = [np.array([rng.randint(1, 5) for _ in range(m)], dtype=np.int64) for m in counts]
    drawn, columns = options["init"] == "k-means++" and weights is None, None
    if clients and drawn and seed % 3 == 0:
        options["resamples"] = 2
        _add_alike(rows, size, 20)  # ten rows for each
    if (
        clients
        and labels
        and weights is None
        and starts is None
        and not options.get("compared")
        and seed % 4 == 1
    ):
        options |= {"described": (0, 3), "smallest_cell": 2}
        _add_alike(rows, size, 3 * k * size.n)  # so that some cells have rows of enough clients
        columns = [_columns(len(own), [seed, j]) for j, own in enumerate(rows)]
    setup = Setup(
        job=make_job(n=size.n, k=k, t=size.t, ell=size.ell, d=d, max_liars=size.liars, **options),
        rows=rows,
        starts=starts,
        weights=weights,
        columns=columns,
        names=[f"client {j}" for j in range(1, size.n + 1)],
        limits=CONSENT,
    )
    if rows_of in {"union", "overlap"}:
        ids = [[f"{j}-{row}" for row in range(m)] for j, m in enumerate(counts)]
        if rows_of == "overlap":
            one, other, *_ = (own for own in sorted(ids, key=len, reverse=True) if own)
            one[0] = other[0]
        named = [row_ids(own, key=KEY, name=f"client {j}") for j, own in enumerate(ids, 1)]
        return replace(setup, ids=named, salt=SALT)
    if rows_of == "owners":
        committee = Committee.of(setup.job, rows, keeps=False)
        return replace(setup, job=committee.job, committee=committee)
    return setup


def _predict(rng: random.Random, options: dict[str, object], starts: list[np.ndarray]) -> None:
    """Make it a prediction of some rows, one of them at least; one row at least keeps its label."""
    options.pop("reveal_to", None)
    options |= {"predict": True, "max_iter": 1, "tol_moved": 0, "reveal_inertia": False}
    places = [(party, row) for party, own in enumerate(starts) for row in range(own.size)]
    for party, row in rng.sample(places, rng.randint(1, len(places) - 1)):
        starts[party][row] = -1


def _add_alike(rows: list[Floats], size: Size, count: int) -> None:
    """Give clients that stay so many rows more, in turn those that there are."""
    every = np.concatenate(rows)
    staying = [j for j in range(size.n) if j + 1 not in size.taken]
    alike = np.array_split(np.resize(every, (count, every.shape[1])), len(staying))
    for j, more in zip(staying, alike, strict=True):
        rows[j] = np.concatenate([rows[j], more])


def _columns(m: int, seed: list[int]) -> Ints:
    """Two columns of m rows that are described: numbers and three categories. Some values are missing."""
    values = np.random.default_rng(seed)
    numbers, categories = values.integers(0, STEPS + 1, m), values.integers(0, 3, m)
    return np.where(values.random((2, m)) < 0.1, -1, [numbers, categories])


def _rows(rng: random.Random, counts: list[int], d: int, seed: int) -> tuple[list[Floats], bool]:
    """Rows of each party, and whether all values are whole: coarse grids have many ties."""
    values, m = np.random.default_rng(seed), sum(counts)
    kind = rng.choice(("normal", "grid", "grid", *["few"] * 4, "equal", "edge", "large", "small"))
    match kind:
        case "normal":
            rows = values.normal(size=(m, d))
        case "equal":
            rows = np.full((m, d), 3.0)
        case "few":  # sets are emptied, and their rows are not on their means
            rows = values.integers(2, size=(m, d)) * 3.0
        case "edge":  # opposite corners of the range: the largest distances
            rows = np.where(values.integers(2, size=(m, 1)), 5.0, -5.0) * np.ones(d)
        case _:
            rows = values.integers(-2, 3, size=(m, d)).astype(float)
    rows *= {"large": 1e12, "small": 1e-6}.get(kind, 1.0)
    return np.split(rows, np.cumsum(counts)[:-1]), kind in {"grid", "few", "equal", "edge"}


def _comparers(rng: random.Random, size: Size) -> tuple[int, ...]:
    """Three of helpers and of clients that neither vanish nor lie."""
    others = [j for j in range(1, size.n + 1) if j not in size.taken]
    clients = rng.sample(others, min(len(others), rng.choice((0, 1, 3))))
    comparers = [*clients, *range(size.n + 1, size.n + 4 - len(clients))]
    rng.shuffle(comparers)
    return tuple(comparers)
