"""A coin that nobody can choose: parties commit to values before they know the others', and open later.

::

    value(j)      = HKDF-SHA256(ephemeral private key of j, info = "secfc coin 1" | run (16))
    commitment(j) = SHA-256("secfc commitment 1" | run | j (2) | value(j))

The coin is what the program makes of the values (`secfc.operations.beginning.coin`).

Blum: *Coin flipping by telephone*, 1983. Commitments are in signed introductions, so the transcript fixes all
of them. One honest value makes the coin uniform. The party that opens its value last can only refuse to open
it. All three comparers must open theirs, so a refusal ends the run and cannot lead to another coin.
"""

import hashlib
import struct

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

COIN_BYTES = 32

_VALUE = b"secfc coin 1"
_COMMITMENT = b"secfc commitment 1"
_NUMBER = struct.Struct("<H")


def value_of(private: bytes, *, run: bytes) -> bytes:
    """A party's value, 32 bytes, from its key of one run. After a restart it is the same."""
    return HKDF(algorithm=SHA256(), length=COIN_BYTES, salt=None, info=_VALUE + run).derive(private)


def commitment_to(value: bytes, *, run: bytes, party: int) -> bytes:
    """A 32-byte commitment: it binds a party to its value and hides the value."""
    return hashlib.sha256(_COMMITMENT + run + _NUMBER.pack(party) + value).digest()
