"""Order and names of clusters: labels, sizes, means, frames, reports and predictions agree."""

import sys

import numpy as np
import pandas as pd
import pytest

import secfc

_RNG = np.random.default_rng(3)
_AT = np.array([[0.0, 9.0], [9.0, 0.0], [0.0, 0.0]])
_OF = _RNG.choice(3, 150, p=[0.2, 0.5, 0.3])
ROWS = np.split(_RNG.normal(size=(150, 2)) + _AT[_OF], [60, 110])
FRAMES = {
    name: pd.DataFrame(rows, columns=["age", "dose"], index=[f"{name}{i}" for i in range(len(rows))])
    for name, rows in zip(["north", "south", "west"], ROWS, strict=True)
}
CONSENT = secfc.Limits(reveal_centres=True, reveal_spread=10, predict=True)
NAMES = ["mild", "severe", "other"]


@pytest.fixture(scope="module")
def result():
    reveal = secfc.Reveal(centres=[0], spread=True)
    return secfc.run(FRAMES, 3, 1, 1, seed=2, reveal=reveal, limits=CONSENT)


def means(result):
    labels = np.concatenate([np.asarray(own) for own in result.labels])
    return np.array([np.concatenate(ROWS)[labels == h].mean(axis=0) for h in range(3)])


@pytest.mark.parametrize("by", ["size", "age", "dose", 1])
def test_everything_has_the_new_numbers(result, by):
    found = result.ordered(by)
    labels = np.concatenate([np.asarray(own) for own in found.labels])
    assert found.sizes.tolist() == np.bincount(labels).tolist()
    np.testing.assert_allclose(found.cluster_centers, means(found), rtol=1e-6)
    deviations = [np.concatenate(ROWS)[labels == h].std(axis=0) for h in range(3)]
    np.testing.assert_allclose(found.cluster_std, deviations, rtol=1e-6)
    keys = -found.sizes if by == "size" else found.cluster_centers[:, {"age": 0, "dose": 1, 1: 1}[by]]
    assert np.diff(keys).min() >= 0
    assert [one.index.tolist() for one in found.labels] == [one.index.tolist() for one in FRAMES.values()]
    assert {one.dtype for one in found.labels} == {np.dtype(np.int32)}
    assert (found.inertia, found.n_iter, found.run_id) == (result.inertia, result.n_iter, result.run_id)


def test_two_orders_are_one_after_the_other(result):
    twice = result.ordered("age").ordered("size")
    once = result.ordered("size")
    assert twice.cluster_order == once.cluster_order
    assert [one.tolist() for one in twice.labels] == [one.tolist() for one in once.labels]
    np.testing.assert_array_equal(result.sizes[list(once.cluster_order)], once.sizes)


def test_the_run_itself_is_not_changed(result):
    before = [one.tolist() for one in result.labels]
    result.ordered("size").named(NAMES)
    assert [one.tolist() for one in result.labels] == before
    assert (result.cluster_order, result.cluster_names) == ((), ())


def test_rows_without_a_label_stay_without_one(result):
    lost = secfc.Result(**{**vars(result), "labels": [*result.labels[:2], np.full(40, -1, dtype=np.int32)]})
    found = lost.named(NAMES).ordered("size")
    assert set(found.labels[2].tolist()) == {-1}
    assert found.to_frame().query("party == 'west'")["name"].isna().all()


def test_names_follow_their_clusters(result):
    named = result.named(NAMES)
    ordered = named.ordered("size")
    assert named.to_frame()["name"].tolist() == ordered.to_frame()["name"].tolist()
    sizes = dict(zip(ordered.cluster_names, ordered.sizes.tolist(), strict=True))
    assert sizes == dict(zip(NAMES, result.sizes.tolist(), strict=True))
    assert [line["name"] for line in ordered.cluster_report()][::2] == list(ordered.cluster_names)


def test_a_frame_has_a_line_for_each_row(result):
    frame = result.to_frame()
    assert list(frame.columns) == ["party", "row", "label"]
    assert frame["party"].tolist() == ["north"] * 60 + ["south"] * 50 + ["west"] * 40
    assert frame["row"].tolist() == [name for one in FRAMES.values() for name in one.index]
    assert frame["label"].tolist() == [int(h) for own in result.labels for h in own]


def test_a_frame_of_arrays_counts_rows_and_one_of_ids_has_these():
    plain = secfc.run(ROWS, 2, 1, 1, seed=0).to_frame()
    assert plain["party"].unique().tolist() == ["party 1", "party 2", "party 3"]
    assert plain["row"].tolist() == [*range(60), *range(50), *range(40)]
    ids = [[f"{j}-{i % 35}" for i in range(min(len(rows), 35))] for j, rows in enumerate(ROWS)]
    parties = [rows[: len(own)] for rows, own in zip(ROWS, ids, strict=True)]
    hidden = secfc.run(parties, 2, 1, 1, seed=0, ids=ids).ordered()
    assert hidden.to_frame()["id"].tolist() == [one for own in ids for one in own]
    assert dict(zip(hidden.to_frame()["id"], hidden.to_frame()["label"], strict=True)) == hidden.by_id()


@pytest.mark.parametrize("order", [None, "size"])
def test_a_prediction_keeps_order_and_names(result, order):
    named = result.named(NAMES)
    named = named if order is None else named.ordered(order)
    new = [np.array([[0.0, 9.0]]), np.empty((0, 2)), np.array([[9.0, 0.0], [0.0, 0.0]])]
    found = secfc.predict(list(FRAMES.values()), named, new, 3, 1, 1, limits=CONSENT)
    nearest = [np.linalg.norm(named.cluster_centers - row, axis=1).argmin() for row in np.concatenate(new)]
    frame = found.to_frame()
    assert frame["label"].tolist() == nearest
    assert frame["name"].tolist() == [named.cluster_names[h] for h in nearest]
    assert frame["party"].tolist() == ["party 1", "party 3", "party 3"]
    with pytest.raises(secfc.ParameterError, match="k: the result has 3 clusters, 4 was given"):
        secfc.predict(FRAMES, named, dict(zip(FRAMES, new, strict=True)), 4, 1, 1, limits=CONSENT)


@pytest.mark.parametrize("names", [["a", "b"], ["a", "b", "a"], ["a", "b", 3], ["a", "b", " "], "abc"])
def test_names_that_do_not_tell_clusters_apart_are_refused(result, names):
    with pytest.raises(secfc.ParameterError, match="names: a list of 3 different texts is needed"):
        result.named(names)


def test_an_order_that_there_is_not_is_refused(result):
    for by in ("weight", 2, True, None):
        with pytest.raises(secfc.ParameterError, match=r"by: 'size' or a column is needed \('age', 'dose'\)"):
            result.ordered(by)
    with pytest.raises(secfc.ParameterError, match="centres were not revealed"):
        secfc.run(ROWS, 2, 1, 1, seed=0).ordered(0)


def test_without_pandas_the_error_says_what_to_install(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(secfc.ParameterError, match="pandas is needed for to_frame, pip install pandas"):
        result.to_frame()


def test_a_report_has_the_names_of_parties_that_a_dict_gave(result, tmp_path):
    page = result.report(tmp_path / "a.html").read_text(encoding="utf-8")
    assert all(f"<td>{name}</td>" in page for name in FRAMES)
    page = result.report(tmp_path / "b.html", names=["a", "b", "c"]).read_text(encoding="utf-8")
    assert "<td>north</td>" not in page
