"""A server's standing (the state that its log keeps) as bytes."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secfc.protocol.checkpoint import pack, unpack

pytestmark = pytest.mark.questions

LABELS = st.sampled_from([[], [-1, 0, 5], [-1, 40_000], [0, 255], [2**31 - 1, -(2**31)]])
ARRAYS = st.one_of(
    LABELS.map(lambda entries: np.array(entries, dtype=np.int32)),
    st.sampled_from([np.array([[1, 2**32 - 1]], dtype=np.uint32), np.array([0.5, np.inf]), np.zeros((0, 3))]),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(), st.floats(), st.fractions(), ARRAYS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text() | st.integers(), inner, max_size=3)
    ),
    max_leaves=8,
)


def same(one, other):
    match one:
        case np.ndarray():
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            np.testing.assert_array_equal(one, other)
        case dict():
            assert list(one) == list(other)
            same(list(one.values()), list(other.values()))
        case list():
            assert len(one) == len(other)
            for mine, theirs in zip(one, other, strict=True):
                same(mine, theirs)
        case float():
            assert isinstance(other, float)
            np.testing.assert_equal(one, other)
        case _:
            assert (one, type(one)) == (other, type(other))


@given(VALUES)
@settings(deadline=None)
def test_unpacked_it_is_what_was_packed(value):
    same(value, unpack(pack(value)))


def test_labels_take_the_bytes_that_they_need_and_are_written_once():
    labels = np.arange(100_000, dtype=np.int32) % 8
    assert len(pack([labels, {"again": labels}])) < 101_000
    first, again = unpack(pack([labels, labels]))
    assert first is again


def test_what_is_read_executes_nothing():
    text = np.array([{"an": "object"}], dtype=object)
    with pytest.raises(ValueError, match="allow_pickle=False"):
        pack({"array": text})


def test_a_dict_that_looks_like_something_else_stays_a_dict():
    value = {"fraction": [1, 2], "array": [0, "<i4"], "dict": []}
    assert unpack(pack({"plain": value, "half": Fraction(1, 2)})) == {"plain": value, "half": Fraction(1, 2)}


CHANGES = {"gathering", "_gathering", "search", "rng", "secret", "_kept"}
"""What a server's further messages depend on, written down in its standing; the rest follows from it."""
FOLLOWS = {"_primes", "_about", "_decoder", "_check", "_disclosure", "_sizes"}


def attributes(server, pictured):
    """Pictures of the attributes of a server and of its rounds."""
    whole = vars(server.phase.context) | vars(server) | vars(server.phase)
    del whole["phase"], whole["context"]
    return {name: pictured(value) for name, value in whole.items()}


@pytest.mark.parametrize("more", [{}, {"max_liars": 1}, {"compared": (2, 3)}, {"tol_moved": 0.5}])
def test_nothing_else_of_a_server_changes_from_round_to_round(wire, pictured, more):
    rows = [[[0.0, 0.0]] * 2, [[5.0, 1.0]] * 3, [[9.0, 4.0], [1.0, 7.0]], [[3.0, 3.0]], [[2.0, 8.0]] * 2]
    net = wire(rows, k=3, n_init=3, **more)
    net.run(until=lambda: net.server.progress.round == 1)
    first = attributes(net.server, pictured)
    net.run(until=lambda: net.server.progress.round == 4)
    later = attributes(net.server, pictured)
    assert first.keys() == later.keys()
    assert {name for name in first if first[name] != later[name]} <= CHANGES | FOLLOWS
    assert {"gathering", "search"} <= {name for name in first if first[name] != later[name]}


def test_a_standing_has_every_attribute_that_it_should_have(wire):
    """When an attribute is added, decide here whether a restarted server needs it."""
    net = wire([[[0.0]] * 2, [[5.0]] * 3, [[9.0]] * 2], k=2)
    net.run(until=lambda: net.server.progress.round == 1)
    gathering, search = net.server.gathering, net.server.phase.search
    # Which clients are silent follows from the check of shares, before the first round.
    given, between_rounds = {"_job", "silent", "_silenced"}, {"head", "_answers", "_doubted"}
    assert vars(gathering).keys() - given - between_rounds == ATTRIBUTES["gathering"]
    given = {"_m", "_compared", "_stopping", "_n_init", "_init", "_given", "_kernels", "_within", "_predict"}
    between_rounds = {"_labels", "_core", "_own", "_near_ties", "_sized", "_sizes", "_radix"}
    between_rounds |= {"_centres", "_second"}
    assert vars(search).keys() - given - between_rounds - {"_lock"} == ATTRIBUTES["search"]
    standing = unpack(net.server.standing())
    assert len(standing["gathering"]) == len(ATTRIBUTES["gathering"])
    assert len(standing["search"]) == len(ATTRIBUTES["search"])


ATTRIBUTES = {
    "gathering": {"round", "absent", "left_out", "liars", "responders", "expected", "missed", "repeats"},
    "search": {
        *("_k", "_ks", "_starts_left", "_step", "moved", "sets", "_previous", "current", "best", "found"),
        "_rng",
    },
}
