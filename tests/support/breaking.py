"""Clients that break: their processes get a signal at a chosen message, or their answers are wrong."""

import signal

from secfc.drivers.calls import conversation
from secfc.drivers.calls.processes import ForkServer
from secfc.protocol.client import Client
from secfc.protocol.messages import CodedDistances
from secfc.protocol.messages.wire import envelope


def breaks_at(monkeypatch, client, kind, number=signal.SIGKILL):
    """Send a signal to a client's process when it gets a message of a type; return the process in a list."""
    started, hit = [], []
    start, put = ForkServer.start, conversation.Conversation.put

    def start_and_note(forks):
        started.append(start(forks))
        return started[-1]

    def put_and_break(self, message):
        header = envelope(message)
        if (header.kind, header.recipient) == (kind, client) and not hit:
            hit.append(started[client - 1])
            hit[0].send_signal(number)
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
