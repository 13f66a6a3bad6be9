"""The proof of what is dealt in a union."""

from dataclasses import replace

import numpy as np
import pytest
from support.union import random_elements

from secfc.crypto.randomness import MaskSource
from secfc.psu.field_sharing import Sharing
from secfc.psu.kernels import UnionKernels
from secfc.psu.prime import P
from secfc.psu.proving import COVERS, Dealing, agrees, coefficients, dealing, proof_of, proof_size, sums

SIZES = [(3, 1, 1), (5, 1, 2), (7, 2, 1)]
SEED = bytes(range(32))
VALUES, RANDOM = 300, 7


def dealt(n: int, t: int, ell: int, kernels: UnionKernels) -> tuple[Sharing, Dealing]:
    sharing = Sharing(n=n, t=t, ell=ell, kernels=kernels)
    return sharing, dealing(sharing, random_elements((ell, VALUES), 1), RANDOM, MaskSource())


def accepts(sharing: Sharing, one: Dealing, client: int, proof, kernels) -> bool:
    shares = one.shares[client - 1]
    return agrees(sharing, client, shares, one.zeros.shape[1], proof, SEED, kernels)


@pytest.mark.parametrize(("n", "t", "ell"), SIZES)
def test_every_client_accepts_the_proof_of_what_is_dealt(n, t, ell, kernels) -> None:
    sharing, one = dealt(n, t, ell, kernels)
    proof = proof_of(one, SEED, kernels)
    assert proof.shape == (proof_size(sharing),)
    assert all(accepts(sharing, one, client, proof, kernels) for client in range(1, n + 1))


@pytest.mark.parametrize(("n", "t", "ell"), SIZES)
def test_who_gets_a_false_share_refuses_it_and_nobody_else(n, t, ell, kernels) -> None:
    sharing, one = dealt(n, t, ell, kernels)
    proof = proof_of(one, SEED, kernels)
    first, size = one.shared.shape[1], one.shares.shape[1]
    kinds = [0, VALUES - 1, VALUES, first - COVERS, first - 1, first, size - COVERS, size - 1]
    for at in kinds:
        shares = one.shares.copy()
        shares[1, at] = (int(shares[1, at]) + 1) % P
        changed = replace(one, shares=shares)
        said = [accepts(sharing, changed, client, proof, kernels) for client in range(1, n + 1)]
        assert said == [client != 2 for client in range(1, n + 1)]


def test_a_proof_with_another_number_is_refused_by_all(kernels) -> None:
    sharing, one = dealt(3, 1, 1, kernels)
    proof = proof_of(one, SEED, kernels)
    for at in range(proof.size):
        false = proof.copy()
        false[at] = (int(false[at]) + 1) % P
        assert not any(accepts(sharing, one, client, false, kernels) for client in (1, 2, 3))


@pytest.mark.parametrize("size", [1, 127, 128, 129, 1000])
def test_sums_are_covers_and_both_levels_of_combinations(size, kernels) -> None:
    values = random_elements((2, size + COVERS), 3)
    first, second = coefficients(SEED, 1000)
    blocks = -(-size // 128)
    expected = []
    for row in values.tolist():
        each = [0] * (COVERS * blocks)
        for i, x in enumerate(row[:size]):
            for c in range(COVERS):
                each[c * blocks + i % blocks] += int(first[c, i // blocks]) * x
        expected.append(
            [
                (row[size + c] + sum(int(f) * x for f, x in zip(second[c], each, strict=False))) % P
                for c in range(COVERS)
            ]
        )
    assert sums(values, (first, second), kernels).tolist() == expected


def test_covers_hide_the_sums(kernels) -> None:
    # Whatever is shared, a dealing with other covers has the same proof.
    sharing, one = dealt(3, 1, 1, kernels)
    other = dealing(sharing, random_elements((1, VALUES), 2), RANDOM, MaskSource())
    proof = proof_of(one, SEED, kernels)
    shared, zeros = other.shared.copy(), other.zeros.copy()
    split = shared.shape[0] * COVERS
    for polynomials, said in ((shared, proof[:split]), (zeros, proof[split:])):
        off = proof_of(replace(other, shared=shared, zeros=zeros), SEED, kernels)
        off = (off[:split] if polynomials is shared else off[split:]).reshape(-1, COVERS).astype(object)
        wanted = said.reshape(-1, COVERS).astype(object) - off
        covers = polynomials[:, -COVERS:].astype(object)
        polynomials[:, -COVERS:] = ((covers + wanted) % P).astype(np.uint64)
    assert (proof_of(replace(other, shared=shared, zeros=zeros), SEED, kernels) == proof).all()
