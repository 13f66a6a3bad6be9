"""Clients that lie, for simulations: they use an honest role and change what it sends.

A liar changes messages of one type. It withholds, repeats or replaces them, or changes their content before
they are signed or sealed, so that the lie has a valid signature or seal.
"""

import random
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Literal, cast
from unittest.mock import patch

import numpy as np

from secfc.crypto.channel import TAG_BYTES, Channel, Channels, Sealed
from secfc.crypto.handshake import DIGEST_BYTES, Handshake
from secfc.crypto.identity import Identity
from secfc.errors import CheatError, PartyError
from secfc.field.label_packing import labels_of
from secfc.field.packing import BYTES_PER_RESIDUE, PackedResidues, pack, unpack
from secfc.field.primes import PRIMES, primes_of
from secfc.field.residues import reduce
from secfc.kmeans.sets import asked_about, set_sizes
from secfc.lagrange.points import evaluation_points
from secfc.protocol.client import Client
from secfc.protocol.job.cases import Coded, Deposited
from secfc.protocol.job.job import Job
from secfc.protocol.messages import (
    KINDS,
    SERVER,
    Assignment,
    CodedDistances,
    Evidence,
    MaskedAnswer,
    Message,
    Report,
    Step,
    StepReport,
)
from secfc.protocol.phases.client_identify import ClientIdentify
from secfc.protocol.phases.client_program import ClientProgram
from secfc.protocol.phases.client_share import ClientShare
from secfc.protocol.program.letters import letters_of, packed
from secfc.protocol.signed import report_statement

How = Literal[
    "withhold", "repeat", "stale", "garbage", "cut", "inside", "residue", "one", "all", "codeword", "sets",
    "false", "unsigned", "uncalled", "unseen", "far", "junk",
]  # fmt: skip

_RANGE_ROUND = 0
"""Before the first question."""

_BY_PURPOSE = {kind.purpose: kind.__name__ for kind in KINDS if kind.purpose}

HOWS: dict[str, tuple[How, ...]] = {
    "Ready": ("withhold", "repeat"),
    "Report": ("withhold", "repeat", "false", "unsigned", "cut"),
    "Evidence": ("withhold", "repeat", "inside", "cut", "unsigned", "uncalled"),
    "CodedDistances": ("withhold", "repeat", "stale", "one", "all", "codeword", "sets", "cut", "residue"),
    "Share": ("withhold", "repeat", "garbage", "cut", "inside", "residue", "unsigned"),
    "Echo": ("withhold", "repeat", "garbage", "cut", "inside"),
    "Witness": ("withhold", "repeat", "garbage", "cut", "inside"),
    "CentreShare": ("withhold", "repeat", "garbage", "cut", "inside", "residue"),
    "MaskedAnswer": (
        "withhold", "repeat", "stale", "one", "all", "codeword", "sets", "cut", "residue", "garbage",
    ),
}  # fmt: skip
"""What a liar can do to messages of each type."""

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
"""The same by the tag of a step, in a job that is one program."""

CODED_STEPS = {tag: STEPS[tag] for tag in ("root", "piece", "refused", "answer")} | {
    "same": ("withhold", "repeat", "unseen"),
}
"""The same with disclosure "coded"."""

TOLD = {"root", "refused"}
"""Tags of steps that the coordinator alone is told."""


