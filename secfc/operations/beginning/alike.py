"""Goes on when all other holders tell a digest of the same."""

from collections.abc import Generator

from secfc.crypto.hash_tree import DIGEST_BYTES
from secfc.errors import CheatError
from secfc.errors.codes import Code
from secfc.field.array_types import Data
from secfc.protocol.parties.inbox import Wait
from secfc.protocol.parties.party import Party


def all_have(me: Party, tag: str, digest: bytes, text: str) -> Generator[Wait, dict[int, Data], None]:
    """Tell all other holders a digest, and go on when they tell the same. CheatError with `text` otherwise.

    It names nobody: who told holders different things is not known.
    """
    others = tuple(holder for holder in me.roles.holders if holder != me.number)
    for holder in others:
        me.send(holder, tag, digest)
    told = yield Wait(tag, others, DIGEST_BYTES)
    if any(data != digest for data in told.values()):
        raise CheatError(f"client {me.number}: {text}", code=Code.BAD_MESSAGE)
