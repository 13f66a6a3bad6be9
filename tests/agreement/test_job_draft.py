"""A job file from answers or flags."""

from datetime import UTC, datetime, timedelta

import pytest
from typer.testing import CliRunner

from secfc.agreement.job_file import read_job
from secfc.cli.app import app


def new(*words, given=None, status=0):
    done = CliRunner().invoke(app, ["job", "new", *map(str, words)], input=given)
    assert done.exit_code == status, done.output
    return " ".join(done.output.split())


@pytest.fixture
def job(organisations):
    organisations.job.unlink()
    return organisations.job


def test_flags_give_a_job_that_can_be_read(job):
    columns = ["--column", "age=0:120", "--column", "b=m=-0.5:1e-5"]
    new(job, "--title", 'A "job"', "-k", 3, *columns, "--seed", 7, "--days", 30)
    agreement = read_job(job)
    assert agreement.title == 'A "job"'
    assert agreement.columns == {"age": (0, 120), "b=m": (-0.5, 1e-5)}
    assert (agreement.job.k, agreement.job.t, agreement.job.ell, agreement.job.seed) == (3, 1, 1, 7)
    assert abs(agreement.expires - datetime.now(UTC).date() - timedelta(days=30)) <= timedelta(days=1)


def test_what_is_not_given_is_asked_for(job):
    said = new(job, given="Blood values\n4\nage=0:120 bmi=10:60\n")
    assert "Columns and ranges" in said
    assert list(read_job(job).columns) == ["age", "bmi"]
    assert read_job(job).job.k == 4


def test_a_job_that_prepares_names_its_schema(job):
    schema = '[[column]]\nname = "age"\nlow = 0\nhigh = 120\nscale = "min-max"\n'
    (job.parent / "schema.toml").write_text(schema)
    new(job, "--title", "T", "-k", 2, "--prepare", "schema.toml")
    assert read_job(job).preparation is not None


WRONG = {
    "no range": (["--column", "age"], "'age': NAME=LOW:HIGH is needed"),
    "no numbers": (["--column", "age=a:b"], "'age=a:b': NAME=LOW:HIGH is needed"),
    "turned round": (["--column", "age=2:1"], "NAME=LOW:HIGH is needed"),
    "infinite": (["--column", "age=0:inf"], "NAME=LOW:HIGH is needed"),
    "no name": (["--column", "=0:1"], "NAME=LOW:HIGH is needed"),
    "twice": (["--column", "a=0:1", "--column", "a=0:2"], "'a' is given twice"),
    "both": (
        ["--column", "a=0:1", "--prepare", "schema.toml"],
        "--column: name columns with their ranges, or",
    ),
    "days": (["--column", "a=0:1", "--days", 0], "--days: 1 to 3650 are possible, 0 was given"),
    "seed": (["--column", "a=0:1", "--seed", -1], "clustering.seed"),
}


@pytest.mark.parametrize(("words", "told"), WRONG.values(), ids=WRONG)
def test_an_answer_that_cannot_be_used_is_told_and_nothing_is_written(job, words, told):
    assert told in new(job, "--title", "T", "-k", 2, *words, status=2)
    assert not job.exists()


def test_a_job_is_not_written_over(organisations):
    before = organisations.job.read_bytes()
    words = ["--title", "T", "-k", 2, "--column", "a=0:1"]
    assert "it exists and is left as it is" in new(organisations.job, *words, status=2)
    assert organisations.job.read_bytes() == before
