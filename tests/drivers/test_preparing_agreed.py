"""Jobs that prepare first, with a process per party: totals among the sites, then the clustering."""

import csv
import json

import numpy as np
import pyarrow.csv
import pytest
from support.organisations import NAMES
from support.preparing import CONSENT, SCHEMA, Preparing

from plaintext_baselines import ExactLloyd
from secfc.agreement.audit import audit
from secfc.agreement.statement import read_summary
from secfc.drivers.sites.agreed_run import run_agreed
from secfc.errors import DataError, LimitError
from secfc.prepare.preparation_file import PREPARATION, read_preparation
from secfc.prepare.prepared_files import prepare_by

pytestmark = pytest.mark.processes


def run(made, **options):
    return run_agreed(
        made.agreement,
        file=made.job,
        sites=[made.site(name) for name in NAMES],
        summary=made.folder / "summary.json",
        **options,
    )


def sent(made):
    """Types of messages that each party stated as sent."""
    statements = read_summary(made.folder / "summary.json").statements
    return {one.statement.party: set(one.statement.sent) for one in statements}


def assert_exact(made, outcome):
    """Every site has the labels of exact Lloyd on the rows as pooled data would have been prepared."""
    rows, job = made.prepared()[0], made.agreement.job
    starts = np.split(outcome.start, np.cumsum([len(part) for part in rows])[:-1])
    exact = ExactLloyd(job.k, init=starts, bound=job.bound, precision=job.precision).fit(rows)
    for name, found in zip(NAMES, exact.labels_, strict=True):
        assert made.labels_by_id(name) == {f"{name}-{at}": one for at, one in enumerate(found.tolist())}


def test_labels_equal_exact_lloyd_on_the_rows_that_pooling_would_have_prepared(tmp_path):
    made = Preparing(tmp_path)
    outcome = run(made)
    assert_exact(made, outcome)
    summary = read_summary(tmp_path / "summary.json")
    assert all(finding.holds for finding in audit(summary, made.agreement))


def test_each_site_has_what_its_rows_were_prepared_by_and_prepares_them_again(tmp_path):
    made = Preparing(tmp_path)
    run(made)
    prepared, preparation = made.prepared()
    for name, rows in zip(NAMES, prepared, strict=True):
        path = made.result(name) / PREPARATION
        assert read_preparation(path) == preparation
        again = prepare_by(
            [tmp_path / f"{name}.csv"],
            path,
            out=tmp_path / f"again-{name}",
            id_column="patient",
        )
        table = pyarrow.csv.read_csv(again.files[0])
        np.testing.assert_array_equal(
            np.column_stack([table.column(column) for column in made.agreement.columns]), rows
        )


def test_the_ledger_of_each_site_has_the_rows_of_totals(tmp_path):
    """A later table of this column without one of them would tell its value."""
    made = Preparing(tmp_path)
    made.write_table("north", titles=["alter", "dose", "smoker"])
    made.write_site(
        "north", data='path = "north.csv"\nid = "patient"\n[data.columns]\nage = "alter"\n', more=CONSENT
    )
    run(made)
    for name, column in zip(NAMES, ("alter", "age", "age"), strict=True):
        (opening,) = json.loads((tmp_path / f"results-{name}.ledger").read_text())["openings"]
        assert list(opening["cells"]) == [column]
        (cell,) = opening["cells"][column]
        known = np.array([bool(age) for age in made.values[name]["age"]])
        assert cell == np.packbits(known).tobytes().hex()


def test_values_beyond_the_agreed_deviations_end_the_run_at_their_site(tmp_path):
    made = Preparing(tmp_path, schema=SCHEMA.replace("deviations = 8", "deviations = 2"))
    made.change("west", "age", 5, "119")
    with pytest.raises(DataError, match=r"^west: too-many-deviations: "):
        run(made)
    text = (tmp_path / "west.log").read_text()
    assert "more than 2 deviations from the mean of all parties, the first in row 5" in text
    assert not list(tmp_path.glob("results-*/*/labels.csv"))


