"""Parties by name, and what errors, warnings and representations say."""

import inspect
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from typer.testing import CliRunner

import secfc
from plaintext_baselines import ExactLloyd
from secfc.cli.app import app

RNG = np.random.default_rng(5)
PARTIES = {name: RNG.normal(size=(m, 2)) for name, m in (("north", 5), ("south", 7), ("west", 4))}
GIVEN = {"k": 2, "t": 1, "ell": 1, "init": "random", "seed": 3}


def lists(labels):
    return [one.tolist() for one in labels]


class TestParties:
    def test_a_dict_is_its_values_in_order(self):
        named = secfc.run(PARTIES, **GIVEN)
        plain = secfc.run(list(PARTIES.values()), **GIVEN)
        assert lists(named.labels) == lists(plain.labels)

    def test_what_options_have_for_each_party_is_taken_by_name(self):
        weights = {name: np.arange(1, len(rows) + 1) for name, rows in PARTIES.items()}
        start = {name: np.arange(len(rows)) % 2 for name, rows in PARTIES.items()}
        limits = {name: secfc.Limits(most_rounds=50) for name in PARTIES}
        backwards = [dict(reversed(one.items())) for one in (weights, start, limits)]
        options = dict(zip(("sample_weight", "init", "limits"), backwards, strict=True))
        named = secfc.run(PARTIES, 2, 1, 1, **options)
        pooled = np.concatenate(list(PARTIES.values()))
        exact = ExactLloyd(2, init=[np.concatenate(list(start.values()))]).fit(
            [pooled], sample_weight=[np.concatenate(list(weights.values()))]
        )
        assert np.concatenate(named.labels).tolist() == exact.labels_[0].tolist()

    def test_choose_k_predict_and_the_estimator_take_a_dict(self):
        consent = secfc.Limits(reveal_inertia=True, predict=True)
        given = {
            "t": 1,
            "ell": 1,
            "seed": 1,
            "init": "random",
            "n_init": 1,
            "reveal": secfc.Reveal(inertia=True),
        }
        named = secfc.choose_k(PARTIES, [2, 3], limits=dict.fromkeys(PARTIES, consent), **given)
        plain = secfc.choose_k(list(PARTIES.values()), [2, 3], limits=consent, **given)
        k = named.best
        assert lists(named[k].labels) == lists(plain[k].labels)
        labels = dict(zip(PARTIES, named[k].labels, strict=True))
        new = {"west": np.zeros((1, 2)), "south": np.ones((2, 2)), "north": np.zeros((0, 2))}
        found = secfc.predict(PARTIES, labels, new, k=k, t=1, ell=1, limits=consent)
        assert [one.size for one in found.labels] == [0, 2, 1]
        model = secfc.SecureKMeans(2, t=1, ell=1, random_state=1).fit(PARTIES)
        assert [one.size for one in model.labels_] == [5, 7, 4]

    @pytest.mark.parametrize("name", ["ids", "sample_weight", "init", "limits"])
    def test_a_dict_with_other_names_is_one_error(self, name):
        wrong = {"north": None, "south": None, "east": None}
        with pytest.raises(secfc.ParameterError, match=rf"^{name}: a dict needs .* 'east', 'west'$"):
            secfc.run(PARTIES, 2, 1, 1, **{name: wrong})

    def test_errors_name_party_and_column_and_say_what_helps(self):
        frames = {name: pd.DataFrame(rows, columns=["age", "bmi"]) for name, rows in PARTIES.items()}
        frames["south"].iloc[3, 1] = np.nan
        frames["west"]["age"] = "x"
        with pytest.raises(secfc.DataError) as error:
            secfc.run(frames, 2, 1, 1)
        mend = "; secfc.Prepare fills missing values in, and encodes texts"
        assert str(error.value).splitlines() == [
            f"south: 1 values are NaN or infinite, the first in row 3, column 'bmi'{mend}",
            f"west: column 'age' is not numeric{mend}",
        ]


