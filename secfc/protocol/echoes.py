"""Clients show each other the seed of a check of shares, as the server signed it, before they report.

Reports about two seeds would reveal the difference of two combinations of a dealer's rows. So a client
reports only when a `quorum` of clients, itself included, has its seed. Two quorums have more than t clients
in common. One of these does not collude and shows only one seed, so all reports are about one seed
(docs/faults.md, "Liars in sharing").
"""

from collections.abc import Collection, Mapping

from secfc.crypto.channel import TAG_BYTES
from secfc.crypto.proof import SHOWN_BYTES, Proof
from secfc.errors import CheatError, MessageError, SealError
from secfc.protocol.context import ClientContext, Peers
from secfc.protocol.messages import Challenge, Echo, Message
from secfc.protocol.shown import proof_of, shown, with_evidence


class Echoes:
    """A client's challenges, one for each check from `first` on, and the proofs of other clients."""

    def __init__(self, context: ClientContext, peers: Peers, *, first: int) -> None:
        self._number, self._session = context.number, context.session
        self._tolerant = context.job.max_liars > 0
        self._channels, self._quorum = peers.channels, peers.quorum
        self._own: dict[int, tuple[bytes, Proof]] = {}  # seed, by check
        self._said: dict[int, dict[int, Proof]] = {}  # by check, then client; verified
        self._next: dict[int, int] = {}  # the next check of each client's echo, `first` at the beginning
        self._first = self._over = first  # checks before this one are over
        self.false: set[int] = set()  # clients that sent a proof that the server did not sign
        self.latest = b""  # the seed of the latest check

    def seed(self, check: int) -> bytes:
        """The seed of a check that is not over. Empty before its challenge arrives."""
        return self._own[check][0] if check in self._own else b""

    def begin(self, challenge: Challenge, left_out: Collection[int] = ()) -> list[Message]:
        """Note the challenge of a check, and return echoes with its proof for all other clients that are in.

        CheatError when the server signed another seed for another client.
        """
        check, proof = challenge.round, challenge.given
        self._own[check], self.latest = (challenge.seed, proof), challenge.seed
        self._compare(check, self._said.get(check, {}))
        return [
            Echo(
                run=self._session.run,
                sender=self._number,
                recipient=j,
                round=check,
                sealed=channel.seal(Echo.purpose, part=0, payload=shown(proof), round_=check),
            )
            for j, channel in self._channels.items()
            if j not in left_out
        ]

    def take(self, message: Echo, *, complete: int) -> None:
        """Take the proof of another client's next challenge. No check from `complete` on can have begun.

        The proof is dropped when the check is over, or the server did not sign it and liars are tolerated.
        CheatError, with evidence, when the server signed another seed for the sender.
        """
        sender, sealed, check = message.sender, message.sealed.payload, message.round
        if sender not in self._channels:
            raise MessageError(f"Echo: from client {sender}, which is no other client of this run")
        following = self._next.get(sender, self._first)
        if check != following or check >= complete:
            raise MessageError(
                f"Echo: of challenge {check} from client {sender}, challenge {following} is next, "
                f"and those from {complete} on have not begun"
            )
        if len(sealed) != SHOWN_BYTES + TAG_BYTES:
            raise MessageError(f"Echo: {len(sealed)} sealed bytes from client {sender}")
        payload = bytes(self._channels[sender].open(Echo.purpose, part=0, sealed=sealed, round_=check))
        self._next[sender] = check + 1
        if check < self._over:
            return
        proof = proof_of(payload, Challenge, session=self._session, round_=check)
        try:
            proof.verify(self._session)
        except SealError:
            if not self._tolerant:
                raise SealError(
                    f"Echo: client {sender} shows a seed for check {check} that the server did not sign"
                ) from None
            self.false.add(sender)
            return
        self._said.setdefault(check, {})[sender] = proof
        self._compare(check, {sender: proof})

    def confirmed(self, check: int) -> bool:
        """Whether a quorum has this client's seed of a check that is not over."""
        # Proofs of another seed end the run, so all proofs here are of this client's seed.
        return check in self._own and 1 + len(self._said.get(check, {})) >= self._quorum

    def end(self, check: int) -> None:
        """Note that this check and those before are over."""
        self._over = check + 1
        self._own.pop(check, None)
        self._said.pop(check, None)

    def _compare(self, check: int, said: Mapping[int, Proof]) -> None:
        if check not in self._own:
            return
        _, own = self._own[check]
        others = {j: one for j, one in sorted(said.items()) if one.digest != own.digest}
        if not others:
            return
        error = CheatError(
            f"client {self._number}: the server gave another seed for check {check} of shares to clients "
            f"{', '.join(map(str, others))} than to this client",
            clients=list(others),
        )
        raise with_evidence(error, session=self._session, own=own, other=next(iter(others.values())))
