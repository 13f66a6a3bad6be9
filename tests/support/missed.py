"""Sites that die in a run and miss their labels, and what others can do to the copies for them."""

import base64
import json

import numpy as np
from support.network import Network, on_receive

from secfc.agreement.audit import place_of
from secfc.agreement.copies import make_copies
from secfc.agreement.keys import read_key
from secfc.agreement.site_file import read_site
from secfc.agreement.statement import Statement
from secfc.drivers.coordinator import Coordinator
from secfc.drivers.fetching import fetch_labels
from secfc.protocol.messages import Finish


def dying(made, monkeypatch, dies=(), *, kind=Finish, round_=0):
    """A network in which sites die at a message of a type: from then on they take no call."""
    gone = set()
    for number in dies:

        def act(message, name=made.sites[number - 1]):
            if isinstance(message, kind) and message.round == round_ and name not in gone:
                gone.add(name)
                raise RuntimeError

        on_receive(monkeypatch, number, act)

    def spoil(site, call, deliver):
        answer = None if site in gone else deliver()
        return None if site in gone else answer

    return Network(made, deadline=1.0, spoil=spoil)


def summary_of(network, made):
    path = made.folder / "summary.json"
    network.write_summary(path, None)
    return path


def fetch(made, name):
    return fetch_labels(read_site(made.config(name)), made.folder / "summary.json")


def change(made, act):
    """Change the summary, as anybody who carries it can."""
    path = made.folder / "summary.json"
    values = json.loads(path.read_text())
    act(values["statements"])
    path.write_text(json.dumps(values))


def flip(text, at):
    """Base64 of the same bytes with one bit flipped."""
    data = bytearray(base64.b64decode(text))
    data[at] ^= 1
    return base64.b64encode(data).decode()


def forged(made, *numbers, labels=None, n_iter=3):
    """These clients lie: they sign wrong labels of the fourth site's rows, or another result."""

    def act(values):
        agreement = made.agreement
        for one in values:
            if one["statement"]["client"] in numbers:
                place = place_of(Statement(**one["statement"]), agreement)
                lies = make_copies(
                    [(4, np.zeros(5, dtype=np.int32) if labels is None else labels)],
                    n_iter=n_iter,
                    converged=True,
                    place=place,
                    job=agreement.job,
                    roster=agreement.consortium.roster,
                    identity=read_key(made.folder / f"site-{place.maker}.key"),
                )
                one["copies"] = [copy.model_dump() for copy in lies]

    change(made, act)


def says_missed(monkeypatch, *numbers):
    """A coordinator that claims that these sites missed the result."""
    real = Coordinator._close

    def close(self, ended, missed=(), **given):
        real(self, ended, numbers, **given)

    monkeypatch.setattr(Coordinator, "_close", close)
