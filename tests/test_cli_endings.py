"""The exit status of a command follows from the code of its error, by one table."""

import pytest
import typer

from secfc import errors
from secfc.cli.endings import ABSENT, FAILED, GIVEN, REFUSED, STATUSES, plain_endings, status_of
from secfc.errors.codes import Code


def ended(error):
    with pytest.raises(typer.Exit) as caught, plain_endings():
        raise error
    return caught.value.exit_code


def test_every_code_has_a_status():
    assert {status_of(code) for code in Code} == {FAILED, GIVEN, REFUSED, ABSENT} == {1, 2, 3, 4}
    listed = [code for codes in STATUSES.values() for code in codes.split()]
    assert len(set(listed)) == len(listed)
    assert set(listed) <= set(Code)


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (errors.PartyError, 1),
        (errors.CheatError, 1),
        (errors.StorageError, 1),
        (errors.ParameterError, 2),
        (errors.DataError, 2),
        (errors.LimitError, 3),
        (errors.AgreementError, 3),
        (errors.TooManyFaultsError, 4),
    ],
)
def test_an_error_without_another_code_ends_by_its_type(kind, status, capsys):
    assert ended(kind("x")) == status
    assert capsys.readouterr().err == f"error: {kind.__name__}: x\n"


def test_a_code_decides_before_the_type(capsys):
    assert ended(errors.PartyError("x", code=Code.TIMEOUT)) == 4
    assert ended(errors.PartyError("x", code=Code.IN_USE)) == 3
