"""Iterations, bytes, sets asked about and seconds of one run that ends slowly, at several `tol_moved`."""

import time
from collections.abc import Sequence

import numpy as np

import secfc
from benchmarks.costs.setting import Case, residues_of_rounds


def measure(case: Case, tolerances: Sequence[float], step: float | None = None) -> None:
    """Print a line for each tolerance, the same start in all; inertia is beside that of the first.

    Parameters
    ----------
    case : Case
        Rows of one normal distribution, with two decimals: no border between clusters is better than others.
    tolerances : sequence of float
    step : float, optional
        0.01 or less.
    """
    rows = np.random.default_rng(0).normal(size=(case.m, case.d)).round(2)
    parties = np.array_split(rows, case.n)
    print(f"{case.m} x {case.d}, k = {case.k}, n = {case.n}, t = {case.t}, ell = {case.ell}")

    def run(tolerance: float) -> secfc.Result:
        return secfc.run(
            parties,
            case.k,
            case.t,
            case.ell,
            init="random",
            n_init=1,
            tol_moved=tolerance,
            seed=0,
            disclosure="coded",
            step=step,
        )

    run(0.9)  # two iterations, to load compiled code before anything is timed
    first = None
    for tolerance in tolerances:
        began = time.perf_counter()
        result = run(tolerance)
        seconds = time.perf_counter() - began
        assert result.inertia is not None
        first = result.inertia if first is None else first
        sent = sum(message.size for message in result.costs.messages)
        asked = residues_of_rounds(result.costs.messages, m=case.m)
        print(
            f"tol_moved {tolerance!r}: {result.n_iter} iterations, converged {result.converged}, "
            f"{sent / 1e9:.3g} GB, {sum(asked) / (asked[0] * len(asked)):.3f} of the first round in each, "
            f"{seconds:.1f} s, inertia {result.inertia / first - 1:+.3%}",
            flush=True,
        )
