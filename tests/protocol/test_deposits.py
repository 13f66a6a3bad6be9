"""Deposits: what a member accepts and refuses, which owners are left out, and what an owner opens."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from secfc.agreement.deposits.complete import complete
from secfc.crypto.identity import Identity, Roster
from secfc.crypto.randomness import MaskSource
from secfc.errors import (
    DataError,
    MessageError,
    ParameterError,
    SealError,
    SecFCError,
    TooManyFaultsError,
)
from secfc.field.packing import unpack
from secfc.field.primes import primes_of
from secfc.kernels import choose
from secfc.protocol.job.cases import Deposited
from secfc.protocol.job.making import changed_job, make_job
from secfc.sharing.codewords import Codewords
from secfc.sharing.deposits import Call, Intake, Owner, label_shares_of, sealed_labels_of
from secfc.sharing.proof import COVERS

_RNG = np.random.default_rng(51)
ROWS = [_RNG.normal(size=(m, 3)).round(2) for m in (4, 1, 6, 300)]
JOB = make_job(n=7, k=3, t=2, ell=2, d=3, bound=20.0)
KERNELS = choose(0)
MOST = tuple(map(len, ROWS))


class Party:
    """Members, owners, and a call that all of them know."""

    def __init__(self, run=bytes(16), job=JOB, most_rows=MOST):
        self.members = [Identity() for _ in range(job.parties)]
        roster = Roster(tuple(one.public for one in self.members), Identity().public)
        self.identities = [Identity() for _ in ROWS]
        self.call = self.of(job.session(roster, run), job, most_rows)

    def of(self, session, job, most_rows):
        keys = tuple(one.public for one in self.identities)
        return Call(job=job, session=session, keys=keys, most_rows=most_rows)

    def owner(self, number, call=None, rows=None):
        return Owner(
            call or self.call,
            number=number,
            identity=self.identities[number - 1],
            rows=ROWS[number - 1] if rows is None else rows,
            kernels=KERNELS,
        )

    def intake(self, number):
        return Intake(self.call, number=number, identity=self.members[number - 1], kernels=KERNELS)

    @property
    def intakes(self):
        return {j: self.intake(j) for j in range(1, JOB.n + 1)}

    def complete(self, intakes):
        held = {j: one.held for j, one in intakes.items()}
        return complete(self.call, held, {j: one.refused for j, one in intakes.items()})


@pytest.fixture
def party():
    return Party()


def dealt(party, *, changed=None, number=1, **more):
    """An owner's deposits. `changed` changes the pieces of all members before they are sealed."""
    owner = party.owner(number, **more)
    if changed is None:
        return owner.deposit()
    real = Codewords.deal

    def deal(code, values, kernels):
        pieces = real(code, values, kernels)
        changed(pieces)
        return pieces

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Codewords, "deal", deal)
        return owner.deposit()


def wrong_byte(member, at=0):
    """One wrong byte for a member: in shares for `at` from 0 on, in covers up to -1."""

    def change(pieces):
        pieces[member - 1, 0, at] ^= 1

    return change


def refused(intake, deposit):
    with pytest.raises(MessageError, match=r"its shares are not consistent$"):
        intake.take(deposit)
    return intake.refused


def taken(intake, *given):
    for deposit in given:
        intake.take(deposit)
    return intake


@pytest.mark.parametrize("member", range(1, JOB.n + 1))
@pytest.mark.parametrize("at", [pytest.param(0, id="share"), pytest.param(-3, id="cover")])
def test_shares_that_lie_on_no_polynomial_are_found_by_the_member_that_has_one(party, at, member):
    given = dealt(party, changed=wrong_byte(member, at))
    for j, intake in party.intakes.items():
        if j == member:
            assert refused(intake, given[j - 1]) == {1: "its shares are not consistent"}
            assert not intake.held
        else:
            assert list(taken(intake, given[j - 1]).held) == [1]


def test_a_wrong_share_of_the_last_row_is_found(party):
    intake = taken(party.intake(7), *(party.owner(j).deposit()[6] for j in range(1, 5)))
    assert {owner: rows for owner, (rows, _) in intake.held.items()} == {1: 4, 2: 1, 3: 6, 4: 300}
    last = 3 * (2 * 300 - 1)
    assert refused(party.intake(7), dealt(party, number=4, changed=wrong_byte(7, last))[6])


