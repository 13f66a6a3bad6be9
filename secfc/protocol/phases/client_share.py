"""The phase *share* of a client, with the check of shares, until the first question or the result."""

from secfc.errors import MessageError, ParameterError
from secfc.field.array_types import Ints
from secfc.operations.ending.noise import noise_of
from secfc.protocol.choices import tell
from secfc.protocol.context import ClientContext, Peers
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.mail import Mail
from secfc.protocol.messages import (
    Assignment,
    Challenge,
    CoinRequest,
    Continue,
    Dispute,
    Finish,
    LeaveOut,
    Message,
)
from secfc.protocol.opening.revealing import CentreOpening
from secfc.protocol.phases.client_iterate import ClientIterate
from secfc.protocol.phases.client_phase import ClientPhase, ClientStep, Held
from secfc.protocol.states import State
from secfc.protocol.witness import Witnesses
from secfc.sharing.client_shares import ClientSharing
from secfc.sharing.own_rows import OwnRows


class ClientShare(ClientPhase):
    """From the first share on. With membership privacy `union_rows` are the numbers of its rows in the union.

    LimitError for more rows, or a larger share of one party, than its limits allow, or for sets that must be
    too small.
    """

    def __init__(
        self,
        context: ClientContext,
        peers: Peers,
        *,
        layout: Layout,
        own: OwnRows,
        union_rows: Ints | None = None,
    ) -> None:
        self.planned, self.union_rows = layout, union_rows
        try:
            layout.check(context.job)
            noise_of(context.job, layout)
        except ParameterError as error:
            raise MessageError(f"Plan: {error}") from None
        context.limits.check_start(context.job, name=context.name, m=layout.m)
        context.check_shares(layout)
        self._context, self._peers = context, peers
        self._told = False  # whether it has sent its value of the coin
        self.sharing = ClientSharing(context, peers, layout=layout, own=own)
        self.held = Held(
            planned=layout,
            union_rows=union_rows,
            sharing=self.sharing,
            witnesses=Witnesses(context, peers),
            opening=CentreOpening(context, peers, self.sharing),
            mail=Mail(context.job, context.number, peers.all_channels, layout=layout),
        )

    @property
    def state(self) -> State:
        """ITERATE when all shares were sent and received, so a question may come; DONE if it is left out."""
        if self._context.number in self.sharing.left_out:
            return State.DONE
        return State.ITERATE if self.sharing.complete else State.SHARE

    def step(self, message: Message) -> ClientStep:
        """Send shares, take and check those of others. The first question begins the iterations."""
        sharing = self.sharing
        match message:
            case Continue():
                return self, sharing.on_continue(message.round, message.part)
            case Challenge():
                return self, sharing.on_challenge(message)
            case Dispute():
                return self, sharing.on_dispute(message)
            case CoinRequest():
                return self, self._on_coin(message)
            case LeaveOut() if self._told:
                raise MessageError(f"LeaveOut: of client {message.client}, after the coin")
            case LeaveOut():
                self._context.refuse_without("LeaveOut", message.client)
                return self, sharing.on_leave_out(message)
            case Assignment() | Finish():
                return ClientIterate(self._context, self._peers, self.held).step(message)
        return self, self.held.take(message)

    def _on_coin(self, message: CoinRequest) -> list[Message]:
        """Send its value of the coin. Afterwards no client may be left out."""
        if self._told or not self.sharing.seed:
            raise MessageError("CoinRequest: a second one, or before shares were checked")
        told = tell(message, self._context, self._peers, left_out=self.sharing.left_out)
        self._told = True
        return told

    def unreadable(self, sender: int) -> list[Message]:
        """Report it in place of the sender's shares, while it waits for these."""
        if self.state is not State.SHARE or not self.sharing.unreadable(sender):
            return []
        return self.sharing.ready()
