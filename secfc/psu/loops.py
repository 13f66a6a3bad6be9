"""The compiled loops of the set union. `secfc.psu.kernels` describes their types and shapes.

Elements of F_p, p = 2**61 - 1, are uint64 below p. A product has 122 bits. Its low 61 bits and its high 61
bits are summed separately. A word holds eight (8 (2**61 - 1) < 2**64). The result is their folded sum.
"""

import numpy as np
from llvmlite import ir
from numba import int64, njit, uint64, void
from numba.extending import intrinsic

from secfc.kernels.compiling import EXACT, array, given, loop

_P = np.uint64((1 << 61) - 1)
_BITS = np.uint64(61)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)

_GIVEN, _WORDS = given(uint64, 1), array(uint64, 1)
_GIVEN_ROWS, _ROWS, _BINS = given(uint64, 2), array(uint64, 2), given(int64, 1)

_SUMS = 7
"""Products added to a folded sum before it is folded again: a word holds eight values below 2**61."""

_SPLITS = 128
"""Random shifts tried before a polynomial counts as not split; all fail with probability 2**-128."""


def _wide(builder, args):
    wide = ir.IntType(128)
    return builder.mul(builder.zext(args[0], wide), builder.zext(args[1], wide))


@intrinsic
def _low(typingctx, a, b):
    """The low 61 bits of a b."""

    def generate(context, builder, signature, args):
        word = ir.IntType(64)
        return builder.and_(builder.trunc(_wide(builder, args), word), ir.Constant(word, (1 << 61) - 1))

    return uint64(uint64, uint64), generate


@intrinsic
def _high(typingctx, a, b):
    """The product a b shifted right by 61 bits; a b < 2**125."""

    def generate(context, builder, signature, args):
        shifted = builder.lshr(_wide(builder, args), ir.Constant(ir.IntType(128), 61))
        return builder.trunc(shifted, ir.IntType(64))

    return uint64(uint64, uint64), generate


@njit(inline="always", **EXACT)
def _fold(x):
    x = (x & _P) + (x >> _BITS)
    return x - _P if x >= _P else x


@njit(inline="always", **EXACT)
def _times(a, b):
    x = _low(a, b) + _high(a, b)
    return x - _P if x >= _P else x


@njit(inline="always", **EXACT)
def _plus(a, b):
    x = a + b
    return x - _P if x >= _P else x


@njit(inline="always", **EXACT)
def _minus(a, b):
    return a - b if a >= b else a + (_P - b)


@njit(**EXACT)
def _copy(source, target):
    for i in range(target.size):
        target[i] = source[i]


@njit(**EXACT)
def _squared(x, times):
    """x**(2**times)."""
    for _ in range(times):
        x = _times(x, x)
    return x


@njit(**EXACT)
def _inverse(x):
    """x**(p - 2), p - 2 = 2**2 (2**59 - 1) + 1; y_k = x**(2**k - 1), y_(a + b) = y_a**(2**b) y_b."""
    y2 = _times(_squared(x, 1), x)
    y3 = _times(_squared(y2, 1), x)
    y7 = _times(_squared(_times(_squared(y3, 3), y3), 1), x)
    y14 = _times(_squared(y7, 7), y7)
    y28 = _times(_squared(y14, 14), y14)
    y29 = _times(_squared(y28, 1), x)
    y58 = _times(_squared(y29, 29), y29)
    y59 = _times(_squared(y58, 1), x)
    return _times(_squared(y59, 2), x)


@loop(void(_GIVEN_ROWS, _GIVEN_ROWS, int64, int64, _ROWS), EXACT)
def matmul(a, x, first, last, out):
    """Write columns [first, last) of a @ x, shapes (rows, inner) and (inner, columns), to out."""
    (rows, inner), block = a.shape, 512
    low, high = np.empty(block, dtype=np.uint64), np.empty(block, dtype=np.uint64)
    for start in range(first, last, block):
        b = min(block, last - start)
        for r in range(rows):
            low[:b] = 0
            high[:b] = 0
            for c in range(inner):
                factor = a[r, c]
                row = x[c, start : start + b]
                for i in range(b):
                    low[i] += _low(factor, row[i])
                    high[i] += _high(factor, row[i])
                if c % _SUMS == _SUMS - 1:
                    for i in range(b):
                        low[i] = _plus(_fold(low[i]), _fold(high[i]))
                        high[i] = 0
            target = out[r, start : start + b]
            for i in range(b):
                target[i] = _plus(_fold(low[i]), _fold(high[i]))


