"""Convert eight 24-bit integers at a time between bytes and vector lanes, which Numba does not vectorise.

The conversion between three bytes and a lane is a shuffle, and NumPy has no expression for it. These
functions build it in LLVM, which uses the machine's instructions. Addresses are those of arrays that the
caller has checked and keeps alive. Everything is little endian, like the packed bytes.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 8
"""Integers in a group: 24 packed bytes, loaded as two overlapping blocks of 16."""

_AHEAD = 1536
"""How many bytes ahead a plane is prefetched. Its pieces are too short for the processor's own prefetch."""

_SOON = 1024
"""How many bytes ahead `dots` prefetches its columns. A piece of them has 4096."""

_LINE = 64
"""Bytes of a cache line."""

_L1, _L2 = 3, 2
"""LLVM's numbers of the caches to prefetch to. L2 waits for more lines of memory at a time than L1."""

_I8, _I32, _I64, _F64 = ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.DoubleType()
_BYTES, _INTEGERS, _FLOATS = ir.VectorType(_I8, 16), ir.VectorType(_I32, LANES), ir.VectorType(_F64, LANES)
_OCTETS, _LONGS, _SIXTEEN = ir.VectorType(_I8, 64), ir.VectorType(_I64, LANES), ir.VectorType(_I32, 2 * LANES)
_SINGLES = ir.VectorType(ir.FloatType(), LANES)
_CONTRACT = ("contract",)
_ROUND = 1.5 * 2.0**52  # as in secfc.kernels.blocks


def _indices(values):
    return ir.Constant(ir.VectorType(_I32, len(values)), values)


def _all(kind, value):
    return ir.Constant(kind, [value] * kind.count)


def _load(builder, address, kind):
    loaded = builder.load(builder.inttoptr(address, kind.as_pointer()))
    loaded.align = 1
    return loaded


def _store(builder, value, address):
    builder.store(value, builder.inttoptr(address, value.type.as_pointer())).align = 1


def _broadcast(builder, value, kind=_FLOATS):
    nothing = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(nothing, value, ir.Constant(_I32, 0))
    return builder.shuffle_vector(first, nothing, _indices([0] * LANES))


def _four(builder, address, skipped):
    """Four integers, as lanes of 32 bits, from 16 bytes at an address after `skipped` bytes."""
    spread = [at for i in range(4) for at in (*range(skipped + 3 * i, skipped + 3 * i + 3), 16)]
    lanes = builder.shuffle_vector(_load(builder, address, _BYTES), _all(_BYTES, 0), _indices(spread))
    return builder.bitcast(lanes, ir.VectorType(_I32, 4))


def _eight(builder, address):
    """The eight integers in the 24 bytes at an address. No byte beyond them is read."""
    low, high = _four(builder, address, 0), _four(builder, builder.add(address, _I64(8)), 4)
    return builder.shuffle_vector(low, high, _indices(list(range(LANES))))


def _squeezed(builder, integers):
    """The lower three bytes of each of eight integers."""
    octets = builder.bitcast(integers, ir.VectorType(_I8, 4 * LANES))
    kept = _indices([4 * i + byte for i in range(LANES) for byte in range(3)])
    return builder.shuffle_vector(octets, octets, kept)


def _larger(builder, a, b):
    return builder.select(builder.icmp_signed(">", a, b), a, b)


def _foresee(builder, address, ahead, cache):
    kind = ir.FunctionType(ir.VoidType(), [_I8.as_pointer(), _I32, _I32, _I32])
    prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    place = builder.inttoptr(builder.add(address, ahead), _I8.as_pointer())
    builder.call(prefetch, [place, _I32(0), _I32(cache), _I32(1)])  # to read data


