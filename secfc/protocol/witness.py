"""Clients compare the server's signed proofs to see whether it sent all of them the same.

A client accepts what R - 1 others confirm, and opens centres and spreads when a `quorum` has the same result.
Two valid proofs that differ show that the server cheats, whoever sends them, because only the server can
sign. A proof that it did not sign is its sender's fault, and is dropped.
"""

import struct
from collections.abc import Collection

from secfc.errors import CheatError, MessageError, SealError
from secfc.params import MAX_ROUNDS, Job
from secfc.protocol.bounds import Bounds
from secfc.protocol.context import ClientContext, Peers
from secfc.protocol.messages import Assignment, Finish, Message, Witness
from secfc.protocol.shown import proof_of, shown, with_evidence
from secfc.sealing.channel import TAG_BYTES
from secfc.sealing.handshake import DIGEST_BYTES
from secfc.sealing.proof import SHOWN_BYTES, Proof

END = MAX_ROUNDS + 1
"""Number for the end of the run, above every round. A Witness of round 0 is about it."""

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
    if finish.n_iter > job.max_iter or not known or (inertia is not None) != job.tells_inertia:
        needed = "a sum of squares" if job.tells_inertia else "no sum of squares"
        raise MessageError(
            f"{type(finish).__name__}: 0 to {job.max_iter} iterations and {needed} are needed, "
            f"{finish.n_iter} and {inertia} were sent"
        )


class Witnesses:
    """One client's proofs, and those of the others."""

    def __init__(self, context: ClientContext, peers: Peers) -> None:
        self._me, self._session = context.number, context.session
        self._most_rounds, self._most = context.job.max_rounds, Bounds(context.job).witness + TAG_BYTES
        self._channels = peers.channels
        self._own: dict[int, Proof] = {}  # by round
        self._latest, self._shown = 0, b""  # the last of these rounds, and its proof as it is shown
        self._assigned = b""  # proofs of all assignments, each with its round before it
        self._heard: dict[int, int] = {}  # last round, by client
        self._pending: dict[int, tuple[int, bytes]] = {}  # proofs that came before the server's message
        self._agreed: dict[int, int] = {}  # clients with an equal proof, by round; each counts once
        self.false: set[int] = set()  # clients that sent a proof that the server did not sign

    def note(self, message: Assignment | Finish) -> None:
        """Note an assignment, or the result; an assignment need not have come."""
        ended, self._shown = isinstance(message, Finish), shown(message.given)
        self._latest = END if ended else message.round
        self._own[self._latest] = message.given
        if not ended:
            self._assigned += _SHOWN.pack(message.round, self._shown)

    def tell(self, round_: int, left_out: Collection[int]) -> list[Message]:
        """Witness messages to all other clients that are in, with this client's proof of a round.

        Those of the result also have the proofs of all assignments, as two clients may share no round.
        """
        payload = shown(self._own[round_])
        if round_ == END:
            payload += self._assigned
        return [
            Witness(
                run=self._session.run,
                sender=self._me,
                recipient=j,
                round=0 if round_ == END else round_,
                sealed=channel.seal(Witness.purpose, part=0, payload=payload, round_=round_),
            )
            for j, channel in self._channels.items()
            if j not in left_out
        ]

    def settle(self, round_: int) -> None:
        """Compare proofs that came before the server's message of this round. CheatError if they differ."""
        for client, (number, payload) in list(self._pending.items()):
            if number <= round_:
                del self._pending[client]
                self._compare(client, number, payload)

    def take(self, message: Witness) -> None:
        """Compare another client's proof, or keep it until this client has the message of that round.

        CheatError, with evidence, when the server sent another client something else.
        """
        sender, sealed, round_ = message.sender, message.sealed.payload, message.round or END
        if sender not in self._channels:
            raise MessageError(f"Witness: from client {sender}, which is no other client of this run")
        if message.round > self._most_rounds:
            # This refuses END too, which is sent as 0, so each message has one encoding.
            raise MessageError(f"Witness: of round {message.round}, at most {self._most_rounds} are asked")
        if len(sealed) > self._most:
            raise MessageError(f"Witness: {len(sealed)} sealed bytes from client {sender}")
        channel = self._channels[sender]
        payload = bytes(channel.open(Witness.purpose, part=0, sealed=sealed, round_=round_))
        self._check(sender, round_, payload)
        self._heard[sender] = round_
        if round_ <= self._latest:
            self._compare(sender, round_, payload)
        else:
            # Of many clients, the assignments of a run would take more memory than all else.
            equal = payload[SHOWN_BYTES:] == self._assigned
            self._pending[sender] = round_, payload[:SHOWN_BYTES] if equal else payload

    def _check(self, client: int, round_: int, payload: bytes) -> None:
        if round_ <= self._heard.get(client, 0):
            raise MessageError(f"Witness: round {round_} from client {client} after one as late")
        beyond, rest = divmod(len(payload) - SHOWN_BYTES, _SHOWN.size)
        if rest or beyond < 0 or (beyond and round_ != END):
            raise MessageError(f"Witness: {len(payload)} bytes from client {client} are no proofs")

    def _compare(self, client: int, round_: int, payload: bytes) -> None:
        """Compare proofs with the own ones. One that is not the server's is its sender's fault alone."""
        first, rest, own = payload[:SHOWN_BYTES], payload[SHOWN_BYTES:], self._own
        if round_ == self._latest and first == self._shown and rest in (b"", self._assigned):
            self._agree(round_)  # equal to what this client has verified
            return
        said = {round_: first}
        if rest != self._assigned:
            said |= dict(_SHOWN.iter_unpack(rest))
        differ = [n for n, one in said.items() if n in own and one[:DIGEST_BYTES] != own[n].digest]
        try:
            if round_ in own and round_ not in differ:
                self._proof(round_, said[round_]).verify(self._session)
            others = {number: self._proof(number, said[number]) for number in sorted(differ)}
            for proof in others.values():
                proof.verify(self._session)
        except SealError:
            self.false.add(client)
            return
        if others:
            raise self._cheat(client, *next(iter(others.items())))
        if round_ in own:
            self._agree(round_)

    def _agree(self, round_: int) -> None:
        self._agreed[round_] = self._agreed.get(round_, 0) + 1

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

    def confirmed(self, round_: int, *, clients: int) -> bool:
        """Whether at least `clients` clients, this one included, have the same message of a round."""
        return self._agreed.get(round_, 0) >= clients - 1
