"""Compiled loop of a comparison: residues of differences, their mixed-radix digits, and these bit by bit.

`secfc.kernels.compiled` gives types and shapes; what the loops hold to is said in `secfc.kernels.blocks`.
Rows are taken as 64 strips: row j W + w is bit j of word w, so a transpose goes along vectors.
"""

import numpy as np
from numba import float64, int32, int64, njit, types, uint8, uint32, uint64, void

from secfc.kernels.blocks import OPTIONS, ROUND, unpack

_SECTION = 256
"""Rows whose digits are computed at a time: of 8 primes 16 KiB, half an L1 cache."""

_BYTES_3 = types.Array(uint8, 3, "C", readonly=True)


@njit(void(_BYTES_3, int64, int64[::1], int64, int32[:, :, ::1]), **OPTIONS)
def _take(packed, start, columns, rows, values):
    """values[q, s] = residues of the rows in column s, zeros behind the last row."""
    for q in range(values.shape[0]):
        for s in range(columns.size):
            source, target = packed[q, columns[s], 3 * start : 3 * (start + rows)], values[q, s]
            unpack(source, rows, target)
            for i in range(rows, target.size):
                target[i] = 0


@njit(void(int32[::1], int32[:, ::1], float64[::1], int64, int64, float64[::1], float64[::1]), **OPTIONS)
def _slot(own, values, weights, slot, low, value, weight):
    """Value and weight of each row's slot: the column of that index, or the next from the row's own on."""
    b, after = value.size, min(slot + 1, weights.size - 1)
    mine, here, next_ = own[low : low + b], values[slot, low : low + b], values[after, low : low + b]
    light, heavy = weights[slot], weights[after]
    for i in range(b):
        x, y = here[i], next_[i]
        passed = mine[i] <= slot
        value[i] = np.float64(y if passed else x)
        weight[i] = heavy if passed else light


@njit(void(float64[:, ::1], int64[::1], float64[:, ::1]), **OPTIONS)
def _garner(digits, primes, inverses):
    """Residues, |x| < 2**48, to canonical mixed-radix digits in place."""
    for q in range(primes.size):
        digit = digits[q]
        inverse, modulus = 1.0 / primes[q], float(primes[q])
        for i in range(digit.size):
            quotient = (digit[i] * inverse + ROUND) - ROUND
            digit[i] -= quotient * modulus
        for j in range(q):
            earlier, factor = digits[j], inverses[q, j]
            for i in range(digit.size):
                v = (digit[i] - earlier[i]) * factor
                quotient = (v * inverse + ROUND) - ROUND
                digit[i] = v - quotient * modulus
        for i in range(digit.size):
            digit[i] += modulus if digit[i] < 0.0 else 0.0


@njit(void(uint32[::1]), **OPTIONS)
def _transpose(lines):
    """Bit j of line t = bit t of line j, of 32 lines of words (H. Warren, *Hacker's Delight*, 7-3)."""
    width = lines.size // 32
    shift, mask = uint32(16), uint32(0x0000FFFF)
    while shift:
        half = int64(shift) * width
        for base in range(0, lines.size, 2 * half):
            low, high = lines[base : base + half], lines[base + half : base + 2 * half]
            for i in range(half):
                swapped = uint32(uint32(uint32(low[i] >> shift) ^ high[i]) & mask)
                high[i] ^= swapped
                low[i] ^= uint32(swapped << shift)
        shift = uint32(shift >> uint32(1))
        mask = uint32(mask ^ uint32(mask << shift))


@njit(
    void(
        _BYTES_3,
        int64,
        int64[::1],
        int32[::1],
        int64[::1],
        int64[::1],
        float64[:, ::1],
        int64[::1],
        float64[:, ::1],
        uint64[:, :, :, ::1],
    ),
    **OPTIONS,
)
def difference_bits(packed, start, columns, own, first, second, weights, primes, inverses, out):
    """See `secfc.kernels.interface.Kernels.difference_bits`."""
    chunk, chunks, _, words = out.shape
    count, k, rows, padded = primes.size, columns.size, own.size, 64 * words
    places = chunk * chunks // count
    values = np.empty((count, k, padded), dtype=np.int32)
    _take(packed, start, columns, rows, values)
    owned = np.zeros(padded, dtype=np.int32)
    owned[:rows] = own
    champions = first[0] < 0
    own_value = np.empty((count, padded if champions else 0))
    own_weight = np.empty((count, padded if champions else 0))
    if champions:
        for q in range(count):
            for i in range(padded):
                own_value[q, i] = values[q, owned[i], i]
                own_weight[q, i] = weights[q, owned[i]]
    digits, memory = np.empty(count * _SECTION), np.empty((4, _SECTION))
    lines = np.empty((count, padded), dtype=np.uint32)
    for pair in range(first.size):
        for low in range(0, padded, _SECTION):
            b = min(_SECTION, padded - low)
            rest, mine = digits[: count * b].reshape(count, b), owned[low : low + b]
            x_a, w_a, x_b, w_b = memory[0, :b], memory[1, :b], memory[2, :b], memory[3, :b]
            for q in range(count):
                digit = rest[q]
                _slot(owned, values[q], weights[q], second[pair], low, x_b, w_b)
                if champions:
                    x_own, w_own = own_value[q, low : low + b], own_weight[q, low : low + b]
                    for i in range(b):
                        d = w_own[i] * x_b[i] - w_b[i] * x_own[i]
                        digit[i] = d if mine[i] <= second[pair] else -d
                else:
                    _slot(owned, values[q], weights[q], first[pair], low, x_a, w_a)
                    for i in range(b):
                        digit[i] = w_a[i] * x_b[i] - w_b[i] * x_a[i]
            _garner(rest, primes, inverses)
            for q in range(count):
                digit, line = rest[q], lines[q, low : low + b]
                for i in range(b):
                    line[i] = np.uint32(np.int32(digit[i]))
        for q in range(count):
            lower, upper = lines[q, : padded // 2], lines[q, padded // 2 :]
            _transpose(lower)
            _transpose(upper)
            for place in range(places):
                at = (places - 1 - place) * words
                group = (count - 1 - q) * (chunks // count) + place // chunk
                target = out[place % chunk, group, pair]
                low_half, high_half = lower[at : at + words], upper[at : at + words]
                for w in range(words):
                    target[w] = uint64(low_half[w]) | uint64(high_half[w]) << uint64(32)
