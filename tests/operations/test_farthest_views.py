"""An evaluator's view of a tournament depends only on what is opened, and no mask is used twice."""

from itertools import product

import numpy as np
import pytest
from support.trio import SECRETS, Trio, to_words

from secfc.comparing import matches
from secfc.comparing.batch import Dealing, Evaluating
from secfc.comparing.matches import Final, Knockout
from secfc.comparing.question import Question
from secfc.comparing.role import Arena, Comparer
from secfc.comparing.widths import GateWidths
from secfc.field.packing import pack, unpack
from secfc.field.primes import primes_of
from secfc.kernels.slicing import to_rows
from secfc.kernels.vectorised import VectorisedKernels
from secfc.operations.farthest import FarthestDealer, FarthestEvaluator

EVALUATORS = Comparer.E0, Comparer.E1
P = 3


class Spelled:
    """A keystream of given words or residues, taken in order and used completely."""

    def __init__(self, data):
        self.data, self.at = data.reshape(-1), 0

    def fill(self, out, primes=()):
        out[...] = self.data[self.at : self.at + out.size].reshape(out.shape)
        self.at += out.size

    def add(self, words):
        own = np.empty_like(words)
        self.fill(own)
        words ^= own


class SpelledKeys:
    """Keystreams by the last word of their purpose."""

    def __init__(self, **streams):
        self.streams = streams

    def bits(self, purpose, index):
        return Spelled(self.streams[purpose.split()[-1]])

    def key(self, purpose, index):
        return Spelled(self.streams[purpose.split()[-1]])


@pytest.fixture
def spelled(monkeypatch):
    """Keystreams give the values for all leaves at once."""
    monkeypatch.setattr("secfc.comparing.batch._PIECE", 1 << 30)
    monkeypatch.setattr(matches, "ResidueStream", lambda stream, kernels: stream)


def bits_of(numbers, count):
    return to_words((numbers >> np.arange(count)[:, np.newaxis] & 1).astype(bool))


def run(both):
    """Run two evaluators' generators to their ends; return what each was sent, and what each returns."""
    sent, seen, ends = [next(one).copy() for one in both], [[], []], []
    while not ends:
        for me in range(2):
            seen[me].append(sent[1 - me])
        after = []
        for one, other in zip(both, reversed(sent), strict=True):
            try:
                after.append(one.send(other).copy())
            except StopIteration as end:
                ends.append(end.value)
        sent = after
    return seen, ends


