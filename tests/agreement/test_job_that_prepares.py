"""Jobs with a schema: its effect on the job, what is signed, what sites consent to and refuse."""

import numpy as np
import pytest
from support.organisations import NAMES
from support.preparing import SCHEMA, Preparing
from typer.testing import CliRunner

from secfc.agreement.job_file import read_job
from secfc.agreement.rows import read_rows
from secfc.agreement.signatures import check_signed, signatures_path
from secfc.agreement.site_file import read_site
from secfc.cli.app import app
from secfc.errors import AgreementError, DataError, LimitError, ParameterError

OPENS_NOTHING = SCHEMA.replace('scale = "standardise"\ndeviations = 8\nmissing = "mean"', 'scale = "min-max"')


@pytest.fixture
def made(tmp_path):
    return Preparing(tmp_path)


def test_columns_ranges_and_bound_follow_from_the_schema(made):
    agreement = made.agreement
    assert agreement.inputs == ("age", "dose", "smoker")
    assert agreement.opened == ("age",)
    assert agreement.columns == {
        "age": (-8.0, 8.0),
        "dose": (0.0, 1.0),
        "smoker=never": (0.0, 1.0),
        "smoker=former": (0.0, 1.0),
        "smoker=current": (0.0, 1.0),
    }
    assert agreement.job.d == 5
    assert agreement.job.bound == pytest.approx(66**0.5)  # of the three columns of a category one is 1
    assert agreement.job.rows.totals == (3,)


def test_every_row_that_can_be_prepared_is_within_the_bound(made):
    rows = np.concatenate(made.prepared()[0])
    assert np.linalg.norm(rows, axis=1).max() <= made.agreement.job.bound
    for at, (low, high) in enumerate(made.agreement.columns.values()):
        assert low <= rows[:, at].min() <= rows[:, at].max() <= high


def test_another_schema_has_another_digest_and_nobodys_signature(made):
    before = made.agreement
    check_signed(before, signatures_path(made.job))
    made.replace(made.schema, "high = 120", "high = 121")
    assert made.agreement.digest != before.digest
    with pytest.raises(AgreementError):
        check_signed(made.agreement, signatures_path(made.job))


def test_where_the_schema_lies_and_how_it_is_written_changes_nothing(made):
    before = made.agreement
    made.schema.rename(made.folder / "other.toml")
    made.replace(made.job, "schema.toml", "other.toml")
    made.replace(made.folder / "other.toml", "low = 0", "low = 0.0 # years")
    assert made.agreement.digest == before.digest


WRONG_JOBS = {
    "ranges twice": ('random"\n', 'random"\n[columns]\nage = [0, 1]\n', "14: columns: not with prepare"),
    "membership privacy": (
        "seed = 7\n",
        "ids_cap = 90\n",
        "2: prepare: not with membership privacy (clustering.ids_cap): opening means and deviations of age",
    ),
}


@pytest.mark.parametrize(("old", "new", "told"), WRONG_JOBS.values(), ids=WRONG_JOBS)
def test_what_is_wrong_in_the_job_file_is_told_by_line(made, old, new, told):
    made.replace(made.job, old, new)
    with pytest.raises(ParameterError) as caught:
        read_job(made.job)
    assert str(caught.value).startswith(f"{made.job}:{told}")


def test_standardising_within_no_agreed_deviations_is_told(made):
    made.replace(made.schema, "deviations = 8\n", "")
    with pytest.raises(
        ParameterError, match=r"job\.toml:2: prepare: schema: column 'age': deviations is needed"
    ):
        read_job(made.job)


def test_what_is_wrong_in_the_schema_is_told_by_its_own_line(made):
    made.replace(made.schema, "high = 50", "high = -50")
    with pytest.raises(
        ParameterError, match=r"schema\.toml:12: schema: column 'dose': low must be below high"
    ):
        read_job(made.job)
    made.schema.unlink()
    with pytest.raises(ParameterError, match=r"schema\.toml: No such file"):
        read_job(made.job)


# What a site consents to


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ("", r"opens means and deviations of age; to consent, write open_statistics = 3 in \[limits\]$"),
        (
            "open_statistics = 4",
            "of age, of 3 parties with 3 values each, this site consents to 4 or more; to ",
        ),
    ],
)
def test_a_job_that_opens_more_than_the_site_consents_to_is_refused(made, limits, told):
    path = made.write_site("south", more=f"[limits]\n{limits}\n")
    with pytest.raises(
        LimitError, match=rf"south refuses the job: limits\.open_statistics: the job .*{told}"
    ):
        read_site(path).check(made.agreement)
    done = CliRunner().invoke(app, ["job", "sign", str(path)])
    assert done.exit_code != 0
    assert "limits.open_statistics" in done.output


