"""IDs as tokens."""

import hashlib
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.union import KEY, SALT

from secfc.errors import DataError, DuplicateIdError, ParameterError
from secfc.psu.prime import P
from secfc.psu.tokens import tokens

ids = st.one_of(st.text(min_size=1), st.integers(), st.uuids(), st.binary(min_size=1))


def pairs(given, key: bytes = KEY, salt: bytes = SALT) -> list[tuple[int, int]]:
    found = tokens(given, key=key, salt=salt, name="north")
    return list(zip(found.u.tolist(), found.v.tolist(), strict=True))


@given(st.lists(ids, unique_by=lambda x: (type(x), x)))
def test_different_ids_have_different_tokens_below_p(given_ids: list[object]) -> None:
    found = pairs(given_ids)
    assert len(set(found)) == len(given_ids)
    assert all(0 <= u < P and 0 <= v < P for u, v in found)


def test_a_token_is_two_words_of_a_keyed_and_salted_digest() -> None:
    digest = hashlib.blake2b(b"spatient 7", key=KEY, salt=SALT, digest_size=16).digest()
    words = int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")
    assert pairs(["patient 7"]) == [(words[0] % 2**61 % P, words[1] % 2**61 % P)]


def test_key_and_salt_change_every_token() -> None:
    assert not set(pairs(range(50))) & set(pairs(range(50), key=bytes(32)))
    assert not set(pairs(range(50))) & set(pairs(range(50), salt=bytes(16)))


def test_types_are_told_apart_and_numpy_scalars_are_what_they_hold() -> None:
    same = [7, "7", b"7", UUID(int=7)]
    assert len(set(pairs(same))) == 4
    assert pairs(np.arange(-3, 300)) == pairs(list(range(-3, 300)))
    assert pairs(np.array(["a", "b"])) == pairs(["a", "b"])
    assert pairs([-1, 255, 256, 0, -256, 2**64]) == pairs([-1, 255, 256, 0, -256, 2**64])


@pytest.mark.parametrize("bad", [None, 1.5, float("nan"), True, ("a",), "", b"", 1 << 4000])
def test_what_is_no_id_is_refused_by_party_and_number_without_the_value(bad: object) -> None:
    with pytest.raises(DataError, match=r"^north: ID 2 is ") as error:
        tokens(["x", "y", bad], key=KEY, salt=SALT, name="north")
    assert "1.5" not in str(error.value)


def test_an_id_twice_at_one_party_is_an_error_without_the_id() -> None:
    with pytest.raises(DuplicateIdError, match=r"^north: 2 of its IDs are repeated$") as error:
        tokens(["secret", "b", "secret", "c", "secret"], key=KEY, salt=SALT, name="north")
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("key", [b"", bytes(31), bytes(33)])
def test_a_key_of_another_length_is_refused(key: bytes) -> None:
    with pytest.raises(ParameterError, match=r"^id_key: 32 bytes are needed, "):
        tokens([1], key=key, salt=SALT, name="north")


def test_tokens_show_nothing_in_their_repr() -> None:
    assert repr(tokens([1, 2], key=KEY, salt=SALT, name="north")) == "Tokens()"
