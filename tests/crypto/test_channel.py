"""Channels between two clients: sealed data opens only for its recipient and place."""

import copy
import hmac
import multiprocessing
import os
import pickle
import struct
import threading

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sweeps import every

from secfc.crypto.channel import SMALL, TAG_BYTES, Channels
from secfc.errors import MessageError, SealError, SecFCError

SECRET, TRANSCRIPT = bytes(range(32)), bytes(range(32, 64))


def pair(secret=SECRET, transcript=TRANSCRIPT, one=1, other=2):
    """A channel of client `one` to client `other`, and the other's to it."""
    return (
        Channels(secrets={other: secret}, transcript=transcript, me=one)[other],
        Channels(secrets={one: secret}, transcript=transcript, me=other)[one],
    )


def hkdf(secret, salt, info):
    """HKDF-SHA256 for 32 bytes, from RFC 5869."""
    key = hmac.digest(salt, secret, "sha256")
    return hmac.digest(key, info + b"\x01", "sha256")


@given(
    st.binary(max_size=200),
    st.binary(max_size=10),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**64 - 1),
)
@settings(deadline=None)
def test_what_one_client_seals_the_other_opens(payload, purpose, round_, part):
    one, other = pair()
    sealed = one.seal(purpose, part=part, payload=payload, round_=round_)
    assert len(sealed.payload) == len(payload) + TAG_BYTES
    assert other.open(purpose, part=part, sealed=sealed.payload, round_=round_) == payload


@pytest.mark.parametrize("size", [1 << 13, 1 << 21])
def test_a_large_payload_is_opened_where_nothing_was_changed(size):
    payload, (one, other) = (b"secfc" * size)[:size], pair()
    sealed = bytearray(one.seal(b"share", part=4, payload=payload, round_=3).payload)
    assert len(sealed) == size + TAG_BYTES
    assert other.open(b"share", part=4, sealed=sealed, round_=3) == payload
    for at in (0, size - 1, size, -1):
        sealed[at] ^= 1
        with pytest.raises(SealError, match=TEXT):
            other.open(b"share", part=4, sealed=sealed, round_=3)
        sealed[at] ^= 1
    for changed in (sealed[:-1], sealed[1:], sealed + b"\0"):
        with pytest.raises(SealError, match=TEXT):
            other.open(b"share", part=4, sealed=changed, round_=3)


def test_sealing_is_what_its_documentation_says():
    link = b"secfc seal 1" + struct.pack("<HH", 1, 2) + b"share"
    nonce = struct.pack("<IQ", 7, 9)
    expected = AESGCM(hkdf(SECRET, TRANSCRIPT, link)).encrypt(nonce, b"payload", link + b"\0" + nonce)
    assert bytes(pair()[0].seal(b"share", part=9, payload=b"payload", round_=7).payload) == expected


@pytest.mark.parametrize("size", [10, 1 << 14, 1 << 20])
def test_parts_are_sealed_as_if_they_were_joined(size):
    payload = os.urandom(size)
    parts = [payload[:5], memoryview(payload)[5:-3], b"", bytearray(payload[-3:])]
    sealed = [bytes(pair()[0].seal(b"share", part=1, payload=payload).payload)]
    sealed.append(bytes(pair()[0].seal_parts(b"share", part=1, parts=parts).payload))
    assert sealed[0] == sealed[1]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_bytes_like_payload_is_sealed_and_opened(kind):
    one, other = pair()
    sealed = one.seal(b"share", part=0, payload=kind(b"payload"))
    assert other.open(b"share", part=0, sealed=kind(bytes(sealed.payload))) == b"payload"


def test_equal_payloads_are_sealed_differently_for_every_place_purpose_and_link():
    sealed = set()
    for channel in (*pair(), *pair(one=1, other=3), *pair(transcript=bytes(32)), *pair(secret=bytes(32))):
        for purpose in (b"share", b"seeds"):
            for round_, part in ((0, 0), (0, 1), (1, 0)):
                sealed.add(bytes(channel.seal(purpose, part=part, payload=bytes(50), round_=round_).payload))
    assert len(sealed) == 8 * 2 * 3


