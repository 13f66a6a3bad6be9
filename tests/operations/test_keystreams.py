"""Each key is derived for one use, and no word of a keystream masks twice."""

import copy
import os
import pickle
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from operations.own_net import parties_of
from scipy.stats import binom

from secfc.crypto import keystream
from secfc.crypto.keystream import BitStream, Keys, ResidueStream
from secfc.errors import SecFCError
from secfc.field.packing import unpack
from secfc.field.primes import PRIMES, primes_of
from secfc.kernels import choose
from secfc.kernels.compiled import CompiledKernels
from secfc.kernels.vectorised import VectorisedKernels
from secfc.sharing.codewords import Codewords

KEY = bytes(32)
SECRETS = bytes(range(32)), bytes(range(32, 64))
PLACE = {"run": bytes(16), "round_": 1, "phase": "iterate"}


def keys():
    """Keys that a dealer shares with an evaluator."""
    return Keys(SECRETS[0], **PLACE)


def test_every_mode_that_may_be_faster_gives_the_same_keystream(monkeypatch):
    sizes = (1, 15, 16, 17, 4096, len(keystream.ZEROS))
    found = []
    for mode in keystream._MODES:
        monkeypatch.setattr("secfc.crypto.keystream.faster_mode", lambda mode=mode: mode)
        stream, words = keystream.keystream(KEY), bytearray()
        for size in sizes:
            out = bytearray(size)
            stream.update_into(keystream.ZEROS[:size], out)
            words += out
        found.append(bytes(words))
    assert len(set(found)) == 1
    assert found[0][:16] != bytes(16)


def test_a_keystream_is_aes_in_counter_mode():
    # GCM counts from 2 after its 12 bytes of nonce (NIST SP 800-38D, 7.1).
    key, counter = bytes(range(32)), modes.CTR(bytes(12) + (2).to_bytes(4, "big"))
    expected = Cipher(algorithms.AES256(key), counter).encryptor().update(bytes(1000))
    stream = keystream.keystream(key)
    assert stream.update(bytes(300)) + stream.update(bytes(700)) == expected


class Words:
    """A stream of given words of 24 bits."""

    def __init__(self, words):
        self.left = list(words)

    def update_into(self, data, out):
        for at in range(0, len(data), 3):
            out[at : at + 3] = self.left.pop(0).to_bytes(3, "little")


@pytest.mark.parametrize("kernels", [VectorisedKernels(), CompiledKernels()], ids=lambda one: one.name)
def test_words_that_are_not_below_the_prime_are_drawn_again(kernels):
    # Five words and two spare ones, one of them too large, so that two more have to be drawn.
    p = PRIMES[0].p
    stream, row = Words([1, p, 2, 2**24 - 1, p - 1, p + 1, 7, p, 8]), np.empty(3 * 7, dtype=np.uint8)
    stream.update_into(row, row.data)
    assert not kernels.redraw(row[:15], row[15:], p)
    keystream._redraw(stream, row[:15], row[15:], p, kernels)
    assert unpack(row[:15]).tolist() == [1, 7, 2, 8, p - 1]
    assert stream.left == []


class TestKeys:
    def test_a_key_is_derived_once(self):
        ring = keys()
        ring.key("wires", 3)
        with pytest.raises(SecFCError, match="the key for wires 3 was used"):
            ring.key("wires", 3)

    def test_each_part_of_the_place_makes_another_key(self):
        changes = [
            {"secret": SECRETS[1]},
            {"run": b"\1" + bytes(15)},
            {"round_": 2},
            {"part": 1},
            {"phase": "predict"},
        ]
        found = {
            Keys(**{"secret": SECRETS[0]} | PLACE | change).key(purpose, index)
            for change, purpose, index in product([{}, *changes], ("wires", "products"), (0, 1))
        }
        assert len(found) == 6 * 4

    def test_texts_cannot_run_into_each_other(self):
        one = Keys(SECRETS[0], **PLACE | {"phase": "ab"}).key("c", 0)
        assert one != Keys(SECRETS[0], **PLACE | {"phase": "a"}).key("bc", 0)

    @pytest.mark.parametrize("length", [0, 16, 31, 33])
    def test_a_secret_of_another_length_is_refused(self, length):
        with pytest.raises(ValueError, match=f"secret: {length} bytes given"):
            Keys(bytes(length), **PLACE)

    @pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
    @pytest.mark.parametrize("one", [keys(), BitStream(KEY)], ids=["keys", "stream"])
    def test_copies_are_refused(self, duplicate, one):
        with pytest.raises(SecFCError, match="cannot be copied or pickled"):
            duplicate(one)

    def test_no_text_shows_a_secret(self):
        for one in (keys(), BitStream(KEY)):
            assert SECRETS[0].hex() not in repr(one)
            assert "bytes of" in repr(one) or len(repr(one)) < 40


