"""The operations of a party with disclosure "coded": the coordinator decodes and assigns, as in the paper.

Opens every row's squared distance to every mean, by segments, to the coordinator, and the labels of every
iteration to everybody. Sets are public labels, shape (m,), so holders add up and multiply alone.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

import numpy as np

from secfc.errors import MessageError
from secfc.field.array_types import Floats, Ints, Labels, Shares
from secfc.field.mixed_radix import MixedRadix
from secfc.field.packing import unpack
from secfc.kmeans.compare import SquaredDistances, quotients
from secfc.kmeans.compare import nearest as nearest_of
from secfc.kmeans.plain import PublicSets
from secfc.kmeans.program import Summed
from secfc.kmeans.relocation import relocate
from secfc.protocol.parties.inbox import Wait
from secfc.protocol.parties.opened import decoded_sum
from secfc.protocol.parties.party import COORDINATOR, Half, Party
from secfc.sharing.rows import Rows
from secfc.sharing.shared import Shared

_LABEL = np.dtype("<i4")


@dataclass(frozen=True, kw_only=True)
class CodedMeans:
    """A holder's shares of the sums, shape (k, width), and the public weights of the sets, shape (k,)."""

    sums: Shared
    sizes: Ints = field(repr=False)


class Coded(PublicSets):
    """Operations on shared rows. `start` are public first sets, and `weights` public weights, shape (m,)."""

    def __init__(self, me: Party, rows: Rows, start: Labels, weights: Ints, k: int) -> None:
        super().__init__(start, k)
        self._me, self._rows, self._weights = me, rows, weights
        self._own: Shares | None = None  # at the coordinator: each row's distance to its nearest mean

    def means(self, sets: Labels, before: Labels | None) -> Generator[None, None, Summed[CodedMeans]]:
        """See `Operations.means`."""
        inside = np.where(sets == np.arange(self._k)[:, np.newaxis], self._weights, 0)
        sums = self._rows.sums(self._me.public(inside))
        sums = Shared(sums.primes, sums.shape, sums.residues)  # of public sets: of the degree of rows
        return self._summed(CodedMeans(sums=sums, sizes=inside.sum(axis=1)), sets, before)
        yield

    def nearest(self, means: CodedMeans) -> Generator[None, None, Labels]:
        """See `Operations.nearest`."""
        me, shape = self._me, (len(self._me.code.primes), self._k, self._rows.m)
        halves = [_recipient(me, self._rows.m, self._k)]
        if me.holds:
            halves.append(self._holder(means))
        if me.number == COORDINATOR:
            halves.append(self._coordinator(means, shape))
        found: list[Labels] = yield from me.together(halves)
        return found[0]

    def refill(
        self, labels: Labels, means: CodedMeans, empty: Sequence[int]
    ) -> Generator[None, None, tuple[Labels, bool]]:
        """See `Operations.refill`."""
        me, halves = self._me, [_recipient(self._me, labels.size, self._k)]
        if me.number == COORDINATOR and self._own is not None:
            moved = relocate(labels, self._own, MixedRadix(me.code.primes), means.sizes)
            halves.append(_told(me, moved))
        (sets, *_) = yield from me.together(halves)
        return sets, not np.array_equal(sets, labels)

    def _holder(self, means: CodedMeans) -> Half:
        """|s|^2 - 2 n <s, f> + n^2 |f|^2 of each set and row."""
        sums, sizes = means.sums, means.sizes[:, np.newaxis]
        packed = self._rows.affine(sums * (sizes * -2), (sums * sums).sum(1), norms=self._me.public(sizes**2))
        assert packed is not None
        self._me.send(COORDINATOR, "answer", packed.payload)
        return
        yield

    def _coordinator(self, means: CodedMeans, shape: tuple[int, int, int]) -> Half:
        me = self._me
        decoded = yield from decoded_sum(me, "answer", shape)
        radix = MixedRadix(me.code.primes)
        residues: Floats = unpack(decoded.planes())
        digits = np.ascontiguousarray(radix.digits(residues))
        distances = SquaredDistances(digits=digits, radix=radix, sizes=means.sizes)
        found = nearest_of(quotients(distances, me.kernels))
        self._own = found.own
        yield from _told(me, found.labels)


def _told(me: Party, labels: Labels) -> Half:
    """The coordinator tells everybody."""
    me.tell("labels", labels.astype(_LABEL).tobytes())
    return
    yield


def _recipient(me: Party, m: int, k: int) -> Half:
    told = (yield Wait("labels", (COORDINATOR,), _LABEL.itemsize * m))[COORDINATOR]
    labels = np.frombuffer(told, dtype=_LABEL).astype(np.int32)
    if not 0 <= labels.min() <= labels.max() < k:
        raise MessageError(f"party {COORDINATOR} sent labels that are no cluster")
    return labels
