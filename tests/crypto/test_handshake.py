"""Introductions: without signed, pinned and equal introductions for all there is no channel."""

import copy
import hashlib
import json
import pickle
import struct
from dataclasses import asdict, replace

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from support.sweeps import every

from secfc.crypto import handshake
from secfc.crypto.handshake import (
    Handshake,
    Introduction,
    PairSecrets,
    check_ephemeral,
    digest_of,
    transcript_of,
)
from secfc.crypto.identity import Identity, Roster
from secfc.errors import MessageError, ParameterError, SealError, SecFCError
from secfc.protocol.job.making import changed_job, make_job
from secfc.version import PROTOCOL_BYTES

JOB = make_job(n=3, k=2, t=1, ell=1, d=2, bound=20.0, disclosure="coded")
RUN = bytes(range(16))
NOT_SIGNED = (
    r"^client {}: what it says of itself is not signed for this run, job and roster by the key that is pinned"
)

# Points of small order, whose product with every private key is zero (RFC 7748, section 7).
P25519 = 2**255 - 19
SMALL_ORDER = {
    "0": 0,
    "1": 1,
    "p - 1": P25519 - 1,
    "p": P25519,
    "p + 1": P25519 + 1,
    "order 8": int.from_bytes(
        bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"), "little"
    ),
    "order 8, the other": int.from_bytes(
        bytes.fromhex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"), "little"
    ),
}


class Group:
    """Three clients with their identities, before the handshake."""

    def __init__(self, *, run=RUN, job=JOB, identities=None, coordinator=None, starts=(None, None, None)):
        self.identities = identities or [Identity() for _ in range(3)]
        self.coordinator = coordinator or Identity()
        roster = Roster(tuple(one.public for one in self.identities), self.coordinator.public)
        self.session = job.session(roster, run)
        self.sides = [
            Handshake(session=self.session, number=j, identity=one, rows=10 * j, start=starts[j - 1])
            for j, one in enumerate(self.identities, 1)
        ]
        self.introductions = [side.introduction for side in self.sides]

    def sign(self, client, **changes):
        """A client's introduction with changes, signed by the client."""
        said = replace(self.introductions[client - 1], **changes)
        statement = (
            b"secfc introduction 1"
            + self.session.run
            + self.session.agreement
            + struct.pack("<HII", client, said.rows, said.smallest)
            + said.start
            + said.weights
            + said.ephemeral
            + said.commitment
        )
        return replace(said, signature=self.identities[client - 1].sign(statement))

    def with_(self, client, introduction):
        return [introduction if j == client else one for j, one in enumerate(self.introductions, 1)]


@pytest.fixture
def group():
    return Group()


def opens(one, other, payload=b"payload"):
    """Whether client 2's channel opens what client 1 seals with its channel."""
    sealed = one[2].seal(b"share", part=0, payload=payload)
    try:
        return other[1].open(b"share", part=0, sealed=sealed.payload) == payload
    except SealError:
        return False


def test_every_pair_of_clients_has_a_channel(group):
    channels = {j: side.channels(group.introductions) for j, side in enumerate(group.sides, 1)}
    assert {j: sorted(one) for j, one in channels.items()} == {1: [2, 3], 2: [1, 3], 3: [1, 2]}
    for one, others in channels.items():
        for other, channel in others.items():
            sealed = channel.seal(b"share", part=0, payload=b"payload")
            assert channels[other][one].open(b"share", part=0, sealed=sealed.payload) == b"payload"


def test_statement_and_transcript_are_what_their_documentation_says(group):
    assert group.sign(2) == group.introductions[1]
    said = b"".join(
        struct.pack("<HII", j, one.rows, one.smallest)
        + one.start
        + one.weights
        + one.ephemeral
        + one.commitment
        for j, one in enumerate(group.introductions, 1)
    )
    expected = hashlib.sha256(b"secfc transcript 1" + RUN + group.session.agreement + said).digest()
    assert transcript_of(group.session, dict(enumerate(group.introductions, 1))) == expected


