"""Bits of weighted differences and choices of entries, in both kernels, beside Python's integers."""

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.kernel_samples import BOTH, COMPILED, MODULI, P, around, canonicals, each_kernels, fills, laws

from secfc.field.mixed_radix import MixedRadix
from secfc.field.packing import pack, unpack
from secfc.field.primes import primes_of
from secfc.field.residues import centred
from secfc.kernels import Kernels, blocks
from secfc.kernels.interface import Differences

SIZES = np.array([1, 3, 1000, 9_999_999, 2**31 - 1])


def differences(primes, columns, pairs) -> Differences:
    weights = [[float(centred(2 * int(SIZES[h % 5]) ** 2, p)) for h in columns] for p in primes]
    first, second = np.array(pairs, dtype=np.int64).T.copy()
    return Differences(
        columns=np.array(columns),
        weights=np.array(weights),
        first=first,
        second=second,
        radix=MixedRadix(primes),
    )


def samples(fill, primes, columns, rows, seed=0):
    residues = np.array([canonicals(fill, (columns, rows), p, seed + p) for p in primes])
    return residues, np.array([pack(plane, p) for plane, p in zip(residues, primes, strict=True)])


def words(primes, chunk, pairs, rows):
    per_digit = -(-max(primes).bit_length() // chunk)
    return np.empty((chunk, per_digit * len(primes), pairs, -(-rows // 64)), dtype=np.uint64)


def from_integers(residues, start, question: Differences, own, out):
    """The same bits, one row at a time."""
    primes = question.radix.primes
    chunk, chunks, _, width = out.shape
    places = chunk * chunks // len(primes)
    expected = np.zeros_like(out)
    for row, mine in enumerate(own):
        slots = [h for h in range(question.columns.size) if h != mine]
        for pair, (s, t) in enumerate(zip(question.first, question.second, strict=True)):
            a, b = sorted([mine if s < 0 else slots[s], slots[t]])
            x = []
            for q, p in enumerate(primes):
                x_a, x_b = (int(residues[q, question.columns[h], start + row]) for h in (a, b))
                x.append((int(question.weights[q, a]) * x_b - int(question.weights[q, b]) * x_a) % p)
            value = crt(x, primes)
            for q, p in enumerate(primes):
                digit = value // prod(primes[:q]) % p
                for place in range(places):
                    bit = digit >> (places - 1 - place) & 1
                    group = (len(primes) - 1 - q) * (places // chunk) + place // chunk
                    expected[place % chunk, group, pair, row % width] |= np.uint64(bit << row // width)
    return expected


def crt(residues, primes):
    modulus = prod(primes)
    return (
        sum(x * (modulus // p) * pow(modulus // p, -1, p) for x, p in zip(residues, primes, strict=True))
        % modulus
    )


PAIRS = [(a, b) for a in range(3) for b in range(a + 1, 3)]


@pytest.mark.some(5)
@each_kernels
@fills
@pytest.mark.parametrize("rows", [1, 63, 64, 65, 300])
def test_bits_are_those_of_integers(kernels, fill, rows):
    primes = primes_of(4)
    residues, packed = samples(fill, primes, 5, rows + 7)
    own = np.random.default_rng(rows).integers(0, 4, rows).astype(np.int32)
    for pairs in (PAIRS, [(-1, 0), (-1, 1), (-1, 2)]):
        question, out = differences(primes, [0, 1, 3, 4], pairs), words(primes, 3, 3, rows)
        kernels.difference_bits(packed, 5, question, own, out)
        assert np.array_equal(out, from_integers(residues, 5, question, own, out))


@laws
@given(
    rows=st.integers(1, 700),
    count=st.integers(1, 8),
    chunk=st.sampled_from([1, 2, 3, 4, 5, 6]),
    owned=st.sampled_from(["champion", "pairs", "none"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_both_forms_are_equal(rows, count, chunk, owned, seed):
    primes, rng = primes_of(count), np.random.default_rng(seed)
    _, packed = samples("anything", primes, 4, rows, seed)
    pairs = [(-1, 0), (-1, 1), (-1, 2)] if owned == "champion" else PAIRS
    own = np.full(rows, 4) if owned == "none" else rng.integers(0, 4, rows)
    found = []
    for kernels in BOTH:
        out = words(primes, chunk, 3, rows)
        kernels.difference_bits(packed, 0, differences(primes, range(4), pairs), own.astype(np.int32), out)
        found.append(out)
    assert np.array_equal(*found)


@each_kernels
def test_what_does_not_fit_is_refused(kernels):
    primes = primes_of(4)
    _, packed = samples("anything", primes, 4, 100)
    own, out = np.zeros(64, dtype=np.int32), words(primes, 3, 3, 64)
    champion = differences(primes, range(4), [(-1, 0), (-1, 1), (-1, 2)])
    refused = [
        (packed[:3], 0, champion, own, out),
        (packed, 37, champion, own, out),
        (packed, -1, champion, own, out),
        (packed, 0, champion, own + 4, out),
        (packed, 0, champion, own - 1, out),
        (packed, 0, champion, np.zeros(65, dtype=np.int32), out),
        (packed, 0, champion, own, out[:, :, :2]),
        (packed, 0, champion, own, out[:, :31]),
        (packed, 0, champion, own, out[:2, :32]),
        (packed, 0, differences(primes, [0, 1, 2, 4], PAIRS), own, out),
        (packed, 0, differences(primes, range(4), [(-1, 0), (-1, 1), (-1, 3)]), own, out),
        (packed, 0, differences(primes, range(4), [(-1, 0), (0, 1), (0, 2)]), own, out),
        (packed, 0, differences(primes, range(4), [(-2, 0), (-2, 1), (-2, 2)]), own, out),
    ]
    for arguments in refused:
        with pytest.raises(ValueError, match=r"fit|longer|own column"):
            kernels.difference_bits(*arguments)


class TestChoice:
    """`deal_choice` and `choose_entries`, beside sums of Python integers."""

    @each_kernels
    @pytest.mark.parametrize("count", [0, 1, 7, 8, 9, *around(blocks.SECTION), 1000])
    @pytest.mark.parametrize("columns", [1, 2])
    @fills
    def test_halves_add_up_to_the_chosen_entry(
        self, kernels: Kernels, count: int, columns: int, fill: str
    ) -> None:
        rng, p = np.random.default_rng(count), P
        shapes = [(columns, count)] * 4 + [(1 + 2 * columns, count)] + [(columns, count)] * 2
        first, second, *masks, of_e0, new0, new1 = (
            pack(canonicals(fill, shape, p, seed=at), p) for at, shape in enumerate(shapes)
        )
        flips, seconds = rng.random((2, count)) < 0.5
        of_e1 = np.empty_like(of_e0)
        kernels.deal_choice((first, second), flips, of_e0, p, of_e1)
        assert (unpack(of_e1) < p).all()
        assert ((unpack(of_e0)[0] + unpack(of_e1)[0]) % p).tolist() == flips.tolist()
        # The evaluators know entry + mask.
        entries = [unpack(one).astype(np.int64) for one in masks]
        known = tuple(
            pack((entry + unpack(mask)) % p, p) for entry, mask in zip(entries, (first, second), strict=True)
        )
        found = 0
        for leads, halves, new in ((True, of_e0, new0), (False, of_e1, new1)):
            out = np.empty_like(first)
            kernels.choose_entries(known, seconds ^ flips, halves, new, leads, p, out)
            assert (unpack(out) < p).all()
            found += unpack(out).astype(np.int64) - unpack(new).astype(np.int64)
        wanted = np.where(seconds, entries[1], entries[0])
        assert (found % p).tolist() == (wanted % p).tolist()

    @laws
    @given(st.data(), st.integers(0, 40), st.integers(1, 2), st.sampled_from(MODULI))
    def test_both_choose_the_same_whatever_the_dealer_sent(
        self, data: st.DataObject, count: int, columns: int, p: int
    ) -> None:
        rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
        pair = tuple(pack(canonicals("anything", (columns, count), p, seed=at), p) for at in range(2))
        masks = pack(canonicals("either", (columns, count), p), p)
        halves = rng.choice([0, 255, 254, 1], (1 + 2 * columns, 3 * count)).astype(np.uint8)
        opened, leads = rng.random(count) < 0.5, data.draw(st.booleans())
        found = []
        for kernels in BOTH:
            out = np.empty_like(masks)
            kernels.choose_entries(pair, opened, halves, masks, leads, p, out)
            found.append(unpack(out))
        a, b = (unpack(one).astype(np.int64) for one in pair)
        known = unpack(halves).astype(np.int64)
        likely, other = np.where(opened, b, a), np.where(opened, a, b)
        wanted = known[0] * (other - likely) - np.where(opened, known[1 + columns :], known[1 : 1 + columns])
        wanted += unpack(masks).astype(np.int64) + leads * likely
        assert found[0].tolist() == found[1].tolist() == (wanted % p).tolist()

    def test_compiled_code_refuses_entries_that_do_not_fit(self) -> None:
        def octets(*shape: int) -> np.ndarray:
            return np.zeros(shape, dtype=np.uint8)

        bits = np.zeros(4, dtype=np.bool_)
        good = ((octets(1, 12), octets(1, 12)), bits, octets(3, 12))
        for pair, opened, halves in (
            ((octets(1, 12), octets(1, 9)), bits, octets(3, 12)),
            ((octets(1, 12), octets(1, 12)), bits[:3], octets(3, 12)),
            ((octets(1, 12), octets(1, 12)), bits, octets(5, 12)),
        ):
            with pytest.raises(ValueError, match="do not fit each other"):
                COMPILED.deal_choice(pair, opened, halves, P, halves.copy())
            with pytest.raises(ValueError, match="do not fit each other"):
                COMPILED.choose_entries(pair, opened, halves, octets(1, 12), True, P, octets(1, 12))
        with pytest.raises(ValueError, match="differ in shape"):
            COMPILED.deal_choice(*good, P, octets(3, 9))
        for masks, out in ((octets(1, 9), octets(1, 12)), (octets(1, 12), octets(2, 12))):
            with pytest.raises(ValueError, match="masks do not fit"):
                COMPILED.choose_entries(*good, masks, True, P, out)
        with pytest.raises(TypeError, match="bool"):
            COMPILED.deal_choice(good[0], octets(4), good[2], P, octets(3, 12))
