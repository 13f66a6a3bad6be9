"""The proof that dealt shares lie on polynomials of their degree, hidden by covers.

A dealer deals covers too, which are uniform sharings. Coefficients r follow from a seed, a hash of all that
it deals. For each cover the proof has the polynomial cover + sum r x (`sums`), and a holder checks its own
shares alone (docs/proofs.md, "Deposits are consistent"). A cover hides the sum.

A dealer can try other coefficients by dealing again. So there are as many covers: a try leaves a wrong share
unnoticed with a probability of at most 9 q^6, q = 2^-23.98, which is below 2^-140.
"""

from math import prod

import numpy as np

from secfc.crypto.randomness import MaskSource
from secfc.field.array_types import Floats
from secfc.field.residues import BLOCK, reduce
from secfc.sharing.codewords import Codewords

COVERS = 6
WIDTH = BLOCK // 2
"""Numbers that are combined at a time: so many products of a canonical and a reduced residue are exact."""

_WORD = np.dtype("<i4")


def with_covers(code: Codewords, segments: Floats, masks: MaskSource) -> Floats:
    """Segments, shape (P, ell, size), and those of covers, with masks: (P, ell + t, size + COVERS)."""
    size = segments.shape[2]
    values = np.empty((len(code.primes), code.narrow, size + COVERS))
    values[:, : code.ell, :size] = segments
    for of_prime, p in zip(values, code.primes, strict=True):
        of_prime[: code.ell, size:] = masks.uniform(p, (code.ell, COVERS))
        of_prime[code.ell :] = masks.uniform(p, (code.t, size + COVERS))
    return values


def agrees(
    code: Codewords, holder: int, shares: Floats, proof: Floats, factors: Floats, *, zeros: bool = False
) -> bool:
    """Whether a holder's shares, shape (P, size + COVERS), are of the polynomials of a proof.

    These are segments and masks of [x], or with `zeros` masks of <0>, shape (P, values, COVERS).
    """
    own = sums(shares[:, np.newaxis], factors, code.moduli)
    return not reduce(own - code.at_holder(holder, proof, zeros=zeros), code.moduli).any()


def coefficients(seed: bytes, size: int, moduli: Floats) -> Floats:
    """Coefficients for each level of `sums` of so many numbers, shape (levels, P, COVERS, WIDTH).

    They are words of 32 bits. Modulo a prime none is likelier than q = 259 / 2^32.
    """
    shape = levels(size), 1, COVERS, WIDTH
    words = np.frombuffer(MaskSource(seed).octets(_WORD.itemsize * prod(shape)), dtype=_WORD)
    return reduce(words.reshape(shape).astype(np.float64), moduli)


def levels(size: int) -> int:
    """Levels after which `sums` of so many numbers has a number for each cover: 9 for 10^9."""
    return 1 if size < WIDTH else 1 + levels(COVERS * (size // WIDTH + 1))


def sums(values: Floats, factors: Floats, moduli: Floats) -> Floats:
    """Covers, the last columns of values, plus sums of the others: shape (P, rows, COVERS).

    At each level every `WIDTH` numbers become COVERS numbers, all by the same factors. If they are not all
    0, the new ones are with probability at most q^COVERS. So are all numbers of the last level, and what it
    adds to each cover.
    """
    numbers, covers = values[:, :, :-COVERS], values[:, :, -COVERS:]
    for of_level in factors[:, :, np.newaxis]:
        count = numbers.shape[2] // WIDTH
        whole, rest = numbers[:, :, : count * WIDTH], numbers[:, :, count * WIDTH :, np.newaxis]
        each = of_level @ whole.reshape(*numbers.shape[:2], WIDTH, count)
        found = np.concatenate([each, of_level[..., : rest.shape[2]] @ rest], axis=3)
        numbers = reduce(found.reshape(*numbers.shape[:2], -1), moduli)
    return reduce(numbers + covers, moduli)
