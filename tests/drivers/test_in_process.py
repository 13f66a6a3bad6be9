"""The in-process driver: what it delivers, counts and measures."""

import re
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest

from benchmarks.costs.setting import run_apart
from secfc.crypto import identity
from secfc.drivers import in_process
from secfc.drivers.costs import MessageRecord, Meter
from secfc.drivers.in_process import run_in_process
from secfc.errors import LimitError, ParameterError
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import changed_job
from secfc.protocol.messages.wire import Envelope


def test_equal_seeds_give_equal_outcomes_and_messages(setup_of):
    first, second = (run_in_process(setup_of(seed=5)) for _ in range(2))
    assert first.costs.messages == second.costs.messages
    assert [list(part) for part in first.labels] == [list(part) for part in second.labels]
    assert first.history == second.history


def test_every_message_is_recorded():
    meter, sent = Meter(), [(2, 1, 9), (2, 3, 9), (1, 2, 9), (2, 1, 9), (2, 1, 8)]
    for sender, recipient, size in sent:
        meter.sent(Envelope("Step", "share", "share", sender, recipient, 0), size)
    expected = [MessageRecord("Step", sender, recipient, 0, size) for sender, recipient, size in sent]
    assert sorted(meter.costs().messages) == sorted(expected)
    assert meter.sent_bytes == 44


def test_progress_is_reported_after_each_message_to_the_server(setup_of):
    seen = []
    outcome = run_in_process(setup_of(), seen.append)
    assert len(seen) == sum(message.recipient == 0 for message in outcome.costs.messages)
    assert (seen[0].phase, seen[0].waiting_for) == ("identify", 2)
    assert (seen[-1].phase, seen[-1].waiting_for) == ("reveal", 0)


def test_rows_that_do_not_fit_the_job_end_the_run(setup_of):
    setup = setup_of((1, 0, 1), k=2)
    with pytest.raises(ParameterError, match="5 clusters asked for, the parties hold 2 rows"):
        run_in_process(replace(setup, job=changed_job(setup.job, k=5)))


def test_repr_of_setup_and_outcome_shows_no_row_or_label(setup_of):
    setup = setup_of(starts=True)
    assert not re.search(r"\brows=(?!Own)", repr(setup))
    assert "starts=" not in repr(setup)
    assert "array" not in repr(run_in_process(setup))


def test_labels_by_party_follow_the_union_and_are_none_where_a_party_vanished(setup_of):
    outcome = run_in_process(setup_of((2, 3, 1)))
    start = np.array([0, 1, 2, 0, 1, 2], dtype=np.int32)
    assert [part.tolist() for part in outcome.by_party(start)] == [[0, 1], [2, 0, 1], [2]]
    rows = [np.array([4, 0]), np.full(3, -1), np.array([5])]
    parts = replace(outcome, union_rows=rows).by_party(start)
    assert [part.tolist() for part in parts] == [[1, 0], [-1, -1, -1], [2]]


def test_a_process_verifies_a_statement_once_and_parties_that_are_measured_each_time(setup_of):
    setup, verified, check = setup_of(seed=5), [], identity.check_signature

    def noted(*statement):
        verified.append(statement)
        check.__wrapped__(*statement)

    with patch.object(identity, "check_signature", SimpleNamespace(__wrapped__=noted)):
        run_apart(setup)
    before = check.cache_info().misses
    run_in_process(setup)
    n = setup.job.n
    assert Counter(Counter(verified).values())[n + 1] == n  # introductions: by the server and every client
    assert check.cache_info().misses - before == len(set(verified))


def test_parties_of_one_name_are_refused(setup_of):
    setup = setup_of()
    with pytest.raises(ParameterError, match=r"parties: 2 are called 'parties\[0\]'"):
        replace(setup, names=["parties[0]", "parties[0]", "parties[2]"])


def taken_together(monkeypatch):
    """What each `Post.take` of later runs returns, where all answers are large."""
    taken, real = [], in_process.Post.take
    monkeypatch.setattr(in_process, "LEAST", 1)
    monkeypatch.setattr(in_process.Post, "take", lambda self: taken.append(real(self)) or taken[-1])
    return taken


def test_large_answers_are_given_by_some_clients_at_once_and_labels_are_the_same(setup_of, monkeypatch):
    setup = replace(setup_of((40, 30, 50)), threads=2)
    expected = run_in_process(setup)
    monkeypatch.setattr("secfc.kernels.threads.LEAST", 1)
    taken = taken_together(monkeypatch)
    outcome = run_in_process(setup)
    assert [part.tolist() for part in outcome.labels] == [part.tolist() for part in expected.labels]
    several = [[header for header, _ in one] for one in taken if len(one) > 1]
    assert len(several) >= 6
    for headers in several:
        assert len({header.recipient for header in headers} - {0}) == len(headers) == 2
        assert len({header.work for header in headers}) == 1


def test_messages_are_delivered_one_at_a_time_where_their_seconds_are_asked_for(setup_of, monkeypatch):
    taken = taken_together(monkeypatch)
    run_in_process(setup_of(), on_delivery=lambda *_: None)
    assert {len(one) for one in taken if one} == {1}


def test_the_first_error_of_clients_that_work_at_once_ends_the_run(setup_of, monkeypatch):
    """Each refuses the plan by its own limits; one is told, as without threads."""
    monkeypatch.setattr(in_process, "LEAST", 1)
    monkeypatch.setattr("secfc.kernels.threads.LEAST", 1)
    with pytest.raises(LimitError, match=r"^parties\[0\] keeps"):
        run_in_process(replace(setup_of((40, 30, 50)), limits=Limits(most_rows=5), threads=3))
