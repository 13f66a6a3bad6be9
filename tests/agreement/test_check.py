"""The check before signing reports all errors at a site at once, by column and count."""

import numpy as np
import pytest
from typer.testing import CliRunner

from secfc.agreement.check import check_site
from secfc.agreement.signatures import read_signatures, signatures_path
from secfc.agreement.site_file import read_site
from secfc.cli.app import app
from secfc.drivers.sites.past_runs import PastRuns
from secfc.errors import DataError, LimitError, SecFCError
from secfc.errors.codes import Code


def command(*words):
    done = CliRunner().invoke(app, [*map(str, words)], env={"COLUMNS": "120", "NO_COLOR": "1"})
    return done.exit_code, " ".join(done.output.split())


def spoil(organisations):
    """Columns that do not fit, each with another error; the job gets more columns for this."""
    organisations.replace(
        organisations.job, '"bmi" = [10.5, 60]', "bmi = [10, 60]\ndose = [0, 1]\nleft = [0, 1]"
    )
    rows = ["patient,age,bmi,dose", "a,200,20,0", "b,30,x,", "c,-1,21,", "d,300,22,1"]
    (organisations.folder / "north.csv").write_text("\n".join([*rows, ""]))


def test_every_column_that_does_not_fit_is_told_with_its_count_and_no_value(organisations):
    spoil(organisations)
    with pytest.raises(DataError) as caught:
        check_site(read_site(organisations.site("north")))
    file = organisations.folder / "north.csv"
    assert str(caught.value).split("\n") == [
        f"north: {file}: no column 'left'; it has patient, age, bmi, dose",
        f"north: {file}: column 'age' has 3 values outside the job's range [0.0, 120.0], the first in row 0",
        f"north: {file}: column 'bmi' is not numeric (string): 1 of 4 values are no numbers, "
        "the first in row 1; leave it out or encode it",
        f"north: {file}: column 'dose' has 2 missing values, the first in row 1",
    ]
    assert caught.value.code is Code.MISSING_COLUMN


def test_limits_date_and_rows_are_told_together(organisations):
    organisations.replace(organisations.job, "9999-12-31", "2020-01-31")
    organisations.replace(organisations.job, "age = [0, 120]", "age = [50, 120]")
    organisations.write_site("west", more="[limits]\nleast_t = 2\nsmallest_set = 4\n")
    with pytest.raises(LimitError) as caught:
        check_site(read_site(organisations.site("west")))
    below = int((organisations.rows["west"][:, 0] < 50).sum())
    told = str(caught.value).split("\n")
    assert len(told) == 4
    assert told[0].endswith("limits.smallest_set: the job allows sets of 1 rows, this site allows 4 or more")
    assert told[1].endswith("limits.least_t: the job has t = 1, this site allows 2 or more")
    assert told[2].endswith("expired on 2020-01-31")
    assert f"column 'age' has {below} values outside" in told[3]


def test_start_labels_beyond_k_are_counted(organisations):
    organisations.replace(organisations.job, "k = 2", 'k = 2\ninit = "labels"')
    organisations.write_site("south", data='path = "south.csv"\nid = "patient"\nstart = "label"\n')
    lines = (organisations.folder / "south.csv").read_text().split()
    labels = ["label", *map(str, [0, 1, 2, 0, 7, -1, 0, 0, 0])]
    text = "\n".join(f"{line},{label}" for line, label in zip(lines, labels, strict=True))
    (organisations.folder / "south.csv").write_text(text + "\n")
    with pytest.raises(DataError, match="has 3 below 0 or above k - 1 = 1, the first in row 2"):
        check_site(read_site(organisations.site("south")))


def test_ids_that_are_twice_are_told_where_membership_is_hidden(organisations):
    organisations.hide()
    text = (organisations.folder / "west.csv").read_text()
    (organisations.folder / "west.csv").write_text(text.replace("west-3,", "west-1,"))
    with pytest.raises(SecFCError, match="west: 1 of its IDs are repeated, the first of them in rows 1 a"):
        check_site(read_site(organisations.site("west")))


