"""The table of features that do not go together: each pair runs, or is refused with both names."""

import re
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from support.lloyd import begun_as

from plaintext_baselines import ExactLloyd
from secfc.api.options import Reveal, RunOptions
from secfc.api.run import run_outcome
from secfc.errors import ParameterError
from secfc.protocol.job.job_options import JobOptions, as_options
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import APART, FEATURES, make_job
from secfc.tables.parties import as_parties

_RNG = np.random.default_rng(7)
M = 24  # rows of each party: enough for spreads
ROWS = [np.arange(M)[:, np.newaxis] % 3 * 30.0 + _RNG.integers(0, 5, (M, 2)) for _ in range(5)]
CONSENT = Limits(
    reveal_centres=True,
    reveal_inertia=True,
    reveal_spread=10,
    predict=True,
    reveal_tables=True,
    describe=2,
)
PAGE = Path(__file__).parent.parent / "docs" / "optional.md"

RUNS = {
    "disclosure 'coded'": {"disclosure": "coded"},
    "disclosure 'labels'": {"disclosure": "labels"},
    "comparers": {"comparers": (4, 0, 2)},
    "ids": {"ids": [[f"{party}-{row}" for row in range(M)] for party in range(5)]},
    "committee": {"committee": 5},
    "sample_weight": {"sample_weight": [np.arange(M) % 3 + 1] * 5},
    "precision": {"precision": 24},
    "step": {"step": 1.0},
    "predict": {"init": [np.arange(M) % 4 - 1] * 5, "max_iter": 1},
    "compared": {"reveal": {"inertia": True}},
    "init by labels or centres": {"init": [np.arange(M) % 3] * 5},
    "init 'separation'": {"init": "separation", "disclosure": "coded"},
    "init 'k-means++'": {"init": "k-means++"},
    "n_init": {"n_init": 2},
    "tol_moved": {"tol_moved": 0.1},
    "reveal_centres": {"reveal": {"centres": "all"}},
    "reveal_spread": {"reveal": {"centres": "all", "spread": True}},
    "reveal_inertia": {"reveal": {"inertia": True}},
    "centres_epsilon": {"reveal": {"centres": "all", "epsilon": 5.0, "delta": 1e-3}},
    "resamples": {},
    "max_liars": {"max_liars": 1},
    "describe": {"describe": [np.arange(M) % 5] * 5},
}
"""The options of `secfc.run` that each feature needs. "predict", "compared" and "resamples" are none."""

JOBS = {
    "disclosure 'coded'": {"disclosure": "coded"},
    "disclosure 'labels'": {"disclosure": "labels"},
    "comparers": {"comparers": (5, 1, 3)},
    "ids": {"ids_cap": 120},
    "committee": {"owners": (M,) * 5, "deposits": ""},
    "sample_weight": {"weighted": True},
    "precision": {"precision": 24},
    "step": {"step": 1.0},
    "predict": {"predict": True},
    "compared": {"compared": (2, 3)},
    "init by labels or centres": {"init": "labels"},
    "init 'separation'": {"init": "separation", "disclosure": "coded"},
    "init 'k-means++'": {"init": "k-means++"},
    "n_init": {"n_init": 2},
    "tol_moved": {"tol_moved": 0.1},
    "reveal_centres": {"reveal_to": (1,)},
    "reveal_spread": {"reveal_spread": 10},
    "reveal_inertia": {"reveal_inertia": True},
    "centres_epsilon": {"centres_epsilon": 5.0},
    "resamples": {"resamples": 2},
    "max_liars": {"max_liars": 1},
    "describe": {"described": (0,), "smallest_cell": 2},
}
"""The parameters of a job with each feature alone."""

DISCLOSURES = {name for name in FEATURES if name.startswith("disclosure ")}
STARTS = {name for name in FEATURES if name.startswith("init ")} | {"predict"}


def _of_coded(pair):
    """A start by separation needs disclosure "coded", and so what goes with that."""
    one, other = pair if pair[0] == "init 'separation'" else pair[::-1]
    return [(other, "disclosure 'coded'")] if one == "init 'separation'" else []