@dataclass(frozen=True, kw_only=True)
class Lie:
    """What a client does to its messages of one type.

    Attributes
    ----------
    client : int
    what : str
        The type of message, or the tag of a step.
    how : str
        "withhold": it is not sent. "repeat": it is sent twice. "stale": it has the residues of the previous
        answer. "garbage": sealed bytes are random. "cut": it has another size. "inside": bytes are changed
        before they are sealed or sent. "residue": a residue is not below its prime. "one", "all": one residue
        or all are changed. "codeword": residues are those of another polynomial, which agrees with the
        answers of `sharing` and is the same for all who lie in this way. "sets": sets have changed places.
        "false": combinations of what `towards` dealt are changed, and signed. "unsigned": the signature is
        wrong. "uncalled": evidence that nobody asked for. "unseen": it says
        that other numbers were opened before. "far": its rows are beyond the bound. "junk": the letter has
        another tag.
    at, count : int
        The first message of this type that is changed, counted from 0 by recipient, and the number of them.
    towards : tuple of int
        Recipients or, of a false report, dealers; all if empty.
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
        meant = self.how == "false" or not self.towards or recipient in self.towards
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
        Types of messages in which it lied.
    """

    def __init__(self, *, lies: Iterable[Lie], rng: random.Random, **given: Any) -> None:
        super().__init__(**given)
        self._signing: Identity = given["identity"]
        self._lies, self._rng = list(lies), rng
        self._counts: dict[tuple[str, int], int] = {}
        self._before, self._again = dict[str, PackedResidues](), set[int]()
        self._weight, self._question = 0, (0, 0)  # of all rows; primes and sets of the last question
        self.lied: set[str] = set()
        identify = cast(ClientIdentify, self.phase)
        if any(lie.how == "far" for lie in self._lies):
            identify._rows = identify._rows + 4 * self._job.bound
        identify.handshake = cast(Handshake, _Handshake(identify.handshake, self._sealed))

    def start(self) -> list[Message]:
        """The introduction, with its lies."""
        return self._distorted(super().start())

    def receive(self, message: Message) -> list[Message]:
        """Take a message; return the messages of the honest role with the client's lies."""
        if isinstance(message, Assignment):
            sets, planned = labels_of(message.sets), self.phase.planned
            assert planned is not None
            layout = planned.without(message.left_out)
            self._weight = layout.weight
            asked = len(message.asked) or asked_about(set_sizes(sets, self._job.k))
            sizes = layout.divisors(sets, self._job.k)
            self._question = self._job.round_residues(sizes, layout.weight), asked
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
        honest = ClientProgram.public_round_is

        def begins(phase: ClientProgram, number: int, sets: Any) -> None:
            honest(phase, number, sets)
            sizes = set_sizes(sets, self._job.k)
            self._question = self._job.round_residues(sizes, 0), 1

        return patch.object(ClientProgram, "public_round_is", begins)

    def _drawn(self, what: str, recipient: int, *, sealing: bool) -> list[Lie]:
        """The lies about the next message of a type to a recipient."""
        key = what + sealing * " sealed", recipient
        number = self._counts.get(key, 0)
        self._counts[key] = number + 1
        lies = [lie for lie in self._lies if lie.what == what and lie.hits(recipient, number)]
        self.lied.update(what for _ in lies)
        return lies

    def _sealed(
        self, what: str, peer: int, at: tuple[int, int], payload: bytes, seal: Callable[[bytes], Sealed]
    ) -> Sealed:
        """Seal the payload of a round and part, with its lies; or return random bytes."""
        if what == Step.__name__:
            letters = self._in_letters(peer, payload)
            noise = bytearray(self._rng.randbytes(len(payload) + TAG_BYTES))
            return Sealed(payload=noise) if letters is None else seal(letters)
        honest, first = payload, self._first_residue(what, at)
        for lie in self._drawn(what, peer, sealing=True):
            changed = bytearray(payload)
            match lie.how:
                case "garbage":
                    return Sealed(payload=bytearray(self._rng.randbytes(len(payload) + TAG_BYTES)))
                case "cut":
                    return seal(bytes(changed[:-1]))
                case "inside":
                    changed[self._rng.randrange(len(changed))] ^= 1 + self._rng.randrange(255)
                case "residue":
                    changed[first : first + BYTES_PER_RESIDUE] = b"\xff" * BYTES_PER_RESIDUE
                case "unsigned":
                    changed[-1] ^= 1
                case "stale" | "one" | "all" | "codeword" | "sets":
                    changed[first:] = self._answer(self._masked(what, at, payload), lie).payload
            payload = bytes(changed)
        if what == MaskedAnswer.__name__:
            self._before[what] = self._masked(what, at, honest)
        return seal(payload)

    def _in_letters(self, recipient: int, data: bytes) -> bytes | None:
        """What is sent in place of the letters of steps; None for random bytes."""
        sent, garbage = [], False
        for place, letter in letters_of(data):
            changed, seen, tag = bytes(letter), place.seen, place.tag
            for lie in self._drawn(place.tag, recipient, sealing=True):
                garbage |= lie.how == "garbage"
                self._again |= {recipient} if lie.how == "repeat" else set()
                seen = bytes(len(seen)) if lie.how == "unseen" else seen
                tag = "junk" if lie.how == "junk" else tag
                changed = None if changed is None else self._in_letter(lie, changed)
            if "stale" in STEPS.get(place.tag, ()):
                self._before[place.tag] = self._masked(place.tag, (place.step, 0), bytes(letter))
            if changed is not None:
                sent.append((replace(place, seen=seen, tag=tag), changed))
        return None if garbage else packed(sent)

    def _in_letter(self, lie: Lie, letter: bytes) -> Any:
        changed, first = bytearray(letter), self._first_residue(lie.what, (1, 0))
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
                changed[first:] = self._answer(self._masked(lie.what, (1, 0), letter), lie).payload
        return bytes(changed)

    def _first_residue(self, what: str, at: tuple[int, int]) -> int:
        """Bytes before the residues: in the first part of an answer, and in a piece, there are digests."""
        if what == "piece":
            return DIGEST_BYTES * self._job.n
        return DIGEST_BYTES if what == MaskedAnswer.__name__ and at[1] == 0 else 0

    def _masked(self, what: str, at: tuple[int, int], payload: bytes) -> PackedResidues:
        """The residues of an answer, or of a step."""
        primes, columns = (self._job.residues(self._weight), 1) if at[0] == _RANGE_ROUND else self._question
        if what in STEPS:
            primes = 1 if what in {"share", "labels"} else self._job.residues(self._weight_of_all)
            if what == "answer" and isinstance(self._job.disclosure, Coded):
                primes = self._question[0]
            columns = 1
        answer = bytearray(payload[self._first_residue(what, at) :])
        shape = primes, columns, len(answer) // (BYTES_PER_RESIDUE * primes * columns)
        return PackedResidues(shape=shape, payload=answer)

    @property
    def _weight_of_all(self) -> int:
        """The weight of all planned rows. A member sends its first letters when it takes the plan."""
        if isinstance(self._job.rows, Deposited):
            return sum(self._job.rows.owners)
        assert self.phase.planned is not None
        return self.phase.planned.weight

    def _distorted(self, messages: list[Message]) -> list[Message]:
        changed: list[Message] = []
        for message in messages:
            if isinstance(message, Step | StepReport):
                changed += self._step(message)
                continue
            lies = self._drawn(type(message).__name__, message.recipient, sealing=False)
            copies = [message]
            for lie in lies:
                copies = [one for copy in copies for one in self._lie(copy, lie)]
            changed += copies
            if isinstance(message, CodedDistances):
                self._before[CodedDistances.__name__] = message.residues
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

    def _lie(self, message: Message, lie: Lie) -> list[Message]:
        match lie.how, message:
            case "withhold", _:
                return []
            case "repeat", _:
                return [message, message]
            case _, CodedDistances():
                return [replace(message, residues=self._answer(message.residues, lie))]
            case "uncalled", Report():
                return [message, self._evidence(message)]
            case _, Report():
                return [self._report(message, lie)]
            case _, Evidence():
                return [self._shown(message, lie)]
        return [message]  # changed when it was sealed

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
                case "sets":
                    plane = plane[::-1].copy()
            changed.planes()[index] = pack(reduce(plane, p), p)
        return changed

    def _report(self, message: Report, lie: Lie) -> Report:
        if lie.how == "unsigned":
            return replace(message, signature=bytes(len(message.signature)))
        shape, sharing = message.residues.shape, cast(ClientShare, self.phase).sharing
        testimony = sharing._testimonies[message.round]
        if lie.how == "cut":
            return replace(message, residues=PackedResidues.empty((shape[0], shape[1], shape[2] + 1)))
        residues = PackedResidues(shape=shape, payload=bytearray(message.residues.payload))
        columns = testimony._columns
        for column in columns:
            if column not in testimony._dealt:  # it could not be read, so the shown values are invented
                nothing = PackedResidues(
                    shape=(*shape[:2], 1), payload=bytearray(BYTES_PER_RESIDUE * prod(shape[:2]))
                )
                testimony.keep(column, nothing, bytes(len(message.signature)))
                if sharing._by_part:
                    zeros = shape[0], self._job.width, sharing.parts.dealt(*column)
                    octets = bytearray(BYTES_PER_RESIDUE * prod(zeros))
                    sharing._held[column] = PackedResidues(shape=zeros, payload=octets)
                    continue
                for index in range(shape[0]):
                    sharing._shares(column, index)[...] = 0
        for index, p in enumerate(primes_of(shape[0])):
            plane = unpack(residues.planes()[index])
            for at, (dealer, _) in enumerate(columns):
                if not lie.towards or dealer in lie.towards:
                    plane[:, at] += self._rng.randrange(1, p)
            residues.planes()[index] = pack(reduce(plane, p), p)
        sign, statement = (
            self._signing.sign,
            report_statement(
                testimony._transcript,
                reporter=self.number,
                seed=testimony.seed,
                columns=columns,
                residues=residues,
            ),
        )
        testimony._said = replace(message, residues=residues, signature=sign(statement))
        return testimony._said

    def _evidence(self, message: Report) -> Evidence:
        dealer = self._rng.choice([j for j in range(1, self._job.n + 1) if j != self.number])
        return Evidence(
            run=self._run,
            sender=self.number,
            recipient=SERVER,
            round=message.round,
            dealer=dealer,
            part=0,
            payload=self._rng.randbytes(60),
            signature=bytes(len(message.signature)),
        )

    def _shown(self, message: Evidence, lie: Lie) -> Evidence:
        payload = bytearray(message.payload)
        match lie.how:
            case "unsigned":
                return replace(message, signature=bytes(len(message.signature)))
            case "cut":
                return replace(message, payload=bytes(payload[:-1]))
            case "inside":
                payload[self._rng.randrange(len(payload))] ^= 1
        return replace(message, payload=bytes(payload))


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

    def among(self, peers: Container[int]) -> "_Channels":
        """As `Channels.among`."""
        return _Channels(self._honest.among(peers), self._sealed)


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

        return self._sealed(_BY_PURPOSE[purpose], self._peer, (round_, part), bytes(payload), seal)

    def seal_parts(self, purpose: bytes, *, part: int, parts: Any, round_: int = 0) -> Sealed:
        """The same of a payload in parts."""
        return self.seal(purpose, part=part, payload=b"".join(parts), round_=round_)
