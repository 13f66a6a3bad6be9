"""The cluster of rows that were not in a run, by `secfc.predict` and `SecureKMeans`."""

import numpy as np
import pandas as pd
import pytest

import secfc
from secfc import Limits, SecureKMeans
from secfc.drivers import in_process
from secfc.protocol.client import Client
from secfc.protocol.job.making import make_job

_RNG = np.random.default_rng(12)
OLD = [_RNG.normal(size=(m, 3)) + _RNG.integers(3, size=(m, 1)) * 4 for m in (9, 6, 0, 7, 8)]
NEW = [_RNG.normal(size=(m, 3)) + _RNG.integers(3, size=(m, 1)) * 4 for m in (0, 5, 3, 1, 11)]
WILLING = Limits(predict=True)


def predicted(old, labels, new, k, **more):
    given = {"t": 1, "ell": 1, "limits": WILLING} | more
    return secfc.predict(old, labels, new, k, **given)


def plain(labels):
    return [[int(one) for one in part] for part in labels]


def test_four_points_by_hand():
    # Means 1 and 9: 4 is nearer to 1, 5 is a tie, 6 nearer to 9.
    old, labels = [[[0.0], [2.0]], [[8.0]], [[10.0]]], [[0, 0], [1], [1]]
    found = predicted(old, labels, [[[5.0]], [[4.0], [6.0]], []], 2)
    assert plain(found.labels) == [[0], [0, 1], []]
    assert [part.dtype for part in found.labels] == [np.int32] * 3


def test_new_rows_count_in_no_centre():
    # If they counted, a hundred new rows at 4 would move the mean of {0, 2} beyond the row at 5.2.
    old, labels = [[[0.0], [2.0]], [[8.0]], [[10.0]]], [[0, 0], [1], [1]]
    crowd = np.full((100, 1), 4.0)
    found = predicted(old, labels, [[[5.2]], crowd, []], 2)
    assert plain(found.labels)[0] == [1]
    assert set(plain(found.labels)[1]) == {0}


def test_a_cluster_without_rows_is_predicted_for_nobody():
    found = predicted([[[0.0]], [[9.0]], []], [[0], [2], []], [[[0.1]], [[8.0]], [[4.6]]], 3)
    assert plain(found.labels) == [[0], [2], [2]]


def test_rows_without_a_label_are_not_shared():
    old, labels = [[[0.0], [2.0]], [[8.0]], [[10.0], [500.0]]], [[0, 0], [1], [1, -1]]
    found = predicted(old, labels, [[[4.0]], [], []], 2, bound=600.0)
    assert plain(found.labels) == [[0], [], []]
    with_it = predicted(old, [[0, 0], [1], [1, 1]], [[[4.0]], [], []], 2, bound=600.0)
    kinds = [sum(one.size for one in each.costs.messages if one.kind == "Step") for each in (found, with_it)]
    assert kinds[0] < kinds[1]


def test_frames_give_series_with_the_index_of_the_new_rows():
    def frames(parties):
        return [
            pd.DataFrame(part, columns=["a", "b", "c"], index=np.arange(len(part)) * 2 + 7)
            for part in parties
        ]

    labels = secfc.run(OLD, 3, 1, 1, seed=1).labels
    of_arrays = predicted(OLD, labels, NEW, 3)
    of_frames = predicted(frames(OLD), [pd.Series(part) for part in labels], frames(NEW), 3)
    assert plain(of_frames.labels) == plain(of_arrays.labels)
    assert [part.index.tolist() for part in of_frames.labels] == [
        (np.arange(len(part)) * 2 + 7).tolist() for part in NEW
    ]


# Consent and limits


def test_who_does_not_consent_is_named_and_nothing_is_sent(monkeypatch):
    begun = []
    monkeypatch.setattr(in_process, "roles_of", begun.append)
    against = [WILLING, Limits(), WILLING, Limits(reveal_centres=True), WILLING]
    labels = [[0] * len(part) for part in OLD]
    with pytest.raises(secfc.LimitError, match=r"^predict: parties\[1\], parties\[3\] did not consent"):
        predicted(OLD, labels, NEW, 1, limits=against)
    with pytest.raises(secfc.LimitError, match="did not consent"):
        predicted(OLD, labels, NEW, 1, limits=None)
    assert not begun


def test_a_client_that_does_not_consent_refuses_by_itself(monkeypatch):
    real = Client.__init__

    def begin(client, *, number, **given):
        real(client, number=number, **given | ({"limits": Limits()} if number == 4 else {}))

    monkeypatch.setattr(Client, "__init__", begin)
    with pytest.raises(secfc.LimitError, match=r"^parties\[3\] does not consent to predicting"):
        predicted(OLD, [[0] * len(part) for part in OLD], NEW, 1)


def test_the_smallest_set_holds_for_the_clusters_and_not_for_new_rows():
    old, labels = [[[0.0], [2.0]], [[8.0]], [[10.0]]], [[0, 0], [1], [1]]
    limits = Limits(predict=True, smallest_set=2)
    assert plain(predicted(old, labels, [[[1.0]], [], []], 2, limits=limits).labels) == [[0], [], []]
    with pytest.raises(secfc.LimitError, match="sets with 2 rows or more, or none; a set has fewer"):
        predicted(old, [[0, 0], [1], [0]], [[[1.0]], [], []], 2, limits=limits)


def test_consent_is_a_bool():
    with pytest.raises(secfc.ParameterError, match=r"^limits\.predict: a bool is needed, str was given$"):
        Limits(predict="yes")


# Inputs that cannot be used


SMALL = [[[0.0], [2.0]], [[8.0]], [[10.0]]]
LABELS = [[0, 0], [1], [1]]
ADDED = [[[1.0]], [], []]


