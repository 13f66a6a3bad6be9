"""Errors in files are reported with the line of the key."""

import re
import tomllib
from importlib import import_module
from importlib.util import find_spec

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, ValidationError

from secfc.agreement import signatures, site_file, statement
from secfc.agreement.deposits import admission, holdings
from secfc.drivers.deposits import depositing
from secfc.errors import ParameterError
from secfc.report import coordinator_schema
from secfc.tables import toml_file
from secfc.tables.toml_file import (
    MAX_BYTES,
    FileSchema,
    ListOf,
    TableOf,
    TomlFile,
    check_values,
    shown_keys,
)

TEXT = """\
# a comment
name = "x"

list = [
  1,
  2,
]
text = \"\"\"
[table]
number = 5
\"\"\"

[table]
number = 1
inline = { a = 1, b = { c = 2 } }

[[party]]
key = "a"

[[party]]
key = "b"
other.dotted = 3
"""


def line_by_reading(text, keys):
    """The slow way: the first line up to which the file is valid and has the key."""
    lines, begins = text.splitlines(keepends=True), 0
    for end in range(1, len(lines) + 1):
        try:
            values = tomllib.loads("".join(lines[:end]))
        except tomllib.TOMLDecodeError:
            continue
        try:
            for key in keys:
                values = values[key]
        except (KeyError, IndexError):
            begins = end
        else:
            return begins + 1
    raise AssertionError


def located(tmp_path, text):
    (tmp_path / "a.toml").write_text(text)
    return TomlFile(tmp_path / "a.toml")


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        (("name",), 2),
        (("list",), 4),
        (("list", 1), 4),
        (("text",), 8),
        (("table",), 13),
        (("table", "number"), 14),
        (("table", "inline", "b", "c"), 15),
        (("party", 0, "key"), 18),
        (("party", 1), 20),
        (("party", 1, "key"), 21),
        (("party", 1, "other", "dotted"), 22),
        (("party", 1, "missing"), 20),
        (("party", 7, "key"), 17),
        (("table", "missing"), 13),
        (("missing",), 1),
        ((), 1),
    ],
)
def test_line_of_a_key_is_where_its_statement_begins(tmp_path, keys, line):
    assert located(tmp_path, TEXT).line(*keys) == line


STATEMENTS = st.sampled_from(["\n", "# no = 1\n", "[\n 1,\n]", '"""\nz = 1\n"""', "1", "{ b = 2 }"])


@given(st.lists(STATEMENTS, min_size=1, max_size=20), st.data())
def test_line_found_by_halving_is_the_line_found_by_reading(tmp_path_factory, statements, data):
    lines, keys = [], []
    for at, one in enumerate(statements):
        if one.endswith("\n") and not one.startswith("["):
            lines.append(one)
        else:
            keys.append((f"k{at}",))
            lines.append(f"k{at} = {one}\n")
    text = "".join(lines)
    file = TomlFile(tmp_path_factory.getbasetemp() / "not-read.toml", text)
    if keys:
        wanted = data.draw(st.sampled_from(keys))
        assert file.line(*wanted) == line_by_reading(text, wanted)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a = 1\nb = \n", "a.toml:2: Invalid value"),
        ("a = 1\n\na = 2\n", "a.toml:3: Cannot overwrite a value"),
        ('a = 1\nb = "', "a.toml:2: "),
        ("a = " + "9" * 5000, "a.toml: not TOML that can be read"),
        ("a = " + "[" * 5000, "a.toml: not TOML that can be read"),
    ],
)
def test_a_file_that_is_no_toml_is_told_with_its_line(tmp_path, text, told):
    with pytest.raises(ParameterError) as caught:
        located(tmp_path, text)
    assert str(caught.value).removeprefix(f"{tmp_path}/").startswith(told)


@pytest.mark.parametrize("part", ["a", '"a.b"', "'a'", r'"\""', "''", "a "])
@pytest.mark.parametrize("statement", ["{key} = 1", "[{key}]", "[[{key}]]", "a = {{ {key} = 1 }}"])
def test_a_key_of_many_parts_is_refused_before_it_is_parsed(tmp_path, part, statement, monkeypatch):
    text = "name = 1\n" + statement
    located(tmp_path, text.format(key=".".join([part] * 32)))
    monkeypatch.setattr(toml_file.tomllib, "loads", None)
    with pytest.raises(ParameterError) as caught:
        located(tmp_path, text.format(key=".".join([part] * 33)))
    assert str(caught.value) == f"{tmp_path / 'a.toml'}:2: a key has more than 32 parts"


@pytest.mark.parametrize("text", ["x" * 99, "a.b " * 99, "'" * 98, "0.5, " * 99, "www.example.com/a.html"])
def test_texts_are_no_keys(tmp_path, text):
    assert located(tmp_path, f'a = """{text}"""').values == {"a": text}


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(ParameterError, match=r"none\.toml: No such file"):
        TomlFile(tmp_path / "none.toml")
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ParameterError, match=r"b\.toml: not a text in UTF-8"):
        TomlFile(tmp_path / "b.toml")
    (tmp_path / "c.toml").write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(ParameterError, match=r"c\.toml: at most 4194304 bytes"):
        TomlFile(tmp_path / "c.toml")


class Inner(FileSchema):
    number: int
    share: float = 0.5


class Outer(FileSchema):
    name: str
    table: Inner
    more: list[Inner] = Field(default=[], max_length=2)
    maybe: Inner | None = None


