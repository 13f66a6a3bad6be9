"""A site's report may contain anything: the run stays complete, and its summary can be read."""

import json

import pytest
from support.network import Network, assert_exact, names_of_lost

from secfc.agreement.statement import read_summary
from secfc.drivers.calls import Answer, Kind, decode_answer
from secfc.report.agreed import write_agreed_report

pytestmark = pytest.mark.usefixtures("clock")


@pytest.mark.some(2)
@pytest.mark.parametrize(
    "spoiled",
    [
        {"seconds": [["share", "client", 10**400]]},
        {"seconds": [["share", "client", float("nan")]]},
        {"seconds": [["share", "client", -1.0]]},
        {"seconds": [["share", "server", 1.0]]},
        {"seconds": [["another", "client", 1.0]]},
        {"seconds": [[["share"], {}, "1"]]},
        {"seconds": 5},
        {"versions": {f"library {at}": "1" * 1000 for at in range(5000)}},
        {"sent": {"Share": {"messages": 10**4000, "bytes": 1}}},
    ],
    ids=["large", "nan", "negative", "server", "phase", "types", "no list", "long", "count"],
)
def test_a_report_of_another_form_is_its_sites_fault_and_leaves_the_run_complete(
    organisations, tmp_path, spoiled
):
    def spoil(site, call, deliver):
        answer = decode_answer(deliver())
        if site != "site-2" or answer.kind is not Kind.REPORT:
            return answer.encode()
        report = json.loads(answer.body)
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
