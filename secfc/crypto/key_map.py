"""The X25519 key of an Ed25519 identity, so that others can seal to it.

It is the same point on the birationally equivalent curve (RFC 7748, 4.1), u = (1 + y) / (1 - y). The private
X25519 key is the scalar that Ed25519 signs with, as in libsodium. Ed25519 signatures and an X25519 KEM under
one such key are secure together (Thormarker, eprint 2021/509).
"""

from secfc.crypto.identity import EDWARDS_D, KEY_BYTES, P25519, y_of


def x25519_key(public: bytes) -> bytes:
    """The X25519 key of an Ed25519 key, both of 32 bytes.

    ValueError if the input is no canonical encoding of a point of edwards25519, or a point of small order.
    """
    p, y = P25519, y_of(public)  # y is not 1, which has no u
    square = (y * y - 1) * pow(EDWARDS_D * y * y + 1, -1, p) % p  # of x; -1/d is no square: it has an inverse
    if pow(square, (p - 1) // 2, p) != 1:
        raise ValueError("no point of the curve")
    return ((1 + y) * pow(1 - y, -1, p) % p).to_bytes(KEY_BYTES, "little")
