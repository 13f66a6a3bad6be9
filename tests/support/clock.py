"""Time of a coordinator and sites in one process, which passes only when no thread of the run can go on.

Then it is at once the next time that a thread waits for. So pauses take no time, no deadline passes while
anybody works, however slow the machine is, and the order of deadlines does not depend on the machine.
"""

import math
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from secfc.drivers import conversation, coordinator


class Clock:
    """Stands for `time`. The thread that makes it is of the run, and so are those that the run starts."""

    thread_time = staticmethod(time.thread_time)

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.RLock())
        self._now, self._threads = 0.0, 1
        self._waits: dict[int, tuple[Callable[[], Any], float]] = {}  # for what each thread waits, until when

    def monotonic(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        """A site that takes so long."""
        self.wait(lambda: False, seconds)

    def tell(self) -> None:
        """Something has changed that a thread may wait for."""
        with self._changed:
            self._changed.notify_all()

    def wait(self, ready: Callable[[], Any], seconds: float | None = None) -> bool:
        """Wait until it is ready; False when the seconds have passed before."""
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
        """So many threads more work for the run."""
        with self._changed:
            self._threads += threads
            self._changed.notify_all()


def patch(monkeypatch: Any) -> Clock:
    """Give conversations and coordinators a clock of their own; their locks, queues and threads tell it."""
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
