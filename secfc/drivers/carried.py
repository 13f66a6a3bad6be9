"""What a message says outside: all that whoever carries it reads of it."""

from secfc.protocol import wire
from secfc.protocol.wire import Envelope

_NAME = 3  # letters of a format; its version follows


def envelope(data: bytes | bytearray | memoryview, *, prepares: bool) -> Envelope:
    """The header of a message of a run.

    Parameters
    ----------
    data : bytes
    prepares : bool
        Whether the run has a phase *prepare*, whose messages are others.

    Raises
    ------
    MessageError
        When it is no header of ours.
    """
    if not prepares or data[:_NAME] == wire.MAGIC[:_NAME]:
        return wire.envelope(data)
    from secfc.prepare import messages  # noqa: PLC0415 - runs from arrays do without

    return messages.envelope(data)
