"""A site's own file: what is wrong with it, what it refuses, where its rows come from."""

import sqlite3
from contextlib import closing

import numpy as np
import pytest

from secfc.agreement.rows import read_rows
from secfc.agreement.site_file import read_site
from secfc.errors import DataError, LimitError, ParameterError


def test_paths_are_relative_to_the_site_file(organisations, monkeypatch, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    site = read_site(organisations.site("north"))
    assert site.job == tmp_path / "job.toml"
    assert site.source.rows == tmp_path / "north.csv"
    assert site.results == tmp_path / "results-north"


WRONG = {
    "no party": ('party = "south"\n', "", "1: party is needed"),
    "empty key": ('key = "south.key"', 'key = ""', "3: key is needed, a text"),
    "unknown": ("[data]", "[dat]", "6: dat: unknown key; did you mean data?"),
    "no source": ('path = "south.csv"', "", "6: data: either path, or path and query, or url and query"),
    "two sources": ("[data]", '[data]\nurl = "sqlite:///x"', "6: data: either path, or path and query, or "),
    "no query": ('path = "south.csv"', 'url = "sqlite:///x"', "6: data: either path, or path and query, or "),
    "empty url": ('path = "south.csv"', 'url = ""\nquery = "x"', "7: data: the path of a file is needed"),
    "no url": ('path = "south.csv"', 'query = "x"\nurl = "south.sqlite"', "8: data.url: postgresql://host/"),
    "password": (
        'path = "south.csv"',
        'query = "x"\nurl = "postgresql://a:secret@b/c"',
        "8: data.url: the URL has a password; leave it to the environment",
    ),
    "no file to query": ('path = "south.csv"', 'path = "south.npy"\nquery = "x"', "7: data.path: "),
    "file as url": (
        'path = "south.csv"',
        'url = "south.csv"\nquery = "x"',
        "7: data: a file to query is its",
    ),
    "url as file": ('path = "south.csv"', 'path = "duckdb:///a"\nquery = "x"', "7: data: a file to query is"),
    "empty path": ('path = "south.csv"', 'path = ""', "7: data: the path of a file is needed"),
    "limit": ("[data]", "[limits]\nsmallest_set = 0\n[data]", "7: limits.smallest_set: "),
    "limit type": ("[data]", '[limits]\nleast_t = "2"\n[data]', "7: limits.least_t: an integer is needed"),
    "disclosure": ("[data]", '[limits]\ndisclosure = ["al"]\n[data]', "7: limits.disclosure[1]: 'coded' or"),
}


@pytest.mark.parametrize(("old", "new", "told"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_in_a_site_file_is_told_by_line(organisations, old, new, told):
    path = organisations.site("south")
    organisations.replace(path, old, new)
    with pytest.raises(ParameterError) as caught:
        read_site(path)
    assert told in str(caught.value).replace(f"{path}:", "")
    assert "secret" not in str(caught.value)


REFUSED = {
    "smallest_set = 5": "the job asks about sets of 1 rows, 5 is the smallest",
    "most_rounds = 302": "the job asks for up to 303 rounds, 302 are the most",
    "least_t = 2": "the job has t = 1, 2 is the least",
    "least_segment_columns = 3": r"segments of the job have 2 columns \(ell = 1\), 3 are the least",
    "most_precision = 31": "the job has a precision of 32 bits, 31 are the most",
    'columns = ["age"]': "the job clusters bmi; age are allowed",
}


@pytest.mark.parametrize(("limit", "reason"), REFUSED.items(), ids=REFUSED)
def test_a_job_that_breaks_a_limit_is_refused_with_line_and_reason(organisations, limit, reason):
    path = organisations.write_site("south", more=f"[limits]\n{limit}\n")
    site = read_site(path)
    key = limit.split()[0]
    with pytest.raises(LimitError, match=rf"south\.toml:11: south refuses the job: limits\.{key}: {reason}$"):
        site.check(organisations.agreement)


@pytest.mark.parametrize(
    ("limits", "consented"),
    [("", "nobody"), ("[limits]\n", "nobody"), ('[limits]\nreveal_centres = ["west"]\n', "west")],
)
def test_a_job_that_reveals_centres_to_whom_the_site_did_not_consent_is_refused(
    organisations, limits, consented
):
    organisations.replace(organisations.job, "k = 2", 'k = 2\nreveal_centres = ["west", "north"]')
    path = organisations.write_site("south", more=limits)
    with pytest.raises(
        LimitError, match=rf"the job reveals centres to .*north.*; consent was given for {consented}$"
    ):
        read_site(path).check(organisations.agreement)
    path = organisations.write_site("south", more='[limits]\nreveal_centres = ["north", "south", "west"]\n')
    read_site(path).check(organisations.agreement)


def test_a_job_within_all_limits_is_not_refused(organisations):
    limits = "smallest_set = 1\nmost_rounds = 303\nleast_t = 1\nleast_segment_columns = 2\n"
    limits += 'most_precision = 32\ndisclosure = ["distances"]\ncolumns = ["bmi", "age", "more"]\n'
    read_site(organisations.write_site("south", more=f"[limits]\n{limits}")).check(organisations.agreement)


def test_all_broken_limits_are_told(organisations):
    path = organisations.write_site("south", more="[limits]\nleast_t = 2\nmost_precision = 1\n")
    with pytest.raises(LimitError) as caught:
        read_site(path).check(organisations.agreement)
    assert len(str(caught.value).splitlines()) == 2


def test_a_job_that_promises_larger_sets_and_fewer_rounds_is_not_refused(organisations):
    organisations.replace(
        organisations.job, "[columns]", "[limits]\nsmallest_set=5\nmost_rounds=9\n[columns]"
    )
    site = read_site(organisations.write_site("south", more="[limits]\nsmallest_set = 5\nmost_rounds = 9\n"))
    site.check(organisations.agreement)


# Rows


def rows_of(organisations, name="north"):
    return read_rows(read_site(organisations.site(name)), organisations.agreement)


def test_columns_come_in_the_jobs_order_under_the_sites_names(organisations):
    text = (organisations.folder / "north.csv").read_text().replace("age", "alter", 1)
    (organisations.folder / "north.csv").write_text(text)
    organisations.write_site(
        "north", data='path = "north.csv"\nid = "patient"\ncolumns = { age = "alter" }\n'
    )
    organisations.replace(
        organisations.job, 'age = [0, 120]\n"bmi" = [10.5, 60]', "bmi = [1, 60]\nage = [0, 120]"
    )
    table = rows_of(organisations)
    np.testing.assert_array_equal(table.rows, organisations.rows["north"][:, ::-1])
    assert table.ids[0].as_py() == "north-0"


def database(organisations, *statements):
    path = organisations.folder / "north.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE visits (patient TEXT, age REAL, bmi REAL)")
        rows = [(f"p{at}", *row) for at, row in enumerate(organisations.rows["north"].tolist())]
        connection.executemany("INSERT INTO visits VALUES (?, ?, ?)", rows)
        for statement in statements:
            connection.execute(statement)
    return path


def query(organisations, text):
    organisations.write_site(
        "north", data=f"url = 'sqlite:///north.sqlite'\nquery = '''{text}'''\nid = 'patient'\n"
    )
    return rows_of(organisations)


def test_rows_come_from_a_query(organisations):
    database(organisations)
    table = query(organisations, "SELECT bmi, age, patient FROM visits")
    np.testing.assert_array_equal(table.rows, organisations.rows["north"])
    assert table.ids[1].as_py() == "p1"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("SELECT age FROM visits", "no column 'bmi'"),
        ("SELECT 1 FROM missing_secret", r"the query fails \(SQLITE_ERROR\)$"),
        ("DELETE FROM visits", "one SELECT is needed, the query does something else$"),
        ("PRAGMA user_version = 3", "one SELECT is needed, the query does something else$"),
        ("SELECT patient, age, 'x' AS bmi FROM visits", "column 'bmi' is not numeric"),
        (
            "SELECT patient, age, iif(age > 50, 1, 'x') AS bmi FROM visits",
            "column 'bmi' has a .* in row .*, below a ",
        ),
    ],
)
def test_a_query_that_cannot_be_used_changes_nothing_and_shows_no_value(organisations, text, told):
    path = database(organisations)
    before = path.read_bytes()
    with pytest.raises(DataError, match=rf"^north: .*north\.sqlite: .*({told})") as caught:
        query(organisations, text)
    assert "secret" not in str(caught.value)
    assert path.read_bytes() == before


def test_a_missing_database_is_not_made(organisations):
    with pytest.raises(DataError, match=r"north: .*north\.sqlite: no such file"):
        query(organisations, "SELECT 1")
    assert not (organisations.folder / "north.sqlite").exists()


def test_values_out_of_range_are_told_without_a_value(organisations):
    organisations.replace(organisations.folder / "north.csv", "north-2,", "north-2,9")
    with pytest.raises(
        DataError,
        match=r"north: .*north\.csv: column 'age' has 1 values .*\[0\.0, 120\.0\], the first in row 2$",
    ):
        rows_of(organisations)


def test_columns_that_the_job_does_not_have_are_told_by_line(organisations):
    organisations.write_site("north", data='path = "north.csv"\n[data.columns]\nweight = "kg"\n')
    with pytest.raises(
        ParameterError, match=r"north\.toml:9: data\.columns\.weight: the job has no such column \(age, bmi\)"
    ):
        rows_of(organisations)
    organisations.write_site("north", data='path = "north.csv"\nid = "age"\n')
    with pytest.raises(DataError, match=r"north\.toml: data\.id: column 'age' is clustered"):
        rows_of(organisations)
