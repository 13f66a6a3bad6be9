"""A client's coded centres and distances, against Python integers modulo p."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secfc._arrays import Labels, Shares
from secfc.field.packing import PackedResidues
from secfc.field.primes import PRIMES
from secfc.kmeans import coded_distance
from secfc.kmeans.coded_distance import coded_centres, coded_distances, row_blocks, share_norms
from secfc.params import MAX_ROWS

MODULI = [prime.p for prime in PRIMES]
P = MODULI[0]
laws = settings(deadline=None, max_examples=60)


def largest_reduced(p: int) -> int:
    return (p + 8) // 2


def plus(p: int, shape: tuple[int, int]) -> Shares:
    return np.full(shape, largest_reduced(p), dtype=np.float32)


def minus(p: int, shape: tuple[int, int]) -> Shares:
    return -plus(p, shape)


def either(p: int, shape: tuple[int, int]) -> Shares:
    return plus(p, shape) * np.random.default_rng(3).choice([-1, 1], shape).astype(np.float32)


def anything(p: int, shape: tuple[int, int]) -> Shares:
    top = largest_reduced(p)
    return np.random.default_rng(4).integers(-top, top + 1, shape).astype(np.float32)


def answer_of(
    shares: Shares, sets: Labels, k: int, p: int, sizes: list[int] | None = None
) -> list[list[int]]:
    """The client's answer as canonical Python integers."""
    m = shares.shape[0]
    counts = np.bincount(sets[sets >= 0], minlength=k) if sizes is None else np.array(sizes)
    answer = PackedResidues.empty((1, m, k))
    coded_distances(shares, share_norms(shares, p), sets, counts.astype(np.int64), p, prime=0, answer=answer)
    answer.check((p,))
    return answer.read(0, slice(0, m)).astype(np.int64).tolist()


def expected_of(
    shares: Shares, sets: Labels, k: int, p: int, sizes: list[int] | None = None
) -> list[list[int]]:
    """||mu~_h - |S_h| x~_i||^2 modulo p, straight from its definition."""
    rows = [[int(x) for x in row] for row in shares]
    width = shares.shape[1]
    members = [[row for row, s in zip(rows, sets, strict=True) if s == h] for h in range(k)]
    centres = [[sum(row[c] for row in member) for c in range(width)] for member in members]
    sizes = sizes or [len(member) for member in members]
    return [
        [
            sum((mu - size * x) ** 2 for mu, x in zip(centre, row, strict=True)) % p
            for centre, size in zip(centres, sizes, strict=True)
        ]
        for row in rows
    ]


def round_robin(m: int, k: int) -> Labels:
    return (np.arange(m) % k).astype(np.int32)


