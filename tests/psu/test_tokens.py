"""IDs as tokens."""

import hashlib
import unicodedata
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.union import KEY, SALT

from secfc.errors import DataError, DuplicateIdError, ParameterError
from secfc.psu.prime import P
from secfc.psu.tokens import row_ids

ids = st.one_of(
    st.text(min_size=1).filter(str.strip),
    st.integers(-(2**2048) + 1, 2**2048 - 1),
    st.uuids(),
    st.binary(min_size=1),
)


def normal(one: object) -> object:
    """The form in which two IDs must differ."""
    return one if isinstance(one, bytes) else unicodedata.normalize("NFC", str(one)).strip()


def pairs(given, key: bytes = KEY, salt: bytes = SALT) -> list[tuple[int, int]]:
    found = row_ids(given, key=key, name="north").tokens(salt)
    return list(zip(found.u.tolist(), found.v.tolist(), strict=True))


@given(st.lists(ids, unique_by=normal))
def test_different_ids_have_different_tokens_below_p(given_ids: list[object]) -> None:
    found = pairs(given_ids)
    assert len(set(found)) == len(given_ids)
    assert all(0 <= u < P and 0 <= v < P for u, v in found)


def test_a_token_is_two_words_of_a_keyed_and_salted_digest() -> None:
    inner = hashlib.blake2b(b"spatient 7", key=KEY, person=b"secfc row ID", digest_size=32).digest()
    digest = hashlib.blake2b(inner, key=KEY, salt=SALT, person=b"secfc token", digest_size=16).digest()
    words = int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")
    assert pairs(["patient 7"]) == [(words[0] % 2**61 % P, words[1] % 2**61 % P)]


def test_key_and_salt_change_every_token() -> None:
    assert not set(pairs(range(50))) & set(pairs(range(50), key=bytes(32)))
    assert not set(pairs(range(50))) & set(pairs(range(50), salt=bytes(16)))


def test_ids_are_compared_as_text_in_its_normal_form() -> None:
    spelled = [
        [7, "7", " 7", "7\t", np.int64(7), "\u00a07"],
        ["Jos\u00e9", "Jose\u0301"],
        [UUID(int=7), str(UUID(int=7))],
        ["007"],
        [b"7"],
        ["a"],
        ["A"],
        ["a b"],
        ["a  b"],
    ]
    found = [{pairs([one])[0] for one in alike} for alike in spelled]
    assert [len(one) for one in found] == [1] * len(spelled)
    assert len(set().union(*found)) == len(spelled)


def test_numpy_scalars_are_what_they_hold() -> None:
    assert pairs(np.arange(-3, 300)) == pairs(list(range(-3, 300)))
    assert pairs(np.array(["a", "b"])) == pairs(["a", "b"])
    assert pairs([-1, 255, 256, 0, -256, 2**64]) == pairs([-1, 255, 256, 0, -256, 2**64])


@pytest.mark.parametrize("bad", [None, 1.5, float("nan"), True, ("a",), "", " \n", b"", 1 << 4000])
def test_what_is_no_id_is_refused_by_party_and_number_without_the_value(bad: object) -> None:
    with pytest.raises(DataError, match=r"^north: ID 2 is ") as error:
        row_ids(["x", "y", bad], key=KEY, name="north")
    assert "1.5" not in str(error.value)


def test_an_id_twice_at_one_party_is_an_error_without_the_id() -> None:
    text = r"^north: 2 of its IDs are repeated, the first of them in rows 0 and 2$"
    with pytest.raises(DuplicateIdError, match=text) as error:
        row_ids(["secret", "b", "secret", "c", " secret"], key=KEY, name="north")
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("key", [b"", bytes(31), bytes(33)])
def test_a_key_of_another_length_is_refused(key: bytes) -> None:
    with pytest.raises(ParameterError, match=r"^id_key: 32 bytes are needed, "):
        row_ids([1], key=key, name="north")


def test_tokens_show_nothing_in_their_repr() -> None:
    held = row_ids([1, 2], key=KEY, name="north")
    assert (repr(held), repr(held.tokens(SALT))) == ("RowIds()", "Tokens()")
