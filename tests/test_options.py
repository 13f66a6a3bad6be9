"""The record of options, and what follows from it: calls, the estimator, the job and the command line."""

import inspect
from dataclasses import dataclass, fields

import pytest
import typer

import secfc
from secfc import Job, SecureKMeans
from secfc.called_with import called_with, described
from secfc.cli.app import app
from secfc.options import (
    AgreedClustering,
    ChooseOptions,
    PredictOptions,
    RunOptions,
    Threshold,
    again,
    choices_of,
    option,
    options_of,
    shared,
)

DEFAULTS = {
    "t": None,
    "ell": None,
    "init": "auto",
    "n_init": "auto",
    "max_iter": 300,
    "tol_moved": 0.0,
    "precision": 32,
    "step": None,
    "bound": None,
    "ids": None,
    "id_key": None,
    "ids_cap": None,
    "disclosure": "labels",
    "reveal_centres": None,
    "centres_epsilon": None,
    "centres_delta": None,
    "reveal_spread": False,
    "sample_weight": None,
    "limits": None,
    "storage": None,
    "resume": None,
    "driver": "in-process",
    "max_liars": 0,
    "reveal_inertia": False,
    "comparison": "end",
    "link": "lan",
    "comparers": None,
    "committee": None,
    "deadline": None,
    "threads": None,
    "seed": None,
    "progress": None,
}
"""Options of `secfc.run` that users depend on."""

OPENED = ("reveal_centres", "reveal_spread", "centres_epsilon", "centres_delta")


def defaults(call):
    parameters = inspect.signature(call).parameters.values()
    return {one.name: one.default for one in parameters if one.default is not inspect.Parameter.empty}


def without(*names):
    return {name: value for name, value in DEFAULTS.items() if name not in names}


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (secfc.run, DEFAULTS),
        (secfc.choose_k, without(*OPENED, "committee", "sample_weight")),
        (
            SecureKMeans,
            without("seed", "ids", "id_key", "committee", "sample_weight")
            | {"n_clusters": 8, "random_state": None, "warm_start": False},
        ),
    ],
)
def test_defaults_that_users_rely_on(call, expected):
    assert defaults(call) == expected


def test_an_estimator_with_no_arguments_has_the_defaults_as_parameters():
    assert SecureKMeans().get_params() == defaults(SecureKMeans)


@pytest.mark.parametrize(
    ("call", "kind", "own"),
    [
        (secfc.run, RunOptions, ["parties", "k", "t", "ell"]),
        (secfc.choose_k, ChooseOptions, ["parties", "ks", "t", "ell"]),
        (secfc.predict, PredictOptions, ["parties", "labels", "new_rows", "k", "t", "ell"]),
    ],
)
def test_a_call_has_its_own_parameters_and_then_its_options_by_keyword(call, kind, own):
    parameters = inspect.signature(call).parameters
    assert list(parameters) == [*own, *(one.name for one in fields(kind))]
    assert {one.kind for one in list(parameters.values())[len(own) :]} == {inspect.Parameter.KEYWORD_ONLY}
    assert call.__annotations__.keys() == {*parameters, "return"}


@pytest.mark.parametrize("where", [secfc.run, secfc.choose_k, secfc.predict, SecureKMeans, Job])
def test_docstrings_describe_every_option_once(where):
    kinds = {secfc.run: RunOptions, secfc.choose_k: ChooseOptions, secfc.predict: PredictOptions}
    doc = inspect.getdoc(where)
    assert "**options" not in doc
    for name in options_of(kinds.get(where, where)):
        assert doc.count(f"\n{name} : ") == 1


def test_options_say_what_they_are():
    for one in (RunOptions, Threshold):
        for name, (_, what) in options_of(one).items():
            assert name
            assert what.kind
            assert what.text.endswith(".")


