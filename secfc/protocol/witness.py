"""Whether the server gave all clients the same: digests that clients compare among themselves.

A client believes what R - 1 others confirm, and opens centres and spreads when a `quorum` has the same
result. As at most A clients lie, a digest that differs at more than A of them shows a server that cheats; at
fewer, it may be they who lie, and the run goes on.
"""

import hashlib
import struct
from collections.abc import Iterable

from secfc._arrays import Labels
from secfc.errors import CheatError, MessageError
from secfc.params import MAX_ROUNDS, Job
from secfc.protocol.messages import Finish

END = MAX_ROUNDS + 1
"""Stands for the end of the run, after every round; a Witness of round 0 is about it."""

DIGEST_BYTES = 32
_ROUND = struct.Struct("<I")
_OUTCOME = struct.Struct("<IBd")


def quorum(job: Job, planned: int) -> int:
    """Clients that must have the same result before one of them opens what the job opens.

    R at least, and more than half of the clients and of t more. Two groups so large have more than t clients
    in common, so one that does not collude and has one result alone: nothing is opened of two results
    (docs/protocol.md, "A server that cheats").

    Parameters
    ----------
    job : Job
    planned : int
        Clients that the run began with. Those that were left out count: who does so is the server.
    """
    return max(job.threshold, (planned + job.t) // 2 + 1)


def _of_labels(head: bytes, labels: Labels) -> bytes:
    return hashlib.sha256(head + labels.astype("<i4").tobytes()).digest()


def _numbers(clients: Iterable[int]) -> bytes:
    """How many clients, and which."""
    listed = sorted(clients)
    return b"".join(map(_ROUND.pack, (len(listed), *listed)))


class Witnesses:
    """One client's digests, and what the others say.

    Parameters
    ----------
    job : Job
    me : int
        Number of the client.
    """

    def __init__(self, job: Job, me: int) -> None:
        self._job, self._me = job, me
        self._own: dict[int, bytes] = {}  # by round
        self._heard: dict[int, int] = {}  # last round, by client
        self._pending: dict[int, tuple[int, bytes]] = {}  # what overtook the server's message, by client
        self._agreed: dict[int, set[int]] = {}  # by round
        self._differed: dict[int, dict[int, str]] = {}  # by round, then client

    @property
    def most_bytes(self) -> int:
        """No payload is larger."""
        return DIGEST_BYTES + (_ROUND.size + DIGEST_BYTES) * self._job.max_rounds

    def assigned(self, round_: int, sets: Labels, left_out: Iterable[int], challenge: bytes = b"") -> bytes:
        """Note an assignment, whose rows it is not about, and the seed of the check of shares.

        Returns the payload to send about it.
        """
        head = b"secfc assignment 1" + _ROUND.pack(round_) + _numbers(left_out) + challenge
        self._own[round_] = _of_labels(head, sets)
        return self._own[round_]

    def finished(self, finish: Finish, left_out: Iterable[int], challenge: bytes = b"") -> bytes:
        """Note the result, whose rows it is not about, and the seed.

        An assignment need not have come, and two clients may have no round in common. Returns the payload to
        send about the whole run.
        """
        head = b"secfc result 1" + _OUTCOME.pack(finish.n_iter, finish.converged, finish.inertia)
        head += _numbers(left_out) + challenge
        rounds = b"".join(_ROUND.pack(number) + digest for number, digest in sorted(self._own.items()))
        self._own[END] = _of_labels(head, finish.labels)
        return self._own[END] + rounds

    def settle(self, round_: int) -> None:
        """Compare what came before the server's message of this round, now that it is here.

        Raises
        ------
        CheatError
        """
        for client, (number, payload) in list(self._pending.items()):
            if number <= round_:
                del self._pending[client]
                self._compare(client, number, payload)

    def take(self, client: int, round_: int, payload: bytes) -> None:
        """Compare what another client says, or keep it until its round is here.

        Raises
        ------
        MessageError
            It is malformed, or not after the last one of that client.
        CheatError
            The server gave more clients something else than can lie.
        """
        self._check(client, round_, payload)
        self._heard[client] = round_
        if round_ in self._own or any(number > round_ for number in self._own):
            self._compare(client, round_, payload)
        else:
            self._pending[client] = round_, payload

    def _check(self, client: int, round_: int, payload: bytes) -> None:
        if round_ <= self._heard.get(client, 0):
            raise MessageError(f"Witness: round {round_} from client {client} after one as late")
        beyond, rest = divmod(len(payload) - DIGEST_BYTES, _ROUND.size + DIGEST_BYTES)
        if rest or beyond < 0 or (beyond and round_ != END):
            raise MessageError(f"Witness: {len(payload)} bytes from client {client} are no digests")

    def _compare(self, client: int, round_: int, payload: bytes) -> None:
        said = {round_: payload[:DIGEST_BYTES]}
        step = _ROUND.size + DIGEST_BYTES
        for at in range(DIGEST_BYTES, len(payload), step):
            said[_ROUND.unpack_from(payload, at)[0]] = payload[at + _ROUND.size : at + step]
        for number in sorted(said.keys() & self._own.keys()):
            if said[number] == self._own[number]:
                self._agreed.setdefault(number, set()).add(client)
            else:
                self._differed.setdefault(number, {})[client] = said[number].hex()[:16]
        self._judge(said)

    def _judge(self, rounds: Iterable[int]) -> None:
        for number in rounds:
            others = self._differed.get(number, {})
            if len(others) <= self._job.max_liars:
                continue
            what = "the result" if number == END else f"the assignment of round {number}"
            said = ", ".join(f"{digest} to client {client}" for client, digest in sorted(others.items()))
            raise CheatError(
                f"client {self._me}: the server gave {what} with digest {self._own[number].hex()[:16]} to "
                f"this client and {said}"
            )

    def confirmed(self, round_: int, *, clients: int) -> bool:
        """Whether so many clients, this one among them, were given the same."""
        return len(self._agreed.get(round_, ())) >= clients - 1
