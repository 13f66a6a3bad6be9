"""A sealed box: bytes that only the holder of a roster's identity can open, whoever carries or stores them.

::

    box = ephemeral X25519 key (32) | AES-256-GCM(payload), nonce 0, no associated data
    key = HKDF-SHA256(X25519 secret, salt = ephemeral key | recipient's X25519 key,
                      info = "secfc box 1" | place)

The ephemeral key is fresh, so no key is used twice. The place says where the box belongs. A box does not open
with another place.

An identity is an Ed25519 key. Its X25519 key is the same point on the birationally equivalent curve (RFC
7748, 4.1), u = (1 + y) / (1 - y). The private X25519 key is the scalar that Ed25519 signs with, as in
libsodium. Ed25519 signatures and an X25519 KEM under one such key are secure together (Thormarker, eprint
2021/509).
"""

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from secfc.errors import SealError
from secfc.sealing.channel import TAG_BYTES
from secfc.sealing.handshake import check_ephemeral
from secfc.sealing.identity import EDWARDS_D, KEY_BYTES, P25519, Identity, y_of

BOX_BYTES = KEY_BYTES + TAG_BYTES
"""Bytes that a box adds to its payload."""

_LABEL = b"secfc box 1"
_NONCE = bytes(12)


def x25519_key(public: bytes) -> bytes:
    """The X25519 key of an Ed25519 key, both of 32 bytes.

    ValueError if the input is no canonical encoding of a point of edwards25519, or a point of small order.
    """
    p, y = P25519, y_of(public)  # y is not 1, which has no u
    square = (y * y - 1) * pow(EDWARDS_D * y * y + 1, -1, p) % p  # of x; -1/d is no square: it has an inverse
    if pow(square, (p - 1) // 2, p) != 1:
        raise ValueError("no point of the curve")
    return ((1 + y) * pow(1 - y, -1, p) % p).to_bytes(KEY_BYTES, "little")


def seal_box(payload: bytes, *, recipient: bytes, place: bytes) -> bytes:
    """Seal a payload to a recipient's Ed25519 public key. Raises ValueError as `x25519_key` does."""
    theirs, ephemeral = x25519_key(recipient), X25519PrivateKey.generate()
    secret, ours = ephemeral.exchange(check_ephemeral(theirs)), ephemeral.public_key().public_bytes_raw()
    return ours + _cipher(secret, ours, theirs, place).encrypt(_NONCE, payload, None)


def open_box(box: bytes, *, identity: Identity, place: bytes) -> bytes:
    """The payload of a box. SealError if it was not sealed to this identity and place."""
    try:
        ephemeral = X25519PublicKey.from_public_bytes(box[:KEY_BYTES])
        secret = identity.secret_with(ephemeral)
        cipher = _cipher(secret, box[:KEY_BYTES], x25519_key(identity.public), place)
        return cipher.decrypt(_NONCE, box[KEY_BYTES:], None)
    except (InvalidTag, ValueError):  # a short box, or a key that shares no secret
        raise SealError("a box that was not sealed to this key and place, or was changed") from None


def _cipher(secret: bytes, ephemeral: bytes, recipient: bytes, place: bytes) -> AESGCM:
    salt = ephemeral + recipient
    return AESGCM(HKDF(SHA256(), length=32, salt=salt, info=_LABEL + place).derive(secret))