TEXT = "^share: part 4 of round 3 from client 1 was not sealed by it for client 2 and this place in this run$"


@pytest.mark.parametrize(
    "place",
    [
        {"purpose": b"seeds"},
        {"purpose": b"share\0"},
        {"purpose": b""},
        {"part": 5},
        {"part": 3},
        {"round_": 2},
        {"round_": 4, "part": 3},
        {"round_": 0, "part": 4 + (3 << 32)},
    ],
    ids=str,
)
def test_it_does_not_open_in_another_place(place):
    one, other = pair()
    sealed = one.seal(b"share", part=4, payload=b"payload", round_=3)
    with pytest.raises(SealError, match="was not sealed by it for client 2"):
        other.open(**{"purpose": b"share", "part": 4, "round_": 3} | place, sealed=sealed.payload)
    assert other.open(b"share", part=4, sealed=sealed.payload, round_=3) == b"payload"


@pytest.mark.parametrize(
    "reader",
    [
        pytest.param(pair()[0], id="the sender itself"),
        pytest.param(pair(one=1, other=3)[1], id="another client with the same secret"),
        pytest.param(pair(one=3, other=2)[1], id="as from another client"),
        pytest.param(pair(transcript=bytes(32))[1], id="another transcript"),
        pytest.param(pair(secret=bytes(32))[1], id="another secret"),
    ],
)
def test_it_opens_for_nobody_else(reader):
    sealed = pair()[0].seal(b"share", part=4, payload=b"payload", round_=3)
    with pytest.raises(SealError):
        reader.open(b"share", part=4, sealed=sealed.payload, round_=3)


@every("at", range(7 + TAG_BYTES))
@every("bit", [1, 128])
def test_every_flipped_bit_is_found(at, bit):
    one, other = pair()
    sealed = bytearray(one.seal(b"share", part=4, payload=b"payload", round_=3).payload)
    sealed[at] ^= bit
    with pytest.raises(SealError, match=TEXT):
        other.open(b"share", part=4, sealed=sealed, round_=3)


@every("size", range(7 + TAG_BYTES))
def test_every_truncation_is_found(size):
    one, other = pair()
    sealed = one.seal(b"share", part=4, payload=b"payload", round_=3).payload
    for part in (sealed[:size], sealed[len(sealed) - size :]):
        with pytest.raises(SealError, match=TEXT):
            other.open(b"share", part=4, sealed=part, round_=3)


def test_an_error_holds_neither_payload_nor_cause():
    one, other = pair()
    sealed = bytearray(one.seal(b"share", part=0, payload=b"payload").payload)
    sealed[-1] ^= 1
    with pytest.raises(MessageError) as caught:
        other.open(b"share", part=0, sealed=sealed)
    assert caught.value.__cause__ is None
    assert "payload" not in str(caught.value)


@pytest.mark.parametrize("place", [(2, 5), (2, 4), (2, 0), (1, 9), (0, 0)])
def test_no_place_is_sealed_twice_or_out_of_order(place):
    one, _ = pair()
    one.seal(b"share", part=5, payload=b"payload", round_=2)
    text = f"^share: part {place[1]} of round {place[0]} to client 2 is not after the last$"
    with pytest.raises(SecFCError, match=text):
        one.seal(b"share", part=place[1], payload=b"other", round_=place[0])
    one.seal(b"share", part=6, payload=b"other", round_=2)
    one.seal(b"share", part=0, payload=b"other", round_=3)
    one.seal(b"seeds", part=0, payload=b"other")


def of_client_1():
    return Channels(secrets={2: SECRET, 3: SECRET[::-1], 7: bytes(32)}, transcript=TRANSCRIPT, me=1)


