"""A hash tree: who knows a leaf and its path knows that the root is of this leaf, at its place.

All trees of so many leaves have the same depth, so no node passes for a leaf.
"""

import hashlib
from collections.abc import Sequence

DIGEST_BYTES = 32


def depth_of(leaves: int) -> int:
    """Digests of a path in a tree of so many leaves, at least 1."""
    return (leaves - 1).bit_length()


def tree_of(leaves: Sequence[bytes]) -> tuple[bytes, list[bytes]]:
    """The root of digests, and the path of each: what it is joined with, from the leaf up.

    Leaves are filled up with zeros to a power of two.
    """
    level, paths = list(leaves), [b""] * len(leaves)
    level += [bytes(DIGEST_BYTES)] * ((1 << depth_of(len(leaves))) - len(leaves))
    for up in range(depth_of(len(leaves))):
        paths = [path + level[at >> up ^ 1] for at, path in enumerate(paths)]
        level = [hashlib.sha256(level[at] + level[at + 1]).digest() for at in range(0, len(level), 2)]
    return level[0], paths


def root_of(leaf: bytes, at: int, path: bytes) -> bytes:
    """The root of a tree in which a digest is the leaf number `at`, from 0, and has this path."""
    for start in range(0, len(path), DIGEST_BYTES):
        other, is_right = path[start : start + DIGEST_BYTES], at & 1
        leaf, at = hashlib.sha256(other + leaf if is_right else leaf + other).digest(), at >> 1
    return leaf
