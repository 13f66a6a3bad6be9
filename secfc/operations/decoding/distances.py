"""Distances of all rows to the means of public sets, by segments, opened to the coordinator alone.

Sets are public labels, so holders add up and multiply alone (`secfc.kmeans.coded_distance`). The coordinator
tells everybody labels that follow from the distances, after it has compared all of these with the public
bound. Everybody notes these labels (`Party.note`).
"""

from collections.abc import Callable, Generator
from dataclasses import replace

from secfc.errors import MessageError
from secfc.field.array_types import Data, Labels
from secfc.field.label_packing import PackedLabels, bits_of, packed_size
from secfc.field.mixed_radix import MixedRadix
from secfc.field.packing import BYTES_PER_RESIDUE
from secfc.field.primes import residues_needed
from secfc.kmeans.coded_distance import CodedPoints
from secfc.kmeans.compare import nearest, quotients
from secfc.kmeans.in_range import RangeCheck
from secfc.kmeans.sets import asked_about, set_sizes
from secfc.operations.decoding.assigned import Assigned
from secfc.operations.decoding.kept import KeptDistances
from secfc.protocol.parties.inbox import Wait
from secfc.protocol.parties.opened import right_shares, summed
from secfc.protocol.parties.party import COORDINATOR, Half, Party
from secfc.sharing.codewords import Codewords
from secfc.sharing.rows import Rows

_BLOCK_ELEMENTS = 1 << 18
"""Distances decoded at a time. Their digits, 4 bytes for each prime, exceed an L2 cache of 1 MiB, but memory
is read in longer pieces than with smaller blocks, and less time is spent in Python."""

_BLOCK = 1 << 21
"""Residues that a holder sends at a time, at most."""

OnRound = Callable[[int, Labels], None]


