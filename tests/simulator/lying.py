"""Clients that lie, for simulations: they use an honest role and change what it sends.

A liar changes letters of one tag. It withholds, repeats or replaces them, or changes their content before
they are signed or sealed, so that the lie has a valid signature or seal.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Literal, cast
from unittest.mock import patch

import numpy as np

from secfc.crypto.channel import TAG_BYTES, Channel, Channels, Sealed
from secfc.crypto.handshake import Handshake
from secfc.crypto.hash_tree import DIGEST_BYTES, depth_of
from secfc.errors import CheatError, PartyError
from secfc.field.packing import BYTES_PER_RESIDUE, PackedResidues, pack, unpack
from secfc.field.primes import PRIMES, primes_of, residues_needed
from secfc.field.residues import reduce
from secfc.kmeans.sets import set_sizes
from secfc.lagrange.basis import evaluation_points
from secfc.protocol.client import Client
from secfc.protocol.job.cases import Coded
from secfc.protocol.job.job import Job
from secfc.protocol.messages import KINDS, SERVER, Message, Step, StepReport
from secfc.protocol.program.stepping import letters_of, packed

How = Literal[
    "withhold", "repeat", "stale", "garbage", "cut", "inside", "residue", "one", "all", "codeword", "unseen",
    "far", "junk",
]  # fmt: skip

_BY_PURPOSE = {kind.purpose: kind.__name__ for kind in KINDS if kind.purpose}

_SHARES: tuple[How, ...] = (
    "withhold", "repeat", "stale", "one", "all", "codeword", "cut", "residue", "garbage", "unseen",
)  # fmt: skip

STEPS: dict[str, tuple[How, ...]] = {
    "root": ("withhold", "repeat", "garbage", "cut", "inside", "unseen"),
    "piece": ("withhold", "repeat", "garbage", "cut", "inside", "residue", "unseen", "junk"),
    "refused": ("withhold", "repeat", "garbage", "cut", "inside", "unseen"),
    "share": _SHARES,
    "hidden": _SHARES,
    "answer": _SHARES,
    "labels": _SHARES,
}
"""What a liar can do to letters of steps, by their tag."""

CODED_STEPS = {tag: STEPS[tag] for tag in ("root", "piece", "refused", "answer")} | {
    "same": ("withhold", "repeat", "unseen"),
}
"""The same with disclosure "coded"."""

TOLD = {"root", "refused"}
"""Tags of steps that the coordinator alone is told."""


@dataclass(frozen=True, kw_only=True)
class Lie:
    """What a client does to its letters of one tag.

    Attributes
    ----------
    client : int
    what : str
        The tag of a step.
    how : str
        "withhold": it is not sent. "repeat": it is sent twice. "stale": it has the residues of the previous
        answer. "garbage": sealed bytes are random. "cut": it has another size. "inside": bytes are changed
        before they are sealed or sent. "residue": a residue is not below its prime. "one", "all": one residue
        or all are changed. "codeword": residues are those of another polynomial, which agrees with the
        answers of `sharing` and is the same for all who lie in this way. "unseen": it says
        that other numbers were opened before. "far": its rows are beyond the bound. "junk": the letter has
        another tag.
    at, count : int
        The first letter of this tag that is changed, counted from 0 by recipient, and the number of them.
    towards : tuple of int
        Recipients; all if empty.
    sharing : tuple of int
        Clients whose answers agree with the false codeword.
    """

    client: int
    what: str
    how: How
    at: int = 0
    count: int = 1000
    towards: tuple[int, ...] = ()
    sharing: tuple[int, ...] = ()

    def hits(self, recipient: int, number: int) -> bool:
        """Whether the lie applies to message `number` to a recipient."""
        meant = not self.towards or recipient in self.towards
        return meant and self.at <= number < self.at + self.count


class LyingClient(Client):
    """A client that lies.

    Parameters
    ----------
    lies : iterable of Lie
        Its own.
    rng : random.Random
        The simulation's generator. No secret is drawn from it.
    **given
        Arguments of `Client`.

    Attributes
    ----------
    lied : set of str
        Tags of letters in which it lied.
    """

    def __init__(self, *, lies: Iterable[Lie], rng: random.Random, **given: Any) -> None:
        super().__init__(**given)
        self._lies, self._rng = list(lies), rng
        self._counts: dict[tuple[str, int], int] = {}
        self._before, self._again = dict[str, PackedResidues](), set[int]()
        self._primes = 0  # of the answers of the last round about public sets
        self.lied: set[str] = set()
        assert self._rows is not None
        if any(lie.how == "far" for lie in self._lies):
            job = self._job  # small bounds are less than a unit
            self._rows = self._rows + 4 * max(job.bound, float(job.radius * job.unit))
        self.handshake = cast(Handshake, _Handshake(self.handshake, self._sealed))

    def start(self) -> list[Message]:
        """The introduction, with its lies."""
        return self._distorted(super().start())

    def receive(self, message: Message) -> list[Message]:
        """Take a message; return the messages of the honest role with the client's lies."""
        try:
            with self._watched():
                messages = super().receive(message)
        except CheatError as error:
            if "refused" not in self.lied:
                raise
            # What others are told is not what the honest role has said. A liar does not complain.
            raise PartyError(str(error)) from None
        return self._distorted(messages)

    def _watched(self) -> Any:
        """Note how many primes the answers of a round about public sets have, while a message is taken."""
        honest = Client.round_is

        def begins(client: Client, number: int, sets: Any = None) -> None:
            honest(client, number, sets)
            if sets is None:
                return
            self._primes = residues_needed(self._job.radius, int(set_sizes(sets, self._job.k).max()))

        return patch.object(Client, "round_is", begins)

    def _drawn(self, what: str, recipient: int) -> list[Lie]:
        """The lies about the next letter of a tag to a recipient."""
        key = what, recipient
        number = self._counts.get(key, 0)
        self._counts[key] = number + 1
        lies = [lie for lie in self._lies if lie.what == what and lie.hits(recipient, number)]
        self.lied.update(what for _ in lies)
        return lies

    def _sealed(self, what: str, peer: int, payload: bytes, seal: Callable[[bytes], Sealed]) -> Sealed:
        """Seal letters with their lies, or return random bytes."""
        if what != Step.__name__:
            return seal(payload)
        letters = self._in_letters(peer, payload)
        noise = bytearray(self._rng.randbytes(len(payload) + TAG_BYTES))
        return Sealed(payload=noise) if letters is None else seal(letters)

    def _in_letters(self, recipient: int, data: bytes) -> bytes | None:
        """What is sent in place of the letters of steps; None for random bytes."""
        sent, garbage = [], False
        for place, letter in letters_of(data):
            changed, seen, tag = bytes(letter), place.seen, place.tag
            for lie in self._drawn(place.tag, recipient):
                garbage |= lie.how == "garbage"
                self._again |= {recipient} if lie.how == "repeat" else set()
                seen = bytes(len(seen)) if lie.how == "unseen" else seen
                tag = "junk" if lie.how == "junk" else tag
                changed = None if changed is None else self._in_letter(lie, changed)
            if "stale" in STEPS.get(place.tag, ()):
                self._before[place.tag] = self._residues(place.tag, bytes(letter))
            if changed is not None:
                sent.append((replace(place, seen=seen, tag=tag), changed))
        return None if garbage else packed(sent)

    def _in_letter(self, lie: Lie, letter: bytes) -> Any:
        changed, first = bytearray(letter), self._first_residue(lie.what)
        match lie.how:
            case "withhold":
                return None
            case "cut":
                return letter[:-1]
            case "inside":
                changed[self._rng.randrange(len(changed))] ^= 1 << self._rng.randrange(8)
            case "residue":
                changed[first : first + BYTES_PER_RESIDUE] = b"\xff" * BYTES_PER_RESIDUE
            case "stale" | "one" | "all" | "codeword":
                changed[first:] = self._answer(self._residues(lie.what, letter), lie).payload
        return bytes(changed)

    def _first_residue(self, what: str) -> int:
        """Bytes before the residues: in a piece there is a path."""
        return DIGEST_BYTES * depth_of(self._job.n) if what == "piece" else 0

    def _residues(self, what: str, letter: bytes) -> PackedResidues:
        """The residues of a letter, modulo the primes by which its sender shares now."""
        assert self._steps is not None
        primes = 1 if what in {"share", "labels"} else len(self._steps.me.code.primes)
        if what == "answer" and isinstance(self._job.disclosure, Coded):
            primes = self._primes
        answer = bytearray(letter[self._first_residue(what) :])
        return PackedResidues(shape=(primes, 1, len(answer) // (BYTES_PER_RESIDUE * primes)), payload=answer)

    def _distorted(self, messages: list[Message]) -> list[Message]:
        changed: list[Message] = []
        for message in messages:
            changed += self._step(message) if isinstance(message, Step | StepReport) else [message]
        return changed

    def _step(self, message: Step | StepReport) -> list[Message]:
        """The message, twice or not at all; what it says to another client was changed when it was sealed."""
        if isinstance(message, StepReport):
            told = self._in_letters(SERVER, bytes(message.data))
            message, sent = (
                replace(message, data=self._rng.randbytes(20) if told is None else told),
                told != b"",
            )
        else:
            sent = len(message.sealed.payload) > TAG_BYTES
        twice, self._again = message.recipient in self._again, self._again - {message.recipient}
        return [message] * (1 + twice) if sent else []

    def _answer(self, residues: PackedResidues, lie: Lie) -> PackedResidues:
        shape, rng = residues.shape, self._rng
        if lie.how == "stale":
            before = self._before.get(lie.what, residues)
            return before if before.shape == shape else residues
        if lie.how == "cut":
            return PackedResidues.empty((shape[0], shape[1], shape[2] + 1))
        changed = PackedResidues(shape=shape, payload=bytearray(residues.payload))
        if lie.how == "residue":
            changed.planes()[0, 0, :BYTES_PER_RESIDUE] = 0xFF
            return changed
        for index, p in enumerate(primes_of(shape[0])):
            plane = unpack(changed.planes()[index])
            match lie.how:
                case "one":
                    at = rng.randrange(plane.shape[0]), rng.randrange(plane.shape[1])
                    plane[at] += rng.randrange(1, p)
                case "all":
                    plane += np.array([rng.randrange(1, p) for _ in range(plane.size)]).reshape(plane.shape)
                case "codeword":
                    plane += _other_codeword(self._job, index, self.number, lie)
            changed.planes()[index] = pack(reduce(plane, p), p)
        return changed


def _other_codeword(job: Job, index: int, client: int, lie: Lie) -> int:
    """The value at a client's point of a polynomial of degree below R, which is 0 at those of `sharing`."""
    p = PRIMES[index].p
    points = evaluation_points(PRIMES[index], n=job.n, coded=job.ell + job.t).alpha
    sharing = lie.sharing[: job.ell + job.t - 1] if lie.what == "labels" else lie.sharing  # a lower degree
    return prod((points[client - 1] - points[j - 1]) % p for j in sharing) % p


class _Handshake:
    """The handshake of a liar. Its channels lie."""

    def __init__(self, honest: Handshake, sealed: Callable[..., Sealed]) -> None:
        self._honest, self._sealed = honest, sealed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._honest, name)

    def channels(self, *given: Any) -> "_Channels":
        """Channels to the other parties."""
        return _Channels(self._honest.channels(*given), self._sealed)


class _Channels(Mapping[int, Channel]):
    """The channels of a liar."""

    def __init__(self, honest: Channels, sealed: Callable[..., Sealed]) -> None:
        self._honest, self._sealed = honest, sealed
        self.transcript = honest.transcript

    def __getitem__(self, peer: int) -> Channel:
        return cast(Channel, _Channel(self._honest[peer], peer, self._sealed))

    def __iter__(self) -> Iterator[int]:
        return iter(self._honest)

    def __len__(self) -> int:
        return len(self._honest)


class _Channel:
    """A channel that seals what the liar chooses."""

    def __init__(self, honest: Channel, peer: int, sealed: Callable[..., Sealed]) -> None:
        self._honest, self._peer, self._sealed = honest, peer, sealed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._honest, name)

    def seal(self, purpose: bytes, *, part: int, payload: Any, round_: int = 0) -> Sealed:
        """Seal a payload, or what the liar sends instead."""

        def seal(changed: bytes) -> Sealed:
            return self._honest.seal(purpose, part=part, payload=changed, round_=round_)

        return self._sealed(_BY_PURPOSE[purpose], self._peer, bytes(payload), seal)

    def seal_parts(self, purpose: bytes, *, part: int, parts: Any, round_: int = 0) -> Sealed:
        """The same of a payload in parts."""
        return self.seal(purpose, part=part, payload=b"".join(parts), round_=round_)