def test_what_does_not_fit_the_schema_is_told_before_anything_is_dealt(tmp_path):
    made = Preparing(tmp_path)
    made.values["west"]["age"][2] = "1952"
    made.values["west"]["smoker"][4] = "Never"
    made.write_table("west", titles=["alter", "dose", "smoker"])
    made.write_site(
        "west",
        data='path = "west.csv"\nid = "patient"\n[data.columns]\nage = "alter"\n',
        more="[limits]\nopen_statistics = 3\n",
    )
    with pytest.raises(DataError) as error:
        run(made)
    assert str(error.value).startswith("west: out-of-range: ")
    (line,) = (tmp_path / "west.log").read_text().splitlines()
    assert line.endswith(
        f"DataError: out-of-range: west: {tmp_path / 'west.csv'}: 2 errors; "
        "column 'alter' has 1 values outside 0 to 120 years, the first in row 2; check the unit; "
        "column 'smoker' has 1 values outside the agreed categories, the first in row 4; "
        "1 differ from one in upper and lower case alone"
    )
    assert all(kinds <= {"Hello"} for kinds in sent(made).values())


def test_a_column_with_too_few_holders_ends_the_run_before_values_are_dealt(tmp_path):
    made = Preparing(tmp_path, schema=SCHEMA.replace("smallest = 3", "smallest = 8"))
    with pytest.raises(LimitError, match=r"^[a-z]+: limit: "):
        run(made)
    assert not list(tmp_path.glob(f"results-*/*/{PREPARATION}"))


def test_a_schema_that_opens_nothing_needs_no_consent(tmp_path):
    schema = SCHEMA.replace('scale = "standardise"\ndeviations = 8\nmissing = "mean"', 'scale = "min-max"')
    made = Preparing(tmp_path, schema=schema)
    for name, row in (("north", 3), ("west", 0)):
        made.change(name, "age", row, "50")
    for name in NAMES:
        made.write_site(name)
    assert_exact(made, run(made))
    assert made.agreement.job.rows.totals == ()
    told = json.loads((made.result("north") / PREPARATION).read_text())
    assert told["statistics"] == {}


def test_centres_are_written_in_the_units_of_the_schema(tmp_path):
    made = Preparing(tmp_path)
    made.replace(made.job, "k = 2", 'k = 2\nreveal_centres = ["south"]')
    for name in NAMES:
        made.write_site(name, more='[limits]\nopen_statistics = 3\nreveal_centres = ["south"]\n')
    made.sign()
    run(made)
    prepared, preparation = made.prepared()
    with (made.result("south") / "centres.csv").open() as file:
        found = np.array([[float(row[name]) for name in preparation.names] for row in csv.DictReader(file)])
    rows = preparation.restore(np.concatenate(prepared))
    own = np.array([label for name in NAMES for label in made.labels(name)])
    for h, centre in enumerate(found):
        np.testing.assert_allclose(centre, rows[own == h].mean(axis=0), atol=1e-6)


def test_sites_open_counts_of_a_robust_column_and_say_so_before_they_sign(tmp_path):
    schema = SCHEMA.replace('scale = "min-max"', 'scale = "robust"\nbins = 25\ndeviations = 9\nlog = true')
    made = Preparing(tmp_path, schema=schema.replace("low = 0\nhigh = 50", "low = 0.5\nhigh = 50"))
    assert made.agreement.opened == ("age", "dose (counts in 25 bins instead)")
    run(made)
    prepared, preparation = made.prepared()
    assert len(preparation.statistics["dose"].counts) == 25
    for name in NAMES:
        assert read_preparation(made.result(name) / PREPARATION) == preparation
    rows = np.concatenate(prepared)
    own = np.array([label for name in NAMES for label in made.labels(name)])
    assert len(own) == len(rows)
    means = np.array([rows[own == h].mean(axis=0) for h in range(2)])
    nearest = ((rows[:, np.newaxis] - means) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(nearest, own)


def test_sites_open_counts_of_categories_for_a_mode_and_say_so_before_they_sign(tmp_path):
    made = Preparing(tmp_path, schema=SCHEMA.replace('missing = "zero"', 'missing = "mode"'))
    assert made.agreement.opened == ("age", "smoker (counts in categories instead)")
    run(made)
    preparation = made.prepared()[1]
    given = [one for name in NAMES for one in made.values[name]["smoker"] if one]
    counts = preparation.statistics["smoker"].counts
    assert counts == tuple(map(given.count, ("never", "former", "current")))
    for name in NAMES:
        assert read_preparation(made.result(name) / PREPARATION) == preparation
