"""Masks that cancel in the sum over a round's responders (disclosure "distances").

Neighbours j < l in a (t+1)-connected graph on the responders share a key. j adds the residues derived from
it, and l subtracts them. A party with all masked answers that colludes with up to t responders learns only
the sum of the other answers (docs/protocol.md, "Masks that cancel"). The graph is Harary's (F. Harary, *The
maximum connectivity of a graph*, 1962). Masking along a sparse graph: Bell et al., *Secure single-server
aggregation with (poly)logarithmic overhead*, CCS 2020.
"""

import os
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from secfc.errors import SecFCError
from secfc.field.packing import BYTES_PER_RESIDUE, PackedResidues
from secfc.kernels import Kernels
from secfc.keystream import draw, draw_and_add, keystream, spare_words
from secfc.sealing.channel import Channel
from secfc.threads import Turns

_BLOCK_BYTES = 3 << 16
"""Bytes of masks made at a time for each neighbour. With the usual few neighbours they fit in an L2 cache.
With its spare words a block is shorter than `secfc.keystream.ZEROS`."""


@lru_cache
def harary_neighbours(count: int, connectivity: int) -> tuple[frozenset[int], ...]:
    """Neighbours of each vertex in a graph of `count` vertices with this connectivity.

    It stays connected when any connectivity - 1 vertices are removed. Harary's graph has the fewest edges of
    all such graphs, ceil(count * connectivity / 2). The connectivity is at least 2 (opposite vertices alone
    would be pairs) and below `count`.
    """
    if not 2 <= connectivity < count:
        raise ValueError(f"connectivity: 2 to {count - 1} are possible, {connectivity} was given")
    edges = {(i, (i + step) % count) for i in range(count) for step in range(1, connectivity // 2 + 1)}
    if connectivity % 2:
        # Opposite vertices. If `count` is odd, one vertex has one neighbour more.
        edges |= {(i, (i + count // 2) % count) for i in range((count + 1) // 2)}
    neighbours: list[set[int]] = [set() for _ in range(count)]
    for a, b in edges:
        neighbours[a].add(b)
        neighbours[b].add(a)
    return tuple(map(frozenset, neighbours))


class PairwiseMasks:
    """One client's masks for the answer of one round, used once, from start to end. `responders` ascend.

    Keys depend on `question`, the digest of all that the server asked. So masks cancel only among clients
    that were asked the same.
    """

    def __init__(
        self,
        *,
        me: int,
        responders: Sequence[int],
        t: int,
        channels: Mapping[int, Channel],
        question: bytes,
        round_: int,
        primes: Sequence[int],
        kernels: Kernels,
    ) -> None:
        at = responders.index(me)
        chosen = harary_neighbours(len(responders), t + 1)[at]
        neighbours = sorted(responders[other] for other in chosen)
        self._primes, self._kernels, self._process = tuple(primes), kernels, os.getpid()
        self._buffers = threading.local()
        self._signs = np.array([1 if me < other else -1 for other in neighbours], dtype=np.int64)
        self._channels, self._round, self._question = [channels[j] for j in neighbours], round_, question
        self._part = 0  # the next part of the answer

    def __repr__(self) -> str:
        return f"PairwiseMasks(neighbours={len(self._signs)})"

    def __reduce__(self) -> tuple[object, ...]:
        raise SecFCError("PairwiseMasks cannot be copied or pickled: masks would repeat")

    def add(self, residues: PackedResidues) -> None:
        """Add the masks of the next part of the answer, in place."""
        if os.getpid() != self._process:
            raise SecFCError("PairwiseMasks were used in a forked process: masks would repeat")
        streams = [
            keystream(one.mask_key(round_=self._round, part=self._part, question=self._question))
            for one in self._channels
        ]
        self._part += 1
        planes = residues.planes().reshape(len(self._primes), -1)
        parts = [
            (plane[low : low + _BLOCK_BYTES], p)
            for plane, p in zip(planes, self._primes, strict=True)
            for low in range(0, planes.shape[1], _BLOCK_BYTES)
        ]
        # Threads wait for turns, so they repay later. At 12,000 x 50 they took 1.3 times the CPU, as long.
        size = 2 * planes.size * len(self._signs) // (3 * BYTES_PER_RESIDUE)
        # A keystream must be used in order, whichever threads draw from it.
        turns = [Turns() for _ in streams]
        alone = self._kernels.threads.for_work(size) == 1

        def add(number: int) -> None:
            part, p = parts[number]
            words = self._buffer(part.size // BYTES_PER_RESIDUE, p)
            if alone:
                draw_and_add(part, streams, words, self._signs, p, self._kernels)
                return
            for stream, row, turn in zip(streams, words, turns, strict=True):
                with turn.take(number):
                    draw(stream, row, part.size, p, self._kernels)
            self._kernels.add_masks(part, words, self._signs, p)

        self._kernels.threads.each(add, range(len(parts)), size=size, turns=turns)

    def _buffer(self, count: int, p: int) -> NDArray[np.uint8]:
        """A buffer of this thread for `count` masks of each neighbour and spare words."""
        shape = (len(self._signs), BYTES_PER_RESIDUE * (count + spare_words(count, p)))
        words: NDArray[np.uint8] | None = getattr(self._buffers, "words", None)
        if words is None or words.shape != shape:
            self._buffers.words = words = np.empty(shape, dtype=np.uint8)
        return words
