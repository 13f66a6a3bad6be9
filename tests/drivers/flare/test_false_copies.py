"""Copies of labels that were changed, swapped or forged, or that belong to another run or other rows."""

import json
import os

import numpy as np
import pytest
from support.missed import change, fetch, flip, forged, summary_of
from support.network import RUN, assert_exact

from secfc.agreement.audit import audit
from secfc.agreement.copies import MOST_TEXT, read_copy
from secfc.agreement.site_file import read_site
from secfc.agreement.statement import (
    read_summary,
)
from secfc.drivers.fetching import makers_needed
from secfc.drivers.past_runs import PastRuns
from secfc.errors import AgreementError, ParameterError, StorageError

pytestmark = pytest.mark.usefixtures("clock")


def test_labels_are_never_written_over(missed):
    fetch(missed, "site-4")
    written = (missed.written("site-4")[0] / "labels.csv").read_bytes()
    with pytest.raises(AgreementError, match=r"labels\.csv: the site already has its labels of this run$"):
        fetch(missed, "site-4")
    assert (missed.written("site-4")[0] / "labels.csv").read_bytes() == written


def test_other_rows_than_were_shared_get_no_labels(missed):
    np.save(missed.folder / "site-4.npy", missed.rows[3][::-1])
    with pytest.raises(AgreementError, match=r"^site-4: .*site-4\.npy: not the rows that it had in the run "):
        fetch(missed, "site-4")
    assert missed.written("site-4") == []


def test_a_site_without_its_mark_took_no_part(missed):
    (missed.folder / "results-site-4.runs" / missed.agreement.digest.hex() / RUN.hex()).unlink()
    with pytest.raises(AgreementError, match=r"from 0 clients.*in which this site shared nothing"):
        fetch(missed, "site-4")


def test_a_mark_that_was_cut_is_none(missed):
    mark = missed.folder / "results-site-4.runs" / missed.agreement.digest.hex() / RUN.hex()
    mark.write_bytes(mark.read_bytes()[:-20])
    with pytest.raises(AgreementError, match="copies of its labels from 0 clients"):
        fetch(missed, "site-4")


@pytest.mark.parametrize("written", [b"", b'\n{"count": 5, "ro'], ids=["nothing", "a part"])
def test_a_mark_that_could_not_be_written_whole_is_written_when_the_site_goes_on(
    missed, monkeypatch, written
):
    past, mark = PastRuns(read_site(missed.config("site-4")), missed.agreement), {"count": 5, "rows": "ab"}
    run = bytes([7]) * 16

    def full(descriptor, data):
        os.write(descriptor, written)
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr("secfc.drivers.past_runs.write_all", full)
        with pytest.raises(StorageError):
            past.count(run, **mark)
    assert past.noted(run) == {}
    past.count(run, **mark)
    assert past.noted(run) == mark
    past.count(run, count=6, rows="cd")
    assert past.noted(run) == mark


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (lambda copy, _: copy.update(sealed=flip(copy["sealed"], 40)), "client 1: a copy of labels is"),
        (lambda copy, _: copy.update(signature=flip(copy["signature"], 3)), "client 1: a copy of labels is"),
        (lambda copy, _: copy.update(sealed=copy["sealed"][:-4]), "client 1: a copy of labels is not signed"),
        (lambda copy, _: copy.update(sealed=""), "client 1: a copy of labels is not signed"),
        (lambda copy, _: copy.update(sealed="?"), "client 1: its copy is not base64"),
        (lambda copy, other: copy.update(other), "client 1: a copy of labels is not signed"),
    ],
    ids=["a bit", "a bit of the signature", "truncated", "empty", "no base64", "of another maker"],
)
def test_a_copy_that_was_changed_is_not_taken_and_named(missed, act, told):
    change(missed, lambda values: act(values[0]["copies"][0], values[1]["copies"][0]))
    fetched = fetch(missed, "site-4")
    assert fetched.makers == ["site-2", "site-3", "site-5"]
    assert [why.startswith(f"site-1: {told}") for why in fetched.refused] == [True]
    findings = [one.text for one in audit(read_summary(missed.folder / "summary.json"), missed.agreement)]
    assert any(one.startswith(f"site-1: {told}") for one in findings)


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (lambda one: one["statement"].update(run="ab" * 16), "in which this site shared nothing"),
        (lambda one: one["statement"].update(introductions="ab" * 32), "with other introductions than this"),
        (lambda one: one["statement"].update(client=2), "client 2: a copy of labels is not signed"),
        (lambda one: one["statement"].update(client=70_000), "a copy of client 70000, who is no other"),
        (lambda one: one["statement"].update(client=4), "a copy of client 4, who is no other client"),
    ],
    ids=["run", "introductions", "maker", "no client", "itself"],
)
def test_a_copy_beside_another_statement_is_not_taken(missed, act, told):
    change(missed, lambda values: act(values[0]))
    fetched = fetch(missed, "site-4")
    assert "site-1" not in fetched.makers
    assert [told in why for why in fetched.refused] == [True]


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (lambda copy: copy.update(sealed="A" * (MOST_TEXT + 4)), "sealed"),
        (lambda copy: copy.update(signature="A" * 92), "signature"),
        (lambda copy: copy.update(recipient=0), "recipient"),
        (lambda copy: copy.update(recipient="4"), "recipient: an integer is needed"),
        (lambda copy: copy.update(more=1), "more: unknown key"),
    ],
)
def test_a_summary_with_a_copy_of_another_form_is_refused(missed, act, told):
    change(missed, lambda values: act(values[2]["copies"][0]))
    with pytest.raises(ParameterError, match=rf"summary\.json: statements\[3\]\.copies\[1\]\.{told}"):
        fetch(missed, "site-4")