class TestCodedDistances:
    def test_four_rows_are_as_computed_by_hand(self) -> None:
        # S_0 = {0, 2}, S_1 = {10}: mu = (2, 10), sizes 2 and 1, row 4 in no set.
        shares = np.array([[0], [2], [10], [4]], dtype=np.float32)
        sets = np.array([0, 0, 1, -1], dtype=np.int32)
        assert answer_of(shares, sets, 2, P) == [[4, 100], [4, 64], [324, 0], [36, 36]]

    @pytest.mark.parametrize("p", MODULI)
    @pytest.mark.parametrize("fill", [plus, minus, either, anything])
    @pytest.mark.parametrize("width", [1, 7, 128, 129])
    def test_equal_the_integers_at_the_largest_magnitudes(
        self, p: int, fill: Callable[[int, tuple[int, int]], Shares], width: int
    ) -> None:
        shares, sets = fill(p, (12, width)), round_robin(12, 3)
        assert answer_of(shares, sets, 3, p) == expected_of(shares, sets, 3, p)

    @laws
    @given(
        data=st.data(),
        m=st.integers(1, 10),
        width=st.integers(1, 5),
        k=st.integers(1, 4),
        p=st.sampled_from(MODULI),
    )
    def test_equal_the_integers_for_any_shares_and_sets(
        self, data: st.DataObject, m: int, width: int, k: int, p: int
    ) -> None:
        top = largest_reduced(p)
        residue = st.one_of(st.integers(-top, top), st.sampled_from([-top, top]))
        values = data.draw(st.lists(residue, min_size=m * width, max_size=m * width))
        labels = data.draw(st.lists(st.integers(-1, k - 1), min_size=m, max_size=m))
        shares = np.array(values, dtype=np.float32).reshape(m, width)
        sets = np.array(labels, dtype=np.int32)
        assert answer_of(shares, sets, k, p) == expected_of(shares, sets, k, p)

    def test_rows_in_no_set_are_answered_for_but_not_added(self) -> None:
        shares = anything(P, (9, 4))
        sets = np.array([0, -1, 1, -1, 0, 1, -1, -1, 0], dtype=np.int32)
        answer = answer_of(shares, sets, 2, P)
        assert answer == expected_of(shares, sets, 2, P)
        assert len(answer) == 9

    def test_empty_set_has_distance_zero_to_every_row(self) -> None:
        shares = anything(P, (6, 3))
        sets = np.array([0, 0, 2, 2, 0, 2], dtype=np.int32)
        answer = answer_of(shares, sets, 4, P)
        assert answer == expected_of(shares, sets, 4, P)
        assert [(row[1], row[3]) for row in answer] == [(0, 0)] * 6

    def test_no_row_in_any_set_gives_zeros(self) -> None:
        assert answer_of(anything(P, (4, 3)), np.full(4, -1, dtype=np.int32), 3, P) == [[0, 0, 0]] * 4

    def test_all_rows_in_one_set(self) -> None:
        shares = either(P, (50, 3))
        sets = np.full(50, 2, dtype=np.int32)
        assert answer_of(shares, sets, 4, P) == expected_of(shares, sets, 4, P)

    def test_single_cluster(self) -> None:
        shares, sets = anything(P, (20, 3)), np.zeros(20, dtype=np.int32)
        assert answer_of(shares, sets, 1, P) == expected_of(shares, sets, 1, P)

    def test_single_row(self) -> None:
        assert answer_of(anything(P, (1, 5)), np.zeros(1, dtype=np.int32), 1, P) == [[0]]

    def test_more_clusters_than_columns(self) -> None:
        shares, sets = anything(P, (40, 2)), round_robin(40, 33)
        assert answer_of(shares, sets, 33, P) == expected_of(shares, sets, 33, P)

    def test_row_of_a_singleton_has_distance_zero_to_it(self) -> None:
        shares, sets = anything(P, (3, 4)), np.arange(3, dtype=np.int32)
        answer = answer_of(shares, sets, 3, P)
        assert [answer[i][i] for i in range(3)] == [0, 0, 0]

    @pytest.mark.parametrize("p", MODULI)
    def test_sizes_up_to_the_most_rows_are_exact(self, p: int) -> None:
        shares, sets = either(p, (6, 3)), round_robin(6, 3)
        sizes = [MAX_ROWS, p // 2 + 1, p]
        assert answer_of(shares, sets, 3, p, sizes) == expected_of(shares, sets, 3, p, sizes)

    @pytest.mark.parametrize("p", MODULI)
    def test_largest_sizes_and_inner_products_together_are_exact(self, p: int) -> None:
        # mu~ = 1, so <mu~, x~> = x~ takes the largest residues; 2 (MAX_ROWS - 1) of them pass 2**52.
        column = [1, *range(p // 2 - 300, p // 2 + 1), *range(-(p // 2), -(p // 2) + 300)]
        shares = np.array(column, dtype=np.float32)[:, np.newaxis]
        sets = np.array([0] + [-1] * (len(column) - 1), dtype=np.int32)
        assert answer_of(shares, sets, 1, p, [MAX_ROWS - 1]) == expected_of(
            shares, sets, 1, p, [MAX_ROWS - 1]
        )

    def test_no_rows_give_an_empty_answer(self) -> None:
        assert answer_of(np.zeros((0, 3), dtype=np.float32), np.zeros(0, dtype=np.int32), 2, P) == []

    def test_only_the_plane_of_the_prime_is_written(self) -> None:
        shares, sets = anything(P, (5, 2)), round_robin(5, 2)
        answer = PackedResidues.empty((3, 5, 2))
        sizes = np.array([3, 2])
        coded_distances(shares, share_norms(shares, P), sets, sizes, P, prime=1, answer=answer)
        planes = [answer.read(i, slice(0, 5)).astype(np.int64).tolist() for i in range(3)]
        assert planes[1] == expected_of(shares, sets, 2, P)
        assert planes[0] == planes[2] == [[0, 0]] * 5

    def test_arguments_are_left_alone(self) -> None:
        shares, sets, sizes = anything(P, (5, 2)), round_robin(5, 2), np.array([3, 2])
        norms = share_norms(shares, P)
        before = [x.copy() for x in (shares, norms, sets, sizes)]
        coded_distances(shares, norms, sets, sizes, P, prime=0, answer=PackedResidues.empty((1, 5, 2)))
        assert all(np.array_equal(a, b) for a, b in zip(before, (shares, norms, sets, sizes), strict=True))


class TestBlocks:
    @pytest.mark.parametrize("elements", [1, 2, 3, 7, 12, 35, 36, 37, 1000])
    def test_answer_does_not_depend_on_the_block(
        self, elements: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shares = either(P, (12, 3))
        sets = np.array([0, 1, 2, 3, -1, 0, 0, 1, -1, 3, 3, 1], dtype=np.int32)
        expected = expected_of(shares, sets, 4, P)
        monkeypatch.setattr(coded_distance, "_BLOCK_ELEMENTS", elements)
        assert answer_of(shares, sets, 4, P) == expected

    @pytest.mark.parametrize("m", [1, 4, 5, 6, 9, 10, 11])
    def test_rows_at_block_edges_are_exact(self, m: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(coded_distance, "_BLOCK_ELEMENTS", 5 * 3)
        shares, sets = anything(P, (m, 3)), round_robin(m, 2)
        assert answer_of(shares, sets, 2, P) == expected_of(shares, sets, 2, P)

    @pytest.mark.parametrize("columns", [0, 1, 3, 100, 1 << 17, 1 << 20])
    @pytest.mark.parametrize("m", [0, 1, 2, 1310, 1311, 5000])
    def test_blocks_cover_every_row_once_in_order(self, m: int, columns: int) -> None:
        covered = [i for block in row_blocks(m, columns) for i in range(block.start, block.stop)]
        assert covered == list(range(m))

    @pytest.mark.parametrize("columns", [1, 3, 100, 784])
    def test_blocks_stay_within_a_mebibyte(self, columns: int) -> None:
        assert max(8 * columns * (b.stop - b.start) for b in row_blocks(10**6, columns)) <= 2**20


class TestParts:
    @pytest.mark.parametrize("p", MODULI)
    @pytest.mark.parametrize("fill", [plus, minus, either, anything])
    def test_share_norms_equal_the_integers(
        self, p: int, fill: Callable[[int, tuple[int, int]], Shares]
    ) -> None:
        shares = fill(p, (5, 300))
        norms = share_norms(shares, p)
        assert [int(x) % p for x in norms] == [sum(int(x) ** 2 for x in row) % p for row in shares]
        assert np.abs(norms).max() <= p / 2 + 4

    @pytest.mark.parametrize("fill", [plus, minus, either, anything])
    def test_coded_centres_are_the_sums_of_the_sets(
        self, fill: Callable[[int, tuple[int, int]], Shares]
    ) -> None:
        shares, sets = fill(P, (1000, 3)), round_robin(1000, 7)
        centres = coded_centres(shares, sets, 7, P)
        expected = [[sum(int(x) for x in shares[sets == h, c]) % P for c in range(3)] for h in range(7)]
        assert [[int(x) % P for x in row] for row in centres] == expected
        assert np.abs(centres).max() <= P / 2 + 4

    def test_residues_survive_single_precision(self) -> None:
        tops = np.array([largest_reduced(p) for p in MODULI])
        assert np.array_equal(tops.astype(np.float32).astype(np.int64), tops)
