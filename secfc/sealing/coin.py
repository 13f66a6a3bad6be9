"""A coin that nobody chooses: parties commit to a value before they know the others', and tell it later.

::

    value(j)      = HKDF-SHA256(ephemeral private key of j, info = "secfc coin 1" | run (16))
    commitment(j) = SHA-256("secfc commitment 1" | run | j (2) | value(j))
    coin          = SHA-256("secfc toss 1" | transcript (32) | number (2) and value of each who tosses it
                    | clients left out (2 each))

Values of the checks of shares are a chain, so that one commitment stands for all of them: the last is
HKDF-SHA256(ephemeral private key, info = "secfc checks 1" | run), each before is the commitment to the next,
and the introduction has that to the first. Their coin is

::

    seed = SHA-256("secfc check seed 1" | transcript | number of the check (4) | values of clients 1 to n,
           zeros for one that is left out)

Who rechecks labels tosses no other coin. Theirs is

::

    about = SHA-256("secfc recheck 1" | transcript | SHA-256 of the result as it is endorsed
                    | number of its last question (4))
    seed  = SHA-256("secfc recheck toss 1" | about | number (2) and value of each who tosses it)

Blum: *Coin flipping by telephone*, 1983. Commitments stand in signed introductions, so the transcript fixes
all of them. One honest value makes the coin uniform; whoever tells a value last can only refuse to. More than
half of those who may toss do, so that a refusal leads to no other coin (`Job.tossers`).
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
_RECHECK = b"secfc recheck 1"
_RECHECK_TOSS = b"secfc recheck toss 1"
_NUMBER = struct.Struct("<H")


def value_of(private: bytes, *, run: bytes) -> bytes:
    """A party's value, 32 bytes, of a key that it uses in one run: started again, it has the same."""
    return HKDF(algorithm=SHA256(), length=COIN_BYTES, salt=None, info=_VALUE + run).derive(private)


def commitment_to(value: bytes, *, run: bytes, party: int) -> bytes:
    """What binds a party to its value and hides it, 32 bytes."""
    return hashlib.sha256(_COMMITMENT + run + _NUMBER.pack(party) + value).digest()


def chain(private: bytes, *, run: bytes, party: int, count: int) -> list[bytes]:
    """So many values for checks of shares, in the order in which they are told."""
    last = HKDF(algorithm=SHA256(), length=COIN_BYTES, salt=None, info=_CHECKS + run).derive(private)
    values = [last]
    while len(values) < count:
        values.append(commitment_to(values[-1], run=run, party=party))
    return values[::-1]


def check_seed(transcript: bytes, check: int, values: bytes) -> bytes:
    """The seed of a check of shares, 32 bytes, of the values of all clients."""
    return hashlib.sha256(_SEED + transcript + struct.pack("<I", check) + values).digest()


def toss(transcript: bytes, values: Mapping[int, bytes], left_out: Collection[int]) -> int:
    """The coin, a number of 256 bits, of the values of those who toss.

    What follows from it is about the rows of clients that are not left out.
    """
    out = b"".join(map(_NUMBER.pack, sorted(left_out)))
    return int.from_bytes(hashlib.sha256(_TOSS + transcript + _told(values) + out).digest(), "little")


def about_result(transcript: bytes, result: bytes, last: int) -> bytes:
    """What a coin is about that chooses labels of a result, 32 bytes: values told of one are of no other.

    `result` is the digest of the result, `last` the number of the question whose labels it has.
    """
    return hashlib.sha256(_RECHECK + transcript + result + struct.pack("<I", last)).digest()


def recheck_seed(about: bytes, values: Mapping[int, bytes]) -> bytes:
    """What the choice of labels that are rechecked follows from, 32 bytes."""
    return hashlib.sha256(_RECHECK_TOSS + about + _told(values)).digest()


def _told(values: Mapping[int, bytes]) -> bytes:
    return b"".join(_NUMBER.pack(party) + value for party, value in sorted(values.items()))
