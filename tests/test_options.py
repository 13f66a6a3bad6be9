"""The record of options, and what follows from it: calls, the estimator, the job and the command line."""

import inspect
import sys
from dataclasses import dataclass, fields
from unittest.mock import Mock

import numpy as np
import pytest
import typer

import secfc
from secfc import Membership, Reveal, SecureKMeans
from secfc.api.arguments import GROUPED, written_out
from secfc.api.described import described
from secfc.api.options import ChooseOptions, RunOptions, Threshold
from secfc.cli.app import app
from secfc.protocol.job.making import make_job
from secfc.protocol.job.options import (
    AgreedClustering,
    again,
    choices_of,
    option,
    options_of,
    shared,
    types_of,
)

DEFAULTS = {
    "t": None,
    "ell": None,
    "init": "auto",
    "n_init": "auto",
    "max_iter": 300,
    "seed": None,
    "disclosure": "labels",
    "ids": None,
    "sample_weight": None,
    "reveal": None,
    "limits": None,
    "bound": None,
    "step": None,
    "precision": 32,
    "tol_moved": 0.0,
    "max_liars": 0,
    "comparers": None,
    "committee": None,
    "describe": None,
    "driver": "in-process",
    "threads": None,
    "deadline": None,
    "progress": None,
}
"""Options of `secfc.run` that users depend on, in their order."""

CALLS = {
    secfc.run: (RunOptions, ["parties", "k", "t", "ell"]),
    secfc.choose_k: (ChooseOptions, ["parties", "ks", "t", "ell"]),
    secfc.predict: (RunOptions, ["parties", "labels", "new_rows", "k", "t", "ell"]),
}
"""Calls with their record, and their own parameters."""

MOST_PARAMETERS = 25


def defaults(call):
    parameters = inspect.signature(call).parameters.values()
    return {one.name: one.default for one in parameters if one.default is not inspect.Parameter.empty}


def without(*names):
    return {name: value for name, value in DEFAULTS.items() if name not in names}


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (secfc.run, DEFAULTS),
        (secfc.choose_k, without("committee", "sample_weight", "describe")),
        (
            SecureKMeans,
            without("seed", "ids", "committee", "sample_weight", "describe")
            | {"n_clusters": 8, "random_state": None, "warm_start": False},
        ),
    ],
)
def test_defaults_that_users_rely_on(call, expected):
    assert defaults(call) == expected


def test_an_estimator_with_no_arguments_has_the_defaults_as_parameters():
    assert SecureKMeans().get_params() == defaults(SecureKMeans)


@pytest.mark.parametrize("call", CALLS)
def test_a_call_has_its_own_parameters_and_then_its_options_by_keyword(call):
    record, own = CALLS[call]
    parameters = inspect.signature(call).parameters
    assert list(parameters)[: len(own)] == own
    assert {one.kind for one in list(parameters.values())[len(own) :]} == {inspect.Parameter.KEYWORD_ONLY}
    assert call.__annotations__.keys() == {*parameters, "return"}
    assert set(list(parameters)[len(own) :]) <= options_of(record).keys()


@pytest.mark.parametrize("call", CALLS)
def test_a_call_has_few_parameters(call):
    assert len(inspect.signature(call).parameters) <= MOST_PARAMETERS


@pytest.mark.parametrize("call", CALLS)
def test_a_written_signature_has_the_types_and_defaults_of_the_record(call):
    record, own = CALLS[call]
    types = types_of(Threshold) | types_of(record)
    values = {one.name: one.default for kind in (Threshold, record) for one in fields(kind)}
    for one in list(inspect.signature(call).parameters.values())[own.index("t") :]:
        assert (one.name, one.annotation, one.default) == (one.name, types[one.name], values[one.name])


def test_the_calls_have_one_order_with_the_daily_options_first():
    names = list(inspect.signature(secfc.run).parameters)
    assert names == ["parties", "k", *DEFAULTS]
    assert names[4:9] == ["init", "n_init", "max_iter", "seed", "disclosure"]
    for call in (secfc.choose_k, secfc.predict):
        options = list(inspect.signature(call).parameters)[CALLS[call][1].index("t") :]
        assert options == [name for name in DEFAULTS if name in options]


