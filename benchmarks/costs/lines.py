"""A model of lines between sites and a coordinator: rate, delay and loss with TCP, without clock or socket.

A connection follows RFC 5681 with the initial window of RFC 6928. Its window of unacknowledged bytes starts
at 10 segments and doubles each round trip, until a segment is lost. A loss halves the window. After that it
grows by a segment each round trip. The lost segment arrives a round trip late (fast retransmission), and
later segments are delivered only after it. A window that was not used for a retransmission timeout is halved,
down to 10 segments. Queues are never full, so segments are lost only at random.
"""

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from secfc.errors import ParameterError

SEGMENT_BYTES = 1460
INITIAL_BYTES = 10 * SEGMENT_BYTES
_LEAST_TIMEOUT = 0.2
"""Seconds that Linux waits for an acknowledgement beyond a round trip."""


@dataclass(frozen=True, kw_only=True)
class Network:
    """The lines between a site and the coordinator.

    Attributes
    ----------
    round_trip : float
        Seconds from a site to the coordinator and back.
    rate : float
        Bits per second of each site's line and of the coordinator's, in each direction; inf for no limit.
    loss : float
        Probability that a segment of 1,460 bytes is lost, at least 0, below 1.

    Raises
    ------
    ParameterError
        A value is invalid.
    """

    round_trip: float = 0.0
    rate: float = math.inf
    loss: float = 0.0

    def __post_init__(self) -> None:
        if not (0 <= self.round_trip < math.inf and self.rate > 0 and 0 <= self.loss < 1):
            raise ParameterError(
                "lines: a delay of at least 0, a rate above 0, a loss from 0 to below 1 are needed"
            )


class Line:
    """One direction of a line. Bytes leave it one after another at its rate. Many connections share it."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._free = 0.0  # the time when all bytes so far have left

    def carry(self, now: float, size: int) -> float:
        """The time when the last of these bytes, which arrive now, has left the line."""
        self._free = max(self._free, now) + 8 * size / self._rate
        return self._free


class Window:
    """One direction of a connection: how many bytes may be in transit, and when they arrive."""

    def __init__(self, network: Network, chance: np.random.Generator) -> None:
        self._network, self._chance = network, chance
        self._size, self._threshold = float(INITIAL_BYTES), math.inf
        self._unacknowledged: deque[tuple[float, int]] = deque()  # time of acknowledgement, bytes
        self._on_the_way = 0
        self._sent = self._arrives = self._recovers = (
            0.0  # times: the last bytes left; they arrive; a loss is repaired
        )
        self._full = -math.inf  # the last time when the window was full

    def room(self, now: float) -> int:
        """Bytes that may be sent now; 0 if an acknowledgement must come first (`opens`)."""
        if self._network.round_trip == 0:
            return 1 << 30
        while self._unacknowledged and self._unacknowledged[0][0] <= now:
            at, size = self._unacknowledged.popleft()
            self._on_the_way -= size
            if (
                at <= self._full + 1.5 * self._network.round_trip
            ):  # RFC 7661: a window that is not used does not grow
                slow = self._size >= self._threshold
                self._size += SEGMENT_BYTES * size / self._size if slow else size
        if not self._unacknowledged:
            self._rest(now)
        room = int(self._size) - self._on_the_way
        if room >= SEGMENT_BYTES or not self._unacknowledged:
            return max(room, SEGMENT_BYTES)
        self._full = now
        return 0

    def opens(self) -> float:
        """The time of the next acknowledgement."""
        return self._unacknowledged[0][0]

    def send(self, left: float, size: int) -> float:
        """The time when these bytes arrive. The last of them leave the line at the time `left`."""
        arrives, trip = left + self._network.round_trip / 2, self._network.round_trip
        segments = -(-size // SEGMENT_BYTES)
        if self._network.loss and (self._chance.random(segments) < self._network.loss).any():
            arrives += trip
            if left >= self._recovers:  # only one loss in a window lowers it
                self._size = self._threshold = max(self._size / 2, 2.0 * SEGMENT_BYTES)
                self._recovers = arrives + trip / 2
        self._sent, self._arrives = left, max(arrives, self._arrives)
        self._unacknowledged.append((self._arrives + trip / 2, size))
        self._on_the_way += size
        return self._arrives

    def _rest(self, now: float) -> None:
        """Halve the window for each timeout in which it was not used."""
        timeout = self._network.round_trip + _LEAST_TIMEOUT
        idle = int((now - self._sent) / timeout)
        if idle > 0 and self._sent > 0:
            self._threshold = max(self._threshold, 0.75 * self._size)
            self._size = max(self._size / 2 ** min(idle, 60), min(self._size, float(INITIAL_BYTES)))
            self._sent = now
