"""A site's own file: its errors, what it refuses, where its rows come from."""

import sqlite3
from contextlib import closing

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from secfc.agreement.rows import read_rows
from secfc.agreement.site_file import read_site
from secfc.errors import DataError, LimitError, ParameterError
from secfc.errors.codes import Code


def test_paths_are_relative_to_the_site_file(organisations, monkeypatch, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    site = read_site(organisations.site("north"))
    assert site.job == tmp_path / "job.toml"
    assert site.source.rows.rows == tmp_path / "north.csv"
    assert site.results == tmp_path / "results-north"


def test_a_site_computes_in_one_thread_unless_its_file_says_more(organisations):
    file = organisations.site("north")
    assert read_site(file).threads == 1
    file.write_text("threads = 3\n" + file.read_text())
    assert read_site(file).threads == 3


WRONG = {
    "threads": ('party = "south"', 'threads = 0\nparty = "south"', "1: threads: an integer from 1 to 1024"),
    "no number of threads": ('party = "south"', 'threads = "all"\nparty = "south"', "1: threads: "),
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
        "7: data: give a file as path",
    ),
    "url as file": (
        'path = "south.csv"',
        'path = "duckdb:///a"\nquery = "x"',
        "7: data: give a file as path",
    ),
    "empty path": ('path = "south.csv"', 'path = ""', "7: data: the path of a file is needed"),
    "encoding": (
        'path = "south.csv"',
        'path = "south.csv"\nencoding = "utf-7"',
        "8: data.encoding: 'utf-8', 'utf-16-le', 'windows-1250', ",
    ),
    "separator": (
        'path = "south.csv"',
        'path = "south.csv"\nseparator = ";"',
        "8: data.separator: 'comma', 'semicolon', 'tab' or 'bar' is possible",
    ),
    "encoding of numbers": (
        'path = "south.csv"',
        'path = "south.npy"\nencoding = "utf-8"',
        "8: data.encoding: only of a text file (.csv, .tsv, .csv.gz, .tsv.gz)",
    ),
    "separator of a database": (
        'path = "south.csv"',
        'url = "sqlite:///x"\nquery = "x"\nseparator = "comma"',
        "9: data.separator: only of a text file (.csv, ",
    ),
    "limit": ("[data]", "[limits]\nsmallest_set = 0\n[data]", "7: limits.smallest_set: "),
    **{
        f"share {value}": (
            "[data]",
            f"[limits]\nlargest_share = {value}\n[data]",
            f"7: limits.largest_share: {told}",
        )
        for value, told in (
            ("0", "Input should be greater than 0"),
            ("-0.5", "Input should be greater than 0"),
            ("1.01", "Input should be less than or equal to 1"),
            ("nan", "Input should be less than or equal to 1"),
            ("true", "a number is needed"),
            ('"0.5"', "a number is needed"),
        )
    },
    "limit type": ("[data]", '[limits]\nleast_t = "2"\n[data]', "7: limits.least_t: an integer is needed"),
    "disclosure": (
        "[data]",
        '[limits]\ndisclosure = ["al"]\n[data]',
        "7: limits.disclosure[1]: 'coded' or 'labels' is possible",
    ),
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
    "smallest_set = 5": "the job allows sets of 1 rows, this site allows 5 or more",
    "most_rounds = 302": "the job has up to 303 rounds, this site allows 302 at most",
    "least_t = 2": "the job has t = 1, this site allows 2 or more",
    "least_segment_columns = 3": r".* have 2 columns \(ell = 1\), this site allows 3 or more",
    "most_precision = 31": "the job has a precision of 32 bits, this site allows 31 at most",
    'columns = ["age"]': "the job clusters bmi; age are allowed",
    'disclosure = ["coded"]': "the job has 'labels', 'coded' is allowed",
}


@pytest.mark.parametrize(("limit", "reason"), REFUSED.items(), ids=REFUSED)
def test_a_job_that_breaks_a_limit_is_refused_with_line_and_reason(organisations, limit, reason):
    path = organisations.write_site("south", more=f"[limits]\n{limit}\n")
    site = read_site(path)
    key = limit.split()[0]
    with pytest.raises(LimitError, match=rf"south\.toml:11: south refuses the job: limits\.{key}: {reason}$"):
        site.check(organisations.agreement)


CENTRES = 'reveal_centres = ["west", "north"]'
TO_WEST = 'reveal_centres = ["west"]\n'
ALL = 'reveal_centres = ["north", "south", "west"]'
SPREAD = f"{TO_WEST}reveal_spread = 12"
OF_TWELVE = (
    r"limits\.reveal_spread: .* of 12 rows of others or more{}; to consent, write reveal_spread = 12 in "
)
CONSENTS = [
    *(
        (CENTRES, limits, rf"reveals centres to north, west, this site consents to {told}; to consent, ", ALL)
        for limits, told in (("", "nobody"), (TO_WEST, "west"))
    ),
    *(
        (SPREAD, TO_WEST + limits, OF_TWELVE.format(told), SPREAD)
        for limits, told in (("", ""), ("reveal_spread = 13", ", this site consents to 13 or more"))
    ),
    *(
        ("reveal_inertia = true", limits, "to consent, write reveal_inertia = true", "reveal_inertia = true")
        for limits in ("", "reveal_inertia = false")
    ),
]


