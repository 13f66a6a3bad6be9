"""A whole job in which one letter of one party is changed on its way out.

A job is run once, and its letters are listed. Then it is run again, and a letter that was drawn from the list
is another one. What the party holds itself is not changed.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from support.setups import make

from secfc.drivers.in_process import run_in_process
from secfc.drivers.setup import Outcome, Setup
from secfc.errors import SecFCError
from secfc.field.array_types import Data
from secfc.field.packing import BYTES_PER_RESIDUE
from secfc.field.primes import PRIMES
from secfc.operations.checking import check
from secfc.protocol.client import Client
from secfc.protocol.job.limits import Limits
from secfc.protocol.messages import Message
from secfc.protocol.parties import random_sharings
from secfc.protocol.parties.party import Party

THREE = {"counts": (3, 4, 2)}
HELPERS = {"counts": (3, 4, 0, 2, 3), "comparers": (6, 7, 8)}
LIARS = HELPERS | {"max_liars": 1}

INERTIA = {"reveal_inertia": True, "limits": Limits(reveal_inertia=True)}

KINDS = {
    "labels": {"starts": True},
    "random": {},
    "k-means++": {"init": "k-means++"},
    "emptied sets": {"k": 5},
    "several starts": {"n_init": 2, "max_iter": 2, **INERTIA},
    "weights": {"weighted": True},
    "several k": {"compared": (1, 2), "max_iter": 2, **INERTIA},
    "centres": {"reveal_to": (1, 3), "limits": Limits(reveal_centres=True)},
    "resamples": {
        "init": "k-means++",
        "resamples": 2,
        "max_iter": 1,
        "limits": Limits(reveal_tables=True),
    },
    "described": {"k": 1, "described": (0, 2), "smallest_cell": 2, "limits": Limits(describe=2)},
    "prediction": {"predict": True, "starts": True, "limits": Limits(predict=True)},
}
PARTIES = {"three": THREE, "helpers": HELPERS, "liars": LIARS}
JOBS = [(parties, kind) for parties in PARTIES for kind in KINDS]

BELIEVED = ("gates", "half", "mask", "product", "turned", "all")
"""First words of tags of letters about which a party is believed (docs/threat-model.md).

An owner has the labels that it gives, and evaluators deal what they were told of them.
"""


@dataclass(frozen=True)
class Letter:
    """Where a letter was sent, and its size."""

    sender: int
    step: int
    tag: str
    recipients: tuple[int, ...]
    size: int


@dataclass(frozen=True, kw_only=True)
class Lie:
    """What is changed: a letter of a job, and how, by a generator from `seed`."""

    job: tuple[str, str]
    letter: Letter
    how: str
    seed: int


@dataclass(kw_only=True)
class Told:
    """How a run has ended. `gave_up`: the liar's own role met an error, and was silent from there."""

    outcome: Outcome | None = None
    error: SecFCError | None = None
    gave_up: bool = False
    is_stuck: bool = False
    was_changed: bool = False
    sent: list[tuple[int, int, str, int, bytes]] = field(default_factory=list)


