"""The default number of colluding parties: a new user's first call works and says what it promises."""

import numpy as np
import pytest
from support.sweeps import every

import secfc
from secfc.lagrange.basis import recovery_threshold
from secfc.protocol.job.thresholds import default_threshold

rng = np.random.default_rng(0)
MANY = [rng.normal(size=(4, 2)) for _ in range(12)]


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (3, (1, 1)),
        (4, (1, 1)),
        (5, (1, 1)),
        (6, (2, 1)),
        (8, (3, 1)),
        (10, (4, 1)),
        (11, (4, 2)),
        (301, (4, 2)),
    ],
)
def test_defaults_fit_the_parties(n, expected):
    assert default_threshold(n, None, None) == expected
    assert recovery_threshold(*expected) <= n


@every("n", range(3, 40))
@every("max_liars", [0, 1, 2])
def test_defaults_leave_room_for_liars_and_one_to_spare(n, max_liars):
    t, ell = default_threshold(n, None, None, max_liars=max_liars)
    room = n - 2 * max_liars
    if room >= 3:
        assert recovery_threshold(t, ell) <= (room - 1 if 4 <= room <= 10 else room)
        assert (t, ell) == (4, 2) or recovery_threshold(t + 1, ell) > room - 1 or room >= 11


def test_a_run_without_them_says_what_it_promises():
    text = r"^3 parties: t = 1 and ell = 1 by default; up to 1 of the parties together learn nothing$"
    with pytest.warns(secfc.PrivacyWarning, match=text):
        result = secfc.run(MANY[:3], 2, seed=1)
    same = secfc.run(MANY[:3], 2, 1, 1, seed=1)
    assert (result.job.t, result.job.ell) == (1, 1)
    for mine, theirs in zip(result.labels, same.labels, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.filterwarnings("error::secfc.PrivacyWarning")
def test_eleven_parties_have_what_is_documented():
    job = secfc.run(MANY, 2, seed=1, bound=10, max_iter=300).job
    assert (job.t, job.ell) == (4, 2)


@pytest.mark.parametrize("function", [secfc.run, secfc.choose_k])
def test_fewer_than_three_parties_are_one_clear_error(function):
    with pytest.raises(secfc.ThresholdError, match=r"no \(t, ell\) fits fewer than 3 clients$"):
        function(MANY[:2], 2 if function is secfc.run else [2], disclosure="coded")


@pytest.mark.parametrize("wrong", [{"t": "4"}, {"ell": "2"}, {"t": 0}, {"ell": -1}, {"max_liars": "1"}])
def test_what_is_wrong_is_named(wrong):
    with pytest.raises(secfc.ParameterError, match=f"^{next(iter(wrong))}: "):
        secfc.run(MANY, 2, **wrong)
