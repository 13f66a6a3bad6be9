"""What one party alone sees depends only on the opened bits: every mask of a tiny ring is tried.

Rows are independent of each other. So one batch runs the protocol once for every row of (distances, r, random
bits), with a keystream that gives these bits.
"""

from itertools import product

import numpy as np
import pytest
from support.sweeps import sweep
from support.trio import packed, to_words

from secfc.comparing.batch import Dealing, Evaluating
from secfc.comparing.batch_plan import BatchPlan, Bracket
from secfc.comparing.question import Question
from secfc.comparing.role import Arena, Comparer
from secfc.comparing.widths import GateWidths
from secfc.kernels.slicing import to_rows
from secfc.kernels.vectorised import VectorisedKernels


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


class Every:
    """One row for each tuple of distances, masks and random bits.

    Parameters
    ----------
    p : int
    distances : list of tuples
        D to each set, all of one row.
    bracket : Bracket
    champion : int or None
    chunk : int
    bits : tuple of three ints
        Random bits a row: products, wires of E0, wires of E1.
    masked : tuple of int, optional
        The only y to be tried; all by default.
    """

    def __init__(self, p, distances, bracket, champion, chunk, bits, masked=None):
        self.k = len(distances[0])
        every_y = np.array([masked] if masked else list(product(range(p), repeat=self.k)))
        total = sum(bits)
        which, at, string = np.indices((len(distances), len(every_y), 1 << total)).reshape(3, -1)
        self.which, rows = which, which.size
        self.y = every_y[at].T  # uniform for each D, because r is
        r = (self.y - np.array(distances)[which].T) % p
        question = Question(
            primes=(p,),
            sizes=np.ones(self.k, dtype=np.int64),
            rows=rows,
            champions=None if champion is None else np.full(rows, champion, dtype=np.int32),
            widths=GateWidths(chunk=chunk),
        )
        [one] = question.plans(bracket, question.own[:1])
        self.plan = BatchPlan(
            bracket=bracket, question=one.question, own=question.own, widths=question.widths
        )
        # A stream has a word of every pair for each bit of a row, so bits of pairs are given one by one.
        octets = string.astype("<u4").view(np.uint8).reshape(rows, 4)
        planes = to_words(np.unpackbits(octets, axis=1, count=total, bitorder="little").T)
        ends = np.cumsum(bits)[:-1]
        self.streams = np.split(planes, ends)
        self.r = packed(r, (p,)).planes()
        self.masked = packed(self.y, (p,)).planes()

    def play(self):
        """Outputs, and what E0 and E1 see, as integers for each row."""
        products, *wires = self.streams
        kernels = VectorisedKernels()
        dealt = np.empty(self.plan.dealt, dtype=np.uint64)
        rings = SpelledKeys(products=products, wires=wires[0]), SpelledKeys(wires=wires[1])
        Dealing("s", dealt, keys=rings, kernels=kernels, arena=Arena()).outputs(self.plan, self.r)
        used = [stream for ring in rings for stream in ring.streams.values()]
        assert all(stream.at == stream.words.size for stream in used)
        steps = []
        for me, own in zip((Comparer.E0, Comparer.E1), wires, strict=True):
            ring = SpelledKeys(products=products, wires=own)
            gates = Evaluating("s", dealt.view(np.uint8), me=me, keys=ring, kernels=kernels, arena=Arena())
            steps.append(gates.outputs(self.plan, self.masked))
        sent = [next(one).copy() for one in steps]
        seen = [[products, wires[0]], [dealt, wires[1]]]
        opened = []
        while not opened:
            for me in range(2):
                seen[me].append(sent[1 - me])
            after = []
            for one, other in zip(steps, reversed(sent), strict=True):
                try:
                    after.append(one.send(other).copy())
                except StopIteration as end:
                    opened.append(end.value)
            sent = after
        assert np.array_equal(*opened)
        return to_rows(opened[0], self.plan.rows), [self._codes(views) for views in seen]

    def _codes(self, views):
        planes = np.concatenate([words.reshape(-1, self.plan.words) for words in views])
        code = np.zeros(self.plan.rows, dtype=np.int64)
        assert len(planes) + 3 * self.k < 63
        for at in range(0, len(planes), 8):
            few = planes[at : at + 8]
            code <<= len(few)
            code += np.packbits(to_rows(few, self.plan.rows), axis=0, bitorder="little")[0]
        for value in self.y:
            code = 8 * code + value
        return code


@pytest.fixture(autouse=True)
def whole_leaves(monkeypatch):
    """A keystream gives the values for all leaves at once."""
    monkeypatch.setattr("secfc.comparing.batch._PIECE", 1 << 30)


CASES = {
    "two levels": (3, list(product(range(2), repeat=2)), Bracket.all_pairs(2), None, 1, (4, 3, 3)),
    "one leaf": (3, list(product(range(2), repeat=2)), Bracket.all_pairs(2), None, 2, (4, 0, 0)),
    "three bits": (5, list(product(range(3), repeat=2)), Bracket.all_pairs(2), None, 3, (8, 0, 0)),
    "pairs": (3, [(0, 0, 0), (0, 1, 1)], Bracket.all_pairs(3), None, 2, (15, 3, 3), (2, 0, 1)),
    "least": (3, [(0, 0, 0), (0, 1, 0)], Bracket.least(2), None, 2, (15, 3, 3), (1, 2, 0)),
    "draw": (3, list(product(range(2), repeat=2)), Bracket.pair(), None, 2, (4, 0, 0)),
    "champion": (3, list(product(range(2), repeat=3)), Bracket.champion(2), 1, 2, (9, 2, 2)),
}


@pytest.mark.parametrize("name", sweep(CASES, keep=("one leaf", "draw")))
def test_views_are_equally_distributed_for_all_distances_with_the_same_labels(name):
    every = Every(*CASES[name])
    outputs, views = every.play()
    outcomes = {}
    for which in range(every.which.max() + 1):
        mine = every.which == which
        opened = outputs[:, mine]
        assert (opened == opened[:, :1]).all(), "whatever the masks"
        outcomes.setdefault(tuple(opened[:, 0]), []).append([np.sort(view[mine]) for view in views])
    assert len(outcomes) == (1 if name in ("pairs", "least") else 2)
    assert max(map(len, outcomes.values())) > 1
    for same in outcomes.values():
        for of_e0, of_e1 in same[1:]:
            assert np.array_equal(of_e0, same[0][0])
            assert np.array_equal(of_e1, same[0][1])


def test_a_mask_that_is_used_twice_would_be_seen():
    every = Every(*CASES["two levels"])
    halves_of_e1 = every.streams[2]
    halves_of_e1[1] = halves_of_e1[0]
    outputs, views = every.play()
    [of_0, of_1] = [np.unique(views[0][every.which == which], return_counts=True) for which in (0, 1)]
    assert (outputs[:, every.which == 0].T == outputs[:, every.which == 1].T).all()
    assert not all(map(np.array_equal, of_0, of_1))
