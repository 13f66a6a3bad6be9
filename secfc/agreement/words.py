"""Fingerprints as words that people can read to each other: BIP-39 words, the last one with a checksum.

The list has 2,048 words, which differ in their first four letters. A misheard word fails the checksum of 12
words with probability 15/16, and of 24 words with 255/256. So a misread word does not look like another key.
"""

from functools import lru_cache

from mnemonic import Mnemonic

from secfc.errors import ParameterError

KEY_FINGERPRINT_BYTES = 16
"""12 words. Making a key that has the words of another key takes about 2**128 tries."""

_GROUP = 4


@lru_cache(maxsize=1)
def _scheme() -> Mnemonic:
    return Mnemonic("english")


def to_words(fingerprint: bytes) -> str:
    """The words that encode 16 or 32 bytes."""
    return str(_scheme().to_mnemonic(fingerprint))


def in_lines(words: str) -> list[str]:
    """The words in lines of four, for reading aloud."""
    each = words.split()
    return [" ".join(each[at : at + _GROUP]) for at in range(0, len(each), _GROUP)]


def check_words(text: str) -> str:
    """Words that a person typed, in one line and lower case. ParameterError names the wrong word."""
    words = text.lower().split()
    known = set(_scheme().wordlist)
    for at, word in enumerate(words, 1):
        if word not in known:
            near = [one for one in _scheme().wordlist if one[:4] == word[:4]]
            meant = f"; did you mean {near[0]!r}?" if near else ""
            raise ParameterError(f"words: {word!r}, the {at}. word, is not in the list{meant}")
    if len(words) not in (12, 24):
        raise ParameterError(f"words: a key has 12 and a roster 24, {len(words)} were given")
    joined = " ".join(words)
    if not _scheme().check(joined):
        raise ParameterError("words: their checksum is wrong; at least one word was misread or misheard")
    return joined
