"""Three organisations whose job describes two columns by cluster."""

import csv
import json
import shutil

import numpy as np
from support.organisations import NAMES, Organisations

from plaintext_baselines import ExactLloyd
from secfc.drivers.sites.agreed_run import run_agreed
from secfc.kmeans.consensus import Resampled, bootstrap
from secfc.operations.ending.overlaps import plain_tables

SCHEMA = """\
smallest = 3

[[column]]
name = "stay"
unit = "days"
low = 0
high = 60
step = 1

[[column]]
name = "ward"
categories = ["medical", "surgical"]
"""

CONSENT = "[limits]\ndescribe = 3\nlargest_share = 1.0\n"


class Describing(Organisations):
    """Twenty rows per site in two groups, with a stay and a ward that are not clustered."""

    def __init__(self, folder):
        super().__init__(folder)
        rng = np.random.default_rng(4)
        self.table = {
            name: {
                "patient": [f"{name}-{at}" for at in range(20)],
                "age": (np.arange(20) % 2 * 60 + rng.uniform(20, 30, 20)).tolist(),
                "bmi": rng.uniform(20, 30, 20).tolist(),
                "los": [*rng.integers(0, 60, 19).tolist(), None],
                "ward": rng.choice(["medical", "surgical"], 20).tolist(),
            }
            for name in NAMES
        }
        (folder / "outcomes.toml").write_text(SCHEMA)
        self.replace(self.job, "runs = 100", 'runs = 100\ndescribe = "outcomes.toml"')
        for name in NAMES:
            self.write_table(name)
            data = f'path = "{name}.csv"\nid = "patient"\n[data.columns]\nstay = "los"\n'
            self.write_site(name, data=data, more=CONSENT)

    def write_table(self, name, left=range(20)):
        table = self.table[name]
        with (self.folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(table)
            writer.writerows([["" if one[at] is None else one[at] for one in table.values()] for at in left])

    def run(self, **options):
        self.sign()
        return run_agreed(
            self.agreement,
            file=self.job,
            sites=[self.site(name) for name in NAMES],
            summary=self.folder / f"summary-{len(list(self.folder.glob('summary-*')))}.json",
            **options,
        )

    def another(self, change=('title = "', 'title = "Another of ')):
        """Another job with the same files."""
        self.replace(self.job, *change)
        self.job.with_suffix(".signatures").unlink(missing_ok=True)

    def resample(self):
        """Have the job cluster two resamples too, with the consent of all."""
        self.replace(self.job, "k = 2", "k = 2\nmax_iter = 3\nresamples = 2")
        for name in NAMES:
            self.replace(self.site(name), CONSENT, CONSENT + "reveal_tables = true\n")

    def predict(self):
        """Another job: each site's last row gets a label by all others. Earlier results are deleted."""
        for name in NAMES:
            self.table[name]["label"] = [*self.labels(name)[:-1], None]
            self.write_table(name)
            data = f'path = "{name}.csv"\nid = "patient"\nstart = "label"\n'
            self.write_site(name, data=data, more="[limits]\npredict = true\nlargest_share = 1.0\n")
            shutil.rmtree(self.folder / f"results-{name}")
        self.replace(self.job, 'describe = "outcomes.toml"', "")
        self.another(("k = 2\nmax_iter = 3\nresamples = 2", "k = 2\npredict = true"))

    def tables(self, name):
        """The tables of all runs at a site, by the time of the run."""
        folders = sorted(self.written(name), key=lambda one: one.stat().st_mtime_ns)
        paths = [one / "table1.csv" for one in folders if (one / "table1.csv").exists()]
        return [list(csv.reader(path.read_text().splitlines())) for path in paths]

    def expected(self, labels):
        """Counts and means of the stay in each cluster, and wards, over all sites' rows."""
        of_all = [
            (h, one["los"][at], one["ward"][at])
            for name, one in self.table.items()
            for at, h in enumerate(labels[name])
        ]
        found = []
        for h in (0, 1):
            stays = [stay for own, stay, _ in of_all if own == h and stay is not None]
            wards = [ward for own, _, ward in of_all if own == h]
            found.append((len(wards), np.mean(stays), np.std(stays, ddof=1), wards.count("medical")))
        return found

    def assert_tables(self):
        """Every site has the table of all rows."""
        labels = {name: self.labels(name) for name in NAMES}
        (table,) = self.tables("north")
        assert all(self.tables(name) == [table] for name in NAMES)
        assert table[0] == ["", "cluster 0", "cluster 1", "p"]
        for at, (rows, mean, std, medical) in enumerate(self.expected(labels), 1):
            assert table[1][at] == str(rows)
            assert table[2][at] == f"{mean:.4g} ({std:.3g})"
            assert table[5][at] == f"{medical} ({100 * medical / rows:.1f})"
        assert [line[0] for line in table] == [
            "", "rows", "stay (days), mean (SD)", "  missing", "ward, n (%)", "  medical", "  surgical",
        ]  # fmt: skip

    def assert_stability(self):
        """Every site has the tables of pooled resamples. They find the two groups, under either number."""
        rows = np.concatenate([np.column_stack([one["age"], one["bmi"]]) for one in self.table.values()])
        labels = np.concatenate([self.labels(name) for name in NAMES])
        job, partitions = self.agreement.job, [labels]
        draws, _ = bootstrap(job.seed, len(rows), k=job.k, resamples=job.method.resamples)
        for weights in draws:
            inside, exact = weights > 0, ExactLloyd(job.k, init="k-means++", random_state=0)
            partitions.append(exact.fit([rows[inside]], sample_weight=[weights[inside]]).predict(rows))
        for name in NAMES:
            found = Resampled.of(json.loads((self.result(name) / "stability.json").read_text()))
            assert (_ordered(found.tables[0]) == _ordered(plain_tables(partitions, job.k))).all()


def _ordered(tables):
    """Tables of partitions, the sets of each in the order of the first."""
    orders = tables[0].argmax(axis=2)
    return np.array(
        [
            [table[order][:, other] for table, other in zip(row, orders, strict=True)]
            for row, order in zip(tables, orders, strict=True)
        ]
    )
