"""A site with a unique path, columns, IDs and values, and ways in which its data can be wrong."""

import os
import re
import sqlite3
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from support.organisations import NAMES, Organisations
from support.preparing import CONSENT, SCHEMA, Preparing

from secfc.agreement.key_files import write_new_key
from secfc.errors.codes import Code

MARK = "q7391"
"""Part of every name that only the site has."""

VALUE = 73914.5625
"""A value that only the site has."""

_TIMES = re.compile(rb"(?<![\d.])\d{1,4}\.\d+(?:e[-+]?\d+)?")

SITE = "south"


def files_of_others(made, summary):
    """The contents of the summary and of the other sites' results."""
    others = [summary, *made.folder.glob("results-north/**/*"), *made.folder.glob("results-west/**/*")]
    return {str(path.relative_to(made.folder)): path.read_bytes() for path in others if path.is_file()}


def assert_no_mark(found, folder):
    """Assert that nothing that was found has anything that only the site has."""
    texts = [MARK, str(folder), repr(VALUE), f"{VALUE:.6g}", f"{VALUE:g}", "73914", "73,914"]
    marks = [*(text.encode() for text in texts), struct.pack("<d", VALUE), struct.pack("<f", VALUE)]
    for where, data in found.items():
        # A time below 10,000 seconds can contain the digits of the value by chance.
        assert not [mark for mark in marks if mark in _TIMES.sub(b"", data)], where


class Secretive:
    """Common part of the two consortia below. The site's files have unique names."""

    @property
    def secret(self) -> Path:
        folder = self.folder / f"ward-{MARK}"
        folder.mkdir(exist_ok=True)
        return folder

    def change(self, column, row, value):
        self.own[column][row] = value
        self.write()

    def write(self):
        titles = [f"{column}_{MARK}" for column in self.own]
        lines = [",".join(one) for one in zip(*self.own.values(), strict=True)]
        self.file.write_text("\n".join([",".join(titles), *lines, ""]))

    @property
    def file(self) -> Path:
        return self.secret / f"patients-{MARK}.csv"

    def point(self, *, path=None, query=None, url=None, columns=None, id_column="patient", more="", first=""):
        source = [f"path = {str(path or self.file)!r}"] if url is None else [f"url = {url!r}"]
        source += [f"query = {query!r}"] if query else []
        source += [f"id = '{id_column}_{MARK}'"] if id_column else []
        mapped = [f"{column} = '{column}_{MARK}'" for column in columns or self.columns]
        self.site(SITE).write_text(
            f'party = "{SITE}"\njob = "job.toml"\nkey = "{SITE}.key"\nresults = "results-{MARK}"\n{first}\n'
            + "\n".join(["[data]", *source, "[data.columns]", *mapped, self.limits, more, ""])
        )

    def sqlite(self, values):
        path = self.secret / f"register-{MARK}.db"
        with sqlite3.connect(path) as connection:
            connection.execute(f"create table t_{MARK} (patient_{MARK}, age_{MARK}, bmi_{MARK})")
            connection.executemany(f"insert into t_{MARK} values (?, ?, ?)", values)
        connection.close()
        return path


class Plain(Secretive, Organisations):
    """A job whose columns are used as they are."""

    columns = ("age", "bmi")
    limits = ""

    def __init__(self, folder):
        super().__init__(folder)
        rows = self.rows[SITE]
        self.own = {
            "patient": [f"person-{MARK}-{at}" for at in range(len(rows))],
            "age": [repr(one) for one in rows[:, 0].tolist()],
            "bmi": [repr(one) for one in rows[:, 1].tolist()],
        }
        self.write()
        self.point()
        self.sign()


class Prepared(Secretive, Preparing):
    """A job that first opens means."""

    columns = ("age", "dose", "smoker")
    limits = CONSENT

    def __init__(self, folder, schema=SCHEMA):
        super().__init__(folder, schema=schema)
        values = self.values[SITE]
        self.own = {"patient": [f"person-{MARK}-{at}" for at in range(len(values["age"]))], **values}
        self.write()
        self.point()

    def write_table(self, name, titles=None):
        if name != SITE:
            super().write_table(name, titles)


@dataclass(frozen=True)
class Case:
    """An error at the site, and the code that the other parties get.

    Attributes
    ----------
    spoil : callable
        Takes the consortium and makes one of the site's inputs wrong.
    code : Code
    kind : type
        Of the consortium.
    told : bool
        Whether the site's own log contains one of its unique names or values.
    """

    spoil: Callable
    code: Code
    kind: type = Plain
    told: bool = True


def _drop(column):
    def spoil(made):
        del made.own[column]
        made.write()

    return spoil


