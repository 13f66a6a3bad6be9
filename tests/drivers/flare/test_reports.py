"""A site's report may contain anything: the run stays complete, and its summary can be read."""

import json

import pytest
from support.network import Network, assert_exact, names_of_lost

from secfc.agreement import statement
from secfc.agreement.statement import read_summary
from secfc.drivers.calls.envelopes import Answer, Kind, decode_answer, from_json
from secfc.report.agreed_page import write_agreed_report

pytestmark = pytest.mark.usefixtures("clock")


@pytest.mark.some(2)
@pytest.mark.parametrize(
    "spoiled",
    [
        {"sent": {"Step": {"messages": 1, "bytes": 1, "unknown": 1}}},
        {"sent": {"\x1b[2Jall is well": {"messages": 1, "bytes": 1}}},
        {"versions": {"\ud800": "1"}},
        {"seconds": [["share", "client", 10**400]]},
        {"seconds": [["share", "client", float("nan")]]},
        {"seconds": [["share", "client", -1.0]]},
        {"seconds": [["share", "server", 1.0]]},
        {"seconds": [["another", "client", 1.0]]},
        {"seconds": [[["share"], {}, "1"]]},
        {"seconds": 5},
        {"versions": {f"library {at}": "1" * 1000 for at in range(5000)}},
        {"sent": {"Step": {"messages": 10**4000, "bytes": 1}}},
    ],
    ids=[
        "unknown",
        "escape",
        "surrogate",
        "large",
        "nan",
        "negative",
        "server",
        "phase",
        "types",
        "no list",
        "long",
        "count",
    ],
)
def test_a_report_of_another_form_is_its_sites_fault_and_leaves_the_run_complete(
    organisations, tmp_path, spoiled
):
    def spoil(site, call, deliver):
        answer = decode_answer(deliver())
        if site != "site-2" or answer.kind is not Kind.REPORT:
            return answer.encode()
        report = from_json(answer.body)
        part = report if "seconds" in spoiled else report["statement"]["statement"]
        part.update(spoiled)
        return Answer(kind=Kind.REPORT, number=answer.number, body=json.dumps(report).encode()).encode()

    made = organisations(20, 10, 30)
    network = Network(made, spoil=spoil)
    network.run()
    assert_exact(made, network)
    assert list(names_of_lost(network)) == ["site-2"]
    network.write_summary(tmp_path / "s.json", None)
    summary = read_summary(tmp_path / "s.json")
    assert {"site-1", "site-3"} <= {one.statement.party for one in summary.statements}
    page = write_agreed_report(summary, made.agreement, tmp_path / "r.html", name="s.json")
    assert "site-3" in page.read_text()


def test_whatever_error_a_report_causes_the_others_are_told_how_the_run_ended(organisations, monkeypatch):
    real = statement.statement_of

    def fails(values, *, name):
        if name == "site-1":
            raise RuntimeError("a fault of ours")
        return real(values, name=name)

    monkeypatch.setattr(statement, "statement_of", fails)
    made = organisations(20, 10, 30)
    network = Network(made)
    network.run()
    assert_exact(made, network)
    assert list(names_of_lost(network)) == ["site-1"]
    assert sorted(network.coordinator.statements) == [2, 3]
