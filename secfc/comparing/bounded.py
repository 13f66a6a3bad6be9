"""Tests that shared rows are within the bound on norms: the trio's questions and their numbers.

Residues modulo Q can be those of large integers, and squares of these wrap around. So the first question is
about random sums of each client's entries, with coefficients -1, 0 and 1. If the sums are small, so is every
entry. Then no squared norm wraps around, and the second question compares each norm with the bound. Both open
bits that say whether all of `ANDED` numbers are at least 0 (docs/proofs.md, "Rows within the bound").
"""

from collections.abc import Callable, Sequence
from math import isqrt, prod
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from secfc.comparing.batch_plan import most_dealt_bytes
from secfc.comparing.matches import reduced
from secfc.comparing.question import Question
from secfc.crypto.randomness import MaskSource
from secfc.field.array_types import Floats, Ints, Shares
from secfc.field.packing import PackedResidues, pack_canonical
from secfc.field.primes import primes_above
from secfc.field.residues import canonical, centred, reduce
from secfc.kernels.threads import ALONE, Threads, Turns

SUMS = 42
"""Sums over a client's rows, for each column. A large entry makes each sum large with probability >= 1/2."""

TESTS = 6
"""Sums over the columns, for each of these sums. An entry that is too large passes all of them with
probability at most ((1 + 2**-6) / 2)**42 < 2**-41."""

VALUES = SUMS * TESTS
"""Values for each client and segment."""

ANDED = 16
"""Numbers per opened bit."""

NUMBERS = 2 * VALUES
"""Numbers for these values: two for each, for its lower and its upper limit."""

_SPREAD = 8
"""A sum with such coefficients is at most 8 times the norm of its terms, except with probability 2 e**-64."""

_BLOCK_ROWS = 1 << 12
"""Rows whose coefficients are drawn at a time. All clients draw the same ones."""


def most_sum(radius: int, rows: int) -> int:
    """Bound on all values of so many rows within the radius. It fails with negligible probability."""
    return _SPREAD**2 * (isqrt(rows) + 1) * radius


def bounded_residues(radius: int, rows: int, columns: int) -> int:
    """Number of primes with which no squared norm wraps around after the sums were found small.

    Then no entry exceeds 4 `most_sum`, so the squared norm of a row is below Q / 2. `columns` counts those of
    all segments. ParameterError if all primes together are not enough.
    """
    limit = 2 * columns * (4 * most_sum(radius, rows)) ** 2
    return primes_above(limit, what=f"norms of {rows} rows of {columns} columns")


def coded_sums(
    shares: Callable[[int, slice], Shares],
    owned: Sequence[slice],
    *,
    width: int,
    source: MaskSource,
    primes: Sequence[int],
    threads: Threads = ALONE,
) -> Floats:
    """Random sums of shares of each client's rows. The source determines the public coefficients.

    The sums are canonical, shape (P, clients, VALUES). `shares` takes the index of a prime and a slice of
    rows and returns reduced residues, shape (width, rows). `owned` are the rows of each client, in order. A
    segment has `width` columns.
    """
    modulo = np.array(primes, dtype=np.float64)[:, None, None]
    totals = np.zeros((len(owned), len(primes), width, SUMS))
    begin, end = owned[0].start, owned[-1].stop
    starts, drawing, adding = range(begin, end, _BLOCK_ROWS), Turns(), Lock()

    def add(number: int) -> None:
        start = starts[number]
        stop = min(start + _BLOCK_ROWS, end)
        with drawing.take(number):
            signs = _signs(source, (stop - start, SUMS))
        held = np.array([shares(index, slice(start, stop)) for index in range(len(primes))], dtype=np.float64)
        for at, own in enumerate(owned):
            if own.start < stop and start < own.stop:
                rows = slice(max(own.start, start) - start, min(own.stop, stop) - start)
                sums = held[..., rows] @ signs[rows]
                with adding:
                    totals[at] += sums  # below 2**23 + 4 times 2**29 rows: exact, in any order

    threads.each(add, range(len(starts)), size=len(primes) * width * (end - begin), turns=drawing)
    signs = _signs(source, (len(owned), SUMS, TESTS, width))
    # Below 2**24 times the columns of a segment, 2**28 at most.
    values = signs @ reduce(totals, modulo).transpose(0, 3, 2, 1)  # (clients, SUMS, TESTS, P)
    values = values.reshape(len(owned), VALUES, len(primes)).transpose(2, 0, 1)
    return canonical(reduce(values, modulo), modulo)