def _text(column, value, row=4):
    return lambda made: made.change(column, row, value)


def _bytes(name, content):
    def spoil(made):
        path = made.secret / name
        path.write_bytes(content)
        made.point(path=path)

    return spoil


def _starts(values):
    def spoil(made):
        made.replace(made.job, "seed = 7", 'seed = 7\ninit = "labels"')
        for name in NAMES:
            count = len(made.rows[name])
            if name == SITE:
                made.own["begin"] = (values * count)[:count]
                made.write()
                made.point()
                made.replace(made.site(SITE), "[data]", f"[data]\nstart = 'begin_{MARK}'")
                continue
            lines = (made.folder / f"{name}.csv").read_text().splitlines()
            labels = ["begin", *(str(at % 2) for at in range(count))]
            both = [f"{line},{label}" for line, label in zip(lines, labels, strict=True)]
            (made.folder / f"{name}.csv").write_text("\n".join([*both, ""]))
            made.write_site(name, data=f'path = "{name}.csv"\nid = "patient"\nstart = "begin"\n')
        made.sign()

    return spoil


def _hidden(then, *, cap=40):
    def spoil(made):
        made.hide(cap=cap)
        then(made)
        made.sign()

    return spoil


def _database(then):
    def spoil(made):
        ids, ages, masses = made.own.values()
        rows = [(one, float(age), float(mass)) for one, age, mass in zip(ids, ages, masses, strict=True)]
        query = f"select * from t_{MARK}"
        then(made, rows, query)

    return spoil


def _asked(made, rows, query):
    made.point(url=f"sqlite:///{made.sqlite(rows)}", query=query)


def _in_the_way(what):
    def spoil(made):
        (made.folder / f"{what}-{MARK}").write_text("in the way")
        if what == "storage":
            made.point(first=f'storage = "storage-{MARK}"')

    return spoil


def _other_key(made):
    write_new_key(made.folder / f"other-{MARK}.key")
    made.replace(made.site(SITE), "south.key", f"other-{MARK}.key")


def _rows_in_numbers(made):
    table = pa.table(
        {f"patient_{MARK}": made.own["patient"], f"age_{MARK}": ["x"] * 9, f"bmi_{MARK}": [VALUE] * 9}
    )
    path = made.secret / f"table-{MARK}.parquet"
    pyarrow.parquet.write_table(table, path)
    made.point(path=path)


def _array(made):
    path = made.secret / f"array-{MARK}.npy"
    np.save(path, np.array([[MARK, "1"]]))
    made.point(path=path, id_column=None)


def _same_ids(made):
    made.own["patient"][3] = made.own["patient"][5]
    made.write()


def _many(made):
    for column in made.own.values():
        column.extend(column[:1] * 20)
    made.own["patient"] = [f"person-{MARK}-{at}" for at in range(len(made.own["age"]))]
    made.write()


def _repeated(made):
    made.file.write_text(made.file.read_text().replace("bmi_", "age_", 1))


def _loose_key(made):
    os.chmod(made.folder / f"{SITE}.key", 0o644)


DEVIATIONS = SCHEMA.replace("deviations = 8", "deviations = 2")


class Narrow(Prepared):
    def __init__(self, folder):
        super().__init__(folder, DEVIATIONS)


def _off_step(made):
    made.replace(made.job, "seed = 7", "seed = 7\nstep = 1")
    for name in set(NAMES) - {SITE}:
        lines = [f"{name}-{at},{age:.0f},{bmi:.0f}" for at, (age, bmi) in enumerate(made.rows[name].tolist())]
        (made.folder / f"{name}.csv").write_text("\n".join(["patient,age,bmi", *lines, ""]))
    made.sign()


