"""Clients that break: their processes get a signal at a chosen message, or their answers are wrong."""

import signal
import threading

from secfc.drivers.calls import conversation
from secfc.drivers.calls.processes import ForkServer
from secfc.errors import SecFCError
from secfc.protocol.client import Client
from secfc.protocol.messages import CodedDistances
from secfc.protocol.messages.wire import envelope


class Noting:
    """A queue of events that tells when a loss was put into it."""

    def __init__(self, events):
        self._events, self.lost = events, threading.Event()

    def put(self, event):
        self._events.put(event)
        if isinstance(event[1], SecFCError):
            self.lost.set()


def breaks_at(monkeypatch, client, kind, number=signal.SIGKILL, *, noticed=False):
    """Send a signal to a client's process when it gets a message of a type; return the process in a list.

    With `noticed` nobody gets another message before the coordinator has an event of the loss. Otherwise a
    run that does not need the client may end before.
    """
    started, hit = [], []
    start, put = ForkServer.start, conversation.Conversation.put

    def start_and_note(forks):
        started.append(start(forks))
        return started[-1]

    def put_and_break(self, message):
        header = envelope(message)
        if (header.kind, header.recipient) == (kind, client) and not hit:
            hit.append(started[client - 1])
            self._events = Noting(self._events)
            hit[0].send_signal(number)
            put(self, message)
            assert not noticed or self._events.lost.wait(60)
        else:
            put(self, message)

    monkeypatch.setattr(ForkServer, "start", start_and_note)
    monkeypatch.setattr(conversation.Conversation, "put", put_and_break)
    return hit


def lies(monkeypatch, number):
    """Have a client of a run in this process answer with zeros, which are residues but wrong."""
    real = Client.receive

    def receive(self, message):
        replies = real(self, message)
        for one in replies if self.number == number else ():
            if isinstance(one, CodedDistances):
                one.residues.payload[:] = bytes(len(one.residues.payload))
        return replies

    monkeypatch.setattr(Client, "receive", receive)
