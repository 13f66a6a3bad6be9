"""k-means as one program: with shares, in the clear, and as exact Lloyd."""

import hashlib
from collections import Counter
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from operations.own_net import Net, StuckError, drawn_case, in_the_clear
from support.recorded import recorded_keys
from support.sweeps import every

from plaintext_baselines import ExactLloyd
from secfc.crypto.hash_tree import depth_of, root_of
from secfc.errors import CheatError, MessageError, TooManyFaultsError
from secfc.field.packing import from_bytes, pack, pack_canonical, size_of, to_bytes, unpack
from secfc.kmeans import plain
from secfc.operations import opening as openings
from secfc.operations import signs
from secfc.operations.decoding.coded import Coded
from secfc.operations.secure import Secure
from secfc.protocol.parties import dealing
from secfc.protocol.parties.inbox import Inbox
from secfc.protocol.parties.party import Party
from secfc.sharing import proof
from secfc.sharing.codewords import Codewords


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(90))
def test_the_program_in_the_clear_is_exact_lloyd(seed):
    rng, rows, start, k = drawn_case(seed, rows_most=30)
    max_iter, tol = int(rng.integers(1, 6)), float(rng.choice([0.0, 0.2]))
    weights = rng.integers(1, 4, len(rows)) if seed % 3 == 0 else None
    exact = ExactLloyd(k, init=[start], step=1.0, bound=100.0, max_iter=max_iter, tol_moved=tol)
    exact.fit([rows.astype(float)], sample_weight=None if weights is None else [weights])
    fewest = max(1, int(np.ceil(tol * len(rows))))
    found = in_the_clear(rows, start, k, weights=weights, max_iter=max_iter, fewest=fewest)
    assert found.labels.tolist() == exact.labels_[0].tolist()
    assert (found.n_iter, found.converged) == (exact.n_iter_, exact.converged_)


@every("seed", range(6))
@every("of", [Secure, Coded])
@every("shape", [(3, 1, 1), (5, 1, 2), (6, 2, 1)])
def test_shares_give_the_same_labels(seed, shape, of):
    n, t, ell = shape
    rng, rows, start, k = drawn_case(seed)
    options = {"max_iter": int(rng.integers(1, 8)), "fewest": int(rng.integers(1, 3))}
    weighted = seed % 2 and of is Secure  # the paper's protocol has no weights
    options["weights"] = rng.integers(1, 4, len(rows)) if weighted else None
    roles = {"dealer": 1, "first": n + 1, "second": n + 2} if t > 1 else {}
    net = Net(rows, start, k, of=of, n=n, t=t, ell=ell, **options, **roles)
    net.assert_as(in_the_clear(rows, start, k, **options), *net.run())


def test_rows_move_to_emptied_clusters_and_lie_on_their_means_among_the_cases(monkeypatch):
    moved, real = [], plain.plain_refilled

    def refilled(*given):
        moved.append(real(*given)[1])
        return real(*given)

    monkeypatch.setattr(plain, "plain_refilled", refilled)
    for seed in range(10):
        in_the_clear(*drawn_case(seed)[1:])
    assert {True, False} == set(moved)


@pytest.mark.parametrize("step", [1, 5, 9, 14])
def test_a_holder_that_is_lost_after_it_dealt_keeps_its_rows_in(step):
    _, rows, start, k = drawn_case(8)
    net = Net(rows, start, k, n=5)
    labels, *told = net.run(lost=lambda me: me.number == 5 and me.step >= step)
    assert 5 not in labels
    net.assert_as(in_the_clear(rows, start, k), labels, *told)


def test_without_a_third_of_the_comparers_nobody_goes_on():
    _, rows, start, k = drawn_case(3)
    with pytest.raises(StuckError):
        Net(rows, start, k, n=5).run(lost=lambda me: me.number == 3 and me.step >= 2)


