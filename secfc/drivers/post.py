"""Messages that wait for delivery in one process, and which of them are delivered at the same time."""

from collections import deque
from collections.abc import Callable
from typing import TypeVar

from secfc.drivers.setup import Setup
from secfc.kernels.threads import LEAST
from secfc.protocol.messages import SERVER
from secfc.protocol.messages.wire import Envelope

_AT_ONCE = 2
"""Messages to different clients that are delivered before what they cause, where answers are large.

With four a run took a tenth more memory, and two threads no less time.
"""

Posted = tuple[Envelope, bytes | memoryview]
Found = TypeVar("Found")


class Post:
    """Messages in the order they were sent.

    Where answers are large two clients take theirs at once, in threads. The order is the same for any number
    of threads.
    """

    def __init__(self, setup: Setup, *, one_by_one: bool) -> None:
        m, job = sum(len(rows) for rows in setup.rows), setup.job
        large = m and job.residues(m) * job.k * m >= 2 * LEAST
        self._most = _AT_ONCE if large and not one_by_one else 1
        self._threads = setup.threads_of()
        self._waiting = deque[Posted]()

    def put(self, header: Envelope, data: bytes | memoryview) -> None:
        """Append a message."""
        self._waiting.append((header, data))

    def take(self) -> list[Posted]:
        """The next message, and those of its phase to other clients that go with it. Empty if none."""
        waiting = self._waiting
        found = [waiting.popleft()] if waiting else []
        while waiting and len(found) < self._most:
            first, header = found[0][0], waiting[0][0]
            recipients = {SERVER, *(one.recipient for one, _ in found)}
            if first.recipient == SERVER or header.recipient in recipients or header.work != first.work:
                break
            found.append(waiting.popleft())
        return found

    def deliver(self, together: list[Posted], handle: Callable[[Posted], Found]) -> list[Found]:
        """What `handle` returns for each of these messages, in their order."""
        if len(together) == 1:
            return [handle(together[0])]
        return self._threads.each(handle, together, size=LEAST * len(together))