def test_the_command_says_what_fits_and_signs_nothing(organisations):
    status, text = command("job", "check", organisations.site("north"))
    assert status == 0
    assert "north: 12 rows fit the job" in text
    assert "shared before" not in text
    ages = organisations.rows["north"][:, 0]
    assert f"age │ {ages.min():g} │ {ages.max():g} │ 0 to 120" in text
    assert not signatures_path(organisations.job).exists()


def test_the_command_counts_runs_of_this_job_and_of_others(organisations):
    job, site = organisations.job.read_text(), organisations.site("north")
    for number, title in enumerate(("Readmissions", "Others", "Others")):
        organisations.job.write_text(job.replace("Readmissions", title))
        PastRuns(read_site(site), organisations.agreement).count(bytes([number]) * 16)
    _, of_others = command("job", "check", site)
    organisations.job.write_text(job)
    _, of_the_first = command("job", "check", site)
    assert "rows were shared before, in 2 runs of this job and 1 of others" in of_others
    assert "rows were shared before, in 1 runs of this job and 2 of others" in of_the_first


def test_how_a_file_is_written_is_said_and_names_may_be_spelt_otherwise(organisations):
    path = organisations.folder / "north.csv"
    text = path.read_text().replace(",", ";").replace(".", ",").replace("age;bmi", " bmi ;age")
    lines = [line.split(";") for line in text.splitlines()]
    swapped = [lines[0], *([one[0], one[2], one[1]] for one in lines[1:])]  # columns in another order
    path.write_text("\n".join(map(";".join, swapped)) + "\n", encoding="utf-16")
    status, text = command("job", "check", organisations.site("north"))
    assert status == 0
    assert "the file has semicolons between values, decimal commas, UTF-16" in text
    ages = organisations.rows["north"][:, 0]
    assert f"age │ {ages.min():g} │ {ages.max():g} │ 0 to 120" in text


def test_a_site_says_what_is_not_found_of_its_file_and_is_told_how_it_was_read(organisations):
    path = organisations.folder / "north.csv"
    text = path.read_text().replace(",", ";").replace(".", ",").replace("age;", "Größe;")
    path.write_text(text, encoding="iso-8859-15")
    site = organisations.site("north")
    organisations.replace(site, "[data]", '[data]\ncolumns = {age = "Größe"}')
    status, told = command("job", "check", site)
    assert status == 2
    assert (
        "it is not UTF-8 text; save it as UTF-8, or give its encoding, such as windows-1252 (--encoding"
        in told
    )
    given = 'encoding = "iso-8859-15"\nseparator = "semicolon"\ndecimal = "comma"'
    organisations.replace(site, "[data]", f"[data]\n{given}")
    status, told = command("job", "check", site)
    assert status == 0, told
    assert "the file has semicolons between values, decimal commas, iso-8859-15" in told
    ages = organisations.rows["north"][:, 0]
    assert f"age │ {ages.min():g} │ {ages.max():g} │ 0 to 120" in told


def test_a_helper_has_nothing_to_check_but_its_key(organisations):
    organisations.add_helpers("helper")
    status, text = command("job", "check", organisations.site("helper"))
    assert status == 0
    assert "helper: a helper in the job" in text


def test_what_does_not_fit_is_not_signed(organisations):
    spoil(organisations)
    status, text = command("job", "sign", organisations.site("north"))
    assert status == 2
    assert "column 'age' has 3 values outside" in text
    assert "column 'dose' has 2 missing values" in text
    assert read_signatures(signatures_path(organisations.job)) == []


def test_a_job_that_prepares_says_how_much_is_mended(organisations):
    schema = '[[column]]\nname = "age"\nlow = 0\nhigh = 50\nclip = true\n'
    schema += '[[column]]\nname = "bmi"\nlow = 0\nhigh = 90\n'
    (organisations.folder / "schema.toml").write_text(schema)
    text = organisations.job.read_text()
    organisations.job.write_text(
        text[: text.index("[columns]")].replace("roster =", 'prepare = "schema.toml"\nroster =')
    )
    found = check_site(read_site(organisations.site("south")))
    clipped = int((organisations.rows["south"][:, 0] > 50).sum())
    assert found.rows.mended["clipped"] == {"age": clipped}
    assert np.max(found.rows.table.rows[:, 0]) == 50
    assert f"{clipped} values of 'age' are clipped" in command("job", "check", organisations.site("south"))[1]