@pytest.mark.parametrize(("opened", "limits", "told", "consent"), CONSENTS)
def test_a_job_that_reveals_more_than_the_site_consents_to_is_refused(
    organisations, opened, limits, told, consent
):
    organisations.replace(organisations.job, "k = 2", f"k = 2\n{opened}")
    site = read_site(organisations.write_site("south", more=f"[limits]\n{limits}\n"))
    with pytest.raises(LimitError, match=told) as caught:
        site.check(organisations.agreement)
    assert caught.value.code is Code.NO_CONSENT
    site = read_site(organisations.write_site("south", more=f"[limits]\n{consent}\n"))
    site.check(organisations.agreement)


def test_a_site_cannot_consent_to_spreads_of_fewer_than_ten_rows(organisations):
    path = organisations.write_site("south", more="[limits]\nreveal_spread = 9\n")
    with pytest.raises(ParameterError, match="reveal_spread"):
        read_site(path)


def test_a_job_within_all_limits_is_not_refused(organisations):
    limits = "smallest_set = 1\nmost_rounds = 303\nleast_t = 1\nleast_segment_columns = 2\n"
    limits += 'most_precision = 32\ndisclosure = ["labels"]\ncolumns = ["bmi", "age", "more"]\n'
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


def read(organisations, name="north"):
    return read_rows(read_site(organisations.site(name)), organisations.agreement)


def rows_of(organisations, name="north"):
    return read(organisations, name).table


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
    for key in ("factors.weight = 2", 'dates.weight = "%d.%m.%Y"', 'values.weight = {a = "1"}'):
        organisations.write_site("north", data=f'path = "north.csv"\n{key}\n')
        with pytest.raises(
            ParameterError, match=rf"north\.toml:8: data\.{key.split()[0]}: the job has no such"
        ):
            rows_of(organisations)


def test_names_units_and_missing_texts_of_a_site_are_those_of_the_job_afterwards(organisations):
    organisations.write_site(
        "north",
        data='path = "own.csv"\nid = "patient"\nna = ["?"]\ncolumns.age = "months"\nfactors.bmi = 10\n',
    )
    lines = [
        f"{at},{age!r},{bmi / 10!r}" for at, (age, bmi) in enumerate(organisations.rows["north"].tolist())
    ]
    text = "\n".join(["patient,months,bmi", *lines, ""])
    (organisations.folder / "own.csv").write_text(text)
    np.testing.assert_allclose(rows_of(organisations).rows, organisations.rows["north"], rtol=1e-15)
    (organisations.folder / "own.csv").write_text(f"{text}12,?,2.5\n13,50,99\n")
    with pytest.raises(DataError) as caught:
        rows_of(organisations)
    where = f"north: {organisations.folder / 'own.csv'}"
    assert str(caught.value).splitlines() == [
        f"{where}: column 'months' has 1 missing values, the first in row 12",
        f"{where}: column 'bmi' has 1 values outside the job's range [10.5, 60.0], the first in row 13",
    ]


# Settings of membership privacy and start labels

HIDDEN = ("k = 2", "k = 2\nids_cap = 100")
BY_LABELS = ("k = 2", 'k = 2\ninit = "labels"')
PREDICTS = ("k = 2", "k = 2\npredict = true")
WEIGHTED = ("k = 2", "k = 2\nweighted = true")


def with_key(organisations, *, data='path = "north.csv"\nid = "patient"\n'):
    path = organisations.write_site("north", data=data)
    organisations.replace(path, "[data]", 'ids_key = "ids.key"\n[data]')
    return path


@pytest.mark.parametrize(
    ("change", "data", "told"),
    [
        (HIDDEN, 'path = "north.csv"\nid = "patient"\n', ":1: ids_key is needed: the job has membership"),
        (HIDDEN, 'path = "north.csv"\n', ":6: data.id is needed: the job has membership privacy"),
        (
            BY_LABELS,
            'path = "north.csv"\n',
            ":6: data.start is needed: the job has start labels (clustering.init)",
        ),
        (
            PREDICTS,
            'path = "north.csv"\n',
            ":6: data.start is needed: the job has start labels (clustering.predict)",
        ),
        (None, 'path = "north.csv"\nstart = "group"\n', ":8: data.start: the job has no start labels"),
        (WEIGHTED, 'path = "north.csv"\n', ":6: data.weight is needed: the job has weights"),
        (None, 'path = "north.csv"\nweight = "beds"\n', ":8: data.weight: the job has no weights"),
    ],
)
def test_what_the_job_needs_of_a_site_is_told_by_line(organisations, change, data, told):
    if change:
        organisations.replace(organisations.job, *change)
    organisations.write_site("north", data=data)
    with pytest.raises(ParameterError) as caught:
        read(organisations)
    assert told in str(caught.value)


