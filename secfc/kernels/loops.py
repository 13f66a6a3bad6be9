"""The compiled loops. `secfc.kernels.compiled` gives them types and shapes.

All arithmetic is on integers below 2**53 held in float64, so contraction to fused multiply-add, the only
liberty given to the compiler, changes nothing. Rows are taken in blocks that stay in the L1 and L2 caches.
Signatures are explicit: everything is compiled when this module is imported for the first time, and read
from Numba's cache on disk ever after.

Indices run from 0 over slices that were cut first: the compiler then knows that they are not negative and
vectorises.
"""

import numpy as np
from numba import boolean, float32, float64, int32, int64, njit, types, uint8, uint32, uint64, void

from secfc.kernels import lanes
from secfc.kernels.lanes import LANES

_ROUND = 1.5 * 2.0**52
"""Adding and subtracting it rounds a float64 below 2**51 to the nearest integer."""

_BLOCK = 192
"""Rows of a block of a product: a column is 3 KiB of float64, so 128 columns fit half an L2 cache."""

_STRIDE = _BLOCK + LANES
"""An odd number of cache lines from one column to the next, so that they do not push each other out."""

_LONG = 2048
"""Rows of a block that is only unpacked: short blocks would pay more for their start than for their work."""

_NARROW = 64
"""Columns transformed at a time: 4096 points of them are 2 MiB."""

_SUMS = 64
"""Sums kept side by side, so that a vector of them is added to at once and none waits for another."""

_SORTED = 4096
"""Rows sorted by set at a time: a column of them, 16 KiB of float32, stays in an L1 cache."""

PAIR = 2 * LANES
"""Rows decoded at a time."""

_INNER = 128
"""Columns of exact products between reductions; see secfc.field.residues.BLOCK."""

_OPTIONS = {"cache": True, "error_model": "numpy", "fastmath": {"contract"}, "nogil": True}
_AS_WRITTEN = {"cache": True, "error_model": "numpy", "nogil": True}
"""For quotients that are no integers: rounded as NumPy rounds them."""

_bytes1 = types.Array(uint8, 1, "C", readonly=True)
_bytes2 = types.Array(uint8, 2, "C", readonly=True)