CASES = {
    "missing column": Case(_drop("bmi"), Code.MISSING_COLUMN),
    "missing ID column": Case(_drop("patient"), Code.MISSING_COLUMN),
    "repeated column": Case(_repeated, Code.MISSING_COLUMN),
    "text in a number column": Case(_text("bmi", f"heavy-{MARK}"), Code.NOT_A_NUMBER),
    "texts in Parquet": Case(_rows_in_numbers, Code.NOT_A_NUMBER),
    "texts in an array": Case(_array, Code.NOT_A_NUMBER),
    "missing value": Case(_text("bmi", ""), Code.MISSING_VALUE),
    "NaN": Case(_text("bmi", "nan"), Code.MISSING_VALUE),
    "infinity": Case(_text("bmi", "inf"), Code.MISSING_VALUE),
    "out of range": Case(_text("age", repr(VALUE)), Code.OUT_OF_RANGE),
    "values off the step": Case(_off_step, Code.OFF_STEP),
    "too large for float64": Case(_text("age", "9" * 17), Code.OUT_OF_RANGE),
    "absent file": Case(lambda made: made.file.unlink(), Code.MISSING_FILE),
    "folder for a file": Case(lambda made: made.point(path=made.secret), Code.MISSING_FILE),
    "bad encoding": Case(_bytes(f"latin-{MARK}.csv", b"a\xe9e,b\xff\n1,2\n"), Code.UNREADABLE_FILE),
    "ragged lines": Case(_bytes(f"ragged-{MARK}.csv", b"a,b\n1,2,3\n"), Code.UNREADABLE_FILE),
    "no Parquet": Case(_bytes(f"broken-{MARK}.parquet", MARK.encode()), Code.UNREADABLE_FILE),
    "no array": Case(_bytes(f"broken-{MARK}.npy", MARK.encode()), Code.UNREADABLE_FILE),
    "unknown type of file": Case(_bytes(f"file.{MARK}", b"1,2"), Code.UNREADABLE_FILE),
    "absent database": Case(
        _database(lambda made, rows, query: made.point(url=f"sqlite:///{made.secret}/no.db", query=query)),
        Code.MISSING_FILE,
    ),
    "no database": Case(
        _database(lambda made, rows, query: made.point(url=f"sqlite:///{made.file}", query=query)),
        Code.DATABASE,
    ),
    "query that fails": Case(
        _database(lambda made, rows, query: _asked(made, rows, f"select * from u_{MARK}")), Code.DATABASE
    ),
    "text in a database": Case(
        _database(lambda made, rows, query: _asked(made, [*rows, ("z", "heavy", MARK)], query)),
        Code.NOT_A_NUMBER,
    ),
    "column that a query lacks": Case(
        _database(lambda made, rows, query: _asked(made, rows, f"select patient_{MARK} from t_{MARK}")),
        Code.MISSING_COLUMN,
    ),
    "results in a file": Case(_in_the_way("results"), Code.UNWRITABLE),
    "storage in a file": Case(_in_the_way("storage"), Code.UNWRITABLE),
    "key not in the roster": Case(_other_key, Code.KEY_NOT_IN_ROSTER),
    "absent key": Case(lambda made: (made.folder / f"{SITE}.key").unlink(), Code.MISSING_FILE, told=False),
    "key that others may read": Case(_loose_key, Code.BAD_PARAMETER, told=False),
    "unknown key in the site file": Case(
        lambda made: made.point(first=f"colour_{MARK} = 1"), Code.BAD_PARAMETER
    ),
    "site file that is no TOML": Case(
        lambda made: made.point(first=f"= {MARK}"), Code.BAD_PARAMETER, told=False
    ),
    "limit on t": Case(lambda made: made.point(more="[limits]\nleast_t = 2"), Code.LIMIT, told=False),
    "limit on rows": Case(
        lambda made: made.point(more="[limits]\nmost_rows = 3"), Code.LIMIT_ROWS, told=False
    ),
    "limit on one party's share": Case(
        lambda made: made.point(more="[limits]\nlargest_share = 0.01"), Code.LIMIT_SHARE, told=False
    ),
    "limit on columns": Case(lambda made: made.point(more=f'[limits]\ncolumns = ["age_{MARK}"]'), Code.LIMIT),
    "no start labels": Case(_starts(["x"]), Code.BAD_LABELS),
    "start labels below 0": Case(_starts(["-1", "1"]), Code.BAD_LABELS),
    "start labels from k on": Case(_starts(["5", "1"]), Code.BAD_LABELS, told=False),
    "ID held twice by the site": Case(_hidden(_same_ids), Code.DUPLICATE_ID, told=False),
    "missing ID": Case(_hidden(_text("patient", "")), Code.BAD_ID, told=False),
    "more rows than the cap": Case(_hidden(_many, cap=20), Code.UNION, told=False),
    "column missing in a preparation": Case(_drop("dose"), Code.MISSING_COLUMN, Prepared),
    "number that is none in a preparation": Case(_text("age", f"old-{MARK}"), Code.NOT_A_NUMBER, Prepared),
    "infinity in a preparation": Case(_text("age", "inf"), Code.MISSING_VALUE, Prepared),
    "out of range in a preparation": Case(_text("age", repr(VALUE)), Code.OUT_OF_RANGE, Prepared),
    "unknown category": Case(_text("smoker", f"pipe-{MARK}"), Code.UNKNOWN_CATEGORY, Prepared),
    "too many deviations": Case(_text("age", "119"), Code.TOO_MANY_DEVIATIONS, Narrow),
}
