"""`run`, `choose_k` and `SecureKMeans` do the same with the options that they share."""

from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest

import secfc
from secfc import SecureKMeans
from secfc.field.packing import PackedResidues
from secfc.protocol.client import Client
from secfc.protocol.messages import CodedDistances

_RNG = np.random.default_rng(3)
FIVE = [_RNG.normal(size=(m, 2)) + _RNG.integers(3, size=(m, 1)) * 7 for m in (9, 6, 8, 7, 5)]
IDS = [[f"patient {j}-{i}" for i in range(len(rows))] for j, rows in enumerate(FIVE)]
KEY = bytes(range(32))


LABELS, NEW = [[0] * len(rows) for rows in FIVE], [rows[:1] for rows in FIVE]
CALLS = {
    secfc.run: (FIVE, 2, 1, 1),
    secfc.choose_k: (FIVE, [2], 1, 1),
    secfc.predict: (FIVE, LABELS, NEW, 1, 1, 1),
}


@pytest.mark.parametrize(
    ("call", "name"),
    [
        *((call, name) for call in CALLS for name in ("tolerance", "compared", "stacklevel", "predict")),
        (secfc.choose_k, "reveal_centres"),
        (secfc.choose_k, "reveal_spread"),
        *((secfc.predict, name) for name in ("ids", "seed", "n_init", "max_iter", "init", "reveal_centres")),
    ],
)
def test_an_argument_that_there_is_not_is_a_type_error_that_names_it(call, name):
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
        call(*CALLS[call], **{name: 1})


@pytest.mark.parametrize("call", CALLS)
def test_warnings_are_about_the_line_that_calls(call):
    wide = [np.hstack([rows, rows]) for rows in FIVE]
    given = {secfc.run: (wide, 2), secfc.choose_k: (wide, [2])}.get(call, (wide, LABELS, wide, 1))
    more = {"t": 1, "ell": 2, "disclosure": "coded", "limits": secfc.Limits(predict=True)}
    with pytest.warns(secfc.PrivacyWarning) as caught:
        call(*given, **more)
    assert {one.filename for one in caught} == {__file__}


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("max_liars", 2, "max_liars: n >= R \\+ 2A must hold"),
        ("limits", secfc.Limits(smallest_set=20), "20 rows"),
        ("driver", "telepathy", "driver"),
        ("bound", 0.5, "rows have a norm above the bound"),
    ],
)
def test_an_option_of_each_class_reaches_the_run(name, value, text):
    given = {"t": 1, "ell": 1, "init": "random", "disclosure": "coded", name: value}
    for call in (
        lambda: secfc.run(FIVE, 2, **given),
        lambda: secfc.choose_k(FIVE, [2, 3], **given),
        lambda: SecureKMeans(2, **given).fit(FIVE),
    ):
        with pytest.raises(secfc.SecFCError, match=text):
            call()


def plain(labels):
    return [list(map(int, part)) for part in labels]


# Membership privacy


def test_an_estimator_with_ids_gives_the_labels_of_the_run():
    result = secfc.run(FIVE, 3, 1, 1, ids=secfc.Membership(IDS, KEY, 40), seed=0)
    model = SecureKMeans(3, t=1, ell=1, random_state=0)
    assert plain(model.fit_predict(FIVE, ids=secfc.Membership(IDS, KEY, 40))) == plain(result.labels)
    assert model.result_.by_id() == result.by_id()
    assert model.result_.job.rows.cap == 40


def test_the_key_of_ids_is_in_neither_repr_nor_parameters():
    model = SecureKMeans(3, t=1, ell=1, random_state=0).fit(FIVE, ids=secfc.Membership(IDS, KEY))
    for text in (repr(model), repr(model.get_params()), repr(vars(model))):
        assert repr(KEY) not in text
        assert KEY.hex() not in text