@njit(float64[:, ::1](int64), **_OPTIONS)
def _lines(count):
    """Zeros: `count` lines of a block of rows, each from the start of a cache line."""
    flat = np.zeros(count * _STRIDE + LANES)
    first = -(uint64(flat.ctypes.data) // uint64(8)) % uint64(LANES)
    return flat[first : first + uint64(count * _STRIDE)].reshape(count, _STRIDE)


@njit(void(float64[:, ::1], int64, int64, float64[:, ::1], float64[::1], float64[:, ::1], int64), **_OPTIONS)
def _product(x, first, last, matrix, constant, z, b):
    """z[h, :b] = constant[h] + sum over columns c in [first, last) of matrix[h, c] x[c - first, :b].

    The matrix has a multiple of four rows; columns of x and z, which are as long, are computed sixteen at a
    time, up to a multiple of PAIR.
    """
    lanes.multiply(
        uint64(matrix[:, first:].ctypes.data),
        matrix.shape[1],
        last - first,
        uint64(x.ctypes.data),
        uint64(constant.ctypes.data),
        uint64(z.ctypes.data),
        x.shape[1],
        matrix.shape[0] // 4,
        (b + PAIR - 1) // PAIR,
    )


@njit(void(float64[:, ::1], int64, int64, float64[:, ::1], boolean), **_OPTIONS)
def _reduce_into(z, b, p, total, fresh):
    """total[:, :b] = or += reduced z[:, :b]."""
    inverse, modulus = 1.0 / p, float(p)
    for h in range(z.shape[0]):
        source, target = z[h], total[h]
        if fresh:
            for i in range(b):
                quotient = (source[i] * inverse + _ROUND) - _ROUND
                target[i] = source[i] - quotient * modulus
        else:
            for i in range(b):
                quotient = (source[i] * inverse + _ROUND) - _ROUND
                target[i] += source[i] - quotient * modulus


@njit(void(float64[::1], int64, int64, uint8[::1]), **_OPTIONS)
def _pack(z, b, p, out):
    """Three bytes for each of the integers z[:b] modulo p."""
    groups = b // LANES
    lanes.pack(uint64(z.ctypes.data), groups, float64(p), uint64(out.ctypes.data))
    for i in range(groups * LANES, b):
        residue = np.int64(z[i]) % p
        for byte in range(3):
            out[3 * i + byte] = (residue >> (8 * byte)) & 0xFF


@njit(void(_bytes1, int64, int32[::1]), **_OPTIONS)
def _unpack(source, b, residues):
    """residues[:b] = the 24-bit integers in source[: 3 b]."""
    groups = b // LANES
    lanes.unpack(uint64(source.ctypes.data), groups, uint64(residues.ctypes.data))
    for i in range(groups * LANES, b):
        residues[i] = source[3 * i] | (source[3 * i + 1] << 8) | (source[3 * i + 2] << 16)


@njit(void(float32[::1], int64, float64[::1]), **_OPTIONS)
def _widen(source, b, target):
    """target[:b] = source, a block of a column; the column's next block is asked for."""
    groups = b // PAIR
    lanes.widen(uint64(source.ctypes.data), groups, uint64(target.ctypes.data), 4 * _BLOCK)
    for i in range(groups * PAIR, b):
        target[i] = source[i]


@njit(void(float64[:, :, ::1], float64[:, ::1], int64, uint8[:, :, ::1]), **_OPTIONS)
def encode(values, basis, p, out):
    """Pack basis @ values modulo p; basis is padded to multiples of four, out is not."""
    coded, width, rows = values.shape
    padded_n, padded = basis.shape
    x, z, total = _lines(padded), _lines(padded_n), _lines(padded_n)
    zero = np.zeros(padded_n)
    single = padded <= _INNER
    for c in range(width):
        for low in range(0, rows, _BLOCK):
            b = min(_BLOCK, rows - low)
            for u in range(coded):
                source, target = values[u, c, low : low + b], x[u]
                for i in range(b):
                    target[i] = source[i]
            for first in range(0, padded, _INNER):
                last = min(padded, first + _INNER)
                _product(x[first:last], first, last, basis, zero, z, b)
                if not single:
                    _reduce_into(z, b, p, total, first == 0)
            done = z if single else total
            for j in range(out.shape[0]):
                _pack(done[j], b, p, out[j, c, 3 * low : 3 * (low + b)])


@njit(
    void(
        float64[:, :, ::1],
        float64[::1],
        float64[::1],
        float64[::1],
        float64[::1],
        float64[::1],
        int64,
        uint8[:, :, ::1],
    ),
    **_OPTIONS,
)
def encode_by_transform(values, before, spectrum, after, roots, inverse_roots, p, out):
    """Pack after * cyclic convolution(before * values), by transforms of length spectrum.size."""
    coded, width, rows = values.shape
    order = spectrum.size
    inverse, modulus = 1.0 / p, float(p)
    x = np.empty((order, _NARROW))
    for c in range(width):
        for low in range(0, rows, _NARROW):
            b = min(_NARROW, rows - low)
            for u in range(order):
                target = x[u]
                if u < coded:
                    source, factor = values[u, c, low : low + b], before[u]
                    for i in range(b):
                        v = source[i] * factor
                        quotient = (v * inverse + _ROUND) - _ROUND
                        target[i] = v - quotient * modulus
                else:
                    for i in range(b):
                        target[i] = 0.0
            half = order // 2
            while half:
                stride = order // (2 * half)
                for start in range(0, order, 2 * half):
                    for j in range(half):
                        upper, lower, root = x[start + j], x[start + j + half], roots[j * stride]
                        for i in range(b):
                            v = upper[i] + lower[i]
                            d = (upper[i] - lower[i]) * root
                            quotient = (v * inverse + _ROUND) - _ROUND
                            upper[i] = v - quotient * modulus
                            quotient = (d * inverse + _ROUND) - _ROUND
                            lower[i] = d - quotient * modulus
                half //= 2
            for u in range(order):
                target, factor = x[u], spectrum[u]
                for i in range(b):
                    v = target[i] * factor
                    quotient = (v * inverse + _ROUND) - _ROUND
                    target[i] = v - quotient * modulus
            half = 1
            while half < order:
                stride = order // (2 * half)
                for start in range(0, order, 2 * half):
                    for j in range(half):
                        upper, lower, root = x[start + j], x[start + j + half], inverse_roots[j * stride]
                        for i in range(b):
                            d = lower[i] * root
                            quotient = (d * inverse + _ROUND) - _ROUND
                            d -= quotient * modulus
                            v = upper[i] + d
                            d = upper[i] - d
                            quotient = (v * inverse + _ROUND) - _ROUND
                            upper[i] = v - quotient * modulus
                            quotient = (d * inverse + _ROUND) - _ROUND
                            lower[i] = d - quotient * modulus
                half *= 2
            for j in range(out.shape[0]):
                target, factor = x[j], after[j]
                for i in range(b):
                    target[i] *= factor
                _pack(target, b, p, out[j, c, 3 * low : 3 * (low + b)])


@njit(void(_bytes2, int64, float32[:, ::1], int64), **_OPTIONS)
def store(packed, p, shares, start):
    """Shares of rows from `start`, centred, and in the last row of `shares` their squared norms, reduced."""
    half = p // 2
    width, rows = packed.shape[0], packed.shape[1] // 3
    inverse, modulus = 1.0 / p, float(p)
    residues = np.empty(_LONG, dtype=np.int32)
    norms = np.empty(_LONG)
    for low in range(0, rows, _LONG):
        b = min(_LONG, rows - low)
        for i in range(b):
            norms[i] = 0.0
        for c in range(width):
            _unpack(packed[c, 3 * low : 3 * (low + b)], b, residues)
            target = shares[c, start + low : start + low + b]
            for i in range(b):
                r = residues[i]
                value = np.float64(r - p if r > half else r)
                target[i] = value
                norms[i] += value * value
            if (
                c % _INNER == _INNER - 2 or c == width - 1
            ):  # 128 products at most and a reduced rest: below 2**53
                for i in range(b):
                    quotient = (norms[i] * inverse + _ROUND) - _ROUND
                    norms[i] -= quotient * modulus
        target = shares[width, start + low : start + low + b]
        for i in range(b):
            target[i] = norms[i]


@njit(float64(float32[::1], int32[::1]), **_OPTIONS)
def _gathered(column, rows):
    """Sum of some entries of a column; four sums, so that no addition waits for the one before."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    whole = rows.size // 4 * 4
    for j in range(0, whole, 4):
        s0 += column[np.uint32(rows[j])]
        s1 += column[np.uint32(rows[j + 1])]
        s2 += column[np.uint32(rows[j + 2])]
        s3 += column[np.uint32(rows[j + 3])]
    for j in range(whole, rows.size):
        s0 += column[np.uint32(rows[j])]
    return (s0 + s1) + (s2 + s3)


@njit(void(int32[::1], int32[::1], int64[::1]), **_OPTIONS)
def _sort_by_set(sets, order, ends):
    """Order the rows of a block by set, -1 first: afterwards set h lies between ends[h] and ends[h + 1]."""
    for h in range(ends.size):
        ends[h] = 0
    for i in range(sets.size):
        ends[sets[i] + 1] += 1
    total = 0
    for h in range(ends.size):
        count = ends[h]
        ends[h] = total
        total += count
    for i in range(sets.size):
        h = sets[i] + 1
        order[ends[h]] = i
        ends[h] += 1


@njit(void(float32[:, ::1], int32[::1], float64[:, ::1]), **_OPTIONS)
def set_sums(shares, sets, sums):
    """sums[h] += shares of the rows in set h."""
    columns, m = shares.shape
    k = sums.shape[0]
    order, ends = np.empty(_SORTED, dtype=np.int32), np.empty(k + 1, dtype=np.int64)
    for start in range(0, m, _SORTED):
        b = min(_SORTED, m - start)
        _sort_by_set(sets[start : start + b], order, ends)
        for c in range(columns):
            column = shares[c, start : start + b]
            for h in range(k):
                sums[h, c] += _gathered(column, order[ends[h] : ends[h + 1]])


@njit(void(float32[:, ::1], int64[::1], int32[::1], int32[::1], float64[:, ::1]), **_OPTIONS)
def move_rows(shares, rows, old, new, sums):
    """Take rows out of their old sets' sums and add them to their new sets', in ascending order of rows."""
    columns, m = shares.shape
    grouped = columns // LANES * LANES
    nowhere = np.zeros(LANES)
    skipped, start = uint64(nowhere.ctypes.data), uint64(sums.ctypes.data)
    for c in range(0, grouped, LANES):
        address = uint64(shares[c:].ctypes.data)
        place = start + uint64(8 * c)
        for j in range(rows.size):
            source = place + uint64(8 * columns * old[j]) if old[j] >= 0 else skipped
            target = place + uint64(8 * columns * new[j]) if new[j] >= 0 else skipped
            lanes.move(address, 4 * m, rows[j], source, target)
    nowhere[0] = 0.0  # the array lives until its last use, its address does not count as one
    for c in range(grouped, columns):
        column = shares[c]
        for j in range(rows.size):
            value = np.float64(column[rows[j]])
            if old[j] >= 0:
                sums[old[j], c] -= value
            if new[j] >= 0:
                sums[new[j], c] += value


@njit(void(float32[:, ::1], int64, int64, float64[:, ::1], float64[::1], int64, uint8[:, ::1]), **_OPTIONS)
def answer(shares, start, stop, matrix, constant, p, out):
    """Pack constant + matrix @ shares[:, start:stop] modulo p; matrix is padded, shares and out are not."""
    columns = shares.shape[0]
    k, padded = matrix.shape
    chunk = min(padded, _INNER)
    x, z, total = _lines(chunk), _lines(k), _lines(k)
    zero = np.zeros(k)
    single = padded <= _INNER
    for low in range(start, stop, _BLOCK):
        b = min(_BLOCK, stop - low)
        for first in range(0, padded, chunk):
            last = min(padded, first + chunk)
            for c in range(first, last):
                target = x[c - first]
                if c < columns:
                    _widen(shares[c, low : low + b], b, target)
                else:
                    for i in range(b):
                        target[i] = 0.0
            _product(x, first, last, matrix, constant if first == 0 else zero, z, b)
            if not single:
                _reduce_into(z, b, p, total, first == 0)
        done = z if single else total
        for h in range(out.shape[0]):
            _pack(done[h], b, p, out[h, 3 * (low - start) : 3 * (low - start + b)])


@njit(boolean(_bytes1, int64), **_OPTIONS)
def below(packed, p):
    """Whether every 24-bit integer is below p."""
    residues = np.empty(_LONG, dtype=np.int32)
    count = packed.size // 3
    for low in range(0, count, _LONG):
        b = min(_LONG, count - low)
        _unpack(packed[3 * low : 3 * (low + b)], b, residues)
        largest = np.int32(0)
        for i in range(b):
            largest = max(largest, residues[i])
        if largest >= p:
            return False
    return True


@njit(int64[::1](_bytes1, int64), **_OPTIONS)
def beyond(packed, p):
    """Positions of the 24-bit integers that are not below p."""
    residues = np.empty(_LONG, dtype=np.int32)
    count = packed.size // 3
    found = np.empty(count, dtype=np.int64)
    filled = 0
    for low in range(0, count, _LONG):
        b = min(_LONG, count - low)
        _unpack(packed[3 * low : 3 * (low + b)], b, residues)
        for i in range(b):
            if residues[i] >= p:
                found[filled] = low + i
                filled += 1
    return found[:filled].copy()


@njit(void(uint8[::1], uint8[:, ::1], int64[::1], int64), **_OPTIONS)
def add_masks(packed, masks, signs, p):
    """Add signs @ masks to packed, modulo p; sums of up to 2**12 integers below 2**24 are exact."""
    residues, total = np.empty(_LONG, dtype=np.int32), np.empty(_LONG)
    count = packed.size // 3
    for low in range(0, count, _LONG):
        b = min(_LONG, count - low)
        _unpack(packed[3 * low : 3 * (low + b)], b, residues)
        for i in range(b):
            total[i] = residues[i]
        for c in range(masks.shape[0]):
            _unpack(masks[c, 3 * low : 3 * (low + b)], b, residues)
            sign = float(signs[c])
            for i in range(b):
                total[i] += sign * residues[i]
        _pack(total, b, p, packed[3 * low : 3 * (low + b)])


@njit(boolean(uint64[::1], float64[:, ::1], int64[::1], int64, int64, float64[:, :, ::1]), **_OPTIONS)
def decode(addresses, weights, primes, rows, start, total):
    """Weighted sums, reduced, of answers of `rows` rows from row `start` on; answer j begins at addresses[j].

    Columns of `total` beyond a multiple of PAIR are not written. Returns whether all integers were
    residues.
    """
    count, k, wanted = total.shape
    groups = wanted // PAIR
    largest = np.empty(LANES, dtype=np.int32)
    for q in range(count):
        inverse, modulus = 1.0 / primes[q], float(primes[q])
        largest[:] = 0
        for h in range(k):
            target = total[q, h, : groups * PAIR]
            for i in range(target.size):
                target[i] = 0.0
            offset = uint64(3 * ((q * k + h) * rows + start))
            # A canonical residue times a weight is below 2**47: 63 and a reduced rest below 2**53.
            for first in range(0, addresses.size, 63):
                some = min(63, addresses.size - first)
                lanes.weigh(
                    uint64(addresses[first:].ctypes.data),
                    uint64(weights[q, first:].ctypes.data),
                    some,
                    offset,
                    groups,
                    uint64(target.ctypes.data),
                    uint64(largest.ctypes.data),
                )
                for i in range(target.size):
                    quotient = (target[i] * inverse + _ROUND) - _ROUND
                    target[i] -= quotient * modulus
        if largest.max() >= primes[q]:
            return False
    return True


@njit(boolean(_bytes2, float64[:, ::1], int64, float64[::1]), **_OPTIONS)
def combine(packed, coefficients, p, out):
    """out[c] = sum of coefficients[c] times the integers, reduced; whether every integer is below p."""
    inverse, modulus = 1.0 / p, float(p)
    k, rows = packed.shape[0], packed.shape[1] // 3
    residues = np.zeros(_LONG, dtype=np.int32)
    sums = np.empty(_SUMS)
    out[:] = 0.0
    for h in range(k):
        for low in range(0, rows, _LONG):
            b = min(_LONG, rows - low)
            _unpack(packed[h, 3 * low : 3 * (low + b)], b, residues)
            largest = np.int32(0)
            for i in range(b):
                largest = max(largest, residues[i])
            if largest >= p:
                return False
            whole = b // _SUMS * _SUMS
            for c in range(out.size):
                factors = coefficients[c, h * rows + low : h * rows + low + b]
                sums[:] = 0.0
                # A sum adds at most 33 products below 2**47: below 2**53.
                for start in range(0, whole, _SUMS):
                    source, factor = residues[start : start + _SUMS], factors[start : start + _SUMS]
                    for i in range(_SUMS):
                        sums[i] += factor[i] * source[i]
                for i in range(b - whole):
                    sums[i] += factors[whole + i] * residues[whole + i]
                total = out[c]
                for i in range(_SUMS):
                    quotient = (sums[i] * inverse + _ROUND) - _ROUND
                    total += sums[i] - quotient * modulus
                quotient = (total * inverse + _ROUND) - _ROUND
                out[c] = total - quotient * modulus
    return True


@njit(
    void(
        float64[:, :, ::1],
        int64[::1],
        float64[:, ::1],
        float64[::1],
        float64[::1],
        float64,
        float64[:, ::1],
        int32[::1],
        boolean[::1],
    ),
    **_AS_WRITTEN,
)
def nearest(digits, primes, inverses, radices, squares, tolerance, value, labels, contested):
    """Residues to mixed-radix digits in place, quotients D / |S|^2, their argmin, and where it is in doubt.

    squares[h] is 0 for an empty set, which is never chosen.
    """
    count, k, b = digits.shape
    best, second = np.full(b, np.inf), np.full(b, np.inf)
    for h in range(k):
        row = value[h]
        if squares[h] == 0.0:
            for i in range(b):
                row[i] = np.inf
            continue
        for i in range(b):
            row[i] = 0.0
        for q in range(count):
            digit = digits[q, h]
            inverse, modulus = 1.0 / primes[q], float(primes[q])
            for i in range(b):
                quotient = (digit[i] * inverse + _ROUND) - _ROUND
                digit[i] -= quotient * modulus
            for j in range(q):
                earlier, factor = digits[j, h], inverses[q, j]
                for i in range(b):
                    v = (digit[i] - earlier[i]) * factor
                    quotient = (v * inverse + _ROUND) - _ROUND
                    digit[i] = v - quotient * modulus
            radix = radices[q]
            for i in range(b):
                digit[i] += modulus if digit[i] < 0.0 else 0.0
                row[i] += digit[i] * radix
        square = squares[h]
        for i in range(b):
            v = row[i] / square
            row[i] = v
            better = v < best[i]
            second[i] = best[i] if better else min(second[i], v)
            labels[i] = np.int32(h) if better else labels[i]
            best[i] = v if better else best[i]
    for i in range(b):
        contested[i] = second[i] <= best[i] * tolerance


@njit(int64(types.Array(uint32, 1, "C", readonly=True), uint32, uint32, float64[::1]), **_OPTIONS)
def accept(words, low_bits, p, kept):
    """Keep the words whose low bits are below p, centred; how many were kept."""
    filled = 0
    half = np.float64((p - 1) // 2)
    for i in range(words.size):
        if filled == kept.size:
            break
        v = words[i] & low_bits
        if v < p:
            kept[filled] = v - half
            filled += 1
    return filled