@pytest.mark.parametrize("number", [1, 4])
def test_an_owner_of_inconsistent_shares_is_left_out_as_a_whole_and_others_stay(party, number):
    intakes = party.intakes
    for owner in (1, 2, 4):
        changed = wrong_byte(7, 5) if owner == number else None
        for j, deposit in enumerate(dealt(party, number=owner, changed=changed), 1):
            if (owner, j) == (number, 7):
                refused(intakes[j], deposit)
            else:
                intakes[j].take(deposit)
    found = party.complete(intakes)
    rows = [4, 1, 0, 300]
    rows[number - 1] = 0
    assert found.owners == tuple(rows)
    assert found.left_out == {number: "member 7: its shares are not consistent"}


def test_a_residue_that_is_not_below_its_prime_is_refused_though_it_is_consistent(party):
    """Residue plus prime fits three bytes for some of 600 residues. If for none, another deposit is dealt."""
    p, above = party.call.primes[0], []

    def change(pieces):
        own = pieces[6, 0]
        values = unpack(own[: 3 * JOB.width * 300])
        for at in np.flatnonzero(values < (1 << 24) - p)[:1].tolist():
            own[3 * at : 3 * at + 3] = list(int(values[at] + p).to_bytes(3, "little"))
            above.append(at)

    while not above:
        given = dealt(party, number=4, changed=change)[6]
    assert refused(party.intake(7), given) == {4: "its shares are not consistent"}


def test_the_proof_of_other_rows_does_not_fit(party):
    """An owner that signs the proof of its second dealing with the head of its first."""
    (first, second), call = (party.owner(1).deposit() for _ in range(2)), party.call
    proof = second[0][call.head_bytes : call.signed_bytes - 64]
    said = first[0][: call.head_bytes] + proof
    said += party.identities[0].sign(b"secfc deposit 1" + call.digest + said)
    assert refused(party.intake(7), said + first[6][call.signed_bytes :])


