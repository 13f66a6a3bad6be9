"""How a client takes a message: a bad one of another client is dropped and is no fault of the recipient."""

from collections.abc import Callable

from secfc.errors import MessageError
from secfc.protocol.client import Client
from secfc.protocol.messages import SERVER, Message, Share
from secfc.protocol.turns import RepeatedError
from secfc.protocol.wire import Envelope


def take(
    client: Client, header: Envelope, receive: Callable[[], list[Message]], *, note: Callable[[str], None]
) -> list[Message]:
    """What a message causes; nothing if another client sent one that is refused, and `note` is told why.

    Raises MessageError, which names the sender, for a message of the server, or one that this client needs
    and nobody can replace.
    """
    try:
        return receive()
    except MessageError as error:
        if header.sender == SERVER or client.needs(header.kind, header.sender):
            raise
        note(f"dropped what client {header.sender} sent: {error}")
        tolerant = client.tolerates_liars and header.kind == Share.__name__
        spoilt = tolerant and not isinstance(error, RepeatedError)
        return client.unreadable(header.sender) if spoilt else []
