"""Masks: uniform, reproducible only with their key, never repeated, never copied."""

import copy
import os
import pickle
import signal
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

import secfc
from secfc.crypto.randomness import KEY_BYTES, MaskSource
from secfc.errors import SecFCError
from secfc.field.array_types import Floats
from secfc.field.primes import PRIMES

KEY = bytes(range(KEY_BYTES))
REAL = [prime.p for prime in PRIMES]
HALF_REJECTED = [5, 131, 257, 65537, 8388617]
"""Odd primes just above a power of two (5 keeps 5 of 8 draws, the others about half)."""


def chi_square(counts: np.ndarray) -> float:
    """Standardised chi-square statistic against equal counts: mean 0, deviation 1."""
    expected = counts.sum() / counts.size
    degrees = counts.size - 1
    return float((((counts - expected) ** 2).sum() / expected - degrees) / (2 * degrees) ** 0.5)


def keystream_words(key: bytes, count: int) -> list[int]:
    """Little-endian 32-bit words of AES-256-CTR from counter zero."""
    stream = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor().update(bytes(4 * count))
    return [int.from_bytes(stream[i : i + 4], "little") for i in range(0, len(stream), 4)]


def windows(x: Floats, width: int = 4) -> set[tuple[float, ...]]:
    values = x.ravel().tolist()
    return {tuple(values[i : i + width]) for i in range(len(values) - width + 1)}