def within_sums(values: Floats, limits: Sequence[int] | None, primes: Sequence[int]) -> Floats:
    """Numbers that are at least 0 if and only if values are between -limit and limit, (P, clients, NUMBERS).

    The values, shape (P, clients, VALUES), are canonical: masked at an evaluator, masks at the dealer. Limits
    are `most_sum` of each client's rows. They are None at the dealer, where constants are 0.
    """
    constants = np.zeros((len(primes), values.shape[1], 1))
    if limits is not None:
        constants[..., 0] = [[float(centred(one, p)) for one in limits] for p in primes]
    return reduced(np.concatenate([constants - values, constants + values], axis=2), primes)


def within_norms(squares: Floats, radius: int | None, primes: Sequence[int]) -> Floats:
    """The same for squared norms, (P, rows), with limit radius**2. The radius is None at the dealer."""
    constants = [[0.0 if radius is None else float(centred(radius**2, p))] for p in primes]
    return reduced(np.array(constants) - squares, primes)


def lines_of(counts: Sequence[int]) -> Ints:
    """The index of the client of each line of a question, ascending. `counts` are the clients' numbers."""
    return np.repeat(np.arange(len(counts)), [-(-count // ANDED) for count in counts])


def bounded_question(
    numbers: Floats, counts: Sequence[int], primes: tuple[int, ...]
) -> tuple[Question, PackedResidues]:
    """Arguments of roles that open, for each line, whether all its numbers are at least 0 modulo Q.

    Numbers modulo Q stand for the residues nearest to 0. The opened bits are the core of a question whose
    rows are the lines (`Question.core`). It has one column of 0 and `ANDED` others, of weight 1. The numbers
    (masked, or masks) are canonical, shape (P, count), owner by owner with these counts.
    """
    lines = lines_of(counts)
    whole = np.zeros((len(primes), 1 + ANDED, lines.size))
    # Numbers of an owner fill its lines from the first on. The rest of the last line is 0.
    starts = ANDED * np.searchsorted(lines, np.arange(len(counts)))
    place = np.concatenate([at + np.arange(count) for at, count in zip(starts, counts, strict=True)])
    whole[:, 1 + place % ANDED, place // ANDED] = numbers
    question = Question(
        primes=primes,
        sizes=np.ones(1 + ANDED, dtype=np.int64),
        rows=lines.size,
        champions=np.zeros(lines.size, dtype=np.int32),
        core=True,
    )
    return question, PackedResidues(shape=whole.shape, payload=pack_canonical(whole).reshape(-1).data)


def most_bounded_bytes(lines: int, primes: int) -> int:
    """Upper bound on the bytes that the dealer sends for so many lines."""
    return most_dealt_bytes(lines, 1 + ANDED, primes)


def _signs(source: MaskSource, shape: tuple[int, ...]) -> Floats:
    """Independent coefficients: 0 with probability 1/2, -1 and 1 with probability 1/4 each."""
    count = prod(shape)
    bits: NDArray[np.uint8] = np.unpackbits(np.frombuffer(source.octets(-(-count // 4)), dtype=np.uint8))
    pairs = bits[: 2 * count].astype(np.float64).reshape(*shape, 2)
    found: Floats = pairs[..., 0] - pairs[..., 1]
    return found
