"""A relay between sites and a coordinator on this machine, which makes the loopback interface slow.

Each site has its own port on the loopback interface. The relay forwards bytes from there to the coordinator's
port, and answers back, without change. It has no key. `benchmarks.costs.lines` computes when they arrive.
"""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol

import numpy as np

from benchmarks.costs.lines import Line, Network, Window

_LOOPBACK = "127.0.0.1"
_CHUNK = 1 << 14  # bytes that pass a line at once, in 1.3 ms at 100 Mbit/s
_ROAD_CHUNKS = 256  # in transit or waiting for the recipient: 4 MiB, about the limit of Linux for a sender
_END_SECONDS = 10.0

Counts = tuple[int, int]
"""Bytes to the coordinator, and from it."""


class Clock(Protocol):
    """A clock in seconds."""

    def now(self) -> float:
        """Seconds since a fixed time."""

    async def until(self, when: float) -> None:
        """Wait until this time."""


class WallClock:
    """The clock of this machine."""

    def now(self) -> float:
        """`time.monotonic()`."""
        return time.monotonic()

    async def until(self, when: float) -> None:
        """Sleep, while other connections continue."""
        if (rest := when - time.monotonic()) > 0:
            await asyncio.sleep(rest)


class Relay:
    """Forwards the connections of sites, in one thread, while its context is entered.

    Parameters
    ----------
    sites : sequence of str
    network : Network
        Every site's line, and the coordinator's, which all sites share.
    clock : Clock
    seed : int
        Seed for lost segments.
    """

    def __init__(
        self, sites: Sequence[str], network: Network, *, clock: Clock | None = None, seed: int = 0
    ) -> None:
        self._network, self._clock = network, clock or WallClock()
        self._chance = np.random.default_rng(seed)
        self._up, self._down = Line(network.rate), Line(network.rate)  # the coordinator's lines
        self._lines = {site: (Line(network.rate), Line(network.rate)) for site in sites}  # up, down
        self._listeners = {site: socket.create_server((_LOOPBACK, 0)) for site in sites}
        self.ports: dict[str, int] = {at: one.getsockname()[1] for at, one in self._listeners.items()}
        self.counts: dict[str, list[int]] = {site: [0, 0] for site in sites}  # see `Counts`
        self._target = 0
        self._loop = asyncio.new_event_loop()
        self._servers: list[asyncio.Server] = []
        self._connections: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="relay", daemon=True)

    def forward_to(self, port: int) -> None:
        """Set the port to which connections go. Earlier connections are refused."""
        self._target = port

    @property
    def passed(self) -> Counts:
        """Bytes of all sites until now."""
        counts = list(self.counts.values())
        return sum(up for up, _ in counts), sum(down for _, down in counts)

    def __enter__(self) -> "Relay":
        self._thread.start()
        for site, listener in self._listeners.items():
            self._servers.append(self._do(asyncio.start_server(self._connected(site), sock=listener)))
        return self

    def __exit__(self, *_: object) -> None:
        self._do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def cut(self) -> None:
        """Break every open connection. New ones are accepted."""
        self._do(self._break())

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_END_SECONDS)

    async def _break(self) -> None:
        connections = list(self._connections)
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    async def _end(self) -> None:
        for server in self._servers:
            server.close()
        await self._break()

    def _connected(
        self, site: str
    ) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]:
        async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._connections.add(task)
            try:
                await self._forward(site, reader, writer)
            except* OSError:
                pass  # one end broke the connection, and the relay broke the other end
            finally:
                self._connections.discard(task)

        return forward

    async def _forward(self, site: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward both directions of a connection until both have ended. If one end breaks, break both."""
        ends = [writer]
        up, down = self._lines[site]
        try:
            there, back = await asyncio.open_connection(_LOOPBACK, self._target)
            ends.append(back)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pass(site, 0, reader, back, up, self._down))
                group.create_task(self._pass(site, 1, there, writer, self._up, down))
        except BaseException:
            for end in ends:
                end.transport.abort()
            raise
        for end in ends:
            end.close()  # after its last bytes are written

    async def _pass(
        self,
        site: str,
        way: int,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        first: Line,
        last: Line,
    ) -> None:
        """Forward one direction: over the sender's line, half a round trip, and the recipient's line."""
        window, clock = Window(self._network, self._chance), self._clock
        road: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_ROAD_CHUNKS)

        async def deliver() -> None:
            while True:
                arrives, data = await road.get()
                await clock.until(arrives)
                if not data:
                    break
                await clock.until(last.carry(clock.now(), len(data)))
                self.counts[site][way] += len(data)
                writer.write(data)
                await writer.drain()
            writer.write_eof()

        async with asyncio.TaskGroup() as group:
            group.create_task(deliver())
            arrives = 0.0
            while data := await reader.read(_CHUNK):
                while data:
                    while not (room := window.room(clock.now())):
                        await clock.until(window.opens())
                    burst, data = data[:room], data[room:]
                    left = first.carry(clock.now(), len(burst))
                    arrives = window.send(left, len(burst))
                    await road.put((arrives, burst))
                    await clock.until(left)
            await road.put((arrives, b""))