class TestEmptyClusters:
    ROWS = np.array([[0.0], [0.0], [1.0]])

    @pytest.mark.parametrize("driver", ["in-process", "multiprocess"])
    def test_a_run_that_ends_with_some_warns(self, driver):
        with pytest.warns(secfc.ConvergenceWarning, match=r"^k: 1 of 3 clusters have no rows \([12]\)"):
            secfc.run([self.ROWS] * 3, 3, 1, 1, init=[[0, 1, 2]] * 3, driver=driver)


class TestHints:
    @pytest.mark.parametrize("name", sorted(inspect.signature(KMeans).parameters))
    def test_each_parameter_of_scikit_learn_is_taken_or_gets_a_hint(self, name):
        if name in inspect.signature(secfc.run).parameters:
            return
        with pytest.raises(TypeError, match=rf"use \w+ instead of {name}$|{name} is not needed$"):
            secfc.run([[[1.0]]] * 3, k=1, **{name: 1})

    @pytest.mark.parametrize(
        ("given", "meant"), [("maxiter", "max_iter"), ("n_cluster", "k"), ("randomstate", "seed")]
    )
    def test_a_misspelled_name_gets_a_hint(self, given, meant):
        with pytest.raises(TypeError, match=rf"use {meant} instead of {given}$"):
            secfc.run([[[1.0]]] * 3, **{"k": 1} if meant != "k" else {}, **{given: 1})

    def test_an_unknown_name_gets_none(self):
        with pytest.raises(TypeError, match=r"unexpected keyword argument 'zzz'$"):
            secfc.run([[[1.0]]] * 3, k=1, zzz=1)


def shown(text: str) -> list[str]:
    """The names in a representation such as A(x=1, y=B(z=2)): x and y."""
    depth, outside = 0, []
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        outside.append(letter if depth == 1 else " ")
    return re.findall(r"(\w+)=", "".join(outside))


def test_representations_show_only_what_is_there():
    result = secfc.run(PARTIES, **GIVEN)
    consent = secfc.Limits(reveal_inertia=True, predict=True)
    choice = secfc.choose_k(PARTIES, [2], t=1, ell=1, limits=consent, reveal=secfc.Reveal(inertia=True))
    new = [np.zeros((1, 2))] * 3
    found = secfc.predict(PARTIES, result.labels, new, k=2, t=1, ell=1, limits=consent)
    for one in (result, result.costs, result.faults, result.job, choice, choice[2], found, consent):
        assert shown(repr(one))
        assert [name for name in shown(repr(one)) if not hasattr(one, name)] == []


def test_prepare_chooses_t_as_run_does(tmp_path: Path):
    files = []
    for name in ("a", "b", "c", "d"):
        path = tmp_path / f"{name}.csv"
        pd.DataFrame({"age": RNG.integers(20, 90, 40)}).to_csv(path, index=False)
        files.append(str(path))
    schema = tmp_path / "schema.toml"
    schema.write_text('smallest = 2\n[[column]]\nname = "age"\nlow = 0\nhigh = 120\nscale = "standardise"\n')
    done = CliRunner().invoke(
        app, ["prepare", *files, "--schema", str(schema), "--out", str(tmp_path / "out")]
    )
    assert done.exit_code == 0, done.output
    assert "--t 1 " in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("text", "told"),
    [("id,age\n", "it has no rows"), ("id,age\n" + "7,30\n" * 40, "rows 0 and 1 have one ID")],
)
def test_a_check_of_files_refuses_no_rows_and_one_id_for_several(tmp_path: Path, text: str, told: str):
    path, schema = tmp_path / "a.csv", tmp_path / "schema.toml"
    path.write_text(text)
    schema.write_text('smallest = 2\n[[column]]\nname = "age"\nlow = 0\nhigh = 120\nscale = "min-max"\n')
    command = ["prepare", str(path), "--schema", str(schema), "--id", "id", "--check"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 2
    assert told in " ".join(done.output.split())