def test_the_agreement_is_a_digest_of_the_job_and_the_roster(group):
    cases = {"rows": "Own", "method": "Cluster", "disclosure": "Coded"}
    said = asdict(JOB)
    for name, case in cases.items():
        said[name]["case"] = case
    job = hashlib.sha256(b"secfc job 2" + json.dumps(said, sort_keys=True).encode()).digest()
    keys = b"".join(one.public for one in (group.coordinator, *group.identities))
    roster = hashlib.sha256(b"secfc roster 2\x01" + keys).digest()
    said = b"secfc agreement 2" + PROTOCOL_BYTES + job + roster
    assert group.session.agreement == hashlib.sha256(said).digest()


@pytest.mark.parametrize(
    "change",
    [
        {"k": 3},
        {"n": 4},
        {"d": 3},
        {"bound": np.nextafter(20.0, 21.0).item()},
        {"precision": 31},
        {"init": "separation"},
        {"n_init": 2},
        {"max_iter": 299},
        {"tol_moved": 0.001},
    ],
    ids=str,
)
def test_every_parameter_of_a_job_is_in_its_digest(change):
    assert changed_job(JOB, **change).digest != JOB.digest
    assert changed_job(JOB).digest == JOB.digest


@pytest.mark.parametrize("zero", [0, 0.0, -0.0])
def test_a_tolerance_of_zero_is_one_job_however_it_is_written(zero):
    assert changed_job(JOB, tol_moved=zero).digest == JOB.digest


def test_every_run_has_another_ephemeral_key(group):
    again = Group(identities=group.identities, coordinator=group.coordinator)
    keys = {one.ephemeral for one in (*group.introductions, *again.introductions)}
    assert len(keys) == 6


# Introductions that are not as their client signed them


@every("client", [2, 3])
@every(
    "changes",
    [
        {"rows": 11},
        {"rows": 0},
        {"start": bytes(32)},
        {"weights": bytes(32)},
        {"ephemeral": X25519PrivateKey.generate().public_key().public_bytes_raw()},
        {"signature": bytes(64)},
    ],
)
def test_a_changed_introduction_is_refused_and_its_client_named(group, client, changes):
    changed = replace(group.introductions[client - 1], **changes)
    with pytest.raises(SealError, match=NOT_SIGNED.format(client)):
        group.sides[0].channels(group.with_(client, changed))


@every("at", range(64))
def test_a_signature_with_a_flipped_bit_is_refused(group, at):
    signature = bytearray(group.introductions[1].signature)
    signature[at] ^= 4
    changed = replace(group.introductions[1], signature=bytes(signature))
    with pytest.raises(SealError, match=NOT_SIGNED.format(2)):
        group.sides[0].channels(group.with_(2, changed))


def test_an_ephemeral_key_signed_by_an_unpinned_identity_is_refused(group):
    # What a server between two clients would do.
    stranger = Group(
        identities=[group.identities[0], Identity(), group.identities[2]], coordinator=group.coordinator
    )
    with pytest.raises(SealError, match=NOT_SIGNED.format(2)):
        group.sides[0].channels(group.with_(2, stranger.introductions[1]))


def test_a_client_cannot_be_introduced_as_another(group):
    first, second, _ = group.introductions
    with pytest.raises(SealError, match=NOT_SIGNED.format(3)):
        group.sides[0].channels([first, second, second])
    with pytest.raises(SealError, match=NOT_SIGNED.format(2)):
        group.sides[0].channels([first, first, group.introductions[2]])


@pytest.mark.parametrize(
    "other",
    [
        {"run": bytes(16)},
        {"job": changed_job(JOB, k=3)},
    ],
    ids=lambda other: next(iter(other)),
)
def test_an_introduction_to_another_run_or_job_is_refused(group, other):
    elsewhere = Group(identities=group.identities, coordinator=group.coordinator, **other)
    with pytest.raises(SealError, match=NOT_SIGNED.format(2)):
        group.sides[0].channels(group.with_(2, elsewhere.introductions[1]))


@pytest.mark.parametrize("changes", [{"rows": 9}, {"start": bytes(32)}, {"ephemeral": bytes(32)}], ids=str)
def test_the_own_introduction_comes_back_as_it_was_sent(group, changes):
    # Even if signed with its own identity, as by a second process of the same party.
    with pytest.raises(SealError, match=r"^client 1: the server returned its own introduction with changes$"):
        group.sides[0].channels(group.with_(1, group.sign(1, **changes)))


