"""A client's coded centres and distances, against Python integers modulo p."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sweeps import every, tries

from secfc.field.array_types import Floats, Ints, Labels, Shares
from secfc.field.packing import PackedResidues, pack, unpack
from secfc.field.primes import PRIMES
from secfc.field.residues import MAX_ROWS, centred
from secfc.kernels import Kernels, vectorised
from secfc.kernels.compiled import CompiledKernels
from secfc.kernels.vectorised import VectorisedKernels
from secfc.kmeans.coded_distance import CodedPoints

MODULI = [prime.p for prime in PRIMES]
P = MODULI[0]
KERNELS = (VectorisedKernels(), CompiledKernels())
laws = tries()


@pytest.fixture(params=KERNELS, ids=lambda kernels: kernels.name)
def kernels(request: pytest.FixtureRequest) -> Kernels:
    return request.param


def largest_centred(p: int) -> int:
    return (p - 1) // 2


def plus(p: int, shape: tuple[int, int]) -> Floats:
    """The largest residues, even and odd: products of only even ones would be exact far beyond 2**53."""
    top = largest_centred(p)
    return np.random.default_rng(2).choice([top, top - 1], shape).astype(np.float64)


def minus(p: int, shape: tuple[int, int]) -> Floats:
    return -plus(p, shape)


def either(p: int, shape: tuple[int, int]) -> Floats:
    return plus(p, shape) * np.random.default_rng(3).choice([-1.0, 1.0], shape)


def anything(p: int, shape: tuple[int, int]) -> Floats:
    top = largest_centred(p)
    return np.random.default_rng(4).integers(-top, top + 1, shape).astype(np.float64)


fills = every("fill", [plus, minus, either, anything])
Fill = Callable[[int, tuple[int, int]], Floats]


def packed_of(shares: list[Floats], primes: tuple[int, ...]) -> PackedResidues:
    planes = [pack(one, p) for one, p in zip(shares, primes, strict=True)]
    payload = b"".join(plane.tobytes() for plane in planes)
    return PackedResidues(shape=(len(primes), *shares[0].shape), payload=payload)


def memory_of(primes: tuple[int, ...], width: int, m: int) -> Shares:
    """Memory as `Client` allocates it, with arbitrary old content."""
    return np.full((len(primes), width + 1, m), np.nan, dtype=np.float32)


def points_of(shares: list[Floats], primes: tuple[int, ...], k: int, kernels: Kernels) -> CodedPoints:
    """Points that hold shares of shape (width, m), one for each prime."""
    memory = memory_of(primes, *shares[0].shape)
    points = CodedPoints(shares=memory, primes=primes, k=k, kernels=kernels)
    kernels.store(packed_of(shares, primes).planes(), primes, memory, 0)
    return points


def sizes_of(sets: Labels, k: int) -> Ints:
    return np.bincount(sets[sets >= 0], minlength=k).astype(np.int64)


def listed(answer: PackedResidues) -> list[list[list[int]]]:
    return unpack(answer.planes()).astype(np.int64).tolist()


def answer_of(
    shares: Floats, sets: Labels, k: int, p: int, kernels: Kernels, sizes: list[int] | None = None
) -> list[list[int]]:
    """The client's answer as canonical Python integers, shape (k, m)."""
    points = points_of([shares], (p,), k, kernels)
    points.ask(sets, sizes_of(sets, k) if sizes is None else np.array(sizes, dtype=np.int64), 1)
    (answer,) = listed(points.answer(0, sets.size))
    assert all(0 <= value < p for row in answer for value in row)
    return answer


def expected_of(
    shares: Floats, sets: Labels, k: int, p: int, sizes: list[int] | None = None
) -> list[list[int]]:
    """||mu~_h - |S_h| x~_i||^2 modulo p, from its definition."""
    rows = [[int(x) for x in row] for row in shares.T]
    width = shares.shape[0]
    members = [[row for row, s in zip(rows, sets, strict=True) if s == h] for h in range(k)]
    centres = [[sum(row[c] for row in member) for c in range(width)] for member in members]
    sizes = sizes or [len(member) for member in members]
    return [
        [sum((mu - size * x) ** 2 for mu, x in zip(centre, row, strict=True)) % p for row in rows]
        for centre, size in zip(centres, sizes, strict=True)
    ]


