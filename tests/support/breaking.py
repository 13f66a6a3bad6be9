"""Processes of clients that get a signal at a chosen message."""

import signal

from secfc.drivers import carrier, framing
from secfc.protocol.wire import envelope


def breaks_at(monkeypatch, client, kind, number=signal.SIGKILL):
    """Have a client's process get a signal when it is sent a message of a type; the process, once it was."""
    started, hit = [], []
    start, write = carrier._start, framing.write_frame

    def start_and_note(held):
        started.append(start(held))
        return started[-1]

    def write_frame(stream, what, payload):
        process = started[client]
        told = what == framing.MESSAGE and stream is process.stdin and not hit
        if told and envelope(payload).kind == kind:
            hit.append(process)
            process.send_signal(number)
        write(stream, what, payload)

    monkeypatch.setattr(carrier, "_start", start_and_note)
    monkeypatch.setattr(framing, "write_frame", write_frame)
    return hit