def test_the_own_introduction_of_another_attempt_is_refused(group):
    again = Group(identities=group.identities, coordinator=group.coordinator)
    with pytest.raises(SealError, match=r"^client 1: the server returned its own introduction with changes$"):
        group.sides[0].channels(again.introductions)


@pytest.mark.parametrize("count", [0, 1, 2, 4])
def test_another_number_of_introductions_is_refused(group, count):
    with pytest.raises(MessageError, match=f"^{count} clients introduced, the roster has 3$"):
        group.sides[0].channels((group.introductions * 2)[:count])


@every("point", SMALL_ORDER.values())
@every("high_bit", [0, 1 << 255])
def test_an_ephemeral_key_of_small_order_is_refused_though_signed(group, point, high_bit):
    key = (point | high_bit).to_bytes(32, "little")
    with pytest.raises(SealError, match=r"^client 2: its ephemeral key shares no secret$"):
        group.sides[0].channels(group.with_(2, group.sign(2, ephemeral=key)))


# Different introductions for different clients


@pytest.mark.parametrize(
    "changes",
    [
        {"rows": 31},
        {"start": bytes(32)},
        {"weights": bytes(32)},
        {"ephemeral": X25519PrivateKey.generate().public_key().public_bytes_raw()},
        {"commitment": bytes(32)},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_clients_that_were_told_different_things_of_a_third_cannot_open_each_others_mail(group, changes):
    # Client 3 has signed two introductions, so each of them verifies.
    one = group.sides[0].channels(group.introductions)
    other = group.sides[1].channels(group.with_(3, group.sign(3, **changes)))
    assert not opens(one, other)
    assert opens(group.sides[0].channels(group.introductions), group.sides[1].channels(group.introductions))


def test_a_replayed_introduction_of_an_earlier_attempt_opens_nothing(group):
    # Same run, job and roster. Client 2 has started anew, and the server gives client 1 its old introduction.
    again = Group(identities=group.identities, coordinator=group.coordinator)
    old = group.introductions[1]
    one = again.sides[0].channels(again.with_(2, old))
    other = again.sides[1].channels(again.introductions)
    assert not opens(one, other)


def test_what_was_sealed_in_one_attempt_does_not_open_in_another(group):
    again = Group(identities=group.identities, coordinator=group.coordinator)
    assert not opens(
        group.sides[0].channels(group.introductions), again.sides[1].channels(again.introductions)
    )


# Parameters, and what is shown


def test_an_identity_that_is_not_pinned_at_its_number_is_an_error(group):
    with pytest.raises(ParameterError, match=r"^client 2: its identity is not the one pinned in the roster$"):
        Handshake(session=group.session, number=2, identity=group.identities[0], rows=1, start=None)


def test_a_roster_of_another_size_is_an_error(group):
    with pytest.raises(ParameterError, match=r"^roster: it has 3 parties, the job has 5$"):
        changed_job(JOB, n=5).session(group.session.roster, RUN)


@pytest.mark.parametrize("size", [0, 31, 33])
def test_a_key_of_another_length_is_an_error(size):
    text = f"^roster: the key of client 2 has {size} bytes, 32 are needed$"
    with pytest.raises(ParameterError, match=text):
        Roster((bytes(32), bytes(size)))
    with pytest.raises(ParameterError, match=f"^identity: a private key has 32 bytes, {size} were given$"):
        Identity(bytes(size))


def test_a_key_pinned_twice_is_an_error(group):
    keys = group.session.roster.keys
    with pytest.raises(ParameterError, match=r"^roster: client 1 and client 3 have the same key$"):
        Roster((keys[0], keys[1], keys[0]))


def test_start_labels_are_in_the_digest_and_their_type_is_not():
    labels = np.array([0, 1, 65534])
    expected = hashlib.sha256(struct.pack("<3i", 0, 1, 65534)).digest()
    for kind in (np.int32, np.int64, np.uint16, ">i4"):
        assert digest_of(labels.astype(kind)) == expected
    assert digest_of(None) == digest_of(labels[:0]) == hashlib.sha256().digest()


@pytest.mark.parametrize("take", [copy.copy, copy.deepcopy, pickle.dumps])
def test_identities_and_handshakes_cannot_be_copied_or_pickled(group, take):
    for secret in (group.identities[0], group.sides[0]):
        with pytest.raises(SecFCError, match="cannot be copied or pickled"):
            take(secret)


def test_repr_shows_no_key(group):
    assert repr(group.identities[0]) == "Identity()"
    assert repr(group.sides[0]) == "Handshake(client 1)"
    assert repr(group.introductions[0]) == "Introduction(rows=10)"
    assert repr(group.session) == "Session(roster=Roster())"


class TestPairSecrets:
    def met(self):
        """Two parties of one process and one of another, and what the two share."""
        group, shared = Group(), PairSecrets()
        group.sides = [
            Handshake(
                session=group.session,
                number=j,
                identity=one,
                rows=10 * j,
                start=None,
                secrets=shared if j < 3 else None,
            )
            for j, one in enumerate(group.identities, 1)
        ]
        group.introductions = [side.introduction for side in group.sides]
        return group, shared

    def test_channels_are_those_of_parties_apart(self):
        group, _ = self.met()
        channels = {j: side.channels(group.introductions) for j, side in enumerate(group.sides, 1)}
        for one, others in channels.items():
            for other, channel in others.items():
                sealed = channel.seal(b"share", part=0, payload=b"payload")
                assert channels[other][one].open(b"share", part=0, sealed=sealed.payload) == b"payload"

    def test_a_secret_of_a_pair_is_computed_once_and_then_forgotten(self, monkeypatch):
        group, shared = self.met()
        computed = []
        monkeypatch.setattr(
            handshake, "check_ephemeral", lambda key: computed.append(key) or check_ephemeral(key)
        )
        group.sides[0].channels(group.introductions)
        assert repr(shared) == "PairSecrets(waiting=1)"  # not the secret with who is elsewhere
        before = computed.count(group.introductions[0].ephemeral)
        group.sides[1].channels(group.introductions)
        assert computed.count(group.introductions[0].ephemeral) == before
        assert repr(shared) == "PairSecrets(waiting=0)"

    def test_parties_that_were_shown_other_introductions_cannot_open(self):
        group, _ = self.met()
        changed = group.with_(3, group.sign(3, rows=31))
        one, other = group.sides[0].channels(group.introductions), group.sides[1].channels(changed)
        sealed = one[2].seal(b"share", part=0, payload=b"payload")
        with pytest.raises(SealError):
            other[1].open(b"share", part=0, sealed=sealed.payload)

    def test_a_key_that_another_party_copied_gives_nobody_anothers_secret(self):
        """Client 3 shows the key of client 1: whoever computes with it has the secret with client 1."""
        group, _ = self.met()
        copied = group.with_(3, group.sign(3, ephemeral=group.introductions[0].ephemeral))
        one, other = group.sides[0].channels(copied), group.sides[1].channels(copied)
        sealed = one[2].seal(b"share", part=0, payload=b"payload")
        assert other[1].open(b"share", part=0, sealed=sealed.payload) == b"payload"
        with pytest.raises(SealError):
            other[3].open(b"share", part=0, sealed=sealed.payload)

    @pytest.mark.parametrize("take", [copy.copy, copy.deepcopy, pickle.dumps])
    def test_it_cannot_be_copied_or_pickled(self, take):
        with pytest.raises(SecFCError, match="cannot be copied"):
            take(PairSecrets())


def test_a_process_verifies_the_introductions_of_a_plan_once_and_refused_ones_each_time(group, monkeypatch):
    verified = []
    verify = Introduction.verify

    def noted(one, session, client):
        verified.append(client)
        verify(one, session, client)

    monkeypatch.setattr(Introduction, "verify", noted)
    for side in group.sides:
        side.channels(group.introductions)
    assert verified == [1, 2, 3]
    forged = group.with_(3, replace(group.introductions[2], rows=31))
    for side in group.sides[:2]:
        with pytest.raises(SealError, match="client 3"):
            side.channels(forged)
    assert verified == [1, 2, 3] * 3
