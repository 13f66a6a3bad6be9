"""Shares and deals that overtook what they depend on, which a client keeps until it comes."""

from dataclasses import replace

from secfc.errors import MessageError
from secfc.field.packing import packed_bytes
from secfc.field.primes import PRIMES
from secfc.params import Job
from secfc.protocol.bounds import MOST_DEALT_BYTES
from secfc.protocol.dealing import covers_of, proof_bytes
from secfc.protocol.messages import Share, UnionDeal
from secfc.row_layout import WINDOW, most_share_bytes
from secfc.sealing.channel import TAG_BYTES, Sealed


class EarlyShares:
    """Parts that overtook the plan, at most `WINDOW` from each client.

    Attributes
    ----------
    held : list of Share
        What was kept.
    spoilt : set of int
        Clients that sent another part than their next one, where shares are checked.
    """

    def __init__(self) -> None:
        self.held: list[Share] = []
        self.spoilt: set[int] = set()

    def hold(self, message: Share, *, job: Job) -> None:
        """Keep a part that cannot be opened yet.

        Raises
        ------
        MessageError
            It is not the sender's next one, or too large.
        """
        known = sum(held.sender == message.sender for held in self.held)
        if message.part != known or known == WINDOW:
            raise MessageError(f"Share: part {message.part} from client {message.sender} out of turn")
        most = most_share_bytes(len(PRIMES) * job.width) + proof_bytes(job, len(PRIMES)) + TAG_BYTES
        if job.reveal_spread is not None:
            most += packed_bytes((len(PRIMES), job.width, job.k))
        if len(message.sealed.payload) > most and covers_of(job):
            message = replace(message, sealed=Sealed(payload=b""))  # it will be found that it cannot be read
        elif len(message.sealed.payload) > most:
            raise MessageError(
                f"Share: {len(message.sealed.payload)} sealed bytes from client {message.sender}, "
                f"no part has more than {most}"
            )
        self.held.append(message)


class EarlyDeals:
    """Parts that overtook what their stage of the union begins with, at most `WINDOW` from each client."""

    def __init__(self) -> None:
        self._held: list[UnionDeal] = []

    def hold(self, message: UnionDeal, *, stage: int) -> None:
        """Keep a part that cannot be opened yet.

        Raises
        ------
        MessageError
            It is not the sender's next one, or too large.
        """
        known = sum(held.sender == message.sender for held in self._held)
        if message.round != stage or message.part != known or known == WINDOW:
            raise MessageError(
                f"UnionDeal: part {message.part} of stage {message.round} from client {message.sender}, "
                "out of turn"
            )
        if len(message.sealed.payload) > MOST_DEALT_BYTES + TAG_BYTES:
            raise MessageError(
                f"UnionDeal: {len(message.sealed.payload)} sealed bytes from client {message.sender}, "
                f"no part has more than {MOST_DEALT_BYTES + TAG_BYTES}"
            )
        self._held.append(message)

    def release(self) -> list[UnionDeal]:
        """What was kept, which is forgotten."""
        held, self._held = self._held, []
        return held