def test_no_key_is_used_twice_and_none_outside_its_pair(monkeypatch):
    made, streams = recorded_keys(monkeypatch)
    _, rows, start, k = drawn_case(8)
    for seed in range(2):  # the same run again
        Net(rows, start, k, n=5).run()
        assert seed or made
    assert set(Counter(made).values()) == {2}  # at both of a pair, or by two roles of one party
    assert Counter(streams) == Counter(made)  # every stream has the same nonce


def test_if_all_sets_are_opened_as_empty_the_run_ends(monkeypatch):
    def opening(me, product):
        return np.zeros((me.code.ell, product.size))
        yield

    monkeypatch.setattr(openings, "opening", opening)
    _, rows, start, k = drawn_case(4)
    with pytest.raises(CheatError, match=r"^no set has rows: a holder has sent wrong shares$"):
        Net(rows, start, k).run()


class Lying:
    """Changes the first residue of what a holder sends with some tags."""

    def __init__(self, liar, *tags):
        self.liar, self.tags, self.lies = liar, tags, 0

    def __call__(self, sender, recipient, place, data):
        if sender != self.liar or place.tag not in self.tags:
            return data
        self.lies += 1
        first = unpack(np.frombuffer(data[:3], dtype=np.uint8))
        return pack_canonical((first + 1) % 8_000_000).tobytes() + bytes(data[3:])


@pytest.mark.parametrize("tag", ["hidden", "share", "answer", "labels"])
def test_a_holder_that_lies_is_named_and_changes_nothing(tag):
    _, rows, start, k = drawn_case(4)
    net, lying = Net(rows, start, k, n=5, max_liars=1), Lying(4, tag)
    net.assert_as(in_the_clear(rows, start, k), *net.run(carry=lying))
    assert lying.lies
    assert set().union(*(me.liars for me in net.parties.values())) == {4}


def test_a_liar_that_sends_nothing_does_not_hide_one_that_sends_wrong_shares():
    _, rows, start, k = drawn_case(4)
    net, lying = Net(rows, start, k, n=7, max_liars=2), Lying(7, "hidden")

    def carry(sender, recipient, place, data):
        return None if (sender, place.tag) == (6, "hidden") else lying(sender, recipient, place, data)

    net.assert_as(in_the_clear(rows, start, k), *net.run(carry=carry))
    assert net.parties[2].liars == net.parties[3].liars == {7}


def test_a_holder_that_sends_no_residues_is_a_liar():
    _, rows, start, k = drawn_case(4)
    net = Net(rows, start, k, n=5, max_liars=1)

    def carry(sender, recipient, place, data):
        return b"\xff" * len(data) if sender == 5 and place.tag == "hidden" else data

    net.assert_as(in_the_clear(rows, start, k), *net.run(carry=carry))
    assert net.parties[2].liars == net.parties[3].liars == {5}


def test_a_holder_that_sends_too_little_is_a_liar():
    _, rows, start, k = drawn_case(4)
    net = Net(rows, start, k, n=5, max_liars=1)

    def carry(sender, recipient, place, data):
        return data[3:] if sender == 5 and place.tag in ("hidden", "share") else data

    net.assert_as(in_the_clear(rows, start, k), *net.run(carry=carry))
    assert net.parties[3].liars == net.parties[2].liars == {5}


def test_another_liar_after_the_one_that_was_promised_ends_the_run():
    _, rows, start, k = drawn_case(8)
    first, second = Lying(4, "hidden"), Lying(5, "hidden")

    def carry(sender, recipient, place, data):
        data = first(sender, recipient, place, data)
        return second(sender, recipient, place, data) if place.step > 8 else data

    net = Net(rows, start, k, n=5, max_liars=1)
    with pytest.raises(TooManyFaultsError, match="hidden: more than max_liars=1 holders sent wrong shares"):
        net.run(carry=carry)


def test_a_spare_share_that_is_wrong_is_noticed_without_liars_too():
    _, rows, start, k = drawn_case(4)
    with pytest.raises(CheatError, match=r"^share: shares lie on no polynomial of their degree$"):
        Net(rows, start, k, n=4).run(carry=Lying(1, "share"))


