"""A client that deals false shares in a union: nothing of that part is opened, and nobody else is named."""

from dataclasses import replace

import numpy as np
import pytest
from support.union import KEY

from secfc.errors import SecFCError
from secfc.operations.beginning import united, united_dealing
from secfc.psu.prime import P, add, elements
from secfc.psu.roles import UnionClient
from secfc.tables.ids import row_ids

LIAR = 2
ERROR = 12345

SIZES = [  # R, R + 1 and R + 2 clients; then with more places, and with two that may collude
    {"n": 3},
    {"n": 4},
    {"n": 5},
    {"n": 5, "max_liars": 1},
    {"n": 5, "ell": 2},
    {"n": 5, "t": 2},
]
sizes = pytest.mark.parametrize("size", SIZES, ids=str)
stages = pytest.mark.parametrize("check", [False, True], ids=["table", "check"])


@pytest.fixture
def union(wire):
    """A union of which an ID is held by the first client and the last."""

    class Union(wire):
        def __init__(self, *, n, **options):
            self._ids = [[f"{j}-{r}" for r in range(3)] for j in range(1, n + 1)]
            self._ids[-1].append(self._ids[0][0])
            rows = [[[float(r)] for r in range(len(ids))] for ids in self._ids]
            super().__init__(rows, ids_cap=60, disclosure="labels", max_iter=2, **options)

        def client(self, number, **other):
            if number > self.job.n:  # a helper
                return super().client(number, **other)
            held = row_ids(self._ids[number - 1], key=KEY, name=f"client {number}")
            return super().client(number, ids=held, **other)

    return Union


@pytest.fixture
def opened(monkeypatch):
    """The stage and number of each client that computed its share of what is opened."""
    found = []

    class Noted(UnionClient):
        def opening(self, part, dealt):
            found.append((self.checking, self.number))
            return super().opening(part, dealt)

    monkeypatch.setattr(united, "UnionClient", Noted)
    return found


def lie(monkeypatch, check, change):
    """Have the liar send other pieces in a stage: `change` gets the party, role, dealing and right pieces."""
    right = united_dealing._pieces

    def pieces(me, role, dealt):
        if me.number == LIAR and role.checking == check:
            return change(me, role, dealt, right)
        return right(me, role, dealt)

    monkeypatch.setattr(united_dealing, "_pieces", pieces)


def ended(net):
    """Errors of parties, by number, once all mail that anybody still takes is delivered."""
    found = {}
    while links := net.pending():
        message = net.take(links[0])
        if message.recipient in found:
            continue
        try:
            net.deliver(message)
        except SecFCError as error:
            found[message.recipient] = error
    return found


def nothing_is_opened(net, opened, check, *, refuse):
    errors = ended(net)
    assert not [number for checking, number in opened if checking == check]
    assert refuse <= errors.keys()
    named = {client for error in errors.values() for client in error.clients}
    assert named <= {LIAR}
    return errors


def place_of(kind, role, dealt):
    """The column of the first share of this kind in what is dealt."""
    return {
        "a value": 0,
        "a random value": role._count(0) * role._shape.width,
        "a zero": dealt.shared.shape[1],
    }[kind]


@sizes
@stages
@pytest.mark.parametrize("several", [False, True], ids=["to one", "to two"])
@pytest.mark.parametrize("kind", ["a value", "a random value", "a zero"])
def test_a_false_share_is_found_before_anything_is_opened(
    union, opened, monkeypatch, size, check, several, kind
) -> None:
    deceived = {1, 3} if several else {3}

    def change(me, role, dealt, right):
        shares, at = dealt.shares.copy(), place_of(kind, role, dealt)
        for holder in deceived:
            shares[holder - 1, at] = (int(shares[holder - 1, at]) + ERROR * holder) % P
        return right(me, role, replace(dealt, shares=shares))

    lie(monkeypatch, check, change)
    errors = nothing_is_opened(union(**size), opened, check, refuse=deceived)
    for holder in deceived:
        assert (
            str(errors[holder])
            == f"party {LIAR} dealt shares of a union that lie on no polynomial of their degree"
        )
        assert errors[holder].clients == (LIAR,)


@sizes
@stages
@pytest.mark.parametrize("kind", ["shared", "zeros"])
def test_shares_of_another_polynomial_with_its_own_proof_are_found(
    union, opened, monkeypatch, size, check, kind
) -> None:
    # Client 3 gets shares, digests and a proof that agree with each other, of another dealing.
    def change(me, role, dealt, right):
        pieces, head = right(me, role, dealt)
        polynomials = getattr(dealt, kind)
        moved = replace(
            dealt, **{kind: add(polynomials, elements(np.full(polynomials.shape, ERROR).tolist()))}
        )
        shares = np.concatenate(
            [role._sharing.deal(moved.shared), role._sharing.deal_zeros(moved.zeros)], axis=1
        )
        others, _ = right(me, role, replace(moved, shares=shares))
        pieces[2] = others[2]
        return pieces, head

    lie(monkeypatch, check, change)
    errors = nothing_is_opened(union(**size), opened, check, refuse={3})
    assert str(errors[3]) == "client 3: clients got different proofs of what was dealt in the union"
    assert not errors[3].clients


@sizes
def test_a_false_digest_of_what_another_gets_is_found(union, opened, monkeypatch, size) -> None:
    def change(me, role, dealt, right):
        pieces, head = right(me, role, dealt)
        return [bytes(32) + piece[32:] for piece in pieces], bytes(32) + head[32:]

    lie(monkeypatch, True, change)
    errors = nothing_is_opened(union(**size), opened, True, refuse={1})
    assert errors[1].clients == (LIAR,)


@sizes
def test_without_lies_only_the_id_held_twice_is_found(union, opened, size) -> None:
    errors = ended(union(**size))
    assert {checking for checking, _ in opened} == {False, True}
    assert {str(error) for error in errors.values()} == {"ids: an ID is held more than once"}
