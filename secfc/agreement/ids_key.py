"""The key with which the clients of a consortium hash row IDs. Each client has the same key in a file.

The coordinator must not have it: with the key one can test guessed IDs (docs/threat-model.md).
"""

import base64
import hashlib
import secrets
from pathlib import Path

from secfc.agreement.files import OWNER_ONLY, of_base64, read_private_text, write_new
from secfc.agreement.words import KEY_FINGERPRINT_BYTES, to_words
from secfc.errors import ParameterError
from secfc.psu.tokens import KEY_BYTES

_KIND = "secfc-ids-key:"


def write_new_ids_key(path: Path) -> bytes:
    """Draw a key, 32 bytes, and write it to a file that only its owner can read.

    Raises ParameterError if the file exists or cannot be written. A key is never overwritten.
    """
    key = secrets.token_bytes(KEY_BYTES)
    write_new(path, f"{_KIND}{base64.b64encode(key).decode()}\n".encode(), mode=OWNER_ONLY)
    return key


def read_ids_key(path: Path) -> bytes:
    """The key in a file, 32 bytes.

    Raises ParameterError if it cannot be read, if others may read it too, or if it holds something else. The
    text never shows the content.
    """
    key = of_base64(read_private_text(path, what="an ID key").strip(), KEY_BYTES, kind=_KIND)
    if key is None:
        raise ParameterError(f"{path}: no ID key, as secfc ids-key writes it")
    return key


def ids_key_words(key: bytes) -> str:
    """Twelve words with which people check that they have the same key; they do not reveal the key."""
    digest = hashlib.blake2b(key=key, digest_size=KEY_FINGERPRINT_BYTES, person=b"ids key words")
    return to_words(digest.digest())