class TestRefusals:
    def test_what_its_owner_did_not_sign_counts_against_nobody(self, party):
        given = party.owner(1).deposit()[0]
        intake = party.intake(1)
        for at in (0, 40, party.call.head_bytes + 1, party.call.signed_bytes - 1, len(given) - 1):
            forged = bytearray(given)
            forged[at] ^= 1
            with pytest.raises(MessageError, match=r"^deposit"):
                intake.take(bytes(forged))
        intake.take(given)
        assert (list(intake.held), intake.refused) == ([1], {})

    def test_a_second_deposit_is_refused_and_the_first_stays(self, party):
        first, second = party.owner(1).deposit(), party.owner(1).deposit()
        intake = taken(party.intake(1), first[0])
        before = intake.held
        for again in (first[0], second[0]):
            with pytest.raises(MessageError, match=r"^deposit of owner 1: a second one$"):
                intake.take(again)
        assert intake.held == before

    def test_a_deposit_for_another_call_member_or_committee_is_refused(self, party):
        other = party.of(replace(party.call.session, run=bytes([1] * 16)), JOB, MOST)
        agreed = party.of(replace(party.call.session, agreement=bytes(32)), JOB, MOST)
        for call in (other, agreed, party.of(party.call.session, JOB, (5, *MOST[1:]))):
            with pytest.raises(SealError, match="not signed by it for this call"):
                party.intake(1).take(party.owner(1, call).deposit()[0])
        with pytest.raises(SealError, match="not the piece that it signed for this member"):
            party.intake(1).take(party.owner(1).deposit()[1])
        thief = Intake(party.call, number=1, identity=Identity(), kernels=KERNELS)
        with pytest.raises(MessageError, match="its piece cannot be opened"):
            thief.take(party.owner(1).deposit()[0])

    @pytest.mark.parametrize("size", [0, 1, 100])
    def test_a_deposit_of_another_length_is_refused(self, party, size):
        given = party.owner(1).deposit()[0]
        for wrong in (given[:size], given + bytes(size + 1), given[:-1]):
            with pytest.raises(MessageError, match=r"^deposit"):
                party.intake(1).take(wrong)

    @pytest.mark.parametrize(
        ("owner", "rows"), [(0, 4), (5, 4), (2**32 - 1, 4), (1, 0), (1, 2**32 - 1), (1, 5)]
    )
    def test_an_owner_or_number_of_rows_that_there_is_not_is_refused(self, party, owner, rows):
        given = party.owner(1).deposit()[0]
        head = owner.to_bytes(4, "little") + rows.to_bytes(4, "little")
        with pytest.raises(MessageError, match=r"^deposit"):
            party.intake(1).take(head + given[8:])

    def test_an_owner_deposits_no_more_rows_than_the_call_has_for_it(self):
        party = Party(most_rows=(4, 2, 5, 300))
        intake = taken(party.intake(1), *(party.owner(j).deposit()[0] for j in (1, 2, 4)))
        with pytest.raises(MessageError, match=r"deposit of owner 3: .* for 6 rows"):
            intake.take(party.owner(3).deposit()[0])
        assert {owner: rows for owner, (rows, _) in intake.held.items()} == {1: 4, 2: 1, 4: 300}

    def test_a_piece_that_does_not_open_though_it_was_signed_counts_against_its_owner(self, party):
        given, call = party.owner(1).deposit()[0], party.call
        sealed = bytes(len(given) - call.signed_bytes)
        head = bytearray(given[: call.head_bytes])
        head[40:72] = hashlib.sha256(sealed).digest()
        said = bytes(head) + given[call.head_bytes : call.signed_bytes - 64]
        said += party.identities[0].sign(b"secfc deposit 1" + call.digest + said)
        intake = party.intake(1)
        with pytest.raises(MessageError, match="its piece cannot be opened"):
            intake.take(said + sealed)
        assert intake.refused == {1: "its piece cannot be opened"}
        with pytest.raises(MessageError, match="a second one"):
            intake.take(party.owner(1).deposit()[0])

    def test_an_ephemeral_key_of_small_order_counts_against_its_owner(self, party):
        given, call = party.owner(1).deposit()[0], party.call
        said = given[:8] + bytes(32) + given[40 : call.signed_bytes - 64]
        said += party.identities[0].sign(b"secfc deposit 1" + call.digest + said)
        with pytest.raises(MessageError, match="its piece cannot be opened"):
            party.intake(1).take(said + given[call.signed_bytes :])

    def test_an_owner_needs_rows_within_the_bound_and_its_own_key(self, party):
        with pytest.raises(DataError, match="owner 1"):
            party.owner(1, rows=np.full((2, 3), 90.0))
        with pytest.raises(ParameterError, match="owner 1: a row, and the key"):
            party.owner(1, rows=np.empty((0, 3)))
        with pytest.raises(ParameterError, match="owner 2: a row, and the key"):
            Owner(party.call, number=2, identity=party.identities[0], rows=ROWS[1], kernels=KERNELS)


def test_an_owner_deals_once(party):
    """A second deposit would seal other shares with the same key and place."""
    owner = party.owner(1)
    owner.deposit()
    with pytest.raises(SecFCError, match="owner 1: it has dealt its rows"):
        owner.deposit()