@intrinsic
def unpack(_, source, groups, target):
    """int32 target[: 8 groups] = the 24-bit integers at `source`."""

    def generate(context, builder, signature, arguments):
        source, groups, target = arguments
        with cgutils.for_range(builder, groups) as loop:
            eight = _eight(builder, builder.add(source, builder.mul(loop.index, _I64(3 * LANES))))
            _store(builder, eight, builder.add(target, builder.mul(loop.index, _I64(4 * LANES))))
        return context.get_dummy_value()

    return types.void(types.uint64, types.int64, types.uint64), generate


@intrinsic
def beyond(_, source, groups, p, found):
    """uint8 found[: groups] = a bit for each 24-bit integer of a group at `source`, 1 if not below p."""

    def generate(context, builder, signature, arguments):
        source, groups, p, found = arguments
        modulus = _broadcast(builder, builder.trunc(p, _I32), _INTEGERS)
        with cgutils.for_range(builder, groups) as loop:
            eight = _eight(builder, builder.add(source, builder.mul(loop.index, _I64(3 * LANES))))
            bits = builder.bitcast(builder.icmp_signed(">=", eight, modulus), _I8)
            _store(builder, bits, builder.add(found, loop.index))
        return context.get_dummy_value()

    return types.void(types.uint64, types.int64, types.int64, types.uint64), generate