def test_a_site_with_an_id_key_takes_part_in_no_job_that_tells_whose_rows_are_whose(organisations):
    with_key(organisations)
    with pytest.raises(ParameterError, match=r":6: ids_key: the job has no membership privacy"):
        read(organisations)


def ids_of(organisations, lines):
    (organisations.folder / "north.csv").write_text("\n".join(["patient,age,bmi", *lines, ""]))
    organisations.replace(organisations.job, *HIDDEN)
    with_key(organisations)
    return read(organisations)


def test_ids_of_a_csv_file_are_its_text_whatever_they_look_like(organisations):
    rows = ids_of(organisations, ["007,50,20", "7,50,20", " 7 ,50,20", "1e3,50,20"])
    assert rows.ids == ["007", "7", "7", "1e3"]
    assert rows.table.ids.to_pylist() == ["007", "7", " 7 ", "1e3"]
    assert "007" not in repr(rows)


def test_sites_without_rows_have_no_ids(organisations):
    assert ids_of(organisations, []).ids == []


@pytest.mark.parametrize(
    ("column", "ids"),
    [
        (pa.array([7, 8]), ["7", "8"]),
        (pa.array([7, -8], pa.int8()), ["7", "-8"]),
        (pa.array([7.0, -8.0]), ["7", "-8"]),
        (pa.array(["7.0", "-8."]), ["7", "-8"]),
        (pa.array(["7", "8"], pa.string_view()), ["7", "8"]),
        (pa.array(["7", "8"], pa.large_string()), ["7", "8"]),
        (pa.array(["x", "y"]).dictionary_encode(), ["x", "y"]),
    ],
)
def test_integers_are_the_ids_that_their_text_is(organisations, column, ids):
    table = pa.table({"patient": column, "age": [50.0, 60.0], "bmi": [20.0, 30.0]})
    pyarrow.parquet.write_table(table, organisations.folder / "north.parquet")
    organisations.replace(organisations.job, *HIDDEN)
    with_key(organisations, data='path = "north.parquet"\nid = "patient"\n')
    assert read(organisations).ids == ids


@pytest.mark.parametrize(
    ("column", "told"),
    [
        (pa.array([7.5, 8.0]), ": ID 0 is a number with a fraction"),
        (pa.array([b"7", b"8"]), ": ID 0 is of type bytes"),
        (pa.array(["7", None]), " of IDs has 1 missing values"),
        (pa.array(["7", "NA"]), ": ID 1 is missing or empty"),
    ],
)
def test_ids_of_other_types_are_refused(organisations, column, told):
    table = pa.table({"patient": column, "age": [50.0, 60.0], "bmi": [20.0, 30.0]})
    pyarrow.parquet.write_table(table, organisations.folder / "north.parquet")
    organisations.replace(organisations.job, *HIDDEN)
    with_key(organisations, data='path = "north.parquet"\nid = "patient"\n')
    with pytest.raises(DataError, match=rf"^north: .*north\.parquet: column 'patient'{told}"):
        read(organisations)


def start_of(organisations, lines, column="group"):
    (organisations.folder / "north.csv").write_text("\n".join(["group,age,bmi", *lines, ""]))
    organisations.replace(organisations.job, *BY_LABELS)
    organisations.write_site("north", data=f'path = "north.csv"\nstart = "{column}"\n')
    return read(organisations)


def test_start_labels_come_from_a_column_that_is_not_clustered(organisations):
    rows = start_of(organisations, ["1,50,20", "0,60,30"])
    assert rows.start.tolist() == [1, 0]
    assert rows.table.columns == ("age", "bmi")


@pytest.mark.parametrize("label", ["0.5", "x", "", "-1", "65535", "99999999999"])
def test_what_is_no_start_label_is_refused_without_the_value(organisations, label):
    with pytest.raises(DataError, match=r"^north: .*north\.csv: column 'group' of start labels ") as caught:
        start_of(organisations, ["0,50,20", f"{label},60,30"])
    assert not label or f" {label} " not in str(caught.value)


def test_a_column_of_start_labels_that_is_missing_or_clustered_is_told(organisations):
    with pytest.raises(DataError, match=r"north\.csv: no column 'grp'; it has group, age, bmi"):
        start_of(organisations, ["0,50,20"], column="grp")
    organisations.write_site("north", data='path = "north.csv"\nstart = "age"\n')
    with pytest.raises(DataError, match=r"data\.start: column 'age' is clustered"):
        read(organisations)
