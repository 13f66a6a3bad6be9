"""IDs as tokens."""

import hashlib
import sys
import unicodedata
from decimal import Decimal
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.union import KEY, SALT

from secfc.errors import DataError, DuplicateIdError, ParameterError
from secfc.psu.prime import P
from secfc.tables.ids import row_ids
from secfc.tables.texts import MISSING

SEEN = st.characters(
    exclude_categories=("Cc", "Cf", "Cs", "Zl", "Zp", "Zs", "Mn", "Cn"),
    exclude_characters="\u2800\u3164\uffa0\u115f\u1160",
)

HIDDEN = {"Cc", "Cf", "Zl", "Zp", "Zs"}

ids = st.one_of(
    st.text(SEEN, min_size=1).filter(
        lambda one: one.strip() and not one[0].isdigit() and one.casefold() not in MISSING
    ),
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


def test_ids_are_compared_as_text_in_its_normal_form() -> None:
    spelled = [
        [7, "7", " 7", "7\t", np.int64(7), "\u00a07", 7.0, "7.0", "7.", np.float64(7), Decimal("7.00")],
        [0, -0.0, "0.0"],
        [2**53 - 1, float(2**53 - 1)],
        [2**64 + 1, Decimal(2**64 + 1)],
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


def test_characters_that_nobody_sees_are_refused_in_all_of_unicode() -> None:
    """Otherwise two IDs that look alike are two people."""
    unseen = {chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) in HIDDEN}
    unseen |= set("\u034f\u115f\u1160\u17b4\u2800\u3164\ufe0f\uffa0\U000e0100\U000e01ef")
    assert len(unseen) > 200
    for one in unseen - {" "}:
        with pytest.raises(DataError, match=r"^north: ID 0 is a text with a character that nobody sees"):
            row_ids([f"a{one}b"], key=KEY, name="north")


def test_numpy_scalars_are_what_they_hold() -> None:
    assert pairs(np.arange(-3, 300)) == pairs(list(range(-3, 300)))
    assert pairs(np.array(["a", "b"])) == pairs(["a", "b"])
    assert pairs([-1, 255, 256, 0, -256, 2**64]) == pairs([-1, 255, 256, 0, -256, 2**64])


@pytest.mark.parametrize(
    "bad",
    [
        *(None, 1.5, float("nan"), float("inf"), 2.0**54, Decimal("NaN"), True, ("a",), b"", 1 << 4000),
        *("", " \n", "NA", "nan", " n/a", "null", "<NA>", "1.5E+15", "1e+15", "7.000", Decimal("sNaN")),
    ],
)
def test_what_is_no_id_is_refused_by_party_and_number_without_the_value(bad: object) -> None:
    with pytest.raises(DataError, match=r"^north: ID 2 is ") as error:
        row_ids(["x", "y", bad], key=KEY, name="north")
    assert "1.5" not in str(error.value)


@pytest.mark.parametrize(
    "rounded", [float(2**53), np.float32(2**24), np.float16(2**11), "1,5E+15", "1.5e15", "1.23457E7", "1e+16"]
)
def test_a_number_that_may_have_been_rounded_is_refused(rounded: object) -> None:
    """Otherwise two people become one: 2^53 + 1 as a float64, 2^24 + 1 as a float32."""
    with pytest.raises(DataError, match=r"^north: ID 1 is a number"):
        row_ids(["a", rounded], key=KEY, name="north")


def test_codes_with_an_e_are_taken() -> None:
    assert len(row_ids(["12e4", "7e0", "1E15", "e5"], key=KEY, name="north")) == 4


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
