"""How well rows fit their clusters: by hand, and who may read it."""

import re

import numpy as np
import pytest
from sklearn.metrics import pairwise_distances

import secfc
from secfc.report.fit import Fit, fit_of, fit_of_all

_RNG = np.random.default_rng(5)
PARTIES = [_RNG.normal(size=(m, 3)) + _RNG.integers(3, size=(m, 1)) * 9 for m in (30, 40, 26)]
POOLED = np.concatenate(PARTIES)
ROWS = np.array([[0.0], [2.0], [10.0]])


def by_distances(rows, labels, centres):
    """Silhouettes of the rows, from all their distances."""
    distances = pairwise_distances(rows, centres)
    own = distances[np.arange(len(rows)), labels]
    distances[np.arange(len(rows)), labels] = np.inf
    other = distances.min(axis=1)
    return (other - own) / np.maximum(own, other)


def test_three_rows_by_hand():
    found = fit_of(ROWS, np.array([0, 0, 1], dtype=np.int32), np.array([[1.0], [10.0]]))
    assert found[0] == Fit(2, 1.0, pytest.approx((9 / 10 + 7 / 8) / 2))
    assert found[1] == Fit(1, 0.0, 1.0)
    assert found[2] == Fit(3, pytest.approx((2 / 3) ** 0.5), pytest.approx((9 / 10 + 7 / 8 + 1) / 3))


def test_clusters_without_rows_or_without_another_centre_have_none():
    centres = np.array([[1.0], [np.nan]])
    found = fit_of(ROWS[:2], np.zeros(2, dtype=np.int32), centres)
    assert found == [Fit(2, 1.0, None), Fit(0, None, None), Fit(2, 1.0, None)]
    assert fit_of(ROWS[:0], np.zeros(0, dtype=np.int32), centres) == [Fit(0, None, None)] * 2


@pytest.fixture(scope="module")
def measured():
    return secfc.run(PARTIES, 3, 1, 1, n_init=5, seed=2, disclosure="coded")


def test_what_the_server_knows_is_what_the_pooled_rows_give(measured):
    result = measured
    labels = np.concatenate(result.labels)
    centres = np.array([POOLED[labels == h].mean(axis=0) for h in range(3)])
    for ours, theirs in zip(fit_of_all(measured), fit_of(POOLED, labels, centres), strict=True):
        assert ours == Fit(theirs.rows, pytest.approx(theirs.spread), pytest.approx(theirs.silhouette))
    each = by_distances(POOLED, labels, centres)
    assert measured.cluster_silhouettes == pytest.approx([each[labels == h].mean() for h in range(3)])
    assert fit_of_all(measured)[-1].spread == pytest.approx((measured.inertia / len(POOLED)) ** 0.5)


def test_with_labels_nobody_knows_it():
    result = secfc.run(PARTIES, 3, 1, 1, seed=2)
    assert result.cluster_spreads.tolist() == result.cluster_silhouettes.tolist() == []


def test_the_copy_of_the_server_has_it_and_that_of_a_party_has_not(measured, tmp_path):
    page = measured.report(tmp_path / "r.html").read_text(encoding="utf-8")
    table = page.split('id="distances"')[1].split("</table>")[0]
    silhouettes = re.findall(r'class="n part"[^>]*>([\d.]+)<', table)
    assert silhouettes[:3] == [f"{one:.2f}" for one in measured.cluster_silhouettes]
    assert len(silhouettes) == 4
    copy = measured.report(tmp_path / "c.html", party=0, pooled=PARTIES).read_text(encoding="utf-8")
    assert "silhouette" not in copy


LIMITS = secfc.Limits(reveal_centres=True)


@pytest.fixture(scope="module")
def opened():
    return secfc.run(PARTIES, 3, 1, 1, seed=2, reveal=secfc.Reveal(centres=[1]), limits=LIMITS)


def test_who_has_the_centres_sees_how_its_own_rows_fit(opened, tmp_path):
    page = opened.report(tmp_path / "r.html", party=1, pooled=PARTIES).read_text(encoding="utf-8")
    table = page.split("<h3>Own rows</h3>")[1].split("</table>")[0]
    labels, centres = np.asarray(opened.labels[1]), opened.cluster_centers
    each = by_distances(PARTIES[1], labels, centres)
    wanted = [f"{each[labels == h].mean():.2f}" for h in range(3)] + [f"{each.mean():.2f}"]
    assert re.findall(r'class="n part"[^>]*>([\d.]+)<', table) == wanted
    assert re.findall(r'<td class="n">(\d+)</td>', table) == [*map(str, np.bincount(labels)), "40"]


def test_it_depends_on_no_row_of_another(opened, tmp_path):
    others = [PARTIES[0] + 100, PARTIES[1], PARTIES[2] * 3]
    tables = [
        opened.report(tmp_path / "r.html", party=1, pooled=rows)
        .read_text(encoding="utf-8")
        .split("<h3>Own rows</h3>")[1]
        .split("</table>")[0]
        for rows in (PARTIES, others)
    ]
    assert tables[0] == tables[1]


@pytest.mark.parametrize("party", [None, 0, 2])
def test_no_other_copy_of_a_run_with_labels_has_it(opened, tmp_path, party):
    page = opened.report(tmp_path / "r.html", party=party, pooled=PARTIES).read_text(encoding="utf-8")
    assert "silhouette" not in page