def test_every_fault_of_a_file_has_its_line_and_what_is_possible(tmp_path):
    text = 'nane = "x"\n\n[table]\nnumber = "secret"\nshare = true\n'
    text += "\n[[more]]\nnumbre = 1\n\n[maybe]\nx = 1\n"
    with pytest.raises(ParameterError) as caught:
        located(tmp_path, text).check(Outer)
    told = str(caught.value).replace(f"{tmp_path}/a.toml:", "").splitlines()
    assert sorted(told) == sorted(
        [
            "1: name is needed",
            "1: nane: unknown key; did you mean name? (name, table, more, maybe are possible)",
            "4: table.number: an integer is needed",
            "5: table.share: a number is needed",
            "7: more[1].number is needed",
            "8: more[1].numbre: unknown key; did you mean number? (number, share are possible)",
            "10: maybe.number is needed",
            "11: maybe.x: unknown key (number, share are possible)",
        ]
    )
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["".join(f"k{at} = 1\n" + "#\n" * 250 for at in range(20)), 'text = """' + "\n" * 5000 + '"""\nx = 1\n'],
    ids=["keys", "lines"],
)
def test_lines_of_faults_are_looked_for_in_so_much_text_and_no_more(tmp_path, monkeypatch, text):
    file, parsed = located(tmp_path, text), []
    loads = tomllib.loads
    monkeypatch.setattr(
        tomllib, "loads", lambda text, **more: parsed.append(len(text)) or loads(text, **more)
    )
    monkeypatch.setattr(toml_file, "_MOST_PARSED", 1 << 20)
    file = TomlFile(file.path)
    with pytest.raises(ParameterError, match=r"a\.toml:1: .*is needed"):
        file.check(Outer)
    assert 1 << 17 < sum(parsed) < (1 << 20) + 2 * len(text)


def test_of_a_text_of_many_lines_few_prefixes_are_made(tmp_path, monkeypatch):
    file, real, made = (
        located(tmp_path, 'text = """' + "\n" * 100_000 + '"""\nx = 1\n'),
        TomlFile._beginning,
        [],
    )
    monkeypatch.setattr(TomlFile, "_beginning", lambda *given: made.append(given) or real(*given))
    with pytest.raises(ParameterError, match=r"a\.toml:1: .*is needed"):
        file.check(Outer)
    assert len(made) < 200


def test_an_integer_is_a_number_and_nothing_else_is_converted(tmp_path):
    assert located(tmp_path, 'name = "x"\n[table]\nnumber = 1\nshare = 1').check(Outer).table.share == 1.0
    with pytest.raises(ParameterError, match=r"a\.toml:3: table\.number: an integer is needed"):
        located(tmp_path, 'name = "x"\n[table]\nnumber = 1.0\n').check(Outer)


def test_keys_from_a_file_cannot_write_to_a_terminal(tmp_path):
    with pytest.raises(ParameterError, match="unknown key") as caught:
        located(tmp_path, 'name = "x"\n"\\u001b[2J" = 1\n[table]\nnumber = 1\n').check(Outer)
    assert "\x1b" not in str(caught.value)
    assert shown_keys(("a", 0, "b")) == "a[1].b"


def test_an_unknown_key_is_told_in_lists_and_tables_of_any_names():
    class Inner(FileSchema):
        a: int

    class Of(FileSchema):
        tables: TableOf[str, Inner] | None = None
        lists: ListOf[ListOf[Inner]] | None = None
        maybe: TableOf[str, ListOf[Inner]] | None = None

    for values, place in (
        ({"tables": {"x": {"a": 1, "b": 1}}}, "tables.x.b"),
        ({"lists": [[], [{"a": 1, "b": 1}]]}, "lists[2][1].b"),
        ({"maybe": {"x": [{"a": 1, "b": 1}]}}, "maybe.x[1].b"),
    ):
        with pytest.raises(ParameterError, match=re.escape(f"name: {place}: unknown key (a are possible)")):
            check_values(values, Of, name="name")


@pytest.mark.parametrize("key", ["\x1b[2J", "a\nb", "\ud800", "x" * 101])
def test_keys_of_tables_are_checked_as_values_are(key):
    class Of(FileSchema):
        versions: TableOf[statement.Short, int]

    with pytest.raises(ParameterError, match="versions") as caught:
        check_values({"versions": {key: 1}}, Of, name="x")
    assert str(caught.value).isprintable()


def _schemas(of=FileSchema):
    for one in of.__subclasses__():
        yield one
        yield from _schemas(one)


def _faults(schema, values):
    try:
        schema.model_validate(values)
    except ValidationError as error:
        return error.error_count()
    return 0


def test_a_file_with_many_faults_makes_few_errors():
    """Each takes a kilobyte, and anybody can write a file of others' holdings, summaries and jobs."""
    many = 5000
    modules = [admission, holdings, signatures, site_file, statement, depositing]
    if find_spec("nvflare"):
        modules.append(import_module("secfc.drivers.flare.hand_overs"))
    of_files = {one for one in _schemas() if not one.__module__.startswith("tests")}
    expected = {one.__name__ for one in [*modules, coordinator_schema]}
    assert expected <= {one.__module__ for one in of_files}
    for schema in of_files:
        few = len(schema.model_fields) + 10
        assert _faults(schema, {str(at): {} for at in range(many)}) < few
        for name in schema.model_fields:
            for values in ([object()] * many, {str(at): object() for at in range(many)}):
                assert _faults(schema, {name: values}) < few, (schema.__name__, name)
