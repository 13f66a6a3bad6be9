"""Three members of a committee and clinics that deposit rows with them, with their files in one folder."""

import csv
from types import SimpleNamespace

import numpy as np
from support.network import RUN, Network
from support.organisations import Organisations

from secfc.agreement.consortium import Member as Party
from secfc.agreement.deposits.admission import admit, read_certificate
from secfc.agreement.deposits.holdings import Deposits, deposited
from secfc.agreement.key_files import read_key, write_new_key
from secfc.agreement.site_file import read_site
from secfc.drivers.deposits.collecting import Member
from secfc.drivers.deposits.depositing import Depositor

OWNERS = "[owners]\nmost = 4\nmost_rows = 9\n"
ROWS = (5, 1, 9, 3, 2)  # rows of each clinic


class Clinics(Organisations):
    """The commands of clinics (clinic-1 and so on) and members."""

    def __init__(self, folder, *, owners=OWNERS, disclosure="labels"):
        super().__init__(folder)
        self.replace(self.job, "[columns]", f"{owners}\n[columns]")
        self.replace(self.job, "k = 2", f'k = 2\ndisclosure = "{disclosure}"\ninit = "random"')
        for name in self.names:
            self.write_member(name)
        self.sign()
        rng = np.random.default_rng(19)
        self.clinics = {
            f"clinic-{at}": np.column_stack(
                [rng.choice([20, 80], m) + rng.normal(0, 3, m), rng.uniform(20, 30, m)]
            )
            for at, m in enumerate(ROWS, 1)
        }
        for name, rows in self.clinics.items():
            self.write_rows(name, rows)
            key = write_new_key(folder / f"{name}.key")
            (folder / f"{name}.pub").write_text(Party(name=name, key=key.public).to_toml())
            self.write_site(name)
            self.replace(self.site(name), "[data]", f'certificate = "{name}.certificate"\n\n[data]')

    def write_member(self, name, more=""):
        self.site(name).write_text(
            f'party = "{name}"\njob = "job.toml"\nkey = "{name}.key"\nresults = "results-{name}"\n{more}'
        )

    def write_rows(self, name, rows):
        lines = [f"{name}-{at},{age!r},{bmi!r}" for at, (age, bmi) in enumerate(rows.tolist())]
        (self.folder / f"{name}.csv").write_text("\n".join(["patient,age,bmi", *lines, ""]))

    def member(self, name):
        return Member.of(read_site(self.site(name)))

    def depositor(self, name):
        return Depositor(read_site(self.site(name)))

    def admit(self):
        """North admits clinics 1 and 2; south admits the others."""
        for name, clinics in (("north", (1, 2)), ("south", (3, 4, 5))):
            self.member(name).admit([self.folder / f"clinic-{at}.pub" for at in clinics])

    def renamed(self, certificate, name):
        """Another certificate by the first member, of the first owner, with the same key and this name."""
        text = admit(
            self.agreement,
            member=1,
            identity=read_key(self.folder / "north.key"),
            number=1,
            name=name,
            key=certificate.key,
        )
        file = self.folder / "renamed.certificate"
        file.write_text(text)
        return read_certificate(file, self.agreement)

    def deposit(self, *names):
        for name in names or self.clinics:
            self.depositor(name).deposit()

    def close(self, without=()):
        return [self.member(name).close(without) for name in self.names]

    @property
    def store(self):
        return Deposits.of(self.agreement)

    def number(self, name):
        return read_certificate(self.folder / f"{name}.certificate", self.agreement).number

    def piece(self, member, name):
        """The file of a clinic for a member, by the clinic's number."""
        return self.folder / "deposits" / self.store.piece(member, self.number(name))

    def committee(self, agreement=None):
        """The members, in the form that `Network` and `Machines` expect of organisations."""
        return SimpleNamespace(
            site=self.site,
            names=self.names,
            helpers=self.helpers,
            agreement=agreement or deposited(self.agreement),
            folder=self.folder,
        )

    def network(self, *, agreement=None, **options):
        return Network(self.committee(agreement), **options)

    def labels(self, name, run=RUN):
        """The labels of one run that a clinic opens."""
        self.depositor(name).open()
        with (self.folder / f"results-{name}" / run.hex() / "labels.csv").open() as file:
            return [(row["patient"], int(row["label"])) for row in csv.DictReader(file)]
