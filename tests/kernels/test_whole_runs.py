"""Whole runs with both kernels, with one BLAS thread and with two, give equal results."""

import threading
import warnings
from textwrap import dedent

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sweeps import tries

import secfc

pytestmark = pytest.mark.filterwarnings("ignore::secfc.ConvergenceWarning")


def outcome(kernels, parties, k, t, ell, **options):
    """The whole result of a run, except for seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SECFC_KERNELS", kernels)
        result = secfc.run(parties, k, t, ell, **{"disclosure": "coded"} | options)
    return {
        "labels": [part.tolist() for part in result.labels],
        "start": [part.tolist() for part in result.start],
        "history": result.history.tolist(),
        "inertia": result.inertia,
        "n_iter": result.n_iter,
        "converged": result.converged,
        "near_ties": result.near_ties,
        "messages": result.costs.messages,
    }


def assert_equal_with_both(parties, k, t, ell, **options):
    found = outcome("numpy", parties, k, t, ell, **options)
    assert outcome("compiled", parties, k, t, ell, **options) == found
    return found


@st.composite
def problems(draw):
    """Few rows on a coarse grid, so that ties, duplicates and emptied clusters are frequent."""
    m, d = draw(st.integers(1, 24)), draw(st.integers(1, 4))
    k, grid = draw(st.integers(1, m)), draw(st.integers(1, 4))
    value = st.integers(-grid, grid)
    rows = draw(st.lists(st.lists(value, min_size=d, max_size=d), min_size=m, max_size=m))
    n = draw(st.integers(3, 9))
    ends = sorted(draw(st.lists(st.integers(0, m), min_size=n - 1, max_size=n - 1)))
    pairs = [(t, ell) for t in range(1, n) for ell in range(1, n) if 2 * (ell + t) - 1 <= n]
    scaled = np.array(rows, dtype=float) * draw(st.sampled_from([1.0, 1 / 3, 1e-6, 1e12]))
    return np.split(scaled, ends), k, *draw(st.sampled_from(pairs))


@given(
    problem=problems(),
    init=st.sampled_from(["random", "separation"]),
    precision=st.sampled_from([1, 3, 32, 52]),
    max_iter=st.sampled_from([1, 2, 300]),
    seed=st.integers(0, 9),
    part=st.sampled_from([1, 5, 256]),
)
@tries(0.75)
@pytest.mark.filterwarnings("ignore")
def test_both_kernels_give_equal_runs(problem, init, precision, max_iter, seed, part):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("secfc.operations.beginning.rows.BLOCK", part)
        assert_equal_with_both(*problem, init=init, precision=precision, max_iter=max_iter, seed=seed)


def test_runs_in_threads_do_not_disturb_each_other(monkeypatch):
    monkeypatch.setenv("SECFC_KERNELS", "compiled")
    rows = np.random.default_rng(0).integers(0, 6, (3000, 3)).astype(float)
    parties, found = np.array_split(rows, 3), {}

    def run(seed):
        result = secfc.run(parties, 20, 1, 1, seed=seed, max_iter=4, disclosure="coded")
        return np.concatenate(result.labels).tolist(), result.history.tolist(), result.near_ties

    def work(seed):
        found[seed] = run(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2, 3)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == {seed: run(seed) for seed in (1, 2, 3)}


THREADS = """
    import hashlib
    import numpy as np
    import secfc
    rows = np.random.default_rng(0).normal(size=(1500, 24)).round(2)
    options = {"seed": 1, "max_iter": 3, "precision": 40, "disclosure": "coded"}
    result = secfc.run(np.array_split(rows, 5), 24, 1, 2, **options)
    said = [result.history.tolist(), result.inertia, [part.tolist() for part in result.labels]]
    print(hashlib.sha256(repr(said).encode()).hexdigest())
"""


def test_results_do_not_depend_on_kernels_or_threads(python):
    found = {
        (kernels, threads): python(
            "import warnings\nwarnings.simplefilter('ignore')\n" + dedent(THREADS),
            SECFC_KERNELS=kernels,
            OPENBLAS_NUM_THREADS=threads,
            OMP_NUM_THREADS=threads,
        )
        for kernels, threads in (("numpy", 1), ("numpy", 2), ("compiled", 2))
    }
    assert len(set(found.values())) == 1, found