def test_a_channel_that_is_made_again_knows_what_was_sealed():
    every = of_client_1()
    every[2].seal(b"share", part=5, payload=b"payload")
    with pytest.raises(SecFCError, match="part 5 of round 0 to client 2 is not after"):
        every[2].seal(b"share", part=5, payload=b"other")
    every[3].seal(b"share", part=0, payload=b"payload")  # places of other clients are their own


def test_threads_seal_to_different_clients_at_once():
    secrets = {peer: bytes([peer] * 32) for peer in range(2, 202)}
    for _ in range(20):
        every, start = Channels(secrets=secrets, transcript=TRANSCRIPT, me=1), threading.Barrier(4)

        def seal(of_thread, every=every, start=start):
            start.wait(30)
            for peer in list(secrets)[of_thread::4]:
                every[peer].seal(b"share", part=0, payload=b"payload")

        threads = [threading.Thread(target=seal, args=(at,)) for at in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        for peer in secrets:
            with pytest.raises(SecFCError, match="not after the last"):
                every[peer].seal(b"share", part=0, payload=b"other")


def test_channels_are_a_mapping_to_the_other_clients():
    every = of_client_1()
    assert (list(every), len(every), 1 in every, 7 in every) == ([2, 3, 7], 3, False, True)
    assert (every.keys() - {2}, every.transcript) == ({3, 7}, TRANSCRIPT)
    with pytest.raises(KeyError):
        every[1]


@pytest.mark.parametrize("take", [copy.copy, copy.deepcopy, pickle.dumps])
@pytest.mark.parametrize("one", [pair()[0], of_client_1()], ids=["channel", "channels"])
def test_channels_cannot_be_copied_or_pickled(one, take):
    with pytest.raises(SecFCError, match="nonces would repeat"):
        take(one)


def seal_in_a_fork(channel, outcome):
    try:
        channel.seal(b"share", part=0, payload=b"payload")
    except SecFCError as error:
        outcome.put(str(error))
    else:
        outcome.put("sealed")


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_channel_seals_nothing_in_a_forked_process():
    context = multiprocessing.get_context("fork")
    outcome = context.SimpleQueue()
    process = context.Process(target=seal_in_a_fork, args=(pair()[0], outcome))
    process.start()
    process.join(30)
    assert outcome.get() == "a Channel was used in a forked process: its nonces would repeat"


def test_repr_shows_numbers_only():
    one, _ = pair()
    sealed = one.seal(b"share", part=0, payload=b"payload")
    assert repr(one) == "Channel(client 1 and client 2)"
    assert repr(of_client_1()) == "Channels(client 1 and 3 others)"
    assert repr(sealed) == f"Sealed(size={7 + TAG_BYTES})"


@pytest.mark.parametrize("size", [7, SMALL - 1, SMALL, 1 << 21])
def test_sealed_bytes_are_framed_without_a_copy_once_unless_they_are_few(size):
    (one, other), payload = pair(), (b"payload" * size)[:size]
    sealed = one.seal(b"share", part=0, payload=payload)
    first, second = sealed.framed(b"header"), sealed.framed(b"header")
    assert bytes(first) == bytes(second) == b"header" + bytes(sealed.payload)
    assert (size < SMALL) == isinstance(first, bytes)
    assert size < SMALL or first.obj is sealed.payload.obj
    assert other.open(b"share", part=0, sealed=first[6:]) == payload


def test_documented_derivation_of_a_key_is_rfc_5869():
    # Its test case 1, cut to 32 bytes, checks this module's own reference against the standard.
    okm = hkdf(b"\x0b" * 22, bytes(range(13)), bytes(range(0xF0, 0xFA)))
    assert okm.hex() == "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"


def test_both_ends_derive_the_same_key_of_masks_and_for_every_transcript_another():
    here, there = pair()
    keys = [here.mask_key(bytes([one]) * 32) for one in range(4)]
    assert keys == [there.mask_key(bytes([one]) * 32) for one in range(4)]
    assert len(set(keys)) == len(keys)


def test_runs_have_other_keys_of_masks():
    assert pair()[0].mask_key(bytes(32)) != pair(transcript=bytes(32))[0].mask_key(bytes(32))
