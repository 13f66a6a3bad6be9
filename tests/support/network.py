"""A coordinator and sites in one process, and faults of the network and of sites."""

import threading
from functools import partial

import numpy as np

from plaintext_baselines import ExactLloyd
from secfc.agreement.key_files import COORDINATOR_KEY, read_key
from secfc.agreement.statement import write_summary
from secfc.drivers.calls.callee import Callee
from secfc.drivers.calls.coordinator import Coordinator
from secfc.drivers.calls.envelopes import decode_call
from secfc.drivers.sites.site_files import SiteFiles
from secfc.drivers.terms import RunTerms
from secfc.protocol.client import Client

RUN = bytes(range(16))


class Network:
    """Carries calls to sites of this process. `spoil` may change, lose or answer any of them."""

    def __init__(
        self, organisations, *, deadline=5.0, spoil=None, aborted=lambda: False, absent=(), run=None
    ):
        self.sites = {
            name: Callee(partial(SiteFiles, name=name, file=organisations.site(name)))
            for name in (*organisations.names, *organisations.helpers)
        }
        self.calls, self._spoil = [], spoil
        self._working = threading.Lock()  # in a real run sites do not share an interpreter
        self._agreement = agreement = organisations.agreement
        self.coordinator = Coordinator(
            terms=RunTerms.of(agreement),
            run=run or RUN,
            identity=read_key(organisations.folder / COORDINATOR_KEY),
            send=self._send,
            deadline=deadline,
            aborted=aborted,
            absent=absent,
        )

    def _send(self, name, data, timeout):
        self.calls.append((name, decode_call(data).kind))

        def deliver():
            with self._working:
                return self.sites[name].answer(data)

        return deliver() if self._spoil is None else self._spoil(name, decode_call(data), deliver)

    def run(self):
        return self.coordinator.run()

    def write_summary(self, path, error):
        """Write the summary as a driver does when the run has ended."""
        one = self.coordinator
        write_summary(path, self._agreement, one.statements.values(), one.summary(error))

    @property
    def transcript(self):
        """Transcript of the run, which determines the salt of hashed IDs."""
        return self.coordinator.server.transcript


def on_receive(monkeypatch, number, act):
    """Have a client call `act` before it takes a message. If `act` raises, the client's process breaks."""
    real = Client.receive

    def receive(self, message):
        if self.number == number:
            act(message)
        return real(self, message)

    monkeypatch.setattr(Client, "receive", receive)


def assert_exact(organisations, network, *, left_out=()):
    """All labels that exist equal those of Lloyd in exact integers on the rows that took part."""
    lost, out = names_of_lost(network), set(left_out)
    rows = [
        part for name, part in zip(organisations.names, organisations.rows, strict=True) if name not in out
    ]
    starts = np.split(network.coordinator.report.start, np.cumsum([len(part) for part in rows])[:-1])
    job = organisations.agreement.job
    exact = ExactLloyd(job.k, init=starts, bound=job.bound, precision=job.precision).fit(rows)
    for name, labels in zip([n for n in organisations.names if n not in out], exact.labels_, strict=True):
        if name not in lost:
            np.testing.assert_array_equal(organisations.labels(name), labels)


def names_of_lost(network):
    """Sites that the run continued without, in the order in which they were lost, and why."""
    sites = list(network.sites)
    return {sites[j - 1]: f"{type(why).__name__}: {why}" for j, why in network.coordinator.lost.items()}


def vanishes(monkeypatch, kind, *numbers, when=lambda message: True):
    """Sites vanish when they get their first message of this type, or the first for which `when` holds."""
    gone = set()
    for number in numbers:

        def act(message, number=number):
            if isinstance(message, kind) and when(message):
                gone.add(f"site-{number}")
                raise RuntimeError

        on_receive(monkeypatch, number, act)

    def spoil(site, call, deliver):
        answer = deliver()
        return None if site in gone else answer

    return spoil
