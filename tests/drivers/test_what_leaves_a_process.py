"""If a site's data is wrong, its process's frames and the others' files are searched for its data."""

import pytest
from support.leaks import CASES, MARK, SITE, assert_no_mark, files_of_others

from secfc.agreement.audit import audit
from secfc.agreement.statement import read_summary
from secfc.drivers.calls import framing
from secfc.drivers.sites.agreed_run import run_agreed
from secfc.errors import SecFCError

pytestmark = pytest.mark.processes

CHOSEN = (
    "missing column",
    "text in a number column",
    "out of range",
    "values off the step",
    "absent file",
    "query that fails",
    "results in a file",
    "absent key",
    "limit on columns",
    "ID held twice by the site",
    "unknown category",
    "too many deviations",
)


@pytest.mark.some(2)
@pytest.mark.parametrize("name", CHOSEN)
def test_of_a_data_error_its_type_and_code_leave_and_nothing_else(tmp_path, monkeypatch, capfd, caplog, name):
    case, left, read = CASES[name], [], framing.read_frame

    def read_frame(stream, **kinds):
        frame = read(stream, **kinds)
        left.extend([] if frame is None else [frame[1]])
        return frame

    monkeypatch.setattr(framing, "read_frame", read_frame)
    made = case.kind(tmp_path)
    case.spoil(made)
    summary, error, lost = tmp_path / "summary.json", None, {}
    try:
        outcome = run_agreed(
            made.agreement, file=made.job, sites=[made.site(one) for one in made.names], summary=summary
        )
        lost = outcome.lost
    except SecFCError as caught:
        error = caught
    told = lost.get(2, error)
    assert told.code is case.code
    assert str(told).startswith(f"{SITE}: {case.code}")
    found = {f"frame {at}": data for at, data in enumerate(left)} | files_of_others(made, summary)
    found |= {"errors": repr((error, lost)).encode(), "logs": caplog.text.encode()}
    found["terminal"] = "".join(capfd.readouterr()).encode()
    assert_no_mark(found, tmp_path)
    if summary.exists():
        read_again = read_summary(summary)
        assert [one.text for one in audit(read_again, made.agreement) if not one.holds] in (
            [],
            [f"{SITE}: its statement is missing"],
        )
    own = made.site(SITE).with_suffix(".log")
    assert f": {case.code}: " in own.read_text()
    assert own.stat().st_mode & 0o077 == 0
    if case.told:
        assert MARK in own.read_text()
