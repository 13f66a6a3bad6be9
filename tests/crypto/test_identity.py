"""Signatures: a process verifies a valid one once, and refuses an invalid one every time."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from support.sweeps import every
from support.torsion import ENCODINGS, IDENTITY, POINTS, P, added, encoded, point_with

from secfc.agreement.key_files import key_bytes, key_text
from secfc.crypto.handshake import check_ephemeral
from secfc.crypto.identity import Identity, Roster, check_signature, x25519_key, y_of
from secfc.errors import SealError
from secfc.protocol.job.thresholds import MAX_CLIENTS

STATEMENT = b"what client 1 says"


@pytest.fixture
def first():
    return Identity()


@pytest.fixture
def roster(first):
    return Roster((first.public, Identity().public))


def refused(roster, client, signature, statement):
    with pytest.raises(SealError, match=rf"^client {client}: "):
        roster.verify(client, signature, statement)


def test_a_statement_is_verified_once(first, roster):
    signature = first.sign(STATEMENT)
    before = check_signature.cache_info()
    for _ in range(3):
        roster.verify(1, signature, STATEMENT)
    after = check_signature.cache_info()
    assert (after.misses - before.misses, after.hits - before.hits) == (1, 2)


def test_a_wrong_signature_is_refused_every_time_also_after_the_right_one(first, roster):
    signature = first.sign(STATEMENT)
    wrong = bytes([signature[0] ^ 1]) + signature[1:]
    refused(roster, 1, wrong, STATEMENT)
    roster.verify(1, signature, STATEMENT)
    for _ in range(3):
        refused(roster, 1, wrong, STATEMENT)


def test_what_one_signed_is_refused_of_another_and_for_another_statement(first, roster):
    signature = first.sign(STATEMENT)
    roster.verify(1, signature, STATEMENT)
    for _ in range(2):
        refused(roster, 2, signature, STATEMENT)
        refused(roster, 1, signature, STATEMENT + b".")


def test_there_are_ten_keys_of_small_order_and_four_encodings_of_them_that_are_not_canonical():
    assert len(set(ENCODINGS)) == len(ENCODINGS) == 14


@every("key", ENCODINGS)
def test_a_key_of_small_order_is_no_identity_in_any_encoding(key):
    for read in (y_of, x25519_key, lambda one: key_bytes(key_text(one))):
        with pytest.raises(ValueError, match=r"small order|canonical"):
            read(key)
    with pytest.raises(ValueError, match=r"small order|canonical"):
        check_signature(key, IDENTITY + bytes(32), STATEMENT)


def test_a_signature_that_anybody_can_make_for_a_key_of_small_order_is_refused():
    signature = IDENTITY + bytes(32)
    Ed25519PublicKey.from_public_bytes(IDENTITY).verify(signature, STATEMENT)  # valid by RFC 8032, 5.1.7
    refused(Roster((IDENTITY,)), 1, signature, STATEMENT)


@pytest.mark.parametrize("point", POINTS)
def test_the_sum_of_the_base_point_and_a_point_of_small_order_is_not_taken_for_one_of_small_order(point):
    _, y = added(point_with(4 * pow(5, -1, P) % P), point)
    assert y_of(encoded(y, sign=1)) == y


def test_an_ephemeral_key_of_small_order_is_refused_every_time():
    for _ in range(3):
        with pytest.raises(ValueError, match=r"^Error"):
            check_ephemeral(bytes(32))


@pytest.mark.parametrize("check", [check_signature, check_ephemeral])
def test_what_is_remembered_is_bounded_and_enough_for_the_largest_job(check):
    assert MAX_CLIENTS < check.cache_info().maxsize <= 4 * MAX_CLIENTS
