"""The relay of `python -m benchmarks rehearsal`: bytes, closed connections, and seconds on a test clock."""

import math
import socket
import threading
from contextlib import suppress
from copy import deepcopy

import numpy as np
import pytest

from benchmarks.costs.lines import INITIAL_BYTES, SEGMENT_BYTES, Line, Network, Window
from benchmarks.costs.relay import Relay

SECOND = 10.0
"""Seconds that a test's socket may be silent before the test fails."""


class Leaping:
    """A clock that jumps at once to the time that somebody waits for."""

    def __init__(self):
        self.at = 0.0

    def now(self):
        return self.at

    async def until(self, when):
        self.at = max(self.at, when)


class Coordinator:
    """Listens on the relay's target port, and accepts one connection."""

    def __init__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]

    def accept(self):
        self._listener.settimeout(SECOND)
        accepted, _ = self._listener.accept()
        accepted.settimeout(SECOND)
        return accepted

    def close(self):
        self._listener.close()


@pytest.fixture
def coordinator():
    made = Coordinator()
    yield made
    made.close()


@pytest.fixture
def pair(coordinator):
    """A site's end (by the site's name) and the coordinator's end of a connection through a relay."""
    opened = []

    def connect(relay, site="a"):
        relay.forward_to(coordinator.port)
        opened.append(socket.create_connection(("127.0.0.1", relay.ports[site]), timeout=SECOND))
        opened.append(coordinator.accept())
        return opened[-2:]

    yield connect
    for end in opened:
        end.close()


def received(end):
    """All bytes up to the end of the stream."""
    parts = []
    while part := end.recv(1 << 16):
        parts.append(part)
    return b"".join(parts)


def sent(end, data):
    """Send bytes and the end of the stream in a thread, because both ends may wait for each other."""

    def send():
        end.sendall(data)
        end.shutdown(socket.SHUT_WR)

    thread = threading.Thread(target=send)
    thread.start()
    return thread


@pytest.mark.parametrize(
    "network",
    [Network(), Network(round_trip=0.05, rate=1e8), Network(round_trip=0.05, rate=1e6, loss=0.05)],
    ids=["free", "slow", "lossy"],
)
def test_bytes_and_their_end_pass_unchanged_both_ways_and_are_counted(pair, network):
    rng = np.random.default_rng(1)
    there, back = rng.bytes(700_001), rng.bytes(300_007)
    with Relay(["a", "b"], network, clock=Leaping()) as relay:
        site, coordinator = pair(relay)
        senders = [sent(site, there), sent(coordinator, back)]
        assert received(coordinator) == there
        assert received(site) == back
        for sender in senders:
            sender.join()
        assert relay.counts == {"a": [len(there), len(back)], "b": [0, 0]}
        assert relay.passed == (len(there), len(back))


def test_one_direction_goes_on_when_the_other_has_ended(pair):
    with Relay(["a"], Network(), clock=Leaping()) as relay:
        site, coordinator = pair(relay)
        site.shutdown(socket.SHUT_WR)
        assert coordinator.recv(1) == b""
        coordinator.sendall(b"still here")
        coordinator.close()
        assert received(site) == b"still here"


def broken(end):
    """Whether a connection ends without a byte."""
    try:
        return end.recv(1) == b""
    except ConnectionResetError:
        return True


def test_a_connection_that_breaks_at_one_end_breaks_at_the_other(pair):
    with Relay(["a"], Network(), clock=Leaping()) as relay:
        site, coordinator = pair(relay)
        site.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        site.close()  # with a reset
        assert broken(coordinator)


def test_a_cut_breaks_connections_and_the_next_is_taken(pair):
    with Relay(["a"], Network(), clock=Leaping()) as relay:
        for end in (ends := pair(relay)):
            end.sendall(b"x")
        assert [end.recv(1) for end in ends] == [b"x", b"x"]
        relay.cut()
        assert all(map(broken, ends))
        site, coordinator = pair(relay)
        sender = sent(site, b"again")
        assert received(coordinator) == b"again"
        sender.join()


def test_nothing_listens_and_no_connection_is_left_at_the_end(pair):
    with suppress(KeyboardInterrupt), Relay(["a", "b"], Network(), clock=Leaping()) as relay:
        ends = pair(relay, "b")
        raise KeyboardInterrupt
    assert all(map(broken, ends))
    for port in relay.ports.values():
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=SECOND)
    assert not [thread for thread in threading.enumerate() if thread.name == "relay"]


def test_a_site_is_refused_while_nobody_listens_behind_the_relay(coordinator):
    with Relay(["a"], Network(), clock=Leaping()) as relay:
        coordinator.close()
        relay.forward_to(coordinator.port)
        with socket.create_connection(("127.0.0.1", relay.ports["a"]), timeout=SECOND) as site:
            assert broken(site)