@pytest.mark.parametrize(
    ("changes", "kind", "text"),
    [
        ({"labels": [[0, 2], [1], [1]]}, secfc.DataError, r"^parties\[0\]: labels must lie in -1\.\.1$"),
        ({"labels": [[0, 0], [-2], [1]]}, secfc.DataError, r"^parties\[1\]: labels must lie in -1\.\.1$"),
        ({"labels": [[0], [1], [1]]}, secfc.DataError, r"^parties\[0\]: 1 labels for 2 rows$"),
        ({"labels": [[0, 0], [1.0], [1]]}, secfc.DataError, r"^parties\[1\]: labels must be a one-dim"),
        ({"labels": [[0, [0]], [1], [1]]}, secfc.DataError, r"^parties\[0\]: labels must be a one-dim"),
        ({"labels": LABELS[:2]}, secfc.ParameterError, "^labels: a list with one integer array for each"),
        ({"labels": None}, secfc.ParameterError, "^labels: a list with one integer array"),
        ({"labels": [[-1, -1], [-1], [-1]]}, secfc.ParameterError, "^labels: at least one row needs a label"),
        ({"new": ADDED[:2]}, secfc.ParameterError, "^new_rows: rows of 2 parties were given, there are 3"),
        ({"new": np.zeros((3, 1))}, secfc.ParameterError, "^new_rows: a list with one array"),
        ({"new": [[], [], []]}, secfc.ParameterError, "^predict: no party has a new row$"),
        ({"new": [[[1.0, 2.0]], [], []]}, secfc.DataError, r"^new_rows\[0\]: 2 columns, parties\[0\] has 1$"),
        ({"new": [[], [[np.nan]], []]}, secfc.DataError, r"^new_rows\[1\]: 1 values are NaN or infinite"),
        ({"new": [[], [["a"]], []]}, secfc.DataError, r"^new_rows\[1\]: numbers are needed"),
        ({"new": [[], [[99.0]], []], "bound": 10}, secfc.DataError, r"^new_rows\[1\]: 1 rows .* bound 10\.0"),
        ({"old": [[[0.0], [2.0]], [[np.inf]], [[10.0]]]}, secfc.DataError, r"^parties\[1\]: 1 values"),
        ({"old": SMALL[:2], "labels": LABELS[:2], "new": ADDED[:2]}, secfc.ThresholdError, "too few clients"),
        ({"bound": "high"}, secfc.ParameterError, "^bound: a number is needed"),
        ({"k": 0}, secfc.ParameterError, "^k: at least 1 is needed"),
        ({"k": 9}, secfc.ParameterError, "^k: 9 clusters asked for, the parties hold 5 rows"),
        ({"driver": "telepathy"}, secfc.ParameterError, "^driver"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_named_and_nothing_is_sent(changes, kind, text, monkeypatch):
    begun = []
    monkeypatch.setattr(in_process, "roles_of", begun.append)
    given = {"old": SMALL, "labels": LABELS, "new": ADDED, "k": 2} | changes
    with pytest.raises(kind, match=text):
        predicted(given.pop("old"), given.pop("labels"), given.pop("new"), given.pop("k"), **given)
    assert not begun


def test_frames_of_other_columns_are_refused():
    old = [pd.DataFrame({"age": [float(j)], "dose": [1.0]}) for j in range(3)]
    new = [pd.DataFrame({"dose": [float(j)], "height": [1.0]}) for j in range(3)]
    with pytest.raises(
        secfc.DataError, match=r"^new_rows\[0\]: no column 'age', parties\[0\] has it; it has"
    ):
        predicted(old, [[0], [0], [0]], new, 1)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"init": "random"}, "^predict: init='labels' and max_iter=1 are needed"),
        ({"max_iter": 300}, "^predict: init='labels' and max_iter=1 are needed"),
        ({"tol_moved": 0.1}, "^predict: not with tol_moved: a prediction moves no centre$"),
        ({"reveal_to": (1,)}, "^reveal_centres: not with predict: a prediction opens no centre$"),
    ],
    ids=lambda one: next(iter(one)),
)
def test_a_job_that_would_move_or_open_centres_is_no_prediction(changes, text):
    given = {"n": 3, "k": 2, "t": 1, "ell": 1, "d": 1, "bound": 1.0, "init": "labels", "max_iter": 1}
    assert make_job(**{"disclosure": "coded"} | given, predict=True).max_rounds == 1
    with pytest.raises(secfc.ParameterError, match=text):
        make_job(**{"disclosure": "coded"} | given | changes, predict=True)
    with pytest.raises(secfc.ParameterError, match=r"^predict: a bool is needed"):
        make_job(**{"disclosure": "coded"} | given, predict=1)


# scikit-learn's conventions


def test_an_estimator_without_centres_predicts_with_all_parties():
    model = SecureKMeans(3, t=1, ell=1, limits=WILLING, random_state=1).fit(OLD)
    with pytest.raises(
        AttributeError, match=r"by reveal=secfc.Reveal\(centres=...\); predict_parties needs none$"
    ):
        model.predict(OLD[0])
    found = predicted(OLD, model.labels_, NEW, 3)
    assert plain(model.predict_parties(OLD, NEW)) == plain(found.labels)
    with pytest.raises(secfc.DataError, match=r"^parties: rows .*, the fit had rows"):
        model.predict_parties(NEW, OLD)


def test_after_a_fit_with_ids_no_rows_are_counted():
    ids = [[f"{j}-{i}" for i in range(len(rows))] for j, rows in enumerate(OLD)]
    model = SecureKMeans(3, t=1, ell=1, limits=WILLING, random_state=1).fit(OLD, ids=ids)
    with pytest.raises(secfc.ParameterError, match=r"^ids: no prediction is possible"):
        model.predict_parties(OLD, NEW)
