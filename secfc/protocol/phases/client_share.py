"""The phase *share* of a client, with the check of shares: until it is asked, or hears the result."""

from secfc.array_types import Ints
from secfc.errors import MessageError, ParameterError
from secfc.protocol.choices import tell
from secfc.protocol.context import ClientContext, Peers
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
from secfc.protocol.own_rows import OwnRows
from secfc.protocol.phases.client_iterate import ClientIterate
from secfc.protocol.phases.client_phase import ClientPhase, ClientStep, Held
from secfc.protocol.revealing import CentreOpening
from secfc.protocol.sharing import ClientSharing
from secfc.protocol.states import State
from secfc.protocol.witness import Witnesses
from secfc.row_layout import Layout


class ClientShare(ClientPhase):
    """From the first share on; with membership privacy `union_rows` are its rows' numbers in the union.

    LimitError when its limits forbid a start label for so many rows.
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
        except ParameterError as error:
            raise MessageError(f"Plan: {error}") from None
        context.limits.check_start(context.job, name=context.name, m=layout.m)
        self._context, self._peers = context, peers
        self._told = False  # its value of the coin
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
        """ITERATE when every share has come and gone, so that it can be asked; DONE when it was left out."""
        if self._context.number in self.sharing.left_out:
            return State.DONE
        return State.ITERATE if self.sharing.complete else State.SHARE

    def step(self, message: Message) -> ClientStep:
        """Share, take others' shares, have them checked; the first question begins the iterations."""
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
        """Say that it is there, or tell its value of the coin. Nobody is left out from then on."""
        if self._told or not self.sharing.seed:
            raise MessageError("CoinRequest: a second one, or before shares were checked")
        told = tell(message, self._context, self._peers, left_out=self.sharing.left_out)
        self._told = bool(message.tossing)
        return told

    def unreadable(self, sender: int) -> list[Message]:
        """Report it in place of the sender's shares, while these are awaited."""
        if self.state is not State.SHARE or not self.sharing.unreadable(sender):
            return []
        return self.sharing.ready()
