"""Resamples on one sharing are what pooled rows give, and only tables of them are opened."""

import json
from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import secfc
from plaintext_baselines import ExactLloyd
from secfc import LimitError, Limits, ParameterError
from secfc.kmeans.consensus import Resampled, bootstrap, stable_of
from secfc.operations.ending.overlaps import plain_tables
from secfc.protocol.job.making import make_job

pytestmark = pytest.mark.filterwarnings("ignore::secfc.PrivacyWarning", "ignore::secfc.ConvergenceWarning")
CONSENT = Limits(reveal_tables=True)


def parties_of(seed, sizes=(14, 9, 11)):
    """Rows of three overlapping groups, so that resamples differ; some rows are the same."""
    rng = np.random.default_rng(seed)
    return [np.round(rng.normal(size=(m, 2)) * 3 + rng.integers(3, size=(m, 1)) * 5) for m in sizes]


def pooled_partitions(parties, k, *, seed, resamples, most_k, **options):
    """The labels of all rows by pooled resamples, of `ExactLloyd` with the same weights and draws."""
    rows = np.concatenate(parties)
    bound = float(np.sqrt((rows**2).sum(axis=1)).max())
    draws, _ = bootstrap(seed, len(rows), k=most_k, resamples=resamples)
    found = []
    for number, counts in enumerate(draws, 1):
        inside = counts > 0
        exact = ExactLloyd(k, init="k-means++", random_state=[seed, number, k], bound=bound, **options)
        exact.fit([rows[inside]], sample_weight=[counts[inside]])
        found.append(exact.predict(rows))
    return found


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("seed", "k", "options"),
    [
        (0, 3, {}),
        (1, 4, {"n_init": 2}),
        (2, (2, 3), {"n_init": 1}),
        (3, 3, {"max_iter": 1}),
        (4, 3, {"tol_moved": 0.2}),
    ],
)
def test_tables_are_those_of_pooled_resamples(seed, k, options):
    parties, resamples = parties_of(seed), 3
    found = secfc.stability(parties, k, t=1, ell=1, resamples=resamples, seed=seed, limits=CONSENT, **options)
    for one in found:
        of_all = np.concatenate(found.labels) if one.k == found.labels_k else None
        pooled = pooled_partitions(
            parties, one.k, seed=seed, resamples=resamples, most_k=np.max(k), **options
        )
        if of_all is None:
            assert (one.tables[1:, 1:] == plain_tables(pooled, one.k)).all()
        else:
            assert (one.tables == plain_tables([of_all, *pooled], one.k)).all()


def test_one_k_has_the_labels_of_a_run():
    parties = parties_of(5)
    found = secfc.stability(parties, 3, t=1, ell=1, resamples=2, seed=5, limits=CONSENT)
    alone = secfc.run(parties, 3, t=1, ell=1, seed=5)
    of_one = found[3]
    assert (found.ari, found.dispersion) == (of_one.ari, of_one.dispersion)
    assert found.aris is of_one.aris
    assert found.jaccard is of_one.jaccard
    assert [one.tolist() for one in found.labels] == [one.tolist() for one in alone.labels]
    ordered = alone.ordered()
    assert of_one.sizes[list(ordered.cluster_order)].tolist() == ordered.sizes.tolist()


@pytest.mark.parametrize("shape", [(5, 1, 2), (7, 2, 1)])
@pytest.mark.parametrize("liars", [0, 1])
def test_segments_and_helpers_and_spare_shares_give_the_same_tables(shape, liars):
    n, t, ell = shape
    n += 2 * liars
    parties = parties_of(6, sizes=[4] * n)
    found = secfc.stability(parties, 2, t=t, ell=ell, resamples=2, seed=6, limits=CONSENT, max_liars=liars)
    pooled = pooled_partitions(parties, 2, seed=6, resamples=2, most_k=2)
    assert (found.tables == plain_tables([np.concatenate(found.labels), *pooled], 2)).all()


def test_a_client_that_does_not_consent_refuses_by_itself():
    job = make_job(n=3, k=2, t=1, ell=1, d=2, bound=1.0, init="k-means++", resamples=2)
    with pytest.raises(LimitError, match=r"^client 2 does not consent to revealing tables of resamples"):
        Limits(reveal_inertia=True, reveal_centres=True).check_consent(job, name="client 2")
    CONSENT.check_consent(job, name="client 2")


def test_a_party_that_does_not_consent_is_named_and_nothing_is_sent():
    limits = [CONSENT, Limits(reveal_inertia=True), CONSENT]
    with pytest.raises(LimitError, match=r"^reveal_tables: parties\[1\] did not consent; .*nothing was sent"):
        secfc.stability(parties_of(0), 2, t=1, ell=1, resamples=2, limits=limits)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"resamples": 0}, "resamples: 2 or more are needed, 0 was given"),
        ({"resamples": 1}, "resamples: 2 or more are needed"),
        ({"resamples": 101}, "resamples: at most 100 resamples, 101 was given"),
        ({"resamples": 2.5}, "resamples: an integer >= 0 is needed, 2.5 was given"),
        ({"init": "random"}, r"resamples: init='k-means\+\+' is needed"),
        ({"k": 16, "resamples": 100}, "at most 63 resamples with this k"),
        ({"k": 18}, "resamples: at least 36 rows are needed for 2 resamples and k=18.* the parties hold 34"),
        ({"resamples": 4}, "resamples: at least 40 rows are needed for 4 resamples.* the parties hold 34"),
        (
            {"reveal": secfc.Reveal(centres="all")},
            "reveal: stability opens only the inertia, centres was given",
        ),
    ],
)
def test_what_does_not_fit_is_refused(given, text):
    arguments = {"k": 2, "resamples": 2} | given
    with pytest.raises(ParameterError, match=text):
        secfc.stability(parties_of(0), t=1, ell=1, limits=CONSENT, **arguments)


