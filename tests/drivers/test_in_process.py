"""The in-process driver: what it delivers, counts and measures."""

import json
import re
import sys
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from math import log2
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest

from benchmarks.costs.setting import run_apart
from secfc.crypto import identity
from secfc.drivers import in_process, post
from secfc.drivers.costs import MessageRecord, Meter
from secfc.drivers.in_process import run_in_process
from secfc.errors import DataError, LimitError, ParameterError
from secfc.kernels.vectorised import VectorisedKernels
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import changed_job
from secfc.protocol.job.row_layout import WINDOW, Layout
from secfc.protocol.messages.wire import Envelope

SIGNATURE = 64
HEADER = 29
RESIDUES = HEADER + 4 + 9
"""Header, part, a byte for the primes, four bytes each for columns and rows; then three bytes per residue."""
INTRODUCTION = 4 + 2 * 32 + 32 + 2 * 32 + 64
"""Rows, digests of start labels and weights, ephemeral key, commitments to two values, signature."""
COUNT = 4
"""The count before values that only disclosure "labels" has; here there are none."""
SEALED = HEADER + 4 + 16
"""A header, the part and the seal's tag; between them three bytes per residue."""


def of_kind(outcome, kind):
    return [message for message in outcome.costs.messages if message.kind == kind]


@pytest.mark.parametrize("start", [{"init": "random"}, {"init": "separation"}, {"starts": True}])
def test_every_client_receives_a_label_for_each_of_its_rows(setup_of, start):
    outcome = run_in_process(setup_of((5, 0, 7), **start))
    assert [labels.shape for labels in outcome.labels] == [(5,), (0,), (7,)]
    assert all(labels.dtype == np.int32 for labels in outcome.labels)


def test_equal_seeds_give_equal_outcomes_and_messages(setup_of):
    first, second = (run_in_process(setup_of(seed=5)) for _ in range(2))
    assert first.costs.messages == second.costs.messages
    assert [list(part) for part in first.labels] == [list(part) for part in second.labels]
    assert first.history == second.history


def test_history_ends_with_the_inertia_of_a_converged_run(setup_of):
    outcome = run_in_process(setup_of())
    assert outcome.converged
    assert len(outcome.history) == outcome.n_iter
    assert outcome.history[-1] == outcome.inertia


def test_given_start_labels_are_the_start(setup_of):
    setup = setup_of(starts=True)
    assert run_in_process(setup).start.tolist() == np.concatenate(setup.starts).tolist()


@pytest.mark.parametrize(("counts", "t"), [((5, 0, 7), 1), ((5, 0, 7, 2), 1), ((3, 4, 3, 4, 3), 2)])
def test_messages_of_each_type_are_as_many_as_the_protocol_says(setup_of, counts, t):
    outcome = run_in_process(setup_of(counts, t=t))
    n, rounds = len(counts), max(message.round for message in outcome.costs.messages)
    assert Counter(message.kind for message in outcome.costs.messages) == {
        "Hello": n,
        "Plan": n,
        "Share": (n - np.count_nonzero(np.array(counts) == 0)) * (n - 1),
        "Ready": n,
        "Assignment": n * rounds,
        "CodedDistances": n * rounds,
        "Finish": n,
        "Witness": n * (n - 1),
    }
    assert rounds == outcome.n_iter


def test_separation_takes_two_rounds_more_than_its_iterations(setup_of):
    outcome = run_in_process(setup_of(init="separation"))
    assert max(message.round for message in outcome.costs.messages) == outcome.n_iter + 2


@pytest.mark.parametrize(("d", "ell", "width"), [(4, 1, 4), (4, 2, 2), (5, 2, 3), (1, 1, 1)])
def test_a_share_takes_three_bytes_a_residue_and_a_fixed_header(setup_of, d, ell, width):
    counts = (5, 0, 7, 1, 2)
    setup = setup_of(counts, d=d, ell=ell)
    primes = setup.job.residues(sum(counts))
    shares = of_kind(run_in_process(setup), "Share")
    assert {(share.sender, share.size) for share in shares} == {
        (j, SEALED + 3 * primes * count * width) for j, count in enumerate(counts, start=1) if count
    }


