"""A party between its pipes: frames in, what they cause out, with a journal or without."""

from dataclasses import asdict
from typing import Any, BinaryIO

from secfc.drivers import framing
from secfc.journal.journal import Journal
from secfc.journal.persistent import Party, Persistent
from secfc.journal.records import Buffer


class Line:
    """Carries frames between a party and the process that started it.

    Parameters
    ----------
    party : Party
    journal : Journal or None
    inbox, outbox : binary streams
    """

    def __init__(self, party: Party, journal: Journal | None, inbox: BinaryIO, outbox: BinaryIO) -> None:
        self._party, self._inbox, self._outbox = party, inbox, outbox
        self._persistent = None if journal is None else Persistent(party, journal)
        self._told = -1  # frames that the starter knows to be kept
        self._messages: list[Buffer] = []

    def resume(self, setup: dict[str, Any]) -> None:
        """Take what the journal has, send what was not sent, and say what need not be sent again.

        When whoever carries messages has been started again too, it asks what the journal has before it says
        which messages were carried.

        Raises
        ------
        StorageError
        """
        if self._persistent is not None:
            carried = setup["carried"]
            if carried is None:
                framing.write_json(self._outbox, {"stands": asdict(self._persistent.stands())})
                carried = framing.read_json(self._inbox)["carried"]
            self._messages = self._persistent.resume(carried=carried, kept=setup["kept"])
        self.flush()

    @property
    def fresh(self) -> bool:
        """Whether the party has taken no frame yet."""
        return self._persistent is None or self._persistent.taken == 0

    def take(self, kind: bytes, payload: bytes) -> None:
        """Take a frame."""
        taker = self._persistent or self._party
        self._messages += taker.take(kind, payload)

    def step(self) -> None:
        """Wait for a frame and take it, or note that messages need not be kept.

        Raises
        ------
        EOFError
            When the starter has gone.
        """
        frame = framing.read_frame(self._inbox)
        if frame is None:
            raise EOFError
        kind, payload = frame
        if kind != framing.SETTLED:
            self.take(kind, payload)
        elif self._persistent is not None:
            self._persistent.settled(*framing.load_settled(payload))

    def flush(self) -> None:
        """Send what the frame has caused."""
        for message in self._messages:
            framing.write_frame(self._outbox, framing.MESSAGE, message)
        self._messages = []
        if self._persistent is None:
            return
        self._persistent.settle()
        if self._persistent.kept > self._told:
            self._told = self._persistent.kept
            framing.write_kept(self._outbox, self._told)
