"""Rows of a union: they add up, labels are exact, and a client opens those of its own rows alone."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from operations.own_net import dealt, in_the_clear, parties_of, play
from scipy.stats import kstest, uniform

from secfc.errors import CheatError, PartyError, TooManyFaultsError
from secfc.field.fixed_point import unit_of
from secfc.field.primes import primes_of
from secfc.kmeans.bounds import pair_residues, refill_residues
from secfc.kmeans.program import lloyd
from secfc.operations.beginning import added
from secfc.operations.beginning.added import OwnRows, added_rows, agreed_rows
from secfc.operations.beginning.rows import Covers
from secfc.operations.secure import Secure
from secfc.operations.sums import public_sets
from secfc.operations.to_owners import under_covers
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.parties.dealing import dealt_by_owners
from secfc.sharing.codewords import Codewords
from secfc.sharing.rows import in_memory
from secfc.sharing.shared import Shared

ROLES = {1: {}, 2: {"dealer": 1, "first": 6, "second": 7}}
"""Who compares, by t; with t = 2 two helpers."""


class Union:
    """Clients 1 to n with rows of a union, each with random numbers, and who compares."""

    def __init__(self, seed, *, t=1, ell=1):
        rng = np.random.default_rng(seed)
        n = 2 * (ell + t) - 1
        counts = rng.integers(0, 6, n)
        counts[0] += 3
        self.m, self.d, self.k = int(counts.sum()), int(rng.integers(1, 4)), 3
        self.rows = rng.integers(-3, 4, (self.m, self.d)).astype(float)
        self.start = (np.arange(self.m) % self.k).astype(np.int32)
        numbers = rng.permutation(self.m)
        self.numbers = dict(enumerate(np.split(numbers, np.cumsum(counts)[:-1]), 1))
        most = pair_residues(8, self.m), refill_residues(8, self.m)
        self.code = Codewords(n=n, t=t, ell=ell, primes=primes_of(max(most)))
        self.parties = parties_of(self.code, **ROLES[t])
        self.width = -(-self.d // ell)

    def added(self, me):
        m = yield from agreed_rows(me, self.m, self.m + 2)
        layout, numbers = Layout((m,) * self.code.n, common=True), self.numbers.get(me.number)
        own = None if numbers is None else OwnRows(self.rows[numbers], numbers)
        unit = unit_of(1.0, 1, 1.0)
        return (yield from added_rows(me, layout, own, unit=unit, width=self.width, allocate=in_memory))

    def program(self, me):
        shared = yield from self.added(me)
        first = public_sets(me, self.start, self.k)
        operations = Secure(me, shared.rows, first, np.ones(self.m, dtype=np.int64), self.k)
        ended = yield from lloyd(operations, k=self.k, max_iter=20, fewest=1)
        return (yield from under_covers(me, ended.labels, shared.covers)), ended.n_iter

    def run(self, program=None, **more):
        return play(
            self.parties, {j: (program or self.program)(me) for j, me in self.parties.items()}, **more
        )


@given(
    seed=st.integers(0, 10**6),
    shape=st.sampled_from([(1, 1), (2, 1), (1, 2)]),
    block=st.sampled_from([1, 64]),
)
@settings(max_examples=12, deadline=None)
def test_labels_are_those_of_exact_lloyd(seed, shape, block):
    t, ell = shape
    union = Union(seed, t=t, ell=ell)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(added, "_AT_ONCE", block * union.code.n)  # blocks of one row, or of some
        found = union.run()
    expected = in_the_clear(union.rows.astype(int), union.start, union.k, max_iter=20)
    for client, (labels, n_iter) in found.items():
        assert n_iter == expected.n_iter
        if client in union.numbers:
            assert labels.tolist() == expected.labels[union.numbers[client]].tolist()
        else:
            assert labels is None  # the coordinator, and helpers


def opened_at(union, labels, *, client=1, k=2, spoilt=0):
    """What a client opens of rows that are all client 2's, of these labels; and what client 2 finds.

    Another client adds 1 to the covers of the first `spoilt` rows.
    """
    code, m = union.code, labels.size
    bits = (labels == np.arange(k)[:, np.newaxis]).astype(float)
    sets = dealt(code, np.broadcast_to(bits, (len(code.primes), code.ell, k, m)))
    own, p = union.parties[2].masks.uniform(code.primes[0], (code.ell, m)), code.primes[0]
    alone = code.first_prime()
    sums = dealt(alone, ((own + (np.arange(m) < spoilt)) % p).reshape(1, code.ell, m))
    seen = {}

    def program(me):
        shares = Shared(code.primes, (k, m), sets.get(me.number))
        numbers = np.arange(m) if me.number == 2 else np.arange(0)
        covers = Covers(
            shared=Shared(code.primes[:1], (m,), sums.get(me.number)),
            own=own if me.number == 2 else own[:, :0],
            numbers=numbers if me.holds else None,
        )
        return (yield from under_covers(me, shares, covers))

    def carry(sender, recipient, place, data):
        if recipient == client:
            octets = np.frombuffer(data, dtype=np.uint8).reshape(-1, 3).astype(np.int64)
            seen[sender] = (octets @ [1, 1 << 8, 1 << 16]).astype(float).reshape(1, -1)
        return data

    found = union.run(program, carry=carry)
    return code.first_prime().open(dict(list(seen.items())[: code.narrow]), wide=False), found[2]


@pytest.mark.parametrize("label", [0, 1])
def test_what_others_open_of_a_row_is_uniform_whatever_its_label(label):
    labels = np.full(3000, label)
    opened, found = opened_at(Union(1), labels)
    assert found.tolist() == labels.tolist()
    p = Union(1).code.primes[0]
    assert kstest(opened.ravel(), uniform(0, p).cdf).pvalue > 1e-6


def test_a_row_without_a_cover_would_show_its_label(monkeypatch):
    union = Union(1)
    monkeypatch.setattr(
        type(union.parties[2].masks), "uniform", lambda self, p, shape, *more: np.zeros(shape)
    )
    opened, _ = opened_at(union, np.ones(50, dtype=int))
    assert (opened == 1).all()


def test_a_label_that_another_client_moves_to_no_cluster_is_minus_1_and_ends_no_run():
    _, found = opened_at(Union(1), np.array([0, 1, 1, 0, 1]), spoilt=3)  # 1 becomes 2, of 2 clusters
    assert found.tolist() == [1, -1, -1, 0, 1]


def test_covers_are_uniform_at_own_rows_and_zeros_at_all_others():
    union = Union(5)
    shared = union.run(union.added)
    covers = union.code.first_prime().open(
        {j: one.covers.shared.residues for j, one in shared.items() if j in union.numbers}, wide=False
    )[0]
    for client, numbers in union.numbers.items():
        own = shared[client].covers.own % union.code.primes[0]
        assert covers[:, numbers].tolist() == own.tolist()  # nobody else added anything
        assert numbers.size < 2 or len(set(own.ravel())) > 1


class TestNumberOfRows:
    @pytest.mark.parametrize("said", [0, 1, 10**6])
    def test_one_client_that_tells_another_number_ends_the_run(self, said):
        union = Union(2)

        def program(me):
            return (yield from agreed_rows(me, said if me.number == 3 else union.m, union.m + 2))

        with pytest.raises(CheatError, match="clients told that the union has"):
            union.run(program)

    def test_more_rows_than_the_bound_are_refused(self):
        union = Union(2)
        with pytest.raises(CheatError, match=f"has {union.m} rows, at most {union.m - 1} fit"):
            union.run(lambda me: agreed_rows(me, union.m, union.m - 1))

    def test_a_helper_and_the_coordinator_are_told(self):
        union = Union(3, t=2)
        found = union.run(lambda me: agreed_rows(me, union.m if me.holds else 0, union.m))
        assert set(found) == {0, 1, 2, 3, 4, 5, 6, 7}
        assert set(found.values()) == {union.m}


def test_a_client_that_is_lost_before_its_proof_ends_the_run_for_all():
    union = Union(4, ell=2)
    union.parties[0].inbox.lost.add(5)

    def carry(sender, recipient, place, data):
        return None if sender == 5 and place.tag in ("piece", "root") else data

    with pytest.raises(TooManyFaultsError, match="client 5 is absent before all rows were shared") as caught:
        union.run(union.added, carry=carry, lost=lambda me: me.number == 5 and me.step >= 2)
    assert caught.value.clients == (5,)


def test_a_holder_whose_refusal_the_server_hides_leaves_the_run():
    """With a share that lacks a client's covers a recipient would find this client's rows."""
    union = Union(4, ell=2)
    union.parties[5].inbox.lost.add(1)

    def carry(sender, recipient, place, data):
        if place.tag == "refused" and sender == 5:
            return bytes(len(data))
        return None if place.tag == "piece" and (sender, recipient) == (1, 5) else data

    with pytest.raises(PartyError, match="the server did not wait for what party 5 refuses"):
        union.run(union.added, carry=carry)


def dealt_and_refused(pairs):
    """Clients that lie about what they were dealt, or were dealt wrongly: so they say."""

    def dealings(me, sizes, segments):
        found = yield from dealt_by_owners(me, sizes, segments)
        return replace(found, refused=frozenset(pairs))

    return dealings


def test_a_client_whose_shares_too_many_refuse_ends_the_run_by_name(monkeypatch):
    union = Union(6, ell=2)
    for me in union.parties.values():
        me.max_liars = 1
    monkeypatch.setattr(added, "dealt_by_owners", dealt_and_refused([(4, 1), (4, 5)]))
    with pytest.raises(
        TooManyFaultsError,
        match=r"clients lied about shares, or the server withheld them: client 4: .*cannot be left",
    ) as caught:
        union.run(union.added)
    assert caught.value.clients == (4,)


def test_a_client_that_refuses_too_many_shares_is_excluded_and_its_rows_stay(monkeypatch):
    union = Union(6, ell=2)
    for me in union.parties.values():
        me.max_liars = 1
    monkeypatch.setattr(added, "dealt_by_owners", dealt_and_refused([(2, 4), (3, 4)]))
    for one in union.run(union.added).values():
        assert (set(one.cheats), one.left_out, one.layout.m) == ({4}, {}, union.m)
    assert all(me.accused == {4} for me in union.parties.values())
