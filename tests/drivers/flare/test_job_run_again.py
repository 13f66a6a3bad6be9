"""A coordinator that colludes with a recipient of centres submits a signed job again, to subtract two runs.

Start labels of the second run would differ in one row, and the difference of the opened sums would be that
row. The coordinator chooses start labels, so sites refuse the run before they send anything.
"""

import pytest
from support import network as networks
from support.network import Network, assert_exact

from secfc.agreement.key_files import COORDINATOR_KEY, read_key
from secfc.drivers.calls.envelopes import Call, Kind, Place, decode_answer
from secfc.errors import AgreementError

pytestmark = pytest.mark.usefixtures("clock")

SECOND = bytes(reversed(range(16)))


@pytest.fixture
def once(organisations):
    """Three sites that agreed on one run; the first one gets the centres."""
    made = organisations(20, 10, 30, reveal_centres=["site-1"])
    made.job.write_text(made.job.read_text().replace("runs = 100\n", ""))
    for name in made.sites:
        made.configure(name, more='[limits]\nreveal_centres = ["site-1"]\n')
    made.sign(made.job)
    assert made.agreement.runs == 1
    return made


def test_every_site_refuses_a_second_run_of_the_job_and_no_introduction_leaves_it(once, monkeypatch):
    first = Network(once)
    first.run()
    assert_exact(once, first)
    assert (once.written("site-1")[0] / "centres.csv").exists()
    before = {name: once.written(name) for name in once.sites}
    monkeypatch.setattr(networks, "RUN", SECOND)
    with pytest.raises(AgreementError):
        Network(once).run()
    assert {name: once.written(name) for name in once.sites} == before
    agreement, key = once.agreement, read_key(once.folder / COORDINATOR_KEY)
    for number, name in enumerate(once.sites, 1):
        place = Place(run=SECOND, agreement=agreement.digest, recipient=number)
        fresh = Network(once).sites[name]
        told = decode_answer(fresh.answer(Call(kind=Kind.OPEN, number=0, place=place, body=b"").signed(key)))
        assert told.kind is Kind.ERROR
        assert b"AgreementError" in bytes(told.body)
