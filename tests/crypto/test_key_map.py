"""The map from Ed25519 to X25519 keys."""

import hashlib

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st
from support.sweeps import every

from secfc.crypto.identity import Identity, x25519_key

SEED = bytes.fromhex("421151a459faeade3d247115f94aedae42318124095afabe4d1451a559faedee")
"""From libsodium's test/default/ed25519_convert.c; the keys are those of ed25519_convert.exp."""
PUBLIC = "f1814f0e8ff1043d8a44d25babff3cedcae6c22c3edaa48f857ae70de2baae50"
PRIVATE = "8052030376d47112be7f73ed7a019293dd12ad910b654455798b4667d73de166"
P = 2**255 - 19


def encoded(y, sign=0):
    return (y | sign << 255).to_bytes(32, "little")


def test_keys_are_mapped_as_libsodium_maps_them():
    identity, peer = Identity(SEED), X25519PrivateKey.from_private_bytes(bytes(range(32)))
    assert x25519_key(identity.public).hex() == PUBLIC
    theirs = X25519PrivateKey.from_private_bytes(bytes.fromhex(PRIVATE))
    assert theirs.public_key().public_bytes_raw().hex() == PUBLIC
    assert identity.secret_with(peer.public_key()) == theirs.exchange(peer.public_key())


def test_the_base_point_is_mapped_to_that_of_x25519():
    """RFC 8032, 5.1: y = 4/5. RFC 7748, 4.1: u = 9."""
    assert x25519_key(encoded(4 * pow(5, -1, P) % P)) == encoded(9)


@given(st.binary(min_size=32, max_size=32))
def test_both_halves_of_a_key_are_mapped_to_one_pair(seed):
    scalar = X25519PrivateKey.from_private_bytes(hashlib.sha512(seed).digest()[:32])
    assert x25519_key(Identity(seed).public) == scalar.public_key().public_bytes_raw()


@every(
    ("key", "told"),
    [
        *[(encoded(y, sign), "canonical") for y in (P, P + 1, 2**255 - 1) for sign in (0, 1)],
        (b"", "canonical"),
        (bytes(31), "canonical"),
        (bytes(33), "canonical"),
        *[(encoded(y, sign), "no point of the curve") for y in (2, 7) for sign in (0, 1)],
        *[(encoded(y, sign), "small order") for y in (1, P - 1) for sign in (0, 1)],  # orders 1 and 2
    ],
)
def test_what_is_no_canonical_point_or_has_a_small_order_is_refused(key, told):
    with pytest.raises(ValueError, match=told):
        x25519_key(key)


@pytest.mark.parametrize(
    "key",
    [
        bytes(32),  # order 4
        bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),  # order 8
        bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"),
    ],
)
def test_points_of_small_order_that_are_on_the_curve_are_refused(key):
    """The list of libsodium's `ge25519_has_small_order`."""
    with pytest.raises(ValueError, match=r".+"):
        x25519_key(key)