TOGETHER = [
    pair
    for pair in combinations(FEATURES, 2)
    if not any(apart in APART for apart in (pair, pair[::-1], *_of_coded(pair)))
    and not any(exclusive.issuperset(pair) for exclusive in (STARTS, DISCLOSURES))  # a run has one start
]


def test_the_names_of_the_table_are_features_and_each_pair_comes_once():
    assert RUNS.keys() == JOBS.keys() == FEATURES.keys()
    assert {name for pair in APART for name in pair} <= FEATURES.keys()
    assert len({frozenset(pair) for pair in APART}) == len(APART)
    assert all(one != other for one, other in APART)


def test_the_page_has_the_same_pairs():
    table = (
        PAGE.read_text(encoding="utf-8").split("## What goes together")[1].split("\n## ")[0].replace("`", "")
    )
    head, *lines = re.findall(r"^\| (.+) \| (.+) \|$", table, re.MULTILINE)
    assert head == ("feature", "not with")
    pairs = [frozenset((one, other)) for one, others in lines for other in others.split(", ")]
    assert Counter(pairs) == Counter(map(frozenset, APART))


NO_ORACLE = {"ids", "predict", "compared"}
"""Features whose runs are not compared with ExactLloyd."""


def _covering(pairs):
    """Lists of features that all go together: each pair is in one of them, with an oracle if it has one."""
    missing, found = list(pairs), []
    while missing:
        chosen = list(missing[0])
        for name in FEATURES:
            fits = all((one, name) in TOGETHER or (name, one) in TOGETHER for one in chosen)
            if fits and (name not in NO_ORACLE or NO_ORACLE.intersection(chosen)):
                chosen.append(name)
        missing = [pair for pair in missing if not set(pair) <= set(chosen)]
        found.append(chosen)
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("names", _covering(TOGETHER), ids=" and ".join)
def test_features_run_of_which_no_pair_is_in_the_table(names):
    options = {"t": 1, "ell": 1, "limits": CONSENT, "seed": 3, "driver": "in-process"}
    opened = {}
    for name in names:
        options |= RUNS[name]
        opened |= RUNS[name].get("reveal", {})
    if "compared" in names and "disclosure 'coded'" in names:
        del opened["inertia"]
    options["reveal"] = Reveal(**opened)
    if "predict" in names:
        options |= RUNS["predict"]
    parameters = {"k": 3, "t": options.pop("t"), "ell": options.pop("ell")}
    if "predict" in names:
        parameters["predict"] = True
    if "compared" in names:
        parameters["compared"] = (2, 3)
    if "resamples" in names:
        parameters["resamples"] = 2
    outcome, job, _ = run_outcome(as_parties(ROWS), RunOptions(**options), **parameters)
    assert make_job(**as_options(job)) == job
    options_of_job = JobOptions(**as_options(job))
    assert all(FEATURES[name](options_of_job) for name in names)
    assert [one.shape for one in outcome.labels] == [(M,)] * 5
    assert (outcome.centres is None) == (not job.opened.to)
    assert (outcome.table is None) == ("describe" not in names)
    if not NO_ORACLE.intersection(names):
        begun = begun_as(job, outcome.by_party(outcome.start))
        exact = ExactLloyd(3, **begun, step=job.step, tol_moved=job.method.tol_moved)
        exact.set_params(precision=job.precision)
        exact.fit(ROWS, sample_weight=options.get("sample_weight"))
        assert [one.tolist() for one in outcome.labels] == [one.tolist() for one in exact.labels_]


@pytest.mark.parametrize("pair", APART, ids=" and ".join)
def test_pairs_of_the_table_are_refused_with_both_names(pair):
    one, other = pair
    with pytest.raises(ParameterError) as caught:
        make_job(n=5, k=3, t=1, ell=1, d=2, bound=100.0, **JOBS[one] | JOBS[other])
    assert str(caught.value) == f"{one}: not with {other}: {APART[pair]}"


@pytest.mark.parametrize("name", sorted(FEATURES.keys() - {"disclosure 'labels'", "predict", "compared"}))
def test_a_feature_alone_is_told_apart_from_none(name):
    assert not FEATURES[name](JobOptions(n=5, k=3, t=1, ell=1, d=2, bound=100.0))
