"""A search for runs in which liars make a label wrong or make the protocol blame an honest party.

A seed draws the job, which clients vanish and what liars do, so each run that went wrong can be repeated. At
most A = max_liars clients lie and S vanish, with n >= R + S + 2A and n > 2S + 2A + t; most often n is the
least such number. To test beyond the promise, A + 1 clients collude on one wrong polynomial. Every tenth seed
draws disclosure "labels", with helpers as comparers; a client may take the place of one of them.
"""

import random
import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from benchmarks.faults.faulty import Ending, Fault, Scenario, run_faulty
from benchmarks.faults.lying import HOWS, Lie
from plaintext_baselines import ExactLloyd
from secfc import row_layout
from secfc.drivers.setup import Setup
from secfc.errors import ParameterError, TooManyFaultsError
from secfc.limits import Limits
from secfc.params import Job

_BOUND = 8.0
_NAMED = re.compile(r"[Cc]lients? (\d+(?:(?:, | and )\d+)*)")


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A drawn run.

    Attributes
    ----------
    setup : Setup
    scenario : Scenario
    part_rows : int
        Rows of a part, in which shares and answers are cut.
    liars, vanishing : frozenset of int
        Clients that lie, and clients that crash.
    """

    setup: Setup
    scenario: Scenario
    part_rows: int
    liars: frozenset[int]
    vanishing: frozenset[int]


def draw(seed: int) -> Drawn:
    """A run within the promise."""
    rng = random.Random(seed)
    most = rng.choice((1, 1, 2))
    (t, ell), vanish = rng.choice(((1, 1), (1, 1), (1, 2), (2, 1))), rng.choice((0, 0, 1, 2))
    least = max(2 * (t + ell) - 1 + vanish + 2 * most, 2 * vanish + 2 * most + t + 1)
    n = least + rng.choice((0, 0, 0, 1))
    who = rng.sample(range(1, n + 1), most + vanish)
    liars, gone = who[:most], who[most:]
    setup = _setup(rng, n=n, t=t, ell=ell, most=most, seed=seed, taken=who)
    faults = tuple(Fault(kind="crash", client=j, at=rng.randrange(60)) for j in gone)
    faults += tuple(
        Fault(
            kind="deal",
            client=j,
            at=rng.randrange(n),
            count=rng.choice((1, 1, 2, rng.randrange(1, n))),
        )
        for j in liars
        if rng.random() < 0.15
    )
    together = rng.random() < 0.3
    all_in = rng.choice(("Echo", "CentreShare", "Witness", *[None] * 7))
    sharing = tuple(rng.sample([j for j in range(1, n + 1) if j not in liars], setup.job.threshold - 1))
    lies: list[Lie] = []
    for client in liars:
        if together:
            lies.append(_lie(rng, client, setup.job, sharing, what=_answer(setup.job), how="codeword"))
        if all_in:
            lies.append(_lie(rng, client, setup.job, sharing, what=all_in))
        for _ in range(rng.choice((1, 1, 2, 3))):
            lies.append(_lie(rng, client, setup.job, sharing))
        if any(lie.what == "Evidence" for lie in lies):
            # The server asks for evidence only from those who dispute.
            lies.append(_lie(rng, client, setup.job, sharing, what="Report", how="false"))
    return Drawn(
        setup=setup,
        scenario=Scenario(seed=seed, faults=faults, lies=tuple(lies)),
        part_rows=rng.choice((2, 256, 256)),
        liars=frozenset(liars),
        vanishing=frozenset(gone),
    )


def draw_beyond(seed: int) -> Drawn:
    """A run in which A + 1 clients collude on a wrong polynomial that agrees with R - 1 honest answers."""
    rng = random.Random(seed)
    most, (t, ell) = rng.choice((1, 2)), rng.choice(((1, 1), (1, 2), (2, 1)))
    n = 2 * (t + ell) - 1 + 2 * most + rng.choice((0, 1, 2))
    setup = _setup(rng, n=n, t=t, ell=ell, most=most, seed=seed, taken=range(1, n + 1))
    liars = rng.sample(range(1, n + 1), most + 1)
    honest = [j for j in range(1, n + 1) if j not in liars]
    sharing = tuple(rng.sample(honest, setup.job.threshold - 1))
    at = rng.randrange(4)
    return Drawn(
        setup=setup,
        scenario=Scenario(
            seed=seed,
            lies=tuple(
                Lie(client=j, what=_answer(setup.job), how="codeword", at=at, sharing=sharing) for j in liars
            ),
        ),
        part_rows=rng.choice((2, 256)),
        liars=frozenset(liars),
        vanishing=frozenset(),
    )


def _answer(job: Job) -> str:
    """The type of message in which clients answer."""
    return "MaskedAnswer" if job.disclosure == "labels" else "CodedDistances"


def _lie(
    rng: random.Random,
    client: int,
    job: Job,
    sharing: tuple[int, ...],
    what: str | None = None,
    how: str | None = None,
) -> Lie:
    answers = {"CodedDistances", "MaskedAnswer"}
    what = what or rng.choice([one for one in HOWS if one not in answers - {_answer(job)}])
    others = [j for j in range(1, job.n + 1) if j != client]
    towards = tuple(sorted(rng.sample(others, rng.choice((0, 1, 1, 2, job.n - 1)))))
    if what in {"Ready", "Report", "Evidence", *answers} and how != "false":
        towards = ()
    chosen = how or rng.choice(HOWS[what])
    if what == "Report" and chosen == "false":
        towards = tuple(sorted(rng.sample(others, rng.choice((1, 1, 2)))))
    return Lie(
        client=client,
        what=what,
        how=chosen,  # type: ignore[arg-type]
        at=rng.choice((0, 0, 0, 1, 3, 6)),
        count=rng.choice((1, 2, 1000, 1000)),
        towards=towards,
        sharing=sharing,
    )


def _comparers(seed: int, n: int, taken: Collection[int]) -> tuple[int, ...]:
    """Helpers, one of them perhaps replaced by a client outside `taken`; () if nobody compares."""
    if seed % 10 != 5:
        return ()
    rng = random.Random(seed)
    comparers = [n + 1, n + 2, n + 3]
    others = [j for j in range(1, n + 1) if j not in taken]
    if others and rng.random() < 0.4:
        comparers[2] = rng.choice(others)
    rng.shuffle(comparers)
    return tuple(comparers)


def _setup(
    rng: random.Random, *, n: int, t: int, ell: int, most: int, seed: int, taken: Collection[int]
) -> Setup:
    counts = [rng.choice((0, 1, 2, 2, 3)) for _ in range(n)]
    counts[rng.randrange(n)] = 4
    values, d, k = np.random.default_rng(seed), 2, rng.choice((2, 3))
    rows = [values.normal(size=(m, d)).clip(-4, 4) for m in counts]
    comparers = _comparers(seed, n, taken)
    starts, reveal = rng.random() < 0.3, rng.random() < 0.4
    job = Job(
        n=n,
        k=k,
        t=t,
        ell=ell,
        d=d,
        bound=_BOUND,
        precision=rng.choice((12, 20)),
        max_liars=most,
        max_iter=rng.choice((2, 3)),
        n_init=1 if starts else rng.choice((1, 1, 2)),
        init="labels" if starts else "random",
        disclosure="labels" if comparers else "coded",
        comparers=comparers,
        reveal_to=tuple(sorted(rng.sample(range(1, n + 1), rng.choice((1, 2))))) if reveal else (),
        seed=seed,
    )
    labels = np.split((np.arange(sum(counts)) % k).astype(np.int32), np.cumsum(counts)[:-1])
    return Setup(
        job=job,
        rows=rows,
        starts=labels if starts else None,
        names=[f"client {j}" for j in range(1, n + 1)],
        limits=Limits(reveal_centres=True),
    )


def run(drawn: Drawn) -> Ending:
    """Run the drawn scenario."""
    with _parts(drawn.part_rows):
        return run_faulty(drawn.setup, drawn.scenario)


@contextmanager
def _parts(rows: int) -> Iterator[None]:
    """Cut messages in parts of `rows` rows while the context is active."""
    before = row_layout.PART_BYTES, row_layout.PART_ROWS
    row_layout.PART_BYTES, row_layout.PART_ROWS = 1, rows
    try:
        yield
    finally:
        row_layout.PART_BYTES, row_layout.PART_ROWS = before


def exact(setup: Setup, ending: Ending) -> bool:
    """Whether all labels equal those of Lloyd in exact integers on the rows that took part."""
    assert ending.layout is not None
    assert ending.clustering is not None
    counts = ending.layout.counts
    rows = [part if count else part[:0] for part, count in zip(setup.rows, counts, strict=True)]
    baseline = ExactLloyd(
        setup.job.k,
        init=np.split(ending.clustering.start, np.cumsum(counts)[:-1]),
        precision=setup.job.precision,
        bound=setup.job.bound,
        max_iter=setup.job.max_iter,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few iterations are enough, so do not warn
        baseline.fit(rows)
    return np.array_equal(np.concatenate(baseline.labels_), ending.clustering.labels) and all(
        np.array_equal(labels, baseline.labels_[client - 1]) for client, labels in ending.labels.items()
    )


def broken_promises(drawn: Drawn, ending: Ending) -> list[str]:
    """Ways in which a run within the promise broke it."""
    job = drawn.setup.job
    honest = set(range(1, job.parties + 1)) - drawn.liars
    left = honest - drawn.vanishing
    found: list[str] = []
    faults = ending.faults
    for name, blamed in (("liars", faults.liars), ("cheats", faults.cheats)):
        if honest & set(blamed):
            found.append(f"{name}: {sorted(honest & set(blamed))} are honest")
    for name, gone in (("absent", faults.absent), ("left out", faults.left_out)):
        if left & set(gone):
            found.append(f"{name}: {sorted(left & set(gone))} are honest and there")
    if left & set(ending.refused_of):
        found.append(f"messages of {sorted(left & set(ending.refused_of))} refused: {ending.refused}")
    if 0 in ending.refused_of:
        found.append(f"messages of the server refused: {ending.refused}")
    if ending.error is None:
        if not exact(drawn.setup, ending):
            found.append("labels are not those of exact Lloyd")
        without = {j for j in left if j <= job.n} - ending.labels.keys()
        if without:
            found.append(f"no labels: {sorted(without)}")
    elif not (isinstance(ending.error, ParameterError) or _too_few(drawn, ending)):
        # Clients that were left out may have had all rows of a start cluster, or too many rows.
        named = {int(j) for text in _NAMED.findall(str(ending.error)) for j in re.findall(r"\d+", text)}
        found.append(f"{type(ending.error).__name__}: {ending.error} (honest: {sorted(named & honest)})")
    return found


def _too_few(drawn: Drawn, ending: Ending) -> bool:
    """Whether unreadable shares may end the run without naming a party (`secfc.protocol.unread`)."""
    job = drawn.setup.job
    more = (job.max_liars + (job.disclosure == "labels")) ** 2 // 4
    enough = job.threshold + len(drawn.vanishing) + 2 * job.max_liars + more
    disputed = {client for pair in ending.faults.unread for client in pair}
    too_few = bool(disputed) and (job.n < enough or not disputed.isdisjoint(job.comparers))
    return isinstance(ending.error, TooManyFaultsError) and too_few


def search(*, runs: int, first: int, beyond: bool) -> int:
    """Run successive seeds and print how they end, each finding with its seed.

    Parameters
    ----------
    runs, first : int
        How many, and the first seed.
    beyond : bool
        max_liars + 1 clients collude, and wrong labels are counted. Otherwise nothing may be found.

    Returns
    -------
    int
        Broken promises found.
    """
    counts = Counter[str]()
    for seed in range(first, first + runs):
        if beyond:
            drawn = draw_beyond(seed)
            ending = run(drawn)
            job = drawn.setup.job
            how = "error" if ending.error else "right" if exact(drawn.setup, ending) else "wrong"
            counts[f"n = R + 2A + {job.n - job.threshold - 2 * job.max_liars}: {how}"] += 1
            continue
        drawn = draw(seed)
        for found in broken_promises(drawn, run(drawn)):
            counts["found"] += 1
            print(f"seed {seed}: {found}", flush=True)
    print(f"{runs} runs from seed {first}: {dict(sorted(counts.items())) or 'nothing found'}")
    return counts["found"]
