"""A finished result names every party that was lost or lied, whatever it is: a client, a helper, a member."""

import io
import re
import warnings
from dataclasses import replace
from inspect import cleandoc

import numpy as np
import pytest
from rich.console import Console

import secfc
from plaintext_baselines import ExactLloyd
from secfc.cli.render import faults_line
from secfc.errors import FaultWarning, PrivacyWarning
from secfc.protocol.job.cases import Deposited
from secfc.report.fault_texts import described_faults, texts_of

pytestmark = pytest.mark.processes

COUNTS = (4, 3, 5, 6)
BREAKS = cleandoc("""
    from secfc.protocol.client import Client
    from secfc.protocol.messages import {kind}
    real = Client.receive

    def broken(self, message):
        if isinstance(message, {kind}) and message.round >= {round}:
            raise ValueError("123456.789")
        return real(self, message)

    Client.receive = broken
""")
KINDS = {
    "clients": {},
    "helpers": {"comparers": [4, 5, 6]},
    "one helper": {"comparers": [0, 4, 1]},
    "a committee": {"committee": [0, 1, 2, 3, 4]},
    "a committee and helpers": {"committee": [3, 4, 1], "comparers": [3, 4, 5]},
}
"""Options of a run of four parties."""


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    return [rng.normal(size=(m, 2)) + 5 * rng.integers(2, size=(m, 1)) for m in COUNTS]


def run(rows, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        return secfc.run(rows, 2, t=1, ell=1, seed=3, init="random", **options)


@pytest.fixture(scope="module")
def results(rows):
    """A result of each kind."""
    return {kind: run(rows, **options) for kind, options in KINDS.items()}


def texts(result, tmp_path):
    """What is told of a result's faults: a sentence, a line of the command, a table, a page."""
    names = [f"party {j}" for j in range(1, result.job.n + 1)]
    yield described_faults(result.faults, result.job, names)
    out = io.StringIO()
    faults_line(Console(file=out, width=400), result.faults, result.job, names)
    yield out.getvalue()
    if isinstance(result.job.rows, Deposited):
        yield result._repr_html_().replace("member ", "party ")
        return
    yield result._repr_html_()
    page = result.report(tmp_path / "page.html").read_text(encoding="utf-8")
    yield "\n".join(one for one in page.split("<tr>") if 'class="warn">' in one)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "fault", ["absent", "left_out", "liars", "cheats", "left_out cheats", "liars cheats", "unread"]
)
def test_each_party_is_named_in_every_text(results, kind, fault, tmp_path):
    job = results[kind].job
    parties = range(1, job.parties + 1)
    for party in sorted({1, job.n, job.parties}):  # the first and last client or member, and the last helper
        other = party % job.parties + 1
        value = ((party, other),) if fault == "unread" else (party,)
        faults = secfc.Faults(**dict.fromkeys(fault.split(), value))
        involved = {party, other} if fault == "unread" else {party}
        for text in texts(replace(results[kind], faults=faults), tmp_path):
            for one in parties:
                name = f"party {one}" if one <= job.n else f"helper {one}"
                assert (name in text) == (one in involved), (name, text)


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_is_named_where_all_did_their_part(results, kind, tmp_path):
    faults = secfc.Faults()
    assert texts_of(faults, results[kind].job) == [""] * results[kind].job.parties
    sentence, line, *_ = texts(replace(results[kind], faults=faults), tmp_path)
    assert (sentence, line) == ("", "")


LOST = [
    ("helpers", 3, "Step", 2, r"parties\[2\] stopped answering"),
    ("clients", 4, "Step", 1, r"parties\[3\] stopped answering"),
    ("a committee", 5, "Step", 2, "member 1 stopped answering"),
    ("a committee", 4, "Step", 2, r"parties\[3\] stopped answering"),
    ("a committee", 5, "Plan", 0, "^member 1 stopped answering; member 1: ValueError"),
]
"""Who breaks, at which message from which round on, and what is told."""


@pytest.mark.parametrize(("kind", "party", "message", "round_", "told"), LOST)
def test_a_party_that_is_lost_costs_no_finished_result(
    rows, results, sabotage, tmp_path, kind, party, message, round_, told
):
    sabotage(party, BREAKS.format(kind=message, round=round_))
    with pytest.warns(FaultWarning, match=told):
        result = run(rows, driver="multiprocess", **KINDS[kind])
    assert result.faults.absent == (party,)
    exact = ExactLloyd(2, init=result.start, bound=result.job.bound).fit(rows)
    for j, (ours, theirs) in enumerate(zip(result.labels, exact.labels_, strict=True), 1):
        unknown = kind != "a committee" and j in result.faults.absent  # nobody else knows
        np.testing.assert_array_equal(ours, np.full_like(theirs, -1) if unknown else theirs)
    said = [bool(re.search("absent|stopped answering|vanished", text)) for text in texts(result, tmp_path)]
    assert said == [True] * len(said)
