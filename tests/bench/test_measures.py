"""The arithmetic of the benchmarks."""

import os

import numpy as np

from benchmarks.costs import setting
from benchmarks.costs.setting import Case, most_primes, residues_of_rounds, same_kernels
from benchmarks.costs.tables import bytes_text, seconds_text
from secfc.drivers.costs import MessageRecord
from secfc.kernels import VARIABLE


def test_residues_of_a_round_are_read_off_the_first_clients_answers():
    def answer(number, size, sender=1):
        return MessageRecord("StepReport", sender, 0, number, size)

    sent = [answer(1, 3 * 400 * 3 + 50), answer(1, 3 * 100 * 3 + 50), answer(2, 4 * 500 * 3 + 50)]
    sent += [answer(2, 10**6, sender=2), MessageRecord("StepNotice", 0, 1, 1, 10**6)]
    assert residues_of_rounds(sent, m=250) == [6, 8]
    assert most_primes([6, 8, 4], 2) == 4


def test_kernels_stay_the_same_within_a_sweep_and_the_environment_after_it(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    with same_kernels():
        assert setting.chosen_name(1) == setting.chosen_name(1 << 40)
    assert VARIABLE not in os.environ
    monkeypatch.setenv(VARIABLE, "numpy")
    with same_kernels():
        assert setting.chosen_name(1 << 40) == "numpy"
    assert os.environ[VARIABLE] == "numpy"


def test_units_leave_few_zeros():
    assert [seconds_text(value) for value in (2e-6, 0.0123, 1.234, 1234.5)] == [
        "2 µs",
        "12.3 ms",
        "1.23 s",
        "1,234 s",
    ]
    assert [bytes_text(value) for value in (12, 2048, 3 << 20, 5 << 30)] == [
        "12 B",
        "2.0 KiB",
        "3.0 MiB",
        "5.00 GiB",
    ]


def test_runs_that_are_measured_take_one_thread():
    job = Case(m=6, d=2, k=2, n=3, t=1, ell=1).job(bound=1.0, precision=4)
    assert setting.split_evenly(job, np.zeros((6, 2))).threads_of().count == 1
