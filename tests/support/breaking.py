"""Processes of clients that get a signal at a chosen message."""

import signal

from secfc.drivers import conversation
from secfc.drivers.processes import ForkServer
from secfc.protocol.wire import envelope


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