def _byte(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    changed = bytearray(data)
    changed[rng.randrange(len(data))] ^= rng.randrange(1, 256)
    return bytes(changed)


def _residue(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """A residue, as if the letter had nothing else, is another one below every prime."""
    at = BYTES_PER_RESIDUE * rng.randrange(max(1, len(data) // BYTES_PER_RESIDUE))
    old = int.from_bytes(data[at : at + BYTES_PER_RESIDUE], "little")
    new = (old + rng.randrange(1, 1 << 23)) % PRIMES[-1].p
    return (data[:at] + new.to_bytes(BYTES_PER_RESIDUE, "little") + data[at + BYTES_PER_RESIDUE :])[
        : len(data)
    ]


def _zeros(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    return bytes(len(data))


def _of_another(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """What another party has sent under this tag, or this one before, of the same size."""
    return rng.choice(others) if others else bytes(len(data))


HOWS: dict[str, Callable[[random.Random, bytes, list[bytes]], bytes]] = {
    "byte": _byte,
    "residue": _residue,
    "zeros": _zeros,
    "of another": _of_another,
}


def setup_of(job: tuple[str, str], *, without: tuple[int, ...] = ()) -> Setup:
    """A job, in which some parties may be without rows."""
    parties, kind = job
    given = {"k": 2, "d": 2, "max_iter": 3, "disclosure": "labels"} | PARTIES[parties] | KINDS[kind]
    setup = make(**given)
    for held in (setup.rows, setup.starts, setup.weights):
        for party in without if held is not None else ():
            held[party - 1] = held[party - 1][:0]
    for party in without if setup.columns is not None else ():
        setup.columns[party - 1] = setup.columns[party - 1][:, :0]
    return setup


def played(setup: Setup, lie: Lie | None = None) -> Told:
    """Run a job, in which a letter may be changed."""
    told, send, receive = Told(), Party.send, Client.receive
    liar, rng = None if lie is None else lie.letter.sender, random.Random()

    def sends(me: Party, recipient: int, tag: str, data: Data) -> None:
        if recipient != me.number:
            octets = bytes(data)
            if lie is not None and _is_meant(lie.letter, me, recipient, tag):
                others = [one for *_, name, _, one in told.sent if name == tag and len(one) == len(octets)]
                rng.seed(lie.seed)  # what several are told is changed in the same way
                data = HOWS[lie.how](rng, octets, [one for one in others if one != octets])
                told.was_changed |= data != octets
            told.sent.append((me.number, me.step, tag, recipient, octets))
        send(me, recipient, tag, data)

    def receives(client: Client, message: Any) -> list[Message]:
        if told.gave_up and client.number == liar:
            return []
        try:
            return receive(client, message)
        except SecFCError:
            told.gave_up = client.number == liar
            if not told.gave_up:
                raise
            return []

    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(random_sharings, "LEAST", 64)
        patches.setattr(check, "_LEAST", 256)
        patches.setattr(Party, "send", sends)
        patches.setattr(Client, "receive", receives)
        try:
            told.outcome = run_in_process(setup)
        except SecFCError as error:
            told.error = error
        except AssertionError:  # it has not ended, and nobody has a message more
            told.is_stuck = True
    return told


def _is_meant(letter: Letter, me: Party, recipient: int, tag: str) -> bool:
    at = me.number, me.step, tag
    return at == (letter.sender, letter.step, letter.tag) and recipient in letter.recipients


@cache
def honest(job: tuple[str, str], *without: int) -> tuple[Outcome, list[Letter]]:
    """The result of a job without a lie, and its letters."""
    told = played(setup_of(job, without=without))
    assert told.outcome is not None
    found = dict[tuple[int, int, str], Letter]()
    for sender, step, tag, recipient, data in told.sent:
        one = found.setdefault((sender, step, tag), Letter(sender, step, tag, (), len(data)))
        found[sender, step, tag] = replace(one, recipients=(*one.recipients, recipient))
    return told.outcome, list(found.values())


def drawn(seed: int) -> Lie:
    """A lie. With max_liars no comparer lies."""
    rng = random.Random(seed)
    job = rng.choice(JOBS)
    trusted = (0, 6, 7, 8) if job[0] == "liars" else (0,)
    letters = [
        one for one in honest(job)[1] if one.sender not in trusted and one.tag.split()[0] not in BELIEVED
    ]
    tag = rng.choice(sorted({one.tag for one in letters}))
    letter = rng.choice([one for one in letters if one.tag == tag])
    if rng.random() < 0.5:
        letter = replace(letter, recipients=(rng.choice(letter.recipients),))
    return Lie(job=job, letter=letter, how=rng.choice(list(HOWS)), seed=seed)


def verdict(lie: Lie, told: Told) -> str:
    """What became of a lie: "caught", "stuck", "corrected" or "harmless", or what is wrong."""
    liar = lie.letter.sender
    refuses = lie.letter.tag == "refused"  # without max_liars a dealer that a holder refuses is left out
    if told.error is not None:
        named = set(told.error.clients)
        if refuses or named <= {liar}:
            return "caught"
        return f"WRONG: {told.error} names {sorted(named)}"
    if told.is_stuck:
        return "stuck" if told.gave_up else "WRONG: all wait for each other"
    outcome = told.outcome
    assert outcome is not None
    faults = outcome.faults
    claimed = {holder for _, holder in faults.claimed}
    named = {*faults.absent, *faults.left_out, *faults.cheats, *faults.liars, *claimed}
    wrongly = named - {liar} - ({*faults.left_out} if refuses else set())
    if wrongly:
        return f"WRONG: {faults} names {sorted(wrongly)}"
    expected, _ = honest(lie.job, *faults.left_out)
    for party, (mine, theirs) in enumerate(zip(outcome.labels, expected.labels, strict=True), 1):
        silent = party in faults.left_out or (told.gave_up and party == liar)
        if not silent and mine.tolist() != theirs.tolist():
            return f"WRONG: party {party} has labels {mine.tolist()}, not {theirs.tolist()}"
    for name in ("n_iter", "converged", "opened", "centres", "deviations"):
        mine, theirs = (getattr(one, name, None) for one in (outcome, expected))
        if not np.array_equal(mine, theirs, equal_nan=mine is not None and theirs is not None):
            return f"WRONG: {name} is {mine}, not {theirs}"
    if outcome.resampled is not None and expected.resampled is not None:
        mine, theirs = (one.resampled.to_dict() for one in (outcome, expected))
        if mine != theirs:
            return f"WRONG: tables are {mine}, not {theirs}"
    mine, theirs = (one.counted and one.counted.to_dict() for one in (outcome, expected))
    if mine != theirs and mine["clients"] == theirs["clients"]:
        return f"WRONG: the table is {mine}, not {theirs}"
    return "corrected" if named else "harmless"
