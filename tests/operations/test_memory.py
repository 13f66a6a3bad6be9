"""What parties hold in memory does not grow with the rounds of a run."""

import tracemalloc

import numpy as np
from operations.own_net import Net

ROWS = np.random.default_rng(7).integers(-1000, 1001, (600, 2))
START = (np.arange(len(ROWS)) % 4).astype(np.int32)


def peak(rounds):
    """Bytes that all parties hold at most in so many rounds."""
    net = Net(ROWS, START, 4, max_iter=rounds)
    tracemalloc.start()
    _, n_iter, _ = net.run()
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n_iter == rounds
    return found


def test_parties_hold_no_more_in_six_rounds_than_in_two():
    peak(1)  # what is loaded or cached once
    few, many = peak(2), peak(6)
    assert many < 1.02 * few
