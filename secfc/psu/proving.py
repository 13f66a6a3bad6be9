"""The proof that shares dealt in a union lie on polynomials of their degree, hidden by covers.

It is the proof of `secfc.sharing.proof` over the union's field. A client deals covers too, which are uniform
sharings. Coefficients r follow from a seed, a hash of all that it deals. For each cover the proof has the
polynomial cover + sum r x (`sums`), and a client checks its own shares alone.

A dealer can try other coefficients by dealing again. A try leaves a wrong share unnoticed with a probability
of at most 2 / p**COVERS, which is 2**-182.
"""

from dataclasses import dataclass, field

import numpy as np

from secfc.crypto.randomness import MaskSource
from secfc.psu.field_sharing import Sharing
from secfc.psu.kernels import UnionKernels
from secfc.psu.prime import Elements, add, elements, multiply, total

COVERS = 3
_WIDTH = 128
"""Numbers that are combined first, so that there are fewer coefficients than numbers."""

Factors = tuple[Elements, Elements]


@dataclass(frozen=True, kw_only=True)
class Dealing:
    """What a client deals in a part. The last `COVERS` columns of polynomials, and their shares, are covers.

    Attributes
    ----------
    shared : ndarray of shape (ell + t, N)
        Polynomials of degree ell + t - 1, by their values at the beta.
    zeros : ndarray of shape (R - ell, N0)
        Sharings of zeros (`Sharing.deal_zeros`).
    shares : ndarray of shape (n, N + N0)
        Every client's shares of both.
    """

    shared: Elements = field(repr=False)
    zeros: Elements = field(repr=False)
    shares: Elements = field(repr=False)


def dealing(sharing: Sharing, values: Elements, random: int, masks: MaskSource) -> Dealing:
    """Deal values, shape (ell, size), as many random ones as `random` says, and as many sharings of zeros."""
    shared = np.concatenate(
        [sharing.masked(values, masks), masks.wide((sharing.ell + sharing.t, random + COVERS))], axis=1
    )
    zeros = masks.wide((sharing.responders - sharing.ell, random + COVERS))
    shares = np.concatenate([sharing.deal(shared), sharing.deal_zeros(zeros)], axis=1)
    return Dealing(shared=shared, zeros=zeros, shares=shares)


def proof_size(sharing: Sharing) -> int:
    """How many elements a proof has."""
    return (sharing.responders + sharing.t) * COVERS


def proof_of(dealt: Dealing, seed: bytes, kernels: UnionKernels) -> Elements:
    """The proof of a dealing, shape (proof_size,)."""
    factors = coefficients(seed, dealt.shared.shape[1])
    every = [sums(one, factors, kernels).reshape(-1) for one in (dealt.shared, dealt.zeros)]
    return np.concatenate(every)


def agrees(
    sharing: Sharing,
    client: int,
    shares: Elements,
    zeros: int,
    proof: Elements,
    seed: bytes,
    kernels: UnionKernels,
) -> bool:
    """Whether a client's shares, the last of them of that many zeros, are of the polynomials of a proof."""
    first, split = shares.size - zeros, (sharing.ell + sharing.t) * COVERS
    factors = coefficients(seed, first)
    own = [sums(one.reshape(1, -1), factors, kernels) for one in (shares[:first], shares[first:])]
    shared, of_zeros = proof[:split].reshape(-1, COVERS), proof[split:].reshape(-1, COVERS)
    said = sharing.deal(shared, client), sharing.deal_zeros(of_zeros, client)
    return all((a == b).all() for a, b in zip(own, said, strict=True))


def coefficients(seed: bytes, size: int) -> Factors:
    """Coefficients of both levels of `sums` for up to so many numbers."""
    words = MaskSource(seed)
    return words.wide((COVERS, _WIDTH)), words.wide((COVERS, COVERS * _blocks(size)))


def sums(values: Elements, factors: Factors, kernels: UnionKernels) -> Elements:
    """Covers, the last columns of values, plus sums of the others: shape (rows, COVERS).

    First every `_WIDTH` numbers become COVERS numbers, all by the same factors. If they are not all 0, the
    new ones are with probability at most p**-COVERS. So are then the sums of all new ones.
    """
    first, second = factors
    found = []
    for numbers in values[:, :-COVERS]:
        padded = np.zeros((_WIDTH, _blocks(numbers.size)), dtype=np.uint64)
        padded.reshape(-1)[: numbers.size] = numbers
        each = kernels.matmul(first, padded).reshape(-1)
        found.append([total(multiply(each, of_cover[: each.size])) for of_cover in second])
    return add(elements(found), values[:, -COVERS:])


def _blocks(size: int) -> int:
    return -(-size // _WIDTH)
