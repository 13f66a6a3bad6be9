"""Membership privacy and start labels, with coordinator and sites in one process."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from support.network import Network, assert_exact, vanishes

from secfc.agreement.key_files import write_new_ids_key
from secfc.drivers.calls.envelopes import Kind, decode_answer
from secfc.drivers.flare.jobs import export_job
from secfc.errors import TooManyFaultsError, UnionError
from secfc.protocol.messages import Plan, Step, StepNotice

pytestmark = pytest.mark.usefixtures("clock")


@pytest.mark.parametrize(
    ("kind", "opened"),
    [(Plan, True), (Step, True), (StepNotice, True), (None, False)],
)
def test_a_site_lost_before_all_rows_are_shared_ends_a_run_with_membership_privacy(
    organisations, monkeypatch, kind, opened
):
    made = organisations(20, 10, 30, 5)
    made.hide()
    if kind is None:
        spoil = lambda site, call, deliver: None if site == "site-2" else deliver()  # noqa: E731
    else:
        spoil = vanishes(monkeypatch, kind, 2)
    with pytest.raises(TooManyFaultsError) as caught:
        Network(made, spoil=spoil, deadline=4.0).run()
    told = str(caught.value)
    assert "client 2 is absent before all rows were shared" in told
    assert told.endswith("lost of 4: site-2; the last: site-2: no answer within 4 s")
    assert ("the union of the new run would show how many rows" in told) == opened
    for name in made.names:
        assert not any(made.folder.glob(f"results-{name}/*/labels.csv"))


def test_silence_in_the_union_ends_the_run(organisations):
    made = organisations(20, 10, 30)
    made.hide()

    def spoil(site, call, deliver):
        answer = decode_answer(deliver())
        quiet = site == "site-2" and call.kind is Kind.MESSAGES
        return replace(answer, body=b"" if quiet else answer.body).encode()

    with pytest.raises(
        TooManyFaultsError,
        match="a client keeps the others waiting while a union is found",
    ):
        Network(made, spoil=spoil, deadline=0.5).run()


def test_a_site_with_another_id_key_ends_the_run(organisations):
    made = organisations(20, 10, 30)
    made.hide()
    write_new_ids_key(made.folder / "other.key")
    made.configure("site-3", data="site-3.csv", more='id = "patient"\n', first='ids_key = "other.key"\n')
    with pytest.raises(UnionError, match=r"other-id-key \(site-\d\)"):
        Network(made).run()


def test_flare_is_told_that_it_takes_all_sites(organisations, tmp_path):
    made = organisations(20, 10, 30, 5)
    least = []
    for folder in ("plain", "hidden"):
        export_job(made.job, tmp_path / folder, deadline=60.0)
        least.append(json.loads((tmp_path / folder / "meta.json").read_text())["min_clients"])
        if folder == "plain":
            made.hide()
    assert least == [3, 4]


# Start labels


def test_sites_begin_with_the_labels_of_their_own_files(organisations):
    made = organisations(20, 10, 30)
    starts = [np.arange(len(part)) % 3 for part in made.rows]
    made.job.write_text(made.job.read_text().replace("[columns]", 'init = "labels"\n[columns]'))
    for name, part, start in zip(made.names, made.rows, starts, strict=True):
        values = {str(at): column for at, column in enumerate(part.T)} | {"begin": start}
        pyarrow.parquet.write_table(pa.table(values), made.folder / f"{name}.parquet")
        made.configure(name, data=f"{name}.parquet", more='start = "begin"\n')
    made.sign(made.job)
    network = Network(made)
    network.run()
    np.testing.assert_array_equal(network.coordinator.report.start, np.concatenate(starts))
    assert_exact(made, network)