@loop(void(_GIVEN, _GIVEN, _ROWS), EXACT)
def add_outer(a, x, total):
    """Add outer(a, x) to total. Shapes (rows,), (columns,) and (rows, columns)."""
    for r in range(a.size):
        factor = a[r]
        row = total[r]
        for i in range(x.size):
            row[i] = _plus(row[i], _times(factor, x[i]))


@loop(void(_GIVEN, _WORDS), EXACT)
def add_into(x, total):
    """Add x to total."""
    for i in range(x.size):
        total[i] = _plus(total[i], x[i])


@loop(void(_GIVEN, _GIVEN, _BINS, _ROWS), EXACT)
def moments(poles, residues, bins, out):
    """out[bins[i], k] += residues[i] poles[i]**k for all k. Shapes (count,) three times, (rows, terms)."""
    for i in range(poles.size):
        row, pole, value = out[bins[i]], poles[i], residues[i]
        for k in range(row.size):
            row[k] = _plus(row[k], value)
            value = _times(value, pole)


@loop(void(_GIVEN_ROWS, _GIVEN_ROWS, _ROWS), EXACT)
def correlate(series, weights, out):
    """out[b, k] = sum over i of weights[b, i] series[b, k + i].

    Shapes (bins, terms + width - 1), (bins, width) and (bins, terms).
    """
    for b in range(len(out)):
        x, w, target = series[b], weights[b], out[b]
        for k in range(target.size):
            low, high = _ZERO, _ZERO
            for i in range(w.size):
                low += _low(w[i], x[k + i])
                high += _high(w[i], x[k + i])
                if i % _SUMS == _SUMS - 1:
                    low = _plus(_fold(low), _fold(high))
                    high = _ZERO
            target[k] = _plus(_fold(low), _fold(high))


@njit(**EXACT)
def _recurrence(s, c, b, t):
    """Berlekamp-Massey: write the connection polynomial of s to c, c[0] = 1, and return its length."""
    c[:] = 0
    b[:] = 0
    c[0] = b[0] = 1
    length, before, shift, inverse = 0, 0, 1, _ONE
    for n in range(s.size):
        d = s[n]
        for i in range(1, length + 1):
            d = _plus(d, _times(c[i], s[n - i]))
        if d == 0:
            shift += 1
            continue
        factor = _times(d, inverse)
        longer = 2 * length <= n
        if longer:
            _copy(c, t[:])
        for i in range(before + 1):
            c[i + shift] = _minus(c[i + shift], _times(factor, b[i]))
        if longer:
            length, before = n + 1 - length, length
            _copy(t, b[:])
            inverse, shift = _inverse(d), 1
        else:
            shift += 1
    return length


@njit(**EXACT)
def _reductions(f, m, table):
    """table[j] = x**(m + j) modulo the monic f of degree m, for j < m - 1; f holds m lower coefficients."""
    for i in range(m):
        table[0, i] = _minus(_ZERO, f[i])
    for j in range(1, m - 1):
        top = table[j - 1, m - 1]
        for i in range(m):
            below = table[j - 1, i - 1] if i else _ZERO
            table[j, i] = _plus(below, _times(top, table[0, i]))


