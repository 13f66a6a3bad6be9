"""Rows from a PostgreSQL server that the tests start: in blocks, read-only, and not shown in any error."""

import json
import logging
import os
import re
import socket
import sys
import traceback

import numpy as np
import psycopg
import pyarrow as pa
import pytest
from support import warm
from support.organisations import NAMES, Organisations

import secfc
from secfc.agreement.rows import read_rows
from secfc.agreement.site_file import read_site
from secfc.tables.reading import read_table
from secfc.tables.sources import relational
from secfc.tables.sources.query import Origin, Query

pytestmark = pytest.mark.postgresql

ROWS = np.random.default_rng(1).normal(size=(20, 2)).round(3)
WRONG = "not-the-password-5b1c"


def visits(rows):
    values = ", ".join(f"('p{at}', {age!r}, {dose!r})" for at, (age, dose) in enumerate(rows.tolist()))
    return [
        "CREATE TABLE visits (id TEXT, age DOUBLE PRECISION, dose NUMERIC(8, 3))",
        *([f"INSERT INTO visits VALUES {values}"] if len(rows) else []),
    ]


@pytest.fixture(scope="module")
def url(postgres_server):
    """URL of a database with the rows of ROWS."""
    return postgres_server.fill("north", visits(ROWS))


def query(url, text="SELECT id, age, dose FROM visits"):
    return Query(origin=Origin.of(url), query=text, name="north")


def refusal(url, text):
    """The error of a query, as text with everything that a log could show of it."""
    with pytest.raises(secfc.SecFCError) as caught:
        read_table(query(url, text))
    assert "Traceback" in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


def test_rows_of_a_query_are_those_of_the_table(postgres, url):
    table = read_table(query(url), id_column="id")
    np.testing.assert_array_equal(table.rows, ROWS)
    assert table.ids.to_pylist() == [f"p{at}" for at in range(20)]


def test_the_server_is_asked_for_a_block_at_a_time(postgres, url, monkeypatch):
    monkeypatch.setattr(relational, "BLOCK_ROWS", 100)
    held, fetchmany = [], psycopg.ServerCursor.fetchmany

    def counted(cursor, size=0):
        rows = fetchmany(cursor, size)
        held.append(cursor.pgresult.ntuples)  # rows that the driver holds
        return rows

    monkeypatch.setattr(psycopg.ServerCursor, "fetchmany", counted)
    monkeypatch.setattr(psycopg.ServerCursor, "fetchall", lambda _: pytest.fail("all rows at once"))
    before = len(postgres.log.read_text())
    table = query(url, "SELECT number::float AS age FROM generate_series(1, 1050) AS number").read()
    assert table["age"].to_pylist() == list(range(1, 1051))
    assert max(held) == 100
    assert sum(held) == 1050
    asked = re.findall(r"FETCH FORWARD (\w+) FROM", postgres.log.read_text()[before:])
    assert {int(number) for number in asked} <= {1, 99, 100}


# Types


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("7::smallint", 7.0),
        ("7::integer", 7.0),
        ("-9007199254740992::bigint", -(2.0**53)),
        ("0.1::numeric", 0.1),
        ("sum(number::bigint)", 6.0),
        ("avg(number)", 2.0),
        ("123456789.123456789123456789::numeric", 123456789.123456789123456789),
        ("0.1::double precision", 0.1),
        ("0.5::real", 0.5),
        ("true", 1.0),
        ("1e-400::numeric", 0.0),
    ],
)
def test_numbers_of_every_type_become_the_nearest_float(postgres, url, expression, value):
    table = read_table(query(url, f"SELECT {expression} AS age FROM generate_series(1, 3) AS number LIMIT 1"))
    assert table.rows.tolist() == [[value]]


UNFIT = {
    "NULL": "has 1 missing values, the first in row 2",
    "'NaN'::float": "has 1 NaN or infinite values, the first in row 2",
    "'NaN'::numeric": "has 1 NaN or infinite values, the first in row 2",
    "'-Infinity'::numeric": "has 1 NaN or infinite values, the first in row 2",
    "9007199254740993": "has 1 exact numbers beyond 2^53, the first in row 2",
    "-9223372036854775808": "has 1 exact numbers beyond 2^53, the first in row 2",
    "90071992547409930.5": "has 1 exact numbers beyond 2^53, the first in row 2",
    "1e40::numeric": "has 1 exact numbers beyond 2^53, the first in row 2",
}


