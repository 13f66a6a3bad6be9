"""A coin that nobody can choose: parties commit to values before they know the others', and open later.

::

    value(j)      = HKDF-SHA256(ephemeral private key of j, info = "secfc coin 1" | run (16))
    commitment(j) = SHA-256("secfc commitment 1" | run | j (2) | value(j))
    coin          = SHA-256("secfc toss 1" | transcript (32) | number (2) and value of each who tosses it
                    | clients left out (2 each))

The values for the checks of shares are a chain, so that one commitment is enough for all of them. The last
value is HKDF-SHA256(ephemeral private key, info = "secfc checks 1" | run). Each earlier value is the
commitment to the next one. The introduction has the commitment to the first value. The coin of a check is

::

    seed = SHA-256("secfc check seed 1" | transcript | number of the check (4) | values of clients 1 to n,
           zeros for one that is left out)

Blum: *Coin flipping by telephone*, 1983. Commitments are in signed introductions, so the transcript fixes all
of them. One honest value makes the coin uniform. The party that opens its value last can only refuse to open
it. All three comparers must open theirs, so a refusal ends the run and cannot lead to another coin.
"""

import hashlib
import struct
from collections.abc import Collection, Mapping

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

COIN_BYTES = 32

_VALUE = b"secfc coin 1"
_CHECKS = b"secfc checks 1"
_SEED = b"secfc check seed 1"
_COMMITMENT = b"secfc commitment 1"
_TOSS = b"secfc toss 1"
_NUMBER = struct.Struct("<H")


def value_of(private: bytes, *, run: bytes) -> bytes:
    """A party's value, 32 bytes, from its key of one run. After a restart it is the same."""
    return HKDF(algorithm=SHA256(), length=COIN_BYTES, salt=None, info=_VALUE + run).derive(private)


def commitment_to(value: bytes, *, run: bytes, party: int) -> bytes:
    """A 32-byte commitment: it binds a party to its value and hides the value."""
    return hashlib.sha256(_COMMITMENT + run + _NUMBER.pack(party) + value).digest()


def chain(private: bytes, *, run: bytes, party: int, count: int) -> list[bytes]:
    """So many values for checks of shares, in the order in which they are opened."""
    last = HKDF(algorithm=SHA256(), length=COIN_BYTES, salt=None, info=_CHECKS + run).derive(private)
    values = [last]
    while len(values) < count:
        values.append(commitment_to(values[-1], run=run, party=party))
    return values[::-1]


def check_seed(transcript: bytes, check: int, values: bytes) -> bytes:
    """The seed of a check of shares, 32 bytes, from the values of all clients."""
    return hashlib.sha256(_SEED + transcript + struct.pack("<I", check) + values).digest()


def toss(transcript: bytes, values: Mapping[int, bytes], left_out: Collection[int]) -> int:
    """The coin, a number of 256 bits, from the values of the parties that opened them.

    It is used for choices about the rows of clients that are not left out.
    """
    out = b"".join(map(_NUMBER.pack, sorted(left_out)))
    return int.from_bytes(hashlib.sha256(_TOSS + transcript + _told(values) + out).digest(), "little")


def _told(values: Mapping[int, bytes]) -> bytes:
    return b"".join(_NUMBER.pack(party) + value for party, value in sorted(values.items()))
