"""Jobs whose values are multiples of a step: what is signed, what sites are refused for, and labels."""

import numpy as np
import pytest
from support.organisations import NAMES, Organisations
from support.preparing import Preparing

from plaintext_baselines import ExactLloyd
from secfc.agreement.check import check_site
from secfc.agreement.job_file import read_job
from secfc.agreement.site_file import read_site
from secfc.drivers.sites.agreed_run import run_agreed
from secfc.errors import DataError, LimitError, ParameterError
from secfc.errors.codes import Code

SCHEMA = """\
[[column]]
name = "age"
low = 0
high = 120
step = 1

[[column]]
name = "dose"
low = 0
high = 50
step = 0.5
clip = true

[[column]]
name = "smoker"
categories = ["never", "former", "current"]
missing = "zero"
"""


def tables(seed=5):
    rng = np.random.default_rng(seed)
    found = {}
    for name, m in zip(NAMES, (14, 9, 7), strict=True):
        found[name] = {
            "age": [str(one) for one in rng.integers(20, 90, m)],
            "dose": [str(one / 2) for one in rng.integers(0, 110, m)],  # some are clipped
            "smoker": rng.choice(["never", "former", "current", ""], m).tolist(),
        }
    return found


@pytest.fixture
def stepped(tmp_path):
    """Two columns of numbers with one decimal."""
    made = Organisations(tmp_path)
    made.rows = {name: rows.round(1) for name, rows in made.rows.items()}
    for name, rows in made.rows.items():
        lines = [f"{name}-{at},{age!r},{bmi!r}" for at, (age, bmi) in enumerate(rows.tolist())]
        (tmp_path / f"{name}.csv").write_text("\n".join(["patient,age,bmi", *lines, ""]))
    made.replace(made.job, "k = 2", "k = 2\nstep = 0.1")
    made.sign()
    return made


@pytest.fixture
def preparing(tmp_path):
    return Preparing(tmp_path, schema=SCHEMA, values=tables())


def assert_labels_of_exact_lloyd(made, rows):
    job, sites = made.agreement.job, [made.site(name) for name in NAMES]
    summary = made.folder / "summary.json"
    outcome = run_agreed(made.agreement, file=made.job, sites=sites, summary=summary)
    starts = np.split(outcome.start, np.cumsum([len(part) for part in rows])[:-1])
    exact = ExactLloyd(job.k, init=starts, bound=job.bound, step=job.step).fit(rows)
    assert [made.labels(name) for name in NAMES] == [found.tolist() for found in exact.labels_]


@pytest.mark.processes
def test_a_job_that_prepares_finds_the_step_of_its_columns(preparing):
    assert preparing.agreement.job.step == 0.5
    assert_labels_of_exact_lloyd(preparing, preparing.prepared()[0])


def test_the_step_is_part_of_what_is_signed(stepped):
    before = stepped.agreement
    stepped.replace(stepped.job, "step = 0.1", "step = 0.05")
    assert stepped.agreement.digest != before.digest


def test_a_site_whose_rows_are_no_multiples_is_told_before_it_signs(stepped):
    path = stepped.folder / "south.csv"
    stepped.rows["south"][4, 1] += 0.04
    rows = [f"x{at},{age!r},{bmi!r}" for at, (age, bmi) in enumerate(stepped.rows["south"].tolist())]
    path.write_text("\n".join(["patient,age,bmi", *rows, ""]))
    with pytest.raises(DataError) as caught:
        check_site(read_site(stepped.site("south")))
    told = "1 rows have a value that is no multiple of the step 0.1, the first is row 4"
    assert str(caught.value) == f"south: {path}: {told}"
    assert caught.value.code is Code.OFF_STEP


def test_a_site_that_prepares_is_told_the_column(preparing):
    preparing.change("west", "age", 2, "33.5")
    with pytest.raises(
        DataError, match=r"column 'age' has 1 values that are no multiples of the step 1.0"
    ) as caught:
        check_site(read_site(preparing.site("west")))
    assert "33.5" not in str(caught.value)


def test_a_sites_most_precision_holds_for_the_bits_of_a_step(stepped):
    # The bound is 134.2 and has 1342 steps, 11 bits.
    stepped.write_site("south", more="[limits]\nmost_precision = 11\n")
    check_site(read_site(stepped.site("south")))
    stepped.write_site("south", more="[limits]\nmost_precision = 10\n")
    with pytest.raises(LimitError, match="the job has a precision of 11 bits, this site allows 10 at most"):
        check_site(read_site(stepped.site("south")))


@pytest.mark.parametrize(
    ("old", "new", "step"),
    [
        ("step = 0.5", "step = 0.3", 0.1),
        ("step = 0.5", "", None),
        ("step = 0.5\nclip = true", 'scale = "min-max"', None),
        ("low = 0\nhigh = 120\nstep = 1", "low = 2020-01-01\nhigh = 2020-12-31", 0.5),
        ("low = 0\nhigh = 120\nstep = 1", 'low = 2020-01-01\nhigh = 2020-12-31\nscale = "min-max"', None),
    ],
)
def test_the_step_of_a_schema_is_the_largest_that_fits_all_columns(preparing, old, new, step):
    preparing.replace(preparing.schema, old, new)
    if "0.3" in new:
        preparing.replace(preparing.schema, "clip = true", "")
    assert preparing.agreement.job.step == step


def test_a_precision_that_is_given_stands_beside_a_schema_with_steps(preparing):
    preparing.replace(preparing.job, "k = 2", "k = 2\nprecision = 24")
    assert (preparing.agreement.job.step, preparing.agreement.job.precision) == (None, 24)


def test_a_step_that_the_columns_of_a_schema_do_not_promise_is_refused_by_line(preparing):
    preparing.replace(preparing.job, "k = 2", "k = 2\nstep = 0.5")
    read_job(preparing.job)
    preparing.replace(preparing.schema, "step = 0.5", "")
    with pytest.raises(ParameterError, match=r"job.toml:\d+: step: the schema does not say of each column"):
        read_job(preparing.job)
