"""Clients that break: their processes get a signal at a chosen message, or their answers are wrong."""

import signal
import threading
from dataclasses import replace

from secfc.drivers.calls import conversation
from secfc.drivers.calls.processes import ForkServer
from secfc.errors import SecFCError
from secfc.protocol.client import Client
from secfc.protocol.messages import StepReport
from secfc.protocol.messages.wire import envelope
from secfc.protocol.program.stepping import letters_of, packed


class Noting:
    """A queue of events that tells when a loss was put into it."""

    def __init__(self, events):
        self._events, self.lost = events, threading.Event()

    def put(self, event):
        self._events.put(event)
        if isinstance(event[1], SecFCError):
            self.lost.set()


def breaks_at(monkeypatch, client, kind, number=signal.SIGKILL, *, noticed=False, round_=0):
    """Send a signal to a client's process when it gets a message of a type; return the process in a list.

    The message is the first of this round or a later one.

    With `noticed` nobody gets another message before the coordinator has an event of the loss, or an answer
    that came before it. Otherwise a run that does not need the client may end before.
    """
    started, hit = [], []
    start, put = ForkServer.start, conversation.Conversation.put

    def start_and_note(forks):
        started.append(start(forks))
        return started[-1]

    def put_and_break(self, message):
        header = envelope(message)
        if (header.kind, header.recipient) == (kind, client) and header.round >= round_ and not hit:
            hit.append(started[client - 1])
            self._events = Noting(self._events)
            hit[0].send_signal(number)
            put(self, message)
            waits = iter(range(1200))
            while noticed and not self._events.lost.wait(0.05) and self._untaken is None:
                assert next(waits, None) is not None, "no loss was noticed"
        else:
            put(self, message)

    monkeypatch.setattr(ForkServer, "start", start_and_note)
    monkeypatch.setattr(conversation.Conversation, "put", put_and_break)
    return hit


def lies(monkeypatch, number):
    """Have a client of a run in this process answer with zeros, which are residues but wrong.

    The run has public sets.
    """
    real = Client.receive

    def wrong(message):
        if not isinstance(message, StepReport):
            return message
        every = letters_of(message.data)
        letters = [(at, bytes(len(data)) if at.tag == "answer" else data) for at, data in every]
        return replace(message, data=packed(letters))

    def receive(self, message):
        replies = real(self, message)
        return list(map(wrong, replies)) if self.number == number else replies

    monkeypatch.setattr(Client, "receive", receive)