@njit(**EXACT)
def _square(y, m, table, z, low, high):
    """Square y modulo the polynomial of `table`; z, low and high are buffers of 2 m values each."""
    for k in range(2 * m - 1):
        lower, upper, count = _ZERO, _ZERO, 0
        for i in range(k - m + 1 if k >= m else 0, (k + 1) // 2):
            lower += _low(y[i], y[k - i])
            upper += _high(y[i], y[k - i])
            count += 1
            if count == _SUMS:
                lower = _plus(_fold(lower), _fold(upper))
                upper, count = _ZERO, 0
        total = _plus(_fold(lower), _fold(upper))
        total = _plus(total, total)
        if k % 2 == 0:
            total = _plus(total, _times(y[k // 2], y[k // 2]))
        z[k] = total
    for i in range(m):
        low[i] = z[i]
        high[i] = 0
    for j in range(m - 1):
        factor, row = z[m + j], table[j]
        for i in range(m):
            low[i] += _low(factor, row[i])
            high[i] += _high(factor, row[i])
        if j % _SUMS == _SUMS - 1:
            for i in range(m):
                low[i] = _plus(_fold(low[i]), _fold(high[i]))
                high[i] = 0
    for i in range(m):
        y[i] = _plus(_fold(low[i]), _fold(high[i]))


@njit(**EXACT)
def _monic_gcd(a, m, b, k):
    """Write the monic GCD of a (degree m) and b (degree k < m) to a; return its degree."""
    while k >= 0:
        lead = b[k]
        for top in range(m, k - 1, -1):
            factor = a[top]
            if factor:  # lead a - factor x**(top - k) b needs no division
                for i in range(top - k):
                    a[i] = _times(a[i], lead)
                for i in range(k):
                    a[top - k + i] = _minus(_times(a[top - k + i], lead), _times(factor, b[i]))
        low = k - 1
        while low >= 0 and a[low] == 0:
            low -= 1
        for i in range(k + 1):
            a[i], b[i] = b[i], a[i]
        m, k = k, low
    scale = _inverse(a[m])
    for i in range(m + 1):
        a[i] = _times(a[i], scale)
    return m


@njit(**EXACT)
def _roots(f, degree, roots, state, room, table):
    """Write all roots of the monic f, given by its lower coefficients; -1 unless `degree` distinct ones."""
    stack, y, z, a, b = room[0], room[1], room[2], room[3], room[4]
    degrees, low, high = room[5], room[6], room[7]
    _copy(f[:degree], stack[:degree])
    degrees[0] = degree
    height, used, found = 1, degree, 0
    checked = False
    while height:
        m = np.int64(degrees[height - 1])
        start = used - m
        g = stack[start:used]
        if m == 1:
            roots[found] = _minus(_ZERO, g[0])
            found += 1
            height -= 1
            used = start
            continue
        _reductions(g, m, table)
        split = False
        for _ in range(_SPLITS):
            state = _plus(_times(state, np.uint64(0x0D1342543DE82EF5)), np.uint64(0x1234567))
            shift = state
            y[:m] = 0
            y[0], y[1] = shift, 1
            for _ in range(60):
                _square(y, m, table, z, low, high)
            # y = (x + shift)**((p + 1) / 2) is +-(r + shift) at a root r, or else f has other factors.
            if not checked:
                _copy(y[:m], a[:m])
                b[:m] = 0
                b[0], b[1] = shift, 1
                _square(a, m, table, z, low, high)
                _square(b, m, table, z, low, high)
                for i in range(m):
                    if a[i] != b[i]:
                        return -1
                checked = True
            y[0] = _minus(y[0], shift)
            y[1] = _minus(y[1], _ONE)
            k = m - 1
            while k >= 0 and y[k] == 0:
                k -= 1
            if k < 0:
                continue
            _copy(g, a[:m])
            a[m] = 1
            _copy(y[: k + 1], b[: k + 1])
            q = _monic_gcd(a, m, b, k)
            if q == 0:
                continue
            # g = a * quotient: divide from the top; the quotient replaces the high coefficients.
            _copy(g, y[:m])
            y[m] = 1
            for top in range(m, q - 1, -1):
                factor = y[top]
                for i in range(q):
                    y[top - q + i] = _minus(y[top - q + i], _times(factor, a[i]))
            _copy(a[:q], stack[start : start + q])
            for i in range(m - q):
                stack[start + q + i] = y[q + i]
            degrees[height - 1] = q
            degrees[height] = m - q
            height += 1
            split = True
            break
        if not split:
            return -1
    return found


@njit(**EXACT)
def _sort(values):
    """Sort a few values in place, by insertion."""
    for i in range(1, values.size):
        value, at = values[i], i
        while at > 0 and values[at - 1] > value:
            values[at] = values[at - 1]
            at -= 1
        values[at] = value


@loop(void(_GIVEN_ROWS, _ROWS, array(int64, 1)), EXACT)
def poles(series, out, counts):
    """out[b, : counts[b]] = the poles, ascending, of the sum of simple fractions with series[b].

    Shapes (bins, terms), (bins, most) and (bins,). counts[b] is -1 unless series[b] has at most `most` poles,
    all simple and in the field.
    """
    (bins, terms), most = series.shape, out.shape[1]
    words = np.empty((3, terms + 1), dtype=np.uint64)
    c, previous, t = words[0], words[1], words[2]
    longest = min(most, terms)
    f = np.empty(longest + 1, dtype=np.uint64)
    room = np.empty((8, 2 * longest + 2), dtype=np.uint64)
    table = np.empty((longest, longest), dtype=np.uint64)
    for b in range(bins):
        length = _recurrence(series[b], c, previous, t)
        if length == 0:
            counts[b] = 0
            continue
        counts[b] = -1
        if length > most or c[length] == 0:
            continue
        for i in range(length):
            f[i] = c[length - i]
        found = _roots(f, length, out[b], np.uint64(0x9E3779B97F4A7C15) & _P, room, table)
        if found < 0:
            continue
        _sort(out[b, :found])
        counts[b] = found