@pytest.mark.some(9)
@pytest.mark.parametrize("block", [1, 1000])
@pytest.mark.parametrize(("value", "told"), UNFIT.items(), ids=UNFIT)
def test_a_value_that_does_not_fit_is_told_by_column_and_row(postgres, url, monkeypatch, value, told, block):
    monkeypatch.setattr(relational, "BLOCK_ROWS", block)
    answer = (
        f"SELECT CASE WHEN number = 2 THEN {value} ELSE 1 END AS age FROM generate_series(0, 3) AS number"
    )
    text = refusal(url, answer)
    assert text.startswith(f"north: column 'age' {told}")
    assert "900719" not in text


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("'secret'::text", "is not numeric (string); leave it out (--drop, --id) or encode it"),
        ("DATE '1950-03-01'", "is not numeric (date32[day])"),
        ("TIMESTAMP '1950-03-01 10:00'", "is not numeric (timestamp[us])"),
        ("TIMESTAMPTZ '1950-03-01 10:00Z'", "is not numeric (timestamp[us"),
        ("'\\x00ff'::bytea", "is not numeric (binary)"),
        ("gen_random_uuid()", "is not numeric (string)"),
        ("INTERVAL '1 day'", "has values of type timedelta, the first in row 0; leave it out of the query"),
        ("ARRAY[1, 2]", "has values of type list, the first in row 0"),
        ("'{\"a\": 1}'::json", "has values of type dict, the first in row 0"),
    ],
)
def test_a_column_of_no_numbers_is_named(postgres, url, expression, told):
    text = refusal(url, f"SELECT {expression} AS age")
    assert f"north: column 'age' {told}" in text
    assert "secret" not in text
    assert "1950" not in text


@pytest.mark.parametrize(
    ("expression", "values"),
    [
        ("9007199254740993::bigint", [2**53 + 1]),
        ("12345678901234567::numeric", [12345678901234567]),
        ("'00000000-0000-0000-0000-00000000000a'::uuid", ["00000000-0000-0000-0000-00000000000a"]),
        ("'007'::text", ["007"]),
    ],
)
def test_ids_are_as_they_stand_in_the_database(postgres, url, expression, values):
    table = read_table(query(url, f"SELECT {expression} AS id, 1 AS age"), id_column="id")
    assert table.ids.to_pylist() == values


# Queries


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1::float AS age WHERE 'a%s' LIKE 'a%'",
        "SELECT 1 AS age WHERE ' :x %(y)s {}' <> ''",
        "WITH one AS (SELECT 1 AS age) SELECT * FROM one; ",
        "VALUES (1)",
        "SELECT 1 AS age -- and why",
    ],
)
def test_a_query_is_sent_as_it_stands(postgres, url, text):
    assert read_table(query(url, text)).rows.tolist() == [[1.0]]


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("SELEC 1", "SyntaxError"),
        ("", "SyntaxError"),
        ("SELECT secret FROM visits", "UndefinedColumn"),
        ("SELECT 1 FROM secret", "UndefinedTable"),
        ("SELECT 'secret'::int", "InvalidTextRepresentation"),
        ("SELECT 1 / (number - 2) FROM generate_series(1, 3) AS number", "DivisionByZero"),
        ("SELECT DATE 'infinity'", "DataError"),
        ("DELETE FROM visits", "SyntaxError"),
        ("DELETE FROM visits RETURNING age", "SyntaxError"),
        ("WITH gone AS (DELETE FROM visits RETURNING age) SELECT * FROM gone", "FeatureNotSupported"),
        ("SELECT 1; DELETE FROM visits", "SyntaxError"),
        ("SELECT 1; COMMIT; DELETE FROM visits", "SyntaxError"),
        ("SELECT empty()", "ReadOnlySqlTransaction"),
        ("SELECT nextval('numbers')", "ReadOnlySqlTransaction"),
        ("COPY visits TO STDOUT", "SyntaxError"),
        ("SELECT age INTO other FROM visits", "SyntaxError|InvalidCursorDefinition"),
    ],
)
def test_a_query_that_fails_or_writes_changes_nothing_and_shows_nothing(postgres, text, told):
    url = postgres.fill(
        "written",
        [
            *visits(ROWS),
            "CREATE SEQUENCE numbers",
            "GRANT ALL ON SEQUENCE numbers TO reader",
            "CREATE FUNCTION empty() RETURNS float LANGUAGE SQL AS 'DELETE FROM visits RETURNING age'",
        ],
    )
    assert re.fullmatch(rf"north: the query fails \(({told})\)", refusal(url, text))
    assert postgres.count("written", "visits") == 20


