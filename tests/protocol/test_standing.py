"""A server's standing (the state that its log keeps) as bytes."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secfc.drivers.calls.checkpoint import pack, unpack

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