def test_a_piece_has_a_salt_under_its_digest():
    """Else t shares, the proof and a guess of what is shared would be checked by another's digest."""
    pieces = []

    def carry(sender, recipient, place, data):
        if place.tag == "piece":
            pieces.append((recipient, bytes(data)))
        return data

    _, rows, start, k = drawn_case(4)
    net = Net(rows, start, k)
    net.run(carry=carry)
    of_covers = size_of(proof.COVERS, net.code.primes)
    others = {data[:32] for _, data in pieces}  # a path begins with the digest of another's piece
    found = set()
    for _, data in pieces:
        # A proof is of [x] alone, or of <0> too.
        ends = [32 * depth_of(3) + of_covers * values for values in (2, 4)]
        found |= others & {hashlib.sha256(data[end:]).digest() for end in ends}
        assert not others & {hashlib.sha256(data[end:-32]).digest() for end in ends}
    assert found
    assert len({data[-32:] for _, data in pieces}) == len(pieces)


def test_more_liars_than_promised_end_the_run():
    _, rows, start, k = drawn_case(4)
    lies = [Lying(4, "hidden"), Lying(5, "hidden")]

    def carry(*message):
        *head, data = message
        for lying in lies:
            data = lying(*head, data)
        return data

    with pytest.raises(TooManyFaultsError, match="hidden: more than max_liars=1 holders sent wrong shares"):
        Net(rows, start, k, n=5, max_liars=1).run(carry=carry)


@pytest.mark.parametrize("tag", ["hidden opened", "opened", "bits"])
def test_evaluators_that_tell_different_numbers_end_the_run(tag):
    _, rows, start, k = drawn_case(4)

    def carry(sender, recipient, place, data):
        if (sender, place.tag) != (3, tag):
            return data
        return bytes([data[0] ^ (128 if tag == "bits" else 1)]) + bytes(data[1:])

    with pytest.raises(CheatError, match=f"^{tag}: the evaluators told different numbers"):
        Net(rows, start, k, fewest=2).run(carry=carry)


@pytest.mark.parametrize(("call", "dealer"), [(0, 2), (1, 2), (5, 2), (6, 3)])
def test_a_dealer_whose_shares_lie_on_no_polynomial_ends_the_run_by_name(monkeypatch, call, dealer):
    """Calls 0 and 1 are shares and zeros of who deals random sharings, and 5 and 6 of who deals bits."""
    calls, real = count(), Codewords._dealt

    def deal(code, values, kernels, first, out):
        shares = real(code, values, kernels, first, out)
        if next(calls) == call:
            shares[0, 0, 0] ^= 1
        return shares

    _, rows, start, k = drawn_case(4)
    net = Net(rows, start, k)
    monkeypatch.setattr(Codewords, "_dealt", deal)
    with pytest.raises(
        CheatError, match=rf"^party {dealer} dealt shares that lie on no polynomial of their degree$"
    ):
        net.run()


@pytest.mark.parametrize("recipient", [0, 3])
def test_an_evaluator_that_tells_parties_different_digests_ends_the_run(recipient):
    def carry(sender, to, place, data):
        return bytes(64) if (sender, to, place.tag) == (2, recipient, "roots") else data

    _, rows, start, k = drawn_case(4)
    with pytest.raises(CheatError, match=r"^the evaluators told different digests of what they dealt$"):
        Net(rows, start, k).run(carry=carry)


def test_a_holder_to_whom_an_evaluator_deals_another_sharing_sends_nothing_after_it(monkeypatch):
    """Its product would tell rows: with a spare holder a parity check takes off the mask of products."""
    real, roots, later = dealing._deal, [], []

    def deal(me, task, segments):
        found = real(me, task, segments)
        if me.number == 2 and not roots:
            twin = replace(me, outbox=[], inbox=Inbox(frozenset(me.roles.everybody)))
            roots.append((me.step, real(twin, task, segments)[0]))
            me.outbox[:] = [one for one in me.outbox if one[0] != 4] + [
                one for one in twin.outbox if one[0] == 4
            ]
        return found

    def carry(sender, to, place, data):
        if sender == 4 and roots and place.step > roots[0][0]:
            later.append(place)
        return roots[0][1] + data[32:] if (sender, to, place.tag) == (2, 4, "roots") else data

    monkeypatch.setattr(dealing, "_deal", deal)
    _, rows, start, k = drawn_case(4)
    with pytest.raises(CheatError):
        Net(rows, start, k, n=4).run(carry=carry)
    assert roots
    assert not later


