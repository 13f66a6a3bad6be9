"""Three bytes for each residue: round trips, the canonical encoding, and what is refused."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sweeps import tries

from secfc.errors import MessageError
from secfc.field import packing
from secfc.field import residues as residues_module
from secfc.field.array_types import Floats
from secfc.field.packing import (
    BYTES_PER_RESIDUE,
    HEADROOM,
    PackedResidues,
    from_bytes,
    pack,
    to_bytes,
    unpack,
)
from secfc.field.primes import PRIMES
from secfc.kernels import load

MODULI = [prime.p for prime in PRIMES]
P = MODULI[0]


def little_endian(values: list[int]) -> bytes:
    return b"".join(value.to_bytes(BYTES_PER_RESIDUE, "little") for value in values)


def write(packed: PackedResidues, prime: int, residues: Floats, p: int) -> None:
    packed.planes()[prime] = pack(residues, p)


@pytest.fixture(scope="module", params=["numpy", "loops"], autouse=True)
def form(request: pytest.FixtureRequest) -> Iterator[None]:
    """Without compiled loops, and with them."""
    assert load() is not None
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "numpy":
            for module in (residues_module, packing):
                patch.setattr(module, "LOOPS", [])
        yield


class TestPack:
    @tries()
    @given(data=st.data(), shape=st.sampled_from([(0,), (1,), (7,), (2, 3), (2, 0)]))
    def test_bytes_modulo_several_primes_give_canonical_residues(
        self, data: st.DataObject, shape: tuple[int, ...]
    ) -> None:
        count = int(np.prod(shape))
        drawn = [
            data.draw(st.lists(st.integers(-(p + 8) // 2 + 1, (p + 8) // 2), min_size=count, max_size=count))
            for p in MODULI[:3]
        ]
        residues = np.array(drawn, dtype=np.float64).reshape(3, *shape)
        found = from_bytes(to_bytes(residues, MODULI[:3]), shape, MODULI[:3])
        assert np.array_equal(found, residues % np.array(MODULI[:3]).reshape(3, *[1] * len(shape)))

    @tries()
    @given(data=st.data(), p=st.sampled_from(MODULI), columns=st.integers(0, 5), rows=st.integers(0, 5))
    def test_unpack_returns_what_was_packed(
        self, data: st.DataObject, p: int, columns: int, rows: int
    ) -> None:
        top = (p + 8) // 2
        count = rows * columns
        x = data.draw(st.lists(st.integers(-top, top), min_size=count, max_size=count))
        residues = np.array(x, dtype=np.float64).reshape(columns, rows)
        packed = pack(residues, p)
        assert (packed.dtype, packed.shape) == (np.uint8, (columns, 3 * rows))
        unpacked = unpack(packed)
        assert (unpacked.dtype, unpacked.shape) == (np.float64, (columns, rows))
        assert np.array_equal(unpacked, residues % p)

    @tries()
    @given(data=st.data(), columns=st.integers(0, 4), rows=st.integers(0, 9))
    def test_unpack_reads_all_integers_below_2_to_the_24(
        self, data: st.DataObject, columns: int, rows: int
    ) -> None:
        count = rows * columns
        x = data.draw(st.lists(st.integers(0, 2**24 - 1), min_size=count, max_size=count))
        packed = np.frombuffer(little_endian(x), dtype=np.uint8).reshape(columns, 3 * rows)
        assert unpack(packed).ravel().tolist() == x

    @pytest.mark.parametrize("p", MODULI)
    def test_largest_reduced_residues_are_canonical(self, p: int) -> None:
        top = (p + 8) // 2
        packed = pack(np.array([[top, -top, p // 2, -(p // 2)]], dtype=np.float64), p)
        assert packed.tobytes() == little_endian([top, p - top, p // 2, p - p // 2])

    @pytest.mark.parametrize("p", MODULI)
    def test_zero_has_one_encoding(self, p: int) -> None:
        assert pack(np.array([0.0, -0.0]), p).tobytes() == bytes(6)

    @pytest.mark.parametrize("order", [np.asfortranarray, lambda x: np.repeat(x, 2, axis=1)[:, ::2]])
    def test_memory_order_does_not_matter(self, order: object) -> None:
        assert callable(order)
        residues = np.arange(12.0).reshape(4, 3)
        packed = pack(order(residues), P)
        assert packed.tobytes() == little_endian(list(range(12)))
        assert np.array_equal(unpack(order(packed)), residues)

    @pytest.mark.parametrize(
        ("shape", "packed"), [((4,), (12,)), ((2, 3, 4), (2, 3, 12)), ((2, 0, 4), (2, 0, 12))]
    )
    def test_the_last_axis_is_packed(self, shape: tuple[int, ...], packed: tuple[int, ...]) -> None:
        residues = np.arange(float(np.prod(shape))).reshape(shape)
        assert pack(residues, P).shape == packed
        assert np.array_equal(unpack(pack(residues, P)), residues)

    def test_arguments_are_left_alone(self) -> None:
        residues = np.array([-1.0, 5.0])
        packed = pack(residues, P)
        before = packed.copy()
        unpack(packed)[:] = 0
        assert residues.tolist() == [-1.0, 5.0]
        assert np.array_equal(packed, before)


class TestPackedResidues:
    def test_wire_holds_canonical_residues_little_endian_column_by_column(self) -> None:
        packed = PackedResidues.empty((2, 2, 3))
        write(packed, 0, np.array([[0.0, 1.0, 2.0], [-1.0, 8380416.0, 3.0]]), P)
        write(packed, 1, np.array([[-8380416.0, 256.0, 4.0], [65536.0, -2.0, 5.0]]), MODULI[1])
        expected = [0, 1, 2, P - 1, 8380416, 3, MODULI[1] - 8380416, 256, 4, 65536, MODULI[1] - 2, 5]
        assert bytes(packed.payload) == little_endian(expected)

    def test_a_plane_has_a_line_for_every_column(self) -> None:
        packed = PackedResidues(shape=(2, 2, 3), payload=little_endian(list(range(12))))
        assert (packed.planes().dtype, packed.planes().shape) == (np.uint8, (2, 2, 9))
        assert unpack(packed.planes()).tolist() == [[[0, 1, 2], [3, 4, 5]], [[6, 7, 8], [9, 10, 11]]]

    @pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
    def test_planes_are_a_view_of_the_payload(self, kind: type) -> None:
        payload = kind(little_endian([1, 2, 3]))
        planes = PackedResidues(shape=(1, 1, 3), payload=payload).planes()
        assert np.shares_memory(planes, np.frombuffer(payload, dtype=np.uint8))

    @pytest.mark.parametrize("kind", [bytes, lambda data: memoryview(bytes(data))])
    def test_received_bytes_cannot_be_written(self, kind: object) -> None:
        assert callable(kind)
        packed = PackedResidues(shape=(1, 1, 1), payload=kind(bytes(3)))
        with pytest.raises(ValueError, match="read-only"):
            write(packed, 0, np.ones((1, 1)), P)

    def test_repr_shows_the_shape_and_no_value(self) -> None:
        packed = PackedResidues(shape=(1, 1, 2), payload=little_endian([1234567, 7654321]))
        assert repr(packed) == "PackedResidues(shape=(1, 1, 2))"

    @pytest.mark.parametrize("length", [0, 1, 17, 19, 21, 36])
    def test_payload_of_another_length_is_refused(self, length: int) -> None:
        with pytest.raises(MessageError, match=rf"shape \(1, 2, 3\) take 18 bytes, {length} were given"):
            PackedResidues(shape=(1, 2, 3), payload=bytes(length))

    @pytest.mark.parametrize("shape", [(1, 0, 3), (1, 3, 0), (1, 0, 0), (0, 2, 2), (2, 0, 1), (8, 5, 0)])
    def test_empty_shapes_take_no_bytes_and_have_planes(self, shape: tuple[int, int, int]) -> None:
        packed = PackedResidues(shape=shape, payload=b"")
        assert packed.planes().shape == (*shape[:2], 3 * shape[2])
        assert unpack(packed.planes()).shape == shape
        assert PackedResidues.empty(shape).planes().shape == (*shape[:2], 3 * shape[2])

    @pytest.mark.parametrize("size", [0, 1, 42, HEADROOM, HEADROOM + 1, 500])
    def test_framed_residues_follow_their_header_every_time(self, size: int) -> None:
        header = bytes(range(1, 251))[: size % 251] * (1 + size // 251)
        own, received = PackedResidues.empty((2, 1, 3)), PackedResidues(shape=(2, 1, 3), payload=bytes(18))
        own.planes()[...] = np.arange(18).reshape(2, 1, 9)
        for _ in range(3):
            assert bytes(own.framed(header)) == header + bytes(range(18))
            assert bytes(received.framed(header)) == header + bytes(18)
            assert bytes(own.payload) == bytes(range(18))

    def test_a_second_frame_leaves_the_first_alone(self) -> None:
        own = PackedResidues.empty((1, 1, 2))
        own.planes()[...] = 7
        first = own.framed(b"to client 1")
        second = own.framed(b"to client 2")
        assert bytes(first) == b"to client 1" + b"\x07" * 6
        assert bytes(second) == b"to client 2" + b"\x07" * 6

    def test_empty_gives_memory_of_its_own_to_be_written(self) -> None:
        one, other = PackedResidues.empty((2, 3, 4)), PackedResidues.empty((2, 3, 4))
        assert one.shape == (2, 3, 4)
        assert len(one.payload) == 72
        one.planes()[...], other.planes()[...] = 7, 9
        assert bytes(one.payload) == b"\x07" * 72
        assert bytes(other.payload) == b"\x09" * 72
