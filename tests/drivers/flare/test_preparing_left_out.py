"""A job opens totals and centres, and a site is lost in between: a difference would have its values."""

import csv

import numpy as np
import pytest
from support.network import Network, on_receive
from support.preparing import SCHEMA, Preparing

from plaintext_baselines import ExactLloyd
from secfc.errors import MessageError, TooManyFaultsError
from secfc.prepare.summary import SUMMARY, read_summary
from secfc.protocol.messages import Plan, Share
from secfc.protocol.phases.server_phase import ServerPhase

pytestmark = pytest.mark.usefixtures("clock")

CONSENT = '[limits]\nopen_statistics = 5\nreveal_centres = ["south"]\nsmallest_set = 5\n'


class Four(Preparing):
    """Three organisations with many rows and one with a single row; centres are for south."""

    names = sites = ("north", "south", "west", "east")

    def __init__(self, folder):
        rng = np.random.default_rng(11)
        values = {
            name: {
                "age": [f"{one:.1f}" for one in rng.choice([25, 70], m) + rng.normal(0, 4, m)],
                "dose": [f"{one:.2f}" for one in rng.uniform(1, 49, m)],
                "smoker": ["never"] * m,
            }
            for name, m in zip(self.names, (14, 19, 17, 1), strict=True)
        }
        super().__init__(folder, schema=SCHEMA.replace("smallest = 3", "smallest = 5"), values=values)
        self.replace(self.job, "k = 2", 'k = 2\nreveal_centres = ["south"]')
        self.job.write_text(self.job.read_text() + "\n[limits]\nsmallest_set = 5\n")
        for name in self.names:
            self.write_site(name, more=CONSENT)
        self.sign()

    def config(self, name):
        return self.site(name)

    def found(self, name, file):
        return [path for folder in self.folder.glob(f"results-{name}/*") for path in folder.glob(file)]


def east_vanishes(monkeypatch, kind):
    """East, client 4, vanishes when it gets a message of this type; return them, and the spoiler."""
    gone = []

    def act(message):
        if isinstance(message, kind):
            gone.append(message)
            raise RuntimeError

    def spoil(site, call, deliver):
        answer = deliver()
        return None if site == "east" and gone else answer

    on_receive(monkeypatch, 4, act)
    return gone, spoil


@pytest.mark.parametrize("kind", [Plan, Share])
def test_a_site_that_is_lost_after_totals_ends_the_run_and_no_centre_is_opened(tmp_path, monkeypatch, kind):
    """Totals minus sums of clusters would be east's one age (tests/protocol/test_composition.py)."""
    made, (gone, spoil) = Four(tmp_path), east_vanishes(monkeypatch, kind)
    network = Network(made, deadline=1.0, spoil=spoil)
    text = "client 4: absent; no party can be left out, .* all 4 .*; lost of 4: east"
    with pytest.raises(TooManyFaultsError, match=text):
        network.run()
    assert gone
    (summary,) = made.found("south", SUMMARY)
    assert read_summary(summary).statistics["age"].count == 51
    assert not any(made.found(name, "labels.csv") for name in made.names)
    assert not made.found("south", "centres.csv")


def test_a_coordinator_that_leaves_a_site_out_after_totals_is_refused_by_the_others(
    tmp_path, monkeypatch, caplog
):
    made = Four(tmp_path)
    monkeypatch.setattr(ServerPhase, "_check_dispensable", lambda *_: None)
    _, spoil = east_vanishes(monkeypatch, Share)
    text = "LeaveOut: without client 4, whose values are in the means and deviations that were opened"
    # How many sites have refused when the run ends depends on timing.
    refused = (MessageError, TooManyFaultsError)
    with pytest.raises(refused, match="bad-message: a message is refused"):
        Network(made, deadline=1.0, spoil=spoil).run()
    assert text in caplog.text
    assert not made.found("south", "centres.csv")


def test_with_all_sites_labels_are_exact_and_centres_those_of_the_rows(tmp_path):
    made = Four(tmp_path)
    network = Network(made)
    report = network.run()
    (prepared, preparation), job = made.prepared(), made.agreement.job
    starts = np.split(report.start, np.cumsum([len(rows) for rows in prepared])[:-1])
    exact = ExactLloyd(job.k, init=starts, bound=job.bound, precision=job.precision).fit(prepared)
    for name, labels in zip(made.names, exact.labels_, strict=True):
        (path,) = made.found(name, "labels.csv")
        with path.open() as file:
            assert [int(row["label"]) for row in csv.DictReader(file)] == labels.tolist()
    (path,) = made.found("south", "centres.csv")
    with path.open() as file:
        found = np.array([[float(row[name]) for name in preparation.names] for row in csv.DictReader(file)])
    rows, labels = preparation.restore(np.concatenate(prepared)), np.concatenate(exact.labels_)
    np.testing.assert_allclose(found, [rows[labels == h].mean(axis=0) for h in range(job.k)], atol=1e-6)