@pytest.mark.some(1)
@pytest.mark.parametrize(
    "start", [{"init": "random"}, {"init": "separation"}, {"starts": True}, {"n_init": 3}]
)
@pytest.mark.parametrize("rows", [1, 2, 5, 7])
def test_many_parts_give_the_outcome_of_one(setup_of, part_rows, start, rows):
    whole = run_in_process(setup_of((5, 0, 7), **start))
    part_rows(rows)
    outcome = run_in_process(setup_of((5, 0, 7), **start))
    assert [part.tolist() for part in outcome.labels] == [part.tolist() for part in whole.labels]
    for name in ("n_iter", "converged", "inertia", "history", "near_ties"):
        assert getattr(outcome, name) == getattr(whole, name)
    assert outcome.start.tolist() == whole.start.tolist()
    assert len(of_kind(outcome, "CodedDistances")) == -(-12 // rows) * len(of_kind(whole, "CodedDistances"))


def test_small_messages_between_clients_are_delivered_client_by_client(setup_of, part_rows, monkeypatch):
    part_rows(2)
    outcomes, turns = [], []
    for batch in (1, 1000, 1 << 20):
        delivered = []
        monkeypatch.setattr(post, "_BATCH", batch)
        outcomes.append(
            run_in_process(setup_of((5, 4, 7, 3, 6)), None, lambda one, _, to=delivered: to.append(one))
        )
        shares = [one for one in delivered if one.kind == "Share"]
        assert len(shares) == len(of_kind(outcomes[-1], "Share"))
        turns.append(sum(one.recipient != other.recipient for one, other in pairwise(shares)))
    assert turns[0] > turns[1] > turns[2]
    for outcome in outcomes[1:]:
        assert outcome.costs.messages == outcomes[0].costs.messages
        assert [one.tolist() for one in outcome.labels] == [one.tolist() for one in outcomes[0].labels]


@pytest.mark.parametrize("rows", [1, 3, 7])
def test_messages_of_each_type_in_many_parts_are_as_many_as_the_protocol_says(setup_of, part_rows, rows):
    part_rows(rows)
    counts = (5, 0, 7)
    outcome = run_in_process(setup_of(counts))
    rounds = max(message.round for message in outcome.costs.messages)
    parts, answers = -(-7 // rows), -(-12 // rows)
    assert Counter(message.kind for message in outcome.costs.messages) == {
        kind: count
        for kind, count in {
            "Hello": 3,
            "Plan": 3,
            "Share": 2 * sum(-(-count // rows) for count in counts),
            "Ready": 3 * parts,
            "Continue": 3 * max(0, parts - WINDOW) + 3 * rounds * max(0, answers - WINDOW),
            "Assignment": 3 * rounds,
            "CodedDistances": 3 * rounds * answers,
            "Finish": 3,
            "Witness": 3 * 2,
        }.items()
        if count
    }
    assert {message.size for message in of_kind(outcome, "Continue")} <= {HEADER + 4 + SIGNATURE}


def test_bytes_of_parts_are_those_of_the_whole_and_their_headers(setup_of, part_rows):
    whole = run_in_process(setup_of((5, 0, 7)))
    part_rows(2)
    parts = run_in_process(setup_of((5, 0, 7)))
    for kind, head in (("Share", SEALED), ("CodedDistances", RESIDUES)):
        one, many = of_kind(whole, kind), of_kind(parts, kind)
        residues = sum(message.size for message in one) - head * len(one)
        assert sum(message.size for message in many) == residues + head * len(many)


def test_an_answer_takes_three_bytes_a_residue_and_a_fixed_header(setup_of):
    setup = setup_of((5, 0, 7), starts=True)
    largest = int(np.bincount(np.concatenate(setup.starts)).max())
    first = [answer for answer in of_kind(run_in_process(setup), "CodedDistances") if answer.round == 1]
    assert {answer.size for answer in first} == {RESIDUES + 3 * setup.job.residues(largest) * 12 * 3}


def test_an_answer_about_small_sets_takes_fewer_residues_than_a_share(setup_of):
    setup = setup_of((1000, 1000, 1000), precision=24, starts=True)
    assert (setup.job.residues(1000), setup.job.residues(3000)) == (4, 5)
    outcome = run_in_process(setup)
    first = [answer for answer in of_kind(outcome, "CodedDistances") if answer.round == 1]
    assert {share.size for share in of_kind(outcome, "Share")} == {SEALED + 3 * 5 * 1000 * 4}
    assert {answer.size for answer in first} == {RESIDUES + 3 * 4 * 3000 * 3}


@pytest.mark.parametrize(
    ("kind", "size"),
    [
        ("Hello", 32 + INTRODUCTION + COUNT),
        ("Plan", COUNT + INTRODUCTION * 3 + SIGNATURE),
        ("Ready", 4 + COUNT),
    ],
)
def test_messages_before_the_iterations_have_fixed_sizes(setup_of, kind, size):
    assert {message.size for message in of_kind(run_in_process(setup_of()), kind)} == {HEADER + size}


def test_labels_take_the_bits_of_k(setup_of):
    setup = setup_of((5, 0, 7), starts=True)
    outcome = run_in_process(setup)
    sets, labels = setup.job.k.bit_length(), (setup.job.k - 1).bit_length()
    asked = HEADER + 4 + 2 * sets + 2 + 2 + 2 + COUNT + SIGNATURE
    about = range(setup.job.k + 1)  # how many sets are named; none is if all are asked about
    assert {message.size for message in of_kind(outcome, "Assignment")} <= {asked + 2 * h for h in about}
    assert {message.size for message in of_kind(outcome, "Finish")} == {
        HEADER + 13 + 4 + 2 * labels + 2 + SIGNATURE
    }
    assert [message.size for message in of_kind(outcome, "Hello")] == [
        HEADER + 32 + INTRODUCTION + COUNT + 4 + eights * labels for eights in (1, 0, 1)
    ]


def test_phases_come_in_order_and_add_up_to_the_messages(setup_of):
    costs = run_in_process(setup_of()).costs
    assert [(cost.phase, cost.role) for cost in costs.phases] == [
        ("identify", "client"),
        ("identify", "server"),
        ("share", "client"),
        ("share", "server"),
        ("iterate", "client"),
        ("iterate", "server"),
        ("reveal", "client"),
        ("reveal", "server"),
    ]
    assert sum(cost.messages for cost in costs.phases) == len(costs.messages)
    assert sum(cost.sent_bytes for cost in costs.phases) == sum(message.size for message in costs.messages)
    assert all(cost.seconds >= 0 for cost in costs.phases)
    assert costs.wall_seconds > 0


def test_every_message_is_recorded_also_by_a_meter_that_goes_on():
    meter, sent = Meter(), [(2, 1, 9), (2, 3, 9), (1, 2, 9), (2, 1, 9), (2, 1, 8)]
    for sender, recipient, size in sent[:4]:
        meter.sent(Envelope("Share", "share", "share", sender, recipient, 0, False), size)
    before = meter.costs().messages
    again = Meter()
    again.stand(json.loads(json.dumps(meter.standing())))
    sender, recipient, size = sent[4]
    again.sent(Envelope("Share", "share", "share", sender, recipient, 0, False), size)
    expected = [MessageRecord("Share", sender, recipient, 0, size) for sender, recipient, size in sent]
    assert sorted(before) == sorted(expected[:4])
    assert sorted(again.costs().messages) == sorted(expected)
    assert again.sent_bytes == 44
    assert before != again.costs().messages


def test_costs_are_written_as_json(setup_of):
    costs = run_in_process(setup_of()).costs
    written = json.loads(json.dumps(costs.to_dict()))
    assert written["messages"] == len(costs.messages)


def test_progress_is_reported_after_each_message_to_the_server(setup_of):
    seen = []
    outcome = run_in_process(setup_of(), seen.append)
    assert len(seen) == sum(message.recipient == 0 for message in outcome.costs.messages)
    assert (seen[0].phase, seen[0].waiting_for) == ("identify", 2)
    assert (seen[-1].phase, seen[-1].waiting_for) == ("reveal", 0)


def test_an_error_of_the_progress_callback_comes_out_unchanged(setup_of):
    def stop(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_in_process(setup_of(), stop)


def test_a_partys_data_error_names_the_party(setup_of):
    setup = setup_of()
    setup.rows[2][3, 1] = np.nan
    with pytest.raises(DataError, match=r"^parties\[2\]: 1 values are NaN .* row 3, column 1$"):
        run_in_process(setup)


def test_a_clients_limit_ends_the_run(setup_of):
    with pytest.raises(LimitError, match="sets of at least 12 rows"):
        run_in_process(setup_of(limits=Limits(smallest_set=12)))


def test_rows_that_do_not_fit_the_job_end_the_run(setup_of):
    setup = setup_of((1, 0, 1), k=2)
    with pytest.raises(ParameterError, match="5 clusters asked for, the parties hold 2 rows"):
        run_in_process(replace(setup, job=changed_job(setup.job, k=5)))


def test_rows_are_not_modified(setup_of):
    setup, before = setup_of(), setup_of()
    run_in_process(setup)
    for rows, copy in zip(setup.rows, before.rows, strict=True):
        np.testing.assert_array_equal(rows, copy)


def test_repr_of_setup_and_outcome_shows_no_row_or_label(setup_of):
    setup = setup_of(starts=True)
    assert not re.search(r"\brows=(?!Own)", repr(setup))
    assert "starts=" not in repr(setup)
    assert "array" not in repr(run_in_process(setup))


def test_roles_in_one_process_choose_kernels_for_all_of_them(setup_of, monkeypatch):
    asked = []

    def note(residues, threads):
        asked.append(residues)
        return VectorisedKernels(threads)

    monkeypatch.setattr(in_process, "choose", note)
    setup = setup_of((5, 0, 7))
    job = setup.job
    in_process.run_in_process(setup)
    run = Layout((12,)).run_residues(job)
    assert asked == [run * (job.n + 1)] * (job.n + 1)


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


def work_of(setup):
    """Lines of secfc that a run executes, and calls by function."""
    lines, calls, before = Counter(), Counter(), sys.gettrace()

    def noted(frame, event, _):
        if event == "call":
            if "secfc" not in frame.f_code.co_filename:
                return None
            calls[frame.f_code.co_qualname] += 1
        lines[event] += 1
        return noted

    sys.settrace(noted)
    try:
        run_in_process(setup)
    finally:
        sys.settrace(before)
    return lines["line"], calls


@pytest.mark.parametrize(
    ("disclosure", "least"),
    [
        ("labels", 10),
        *(pytest.param(one, 20, marks=pytest.mark.slow) for one in ("labels", "coded")),
    ],
)
@pytest.mark.slow
def test_work_grows_as_pairs_of_parties_and_verifications_and_keystreams_as_parties(
    setup_of, disclosure, least
):
    sizes = [least, 2 * least, 4 * least]
    setups = [setup_of((1,) * n, t=1, disclosure=disclosure, max_iter=1) for n in sizes]
    run_in_process(setups[0])  # makes what is made only once
    found = [work_of(setup) for setup in setups]
    for (lines, calls), (more, again) in pairwise(found):
        assert log2(more / lines) < 2.1
        assert 0 < again["Channel.__init__"] < 4.5 * calls["Channel.__init__"]
        for one in ("check_signature", "MaskSource.__init__", "Identity.sign"):
            assert 0 < again[one] < 2.1 * calls[one]


def test_parties_of_one_name_are_refused(setup_of):
    setup = setup_of()
    with pytest.raises(ParameterError, match=r"parties: 2 are called 'parties\[0\]'"):
        replace(setup, names=["parties[0]", "parties[0]", "parties[2]"])


def taken_together(monkeypatch):
    """What each `Post.take` of later runs returns, where all answers are large."""
    taken, real = [], post.Post.take
    monkeypatch.setattr(post, "LEAST", 1)
    monkeypatch.setattr(post.Post, "take", lambda self: taken.append(real(self)) or taken[-1])
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
    monkeypatch.setattr(post, "LEAST", 1)
    monkeypatch.setattr("secfc.kernels.threads.LEAST", 1)
    with pytest.raises(LimitError, match=r"^parties\[0\] keeps"):
        run_in_process(replace(setup_of((40, 30, 50)), limits=Limits(most_rows=5), threads=3))