def test_copies_of_another_run_and_for_another_site_are_of_no_use(organisations, network_of, monkeypatch):
    """A coordinator keeps copies of a run and presents them as those of another run, or to another site."""
    made = organisations(20, 10, 30, 5, 5)
    network = network_of(made, [4, 5])
    network.run()
    old = json.loads(summary_of(network, made).read_text())["statements"]
    monkeypatch.setattr("support.network.RUN", bytes(16))
    network = network_of(made, [4, 5])
    network.run()
    summary_of(network, made)

    def replay(values):
        for one, before in zip(values, old, strict=True):
            one["copies"] = before["copies"]

    def swap(values):
        for one in values:
            for copy in one["copies"]:
                copy["recipient"] = 9 - copy["recipient"]

    for act in (replay, swap):
        summary_of(network, made)
        change(made, act)
        with pytest.raises(AgreementError, match="copies of its labels from 0 clients; 2 are needed; sit"):
            fetch(made, "site-4")
    assert made.written("site-4") == []
    summary_of(network, made)
    assert fetch(made, "site-4").folder.name == bytes(16).hex()


def test_t_clients_that_lie_forge_no_labels(missed):
    forged(missed, 1)
    assert fetch(missed, "site-4").makers == ["site-2", "site-3", "site-5"]
    assert_exact(missed, missed.network)


def test_t_clients_that_lie_with_a_coordinator_that_withholds_all_other_copies_forge_none(missed):
    forged(missed, 1)
    change(missed, lambda values: [one["copies"].clear() for one in values[1:]])
    with pytest.raises(AgreementError, match=r"equal copies of its labels from 1 clients; 2 are needed$"):
        fetch(missed, "site-4")
    change(missed, lambda values: values.append(values[0]))  # its word twice is one client's
    with pytest.raises(AgreementError, match="from 1 clients; 2 are needed"):
        fetch(missed, "site-4")
    assert missed.written("site-4") == []


@pytest.mark.parametrize(
    ("t", "liars", "needed"), [(1, 0, 2), (2, 0, 3), (1, 2, 3)], ids=["t", "t = 2", "more liars than t"]
)
def test_more_copies_are_needed_than_clients_may_lie(organisations, t, liars, needed):
    made = organisations(20, 10, 3, 4, 5, 6, 7, t=t, disclosure="coded", max_liars=liars)
    assert makers_needed(made.agreement.job) == needed


def test_copies_of_two_results_that_enough_clients_made_are_refused(missed):
    forged(missed, 1, 2)
    with pytest.raises(
        AgreementError, match="the copies are of 2 different results, each from 2 clients or more"
    ):
        fetch(missed, "site-4")
    assert missed.written("site-4") == []


def test_copies_of_another_number_of_rows_are_refused_though_enough_clients_made_them(missed):
    forged(missed, 1, 2, 3, 5, labels=np.zeros(6, dtype=np.int32))
    with pytest.raises(
        AgreementError, match=r"^site-4: the copies have 6 labels, which are not those of its rows$"
    ):
        fetch(missed, "site-4")


def test_a_result_that_cannot_be_is_not_taken(missed):
    forged(missed, 1, n_iter=missed.agreement.job.max_iter + 1)
    assert fetch(missed, "site-4").refused == ["site-1: a copy of a result that cannot be"]


@pytest.mark.parametrize(
    "payload",
    [b"", bytes(9), bytes([5, 0, 0, 0, 1, 0, 0, 0, 2, 0]), b"\5\0\0\0\1\0\0\0\1\xff\xff", b"\xff" * 9],
    ids=["empty", "no labels", "neither converged nor not", "a label above the largest", "too many"],
)
def test_a_payload_that_is_none_is_refused(missed, payload):
    with pytest.raises(Exception, match=r"^(a copy of|a label is above|bits behind)") as caught:
        read_copy(payload, job=missed.agreement.job)
    assert type(caught.value).__name__ == "MessageError"


def test_a_summary_of_another_job_is_refused(missed):
    missed.configure("site-4", job=missed.another_job())
    with pytest.raises(AgreementError, match=r"summary\.json: it is not of the job [0-9a-f]{16}$"):
        fetch(missed, "site-4")


def test_a_job_that_not_all_have_signed_is_refused(missed):
    (missed.folder / "job.signatures").unlink()
    with pytest.raises(AgreementError, match="not all parties have signed"):
        fetch(missed, "site-4")