@intrinsic
def lowest(_, bits):
    """Index of the lowest set bit of uint64 `bits`."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@intrinsic
def widen(_, source, line, count, target):
    """float64 target[: count, : 16] = float32 `source`, whose columns are `line` bytes apart."""

    def generate(context, builder, signature, arguments):
        source, line, count, target = arguments
        kind = ir.VectorType(ir.FloatType(), LANES)
        with cgutils.for_range(builder, count) as column:
            at = builder.add(source, builder.mul(column.index, line))
            end = builder.add(target, builder.mul(column.index, _I64(2 * 8 * LANES)))
            for i in range(2):
                narrow = _load(builder, builder.add(at, _I64(4 * LANES * i)), kind)
                _store(builder, builder.fpext(narrow, _FLOATS), builder.add(end, _I64(8 * LANES * i)))
        return context.get_dummy_value()

    return types.void(types.uint64, types.int64, types.int64, types.uint64), generate


@intrinsic
def pack(_, source, groups, p, target):
    """Three bytes at `target` for each of the float64 integers source[: 8 groups], reduced to [0, p)."""

    def generate(context, builder, signature, arguments):
        source, groups, p, target = arguments
        modulus = _broadcast(builder, p)
        inverse = _broadcast(builder, builder.fdiv(ir.Constant(_F64, 1.0), p))
        rounding, zero = _all(_FLOATS, _ROUND), _all(_FLOATS, 0.0)
        with cgutils.for_range(builder, groups) as loop:
            z = _load(builder, builder.add(source, builder.mul(loop.index, _I64(8 * LANES))), _FLOATS)
            scaled = builder.fmul(z, inverse, flags=_CONTRACT)
            quotient = builder.fsub(builder.fadd(scaled, rounding, flags=_CONTRACT), rounding)
            r = builder.fsub(z, builder.fmul(quotient, modulus, flags=_CONTRACT), flags=_CONTRACT)
            lifted = builder.fadd(r, modulus)
            r = builder.select(builder.fcmp_ordered("<", r, zero), lifted, r)
            packed = _squeezed(builder, builder.fptosi(r, _INTEGERS))
            _store(builder, packed, builder.add(target, builder.mul(loop.index, _I64(3 * LANES))))
        return context.get_dummy_value()

    return types.void(types.uint64, types.int64, types.float64, types.uint64), generate


@intrinsic
def add(_, totals, source, groups, p):
    """Add 24-bit integers at `source` to int32 totals[: 8 groups] modulo p. All are below p."""

    def generate(context, builder, signature, arguments):
        totals, source, groups, p = arguments
        modulus = _broadcast(builder, builder.trunc(p, _I32), _INTEGERS)
        with cgutils.for_range(builder, groups) as loop:
            eight = _eight(builder, builder.add(source, builder.mul(loop.index, _I64(3 * LANES))))
            place = builder.add(totals, builder.mul(loop.index, _I64(4 * LANES)))
            total = builder.add(_load(builder, place, _INTEGERS), eight)
            less = builder.sub(total, modulus)
            total = builder.select(builder.icmp_signed("<", less, _all(_INTEGERS, 0)), total, less)
            _store(builder, total, place)
        return context.get_dummy_value()

    word, count = types.uint64, types.int64
    return types.void(word, word, count, count), generate


@intrinsic
def squeeze(_, source, groups, target):
    """Three bytes at `target` for each of int32 source[: 8 groups], which are below 2**24."""

    def generate(context, builder, signature, arguments):
        source, groups, target = arguments
        with cgutils.for_range(builder, groups) as loop:
            eight = _load(builder, builder.add(source, builder.mul(loop.index, _I64(4 * LANES))), _INTEGERS)
            packed = _squeezed(builder, eight)
            _store(builder, packed, builder.add(target, builder.mul(loop.index, _I64(3 * LANES))))
        return context.get_dummy_value()

    return types.void(types.uint64, types.int64, types.uint64), generate


def _function(builder, name, result, *arguments):
    return cgutils.get_or_insert_function(builder.module, ir.FunctionType(result, arguments), name)


@intrinsic
def rent(_, size):
    """Memory of `size` bytes from a cache line on, until `release`. The process ends if there is none.

    The address that the C library gave is in the eight bytes before it.
    """

    def generate(context, builder, signature, arguments):
        allocate = _function(builder, "malloc", _I8.as_pointer(), _I64)
        given = builder.call(allocate, [builder.add(arguments[0], _I64(2 * _LINE))])
        found = builder.ptrtoint(given, _I64)
        with builder.if_then(builder.icmp_unsigned("==", found, _I64(0)), likely=False):
            builder.call(_function(builder, "abort", ir.VoidType()), [])
        begin = builder.and_(builder.add(found, _I64(2 * _LINE - 1)), _I64(-_LINE))
        _store(builder, found, builder.sub(begin, _I64(8)))
        return builder.inttoptr(begin, _I8.as_pointer())

    return types.voidptr(types.int64), generate


@intrinsic
def release(_, address):
    """Give back what `rent` gave."""

    def generate(context, builder, signature, arguments):
        given = _load(builder, builder.sub(arguments[0], _I64(8)), _I64)
        free = _function(builder, "free", ir.VoidType(), _I8.as_pointer())
        builder.call(free, [builder.inttoptr(given, _I8.as_pointer())])
        return context.get_dummy_value()

    return types.void(types.uint64), generate


def _multiplies_integers(context):
    """Whether the processor that is compiled for has AVX512-IFMA and VBMI."""
    features = context.codegen().magic_tuple()[2].split(",")
    return {"+avx512ifma", "+avx512vbmi", "+avx512dq"} <= set(features)


def _permuted(builder, source):
    """Sixteen integers, eight in lanes of 64 bits twice, from 48 bytes. No byte beyond them is read."""
    permute = _function(builder, "llvm.x86.avx512.permvar.qi.512", _OCTETS, _OCTETS, _OCTETS)
    kept = ir.Constant(ir.VectorType(ir.IntType(1), 64), ([1] * 3 + [0] * 5) * LANES)
    both = []
    for byte, skipped in ((0, 0), (16, 8)):
        half = _load(builder, builder.add(source, _I64(byte)), ir.VectorType(_I8, 32))
        whole = builder.shuffle_vector(half, half, _indices([*range(32)] * 2))
        spread = [skipped + 3 * lane + min(octet, 2) for lane in range(LANES) for octet in range(8)]
        octets = builder.call(permute, [whole, ir.Constant(_OCTETS, spread)])
        both.append(builder.bitcast(builder.select(kept, octets, _all(_OCTETS, 0)), _LONGS))
    return both


TERMS = 31
"""Planes that `weigh` adds up at most: so many products below 2**48 have a sum below 2**53."""


@intrinsic
def weigh(_, addresses, weights, count, offset, groups, target, largest):
    """float64 target[: 16 groups] = sum over planes j of weights[j] * the integers at addresses[j] + offset.

    Weights are integers in float64, 0 <= weights[j] < 2**24. The largest of the integers is written to one of
    the sixteen lanes of int32 `largest`, unless an earlier call wrote a larger one there.

    With AVX512-IFMA a product of integers is one instruction, which also adds it up. It takes 52 bits.
    """

    def generate(context, builder, signature, arguments):
        addresses, weights, count, offset, groups, target, largest = arguments
        integers = _multiplies_integers(context)
        kind = _LONGS if integers else _FLOATS
        add = _function(builder, "llvm.x86.avx512.vpmadd52l.uq.512", *[_LONGS] * 4) if integers else None
        addresses = builder.inttoptr(addresses, _I64.as_pointer())
        weights = builder.inttoptr(weights, _F64.as_pointer())
        factors = cgutils.alloca_once(builder, kind.element, size=TERMS)
        with cgutils.for_range(builder, count) as plane:
            weight = builder.load(builder.gep(weights, [plane.index]))
            weight = builder.fptosi(weight, _I64) if integers else weight
            builder.store(weight, builder.gep(factors, [plane.index]))
        sums = [cgutils.alloca_once(builder, kind) for _ in range(2)]
        most = cgutils.alloca_once(builder, _SIXTEEN)
        builder.store(_load(builder, largest, _SIXTEEN), most)

        def compare(sixteen):
            builder.store(_larger(builder, sixteen, builder.load(most)), most)

        with cgutils.for_range(builder, groups) as pair:
            for total in sums:
                builder.store(_all(kind, 0), total)
            first = builder.add(offset, builder.mul(pair.index, _I64(2 * 3 * LANES)))
            with cgutils.for_range(builder, count) as plane:
                source = builder.add(builder.load(builder.gep(addresses, [plane.index])), first)
                weight = _broadcast(builder, builder.load(builder.gep(factors, [plane.index])), kind)
                _foresee(builder, source, _I64(_AHEAD), _L2)
                if add is None:
                    both = [_eight(builder, builder.add(source, _I64(byte))) for byte in (0, 3 * LANES)]
                    compare(builder.shuffle_vector(*both, _indices([*range(2 * LANES)])))
                    for total, eight in zip(sums, both, strict=True):
                        term = builder.fmul(builder.sitofp(eight, _FLOATS), weight, flags=_CONTRACT)
                        builder.store(builder.fadd(builder.load(total), term, flags=_CONTRACT), total)
                else:
                    for total, eight in zip(sums, _permuted(builder, source), strict=True):
                        compare(builder.bitcast(eight, _SIXTEEN))
                        builder.store(builder.call(add, [builder.load(total), eight, weight]), total)
            at = builder.add(target, builder.mul(pair.index, _I64(2 * 8 * LANES)))
            for total, end in zip(sums, (at, builder.add(at, _I64(8 * LANES))), strict=True):
                found = builder.load(total)
                _store(builder, builder.sitofp(found, _FLOATS) if integers else found, end)
        _store(builder, builder.load(most), largest)
        return context.get_dummy_value()

    word = types.uint64
    return types.void(word, word, types.int64, word, types.int64, word, word), generate


@intrinsic
def multiply(_, matrix, stride, columns, x, length, constant, z, height, fours, ahead, line):
    """float64 z[: 4 fours, :16] = constant + matrix[:, : columns] @ x[: columns, :16].

    Rows of the matrix, of x and of z are `stride`, `length` and `height` numbers apart. Eight vectors of
    eight sums stay in registers until they are complete. Meanwhile a cache line is prefetched for each
    column, `line` bytes apart from `ahead` on. Prefetches issued together would wait for each other.
    """

    def generate(context, builder, signature, arguments):
        matrix, stride, columns, x, length, constant, z, height, fours, ahead, line = arguments
        sums = [[cgutils.alloca_once(builder, _FLOATS) for _ in range(2)] for _ in range(4)]
        row, across, below = (builder.mul(count, _I64(8)) for count in (stride, length, height))
        with cgutils.for_range(builder, fours) as four:
            high = builder.mul(four.index, _I64(4))
            for h, pair in enumerate(sums):
                start = builder.add(constant, builder.mul(builder.add(high, _I64(h)), _I64(8)))
                value = _broadcast(builder, _load(builder, start, _F64))
                for total in pair:
                    builder.store(value, total)
            first = builder.add(matrix, builder.mul(high, row))
            with cgutils.for_range(builder, columns) as column:
                _foresee(builder, ahead, builder.mul(column.index, line), _L1)
                at = builder.add(x, builder.mul(column.index, across))
                points = [_load(builder, builder.add(at, _I64(8 * LANES * i)), _FLOATS) for i in range(2)]
                for h, pair in enumerate(sums):
                    place = builder.add(first, builder.mul(_I64(h), row))
                    place = builder.add(place, builder.mul(column.index, _I64(8)))
                    factor = _broadcast(builder, _load(builder, place, _F64))
                    for total, point in zip(pair, points, strict=True):
                        term = builder.fmul(point, factor, flags=_CONTRACT)
                        builder.store(builder.fadd(builder.load(total), term, flags=_CONTRACT), total)
            for h, pair in enumerate(sums):
                end = builder.add(z, builder.mul(builder.add(high, _I64(h)), below))
                for i, total in enumerate(pair):
                    _store(builder, builder.load(total), builder.add(end, _I64(8 * LANES * i)))
        return context.get_dummy_value()

    word, count = types.uint64, types.int64
    return types.void(word, count, count, word, count, word, word, count, count, word, count), generate


TILE = 4
"""Rows of weights, and columns, that `dots` multiplies at a time. Its sums stay in sixteen registers."""


@intrinsic
def dots(_, weights, columns, groups, sums):
    """float64 sums[h, c, lane] = sum over groups of eight of weights[h] times columns[c], h and c below TILE.

    `weights` and `columns` are arrays of TILE addresses of float64 and of float32.
    """

    def generate(context, builder, signature, arguments):
        weights, columns, groups, sums = arguments
        rows, lines = (
            [_load(builder, builder.add(base, _I64(8 * i)), _I64) for i in range(TILE)]
            for base in (weights, columns)
        )
        totals = [[cgutils.alloca_once(builder, _FLOATS) for _ in lines] for _ in rows]
        for total in (one for of_row in totals for one in of_row):
            builder.store(_all(_FLOATS, 0.0), total)
        with cgutils.for_range(builder, groups) as group:
            wide = builder.mul(group.index, _I64(8 * LANES))
            narrow = builder.mul(group.index, _I64(4 * LANES))
            factors = [_load(builder, builder.add(row, wide), _FLOATS) for row in rows]
            values = []
            for line in lines:
                at = builder.add(line, narrow)
                _foresee(builder, at, _I64(_SOON), _L1)
                values.append(builder.fpext(_load(builder, at, _SINGLES), _FLOATS))
            for factor, of_row in zip(factors, totals, strict=True):
                for value, total in zip(values, of_row, strict=True):
                    term = builder.fmul(factor, value, flags=_CONTRACT)
                    builder.store(builder.fadd(builder.load(total), term, flags=_CONTRACT), total)
        for at, total in enumerate(one for of_row in totals for one in of_row):
            _store(builder, builder.load(total), builder.add(sums, _I64(8 * LANES * at)))
        return context.get_dummy_value()

    word = types.uint64
    return types.void(word, word, types.int64, word), generate