class TestKeysOfAParty:
    @pytest.fixture
    def me(self):
        me = parties_of(Codewords(n=3, t=1, ell=1, primes=primes_of(1)))[1]
        list(me.together([]))
        return me

    def test_a_phase_of_a_step_is_asked_for_once(self, me):
        me.keys(2, "masks")
        with pytest.raises(SecFCError, match=r"^keys of masks with party 2 were used in step 1$"):
            me.keys(2, "masks")
        with pytest.raises(SecFCError, match=r"^keys of masks with party 2 were used in step 1$"):
            replace(me, code=me.code.first_prime()).keys(2, "masks")

    def test_other_steps_parties_and_phases_have_other_keys(self, me):
        found = [me.keys(2, "masks"), me.keys(3, "masks"), me.keys(2, "others")]
        list(me.together([]))
        found.append(me.keys(2, "masks"))
        assert len({one.key("masks", 0) for one in found}) == 4

    def test_a_party_with_both_roles_has_the_same_keys_in_both(self, me):
        assert me.keys(1, "masks").key("masks", 0) == me.keys(1, "masks").key("masks", 0)


class TestBitStream:
    def test_it_is_the_keystream_in_order(self, monkeypatch):
        monkeypatch.setattr(keystream, "ZEROS", memoryview(bytes(40)))
        whole = np.frombuffer(keystream.keystream(KEY).update(bytes(8 * 100)), dtype=np.uint64)
        stream, parts = BitStream(KEY), []
        for size in (1, 3, 50, 46):
            parts.append(np.empty(size, dtype=np.uint64))
            stream.fill(parts[-1])
        assert np.array_equal(np.concatenate(parts), whole)

    def test_adding_is_filling_and_xor(self):
        words = np.arange(24, dtype=np.uint64).reshape(4, 6)
        added, filled = words.copy(), np.empty((4, 6), dtype=np.uint64)
        BitStream(KEY).add(added)
        BitStream(KEY).fill(filled)
        assert np.array_equal(added, words ^ filled)

    def test_what_is_not_contiguous_is_refused(self):
        for take in (BitStream(KEY).fill, BitStream(KEY).add):
            with pytest.raises(ValueError, match="not contiguous"):
                take(np.empty((4, 4), dtype=np.uint64)[:, ::2])

    def test_a_forked_process_is_refused(self, monkeypatch):
        stream = BitStream(KEY)
        monkeypatch.setattr(os, "getpid", lambda: -1)
        with pytest.raises(SecFCError, match="forked process"):
            stream.fill(np.empty(3, dtype=np.uint64))


class TestResidueStream:
    PRIMES = primes_of(4)

    def filled(self, rows, columns=3):
        found = np.zeros((4, columns, 3 * rows), dtype=np.uint8)
        ResidueStream(KEY, choose(1)).fill(found, self.PRIMES)
        return found

    @pytest.mark.parametrize("rows", [1, 2, 64, 1000])
    def test_all_primes_at_once_are_prime_by_prime(self, rows):
        found, stream = self.filled(rows), ResidueStream(KEY, choose(1))
        for plane, p in zip(found, self.PRIMES, strict=True):
            one = np.zeros_like(plane)
            stream.fill(one[np.newaxis], (p,))
            assert np.array_equal(plane, one)

    @pytest.mark.some(3)
    @pytest.mark.parametrize("rows", [64, 70_000])
    @pytest.mark.parametrize("spare", [None, 0, 1])
    def test_adding_is_filling_and_a_sum_however_few_words_are_spare(self, monkeypatch, rows, spare):
        if spare is not None:
            monkeypatch.setattr(keystream, "spare_words", lambda count, p: 1 + spare)
        found, columns = self.filled(rows, 1), np.array(self.PRIMES)[:, np.newaxis, np.newaxis]
        added = np.zeros_like(found)
        added[:, :, ::3] = 1
        ResidueStream(KEY, choose(1)).add(added, self.PRIMES)
        assert (unpack(found) < columns).all()
        assert np.array_equal(unpack(added), (unpack(found) + 1) % columns)
        assert len({plane.tobytes() for plane in found}) == 4

    def test_what_is_not_contiguous_is_refused(self):
        planes = np.zeros((4, 3, 12), dtype=np.uint8)
        for take in (ResidueStream(KEY, choose(1)).fill, ResidueStream(KEY, choose(1)).add):
            with pytest.raises(ValueError, match="not contiguous"):
                take(planes[:, :, :6], self.PRIMES)


def test_spare_words_are_hardly_ever_too_few():
    # Exact binomial tail, which is more than a block and its spare words may lack at each prime.
    for prime in PRIMES:
        for count in (1, 1000, keystream._BLOCK_BYTES // 3):
            drawn = count + keystream.spare_words(count, prime.p)
            assert binom.sf(drawn - count, drawn, 1 - prime.p / 2**24) < 2.0**-50


@pytest.mark.parametrize("prime", PRIMES, ids=lambda prime: str(prime.p))
def test_residues_are_uniform_below_the_prime(prime):
    found = np.zeros((1, 1, 3 * 60_000), dtype=np.uint8)
    ResidueStream(KEY, choose(1)).fill(found, (prime.p,))
    masks = unpack(found)[0]
    assert masks.max() < prime.p
    for counts in (
        np.histogram(masks, bins=128, range=(0, prime.p))[0],
        np.bincount(masks[0].astype(np.int64) % 128, minlength=128),
    ):
        expected = counts.sum() / counts.size
        chi = ((counts - expected) ** 2).sum() / expected
        assert abs(chi - 127) < 6 * (2 * 127) ** 0.5