def coded(rows, planes):
    """A number for each row, from planes of words or packed residues of shape (count, ...)."""
    code = np.zeros(rows, dtype=np.int64)
    for plane in planes:
        if plane.dtype == np.uint64:
            for line in plane.reshape(-1, -(-rows // 64)):
                code = 2 * code + to_rows(line[np.newaxis], rows)[0]
        else:
            for line in plane.reshape(-1, 3 * rows):
                code = P * code + unpack(line).astype(np.int64)
    return code


def knockouts(*, nearer=False, reuse=False):
    """Both entries and the views, for every D, mask and random string modulo 3; one row each."""
    every = np.indices((2, 2, P, P, P**5, 1 << 6)).reshape(6, -1)
    d, y, residues, string = every[:2], every[2:4], every[4], every[5]
    count = string.size
    r = (y - d) % P
    digits = np.array([residues // P**place % P for place in range(5)], dtype=float)
    choice, masks = digits[:3], (digits[3:4], digits[3 if reuse else 4 :][:1])
    words = bits_of(string, 6)
    products, wires = words[:4], (words[4:5], words[5:6])
    rings = [
        SpelledKeys(products=products, wires=wires[me], choice=pack(choice, P), masks=pack(masks[me], P))
        for me in range(2)
    ]
    match = Knockout(primes=(P,), pairs=count, widths=GateWidths(chunk=2), residues=1, nearer=nearer)
    kernels = VectorisedKernels()
    entries = [pack(one[np.newaxis, np.newaxis].astype(float), P) for one in (*r, *y)]
    after, dealt = match.deal(*entries[:2], "s", keys=tuple(rings), kernels=kernels, arena=Arena())
    dealt = np.frombuffer(dealt, dtype=np.uint8)
    both = [
        match.evaluate(*entries[2:], "s", dealt, me=me, keys=ring, kernels=kernels, arena=Arena())
        for me, ring in zip(EVALUATORS, rings, strict=True)
    ]
    seen, ends = run(both)
    won = (unpack(ends[0]) - unpack(after))[0, 0] % P
    assert np.array_equal(*[end[:, :1] for end in ends])
    assert np.array_equal(won, d.min(axis=0) if nearer else d.max(axis=0)), (
        "the farther or the nearer goes on"
    )
    size = 8 * match._plan.dealt
    own = [
        [products, wires[0], pack(choice, P), pack(masks[0], P)],
        [dealt[:size].view(np.uint64), wires[1], dealt[size:], pack(masks[1], P)],
    ]
    known = [pack(one.astype(float), P) for one in y]
    return d, [coded(count, [*known, *own[me], *seen[me]]) for me in range(2)]


def distributions(d, views):
    found = []
    for a, b in product(range(2), repeat=2):
        mine = (d[0] == a) & (d[1] == b)
        found.append([np.unique(view[mine], return_counts=True) for view in views])
    return found


def same(one, other):
    return all(map(np.array_equal, one, other))


@pytest.mark.some(1)
@pytest.mark.parametrize("nearer", [False, True])
def test_nothing_of_a_knockout_depends_on_the_distances(spelled, nearer):
    first, *others = distributions(*knockouts(nearer=nearer))
    assert len(others) == 3
    for other in others:
        assert all(map(same, first, other))


def test_one_mask_for_both_evaluators_halves_would_be_seen(spelled):
    first, *others = distributions(*knockouts(reuse=True))
    assert not all(same(first[me], other[me]) for other in others for me in range(2))


def test_a_tie_is_decided_without_a_trace():
    # Shares of l1, l2 and e1, halves of their masks, and E0's half of the product of two masks.
    values, string = np.indices((8, 1 << 10)).reshape(2, -1)
    count = string.size
    bits, words = bits_of(values, 3), bits_of(string, 10)
    shares = words[:3], words[:3] ^ bits
    halves, products = (words[3:6], words[6:9]), words[9:]
    dealt = np.empty(products.size, dtype=np.uint64)
    tools = {"kernels": VectorisedKernels(), "arena": Arena()}
    rings = [SpelledKeys(products=products, wires=own) for own in halves]
    dealing = Dealing("s", dealt, keys=tuple(rings), **tools)
    of_wires = dealing.masks(bits.shape)
    dealing.nodes(matches._TIE, of_wires[:2], of_wires[2:])

    def steps(me):
        own = {"me": EVALUATORS[me], "keys": rings[me]}
        gates = Evaluating("s", dealt.view(np.uint8), **own, kernels=VectorisedKernels(), arena=Arena())
        deltas, masks = yield from gates.open(shares[me].copy())
        found = gates.nodes(matches._TIE, (deltas[:2], deltas[2:]), (masks[:2], masks[2:]), "ties")[0]
        others = yield found
        return found ^ others

    seen, [outcome, again] = run([steps(0), steps(1)])
    assert np.array_equal(outcome, again)
    l1, l2, e1 = to_rows(bits, count)
    assert np.array_equal(to_rows(outcome[np.newaxis], count)[0], l1 ^ (e1 & l2))
    own = [shares[0], halves[0], products], [shares[1], halves[1], dealt]
    views = [coded(count, [*own[me], *seen[me]]) for me in range(2)]
    by_outcome = {}
    for value in range(8):
        mine = values == value
        found = [np.unique(view[mine], return_counts=True) for view in views]
        by_outcome.setdefault(bool((l1 ^ (e1 & l2))[mine][0]), []).append(found)
    assert sorted(map(len, by_outcome.values())) == [4, 4]
    for first, *others in by_outcome.values():
        for other in others:
            assert all(map(same, first, other))


def played(*, m=90, k=6, sets=3):
    rng = np.random.default_rng(1)
    labels = rng.integers(0, sets, m).astype(np.int32)
    question = Question(primes=primes_of(3), sizes=rng.integers(1, 9, k), rows=m, champions=labels)
    distances = rng.integers(0, 2**20, (k, m)).astype(object)
    masks = rng.integers(0, 2**62, (k, m)).astype(object)
    trio = Trio(question, distances, masks, dealer=FarthestDealer, evaluator=FarthestEvaluator)
    return trio.play()


def test_every_purpose_once():
    trio = played()
    labels = trio.question.champions
    left, playing, stages = np.bincount(labels), [0, 1, 2], []
    for turn, row in enumerate(trio.rows):
        levels = max((int(left[one]) - 1).bit_length() for one in playing)
        stages += [(f"farthest {turn} level {level}", True) for level in range(levels)]
        stages.append((f"farthest {turn} final", False))
        left[labels[row]] -= 1
        playing = [labels[row]]
    assert len(stages) > 15
    for other in EVALUATORS:
        expected = set()
        for stage, chooses in stages:
            expected |= {(f"{stage} wires", 0)} | (
                {(f"{stage} products", 0)} if other is Comparer.E0 else set()
            )
            if chooses:
                expected.add((f"{stage} masks", 0))
                if other is Comparer.E0:
                    expected.add((f"{stage} choice", 0))
        for me in (Comparer.DEALER, other):
            assert trio.keys[me, other].used.keys() == expected


def test_no_word_of_a_keystream_is_drawn_twice(drawn):
    assert played().rows.size == 3
    words, counts = np.unique(np.concatenate(drawn["bits"]), return_counts=True)
    # The dealer and the evaluator that has this half each draw it once.
    assert words.size > 10_000
    assert (counts == 2).all()
    draws = sorted(one.tobytes() for one in drawn["residues"])
    assert draws[::2] == draws[1::2]
    assert len(set(draws)) == len(draws) // 2 > 100


def test_what_is_sent_has_a_mask_for_every_word_but_outcomes_and_numbers(masking_bytes):
    trio = played()
    between = sum(len(data) for sender, to, data in trio.mail if {sender, to} == set(EVALUATORS))
    # Three outcomes of one word, three numbers of three residues.
    assert between == masking_bytes() + 2 * 3 * (8 + 9)


def test_no_text_shows_a_secret():
    trio = played()
    for one in (*trio.roles.values(), Knockout(primes=(5,), pairs=3, widths=GateWidths())):
        assert SECRETS[0].hex() not in repr(one)
        assert len(repr(one)) < 60
    assert repr(Final(primes=(5,), weights=[1, 4], widths=GateWidths())) == "Final(entries=2)"
