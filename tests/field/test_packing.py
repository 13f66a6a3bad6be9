"""Three bytes a residue: round trips, the canonical encoding, and what is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secfc.errors import MessageError
from secfc.field import packing
from secfc.field.packing import BYTES_PER_RESIDUE, PackedResidues
from secfc.field.primes import PRIMES

MODULI = [prime.p for prime in PRIMES]
P = MODULI[0]


def little_endian(values: list[int]) -> bytes:
    return b"".join(value.to_bytes(BYTES_PER_RESIDUE, "little") for value in values)


@settings(deadline=None, max_examples=60)
@given(data=st.data(), p=st.sampled_from(MODULI), rows=st.integers(0, 5), columns=st.integers(0, 5))
def test_read_returns_what_write_packed(data: st.DataObject, p: int, rows: int, columns: int) -> None:
    top = (p + 8) // 2
    count = rows * columns
    x = data.draw(st.lists(st.integers(-top, top), min_size=count, max_size=count))
    residues = np.array(x, dtype=np.float64).reshape(rows, columns)
    packed = PackedResidues.empty((1, rows, columns))
    packed.write(0, slice(0, rows), residues, p)
    assert np.array_equal(packed.read(0, slice(0, rows)), residues % p)


def test_wire_holds_canonical_residues_little_endian_in_row_order() -> None:
    packed = PackedResidues.empty((2, 2, 2))
    packed.write(0, slice(0, 2), np.array([[0.0, 1.0], [-1.0, 8380416.0]]), P)
    packed.write(1, slice(0, 2), np.array([[-8380416.0, 256.0], [65536.0, -2.0]]), MODULI[1])
    expected = [0, 1, P - 1, 8380416, MODULI[1] - 8380416, 256, 65536, MODULI[1] - 2]
    assert bytes(packed.payload) == little_endian(expected)


@pytest.mark.parametrize("p", MODULI)
def test_largest_reduced_residues_are_canonical_on_the_wire(p: int) -> None:
    top = (p + 8) // 2
    packed = PackedResidues.empty((1, 1, 4))
    packed.write(0, slice(0, 1), np.array([[top, -top, p // 2, -(p // 2)]], dtype=np.float64), p)
    assert bytes(packed.payload) == little_endian([top, p - top, p // 2, p - p // 2])
    packed.check((p,))


def test_congruent_residues_have_one_encoding() -> None:
    one, other = (PackedResidues.empty((1, 1, 1)) for _ in range(2))
    one.write(0, slice(0, 1), np.array([[P // 2 + 3.0]]), P)
    other.write(0, slice(0, 1), np.array([[P // 2 + 3.0 - P]]), P)
    assert one.payload == other.payload


def test_write_changes_only_its_plane_and_rows() -> None:
    packed = PackedResidues.empty((3, 4, 2))
    packed.write(1, slice(1, 3), np.full((2, 2), 5.0), P)
    everything = np.stack([packed.read(i, slice(0, 4)) for i in range(3)])
    expected = np.zeros((3, 4, 2))
    expected[1, 1:3] = 5.0
    assert np.array_equal(everything, expected)


def test_rows_can_be_read_in_parts() -> None:
    packed = PackedResidues(shape=(1, 3, 1), payload=little_endian([7, 8, 9]))
    assert packed.read(0, slice(1, 3)).tolist() == [[8.0], [9.0]]


def test_column_major_residues_are_written_in_row_order() -> None:
    residues = np.arange(12.0).reshape(4, 3)
    packed = PackedResidues.empty((1, 4, 3))
    packed.write(0, slice(0, 4), np.asfortranarray(residues), P)
    assert np.array_equal(packed.read(0, slice(0, 4)), residues)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_bytes_like_payload_is_read(kind: type) -> None:
    packed = PackedResidues(shape=(1, 1, 2), payload=kind(little_endian([3, P - 1])))
    assert packed.read(0, slice(0, 1)).tolist() == [[3.0, P - 1.0]]


def test_received_bytes_cannot_be_written() -> None:
    packed = PackedResidues(shape=(1, 1, 1), payload=bytes(3))
    with pytest.raises(ValueError, match="read-only"):
        packed.write(0, slice(0, 1), np.ones((1, 1)), P)


def test_repr_shows_the_shape_and_no_value() -> None:
    packed = PackedResidues(shape=(1, 1, 2), payload=little_endian([1234567, 7654321]))
    assert repr(packed) == "PackedResidues(shape=(1, 1, 2))"


@pytest.mark.parametrize("length", [0, 1, 17, 19, 21, 36])
def test_payload_of_another_length_is_refused(length: int) -> None:
    with pytest.raises(MessageError, match=rf"shape \(1, 2, 3\) take 18 bytes, {length} were given"):
        PackedResidues(shape=(1, 2, 3), payload=bytes(length))


@pytest.mark.parametrize("p", MODULI)
def test_check_accepts_p_minus_one(p: int) -> None:
    PackedResidues(shape=(1, 1, 2), payload=little_endian([p - 1, 0])).check((p,))


@pytest.mark.parametrize("p", MODULI)
@pytest.mark.parametrize("above", [0, 1])
def test_check_refuses_residues_from_p_on(p: int, above: int) -> None:
    packed = PackedResidues(shape=(1, 1, 2), payload=little_endian([0, p + above]))
    with pytest.raises(MessageError, match=f"not below its prime {p}"):
        packed.check((p,))


def test_check_refuses_three_bytes_of_ones() -> None:
    with pytest.raises(MessageError, match="not below its prime"):
        PackedResidues(shape=(1, 1, 1), payload=b"\xff\xff\xff").check((P,))


def test_check_compares_every_plane_with_its_own_prime() -> None:
    small, large = MODULI[1], MODULI[0]
    payload = little_endian([large - 1, small - 1])
    packed = PackedResidues(shape=(2, 1, 1), payload=payload)
    packed.check((large, small))
    with pytest.raises(MessageError, match=f"not below its prime {small}"):
        packed.check((small, large))


@pytest.mark.parametrize("position", range(12))
def test_check_finds_a_bad_residue_in_any_block(position: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "_CHECK_BLOCK", 4)
    values = [P - 1] * 12
    PackedResidues(shape=(1, 6, 2), payload=little_endian(values)).check((P,))
    values[position] = P
    with pytest.raises(MessageError, match="not below its prime"):
        PackedResidues(shape=(1, 6, 2), payload=little_endian(values)).check((P,))


def test_check_shows_no_residue() -> None:
    with pytest.raises(MessageError) as refusal:
        PackedResidues(shape=(1, 1, 1), payload=little_endian([P + 5])).check((P,))
    assert str(P + 5) not in str(refusal.value)


@pytest.mark.parametrize("shape", [(1, 0, 3), (1, 3, 0), (1, 0, 0), (0, 2, 2), (2, 0, 1)])
def test_empty_shapes_take_no_bytes_and_pass_the_check(shape: tuple[int, int, int]) -> None:
    packed = PackedResidues(shape=shape, payload=b"")
    packed.check(tuple(MODULI[: shape[0]]))


@pytest.mark.parametrize(("rows", "columns"), [(0, 3), (3, 0), (0, 0)])
def test_empty_residues_are_written_and_read(rows: int, columns: int) -> None:
    packed = PackedResidues.empty((1, rows, columns))
    packed.write(0, slice(0, rows), np.zeros((rows, columns)), P)
    assert packed.read(0, slice(0, rows)).shape == (rows, columns)


def test_empty_residues_are_zeros() -> None:
    assert bytes(PackedResidues.empty((2, 3, 4)).payload) == bytes(72)
