"""What a party sends about an error: types and codes of closed lists, public numbers, and no text."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from secfc import errors
from secfc.agreement.public_errors import TYPES, PublicError, error_of_ending, is_ending
from secfc.agreement.statement import COMPLETE, LEFT_OUT, MISSED, Ending
from secfc.drivers.calls.failures import as_error
from secfc.errors import CheatError, PartyError, SecFCError, StorageError
from secfc.errors.codes import Code
from secfc.protocol.messages.accepted import RepeatedError

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "errors.md"

SECRET = "/home/a/ward.csv: column 'hiv' has 3 values"

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from([*TYPES, *Code]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.parametrize("kind", TYPES.values(), ids=TYPES)
def test_an_error_travels_as_type_and_code_and_is_made_again(kind):
    for code in Code:
        told = PublicError.of(kind(SECRET, code=code, clients=[3, 1], round_=7))
        travels = json.dumps(told.to_json())
        again = PublicError.read(json.loads(travels)).said_by(2, names=["west", "north"])
        assert type(again) is kind
        assert (again.code, again.clients, again.round, again.party) == (code, (3, 1), 7, 2)
        assert str(again) == f"north: {code} (round 7, client 3, west): {code.meaning}. {code.advice}"
        ending = PublicError.of(again).ending(["west", "north"])
        assert ending == f"{kind.__name__}: {code} at north (round 7, client 3, client 1)"
        assert is_ending(ending)
        for text in (travels, str(again), ending):
            assert "hiv" not in text
            assert "ward" not in text


def test_each_type_has_a_code_of_its_own():
    own = {name: kind("").code for name, kind in TYPES.items() if name not in ("SecFCError", "PartyError")}
    assert len(set(own.values())) == len(own)
    assert SecFCError("").code is PartyError("").code is Code.INTERNAL


def test_a_type_that_is_not_public_is_told_as_the_one_it_is_made_of():
    assert PublicError.of(RepeatedError("Step: again")).kind == "MessageError"


def test_an_error_of_python_is_told_without_its_text():
    assert PublicError.of(as_error(ValueError(SECRET))) == PublicError(kind="PartyError", code=Code.INTERNAL)
    full = as_error(OSError(28, "No space left on device", SECRET))
    assert isinstance(full, StorageError)
    assert full.code is Code.DISK_FULL


@given(st.dictionaries(st.sampled_from(["error", "code", "clients", "round", "party", "text"]), JSON))
def test_whatever_another_party_says_only_what_is_of_the_lists_is_taken(said):
    told = PublicError.read(said)
    assert told.kind in TYPES
    assert told.code in list(Code)
    ending = told.ending(["north"])
    assert is_ending(ending)
    assert ending.isprintable()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I owe you 5",
        "DataError: missing-column at north: column 'hiv'",
        "DataError: hiv",
        "KeyError: missing-column",
        "DataError: missing-column at a b",
        "DataError: missing-column\n",
        "DataError: missing-column (round 1, 73914)",
        "x DataError: missing-column",
    ],
)
def test_other_endings_are_refused(text):
    assert not is_ending(text)
    with pytest.raises(ValidationError):
        TypeAdapter(Ending).validate_python(text)


@pytest.mark.parametrize(
    "text", [COMPLETE, LEFT_OUT, MISSED, "CheatError: cheating-server at west (round 2)"]
)
def test_endings_of_the_list_are_taken(text):
    assert TypeAdapter(Ending).validate_python(text) == text


def test_the_page_has_every_code_and_no_other():
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert rows == [f"| `{code}` | {code.meaning} |" for code in Code]


def test_a_text_is_for_the_party_itself():
    error = CheatError(SECRET, clients=(2,))
    assert str(error) == SECRET
    assert error.code is Code.CHEATING_SERVER
    assert errors.DataError(SECRET).party is None


def test_the_error_of_an_ending_has_its_code_and_names():
    error = error_of_ending(
        "CheatError: cheating-server at west (round 2, client 2, client 9)", names=["north", "west"]
    )
    assert error.code is Code.CHEATING_SERVER
    assert str(error) == "CheatError: cheating-server at west (round 2, west, client 9)"
    assert error_of_ending("I owe you 5", names=[], before="north: ").code is Code.INTERNAL
