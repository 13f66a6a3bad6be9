"""A server that calls a client lost to some of the others, and what parties are sent then."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
from support.recorded import recorded_noise
from support.wire import RUN, UnionWire, Wire

from plaintext_baselines import ExactLloyd
from secfc.crypto.randomness import MaskSource
from secfc.errors import SecFCError
from secfc.field.packing import from_bytes, size_of
from secfc.field.primes import primes_above
from secfc.operations.ending import noise as noise_file
from secfc.operations.ending.centres import centres_of
from secfc.protocol.messages import SERVER, Step, StepNotice
from secfc.protocol.parties.inbox import Place
from secfc.protocol.parties.party import Party
from secfc.protocol.program import whose_rows
from secfc.protocol.program.stepping import LOST, Stepping, packed
from secfc.protocol.states import State

_RNG = np.random.default_rng(3)
ROWS = [_RNG.normal(size=(m, 2)).round(2) + 4 * _RNG.integers(0, 2, (m, 1)) for m in (4, 5, 3, 1, 2)]
WIDE = {
    "share": True,
    "tables": True,
    "hidden": True,
    "answer": True,
    "sums": False,
    "sizes": False,
    "labels": False,
}
"""Tags of shares of what is computed, and whether it is <x>."""


class SplitViews:
    """A run in which the server withholds from some holders what a client sends from a step on.

    Then it tells them, and nobody else, that this client is lost. With `hides` it tells all that they refuse
    nothing. An error ends the run for its party alone.
    """

    def __init__(self, monkeypatch, *, union=False, victim=5, told=(), step=0, hides=False, **more):
        self.victim, self.told, self.step, self.hides = victim, set(told), step, hides
        self.errors, self.inside = {}, {}  # by party; whose noise is in, as it finds
        self.numbers = {}  # of each client's rows in a union
        self.deals = []  # the steps in which the client deals to others that it may be lost to
        self._notified, self._steps_of = set(), {}
        self._shares = defaultdict(dict)  # by step, tag and recipient, then by sender
        self._record(monkeypatch)
        more = {"disclosure": "labels", "max_iter": 3} | more
        self.net = UnionWire(ROWS, salt=bytes(16), **more) if union else Wire(ROWS, **more)

    def _record(self, monkeypatch):
        send, message, inside = Party.send, Stepping._message, noise_file.dealers_inside
        found = whose_rows.united

        def sent(me, recipient, tag, data):
            if tag in WIDE:
                self._shares[me.step, tag, recipient][me.number] = bytes(data)
            if tag == "root" and (me.number, recipient) == (self.victim, SERVER):
                self.deals.append(me.step)
            if tag == "refused" and self.hides and me.number in self.told:
                data = bytes(len(data))
            send(me, recipient, tag, data)

        def of(steps, recipient, letters):
            found = message(steps, recipient, letters)
            if isinstance(found, Step):
                self._steps_of[found.sender, recipient, found.place] = max(one.step for one, _ in letters)
            return found

        def dealers(me, *given, **more):
            self.inside[me.number] = inside(me, *given, **more)
            return self.inside[me.number]

        def united(me, plan, tokens):
            m, self.numbers[me.number] = yield from found(me, plan, tokens)
            return m, self.numbers[me.number]

        monkeypatch.setattr(whose_rows, "united", united)
        monkeypatch.setattr(Party, "send", sent)
        monkeypatch.setattr(Stepping, "_message", of)
        monkeypatch.setattr(noise_file, "dealers_inside", dealers)
        self.noise = recorded_noise(monkeypatch)

    def run(self):
        while links := self.net.pending():
            message = self.net.take(links[0])
            if message.recipient in self.errors or self._withholds(message):
                continue
            self._deliver(message)
            self._notify()
        return self

    def _withholds(self, message):
        if (
            not isinstance(message, Step)
            or message.sender != self.victim
            or message.recipient not in self.told
        ):
            return False
        return self._steps_of[message.sender, message.recipient, message.place] >= self.step

    def _deliver(self, message):
        try:
            self.net.deliver(message)
        except SecFCError as error:
            self._ended(message.recipient, error)

    def _ended(self, party, error):
        """The server goes on without a client that has left the run."""
        self.errors[party] = error
        if SERVER not in self.errors and party != SERVER:
            try:
                self.net.post(self.net.server.absent(party))
            except SecFCError as error:
                self.errors[SERVER] = error

    def _notify(self):
        for holder in self.told - self._notified - self.errors.keys():
            steps = getattr(self.net.clients[holder], "_steps", None)
            if steps is not None and steps.me.step >= self.step:
                self._notified.add(holder)
                letter = Place(self.step, LOST, bytes(32)), self.victim.to_bytes(2)
                self._deliver(StepNotice(run=RUN, sender=SERVER, recipient=holder, data=packed([letter])))

    @property
    def steps(self):
        """The number of steps of the run."""
        return max(step for step, _, _ in self._shares)

    @property
    def senders(self):
        """The holders that sent a share of anything that is computed."""
        return {sender for sent in self._shares.values() for sender in sent}

    def last_shares(self, tag):
        """Who sent the last shares with a tag."""
        return set(max((at[0], set(sent)) for at, sent in self._shares.items() if at[1] == tag)[1])

    def assert_shares_lie_on_polynomials(self):
        """So whatever a party is sent tells it nothing else than what is opened."""
        code, few = self._code, primes_above(self.net.m, what="rows")
        for (step, tag, recipient), sent in self._shares.items():
            count = {"share": 1, "tables": 1, "labels": 1, "sizes": few}.get(tag, len(code.primes))
            primes = code.primes[:count]
            (size,) = {len(data) // size_of(1, primes) for data in sent.values()}
            shares = {j: from_bytes(data, (size,), primes) for j, data in sent.items()}
            if len(shares) < (code.wide if WIDE[tag] else code.narrow):
                continue  # so few always lie on one
            word = replace(code, primes=primes).contains(shares, MaskSource(), wide=WIDE[tag])
            assert word, f"step {step}: {tag} to {recipient} of {', '.join(map(str, sent))}"

    @property
    def _code(self):
        return self.net.clients[1]._steps.me.code

    @property
    def done(self):
        """The clients that ended with labels."""
        return [
            j for j, one in self.net.clients.items() if one.state is State.DONE and one.labels is not None
        ]

    def assert_exact(self):
        """Those who ended did so with the labels of Lloyd, and with exact sums and all noise."""
        if not self.done:
            return
        results = [self.net.clients[j]._steps.result for j in self.done]
        layout = self.net.clients[self.done[0]]._layout
        inside = [j for j, count in enumerate(layout.counts, 1) if count]
        assert len({one.result.start.tobytes() for one in results}) == 1
        places = {j: self._places(j, inside) for j in inside}
        rows = np.empty((layout.m, 2))
        for j, at in places.items():
            rows[at] = self.net.rows[j - 1]
        job = self.net.job
        exact = ExactLloyd(
            job.k, init=[results[0].result.start], bound=20.0, precision=job.precision, max_iter=3
        ).fit([rows])
        labels = exact.labels_[0]
        for j in set(self.done) & places.keys():  # helpers have no rows
            assert self.net.clients[j].labels.tolist() == labels[places[j]].tolist()
        self._assert_centres(rows, labels)

    def _places(self, client, inside):
        if client in self.numbers:
            return self.numbers[client]
        return np.arange(
            *np.cumsum([0, *(len(self.net.rows[j - 1]) for j in inside)])[inside.index(client) :][:2]
        )

    def _assert_centres(self, rows, labels):
        job = self.net.job
        whole = np.rint(np.ldexp(rows, job.exponent)).astype(np.int64).astype(object)
        sums = np.array([whole[labels == h].sum(axis=0) for h in range(job.k)])
        if self.inside:
            (inside,) = set(map(tuple, self.inside.values()))
            sums = sums + sum(self.noise[self.net.masks[j]] for j in inside)
        expected = centres_of(sums.T.tolist(), job=job, sizes=np.bincount(labels, minlength=job.k))
        for j in set(self.done) & set(job.opened.to):
            np.testing.assert_array_equal(self.net.clients[j].centres, expected)
