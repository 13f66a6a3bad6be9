"""What an evaluator sees of hidden signs has the same distribution for all u: all masks of others are tried.

Rows are independent of each other. So one run has a row for each u and all random bits that the evaluator
does not know. Those that it knows, and y, are the same in all rows.
"""

from itertools import product

import numpy as np
import pytest
from operations.own_net import parties_of, play

from secfc.comparing import batch_plan
from secfc.comparing.batch_plan import USUAL
from secfc.field.packing import PackedResidues, pack
from secfc.kernels.gates import to_rows
from secfc.operations import signs
from secfc.operations.masked import Masked
from secfc.protocol.parties.party import Party
from secfc.sharing.codewords import Codewords

DEALER, FIRST, SECOND = 1, 2, 3
CASES = {  # a prime, bits of a leaf, outputs, each u, and random bits a row: of products, and of wires
    "one leaf": (5, 3, batch_plan.below_zero(1), range(5), 8, 1),
    "two levels": (3, 1, batch_plan.below_zero(1), range(3), 4, 4),
    "two columns": (3, 2, batch_plan.below_zero(2), list(product(range(3), repeat=2)), 8, 2),
    "three sets": (3, 2, batch_plan.wins(3), [(0, 0, 0), (1, 2, 0), (2, 2, 1)], 14, 5),
}


class Spelled:
    def __init__(self, planes):
        self.words, self.at = planes.reshape(-1), 0

    def fill(self, out):
        out[...] = self.words[self.at : self.at + out.size].reshape(out.shape)
        self.at += out.size

    def add(self, words):
        own = np.empty_like(words)
        self.fill(own)
        words ^= own


class SpelledKeys:
    """Keystreams by the last word of their purpose."""

    def __init__(self, **streams):
        self.streams = {purpose: Spelled(words) for purpose, words in streams.items()}

    def bits(self, purpose, index):
        return self.streams[purpose.split()[-1]]


def packed(values: np.ndarray, primes: tuple[int, ...]) -> PackedResidues:
    """Integers of shape (k, m), of any size, modulo each prime."""
    planes = np.array([pack((values % p).astype(np.float64), p) for p in primes])
    return PackedResidues(shape=(len(primes), *values.shape), payload=planes.tobytes())


def to_words(bits: np.ndarray) -> np.ndarray:
    """Bits of rows, shape (n, rows), as words of shape (n, W): row j W + w is bit j of word w."""
    count, rows = bits.shape
    width = -(-rows // 64)
    words = np.zeros((count, width), dtype=np.uint64)
    for j in range(64):
        part = bits[:, j * width : (j + 1) * width]
        words[:, : part.shape[1]] |= part.astype(np.uint64) << np.uint64(j)
    return words


@pytest.mark.parametrize("evaluator", [FIRST, SECOND])
@pytest.mark.parametrize("name", CASES)
def test_an_evaluator_sees_the_same_whatever_the_signs_are(monkeypatch, name, evaluator):
    p, chunk, bracket, every, products, wires = CASES[name]
    every, rng = np.array(every).reshape(-1, bracket.columns), np.random.default_rng(0)
    own = {FIRST: products + wires, SECOND: wires}[evaluator]
    others = products + 2 * wires - own
    which, string = np.indices((len(every), 1 << others)).reshape(2, -1)
    known = to_words(np.repeat(rng.integers(0, 2, (own, 1)) == 1, which.size, axis=1))
    unknown = to_words(string >> np.arange(others)[:, np.newaxis] & 1 == 1)
    of_first, of_second = (known, unknown) if evaluator == FIRST else (unknown, known)
    y = np.repeat(rng.integers(0, p, (every.shape[1], 1)), which.size, axis=1)

    def keys(me, other, phase):
        if SECOND in (me.number, other):
            return SpelledKeys(wires=of_second)
        return SpelledKeys(products=of_first[:products], wires=of_first[products:])

    monkeypatch.setattr(Party, "keys", keys)
    monkeypatch.setattr(batch_plan, "FEW", 0)  # wide gates are the same but for their widths
    monkeypatch.setitem(vars(USUAL), "chunk", chunk)
    monkeypatch.setattr(batch_plan, "_PIECE", 1 << 30)  # a keystream gives the values for all leaves at once
    seen = []

    def carry(sender, recipient, place, data):
        assert {sender, recipient} <= {DEALER, FIRST, SECOND}
        assert recipient != DEALER
        if recipient == evaluator:
            seen.append(np.frombuffer(data, dtype=np.uint64).reshape(-1, known.shape[1]))
        return data

    def signs_of(me):
        held = {DEALER: y - every[which].T, FIRST: y, SECOND: y}.get(me.number)
        of = Masked(shape=(1, *y.shape), held=None if held is None else packed(held, (p,)))
        return signs.hidden_signs(me, of, bracket)

    parties = parties_of(Codewords(n=4, t=1, ell=1, primes=(p,)))
    found = play(parties, {j: signs_of(me) for j, me in parties.items()}, carry=carry)
    bits = to_rows(np.concatenate(seen), which.size)
    views = np.sort(((np.int64(1) << np.arange(len(bits))) @ bits).reshape(len(every), -1), axis=1)
    assert (views == views[0]).all()
    assert np.array_equal(found[FIRST].held, found[SECOND].held)
    assert np.unique(found[FIRST].held ^ found[DEALER].held).size == 2
