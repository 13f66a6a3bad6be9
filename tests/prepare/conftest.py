"""A fake network between the parties of a preparation."""

from collections import defaultdict, deque
from dataclasses import replace

import numpy as np
import pytest

from secfc.crypto.identity import Identity, Roster
from secfc.crypto.randomness import MaskSource
from secfc.prepare import Column, Schema
from secfc.prepare.opening_role import Preparer, Terms
from secfc.prepare.preparing_wire import decode, encode
from secfc.prepare.statistics import of_column

RUN = bytes(range(16))
COLUMNS = (
    Column(name="age", low=0, high=120, scale="standardise"),
    Column(name="dose", low=0, high=50, missing="mean"),
)


class Wire:
    """The parties and the mail between them: one queue for each sender and recipient."""

    def __init__(self, values=None, *, n=3, t=1, columns=COLUMNS, smallest=1, run=RUN):
        rng = np.random.default_rng(n)
        self.values = values or [
            {column.name: rng.uniform(column.low, column.high, size=4) for column in columns}
            for _ in range(n)
        ]
        self.terms = Terms(n=len(self.values), t=t, schema=Schema(columns=columns, smallest=smallest))
        self.identities = [Identity() for _ in self.values]
        roster = Roster(tuple(one.public for one in self.identities))
        self.session = self.terms.session(run=run, roster=roster)
        self.parties = {j: self.party(j) for j in range(1, self.terms.n + 1)}
        self.links = defaultdict(deque)
        self.sent = []
        for party in self.parties.values():
            self.post(party.start())

    def party(self, number, **other):
        sums = [
            of_column(np.asarray(self.values[number - 1][column.name], dtype=float), column)
            for column in self.terms.schema.opened
        ]
        given = {
            "terms": self.terms,
            "session": self.session,
            "identity": self.identities[number - 1],
            "sums": sums,
            "masks": MaskSource(),
        }
        return Preparer(number=number, **given | other)

    def post(self, messages):
        for message in messages:
            data = bytes(encode(message))
            self.sent.append(data)
            self.links[message.sender, message.recipient].append(data)

    def pending(self):
        return [link for link, queue in self.links.items() if queue]

    def take(self, sender, recipient):
        """Remove the next message from a link and return it."""
        return decode(self.links[sender, recipient].popleft())

    def deliver(self, message):
        self.post(self.parties[message.recipient].receive(message))

    def resealed(self, message, payload):
        """A message with other content, sealed by its sender."""
        channel = self.parties[message.sender]._channels[message.recipient]
        channel._sealed.clear()
        return replace(message, sealed=channel.seal(message.purpose, part=0, payload=payload))

    def run(self, choose=lambda links: links[0], until=None):
        """Deliver until no message is left, or until `until` accepts one."""
        while links := self.pending():
            message = self.take(*choose(links))
            if until is not None and until(message):
                return message
            self.deliver(message)
        return None


@pytest.fixture
def wire():
    return Wire