def test_the_transaction_is_read_only(postgres, url):
    text = "SELECT (current_setting('transaction_read_only') = 'on')::int AS age"
    assert read_table(query(url, text)).rows.tolist() == [[1.0]]


# Connections and credentials


@pytest.fixture
def shown(caplog):
    """Everything that any library logs, at every level."""
    caplog.set_level(logging.DEBUG)
    for name in ("sqlalchemy", "sqlalchemy.engine", "sqlalchemy.pool", "psycopg"):
        caplog.set_level(logging.DEBUG, logger=name)
    return lambda: (
        caplog.text
        + "".join(
            traceback.format_exception(record.exc_info[1]) for record in caplog.records if record.exc_info
        )
    )


def test_a_read_logs_neither_password_nor_query_nor_rows(postgres, url, shown):
    # The value is longer than any port number, because the log contains the port of the test's server.
    asked = query(url, "SELECT 4711471147.5 AS age, 'marmot' AS id")
    table = read_table(asked, id_column="id")
    for secret in (postgres.password, "4711471147", "marmot"):
        assert secret not in shown()
        assert secret not in repr([asked, asked.origin, table, pa.__version__])


def test_a_wrong_password_is_refused_and_never_shown(postgres, url, monkeypatch, shown):
    monkeypatch.setenv("PGPASSWORD", WRONG)
    text = refusal(url, "SELECT 1")
    assert text == "north: the database refuses: a wrong user or password, or no such database"
    assert WRONG not in shown()


def test_a_password_that_is_not_given_is_asked_for(postgres, url, monkeypatch, tmp_path):
    monkeypatch.delenv("PGPASSWORD")
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "none"))
    assert refusal(url, "SELECT 1").startswith("north: the database asks for a password; PGPASSWORD")


def test_a_database_that_does_not_exist_is_refused(postgres, url, shown):
    text = refusal(url.replace("/north", "/nosuch"), "SELECT 1")
    assert text == "north: the database refuses: a wrong user or password, or no such database"
    assert postgres.password not in shown()


def test_a_server_that_cannot_be_reached_is_named_and_no_password_shown(postgres, url, shown):
    with socket.socket() as listener:  # bound but not listening, so that nobody else can answer there
        listener.bind(("127.0.0.1", 0))
        other = re.sub(r":\d+/", f":{listener.getsockname()[1]}/", url)
        text = refusal(other, "SELECT 1")
    assert text.startswith("north: no connection to the database (OperationalError): it cannot be reached")
    assert postgres.password not in shown()


@pytest.mark.some(2)
@pytest.mark.parametrize("by", ["default", "URL", "environment"])
def test_a_server_that_says_nothing_is_given_up(postgres, url, monkeypatch, by):
    monkeypatch.setattr(relational, "_PATIENCE_SECONDS", 2 if by == "default" else 10_000)
    if by == "environment":
        monkeypatch.setenv("PGCONNECT_TIMEOUT", "2")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        other = re.sub(r":\d+/", f":{silent.getsockname()[1]}/", url)
        text = refusal(other + "?connect_timeout=2" * (by == "URL"), "SELECT 1")
    assert text.startswith("north: no connection to the database (ConnectionTimeout): it cannot be reached")
    assert postgres.password not in text


def test_user_and_password_can_come_from_a_file_that_the_environment_names(
    postgres, url, monkeypatch, tmp_path
):
    monkeypatch.delenv("PGUSER")
    monkeypatch.delenv("PGPASSWORD")
    path = tmp_path / "passwords"
    path.touch(mode=0o600)
    path.write_text(f"127.0.0.1:*:north:reader:{postgres.password}\n")
    monkeypatch.setenv("PGPASSFILE", str(path))
    assert read_table(query(url.replace("//", "//reader@")), drop=["id"]).rows.shape == (20, 2)