def test_a_job_within_the_consent_is_not_refused(made):
    read_site(made.write_site("south", more="[limits]\nopen_statistics = 2\n")).check(made.agreement)
    made.schema.write_text(OPENS_NOTHING)
    read_site(made.write_site("south")).check(made.agreement)


def test_the_columns_that_a_site_allows_are_those_that_it_reads(made):
    limits = '[limits]\nopen_statistics = 3\ncolumns = ["age", "dose"]\n'
    with pytest.raises(LimitError, match=r"limits\.columns: the job clusters smoker; age, dose are allowed"):
        read_site(made.write_site("south", more=limits)).check(made.agreement)


# What a site reads


def read(made, name="north"):
    return read_rows(read_site(made.site(name)), made.agreement)


def test_rows_are_prepared_at_once_where_nothing_is_opened(tmp_path):
    made = Preparing(tmp_path, schema=OPENS_NOTHING)
    made.change("north", "age", 3, "60")
    made.change("west", "age", 0, "60")
    for name, rows in zip(NAMES, made.prepared()[0], strict=True):
        found = read(made, name)
        np.testing.assert_array_equal(found.table.rows, rows)
        assert found.unprepared is None
        assert found.table.ids[0].as_py() == f"{name}-0"


def test_everything_that_does_not_fit_is_told_under_the_sites_own_names_without_a_value(made):
    made.values["north"]["age"][1] = "old"
    made.values["north"]["dose"][6] = ""
    made.write_table("north", titles=["alter", "dose", "raucht"])
    made.write_site(
        "north", data='path = "north.csv"\nid = "patient"\n[data.columns]\nage = "alter"\nsmoker = "smokes"\n'
    )
    with pytest.raises(DataError) as caught:
        read(made)
    assert str(caught.value) == (
        f"north: {made.folder / 'north.csv'}: 3 errors\n  no column 'smokes'; the schema needs it\n  "
        "column 'alter' is not numeric: it has 1 values that are no numbers, the first in row 1\n  "
        "column 'dose' misses 1 values, the first in row 6"
    )


def test_a_site_prepares_rows_in_its_own_form_as_in_the_agreed_one(made):
    before = read(made)
    made.values["north"]["age"] = [
        f"{float(one) * 12:.1f}" if one else "-9" for one in made.values["north"]["age"]
    ]
    made.values["north"]["smoker"] = [
        "nie" if one == "never" else one for one in made.values["north"]["smoker"]
    ]
    made.write_table("north", titles=["monate", "dose", "raucht"])
    made.write_site(
        "north",
        data='path = "north.csv"\nid = "patient"\nna = ["-9"]\nfactors.age = 0.08333333333333333\n'
        'columns = {age = "monate", smoker = "raucht"}\nvalues.smoker.nie = "never"\n',
    )
    own = read(made)
    np.testing.assert_allclose(own.unprepared.numbers["age"], before.unprepared.numbers["age"], rtol=1e-14)
    for name in ("dose", "smoker"):
        values = [{**one.unprepared.numbers, **one.unprepared.categories}[name] for one in (own, before)]
        np.testing.assert_array_equal(*values)
    assert own.mended == {**before.mended, "missing": before.mended["missing"]}


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ('id = "age"', "data.id: column 'age' is clustered"),
        ('id = "nobody"', "no column 'nobody'"),
        ('id = "patient"\n[data.columns]\nage = "dose"', "two columns of the job are one column here"),
    ],
)
def test_columns_that_are_there_twice_or_not_are_told(made, data, told):
    made.write_site("north", data=f'path = "north.csv"\n{data}\n')
    with pytest.raises(DataError, match=told):
        read(made)


def test_names_that_the_schema_does_not_have_are_told_by_line(made):
    made.write_site("north", data='path = "north.csv"\n[data.columns]\n"smoker=never" = "smoker"\n')
    with pytest.raises(ParameterError, match=r"the job has no such column \(age, dose, smoker\)"):
        read(made)


def test_equal_content_is_of_equal_bytes_and_other_values_are_not(made):
    before = read(made).content()
    assert read(made).content() == before
    made.change("north", "age", 0, "33")
    assert read(made).content() != before
    assert "33" not in repr(read(made)).replace(str(made.folder), "")


# What people see


def test_show_says_what_is_prepared_and_opened(made):
    shown = made.shown()
    assert "age, dose, smoker" in shown
    assert "means and deviations of age, if 3 parties hold 3 or more values of each" in shown
    made.schema.write_text(OPENS_NOTHING)
    assert "opened first" in made.shown()
