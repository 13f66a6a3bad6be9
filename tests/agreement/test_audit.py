"""An audit's findings about a complete summary, and about each way in which one can be wrong."""

import json

import pytest

from secfc.agreement.audit import audit
from secfc.agreement.key_files import read_key
from secfc.agreement.statement import (
    Sent,
    Statement,
    read_summary,
    sign_statement,
    statement_of,
    write_summary,
)
from secfc.errors import ParameterError


def state(organisations, name, *, key=None, **changes):
    agreement = organisations.agreement
    values = {
        "job": agreement.digest.hex(),
        "run": "ab" * 16,
        "party": name,
        "client": agreement.names.index(name) + 1 if name in agreement.names else 4,
        "versions": {"secfc": "0.1.0"},
        "began": "2026-01-01T00:00:00+00:00",
        "ended_at": "2026-01-01T00:00:01+00:00",
        "introductions": "cd" * 32,
        "took_part": list(agreement.names),
        "sent": {"Hello": Sent(messages=1, bytes=193)},
        "ended": "complete",
        "iterations": 4,
        "converged": True,
    }
    statement = Statement(**values | changes)
    return sign_statement(statement, read_key(organisations.folder / f"{key or name}.key"))


@pytest.fixture
def audited(organisations, tmp_path):
    """Findings about a summary of these statements, with changes in its JSON."""

    def findings(statements, change=None):
        path = tmp_path / "summary.json"
        write_summary(path, organisations.agreement, statements, {"ended": "complete"})
        if change is not None:
            values = json.loads(path.read_text())
            change(values)
            path.write_text(json.dumps(values))
        return audit(read_summary(path), organisations.agreement)

    return findings


@pytest.fixture
def whole(organisations):
    return {name: state(organisations, name) for name in ("north", "south", "west")}


def wrong(findings):
    return [finding.text for finding in findings if not finding.holds]


def test_a_whole_summary_holds(audited, whole):
    findings = audited(whole.values())
    assert wrong(findings) == []
    texts = [finding.text for finding in findings]
    assert texts[1] == "north: its signature holds; 193 bytes left it; ended: complete"
    assert texts[-1] == "the run converged after 4 iterations; 3 of 3 state it"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("job", "00" * 32),
        ("run", "00" * 16),
        ("client", 2),
        ("versions", {"secfc": "0.2.0"}),
        ("began", ""),
        ("introductions", None),
        ("took_part", ["north"]),
        ("sent", {"Hello": {"messages": 1, "bytes": 192}}),
        ("ended", "PartyError: party-vanished at west"),
        ("iterations", 5),
        ("converged", False),
    ],
)
def test_whatever_is_changed_in_a_statement_is_found(audited, whole, key, value):
    def change(values):
        values["statements"][0]["statement"][key] = value

    assert wrong(audited(whole.values(), change)) == [
        "north: its statement was changed, or signed by another key than the roster's"
    ]


OTHER_KEY = "south: its statement was changed, or signed by another key than the roster's"
WRONG = {
    "missing": (lambda made, all_: all_.pop("south"), "south: its statement is missing"),
    "another key": (lambda made, all_: all_.update(south=state(made, "south", key="north")), OTHER_KEY),
    "unknown signer": (
        lambda made, all_: all_.update(east=state(made, "east", key="west")),
        "'east': unknown signer; no party of the roster has this name",
    ),
    "twice": (
        lambda made, all_: all_.update(again=all_["west"]),
        "west: 2 statements in its name, there must be one",
    ),
    "another job": (
        lambda made, all_: all_.update(south=state(made, "south", job="11" * 32)),
        "south: signed for another job, 1111111111111111",
    ),
    "another number": (
        lambda made, all_: all_.update(south=state(made, "south", client=3)),
        "south: signed as client 3, in the roster it is client 2",
    ),
    "another run": (
        lambda made, all_: all_.update(west=state(made, "west", run="00" * 16)),
        "they state different runs: west differ from the others",
    ),
    "other introductions": (
        lambda made, all_: all_.update(west=state(made, "west", introductions="00" * 32)),
        "they were shown different introductions: west differ from the others",
    ),
    "another result": (
        lambda made, all_: all_.update(north=state(made, "north", iterations=3)),
        "they state different results: numbers of iterations, or whether the run converged",
    ),
}


@pytest.mark.parametrize(("change", "told"), WRONG.values(), ids=WRONG)
def test_statements_that_do_not_fit_together_are_found(audited, whole, organisations, change, told):
    change(organisations, whole)
    assert wrong(audited(whole.values())) == [told]


def test_a_summary_of_another_job_is_found(audited, whole, organisations, tmp_path):
    audited(whole.values())
    organisations.replace(organisations.job, "k = 2", "k = 3")
    texts = wrong(audit(read_summary(tmp_path / "summary.json"), organisations.agreement))
    assert texts[0].startswith("job or roster in it are not those of the job file")
    assert len(texts) == 4


def test_a_run_that_failed_has_a_summary_that_holds(audited, organisations):
    told = {"ended": "LimitError: limit at south", "iterations": None, "converged": None}
    findings = audited([state(organisations, name, **told) for name in ("north", "south", "west")])
    assert wrong(findings) == []
    assert findings[-1].text == "the run did not end with a result"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda v: v.update(format="secfc summary 2"), "format: 'secfc summary 1' is possible"),
        (lambda v: v.pop("statements"), "statements is needed"),
        (lambda v: v["statements"][0].update(signature="AAAA"), r"statements\[1\]\.signature: 64 bytes"),
        (lambda v: v["statements"][0]["statement"].update(run="xx"), r"statements\[1\]\.statement\.run: "),
        (lambda v: v["statements"][0]["statement"].update(extra=1), "extra: unknown key"),
        (lambda v: v["statements"][0]["statement"].update(ended="\x1b[2J"), "ended: printable characters"),
        (lambda v: v["statements"][0]["statement"]["sent"].update(Hello={}), r"Hello\.messages is needed"),
    ],
)
def test_what_is_no_summary_is_refused_by_key(audited, whole, change, told):
    with pytest.raises(ParameterError, match=rf"summary\.json: .*{told}"):
        audited(whole.values(), change)


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", "[" * 100_000, "1" * 5000])
def test_what_is_no_json_is_refused(tmp_path, text):
    (tmp_path / "summary.json").write_text(text)
    with pytest.raises(ParameterError, match=r"summary\.json"):
        read_summary(tmp_path / "summary.json")


def test_a_statement_that_was_sent_is_checked_in_form(whole):
    values = whole["north"].model_dump()
    assert statement_of(values, name="north") == whole["north"]
    with pytest.raises(ParameterError, match=r"^north: signature: 64 bytes"):
        statement_of(values | {"signature": ""}, name="north")
    with pytest.raises(ParameterError, match=r"^north: statement is needed"):
        statement_of({"signature": ""}, name="north")