def test_host_and_port_can_come_from_the_environment(postgres, url, monkeypatch):
    monkeypatch.setenv("PGHOST", "127.0.0.1")
    monkeypatch.setenv("PGPORT", str(postgres.port))
    assert read_table(query("postgresql:///north"), drop=["id"]).rows.shape == (20, 2)


def test_a_socket_of_the_machine_will_do(postgres, url):
    socket_url = f"postgresql:///north?host={postgres.folder}&port={postgres.port}"
    assert read_table(query(socket_url), drop=["id"]).rows.shape == (20, 2)


@pytest.mark.parametrize(
    ("options", "encrypted"), [("sslmode=verify-full&sslrootcert={}", 1.0), ("sslmode=disable", 0.0)]
)
def test_whether_the_connection_is_encrypted_is_the_urls_matter(postgres, url, options, encrypted):
    text = "SELECT ssl::int AS age FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
    asked = query(f"{url}?{options.format(postgres.folder / 'root.crt')}", text)
    assert read_table(asked).rows.tolist() == [[encrypted]]


def test_a_server_with_another_certificate_is_refused(postgres, url, tmp_path):
    other = tmp_path / "root.crt"
    other.write_text("")
    text = refusal(f"{url}?sslmode=verify-full&sslrootcert={other}", "SELECT 1")
    assert text.startswith("north: no connection to the database")


# Commands


def command(*words, folder, environment=None):
    done = warm.run(
        [sys.executable, "-m", "secfc", *words],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1", **(environment or {})},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done


def ask_sites(organisations, postgres):
    """Put all sites' rows into databases of the server; north has another name for a column."""
    for name, rows in organisations.rows.items():
        values = ", ".join(
            f"('{name}-{at}', {age!r}, {bmi!r})" for at, (age, bmi) in enumerate(rows.tolist())
        )
        table = ["CREATE TABLE visits (patient TEXT, alter_jahre FLOAT, bmi NUMERIC)"]
        url = postgres.fill(name, [*table, f"INSERT INTO visits VALUES {values}"])
        organisations.write_site(
            name,
            data=f'url = "{url}"\nquery = "SELECT patient, alter_jahre, bmi FROM visits"\nid = "patient"\n'
            'columns = { age = "alter_jahre" }\n',
        )


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("SELECT alter_jahre FROM visits", "north: database: no column 'bmi'"),
        (
            "SELECT 300 AS alter_jahre, 20 AS bmi",
            "north: database: column 'alter_jahre' has 1 values outside",
        ),
        ("SELECT 30 AS alter_jahre, NULL AS bmi", "north: database: column 'bmi' has 1 missing values"),
        ("SELECT secret", "north: database: the query fails (UndefinedColumn)"),
    ],
)
def test_a_site_names_itself_column_and_row(postgres, tmp_path, query, told):
    organisations = Organisations(tmp_path)
    ask_sites(organisations, postgres)
    path = organisations.site("north")
    organisations.replace(path, "SELECT patient, alter_jahre, bmi FROM visits", query)
    organisations.replace(path, 'id = "patient"\n', "")
    with pytest.raises(secfc.DataError) as caught:
        read_rows(read_site(path), organisations.agreement)
    assert str(caught.value).startswith(told)


@pytest.mark.processes
def test_an_agreed_job_runs_on_databases_and_states_nothing_of_them(postgres, tmp_path):
    organisations = Organisations(tmp_path)
    organisations.replace(organisations.job, "k = 2", 'k = 2\ninit = "random"')
    words = ["job", "run", "job.toml", *(f"{name}.toml" for name in NAMES), "--summary"]
    organisations.sign()
    assert command(*words, "files.json", folder=tmp_path).returncode == 0
    ask_sites(organisations, postgres)
    done = command(*words, "asked.json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in NAMES:
        first, second = (path.read_bytes() for path in sorted(tmp_path.glob(f"results-{name}/*/labels.csv")))
        assert first == second
    told = (tmp_path / "asked.json").read_text() + done.stdout + done.stderr
    told += "".join(path.read_text() for path in tmp_path.glob("results-*/*/*"))
    assert len(json.loads((tmp_path / "asked.json").read_text())["statements"]) == 3
    assert "visits" not in told
    assert not postgres.is_shown(told)
