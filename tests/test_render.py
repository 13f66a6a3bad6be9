"""What the command prints about parties that failed."""

import io
import warnings

from rich.console import Console

import secfc
from secfc.cli.render import console, faults_line, our_warnings
from secfc.protocol.job.making import make_job

NAMES = ["north.csv", "[bold]south[/]", "west.csv"]
JOB = make_job(n=3, k=2, t=1, ell=1, d=2, bound=1.0, comparers=(1, 4, 5), disclosure="labels")


def shown(faults):
    out = io.StringIO()
    faults_line(Console(file=out, width=200), faults, JOB, NAMES)
    return out.getvalue()


def test_names_are_printed_as_they_are_and_lines_to_a_file_are_not_broken(capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "")
    said = "results are in [bold]my folder[/], " + "which has a very long name " * 10
    console().print(said)
    assert capsys.readouterr().out == said + "\n"


def test_parties_that_failed_are_one_line_with_their_names_as_they_are():
    said = shown(secfc.Faults(absent=(1,), left_out=(3,), liars=(2,)))
    assert said == (
        "parties with faults: north.csv stopped answering; west.csv vanished before all rows were "
        "shared, and their rows are not clustered; [bold]south[/] sent wrong answers and were "
        "excluded\n"
    )


def test_of_a_share_that_cannot_be_read_both_are_named_and_neither_is_accused():
    assert shown(secfc.Faults(unread=((1, 3),))) == (
        "parties with faults: west.csv reports that it cannot read the shares of north.csv, and it is "
        "not known which of the two, or the server, is at fault; their rows are clustered\n"
    )


def test_what_an_evaluator_claims_is_told_as_a_claim():
    assert shown(secfc.Faults(claimed=((2, 1),))) == (
        "parties with faults: according to [bold]south[/], north.csv sent wrong shares, or the dealer dealt "
        "for other masks, which nobody else can check; their rows are clustered\n"
    )


def test_nothing_is_said_when_all_did_their_part():
    assert shown(secfc.Faults()) == ""


def test_warnings_of_faults_are_one_line_without_a_place_in_the_code(capsys):
    with our_warnings():
        warnings.simplefilter("always")
        warnings.warn(secfc.FaultWarning("[bold]south[/] sent wrong answers"), stacklevel=1)
    assert capsys.readouterr().err == "FaultWarning: [bold]south[/] sent wrong answers\n"