@pytest.mark.parametrize(
    ("command", "kind", "others"),
    [
        ("run", RunOptions, {"driver": "multiprocess"}),
        ("choose-k", ChooseOptions, {"driver": "multiprocess"}),
    ],
)
def test_a_command_has_every_option_that_has_a_line_of_help(command, kind, others):
    shown = {one.name: one for one in typer.main.get_command(app).commands[command].params}
    expected = {name: found for name, found in options_of(kind).items() if found[1].help}
    assert len(expected) >= 13
    for name, (one, what) in expected.items():
        assert shown[name].help == what.help
        assert shown[name].default == others.get(name, one.default)


def test_a_prediction_on_the_command_line_has_the_runs_parameters():
    shown = {one.name for one in typer.main.get_command(app).commands["predict"].params}
    assert shown & options_of(PredictOptions).keys() == {
        *("bound", "storage", "resume", "driver", "deadline", "threads")
    }


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("precision", 53, "precision: at most 52 bits, 53 was given"),
        ("precision", 0, "precision: at least 1 is needed, 0 was given"),
        ("precision", None, "precision: an integer is needed, NoneType was given"),
        ("max_liars", -1, "max_liars: an integer >= 0 is needed, -1 was given"),
        ("ids_cap", (1 << 29) + 1, f"ids_cap: at most {1 << 29} rows, {(1 << 29) + 1} was given"),
    ],
)
def test_a_job_refuses_values_out_of_an_options_range(name, value, text):
    with pytest.raises(secfc.ParameterError) as caught:
        Job(**{"n": 3, "k": 2, "t": 1, "ell": 1, "d": 2, "bound": 1.0, name: value})
    assert str(caught.value) == text


def test_every_option_with_a_range_or_choices_that_is_agreed_on_is_checked_by_the_job():
    for name, (one, what) in options_of(AgreedClustering).items():
        if what.least is None and not choices_of(one):
            continue
        with pytest.raises(secfc.ParameterError, match=f"^{name}: "):
            Job(**{"n": 3, "k": 2, "t": 1, "ell": 1, "d": 2, "bound": 1.0, name: -1})


# The generators


@dataclass(frozen=True, kw_only=True)
class Few:
    size: int = option(3, "int", "How large it is.", least=1)


@dataclass(frozen=True, kw_only=True)
class Larger(Few):
    size: int = again(Few, "size", default=4, text="How large it is here.")


@dataclass(frozen=True)
class Call(Larger):
    name: str


@called_with(Call)
def call(given: Call) -> str:
    """Do.

    Parameters
    ----------
    name : str
    **options
        Those of `Few`.

    Returns
    -------
    str
    """
    return f"{given.name} {given.size}"


def test_a_function_of_a_record_is_called_with_its_fields():
    assert (call("a"), call(name="a", size=5)) == ("a 4", "a 5")
    assert str(inspect.signature(call)) == "(name: str, *, size: int = 4) -> str"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [({}, "call() missing a required argument: 'name'"), ({"name": "a", "more": 1}, "'more'")],
)
def test_a_wrong_call_is_a_type_error_that_names_the_argument(arguments, text):
    with pytest.raises(TypeError) as caught:
        call(**arguments)
    assert text in str(caught.value)


def test_options_stand_in_a_docstring_in_place_of_their_line():
    assert inspect.getdoc(call).splitlines()[2:9] == [
        "Parameters",
        "----------",
        "name : str",
        "size : int",
        "    How large it is here.",
        "",
        "Returns",
    ]
    assert described(None, Few) is None


def test_an_option_that_is_declared_again_keeps_what_is_not_changed():
    (_, what), (one, before) = options_of(Larger)["size"], options_of(Few)["size"]
    assert (what.kind, what.least, before.text, one.default) == ("int", 1, "How large it is.", 3)


def test_shared_values_are_those_of_fields_that_an_object_has():
    assert shared(Few(size=2), RunOptions) == {}
    assert shared(Call("a"), Few) == {"size": 4}
    assert shared(SecureKMeans(t=3), Threshold) == {"t": 3, "ell": None}