def round_robin(m: int, k: int) -> Labels:
    return (np.arange(m) % k).astype(np.int32)


class TestAnswers:
    def test_four_rows_are_as_computed_by_hand(self, kernels: Kernels) -> None:
        # S_0 = {0, 2}, S_1 = {10}: mu = (2, 10), sizes 2 and 1, row 4 in no set.
        shares = np.array([[0.0, 2.0, 10.0, 4.0]])
        sets = np.array([0, 0, 1, -1], dtype=np.int32)
        assert answer_of(shares, sets, 2, P, kernels) == [[4, 4, 324, 36], [100, 64, 0, 36]]

    @pytest.mark.some(108)
    @pytest.mark.parametrize("p", MODULI)
    @fills
    @pytest.mark.parametrize("width", [1, 7, 127, 128, 129])
    def test_equal_the_integers_at_the_largest_magnitudes(
        self, p: int, fill: Fill, width: int, kernels: Kernels
    ) -> None:
        shares, sets = fill(p, (width, 12)), round_robin(12, 3)
        assert answer_of(shares, sets, 3, p, kernels) == expected_of(shares, sets, 3, p)

    @laws
    @given(
        data=st.data(),
        m=st.integers(1, 10),
        width=st.integers(1, 5),
        k=st.integers(1, 4),
        p=st.sampled_from(MODULI),
        kernels=st.sampled_from(KERNELS),
    )
    def test_equal_the_integers_for_any_shares_and_sets(
        self, data: st.DataObject, m: int, width: int, k: int, p: int, kernels: Kernels
    ) -> None:
        top = largest_centred(p)
        residue = st.one_of(st.integers(-top, top), st.sampled_from([-top, top]))
        values = data.draw(st.lists(residue, min_size=m * width, max_size=m * width))
        labels = data.draw(st.lists(st.integers(-1, k - 1), min_size=m, max_size=m))
        shares = np.array(values, dtype=np.float64).reshape(width, m)
        sets = np.array(labels, dtype=np.int32)
        assert answer_of(shares, sets, k, p, kernels) == expected_of(shares, sets, k, p)

    @every("p", MODULI)
    def test_sizes_up_to_the_most_rows_are_exact(self, p: int, kernels: Kernels) -> None:
        shares, sets = either(p, (3, 6)), round_robin(6, 3)
        sizes = [MAX_ROWS, p // 2 + 1, p]
        assert answer_of(shares, sets, 3, p, kernels, sizes) == expected_of(shares, sets, 3, p, sizes)

    @every("p", MODULI)
    def test_largest_sizes_and_inner_products_together_are_exact(self, p: int, kernels: Kernels) -> None:
        # mu~ = 1, so <mu~, x~> = x~ takes the largest residues; 2 (MAX_ROWS - 1) of them exceed 2**52.
        row = [1, *range(p // 2 - 300, p // 2 + 1), *range(-(p // 2), -(p // 2) + 300)]
        shares = np.array([row], dtype=np.float64)
        sets = np.array([0] + [-1] * (len(row) - 1), dtype=np.int32)
        sizes = [MAX_ROWS - 1]
        assert answer_of(shares, sets, 1, p, kernels, sizes) == expected_of(shares, sets, 1, p, sizes)

    @pytest.mark.parametrize("asked", [1, 2, 8])
    def test_planes_belong_to_the_first_primes_asked_for(self, asked: int, kernels: Kernels) -> None:
        primes, sets = tuple(MODULI), round_robin(5, 2)
        shares = [anything(p, (3, 5)) for p in primes]
        points = points_of(shares, primes, 2, kernels)
        points.ask(sets, sizes_of(sets, 2), asked)
        answer = points.answer(0, 5)
        assert answer.shape == (asked, 2, 5)
        expected = [expected_of(shares[i], sets, 2, primes[i]) for i in range(asked)]
        assert listed(answer) == expected

    def test_arguments_are_left_alone(self, kernels: Kernels) -> None:
        shares, sets, sizes = anything(P, (2, 5)), round_robin(5, 2), np.array([3, 2])
        packed, memory = packed_of([shares], (P,)), memory_of((P,), 2, 5)
        points = CodedPoints(shares=memory, primes=(P,), k=2, kernels=kernels)
        kernels.store(packed.planes(), (P,), memory, 0)
        assert np.array_equal(memory[0, :2], shares)
        before = [x.copy() for x in (memory, sets, sizes)]
        points.ask(sets, sizes, 1)
        points.answer(0, 5)
        assert all(np.array_equal(a, b) for a, b in zip(before, (memory, sets, sizes), strict=True))
        assert bytes(packed.payload) == bytes(packed_of([shares], (P,)).payload)

    def test_repr_shows_the_shape_and_no_value(self, kernels: Kernels) -> None:
        assert repr(points_of([plus(P, (2, 5))], (P,), 2, kernels)) == "CodedPoints(shape=(1, 3, 5))"


class TestSequences:
    """Sums are updated by the rows that moved. An answer does not depend on earlier questions."""

    @laws
    @given(
        data=st.data(),
        m=st.integers(1, 24),
        k=st.integers(1, 4),
        steps=st.lists(st.tuples(st.integers(0, 24), st.integers(1, 4)), min_size=2, max_size=8),
        kernels=st.sampled_from(KERNELS),
    )
    def test_any_sequence_of_questions_is_answered_as_by_fresh_points(
        self, data: st.DataObject, m: int, k: int, steps: list[tuple[int, int]], kernels: Kernels
    ) -> None:
        primes = tuple(MODULI[:4])
        shares = [either(p, (2, m)) / 1000 * (anything(P, (2, m)) % 1000) // 1 for p in primes]
        points = points_of(shares, primes, k, kernels)
        label = st.integers(-1, k - 1)
        sets = np.array(data.draw(st.lists(label, min_size=m, max_size=m)), dtype=np.int32)
        for moves, asked in steps:
            sets = sets.copy()
            for _ in range(moves):
                sets[data.draw(st.integers(0, m - 1))] = data.draw(label)
            sizes = sizes_of(sets, k)
            points.ask(sets, sizes, asked)
            answer = listed(points.answer(0, m))
            assert answer == [expected_of(shares[i], sets, k, primes[i]) for i in range(asked)]
            fresh = points_of(shares, primes, k, kernels)
            fresh.ask(sets, sizes, asked)
            assert listed(fresh.answer(0, m)) == answer

    def test_many_rounds_at_the_largest_magnitudes_stay_exact(self, kernels: Kernels) -> None:
        m, k, rng = 600, 3, np.random.default_rng(0)
        primes = tuple(MODULI[:3])
        shares = [fill(p, (2, m)) for fill, p in zip((plus, minus, either), primes, strict=True)]
        points = points_of(shares, primes, k, kernels)
        sets = round_robin(m, k)
        for round_ in range(60):
            moved = rng.permutation(m)[: [0, 1, 3, 149, 150, 151, 600][round_ % 7]]
            sets = sets.copy()
            sets[moved] = rng.integers(-1, k, moved.size)
            asked = [3, 1, 2, 3, 2, 1, 1, 3][round_ % 8]
            points.ask(sets, sizes_of(sets, k), asked)
            rows = slice(0, 40)
            fresh = points_of(shares, primes, k, kernels)
            fresh.ask(sets, sizes_of(sets, k), asked)
            assert listed(points.answer(rows.start, rows.stop)) == listed(fresh.answer(rows.start, rows.stop))
        points.ask(sets, sizes_of(sets, k), 3)
        assert listed(points.answer(0, m)) == [
            expected_of(one, sets, k, p) for one, p in zip(shares, primes, strict=True)
        ]

    @pytest.mark.parametrize("moved", [0, 1, 9, 20])
    def test_only_moved_rows_update_the_sums(self, moved: int) -> None:
        rows = []

        class Noted(VectorisedKernels):
            def weighted_sums(self, shares: Shares, *more: object) -> Floats:
                rows.append(shares.shape[1])
                return super().weighted_sums(shares, *more)

        shares = anything(P, (2, 20))
        points = points_of([shares], (P,), 2, Noted())
        sets = np.zeros(20, dtype=np.int32)
        points.ask(sets, sizes_of(sets, 2), 1)
        rows.clear()
        sets = sets.copy()
        sets[:moved] = 1
        points.ask(sets, sizes_of(sets, 2), 1)
        assert sum(rows) == moved
        assert listed(points.answer(0, 20)) == [expected_of(shares, sets, 2, P)]


class TestBlocks:
    @pytest.mark.parametrize("elements", [1, 2, 3, 7, 12, 35, 36, 37, 1000])
    def test_answer_does_not_depend_on_the_block(
        self, elements: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shares = either(P, (3, 12))
        sets = np.array([0, 1, 2, 3, -1, 0, 0, 1, -1, 3, 3, 1], dtype=np.int32)
        expected = expected_of(shares, sets, 4, P)
        monkeypatch.setattr(vectorised, "_BLOCK_ELEMENTS", elements)
        assert answer_of(shares, sets, 4, P, VectorisedKernels()) == expected

    @pytest.mark.parametrize("m", [1, 255, 256, 257, 511, 512, 513])
    def test_rows_at_the_compiled_blocks_edges_are_exact(self, m: int) -> None:
        shares, sets = anything(P, (3, m)), round_robin(m, 2)
        assert answer_of(shares, sets, 2, P, CompiledKernels()) == expected_of(shares, sets, 2, P)

    @pytest.mark.parametrize("columns", [1, 3, 100, 784])
    @pytest.mark.parametrize("m", [0, 1, 2, 1310, 1311, 5000])
    def test_blocks_cover_every_row_once_in_order_within_a_mebibyte(
        self, m: int, columns: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen, real = [], vectorised.matmul

        def noted(a: Floats, b: Floats, p: int) -> Floats:
            seen.append(b)
            return real(a, b, p)

        monkeypatch.setattr(vectorised, "matmul", noted)
        shares = np.zeros((columns, m), dtype=np.float32)
        shares[0] = np.arange(m)
        out = np.empty((2, 3 * m), dtype=np.uint8)
        VectorisedKernels().affine(shares, slice(0, m), np.zeros((2, columns)), np.zeros(2), P, out)
        assert [x for block in seen for x in block[0]] == list(range(m))
        assert max((block.nbytes for block in seen), default=0) <= 2**20

    @pytest.mark.parametrize("cuts", [[0, 300], [0, 256, 300], [0, 1, 2, 255, 257, 300], [0, 0, 150, 300]])
    def test_shares_stored_and_answered_in_parts_are_those_of_the_whole(
        self, cuts: list[int], kernels: Kernels
    ) -> None:
        primes, sets = tuple(MODULI[:2]), round_robin(300, 3)
        shares = [anything(p, (3, 300)) for p in primes]
        whole = points_of(shares, primes, 3, kernels)
        memory = memory_of(primes, 3, 300)
        points = CodedPoints(shares=memory, primes=primes, k=3, kernels=kernels)
        parts = list(pairwise(cuts))
        for start, stop in reversed(parts):
            some = packed_of([one[:, start:stop] for one in shares], primes)
            kernels.store(some.planes(), primes, memory, start)
        for one in (whole, points):
            one.ask(sets, sizes_of(sets, 3), 2)
        answers = [unpack(points.answer(start, stop).planes()) for start, stop in parts]
        assert np.array_equal(np.concatenate(answers, axis=-1), unpack(whole.answer(0, 300).planes()))


class TestParts:
    def test_residues_survive_single_precision(self) -> None:
        tops = np.array([(p + 8) // 2 for p in MODULI])
        assert np.array_equal(tops.astype(np.float32).astype(np.int64), tops)

    @every("p", MODULI)
    def test_canonical_shares_are_kept_centred(self, p: int, kernels: Kernels) -> None:
        values = [0, 1, p // 2, p // 2 + 1, p - 2, p - 1]
        memory = memory_of((p,), 1, 6)
        payload = b"".join(value.to_bytes(3, "little") for value in values)
        kernels.store(PackedResidues(shape=(1, 1, 6), payload=payload).planes(), (p,), memory, 0)
        assert memory[0, 0].tolist() == [centred(value, p) for value in values]
