"""Jobs, faults and liars drawn from seeds: each run keeps its promises.

`SECFC_SIMULATIONS=5000` runs so many seeds, `SECFC_SIMULATIONS=17:18` those from 17 to below 18.
"""

import os
from collections import Counter

import pytest
from simulator.cases import FORGED, draw, run
from simulator.oracle import broken_promises
from simulator.traffic import Traffic

from secfc.protocol.job.cases import Union
from secfc.protocol.job.job_options import as_options

*_first, _end = map(int, os.environ.get("SECFC_SIMULATIONS", "200").split(":"))
SEEDS = range(*_first, _end)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_simulation_keeps_its_promises(seed):
    case = draw(seed)
    with Traffic(seed) as traffic:
        ending = run(case)
    broken = "\n".join(broken_promises(case, ending) + traffic.repeated())
    again = f"SECFC_SIMULATIONS={seed}:{seed + 1} python -m pytest tests/simulator/test_simulator.py"
    assert not broken, f"{broken}\n{case.setup.job}\n{case.scenario}\n{ending}\nrun it again: {again}"


def test_what_is_drawn_has_all_options_faults_and_lies():
    seen = Counter()
    for seed in range(600):
        case = draw(seed)
        job, rows_of = case.setup.job, "clients"
        if case.setup.committee is not None or isinstance(job.rows, Union):
            rows_of = "union" if isinstance(job.rows, Union) else "owners"
        seen[job.disclosure.name, rows_of, min(job.max_liars, 1)] += 1
        seen[job.method.init, min(job.max_liars, 1)] += 1
        seen[job.method.init, "several k" if job.method.compared else "one k"] += 1
        seen[job.method.n_init > 1, bool(job.method.compared), job.disclosure.inertia] += 1
        seen.update(
            {
                name
                for name in ("weighted", "predict", "compared", "reveal_to", "resamples", "described")
                if as_options(job)[name]
            }
        )
        seen.update([job.method.init, job.precision, (job.step,), "coin" if job.seed is None else "seed"])
        seen.update({("vanish", case.promised)} if case.unreliable else {})
        seen.update({"overlap"} if case.overlap else {})
        seen.update({fault.kind for fault in case.scenario.faults})
        seen.update({lie.what for lie in case.scenario.lies})
        assert case.scenario.forged == FORGED
    assert min(seen.values()) > 1, seen
    assert len(seen) == 73, seen
