"""Text from others is shown as one line of printable characters of bounded length, everywhere."""

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from secfc.cli.endings import plain_endings
from secfc.errors import MessageError
from secfc.errors.escaping import MOST_SHOWN, shown
from secfc.tables.toml_file import shown_keys


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("north", "north"),
        ("Hôpital 北", "Hôpital 北"),
        ("a\nERROR b", "a\\nERROR b"),
        ("a\r\x1b[2Jb", "a\\r\\x1b[2Jb"),
        ("\u202etxt.exe\u2066", "\\u202etxt.exe\\u2066"),
        ("a\u2028b\x85c\x9b2J", "a\\u2028b\\x85c\\x9b2J"),
        ("\ud800", "\\ud800"),
        (7, "7"),
    ],
)
def test_what_is_not_printable_is_escaped(text, expected):
    assert shown(text) == expected


@given(st.text(), st.integers(1, 50))
def test_it_is_one_printable_line_of_bounded_length(text, most):
    line = shown(text, most)
    assert line.isprintable()
    assert len(line) <= most + len("...")
    if text.isprintable() and len(text) <= most:
        assert line == text


def test_by_default_the_length_is_bounded():
    assert shown("a" * 10**6) == "a" * MOST_SHOWN + "..."


def test_keys_of_others_are_shown_so():
    assert shown_keys(["a\x1b[2J", 0, "b" * 10**6]) == "a\\x1b[2J[1]." + "b" * 80 + "..."


def test_the_end_of_a_command_is_shown_so(capsys):
    with pytest.raises(typer.Exit), plain_endings():
        raise MessageError("first \x1b[2J\n  second \u202e" + "c" * 10**6)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "error: MessageError: first \\x1b[2J"
    assert lines[1].startswith("  second \\u202ecc")
    assert sum(map(len, lines)) < 10**4