@pytest.mark.parametrize(
    ("call", "function", "own"),
    [
        (secfc.run, "run_parties", {"k": 1}),
        (secfc.choose_k, "choose_members", {"ks": 1}),
        (secfc.predict, "predict_members", {"labels": 1, "new_rows": [np.zeros((1, 1))], "k": 1}),
    ],
)
def test_a_call_gives_every_argument_to_its_record(call, function, own, monkeypatch):
    asked = Mock()
    monkeypatch.setattr(sys.modules[call.__module__], function, asked)
    _, positional = CALLS[call]
    named = {name: object() for name in inspect.signature(call).parameters if name not in positional}
    call([np.zeros((1, 1))], **own, t=2, ell=3, **named)
    (given,) = (one for one in asked.call_args.args if isinstance(one, RunOptions))
    assert all(getattr(given, name) is one for name, one in named.items())
    assert {"t": 2, "ell": 3}.items() <= asked.call_args.kwargs.items()


@pytest.mark.parametrize("call", [*CALLS, SecureKMeans, SecureKMeans.fit], ids=lambda call: call.__name__)
@pytest.mark.parametrize("name", GROUPED)
def test_a_name_that_a_group_replaced_or_has_is_an_error_with_the_group(call, name):
    argument, field = GROUPED[name]
    group = {"reveal": f"reveal=secfc.Reveal({field}=...)", "ids": f"ids=secfc.Membership(ids, {field}=...)"}
    takes = argument in inspect.signature(call).parameters
    takes |= call is SecureKMeans and argument == "ids"
    for given in (name, field):
        with pytest.raises(TypeError) as caught:
            call(**{given: 1})
        assert (f"use {group[argument]} instead of {given}" in str(caught.value)) == takes


def test_an_estimator_says_which_arguments_fit_takes():
    with pytest.raises(TypeError, match=r"^SecureKMeans\(\) .*; ids is an argument of fit$"):
        SecureKMeans(ids=[])


def test_comparing_several_k_opens_nothing_but_the_inertia():
    rows = [np.zeros((2, 1))] * 3
    with pytest.raises(secfc.ParameterError) as caught:
        secfc.choose_k(rows, [1], 1, 1, reveal=Reveal(centres="all", epsilon=1.0))
    assert str(caught.value) == "reveal: choose_k opens only the inertia, centres, epsilon was given"


@pytest.mark.parametrize("where", [*CALLS, SecureKMeans, Reveal, Membership])
def test_docstrings_describe_every_option_once(where):
    doc = inspect.getdoc(where)
    assert "**options" not in doc
    names = inspect.signature(where).parameters if where in CALLS else options_of(where)
    for name in names:
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
    agreed = options_of(kind) | options_of(AgreedClustering)
    expected = {name: found for name, found in agreed.items() if found[1].help}
    assert len(expected) >= 13
    for name, (one, what) in expected.items():
        assert shown[name].help == what.help
        assert shown[name].default == others.get(name, one.default)


def test_a_prediction_on_the_command_line_has_the_runs_parameters():
    shown = {one.name for one in typer.main.get_command(app).commands["predict"].params}
    parameters = inspect.signature(secfc.predict).parameters
    assert shown & parameters.keys() == {"bound", "driver", "deadline", "threads"}


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
        make_job(**{"n": 3, "k": 2, "t": 1, "ell": 1, "d": 2, "bound": 1.0, name: value})
    assert str(caught.value) == text


def test_every_option_with_a_range_or_choices_that_is_agreed_on_is_checked_by_the_job():
    for name, (one, what) in options_of(AgreedClustering).items():
        if what.least is None and not choices_of(one):
            continue
        with pytest.raises(secfc.ParameterError, match=f"^{name}: "):
            make_job(**{"n": 3, "k": 2, "t": 1, "ell": 1, "d": 2, "bound": 1.0, name: -1})


# The generators


@dataclass(frozen=True, kw_only=True)
class Few:
    size: int = option(3, "int", "How large it is.", least=1)


@dataclass(frozen=True, kw_only=True)
class Larger(Few):
    size: int = again(Few, "size", default=4, text="How large it is here.")


@written_out(Larger)
def call(name: str, *, size: int = 4) -> str:
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
    return f"{name} {size}"


def test_a_written_call_is_called_as_it_is_written():
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
    assert described(None, {}) is None


def test_an_option_that_is_declared_again_keeps_what_is_not_changed():
    (_, what), (one, before) = options_of(Larger)["size"], options_of(Few)["size"]
    assert (what.kind, what.least, before.text, one.default) == ("int", 1, "How large it is.", 3)


def test_shared_values_are_those_of_fields_that_an_object_has():
    assert shared(Few(size=2), RunOptions) == {}
    assert shared(Larger(), Few) == {"size": 4}
    assert shared(SecureKMeans(t=3), Threshold) == {"t": 3, "ell": None}