class TestComplete:
    def test_a_deposit_that_one_member_lacks_leaves_its_owner_out(self, party):
        intakes = party.intakes
        for number in (1, 2):
            for j, deposit in enumerate(party.owner(number).deposit(), 1):
                if (number, j) != (2, 5):
                    intakes[j].take(deposit)
        found = party.complete(intakes)
        assert (found.owners, found.left_out) == ((4, 0, 0, 0), {2: "member 5 has no deposit of it"})

    def test_an_owner_that_deals_twice_to_different_members_is_left_out(self, party):
        intakes, twice = party.intakes, [party.owner(1).deposit() for _ in range(2)]
        for j, intake in intakes.items():
            intake.take(twice[j % 2][j - 1])
        found = party.complete(intakes)
        assert (found.owners, found.left_out) == (
            (0, 0, 0, 0),
            {1: "members have different deposits of it"},
        )

    def test_a_member_does_not_take_part_with_other_deposits_than_the_job_says(self, party):
        intakes = party.intakes
        for number in (1, 2):
            for j, deposit in enumerate(party.owner(number).deposit(), 1):
                intakes[j].take(deposit)
        found = party.complete(intakes)
        other = taken(party.intake(3), *(party.owner(number).deposit()[2] for number in (1, 2)))
        job = changed_job(JOB, owners=found.owners, deposits=found.deposits)
        with pytest.raises(ParameterError, match="member 3: it holds other deposits than the other members"):
            other.keep(job.rows)
        with pytest.raises(ParameterError, match="member 3: it holds other deposits than the job says"):
            taken(party.intake(3), party.owner(1).deposit()[2]).keep(job.rows)
        intakes[3].keep(job.rows)
        with pytest.raises(MessageError, match="after the job said whose deposits count"):
            intakes[3].take(party.owner(3).deposit()[2])
        assert list(intakes[3].held) == [1, 2]


def shares_of(labels, k=JOB.k):
    """Each member's shares, shape (k, m), of one-hot labels, as a run ends with them."""
    code = Codewords(n=JOB.n, t=JOB.t, ell=JOB.ell, primes=primes_of(1))
    bits = (np.array(labels) == np.arange(k)[:, np.newaxis]).astype(np.float64).reshape(1, 1, -1)
    masks = np.stack([MaskSource().uniform(code.primes[0], (code.t, bits.shape[2]))])
    values = np.concatenate([np.repeat(bits, code.ell, axis=1), masks], axis=1)
    return [unpack(one[0]).reshape(k, -1) for one in code.deal(values, KERNELS)]


