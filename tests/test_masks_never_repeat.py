"""Every keystream and every nonce of whole runs is recorded: none is used twice, with any options.

A keystream starts at counter zero and only moves forward, so it is enough that no key starts two keystreams.
For restarted parties see tests/logs/test_masks.py.
"""

import numpy as np
import pandas as pd
import pytest
from simulator.traffic import Records

import secfc
from secfc.crypto import randomness
from secfc.prepare import Column, Schema
from secfc.protocol.job.limits import Limits

_RNG = np.random.default_rng(6)
FIVE = [_RNG.normal(size=(m, 3)) + _RNG.integers(3, size=(m, 1)) * 6 for m in (9, 6, 8, 7, 5)]
IDS = [[f"{j}-{i}" for i in range(len(rows))] for j, rows in enumerate(FIVE)]


@pytest.fixture
def records(monkeypatch):
    return Records(monkeypatch)


def run(parties=FIVE, **options):
    return secfc.run(parties, 3, 1, 1, **{"seed": 3, "disclosure": "coded"} | options)


def prepared():
    frames = [pd.DataFrame({"age": [30.0 + j, 50.0, 61.0]}) for j in range(3)]
    schema = Schema(columns=(Column(name="age", unit="years", low=0, high=120, scale="standardise"),))
    secfc.Prepare(schema, t=1).fit(frames)


SCENES = {
    "coded distances": run,
    "opened labels": lambda: run(disclosure="labels"),
    "spare masks": lambda: run(disclosure="labels", comparers=(4, 3, 1)),
    "starts": lambda: run(n_init=3),
    "liars": lambda: run(disclosure="coded", max_liars=1),
    "series": lambda: run(ids=IDS),
    "centres": lambda: run(reveal=secfc.Reveal(centres="all"), limits=Limits(reveal_centres=True)),
    "spreads": lambda: run(
        [np.concatenate([rows] * 6) for rows in FIVE],
        reveal=secfc.Reveal(centres="all", spread=True),
        limits=Limits(reveal_centres=True, reveal_spread=10),
    ),
    "noise": lambda: run(
        disclosure="labels",
        reveal=secfc.Reveal(centres="all", epsilon=1, delta=1e-6),
        limits=Limits(reveal_centres=True),
    ),
    "several k": lambda: secfc.choose_k(FIVE, [2, 3], 1, 1, seed=3, disclosure="coded"),
    "preparing": prepared,
}


@pytest.mark.some(1)
@pytest.mark.filterwarnings("ignore::secfc.FaultWarning")
@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
def test_two_runs_alike_repeat_no_mask_and_no_nonce(records, scene):
    scene()
    scene()
    assert records.fresh
    assert records.sealed or scene is prepared  # its parties hand each other what they send
    assert records.repeated() == []
    # Each end of a pair has one keystream.
    assert set(records.shared.values()) <= {2, 1}


def test_the_records_would_show_a_key_used_twice(records):
    key = bytes(32)
    records._drawn.add(key)
    randomness.MaskSource(key)
    randomness.MaskSource(key)
    assert records.fresh[key] == 2
