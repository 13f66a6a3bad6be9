"""No error's text, repr or traceback, no warning and no repr of a result or role shows a data value."""

import re
import traceback

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import secfc
from secfc.crypto.identity import Identity, Roster
from secfc.crypto.randomness import MaskSource
from secfc.protocol.client import Client
from secfc.protocol.job.making import make_job

SECRET = 123456.789
DIGITS = "123456"
SECRET_LABEL = 123456789
JOB = make_job(n=3, k=2, t=1, ell=1, d=2, bound=1000.0, disclosure="coded")


def client_of(rows, run=bytes(16)):
    identities = [Identity() for _ in range(3)]
    roster = Roster(tuple(identity.public for identity in identities), Identity().public)
    session = JOB.session(roster, run)
    return Client(number=1, rows=rows, job=JOB, session=session, identity=identities[0], masks=MaskSource())


def secret_rows(m=3):
    return np.full((m, 2), SECRET)


def beside(value):
    rows = secret_rows()
    rows[1, 1] = value
    return rows


def shown(error):
    """All that a log could show of an error, including its causes and context."""
    return str(error) + repr(error) + "".join(traceback.format_exception(error))


PARTIES = {
    "NaN": beside(np.nan),
    "infinity": beside(np.inf),
    "norm above the bound": secret_rows(),
    "norm above float64": np.array([[1.23456e308, 1.7e308]]),
    "ragged": [[SECRET, 1.0], [SECRET]],
    "ragged numbers": [[SECRET, 1.0], SECRET],
    "text": [[str(SECRET), "1"]],
    "text array": np.array([[str(SECRET), "1"]]),
    "objects": np.array([[SECRET, None]], dtype=object),
    "large integers": [[int(SECRET) ** 20, 1]],
    "complex": secret_rows() * 1j,
    "records": np.array([(SECRET, 1.0)], dtype=[("a", "f8"), ("b", "f8")]),
    "one-dimensional": secret_rows()[0],
    "three-dimensional": secret_rows()[np.newaxis],
    "a number": SECRET,
    "another width": np.full((3, 3), SECRET),
    "masked": np.ma.masked_equal(beside(7.0), 7.0),
    "sparse": scipy.sparse.csr_array(secret_rows() * 1j),
    "frame with a text column": pd.DataFrame({"a": [SECRET], "b": [str(SECRET)]}),
    "frame with a category column": pd.DataFrame({"a": [SECRET], "b": pd.Categorical([str(SECRET)])}),
    "frame with a missing value": pd.DataFrame({"a": [SECRET, 1.0], "b": [SECRET, None]}),
    "frame with a missing integer": pd.DataFrame({"a": pd.array([int(SECRET), None]), "b": [1.0, 2.0]}),
    "frame with times": pd.DataFrame({"a": [SECRET], "b": [pd.Timestamp(int(SECRET), unit="s")]}),
    "frame with other columns": pd.DataFrame({"a": [SECRET], "b": [SECRET], "c": [SECRET]}),
}


@pytest.mark.parametrize("party", PARTIES.values(), ids=PARTIES.keys())
def test_an_error_about_rows_shows_none_of_them(party):
    parties = [np.ones((2, 2)), party, np.ones((2, 2))]
    with pytest.raises(secfc.SecFCError) as caught:
        secfc.run(parties, k=2, t=1, ell=1, bound=1000.0)
    assert DIGITS not in shown(caught.value)
    assert "parties[1]" in str(caught.value)


@pytest.mark.parametrize(
    "name", ["NaN", "norm above the bound", "one-dimensional", "another width", "text array"]
)
def test_a_clients_error_about_its_rows_shows_none_of_them(name):
    with pytest.raises(secfc.DataError) as caught:
        client_of(PARTIES[name])
    assert DIGITS not in shown(caught.value)


@pytest.mark.parametrize(
    "start", [[SECRET_LABEL, 0, 1], [-SECRET_LABEL, 0, 1], [SECRET, 0.0, 1.0], [str(SECRET), "0", "1"]]
)
def test_an_error_about_start_labels_shows_none_of_them(start):
    parties = [np.ones((2, 2)), np.ones((3, 2)), np.ones((2, 2))]
    with pytest.raises(secfc.SecFCError) as caught:
        secfc.run(parties, k=2, t=1, ell=1, init=[[0, 1], start, [1, 1]])
    assert DIGITS not in shown(caught.value)


def test_an_error_about_the_type_of_all_start_labels_shows_none_of_them():
    start = {0: [SECRET_LABEL, 1], 1: [0, 1], 2: [0, 1]}
    with pytest.raises(secfc.SecFCError) as caught:
        secfc.run([np.ones((2, 2))] * 3, k=2, t=1, ell=1, init=start)
    assert DIGITS not in shown(caught.value)


@pytest.mark.parametrize("arguments", [{"k": 100}, {"t": 2}, {"precision": 0}, {"seed": -1}, {"k": 2.5}])
def test_an_error_about_an_argument_shows_no_row(arguments):
    with pytest.raises(secfc.SecFCError) as caught:
        secfc.run([secret_rows()] * 3, **{"k": 2, "t": 1, "ell": 1} | arguments)
    assert DIGITS not in shown(caught.value)


def test_a_limit_error_shows_no_row():
    with pytest.raises(secfc.LimitError) as caught:
        secfc.run([secret_rows()] * 3, k=2, t=1, ell=1, limits=secfc.Limits(smallest_set=9))
    assert DIGITS not in shown(caught.value)


def test_warnings_show_no_row():
    rows = [secret_rows() + np.arange(6).reshape(3, 2) * j for j in range(5)]
    with pytest.warns() as caught:
        secfc.run(rows, k=3, t=1, ell=2, max_iter=1, seed=0, disclosure="coded")
    assert {warning.category for warning in caught} == {secfc.ConvergenceWarning, secfc.PrivacyWarning}
    assert not any(DIGITS in str(warning.message) for warning in caught)


def test_repr_of_a_result_shows_no_label():
    rows = [np.arange(2.0 * m).reshape(m, 2) for m in (3, 4, 5)]
    result = secfc.run(rows, k=2, t=1, ell=1, init=[[0, 1, 0], [1, 1, 1, 1], [0, 0, 0, 0, 0]])
    assert not any(word in repr(result) for word in ("labels=", "start=", "history="))


def test_repr_of_a_client_with_rows_shows_no_row():
    client = client_of(secret_rows() / 1000, run=b"secret run ident")
    assert DIGITS[:3] not in repr(client)
    assert "secret" not in repr(client)


@pytest.mark.parametrize("disclosure", ["coded", "labels"])
def test_repr_of_messages_and_of_parties_shows_no_row_mask_or_label(wire, disclosure):
    """Checks every message of a run, and what parties are while it lasts."""
    net = wire([np.full((2, 2), 12.3456)] * 3, k=2, disclosure=disclosure)
    shown = set()

    def look(message):
        shown.update(map(repr, (message, net.server)))
        for client in net.clients.values():
            steps = client._steps
            shown.update(map(repr, (client, steps, steps and steps.me, steps and steps.me.inbox)))
        return False

    net.run(drop=look)
    assert any(one.startswith("Inbox(") for one in shown)
    assert any(one.startswith("Step(") for one in shown)
    for one in shown:
        assert not re.search(r"12[.]?345|array|bytes\(|\\x|memoryview|\[\d", one), one
