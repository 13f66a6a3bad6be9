"""The non-interactive proof of a deposit: random combinations of an owner's shares, hidden by covers.

Coefficients follow, row by row, from a seed that is a hash of everything that the owner sealed
(`secfc.sharing.deposits`). Each combination has a *cover*: shares of a uniform polynomial of degree below
ell + t. The proof has the values at the first ell + t members. These determine the values at all others
(docs/proofs.md, "Deposits are consistent").
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate

import numpy as np

from secfc.crypto.randomness import MaskSource
from secfc.field.array_types import Floats, Shares
from secfc.field.packing import BYTES_PER_RESIDUE, pack, unpack
from secfc.field.primes import PRIMES, Prime
from secfc.field.residues import BLOCK, matmul, reduce
from secfc.kernels.interface import Bytes
from secfc.lagrange.basis import lagrange_basis
from secfc.lagrange.points import evaluation_points
from secfc.protocol.job.row_layout import PART_ROWS

COVERS = 6
"""Combinations of each deposit. An owner can try other coefficients by sealing again. So one try must succeed
with probability below 2**-137."""

_WORD = np.dtype("<u4")  # a coefficient is such a word modulo a prime: relative bias of a residue below 2**-8
_DRAWN = 1 << 17
"""Coefficients drawn at a time: 512 KiB of words, which fit in a cache."""


def at_a_time(width: int) -> int:
    """Rows whose coefficients are drawn at a time."""
    return max(PART_ROWS, _DRAWN // (COVERS * width))


@lru_cache(maxsize=len(PRIMES))
def weights_of(prime: Prime, n: int, coded: int) -> Floats:
    """Weights, (n, coded), from a polynomial's values at the first `coded` members to all members' values."""
    alpha = evaluation_points(prime, n=n, coded=coded).alpha
    others = lagrange_basis(alpha[:coded], alpha[coded:], prime.p)
    return np.concatenate([np.eye(coded), others])


def _drawn(seeds: Sequence[bytes], sizes: Sequence[int], width: int) -> Iterator[Floats]:
    """Words for deposits with `sizes` rows, (COVERS, width, rows), some rows at a time."""
    streams = [MaskSource(seed) for seed in seeds]
    step = at_a_time(width)
    for first in range(0, max(sizes), step):
        words = (
            stream.octets(_WORD.itemsize * COVERS * width * min(step, size - first))
            for stream, size in zip(streams, sizes, strict=True)
        )
        drawn = np.frombuffer(b"".join(words), dtype=_WORD).reshape(-1, COVERS, width)
        yield drawn.transpose(1, 2, 0).astype(np.float64, order="C")


def combined(shares: Floats | Shares, coefficients: Floats, p: int, sizes: Sequence[int]) -> Floats:
    """Reduced combinations, (c, columns), of concatenated columns with these sizes, none of them 0.

    Shares have shape (width, rows). Coefficients are centred residues of shape (c, width, rows).
    """
    count, width, rows = coefficients.shape
    held, totals = shares.astype(np.float64), np.zeros((count, rows))
    for start in range(0, width, BLOCK):
        # BLOCK products of centred residues stay below 2**53, and so do 2**29 reduced sums.
        block = slice(start, start + BLOCK)
        totals += reduce(np.einsum("cwi,wi->ci", coefficients[:, block], held[block]), p)
    return reduce(np.add.reduceat(totals, [0, *accumulate(sizes[:-1])], axis=1), p)


def combinations(
    seeds: Sequence[bytes], sizes: Sequence[int], planes: Bytes, primes: tuple[int, ...]
) -> Floats:
    """Reduced combinations of the shares of deposits, (P, COVERS, deposits), without covers.

    Several deposits together have at most `at_a_time` rows, so all coefficients are drawn at once.
    """
    totals, start = np.zeros((len(primes), COVERS, len(sizes))), 0
    for words in _drawn(seeds, sizes, planes.shape[1]):
        stop = start + words.shape[2]
        rows = sizes if len(sizes) > 1 else [stop - start]
        for index, p in enumerate(primes):
            shares = reduce(unpack(planes[index, :, BYTES_PER_RESIDUE * start : BYTES_PER_RESIDUE * stop]), p)
            totals[index] = reduce(totals[index] + combined(shares, reduce(words, p), p, rows), p)
        start = stop
    return totals


def proof_of(seed: bytes, planes: Bytes, covers: Bytes, primes: tuple[int, ...]) -> bytes:
    """The packed combinations of the first ell + t members, (P, COVERS, ell + t).

    `planes` are their packed shares, (ell + t, P, width, 3 * rows). `covers` are their packed shares of
    covers, (ell + t, P, 3 * COVERS).
    """
    members, _, width, size = planes.shape
    moduli = np.array(primes, dtype=np.float64)[:, np.newaxis, np.newaxis]
    values, start = unpack(covers).transpose(1, 2, 0), 0  # (P, COVERS, members)
    for words in _drawn([seed], [size // BYTES_PER_RESIDUE], width):
        stop = start + words.shape[2]
        held = unpack(planes[..., BYTES_PER_RESIDUE * start : BYTES_PER_RESIDUE * stop])
        of_members = reduce(held.reshape(members, len(primes), -1).transpose(1, 2, 0), moduli)
        factors = reduce(words.reshape(COVERS, -1), moduli)
        values = reduce(values + matmul(factors, of_members, moduli), moduli)
        start = stop
    return pack(values, moduli).tobytes()
