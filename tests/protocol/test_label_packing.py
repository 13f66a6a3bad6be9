"""Labels in as few bits as possible."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secfc.errors import MessageError
from secfc.field.label_packing import PackedLabels, pack_labels, packed_size


def unpack_labels(packed: bytes, count: int, bits: int) -> np.ndarray:
    return PackedLabels(payload=packed, size=count, largest=2**bits - 1, none=False).unpack()


def naive(labels: list[int], bits: int) -> bytes:
    """The same packing with Python integers: the lowest bit of all labels, then the next one, and so on."""
    packed = b""
    for bit in range(bits):
        plane = sum((label >> bit & 1) << at for at, label in enumerate(labels))
        packed += plane.to_bytes(-(-len(labels) // 8), "little")
    return packed


@given(data=st.data(), bits=st.integers(1, 16), count=st.integers(0, 40))
@settings(deadline=None)
def test_packing_is_undone_and_equals_python_integers(data: st.DataObject, bits: int, count: int) -> None:
    labels = data.draw(st.lists(st.integers(0, 2**bits - 1), min_size=count, max_size=count))
    packed = pack_labels(np.array(labels, dtype=np.uint16), bits)
    assert packed == naive(labels, bits)
    assert len(packed) == packed_size(count, bits)
    assert unpack_labels(packed, count, bits).tolist() == labels


@pytest.mark.parametrize("bits", range(1, 17))
def test_the_largest_labels_of_each_width(bits: int) -> None:
    labels = np.full(17, 2**bits - 1, dtype=np.uint16)
    assert unpack_labels(pack_labels(labels, bits), 17, bits).tolist() == labels.tolist()


@pytest.mark.parametrize("bits", [1, 5, 8, 9, 16])
@pytest.mark.parametrize("count", [1, 7, 9])
def test_there_is_one_encoding(bits: int, count: int) -> None:
    longer = np.zeros(count + 1, dtype=np.uint16)
    longer[count] = 1
    with pytest.raises(MessageError, match="behind the last label"):
        unpack_labels(pack_labels(longer, bits), count, bits)


def test_labels_take_their_bits() -> None:
    assert packed_size(100_000, 5) == 100_000 * 5 // 8