def test_a_dealer_that_proves_other_polynomials_to_one_holder_ends_the_run(monkeypatch):
    """With a polynomial of its own the wrong share of holder 1 passes its check."""
    real, send, ends, proofs, calls = Codewords._dealt, Party.send, [], [], count()

    def ones(seed, size, moduli):
        ends.append(proof.levels(size))
        return np.ones((ends[-1], len(moduli), proof.COVERS, proof.WIDTH))

    def deal(code, values, kernels, first, out):
        shares = real(code, values, kernels, first, out)
        if next(calls) == 0:  # party 2's
            for plane, p in zip(shares[0], code.primes, strict=True):
                plane[:3] = pack(np.array([(unpack(plane[:3])[0] + 1) % p]), p)
        return shares

    def prove(me, recipient, tag, data):
        if (me.number, recipient, tag) == (2, 1, "piece"):
            primes, start = me.code.primes, 32 * depth_of(me.code.n)
            end = start + size_of(me.code.narrow * proof.COVERS, primes)
            said = from_bytes(data[start:end], (me.code.narrow, proof.COVERS), primes).copy()
            said[:, 0] += proof.COVERS ** (ends[-1] - 1)  # what 1 more of the first value adds
            said %= np.array(primes)[:, np.newaxis, np.newaxis]
            data = bytes(data[:start]) + to_bytes(said, primes) + bytes(data[end:])
            of_zeros = size_of((me.code.wide - me.code.ell) * proof.COVERS, primes)
            piece = hashlib.sha256(data[end + of_zeros :]).digest()
            proofs.append(root_of(piece, 0, bytes(data[:start])) + data[start : end + of_zeros])
        elif (me.number, recipient, tag) == (2, 1, "roots") and proofs:
            data = hashlib.sha256(proofs[0]).digest() + data[32:]
        send(me, recipient, tag, data)

    _, rows, start, k = drawn_case(4)
    net = Net(rows, start, k)
    monkeypatch.setattr(dealing, "coefficients", ones)
    monkeypatch.setattr(Codewords, "_dealt", deal)
    monkeypatch.setattr(Party, "send", prove)
    with pytest.raises(CheatError, match=r"^the evaluators told different digests of what they dealt$"):
        net.run()
    assert proofs


@pytest.mark.parametrize("tag", ["hidden", "answer"])
@pytest.mark.parametrize("n", [3, 4])
@pytest.mark.parametrize(
    ("changed", "text"),
    [
        (lambda data: b"\xff" * len(data), "integers that are not below their prime were sent"),
        (lambda data: data[3:], r"\d+ bytes were sent, not \d+"),
    ],
)
def test_who_sends_no_residues_is_named_without_liars_too(tag, n, changed, text):
    def carry(sender, recipient, place, data):
        return changed(data) if (sender, place.tag) == (3, tag) else data

    _, rows, start, k = drawn_case(4)
    with pytest.raises(MessageError, match=f"^party 3: {text}$"):
        Net(rows, start, k, n=n).run(carry=carry)


@pytest.mark.parametrize("seed", [4, 6])
def test_rows_are_compared_block_by_block_with_the_same_labels(monkeypatch, seed):
    monkeypatch.setattr(signs, "_AT_ONCE", 100)
    _, rows, start, k = drawn_case(seed)
    assert signs.rows_at_once(k, 5) < len(rows)
    net = Net(rows, start, k)
    net.assert_as(in_the_clear(rows, start, k), *net.run())
