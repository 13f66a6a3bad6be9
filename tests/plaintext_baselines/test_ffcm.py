"""FFCM: equations 5 to 9 by hand, central fuzzy c-means, the options of the published code."""

import numpy as np
import pytest
from support.lloyd import column

from plaintext_baselines import FFCM
from plaintext_baselines.ffcm import memberships


def ordered(centres):
    return np.array(sorted(np.asarray(centres).tolist()))


def test_equation_5_by_hand():
    # m = 2: squared distances 1 and 4, shares 1 : 1/4.
    assert memberships(column(1), column(0, 3), 1.0).tolist() == [pytest.approx([0.8, 0.2])]


def one_round(**options):
    # From 0, 3: party {1} has u = 0.8, 0.2; party {0, 4} has u = 1, 0 | 1/17, 16/17.
    parties = [column(1), column(0, 4)]
    return FFCM(2, init=column(0, 3), max_iter=1, **options).fit(parties)


def test_one_round_of_avg_1_by_hand():
    # Local centres 1, 1 with W = .64, .04 | 4 u1/(1 + u1), 4 with W = 1 + u1, u2; u = (1/17)^2, (16/17)^2.
    u1, u2 = (1 / 17) ** 2, (16 / 17) ** 2
    expected = [(0.64 * 1 + u1 * 4) / (0.64 + 1 + u1), (0.04 * 1 + u2 * 4) / (0.04 + u2)]
    model = one_round()
    assert model.cluster_centers_.ravel() == pytest.approx(expected)
    assert model.history_ == pytest.approx([1 + 0 + 1])
    assert (model.n_iter_, model.converged_) == (1, False)


def test_one_round_with_the_supports_of_the_code_by_hand():
    # u at the local centres: party 0's centres coincide at 1: 1/2 each. Party 1: centres a, 4.
    a = 4 * (1 / 17) ** 2 / (1 + (1 / 17) ** 2)
    far = 16 / (16 + a**2)  # of row 0 to centre a; row 4 sits on centre 4
    expected = [(0.5 * 1 + far * a) / (0.5 + far), (0.5 * 1 + (2 - far) * 4) / (0.5 + 2 - far)]
    assert one_round(weights="memberships").cluster_centers_.ravel() == pytest.approx(expected)


def test_one_round_of_avg_2_by_hand():
    # Local centres 1, 1 | a, 4: two clusters are {1, 1, a} and {4}, whatever the supports.
    a = 4 * (1 / 17) ** 2 / (1 + (1 / 17) ** 2)
    model = one_round(averaging="kmeans", random_state=0)
    assert ordered(model.cluster_centers_).ravel() == pytest.approx([(2 + a) / 3, 4])


def test_local_centres_of_the_last_round_by_hand():
    # Memberships at 0 and 3 are (1, 0), (4/5, 1/5), (0, 1) for the rows 0, 1, 3.
    parties = [column(0, 1), np.empty((0, 1)), column(3)]
    model = FFCM(2, init=column(0, 3), max_iter=1).fit(parties)
    first, empty, last = model.local_centers_
    assert first.ravel() == pytest.approx([0.64 / 1.64, 1])
    assert empty.tolist() == model.cluster_centers_.tolist()
    assert last.ravel() == pytest.approx([0, 3])  # nothing supports the first centre, so it stays


def central(rows, centres, m, steps):
    for _ in range(steps):
        distances = np.linalg.norm(rows[:, None] - centres, axis=2)
        u = 1 / ((distances[:, :, None] / distances[:, None, :]) ** (2 / (m - 1))).sum(axis=2)
        centres = (u**m).T @ rows / (u**m).sum(axis=0)[:, None]
    return centres


@pytest.mark.parametrize("m", [1.1, 2.0, 3.0])
@pytest.mark.parametrize("averaging", ["weighted", "kmeans"])
def test_one_party_is_central_fuzzy_c_means(m, averaging):
    rng = np.random.default_rng(0)
    rows, start = rng.normal(size=(50, 3)), rng.normal(size=(4, 3))
    for steps in (1, 2, 9):
        model = FFCM(4, averaging=averaging, fuzziness=m, init=start, max_iter=steps).fit([rows])
        np.testing.assert_allclose(model.cluster_centers_, central(rows, start, m, steps), atol=1e-9)


def test_avg_1_with_one_local_update_is_central_whatever_the_split():
    rng = np.random.default_rng(1)
    rows, start = rng.normal(size=(60, 2)), rng.normal(size=(3, 2))
    for cuts in ([20, 40], [1, 2, 55]):
        model = FFCM(3, init=start, max_iter=7).fit(np.split(rows, cuts))
        np.testing.assert_allclose(model.cluster_centers_, central(rows, start, 2.0, 7), atol=1e-10)


def test_stop_by_the_sum_of_movements_or_by_their_norm():
    # Both centres move by the same vector: the sum is sqrt(2) times the norm.
    rows = np.array([[0.0], [1.0], [9.0], [10.0]])
    sums, norms = (
        FFCM(2, init=column(0, 10), tol=1e-6, movement=movement).fit([rows])
        for movement in ("sum", "frobenius")
    )
    assert sums.converged_
    assert norms.converged_
    assert norms.n_iter_ <= sums.n_iter_


def test_normalised_columns_do_not_depend_on_their_units():
    rng = np.random.default_rng(3)
    parties = [rng.normal(size=(40, 2)), rng.normal(size=(30, 2)) + 3]
    units = np.array([1000.0, 0.01])
    options = {"averaging": "kmeans", "normalise": True, "random_state": 0}
    model = FFCM(2, **options).fit(parties)
    other = FFCM(2, **options).fit([rows * units + 5 for rows in parties])
    np.testing.assert_allclose(other.cluster_centers_, model.cluster_centers_ * units + 5, rtol=1e-6)


def test_uniform_start_is_in_the_unit_cube_of_the_data():
    model = FFCM(3, random_state=4, max_iter=1, fuzziness=1.01).fit([np.array([[0.2, 0.2]] * 3)])
    assert model.history_[0] == pytest.approx(
        3 * ((np.random.default_rng(4).random((3, 2)) - 0.2) ** 2).sum(axis=1).min()
    )


def test_paper_defaults():
    expected = {
        "fuzziness": 2.0,
        "local_iter": 1,
        "averaging": "weighted",
        "weights": "powers",
        "movement": "sum",
    }
    assert expected.items() <= FFCM(2).get_params().items()
