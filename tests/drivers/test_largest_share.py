"""Every driver ends a run before rows are shared if a party has a larger share than a client allows."""

import numpy as np
import pytest
from support.organisations import NAMES

from secfc.agreement.statement import read_summary
from secfc.drivers.deposits.committee import Committee
from secfc.drivers.in_process import run_in_process
from secfc.drivers.multiprocess import run_multiprocess
from secfc.drivers.setup import Setup
from secfc.drivers.sites.agreed_run import run_agreed
from secfc.errors import LimitError
from secfc.errors.codes import Code
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import make_job
from secfc.sharing import codewords

HALF = Limits(largest_share=0.5)


def run(made):
    return run_agreed(
        made.agreement,
        file=made.job,
        sites=[made.site(name) for name in NAMES],
        summary=made.folder / "summary.json",
    )


@pytest.mark.processes
@pytest.mark.parametrize("drive", [run_in_process, run_multiprocess])
def test_clients_of_a_simulation_refuse_by_name_by_themselves(setup_of, monkeypatch, drive):
    monkeypatch.setattr(codewords, "quantise", None)
    with pytest.raises(LimitError, match=r"but parties\[2\] has 7 of 12 rows$") as caught:
        drive(setup_of(limits=HALF))
    assert (caught.value.code, caught.value.clients) == (Code.LIMIT_SHARE, (3,))


def test_members_of_a_committee_refuse_an_owner_by_its_number():
    rows = [np.array([[1.0], [2.0]]), np.array([[3.0]]), np.array([[4.0], [5.0], [6.0], [7.0]])]
    job = make_job(n=3, k=2, t=1, ell=1, d=1, bound=9.0, seed=0)
    made = Committee.of(job, rows, keeps=False)
    setup = Setup(job=made.job, rows=rows, starts=None, names=list("abc"), limits=HALF, committee=made)
    with pytest.raises(LimitError, match=r"^. allows one party .* but owner 3 has 4 of 7 rows$") as caught:
        run_in_process(setup)
    assert (caught.value.clients, caught.value.owners) == ((), (3,))


@pytest.mark.processes
def test_a_site_allows_one_half_by_default(organisations):
    rows = organisations.folder / "west.csv"
    rows.write_text("\n".join(rows.read_text().splitlines()[:3]))  # 12 of 23 rows are north's
    with pytest.raises(LimitError, match=r"^[a-z]+: limit-share \(north\): "):
        run(organisations)
    logs = [(organisations.folder / f"{name}.log").read_text() for name in NAMES]
    assert any("share of 0.5 of all rows and of all weight" in log for log in logs)
    assert any("but north has 12 of 23 rows" in log for log in logs)
    statements = [one.statement for one in read_summary(organisations.folder / "summary.json").statements]
    assert len(statements) == 3
    assert not any("Step" in one.sent or one.iterations for one in statements)


def test_a_member_refuses_an_owner_by_its_number(closed_clinics):
    """Clinic 3 has 9 of 20 rows."""
    closed_clinics.allow_share(0.4, "north")
    with pytest.raises(LimitError, match=r"^north: limit-share \(owner \d+\): ") as caught:
        closed_clinics.network().run()
    assert caught.value.owners == (closed_clinics.number("clinic-3"),)
    closed_clinics.write_member("north")
    closed_clinics.allow_share(0.45, "north")
    closed_clinics.network(run=bytes(16)).run()