class TestLabels:
    def sealed(self, party, labels=(0, 2, 1, 1, 0), changed=()):
        """What each member seals to owners 1 and 2, and owner 1. `changed` members seal other shares."""
        first, second = party.owner(1), party.owner(2)
        given, intakes = [first.deposit(), second.deposit()], party.intakes
        for j, intake in intakes.items():
            taken(intake, given[0][j - 1], given[1][j - 1])
        found = party.complete(intakes)
        job = changed_job(JOB, owners=found.owners, deposits=found.deposits)
        out = {}
        for (j, intake), shares in zip(intakes.items(), shares_of(labels), strict=True):
            intake.keep(job.rows)
            if j in changed:
                shares[1, 2] = (shares[1, 2] + 1) % party.call.primes[0]
            out[j] = sealed_labels_of(found.owners, intake.seal_labels(shares), JOB.k)
        return first, second, out

    def test_an_owner_opens_the_labels_of_its_own_rows_and_no_others(self, party):
        first, second, sealed = self.sealed(party)
        assert first.open({j: own[1] for j, own in sealed.items()}).tolist() == [0, 2, 1, 1]
        assert second.open({j: own[2] for j, own in sealed.items()}).tolist() == [0]
        with pytest.raises(TooManyFaultsError, match="owner 2: 0 shares of labels, 6 are needed"):
            second.open({j: own[1] for j, own in sealed.items()})

    def test_a_share_is_its_members_own(self, party):
        first, _, sealed = self.sealed(party)
        copies = {j: own[1] for j, own in sealed.items() if j != 4} | {3: sealed[2][1]}
        with pytest.raises(TooManyFaultsError, match="owner 1: 5 shares of labels, 6 are needed"):
            first.open(copies)

    @pytest.mark.parametrize("wrong", [b"", bytes(31), bytes(16 + 36 + 16)], ids=len)
    def test_what_is_no_share_does_not_count(self, party, wrong):
        first, _, sealed = self.sealed(party)
        copies = {j: own[1] for j, own in sealed.items()} | {4: wrong}
        assert first.open(copies).tolist() == [0, 2, 1, 1]

    def test_fewer_shares_than_notice_t_wrong_ones_are_refused(self, party):
        first, _, sealed = self.sealed(party)
        assert label_shares_of(JOB) == JOB.ell + 2 * JOB.t == 6
        with pytest.raises(TooManyFaultsError, match="5 shares of labels, 6 are needed"):
            first.open({j: sealed[j][1] for j in (1, 2, 4, 5, 7)})
        assert first.open({j: sealed[j][1] for j in (1, 2, 4, 5, 6, 7)}).tolist() == [0, 2, 1, 1]

    @pytest.mark.parametrize("liar", range(1, JOB.n + 1))
    def test_a_wrong_share_of_any_member_is_corrected_with_all_shares_and_noticed_with_fewer(
        self, party, liar
    ):
        first, second, sealed = self.sealed(party, changed=[liar])
        copies = {j: own[1] for j, own in sealed.items()}
        assert first.open(copies).tolist() == [0, 2, 1, 1]
        del copies[liar % JOB.n + 1]
        with pytest.raises(TooManyFaultsError, match="owner 1: more than 0 of 6 shares of labels are wrong"):
            first.open(copies)
        assert second.open({j: own[2] for j, own in sealed.items()}).tolist() == [0]

    def test_t_members_that_lie_together_are_noticed(self, party):
        first, _, sealed = self.sealed(party, changed=[2, 5])
        with pytest.raises(TooManyFaultsError, match="owner 1: more than 1 of 7 shares of labels are wrong"):
            first.open({j: own[1] for j, own in sealed.items()})

    def test_what_is_no_label_is_minus_1(self, party):
        first, _, sealed = self.sealed(party, (0, 3, 1, 1, 0))
        assert first.open({j: own[1] for j, own in sealed.items()}).tolist() == [0, -1, 1, 1]

    def test_labels_are_sealed_once(self, party):
        intake = taken(party.intake(1), party.owner(2).deposit()[0])
        intake.keep(Deposited((0, 1, 0, 0), party.complete({1: intake}).deposits))
        first = intake.seal_labels(np.array([[2.0]]))
        assert intake.seal_labels(np.array([[1.0]])) is first

    def test_the_same_deposit_in_another_run_has_its_labels_sealed_under_another_key(self, party):
        """Under the same key and nonce, AES-GCM would show which bits of labels differ."""
        owner, sealed = party.owner(4), []
        given, shares = owner.deposit(), shares_of([0] * 300)
        for j in (1, *range(1, 8)):
            intake = taken(party.intake(j), given[j - 1])
            intake.keep(Deposited((0, 0, 0, 300), party.complete({1: intake}).deposits))
            sealed.append(intake.seal_labels(shares[j - 1]))
        assert len({one[:16] for one in sealed}) == 8
        assert sealed[0][16:32] != sealed[1][16:32]
        for copy in sealed[:2]:
            assert owner.open(dict(enumerate([copy, *sealed[2:]], 1))).tolist() == [0] * 300


def test_masks_are_fresh_for_each_deposit(party):
    """If the same owner deals the same rows again, a member gets other shares and covers."""
    pieces = []
    for _ in range(2):
        intake = taken(party.intake(3), party.owner(4).deposit()[2])
        (opened,) = intake._held.values()
        pieces.append(np.frombuffer(opened.piece, dtype=np.uint8).reshape(-1, 3))
    assert (pieces[0] == pieces[1]).all(axis=1).mean() < 0.01


def test_a_proof_shows_nothing_of_the_rows(party):
    """Each combination has its own cover: proofs of two deposits of the same rows agree nowhere."""
    proofs, call = [], party.call
    for _ in range(2):
        given = party.owner(2).deposit()[0]
        proofs.append(np.frombuffer(given[call.head_bytes : call.signed_bytes - 64], dtype=np.uint8))
    values = [unpack(proof.reshape(-1, 3))[:, 0] for proof in proofs]
    assert len(values[0]) == len(call.primes) * COVERS * (JOB.ell + JOB.t)
    assert (values[0] != values[1]).mean() > 0.99


def test_nothing_of_a_deposit_is_in_a_repr(party):
    owner, intake = party.owner(1), party.intake(1)
    taken(intake, owner.deposit()[0])
    assert repr(owner) == "Owner(number=1)"
    assert repr(intake) == "Intake(number=1, deposits=1)"
    assert "Call(" in repr(party.call)
    assert party.identities[0].public.hex() not in repr(party.call)