def test_all_bytes_take_at_least_their_bits_over_the_rate_and_half_a_round_trip(pair):
    clock, size = Leaping(), 1_000_000
    with Relay(["a"], Network(round_trip=0.3, rate=8e6), clock=clock) as relay:
        site, coordinator = pair(relay)
        sender = sent(site, bytes(size))
        assert len(received(coordinator)) == size
        sender.join()
        coordinator.shutdown(socket.SHUT_WR)
    assert clock.at >= 8 * size / 8e6 + 0.15


def test_sites_share_the_coordinators_line(pair):
    clock, size = Leaping(), 500_000
    with Relay(["a", "b"], Network(rate=8e6), clock=clock) as relay:
        ends = [pair(relay, "a"), pair(relay, "b")]
        senders = [sent(site, bytes(size)) for site, _ in ends]
        assert [len(received(coordinator)) for _, coordinator in ends] == [size, size]
        for sender in senders:
            sender.join()
    assert clock.at >= 8 * 2 * size / 8e6


def test_a_line_carries_bytes_one_after_another():
    line = Line(8e6)
    assert line.carry(0.0, 1_000_000) == 1.0
    assert line.carry(0.5, 500_000) == 1.5
    assert line.carry(4.0, 1_000_000) == 5.0
    assert Line(math.inf).carry(2.0, 1 << 30) == 2.0


def transfer(network, size, *, seed=0, chunk=1 << 14, begin=0.0, window=None, line=None):
    """Arrival time of the last of `size` bytes that the only connection sends from a start time on."""
    window = window or Window(network, np.random.default_rng(seed))
    line = line or Line(network.rate)
    now = arrives = begin
    while size:
        while not (room := window.room(now)):
            now = window.opens()
        burst = min(size, room, chunk)
        now = line.carry(now, burst)
        arrives = window.send(now, burst)
        size -= burst
    return arrives


@pytest.mark.parametrize(
    ("segments", "trips"), [(1, 0.5), (10, 0.5), (11, 1.5), (30, 1.5), (31, 2.5), (70, 2.5), (71, 3.5)]
)
def test_a_window_begins_with_ten_segments_and_doubles_each_round_trip(segments, trips):
    network = Network(round_trip=1.0)
    assert transfer(network, segments * SEGMENT_BYTES, chunk=SEGMENT_BYTES) == pytest.approx(trips)
    assert INITIAL_BYTES == 10 * SEGMENT_BYTES


def test_a_long_transfer_is_as_fast_as_the_line():
    network = Network(round_trip=0.05, rate=1e8)
    seconds = transfer(network, 100_000_000)
    assert 8.0 < seconds < 8.5


@pytest.mark.some(1)
@pytest.mark.parametrize("loss", [0.001, 0.01])
@pytest.mark.parametrize("seed", range(3))
def test_loss_slows_a_long_transfer_as_the_square_root_formula_says(loss, seed):
    """Mathis, Semke, Mahdavi and Ott 1997: segments of a round trip are about sqrt(3 / (2 loss))."""
    size = 100_000_000
    network = Network(round_trip=0.05, rate=1e9, loss=loss)
    rate = size / transfer(network, size, seed=seed, chunk=SEGMENT_BYTES)
    formula = SEGMENT_BYTES / 0.05 * math.sqrt(1.5 / loss)
    assert 0.6 < rate / formula < 1.6


def test_a_lost_segment_and_what_follows_arrive_a_round_trip_late():
    class Lost:
        def __init__(self):
            self.left = [True]

        def random(self, count):
            return np.zeros(count) if self.left and self.left.pop() else np.ones(count)

    window = Window(Network(round_trip=1.0, loss=0.5), Lost())
    assert window.send(0.0, SEGMENT_BYTES) == 1.5
    assert window.send(0.1, SEGMENT_BYTES) == 1.5
    assert window.send(1.2, SEGMENT_BYTES) == 1.7


def test_a_window_that_was_not_used_shrinks_to_ten_segments():
    network = Network(round_trip=1.0)
    window, line = Window(network, np.random.default_rng(0)), Line(math.inf)
    end = transfer(network, 310 * SEGMENT_BYTES, chunk=SEGMENT_BYTES, window=window, line=line)
    for idle, segments in ((0.6, 160), (3.0, 40), (100.0, 10)):
        for more, trips in ((0, 0.5), (1, 1.5)):
            used = deepcopy(window), deepcopy(line)
            begin = end + idle
            size = (segments + more) * SEGMENT_BYTES
            arrives = transfer(network, size, chunk=SEGMENT_BYTES, begin=begin, window=used[0], line=used[1])
            assert arrives == pytest.approx(begin + trips)