def rows_at_once(k: int, primes: int) -> int:
    """Rows of which a holder sends distances at a time."""
    return max(1, _BLOCK // (k * primes))


class Distances:
    """The rounds of a run: each is about public sets, of which there are at most k.

    `within` compares distances with the bound `radius`. `on_round` is told each round's number, from 1, and
    sets before it begins. With `compared` several k are compared.
    """

    def __init__(
        self,
        me: Party,
        rows: Rows,
        k: int,
        *,
        radius: int,
        within: RangeCheck,
        compared: bool,
        on_round: OnRound,
    ) -> None:
        self.me, self._m, self._most = me, rows.m, k
        self._radius, self._within, self._compared, self._on_round = radius, within, compared, on_round
        self._codes = dict[int, Codewords]()
        self._kept = KeptDistances(rows.m, k)
        self._points: CodedPoints | None = None
        if rows.held is not None:
            self._points = CodedPoints(shares=rows.held, primes=rows.primes, k=k, kernels=me.kernels)
        self.assigned: Assigned | None = None  # at the coordinator: of the last round

    def labels(
        self, sets: Labels, k: int, of: Callable[[Assigned], Labels], *, core: bool = False
    ) -> Generator[None, None, Labels]:
        """What everybody is told of a round about k sets: labels `of` what the coordinator found.

        With `core` they may be -1. RangeError at the coordinator if a distance is beyond the bound.
        """
        me, sizes = self.me, set_sizes(sets, k)
        if not sizes.any():
            raise MessageError(f"party {COORDINATOR} told sets without rows")
        me.round += 1
        self._on_round(me.round, sets)
        code = self._code(residues_needed(self._radius, int(sizes.max())))
        about = self._kept.question(sets, sizes, code.primes)
        asked = sizes[: asked_about(sizes)]
        if self._points is not None:
            self._points.ask(sets, asked, len(code.primes), about)
        if me.number == COORDINATOR:
            radix = MixedRadix(code.primes)
            self.assigned = Assigned.empty(sets, sizes, radix, compared=self._compared)
        shape = len(code.primes), len(about) or asked.size
        step = rows_at_once(self._most, len(me.code.primes))
        for first in range(0, self._m, step):
            rows, last = slice(first, min(first + step, self._m)), first + step >= self._m
            halves: list[Half] = [told(me, self._m, k, none=core) if last else _next(me)]
            if me.holds:
                halves.append(self._holder(rows))
            if me.number == COORDINATOR:
                halves.append(self._coordinator(rows, code, shape, about, of if last else None, core))
            found = yield from me.together(halves)
        labels: Labels = found[0]
        return labels

    def _code(self, count: int) -> Codewords:
        """The codewords modulo the first primes, with their decoding weights kept."""
        if count not in self._codes:
            self._codes[count] = replace(self.me.code, primes=self.me.code.primes[:count])
        return self._codes[count]

    def _holder(self, rows: slice) -> Half:
        assert self._points is not None
        answer = self._points.answer(rows.start, rows.stop)
        self.me.send_share([COORDINATOR], "answer", answer.payload)
        return
        yield

    def _coordinator(
        self,
        rows: slice,
        code: Codewords,
        shape: tuple[int, int],
        about: tuple[int, ...],
        of: Callable[[Assigned], Labels] | None,
        core: bool,
    ) -> Half:
        """Decode and assign some rows. After the last ones tell labels `of` all."""
        me, assigned, count = self.me, self.assigned, rows.stop - rows.start
        assert assigned is not None
        if of is None:
            me.tell("next", b"")  # holders compute their next answer while this one is decoded
        sent = yield from right_shares(replace(me, code=code), "answer", shape[1] * count, wide=True)
        self._assign(sent, rows, code, shape, about, core=core)
        if of is not None:
            self._within.end_round(assigned.sets)
            yield from tell(me, of(assigned), assigned.sizes.size, none=core)

    def _assign(
        self,
        sent: dict[int, Data],
        rows: slice,
        code: Codewords,
        shape: tuple[int, int],
        about: tuple[int, ...],
        *,
        core: bool,
    ) -> None:
        me, assigned, count = self.me, self.assigned, rows.stop - rows.start
        assert assigned is not None
        planes = summed(replace(me, code=code), sent, (*shape, count)).planes()
        radix, sizes = assigned.radix, assigned.sizes
        upto = sizes[: asked_about(sizes)]
        threads, size = me.kernels.threads, planes.size // BYTES_PER_RESIDUE
        step = max(1, _BLOCK_ELEMENTS // upto.size)
        if not self._compared:  # else measures sum floats by block, which must not depend on threads
            step = min(step, -(-count // threads.for_work(size)))

        def assign(start: int) -> int:
            stop = min(start + step, count)
            block = slice(rows.start + start, rows.start + stop)
            part = slice(BYTES_PER_RESIDUE * start, BYTES_PER_RESIDUE * stop)
            digits = me.kernels.digits(planes[:, :, part], radix)
            digits = self._kept.take(block, digits, about, sizes)
            found = quotients(digits, radix, upto, me.kernels)
            self._within.take(block, found)
            nearer = nearest(found, with_core=core)
            assigned.put(block, nearer, found)
            return nearer.near_ties

        assigned.near_ties += sum(threads.each(assign, range(0, count, step), size=size))


def tell(me: Party, labels: Labels, k: int, *, none: bool = False) -> Half:
    """The coordinator tells everybody labels; with `none` also -1."""
    me.tell("labels", PackedLabels.of(labels, k if none else k - 1, none=none).payload)
    return
    yield


def told(me: Party, m: int, k: int, *, none: bool = False) -> Half:
    """Labels that the coordinator tells. Everybody notes them."""
    largest = k if none else k - 1
    data = (yield Wait("labels", (COORDINATOR,), packed_size(m, bits_of(largest))))[COORDINATOR]
    me.note(bytes(data))
    return PackedLabels(payload=bytes(data), size=m, largest=largest, none=none).unpack()


def _next(me: Party) -> Half:
    """Wait until the coordinator begins with these rows, so that holders are one answer ahead at most."""
    yield Wait("next", (COORDINATOR,), 0)
