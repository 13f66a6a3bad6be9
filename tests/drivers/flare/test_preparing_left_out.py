"""A job opens totals and centres, and a site is lost in between: a difference would have its values."""

import numpy as np
import pytest
from support.network import Network, names_of_lost
from support.preparing import OPENING, SCHEMA, Preparing, on_step, step_of

from secfc.errors import CheatError, TooManyFaultsError
from secfc.prepare.preparation_file import PREPARATION, read_preparation
from secfc.protocol.gathering import Gathering
from secfc.protocol.messages import StepNotice

pytestmark = pytest.mark.usefixtures("clock")

CONSENT = '[limits]\nopen_statistics = 5\nreveal_centres = ["south"]\nsmallest_set = 5\n'


class Four(Preparing):
    """Three organisations with many rows and one with a single row; centres are for south."""

    names = ("north", "south", "west", "east")

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

    def found(self, name, file):
        return [path for folder in self.folder.glob(f"results-{name}/*") for path in folder.glob(file)]


def has_sent_its_sums(client, message):
    return step_of(client) == OPENING


def east_vanishes(monkeypatch, when):
    """East, client 4, vanishes when it gets such a message; return them, and the spoiler."""
    gone = []

    def act(client, message):
        if when(client, message):
            gone.append(message)
            raise RuntimeError

    def spoil(site, call, deliver):
        answer = deliver()
        return None if site == "east" and gone else answer

    on_step(monkeypatch, 4, act)
    return gone, spoil


def test_a_site_that_is_lost_after_totals_ends_the_run_and_no_centre_is_opened(tmp_path, monkeypatch):
    """Totals minus sums of clusters would be east's one age (tests/protocol/test_composition.py)."""
    made, (gone, spoil) = Four(tmp_path), east_vanishes(monkeypatch, has_sent_its_sums)
    network = Network(made, deadline=1.0, spoil=spoil)
    text = "client 4: absent; no party can be left out, .* all 4 .*"
    with pytest.raises(TooManyFaultsError, match=text) as caught:
        network.run()
    assert caught.value.clients == (4,)
    assert gone
    (summary,) = made.found("south", PREPARATION)
    assert read_preparation(summary).statistics["age"].count == 51
    assert not any(made.found(name, "labels.csv") for name in made.names)
    assert not made.found("south", "centres.csv")


def test_centres_include_the_row_of_a_site_that_is_lost_after_it_has_shared(tmp_path, monkeypatch):
    made = Four(tmp_path)
    gone, spoil = east_vanishes(monkeypatch, lambda _, message: isinstance(message, StepNotice))
    network = Network(made, deadline=1.0, spoil=spoil)
    network.run()
    assert gone
    assert names_of_lost(network) == {"east": "PartyError: east: no answer within 1 s"}
    assert network.coordinator.report.counts == [14, 19, 17, 1]
    assert made.found("south", "centres.csv")


def test_a_coordinator_that_leaves_a_site_out_after_totals_is_refused_by_the_others(
    tmp_path, monkeypatch, caplog
):
    made = Four(tmp_path)
    monkeypatch.setattr(Gathering, "check_dispensable", lambda *_, **__: None)
    _, spoil = east_vanishes(monkeypatch, has_sent_its_sums)
    text = "StepNotice: without client 4, whose values are in the means and deviations that were opened"
    # How many sites have refused when the run ends depends on timing.
    with pytest.raises((CheatError, TooManyFaultsError), match="bad-message: a message is refused"):
        Network(made, deadline=1.0, spoil=spoil).run()
    assert text in caplog.text
    assert not made.found("south", "centres.csv")
