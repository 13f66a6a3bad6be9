"""Three organisations with their files in one folder, as in `docs/agreeing-on-a-job.md`."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

from secfc.agreement.consortium import Member, add_members
from secfc.agreement.job_file import Agreement, read_job
from secfc.agreement.key_files import COORDINATOR_KEY, read_key, write_new_ids_key, write_new_key
from secfc.agreement.signatures import Signature, collect, sign_job, signatures_path
from secfc.cli.app import app
from secfc.drivers.in_process import run_in_process
from secfc.drivers.setup import Outcome, Setup
from secfc.protocol.job.limits import Limits

NAMES = ("north", "south", "west")

JOB = """\
title = "Readmissions"
roster = "roster.toml"
expires = 9999-12-31
runs = 100

[clustering]
k = 2
t = 1
ell = 1
seed = 7

[columns]
age = [0, 120]
"bmi" = [10.5, 60]
"""


class Files:
    """A folder with the files of some organisations, and what they wrote in a run."""

    folder: Path
    names: tuple[str, ...]
    helpers: tuple[str, ...] = ()

    def site(self, name: str) -> Path:
        return self.folder / f"{name}.toml"

    def written(self, name: str) -> list[Path]:
        """Contents of the site's folder of results."""
        folder = self.folder / f"results-{name}"
        return sorted(folder.iterdir()) if folder.exists() else []

    def result(self, name: str) -> Path:
        """The site's folder of the one run it took part in."""
        (folder,) = self.written(name)
        return folder

    def statement(self, name: str) -> dict[str, Any]:
        return dict(json.loads((self.result(name) / "statement.json").read_text())["statement"])

    def labels(self, name: str) -> list[int]:
        with (self.result(name) / "labels.csv").open() as file:
            return [int(row["label"]) for row in csv.DictReader(file)]

    def labels_by_id(self, name: str) -> dict[str, int]:
        with (self.result(name) / "labels.csv").open() as file:
            return {row["patient"]: int(row["label"]) for row in csv.DictReader(file)}


class Organisations(Files):
    names = NAMES

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        members = []
        for name in self.names:
            identity = write_new_key(folder / f"{name}.key")
            members.append(Member(name=name, organisation=f"Hospital {name}", key=identity.public))
            self.write_site(name)
        self.roster = folder / "roster.toml"
        self.coordinator_key = folder / COORDINATOR_KEY
        coordinator = Member(name="hub", key=write_new_key(self.coordinator_key).public)
        add_members(self.roster, members, coordinator)
        self.job = folder / "job.toml"
        self.job.write_text(JOB)
        rng = np.random.default_rng(3)
        self.rows = {
            name: np.column_stack([rng.choice([20, 80], m) + rng.normal(0, 3, m), rng.uniform(20, 30, m)])
            for name, m in zip(NAMES, (12, 9, 5), strict=True)
        }
        for name, rows in self.rows.items():
            lines = [f"{name}-{at},{age!r},{bmi!r}" for at, (age, bmi) in enumerate(rows.tolist())]
            (folder / f"{name}.csv").write_text("\n".join(["patient,age,bmi", *lines, ""]))

    def write_site(self, name: str, *, data: str | None = None, more: str = "") -> Path:
        """Write a site file; `more` comes after its tables."""
        source = data or f'path = "{name}.csv"\nid = "patient"\n'
        self.site(name).write_text(
            f'party = "{name}"\njob = "job.toml"\nkey = "{name}.key"\nresults = "results-{name}"\n\n'
            f"[data]\n{source}\n{more}"
        )
        return self.site(name)

    def allow_share(self, share: float, *names: str) -> None:
        """Have these sites, by default all, allow one party this share of all rows and of all weight."""
        for name in names or self.names:
            with self.site(name).open("a") as file:
                file.write(f"\n[limits]\nlargest_share = {share}\n")

    def add_helpers(self, *helpers: str) -> None:
        """Add parties without rows as comparers; the job then opens labels only."""
        members = []
        for name in helpers:
            members.append(Member(name=name, key=write_new_key(self.folder / f"{name}.key").public))
            self.site(name).write_text(
                f'party = "{name}"\njob = "job.toml"\nkey = "{name}.key"\nresults = "results-{name}"\n'
            )
        add_members(self.roster, [], helpers=members)
        self.replace(self.job, "k = 2", 'k = 2\ndisclosure = "labels"\ninit = "random"')

    def replace(self, path: Path, old: str, new: str) -> None:
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    def hide(self, *, cap: int = 40) -> bytes:
        """Turn on membership privacy in the job; every site gets a copy of the ID key, which is returned."""
        self.replace(self.job, "k = 2", f"k = 2\nids_cap = {cap}")
        key = write_new_ids_key(self.folder / "ids.key")
        for name in self.names:
            self.replace(self.site(name), "[data]", 'ids_key = "ids.key"\n[data]')
        return key

    def simulated(self) -> Outcome:
        """The result of a simulation of the job on the same rows."""
        agreement = self.agreement
        return run_in_process(
            Setup(
                job=agreement.job,
                rows=list(self.rows.values()),
                starts=None,
                names=list(self.names),
                limits=Limits(reveal_inertia=True),
            )
        )

    @property
    def agreement(self) -> Agreement:
        return read_job(self.job)

    def shown(self) -> str:
        """What `secfc job show` prints."""
        done = CliRunner().invoke(app, ["job", "show", str(self.job)], env={"COLUMNS": "200"})
        assert done.exit_code == 0, done.output
        return done.output

    def signature(self, name: str) -> Signature:
        return sign_job(self.agreement, name, read_key(self.folder / f"{name}.key"))

    def sign(self, *names: str) -> None:
        collect(
            self.agreement,
            signatures_path(self.job),
            [self.signature(name) for name in names or self.agreement.names],
        )
