"""Clients compare the server's signed proofs to see whether it sent all of them the same.

A client accepts what R - 1 others confirm, and opens centres and spreads when a `quorum` has the same result.
Two valid proofs that differ show that the server cheats, whoever sends them, because only the server can
sign. A proof that it did not sign is its sender's fault, and is dropped.
"""

import struct
from collections.abc import Collection

from secfc.crypto.channel import TAG_BYTES
from secfc.crypto.handshake import DIGEST_BYTES
from secfc.crypto.proof import SHOWN_BYTES, Proof
from secfc.errors import CheatError, MessageError, SealError
from secfc.protocol.context import ClientContext, Peers
from secfc.protocol.job.job import Job
from secfc.protocol.job.thresholds import MAX_ROUNDS
from secfc.protocol.messages import Assignment, Finish, Message, Witness
from secfc.protocol.messages.bounds import Bounds
from secfc.protocol.shown import proof_of, shown, with_evidence

END = MAX_ROUNDS + 1
"""Number for the end of the run, above every round."""

_SHOWN = struct.Struct(f"<I{SHOWN_BYTES}s")  # round, proof of its assignment


def quorum(job: Job, planned: int) -> int:
    """Clients that must have the same result before one of them opens centres or spreads.

    At least R, and more than (planned + t) / 2. Two groups so large have more than t clients in common. One
    of these does not collude and has only one result, so nothing is opened of two results (docs/faults.md, "A
    server that cheats"). Clients left out count in `planned`, because the server says who is left out.
    """
    return max(job.threshold, (planned + job.t) // 2 + 1)


def check_outcome(finish: Finish, job: Job) -> None:
    """Raise MessageError unless a search can end so. An inertia too large for a float is infinite."""
    inertia = finish.inertia
    known = inertia >= 0.0 if inertia is not None else not job.tells_inertia
    if finish.n_iter > job.method.max_iter or not known or (inertia is not None) != job.tells_inertia:
        needed = "a sum of squares" if job.tells_inertia else "no sum of squares"
        raise MessageError(
            f"{type(finish).__name__}: 0 to {job.method.max_iter} iterations and {needed} are needed, "
            f"{finish.n_iter} and {inertia} were sent"
        )


class Witnesses:
    """One client's proofs, and those of the others."""

    def __init__(self, context: ClientContext, peers: Peers) -> None:
        self._me, self._session = context.number, context.session
        self._most = Bounds(context.job).witness + TAG_BYTES
        self._channels = peers.channels
        self._own: dict[int, Proof] = {}  # by round, that of the result at `END`
        self._shown = b""  # the proof of the result, as it is shown
        self._assigned = b""  # proofs of all assignments, each with its round before it
        self._heard: set[int] = set()  # clients whose proofs came
        self._pending: dict[int, bytes] = {}  # proofs that came before the result, by client
        self._agreed = 0  # clients with an equal proof of the result; each counts once
        self.false: set[int] = set()  # clients that sent a proof that the server did not sign

    def note(self, message: Assignment | Finish) -> None:
        """Note an assignment, or the result; an assignment need not have come."""
        if isinstance(message, Finish):
            self._own[END], self._shown = message.given, shown(message.given)
        else:
            self._own[message.round] = message.given
            self._assigned += _SHOWN.pack(message.round, shown(message.given))

    def tell(self, left_out: Collection[int]) -> list[Message]:
        """Witness messages to all other clients that are in, with this client's proofs.

        They have the proofs of all assignments, as two clients may share no round.
        """
        payload = self._shown + self._assigned
        return [
            Witness(
                run=self._session.run,
                sender=self._me,
                recipient=j,
                sealed=channel.seal(Witness.purpose, part=0, payload=payload, round_=END),
            )
            for j, channel in self._channels.items()
            if j not in left_out
        ]

    def settle(self) -> None:
        """Compare proofs that came before the result. CheatError if they differ."""
        for client in list(self._pending):
            self._compare(client, self._pending.pop(client))

    def take(self, message: Witness) -> None:
        """Compare another client's proofs, or keep them until this client has the result.

        CheatError, with evidence, when the server sent another client something else.
        """
        sender, sealed = message.sender, message.sealed.payload
        if sender not in self._channels:
            raise MessageError(f"Witness: from client {sender}, which is no other client of this run")
        if len(sealed) > self._most:
            raise MessageError(f"Witness: {len(sealed)} sealed bytes from client {sender}")
        channel = self._channels[sender]
        payload = bytes(channel.open(Witness.purpose, part=0, sealed=sealed, round_=END))
        if sender in self._heard:
            raise MessageError(f"Witness: a second one from client {sender}")
        beyond, rest = divmod(len(payload) - SHOWN_BYTES, _SHOWN.size)
        if rest or beyond < 0:
            raise MessageError(f"Witness: {len(payload)} bytes from client {sender} are no proofs")
        self._heard.add(sender)
        if END in self._own:
            self._compare(sender, payload)
        else:
            # Of many clients, the assignments of a run would take more memory than all else.
            equal = payload[SHOWN_BYTES:] == self._assigned
            self._pending[sender] = payload[:SHOWN_BYTES] if equal else payload

    def _compare(self, client: int, payload: bytes) -> None:
        """Compare proofs with the own ones. One that is not the server's is its sender's fault alone."""
        first, rest, own = payload[:SHOWN_BYTES], payload[SHOWN_BYTES:], self._own
        if first == self._shown and rest in (b"", self._assigned):
            self._agreed += 1  # equal to what this client has verified
            return
        said = {END: first}
        if rest != self._assigned:
            said |= dict(_SHOWN.iter_unpack(rest))
        differ = [n for n, one in said.items() if n in own and one[:DIGEST_BYTES] != own[n].digest]
        try:
            if END not in differ:
                self._proof(END, said[END]).verify(self._session)
            others = {number: self._proof(number, said[number]) for number in sorted(differ)}
            for proof in others.values():
                proof.verify(self._session)
        except SealError:
            self.false.add(client)
            return
        if others:
            raise self._cheat(client, *next(iter(others.items())))
        self._agreed += 1

    def _proof(self, number: int, payload: bytes) -> Proof:
        kind, round_ = (Finish, 0) if number == END else (Assignment, number)
        return proof_of(payload, kind, session=self._session, round_=round_)

    def _cheat(self, client: int, number: int, other: Proof) -> CheatError:
        own = self._own[number]
        what = "the result" if number == END else f"the assignment of round {number}"
        error = CheatError(
            f"client {self._me}: the server gave {what} with digest {own.digest.hex()[:16]} to this client "
            f"and {other.digest.hex()[:16]} to client {client}",
            clients=[client],
            round_=None if number == END else number,
        )
        return with_evidence(error, session=self._session, own=own, other=other)

    def confirmed(self, clients: int) -> bool:
        """Whether at least `clients` clients, this one included, have the same result."""
        return self._agreed >= clients - 1
