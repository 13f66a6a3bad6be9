"""`run`, `choose_k` and `SecureKMeans` do the same with the options that they share."""

import numpy as np
import pytest

import secfc
from secfc import SecureKMeans

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


# Membership privacy


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
