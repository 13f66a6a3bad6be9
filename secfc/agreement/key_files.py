"""Keys in files: an organisation's private and public key, and the key that hashes row IDs.

All clients of a consortium have the same key for row IDs. The coordinator must not have it: with the key one
can test guessed IDs (docs/threat-model.md).
"""

import base64
import hashlib
import secrets
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from secfc.agreement.secret_files import OWNER_ONLY, of_base64, read_private_text, write_new
from secfc.agreement.words import KEY_FINGERPRINT_BYTES, to_words
from secfc.crypto.identity import KEY_BYTES, Identity, y_of
from secfc.errors import ParameterError
from secfc.psu.tokens import KEY_BYTES as IDS_KEY_BYTES

COORDINATOR_KEY = "coordinator.key"
"""File name of the coordinator's private key, beside the job file or in a FLARE server's kit."""

_KIND, _IDS_KIND = "ed25519:", "secfc-ids-key:"
_FINGERPRINT = b"secfc key fingerprint 1"


def key_text(public: bytes) -> str:
    """A public key in the form of files."""
    return _KIND + base64.b64encode(public).decode()


def key_bytes(text: str) -> bytes:
    """Decode a public key of a file, 32 bytes; the ValueError says what is needed, or as `y_of`."""
    key = of_base64(text, KEY_BYTES, kind=_KIND)
    if key is None:
        raise ValueError(f"'{_KIND}' and {KEY_BYTES} bytes in base64 are needed")
    y_of(key)
    return key


def key_words(public: bytes) -> str:
    """Twelve words that encode a public key's fingerprint."""
    return to_words(hashlib.sha256(_FINGERPRINT + public).digest()[:KEY_FINGERPRINT_BYTES])


def write_new_key(path: Path) -> Identity:
    """Make a key and write its private part (PKCS #8 in PEM). A key is never overwritten."""
    private = Ed25519PrivateKey.generate()
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    write_new(path, pem, mode=OWNER_ONLY)
    return Identity(private.private_bytes_raw())


def read_key(path: Path) -> Identity:
    """The key in a private key file, which others may not read. Errors never show the content."""
    text = read_private_text(path, what="a private key")
    try:
        key = load_pem_private_key(text.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise ParameterError(
            f"{path}: not a private key as secfc keygen writes it, without a password"
        ) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise ParameterError(f"{path}: a key of another kind; an Ed25519 key is needed (secfc keygen)")
    return Identity(key.private_bytes_raw())


def write_new_ids_key(path: Path) -> bytes:
    """Draw a key for row IDs, 32 bytes, and write it as `write_new_key` does."""
    key = secrets.token_bytes(IDS_KEY_BYTES)
    write_new(path, f"{_IDS_KIND}{base64.b64encode(key).decode()}\n".encode(), mode=OWNER_ONLY)
    return key


def read_ids_key(path: Path) -> bytes:
    """The key for row IDs in a file, 32 bytes; ParameterError as `read_key`."""
    key = of_base64(read_private_text(path, what="an ID key").strip(), IDS_KEY_BYTES, kind=_IDS_KIND)
    if key is None:
        raise ParameterError(f"{path}: not an ID key as secfc ids-key writes it")
    return key


def ids_key_words(key: bytes) -> str:
    """Twelve words with which people check that they have the same key; they do not reveal the key."""
    digest = hashlib.blake2b(key=key, digest_size=KEY_FINGERPRINT_BYTES, person=b"ids key words")
    return to_words(digest.digest())
