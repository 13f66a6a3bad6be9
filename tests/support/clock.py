"""A clock for a coordinator and sites in one process, which moves only when no thread of the run can
continue.

Then it jumps to the next time that a thread waits for. So pauses take no time. However slow the machine is,
no deadline passes while a thread works, and the order of deadlines is always the same.
"""

import math
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from secfc.drivers.calls import conversation, coordinator


class Clock:
    """Replaces `time`. The thread that makes it belongs to the run, and so do threads that the run starts."""

    thread_time = staticmethod(time.thread_time)

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.RLock())
        self._now, self._threads = 0.0, 1
        self._waits: dict[int, tuple[Callable[[], Any], float]] = {}  # by thread: its condition and deadline

    def monotonic(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        """A site that takes this long."""
        self.wait(lambda: False, seconds)

    def tell(self) -> None:
        """Wake all waiting threads, because something has changed."""
        with self._changed:
            self._changed.notify_all()

    def wait(self, ready: Callable[[], Any], seconds: float | None = None) -> bool:
        """Wait until `ready()` is true. Return False if the seconds passed first."""
        me = threading.get_ident()
        with self._changed:
            until = math.inf if seconds is None else self._now + seconds
            self._waits[me] = (ready, until)
            while not ready() and self._now < until:
                if len(self._waits) == self._threads and not any(map(self._goes_on, self._waits)):
                    self._now = min(until for _, until in self._waits.values())
                    self._changed.notify_all()
                else:
                    self._changed.wait()
            del self._waits[me]
            return bool(ready())

    def _goes_on(self, thread: int) -> bool:
        ready, until = self._waits[thread]
        return bool(ready()) or self._now >= until

    def count(self, threads: int) -> None:
        """Add this number of threads to the run."""
        with self._changed:
            self._threads += threads
            self._changed.notify_all()


def patch(monkeypatch: Any) -> Clock:
    """Give conversations and coordinators their own clock. Their locks, queues and threads notify it."""
    clock = Clock()

    class Condition:
        def __init__(self) -> None:
            self._lock, self._told = threading.RLock(), 0

        def __enter__(self) -> None:
            self._lock.acquire()

        def __exit__(self, *_: object) -> None:
            self._lock.release()

        def notify(self) -> None:
            self._told += 1
            clock.tell()

        def wait(self, seconds: float | None = None) -> bool:
            told = self._told
            self._lock.release()
            try:
                return clock.wait(lambda: self._told != told, seconds)
            finally:
                self._lock.acquire()

        def wait_for(self, predicate: Callable[[], bool], seconds: float) -> bool:
            until = clock.monotonic() + seconds
            while not predicate() and clock.monotonic() < until:
                self.wait(until - clock.monotonic())
            return predicate()

    class Thread(threading.Thread):
        ended = False

        def start(self) -> None:
            clock.count(1)
            super().start()

        def run(self) -> None:
            try:
                super().run()
            finally:
                self.ended = True
                clock.count(-1)

        def join(self, seconds: float | None = None) -> None:
            if clock.wait(lambda: self.ended, seconds):
                super().join()

    class Queue:
        def __init__(self) -> None:
            self._all: deque[Any] = deque()

        def put(self, one: Any) -> None:
            self._all.append(one)
            clock.tell()

        def get(self, timeout: float) -> Any:
            clock.wait(lambda: self._all, timeout)
            return self.get_nowait()

        def get_nowait(self) -> Any:
            if not self._all:
                raise queue.Empty
            return self._all.popleft()

    monkeypatch.setattr(conversation, "threading", SimpleNamespace(Condition=Condition, Thread=Thread))
    monkeypatch.setattr(conversation, "time", clock)
    monkeypatch.setattr(coordinator, "time", clock)
    monkeypatch.setattr(coordinator, "queue", SimpleNamespace(SimpleQueue=Queue))
    return clock
