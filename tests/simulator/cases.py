"""A simulation, drawn from a seed: a job, faults of its network, and lies of at most A = max_liars clients.

In a *promised* one the result must be exact: clients only crash, at most as many as the job's size allows
for, and liars do what `simulator.lying` says. In the others any party crashes or loses messages, and a liar's
messages may also change on their way: then the result is exact, or an error ends the run. Nobody is blamed
who did nothing wrong, unless it is *beyond* the rules: more clients vanish than n >= R + S + 2A allows, or
messages get lost between parties that go on, which no carrier does.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pytest

from secfc.drivers.setup import Setup
from secfc.operations.beginning import rows as program_rows
from secfc.protocol.job.cases import Coded, LabelsOnly, Predict, Union
from secfc.protocol.job.job import Job

from .faults import Ending, Fault, Kind, Scenario, run_faulty
from .jobs import draw_setup, draw_size
from .kills import PLACES
from .lying import CODED_STEPS, STEPS, TOLD, Lie

FORGED = 0.1
HARMLESS: tuple[Kind, ...] = ("delay", "duplicate")


@dataclass(frozen=True, kw_only=True)
class Case:
    """A simulation.

    Attributes
    ----------
    setup : Setup
    scenario : Scenario
    part_rows : int
        Half of the rows that are taken at a time.
    liars, unreliable : frozenset of int
        Clients that lie, and clients whose messages are lost.
    promised : bool
        Whether the run must end with a result.
    beyond : bool
        Whether it is beyond the rules, so that a party may be called absent that is not.
    overlap : bool
        Whether an ID is held twice, which must end the run.
    far : int
        A client whose rows are beyond the bound, which must end the run; 0 if there is none.
    """

    setup: Setup
    scenario: Scenario
    part_rows: int
    liars: frozenset[int]
    unreliable: frozenset[int]
    promised: bool = True
    beyond: bool = False
    overlap: bool = False
    far: int = 0


def draw(seed: int) -> Case:
    """The simulation of a seed."""
    rng = random.Random(seed)
    rows_of = rng.choice([*["clients"] * 16, *["union", "owners"] * 3, "overlap"])
    size = draw_size(rng, liars=rng.choice((0, 1, 1, 2)) if rows_of != "owners" else rng.choice((0, 1)))
    setup = draw_setup(rng, size, seed=seed, rows_of=rows_of)
    liars, gone = size.taken[: size.liars], size.taken[size.liars :]
    promised, lossy = rng.random() < 0.7, rng.random() < 0.5
    faults, lies = _lies_of(rng, setup.job, liars)
    if promised:
        faults += [_crash(rng, j) for j in gone]
    else:
        gone = tuple(rng.sample(range(1, setup.job.parties + 1), rng.choice((1, 1, 2, 3))))
        faults += [_fault(rng, rng.choice(("mute", "deaf")), j) if lossy else _crash(rng, j) for j in gone]
        faults += [_fault(rng, rng.choice(("corrupt", "rot")), j) for j in liars]
    owners = [j for j, own in enumerate(setup.rows, 1) if len(own) and j not in {*liars, *gone}]
    far = rng.choice(owners) if rows_of == "clients" and owners and rng.random() < 0.05 else 0
    far *= isinstance(setup.job.disclosure, LabelsOnly)  # with "coded" distances may be possible ones
    lies += [Lie(client=far, what="rows", how="far")] if far else []
    for _ in range(rng.choice((0, 1, 3))):
        harmless = _fault(rng, rng.choice(HARMLESS), rng.randint(1, size.n))
        # Parties are few steps apart, because carriers keep what was sent before in order.
        faults.append(replace(harmless, count=min(harmless.count, 20)))
    return Case(
        setup=setup,
        scenario=Scenario(seed=seed, faults=tuple(faults), lies=tuple(lies), forged=FORGED),
        part_rows=rng.choice((1, 2, 3, 256)),
        liars=frozenset(liars) | ({far} if far else set()),
        unreliable=frozenset(gone),
        far=far,
        # Rows of a union and of a prediction cannot be left out: who vanishes or deals badly ends the run.
        promised=promised
        and not ((setup.ids is not None or isinstance(setup.job.method, Predict)) and (gone or liars)),
        overlap=rows_of == "overlap",
        beyond=not promised
        and (lossy or size.n < setup.job.threshold + len({*gone} - {*liars}) + 2 * size.liars),
    )


def draw_beyond(seed: int) -> Case:
    """A + 1 clients collude on a wrong polynomial that agrees with R - 1 honest answers."""
    rng = random.Random(seed)
    size = draw_size(rng, liars=rng.choice((1, 2)))
    setup = draw_setup(rng, size, seed=seed, rows_of="clients")
    honest = [j for j in range(1, size.n + 1) if j not in setup.job.comparers]
    liars = rng.sample(honest, min(size.liars + 1, len(honest)))
    others = [j for j in range(1, size.n + 1) if j not in liars]
    sharing = tuple(rng.sample(others, setup.job.threshold - 1))
    given = {"what": _answer(setup.job), "at": rng.randrange(4), "sharing": sharing}
    lies = tuple(Lie(client=j, how="codeword", **given) for j in liars)
    return Case(
        setup=setup,
        scenario=Scenario(seed=seed, lies=lies),
        part_rows=rng.choice((2, 256)),
        liars=frozenset(liars),
        unreliable=frozenset(),
        promised=False,
    )


def _crash(rng: random.Random, client: int) -> Fault:
    """After some number of messages, or at one of the places where processes are killed too."""
    if rng.random() < 0.5:
        return Fault(kind="crash", client=client, at=rng.randrange(60))
    return Fault(kind="crash", client=client, place=rng.choice(list(PLACES.values())))


def _fault(rng: random.Random, kind: Kind, client: int) -> Fault:
    return Fault(kind=kind, client=client, at=rng.randrange(60), count=rng.choice((1, 1, 4, 20, 1000)))


def _lies_of(rng: random.Random, job: Job, liars: tuple[int, ...]) -> tuple[list[Fault], list[Lie]]:
    """What liars deal wrongly, and what they say wrongly."""
    # Who deals wrongly to all others has other rows. In a union these stay, and no oracle knows them.
    most = 2 if isinstance(job.rows, Union) else job.n - 1
    faults = [
        Fault(kind="deal", client=j, at=rng.randrange(job.n), count=rng.choice((1, 1, 2, most)))
        for j in liars
        if rng.random() < 0.15
    ]
    together = rng.random() < 0.3
    quiet = liars[0] if len(liars) > 1 and rng.random() < 0.5 else 0
    sharing = tuple(rng.sample([j for j in range(1, job.n + 1) if j not in liars], job.threshold - 1))
    lies: list[Lie] = []
    for client in liars:
        if together:
            how = "withhold" if client == quiet else "codeword"
            lies.append(replace(_lie(rng, client, job, sharing, what=_answer(job), how=how), towards=()))
        for _ in range(rng.choice((1, 1, 2, 3))):
            lies.append(_lie(rng, client, job, sharing))
    return faults, lies


def _answer(job: Job) -> str:
    """The tag of the letters in which clients answer."""
    return "answer" if isinstance(job.disclosure, Coded) else "hidden"


def _lie(
    rng: random.Random,
    client: int,
    job: Job,
    sharing: tuple[int, ...],
    what: str | None = None,
    how: str | None = None,
) -> Lie:
    coded = isinstance(job.disclosure, Coded)
    hows = CODED_STEPS if coded else STEPS
    what = what or rng.choice([*hows])
    others = [j for j in range(1, job.n + 1) if j != client]
    towards = tuple(sorted(rng.sample(others, rng.choice((0, 1, 1, 2, job.n - 1)))))
    alone = {"answer"} if coded else set()  # what the server alone is sent
    if what in TOLD | alone:
        towards = ()
    chosen = how or rng.choice(hows[what])
    return Lie(
        client=client,
        what=what,
        how=chosen,  # type: ignore[arg-type]
        at=rng.choice((0, 0, 0, 1, 3, 6)),
        count=rng.choice((1, 2, 1000, 1000)),
        towards=towards,
        sharing=sharing,
    )


def run(case: Case) -> Ending:
    """Run the simulation."""
    with parts_of(case.part_rows):
        return run_faulty(case.setup, case.scenario)


@contextmanager
def parts_of(rows: int) -> Iterator[None]:
    """Take twice so many rows at a time while the context is active."""
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(program_rows, "BLOCK", 2 * rows)
        yield
