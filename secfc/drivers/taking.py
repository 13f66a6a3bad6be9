"""How a client takes a message. A bad message of another client is dropped: the recipient is not at fault."""

import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from secfc.crypto.handshake import Session
from secfc.crypto.randomness import MaskSource
from secfc.drivers.costs import Meter
from secfc.drivers.storage import allocator
from secfc.errors import MessageError
from secfc.kernels import choose
from secfc.kernels.threads import Threads
from secfc.protocol.client import Client
from secfc.protocol.job.job import Job
from secfc.protocol.messages import SERVER, Message
from secfc.protocol.messages.accepted import RepeatedError, useless
from secfc.protocol.messages.wire import Envelope, decode, encode, envelope
from secfc.protocol.states import State


def take(
    client: Client, header: Envelope, receive: Callable[[], list[Message]], *, note: Callable[[str], None]
) -> list[Message]:
    """Return the replies to a message. For a refused one of another client: none, and `note` gets the reason.

    A bad message of the server, or one that this client needs and nobody can replace, is an error. In a
    program it is a CheatError, because it ends the run for all. It accuses nobody: whoever transports the
    message can have changed it.
    """
    try:
        return receive()
    except MessageError as error:
        if header.sender == SERVER or client.needs(header.kind, header.sender):
            if header.sender == SERVER or isinstance(error, RepeatedError):
                raise
            raise useless(error, header.sender) from None
        note(f"dropped what client {header.sender} sent: {error}")
        return [] if isinstance(error, RepeatedError) else client.unreadable(header)


class TakingPart:
    """A party in a run, with files of its own or in a simulation."""

    def __init__(self, *, number: int, name: str, job: Job, log: logging.Logger) -> None:
        self.number, self.name, self._job, self._log = number, name, job, log
        self.meter = Meter()
        self._client: Client | None = None
        self._session: Session
        self._secrets: dict[str, bytes] = {}  # from its log, until they are used

    @property
    def seconds(self) -> list[list[str | float]]:
        """CPU seconds of its work by phase and role, for its report to the coordinator."""
        return [[*key, value] for key, value in self.meter.seconds.items()]

    @property
    def done(self) -> bool:
        """Whether the run has ended for it."""
        return self._client is not None and self._client.state is State.DONE

    @property
    def standing(self) -> str:
        """State of the run here, in words. Another thread may read it while the run is closed."""
        client = self._client
        return State.IDENTIFY.value if client is None else client.state.value

    @property
    def left_out(self) -> bool:
        """Whether the run ended without its rows."""
        return self.done and self._client is not None and self._client.labels is None

    @property
    def most_bytes(self) -> int:
        """Size limit of the next message that it takes."""
        assert self._client is not None
        return self._client.sizes.most_to_client

    def _join(self, *, threads: int, storage: Path | None = None, **given: Any) -> list[bytes | memoryview]:
        """Become the client of the run that is `given` these arguments. Return its introduction, encoded."""
        self._client = Client(
            number=self.number,
            job=self._job,
            session=self._session,
            ephemeral=self._secrets.get("ephemeral"),
            masks=MaskSource(self._secrets.get("masks")),
            name=self.name,
            allocate=allocator(storage, name=self.name),
            kernels=partial(choose, threads=Threads(threads)),
            **given,
        )
        self._secrets = {}
        return self._encoded(self._client.start())

    def receive(self, data: bytes | memoryview) -> list[bytes | memoryview]:
        """Take an encoded message. Return the messages that it causes, encoded."""
        client, header = self._client, envelope(data)
        assert client is not None

        def receive() -> list[Message]:
            most = client.sizes.most_bytes
            return self._receive(client, decode(data, k=self._job.k, session=self._session, most=most))

        def note(text: str) -> None:
            self._log.warning("%s", text)

        with self.meter.work(header.work, self.number):
            return self._encoded(take(client, header, receive, note=note))

    def _receive(self, client: Client, message: Message) -> list[Message]:
        return client.receive(message)

    def _encoded(self, messages: list[Message]) -> list[bytes | memoryview]:
        return [encode(message, k=self._job.k) for message in messages]