def test_numbers_of_clusters_are_compared_on_the_union():
    hidden = secfc.choose_k(FIVE, [2, 3], 1, 1, ids=IDS, seed=0, disclosure="coded")
    for k in (2, 3):
        labels, rows = np.concatenate(hidden[k].labels), np.vstack(FIVE)
        assert [len(part) for part in hidden[k].labels] == [9, 6, 8, 7, 5]
        assert np.bincount(labels, minlength=k).tolist() == hidden[k].sizes.tolist()
        # The labels belong to these rows, and not to those at the same place in the union.
        inertia = sum(((rows[labels == h] - rows[labels == h].mean(axis=0)) ** 2).sum() for h in range(k))
        assert hidden[k].inertia == pytest.approx(inertia, rel=1e-6)


def test_labels_of_a_choice_on_a_union_are_those_of_a_run():
    choice = secfc.choose_k(FIVE, [3], 1, 1, init="random", n_init=1, ids=IDS, seed=0, disclosure="coded")
    result = secfc.run(FIVE, 3, 1, 1, ids=IDS, seed=0)
    assert plain(choice[3].labels) == plain(result.labels)


def test_frames_keep_their_index_on_a_union():
    frames = [pd.DataFrame(rows, index=np.arange(len(rows)) * 3) for rows in FIVE]
    labels = secfc.choose_k(frames, [2], 1, 1, ids=IDS, seed=0, disclosure="coded")[2].labels
    assert all(part.index.equals(frame.index) for part, frame in zip(labels, frames, strict=True))


def test_an_id_held_twice_ends_both():
    twice = [*IDS[:4], [IDS[0][0], *IDS[4][1:]]]
    with pytest.raises(secfc.DuplicateIdError):
        secfc.choose_k(FIVE, [2], 1, 1, ids=twice, disclosure="coded")
    with pytest.raises(secfc.DuplicateIdError):
        SecureKMeans(2, t=1, ell=1).fit(FIVE, ids=twice)


# Parties that lie


def lying(receive):
    """Client 2 sends answers with one wrong residue."""

    def wrong(answer):
        payload = bytearray(answer.residues.payload)
        payload[0] ^= 1
        return replace(answer, residues=PackedResidues(shape=answer.residues.shape, payload=payload))

    def take(client, message):
        replies = receive(client, message)
        if client.number != 2:
            return replies
        return [wrong(one) if isinstance(one, CodedDistances) else one for one in replies]

    return take


def test_liars_are_found_out_whoever_asks(monkeypatch):
    given = {"t": 1, "ell": 1, "max_liars": 1, "disclosure": "coded"}
    honest = secfc.choose_k(FIVE, [2, 3], 1, 1, seed=0, disclosure="coded")
    monkeypatch.setattr(Client, "receive", lying(Client.receive))
    with pytest.warns(secfc.FaultWarning, match="parties\\[1\\]"):
        choice = secfc.choose_k(FIVE, [2, 3], seed=0, **{"disclosure": "coded"} | given)
    assert choice.faults.liars == (2,)
    assert [plain(one.labels) for one in choice] == [plain(one.labels) for one in honest]
    with pytest.warns(secfc.FaultWarning, match="parties\\[1\\]"):
        model = SecureKMeans(3, random_state=0, **given).fit(FIVE)
    assert model.result_.faults.liars == (2,)
    monkeypatch.undo()
    assert plain(model.labels_) == plain(secfc.run(FIVE, 3, 1, 1, init="random", n_init=1, seed=0).labels)


# Other options of a run


def test_an_estimator_is_watched():
    seen = Mock()
    SecureKMeans(2, t=1, ell=1, random_state=0, progress=seen).fit(FIVE)
    assert {call.args[0].phase for call in seen.call_args_list} >= {"share", "iterate"}


@pytest.mark.processes
def test_a_deadline_hurries_nobody_who_works():
    given = {"t": 1, "ell": 1, "driver": "multiprocess", "deadline": 300.0}
    choice = secfc.choose_k(FIVE, [2, 3], seed=0, **{"disclosure": "coded"} | given)
    assert choice.faults == secfc.Faults()
    model = SecureKMeans(2, random_state=0, **given).fit(FIVE)
    assert plain(model.labels_) == plain(secfc.run(FIVE, 2, 1, 1, seed=0).labels)
