"""Hash trees: a path fits one leaf at one place."""

import hashlib

import pytest

from secfc.crypto.hash_tree import DIGEST_BYTES, depth_of, root_of, tree_of


def digests(count):
    return [hashlib.sha256(bytes([at])).digest() for at in range(count)]


def test_a_tree_of_three_as_computed_by_hand():
    a, b, c = digests(3)
    left, right = hashlib.sha256(a + b).digest(), hashlib.sha256(c + bytes(DIGEST_BYTES)).digest()
    assert tree_of([a, b, c]) == (
        hashlib.sha256(left + right).digest(),
        [b + right, a + right, bytes(DIGEST_BYTES) + left],
    )


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 11, 64, 65])
def test_each_path_leads_from_its_leaf_to_the_root_and_from_no_other(count):
    leaves = digests(count)
    root, paths = tree_of(leaves)
    for at, path in enumerate(paths):
        assert len(path) == DIGEST_BYTES * depth_of(count)
        assert [one for one, leaf in enumerate(leaves) if root_of(leaf, at, path) == root] == [at]
        assert [one for one in range(count) if root_of(leaves[at], one, path) == root] == [at]