class TestUniform:
    @pytest.mark.parametrize("p", [3, 5, 7, 257, *REAL])
    def test_values_are_centred_integers(self, p: int) -> None:
        x = MaskSource(KEY).uniform(p, (5000,))
        assert np.array_equal(x, np.rint(x))
        assert np.abs(x).max() <= (p - 1) // 2

    @pytest.mark.parametrize("p", [3, 5, 7, 257])
    def test_every_residue_occurs_at_a_small_prime(self, p: int) -> None:
        x = MaskSource(KEY).uniform(p, (20_000,))
        assert np.unique(x).tolist() == list(range(-(p // 2), p // 2 + 1))

    @pytest.mark.parametrize("p", [3, *HALF_REJECTED[:3]])
    def test_every_residue_is_equally_likely(self, p: int) -> None:
        x = MaskSource(KEY).uniform(p, (200_000,)).astype(np.int64)
        assert abs(chi_square(np.bincount(x + p // 2, minlength=p))) < 5

    @pytest.mark.parametrize("p", [*REAL, *HALF_REJECTED[3:]])
    def test_residues_of_large_primes_fill_equal_buckets(self, p: int) -> None:
        x = MaskSource(KEY).uniform(p, (200_000,))
        counts, _ = np.histogram(x, bins=100, range=(-p / 2, p / 2))
        assert abs(chi_square(counts)) < 5

    @pytest.mark.parametrize("p", REAL)
    def test_low_bits_are_uniform(self, p: int) -> None:
        x = MaskSource(KEY).uniform(p, (200_000,)).astype(np.int64)
        assert abs(chi_square(np.bincount((x + p // 2) % 64, minlength=64))) < 5

    @pytest.mark.parametrize("lag", [1, 2, 3, 16])
    def test_successive_values_are_independent(self, lag: int) -> None:
        x = MaskSource(KEY).uniform(5, (200_000,)).astype(np.int64) + 2
        assert abs(chi_square(np.bincount(5 * x[:-lag] + x[lag:], minlength=25))) < 5

    @pytest.mark.parametrize("p", [3, *HALF_REJECTED, REAL[0]])
    def test_a_call_keeps_the_words_below_p_of_the_keystream(self, p: int) -> None:
        mask = (1 << p.bit_length()) - 1
        expected = [v - p // 2 for w in keystream_words(KEY, 3000) if (v := w & mask) < p][:1000]
        assert MaskSource(KEY).uniform(p, (1000,)).tolist() == expected

    @pytest.mark.parametrize("shape", [(), (1,), (2, 3, 4), (1, 1, 1, 1)])
    def test_shape_is_as_asked(self, shape: tuple[int, ...]) -> None:
        assert MaskSource(KEY).uniform(REAL[0], shape).shape == shape

    @pytest.mark.parametrize("shape", [(0,), (4, 0, 3)])
    def test_no_values_are_drawn_for_an_empty_shape(self, shape: tuple[int, ...]) -> None:
        source = MaskSource(KEY)
        assert source.uniform(REAL[0], shape).shape == shape
        assert np.array_equal(source.uniform(REAL[0], (9,)), MaskSource(KEY).uniform(REAL[0], (9,)))

    def test_result_can_be_overwritten_without_harm(self) -> None:
        source, other = MaskSource(KEY), MaskSource(KEY)
        source.uniform(REAL[0], (10,))[:] = 0
        other.uniform(REAL[0], (10,))
        assert np.array_equal(source.uniform(REAL[0], (10,)), other.uniform(REAL[0], (10,)))


class TestKey:
    def test_equal_keys_give_equal_masks(self) -> None:
        one, other = MaskSource(KEY), MaskSource(KEY)
        for p, shape in [(REAL[0], (7, 3)), (3, (50,)), (REAL[1], (2, 2, 2))]:
            assert np.array_equal(one.uniform(p, shape), other.uniform(p, shape))

    def test_one_bit_of_the_key_changes_the_masks(self) -> None:
        other = bytes([KEY[0] ^ 1]) + KEY[1:]
        x, y = (MaskSource(key).uniform(REAL[0], (1000,)) for key in (KEY, other))
        assert not windows(x) & windows(y)

    def test_sources_without_a_key_differ(self) -> None:
        x, y = (MaskSource().uniform(REAL[0], (1000,)) for _ in range(2))
        assert not windows(x, 3) & windows(y, 3)

    def test_key_comes_from_the_operating_system(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = []

        def urandom(size: int) -> bytes:
            asked.append(size)
            return KEY

        monkeypatch.setattr(os, "urandom", urandom)
        source = MaskSource()
        assert asked == [32]
        monkeypatch.undo()
        assert np.array_equal(source.uniform(REAL[0], (9,)), MaskSource(KEY).uniform(REAL[0], (9,)))

    def test_seeding_numpy_changes_nothing(self) -> None:
        state = np.random.get_state()
        try:
            np.random.seed(1)
            x = MaskSource().uniform(REAL[0], (100,))
            np.random.seed(1)
            y = MaskSource().uniform(REAL[0], (100,))
        finally:
            np.random.set_state(state)
        assert not windows(x, 3) & windows(y, 3)

    @pytest.mark.parametrize("length", [0, 16, 31, 33, 64])
    def test_key_of_another_length_is_refused(self, length: int) -> None:
        with pytest.raises(ValueError, match=f"key: {length} bytes given, 32 needed"):
            MaskSource(bytes(length))


class TestNoRepetition:
    def test_consecutive_calls_share_no_run_of_values(self) -> None:
        source = MaskSource(KEY)
        seen: set[tuple[float, ...]] = set()
        for _ in range(20):
            found = windows(source.uniform(REAL[0], (500,)))
            assert not seen & found
            seen |= found

    def test_consecutive_small_calls_all_differ(self) -> None:
        source = MaskSource(KEY)
        drawn = [tuple(source.uniform(REAL[0], (2, 2)).ravel()) for _ in range(2000)]
        assert len(set(drawn)) == len(drawn)

    def test_calls_consume_the_keystream_in_order(self) -> None:
        p = REAL[0]
        position = {value & 0xFFFFFF: i for i, value in enumerate(keystream_words(KEY, 2000))}
        source = MaskSource(KEY)
        drawn = np.concatenate([source.uniform(p, (11,)) for _ in range(20)])
        places = [position[int(x) + p // 2] for x in drawn]
        assert places == sorted(set(places))

    def test_another_prime_does_not_rewind(self) -> None:
        source = MaskSource(KEY)
        x, y, z = (source.uniform(p, (500,)) for p in (REAL[0], REAL[1], REAL[0]))
        words = [set((v + p // 2).tolist()) for v, p in ((x, REAL[0]), (y, REAL[1]), (z, REAL[0]))]
        assert len(words[0] & words[1]) < 5
        assert not windows(x) & windows(z)


class TestNoCopy:
    @pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
    def test_copies_and_pickles_are_refused(self, duplicate: object) -> None:
        assert callable(duplicate)
        with pytest.raises(SecFCError, match="cannot be copied or pickled"):
            duplicate(MaskSource())

    @pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
    def test_every_pickle_protocol_is_refused(self, protocol: int) -> None:
        with pytest.raises(SecFCError, match="cannot be copied or pickled"):
            pickle.dumps(MaskSource(), protocol=protocol)

    def test_an_object_that_holds_a_source_cannot_be_copied(self) -> None:
        with pytest.raises(SecFCError, match="cannot be copied or pickled"):
            copy.deepcopy({"masks": [MaskSource()]})

    def test_repr_shows_no_key(self) -> None:
        assert repr(MaskSource(KEY)) == str(MaskSource(KEY)) == "MaskSource()"

    def test_no_attribute_holds_the_key(self) -> None:
        assert KEY not in vars(MaskSource(KEY)).values()


def outcome_in_a_fork(source: MaskSource) -> str:
    """What a forked child gets from `source`; the child is reaped within ten seconds."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns about forks with threads. The child only draws masks and exits.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        said = "another error"
        try:
            source.uniform(REAL[0], (4,))
            said = "masks"
        except SecFCError as error:
            said = str(error)
        finally:
            os.write(writer, said.encode())
            os._exit(0)
    os.close(writer)
    deadline = time.monotonic() + 300
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            break
        time.sleep(0.005)
    with os.fdopen(reader, "rb") as pipe:
        return pipe.read().decode()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="os.fork exists on POSIX only")
class TestFork:
    def test_forked_process_is_refused(self) -> None:
        assert "used in a forked process" in outcome_in_a_fork(MaskSource())

    def test_source_that_was_used_before_the_fork_is_refused_too(self) -> None:
        source = MaskSource()
        source.uniform(REAL[0], (4,))
        assert "used in a forked process" in outcome_in_a_fork(source)

    def test_parent_goes_on(self) -> None:
        source = MaskSource(KEY)
        outcome_in_a_fork(source)
        assert np.array_equal(source.uniform(REAL[0], (9,)), MaskSource(KEY).uniform(REAL[0], (9,)))


class TestWide:
    """Elements of the field of 2**61 - 1."""

    def test_values_are_the_low_bits_of_the_keystreams_words(self) -> None:
        halves = keystream_words(KEY, 2 * 1000)
        words = [low + (high << 32) for low, high in zip(halves[::2], halves[1::2], strict=True)]
        assert MaskSource(KEY).wide((10, 100)).ravel().tolist() == [word % 2**61 for word in words]

    @pytest.mark.parametrize("shift", range(0, 56, 8))
    def test_every_byte_is_equally_likely(self, shift: int) -> None:
        x = MaskSource(KEY).wide((200_000,))
        counts = np.bincount(((x >> np.uint64(shift)) & np.uint64(255)).astype(np.int64), minlength=256)
        assert abs(chi_square(counts)) < 5

    def test_p_itself_and_where_asked_zero_are_drawn_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        draws = iter([[2**61 - 1, 0, 5], [7], [2**61 - 1, 0, 5], [0, 8], [9]])
        monkeypatch.setattr(MaskSource, "_words", lambda self, count: np.array(next(draws), dtype=np.uint64))
        assert MaskSource(KEY).wide((3,)).tolist() == [7, 0, 5]
        assert MaskSource(KEY).wide((3,), nonzero=True).tolist() == [9, 8, 5]

    def test_nothing_is_drawn_for_an_empty_shape(self) -> None:
        assert MaskSource(KEY).wide((0, 7)).shape == (0, 7)


def test_every_place_that_makes_masks_is_one_whose_masks_are_proven_not_to_repeat():
    # Where each is tested. MaskSource, one key and keystream per client and run: test_masks_never_repeat.py;
    # journaled keys, only for the same plaintexts: tests/logs/test_masks.py; coefficients from public
    # seeds: operations/test_bounded.py, and from hashes: operations/test_dealing_sums.py,
    # psu/test_proving.py, and from coins: operations/test_coins.py; those that hide nothing, fresh for each
    # check: psu/field_sharing.py; deposits, a
    # fresh key each, and their coefficients from public seeds: protocol/test_deposits.py; keys that the
    # dealer shares: logs/test_masks.py; sealing's nonces, and a fresh key of each box: tests/crypto/; the
    # server's coefficients, from its log: drivers/flare/test_going_on.py. A new place needs its own test
    # first.
    package = Path(secfc.__file__).parent
    found = {
        f"{path.relative_to(package)}: {word}"
        for path in package.rglob("*.py")
        for word in ("MaskSource(", "modes.CTR", "modes.GCM", "mask_key(", "AESGCM(")
        if word in path.read_text(encoding="utf-8")
        and not path.match("randomness.py") | path.match("crypto/channel.py")
    }
    assert found == {
        "operations/checking/coins.py: MaskSource(",
        "drivers/calls/coordinator_log.py: MaskSource(",
        "drivers/in_process.py: MaskSource(",
        "drivers/taking.py: MaskSource(",
        "crypto/keystream.py: modes.CTR",
        "crypto/keystream.py: modes.GCM",
        "prepare/memory.py: MaskSource(",
        "operations/beginning/in_range.py: MaskSource(",
        "operations/predicting/given.py: MaskSource(",
        "protocol/program/stepping.py: mask_key(",
        "sharing/proof.py: MaskSource(",
        "sharing/deposits.py: MaskSource(",
        "protocol/server.py: MaskSource(",
        "psu/field_sharing.py: MaskSource(",
        "psu/proving.py: MaskSource(",
    }