def test_rounds_of_resamples_count_for_the_limit():
    limits = Limits(reveal_tables=True, most_rounds=12)
    with pytest.raises(LimitError, match="answers 12 rounds at most, but round 13 would begin"):
        secfc.stability(parties_of(0), 3, t=1, ell=1, resamples=3, seed=0, limits=limits)


def test_resamples_with_fewer_rows_than_clusters_are_drawn_again():
    draws, again = bootstrap(4, 4, k=3, resamples=30)
    assert again > 0
    assert all(counts.sum() == 4 and np.count_nonzero(counts) >= 3 for counts in draws)
    assert len(draws) == 30
    every, none = bootstrap(4, 4, k=1, resamples=30)
    assert none == 0
    large = [counts.tolist() for counts in every if np.count_nonzero(counts) >= 3]
    assert large == [counts.tolist() for counts in draws[: len(large)]]


def test_fewer_values_than_clusters_leave_clusters_empty():
    parties = [np.zeros((15, 1)), np.full((9, 1), 9.0), np.full((6, 1), 9.0)]
    found = secfc.stability(parties, 3, t=1, ell=1, resamples=3, seed=2, limits=CONSENT)
    assert (np.sort(found[3].sizes) == [0, 15, 15]).all()
    assert np.isnan(found.jaccard).sum() == 1
    assert found.ari == found.dispersion == 1


def drawn_partitions(seed, k, m=40, resamples=5):
    rng = np.random.default_rng(seed)
    first = rng.integers(k, size=m)
    return [np.where(rng.random(m) < 0.3, rng.integers(k, size=m), first) for _ in range(resamples + 1)]


def jaccard_of(first, second):
    return (first & second).sum() / (first | second).sum()


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("seed", range(4))
def test_measures_are_those_of_the_labels(seed, k):
    partitions = drawn_partitions(seed, k)
    of_all, resamples = partitions[0], partitions[1:]
    found = stable_of(plain_tables(partitions, k))
    pairs = [adjusted_rand_score(a, b) for a, b in combinations(resamples, 2)]
    assert found.aris.tolist() == pairs
    assert found.ari == pytest.approx(np.mean(pairs))
    best = [
        [max(jaccard_of(of_all == h, labels == g) for g in range(k) if (labels == g).any()) for h in range(k)]
        for labels in resamples
    ]
    assert found.jaccard == pytest.approx(np.mean(best, axis=0))
    together = np.mean([labels[:, np.newaxis] == labels for labels in resamples], axis=0)
    assert found.dispersion == pytest.approx(np.mean(4 * (together - 0.5) ** 2))
    assert (found.sizes == np.bincount(of_all, minlength=k)).all()


def test_one_k_has_attributes_and_several_are_indexed():
    found = secfc.stability(parties_of(1), (3, 2), t=1, ell=1, resamples=2, n_init=1, seed=1, limits=CONSENT)
    assert [one.k for one in found] == [2, 3]
    assert (found.labels_k, found.choice) == (2, None)
    with pytest.raises(ParameterError, match=r"^k: one of 2, 3, as in stability\[k\]"):
        found.jaccard  # noqa: B018
    with pytest.raises(ParameterError, match="k: 4 was not asked for, but 2, 3 were"):
        found[4]
    frame = found.to_frame()
    assert frame["k"].tolist() == [2, 2, 3, 3, 3]
    assert frame["size"].tolist() == [*found[2].sizes, *found[3].sizes]
    assert frame["jaccard"].tolist() == [*found[2].jaccard, *found[3].jaccard]
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    again = Resampled.of(told)
    assert all((one == two.tables).all() for one, two in zip(again.tables, found, strict=True))
    line = str(found).splitlines()[1].split()
    assert line == ["2", f"{found[2].dispersion:.3f}", f"{found[2].ari:.3f}", *line[3:]]
    assert f"<td>{found[2].dispersion:.3f}</td>" in found._repr_html_()


def test_with_the_inertia_several_k_are_compared_too():
    limits, reveal = Limits(reveal_tables=True, reveal_inertia=True), secfc.Reveal(inertia=True)
    given = {"t": 1, "ell": 1, "n_init": 1, "seed": 1, "limits": limits, "reveal": reveal}
    found = secfc.stability(parties_of(1), (2, 3), resamples=2, **given)
    alone = secfc.choose_k(parties_of(1), (2, 3), **given)
    inertias = [[(one.k, one.inertia) for one in choice] for choice in (found.choice, alone)]
    assert inertias[0] == inertias[1]
    assert found.choice.stability is found.by_k
    assert alone.stability == ()
    assert found.labels_k == alone.best
    assert [one.tolist() for one in found.labels] == [one.tolist() for one in alone[alone.best].labels]


@pytest.mark.processes
def test_processes_give_the_same_tables():
    given = {"t": 1, "ell": 1, "resamples": 2, "seed": 3, "limits": CONSENT}
    apart, here = (
        secfc.stability(parties_of(3), 3, driver=driver, **given) for driver in ("multiprocess", "in-process")
    )
    assert (apart.tables == here.tables).all()
