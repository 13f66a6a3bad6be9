"""Three organisations whose job prepares data: numbers in other units, a category, missing values."""

import csv

import numpy as np
from support.organisations import NAMES, Organisations

from secfc import Prepare
from secfc.prepare import Schema
from secfc.protocol.client import Client

SCHEMA = """\
smallest = 3

[[column]]
name = "age"
unit = "years"
low = 0
high = 120
scale = "standardise"
deviations = 8
missing = "mean"

[[column]]
name = "dose"
unit = "mg"
low = 0
high = 50
scale = "min-max"
clip = true

[[column]]
name = "smoker"
categories = ["never", "former", "current"]
missing = "zero"
"""

CONSENT = "[limits]\nopen_statistics = 3\n"


HOLDERS, DEALING, OPENING = 1, 2, 3
"""Steps of the program in which totals are opened."""


def step_of(client):
    """The step of the program in which a client is, 0 before the plan."""
    steps = client._steps
    return 0 if steps is None else steps.me.step


def on_step(monkeypatch, number, act):
    """Have a client call `act` with itself and each message. It may raise, or return a message instead."""
    real = Client.receive

    def receive(self, message):
        if self.number == number:
            message = act(self, message) or message
        return real(self, message)

    monkeypatch.setattr(Client, "receive", receive)


def tables(seed=5):
    """A table of texts for each organisation. Two have missing ages; one has a dose out of range."""
    rng = np.random.default_rng(seed)
    found = {}
    for name, m in zip(NAMES, (14, 9, 7), strict=True):
        age = [f"{one:.1f}" for one in rng.choice([25, 70], m) + rng.normal(0, 4, m)]
        dose = [f"{one:.2f}" for one in rng.uniform(1, 49, m)]
        smoker = rng.choice(["never", "former", "current", ""], m).tolist()
        found[name] = {"age": age, "dose": dose, "smoker": smoker}
    found["north"]["age"][3] = found["west"]["age"][0] = ""
    found["south"]["dose"][2] = "61.5"
    return found


class Preparing(Organisations):
    """Files of the organisations. All have signed."""

    def __init__(self, folder, *, schema=SCHEMA, values=None):
        super().__init__(folder)
        self.values = values or tables()
        text = self.job.read_text()
        text = text[: text.index("[columns]")].replace("roster =", 'prepare = "schema.toml"\nroster =')
        self.job.write_text(f'{text}init = "random"\n')
        self.schema = folder / "schema.toml"
        self.schema.write_text(schema)
        for name in self.names:
            self.write_table(name)
            self.write_site(name, more=CONSENT)
        self.sign()

    def change(self, name, column, row, value):
        self.values[name][column][row] = value
        self.write_table(name)

    def prepared(self):
        """Rows and preparation, computed with all rows in one process."""
        values = [
            {name: [one or None for one in column] for name, column in self.values[site].items()}
            for site in self.names
        ]
        model = Prepare(Schema.read(self.schema), t=1, names=list(self.names))
        return model.fit_transform(values), model.preparation_

    def write_table(self, name, titles=None):
        """Write a site's file, with one more column that is not in the agreement."""
        columns = self.values[name]
        titles = titles or list(columns)
        with (self.folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["patient", "note", *titles])
            for at, row in enumerate(zip(*columns.values(), strict=True)):
                writer.writerow([f"{name}-{at}", "private", *row])
