"""Schemas: contents, refusals with file and line, and what their digest distinguishes."""

import json
from dataclasses import replace

import pytest

import secfc
from secfc.prepare import Column, Schema

TOML = """
smallest = 20

[[column]]
name = "age"
unit = "years"
low = 0
high = 120.0
scale = "standardise"
missing = "mean"

[[column]]
name = "sex"
categories = ["f", "m"]
missing = "zero"
"""


def written(tmp_path, text):
    path = tmp_path / "schema.toml"
    path.write_text(text)
    return path


def test_a_file_says_what_is_agreed(tmp_path):
    schema = Schema.read(written(tmp_path, TOML))
    age = Column(name="age", unit="years", low=0, high=120, scale="standardise", missing="mean")
    sex = Column(name="sex", categories=("f", "m"), missing="zero")
    assert schema == Schema(columns=(age, sex), smallest=20)
    assert schema.opened == (age,)


def test_a_schema_survives_json(tmp_path):
    schema = Schema.read(written(tmp_path, TOML))
    assert Schema.of(json.loads(json.dumps(schema.to_dict()))) == schema


def test_the_digest_is_that_of_the_values_and_not_of_the_text(tmp_path):
    schema = Schema.read(written(tmp_path, TOML))
    assert Schema.read(written(tmp_path, TOML.replace("low = 0", "low = 0.0  # a comment"))) == schema
    for zero in ("0.0", "-0.0", "-0"):
        again = Schema.read(written(tmp_path, TOML.replace("low = 0", f"low = {zero}")))
        assert again.digest == schema.digest


CHANGES = {
    "name": "Age",
    "unit": "months",
    "low": 1,
    "high": 121,
    "scale": "min-max",
    "deviations": 4,
    "clip": True,
    "missing": "refuse",
}


@pytest.mark.parametrize("key", CHANGES)
def test_whatever_differs_gives_another_digest(tmp_path, key):
    schema = Schema.read(written(tmp_path, TOML))
    other = replace(schema.columns[0], **{key: CHANGES[key]})
    digests = {
        schema.digest,
        Schema(columns=(other, schema.columns[1]), smallest=20).digest,
        Schema(columns=schema.columns, smallest=21).digest,
        Schema(columns=schema.columns[::-1], smallest=20).digest,
        Schema(columns=(schema.columns[0], Column(name="sex", categories=("m", "f"))), smallest=20).digest,
    }
    assert len(digests) == 5


NUMBER = '[[column]]\nname = "a"\nlow = 0\nhigh = 1\n'


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", ":1: column is needed"),
        ("column = 3", ":1: column: a list is needed"),
        ("[[column]]\nlow = 1", r":1: column\[1\]\.name is needed"),
        ('[[column]]\nname = ""', "a column needs a name"),
        ('[[column]]\nname = "a"', ":1: schema: column 'a': low and high are needed, or categories"),
        (NUMBER + '[[column]]\nname = "b"\nlow = 2\nhigh = 1', ":5: schema: column 'b': low must be below"),
        ('[[column]]\nname = "a"\nlow = nan\nhigh = 1', "low and high are needed"),
        ('[[column]]\nname = "a"\nlow = -1e308\nhigh = 1e308', "further than the largest float64"),
        (NUMBER + 'scale = "log"', ":5: .*scale: 'none', 'min-max', 'standardise' or 'robust' is possible"),
        (NUMBER + 'units = "m"', r":5: column\[1\]\.units: unknown key; did you mean unit\?"),
        (NUMBER + "deviations = 3", ':1: .*column .a.: deviations are of scale = "standardise"'),
        (NUMBER + 'scale = "standardise"\ndeviations = 0', "deviations is a number above 0"),
        (NUMBER + 'scale = "standardise"\ndeviations = inf', "deviations is a number above 0"),
        (NUMBER + 'missing = "zero"', '0 is a number like others; missing = "mean" is possible'),
        (NUMBER + "clip = 1", ":5: .*clip: true or false is needed"),
        ('[[column]]\nname = "a"\ncategories = ["x", "x"]', "a category is listed twice"),
        ('[[column]]\nname = "a"\ncategories = ["x", " y"]', "texts without spaces around them"),
        ('[[column]]\nname = "a"\ncategories = ["x", 1]', "a text is needed"),
        ('[[column]]\nname = "a"\ncategories = ["x"]\nlow = 0', "categories have no range"),
        ('[[column]]\nname = "a"\ncategories = ["x"]\nmissing = "mean"', "categories have no mean"),
        (NUMBER * 2, "two columns have the same name"),
        (
            NUMBER.replace('"a"', '"b=x"') + '[[column]]\nname = "b"\ncategories = ["x"]',
            "two prepared columns are called 'b=x'",
        ),
        ("smallest = 0\n" + NUMBER, "smallest is 1 to 536870912 values, 0 was given"),
        ("smallest = true\n" + NUMBER, ":1: smallest: an integer is needed"),
        ("column = ", ":1: "),
    ],
)
def test_a_schema_that_cannot_be_used_says_where_and_why(tmp_path, text, error):
    with pytest.raises(secfc.ParameterError, match=error) as caught:
        Schema.read(written(tmp_path, text))
    assert str(caught.value).startswith(str(tmp_path / "schema.toml"))


def test_a_schema_that_is_not_there_is_named(tmp_path):
    with pytest.raises(secfc.ParameterError, match=r"none\.toml"):
        Schema.read(tmp_path / "none.toml")
