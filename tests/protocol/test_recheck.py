"""Three other parties recheck labels before anybody gets the result."""

import hashlib
import math
import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from support.sweeps import crossed, sweep
from support.wire import Wire

from secfc.comparing.role import Comparer
from secfc.errors import (
    CheatError,
    MessageError,
    ParameterError,
    PrivacyWarning,
    SealError,
    TooManyFaultsError,
)
from secfc.field.packing import PackedResidues, pack, unpack
from secfc.limits import Limits
from secfc.params import Job
from secfc.protocol import recheck
from secfc.protocol.gathering import Gathering
from secfc.protocol.label_round import LabelRound
from secfc.protocol.messages import (
    SERVER,
    Assignment,
    Coin,
    Continue,
    Endorsement,
    Finish,
    Hello,
    MaskedAnswer,
    Recheck,
    RecheckRequest,
    SpareMasks,
)
from secfc.protocol.phases.server_recheck import ServerRecheck
from secfc.protocol.recheck import RECHECKED, drawn
from secfc.protocol.rechecking import RecheckRound
from secfc.protocol.states import State

_RNG = np.random.default_rng(6)
ROWS = [_RNG.normal(size=(m, 2)).round(2) for m in (4, 5, 6, 3, 4, 2)]
FEW = [_RNG.integers(-3, 4, size=(m, 1)).astype(float) for m in (2, 3, 1, 2, 2, 2)]
"""Rows for five clusters, so that some are emptied."""

COMPARERS, AGAIN = (4, 2, 5), (3, 6, 1)
HELPERS = {"comparers": (1, 7, 8), "recheckers": (2, 9, 10)}

KINDS = {
    "random": {},
    "separation": {"init": "separation"},
    "k-means++": {"init": "k-means++", "n_init": 2},
    "several starts": {"n_init": 3},
    "emptied": {"rows": FEW, "k": 5, "precision": 8},
    "one cluster": {"k": 1},
    "a cluster for each row": {"k": 24},
    "at most one iteration": {"max_iter": 1},
    "given": {"starts": [np.arange(len(part)) % 3 for part in ROWS]},
    "helpers": HELPERS,
    "two helpers and t = 2": HELPERS | {"t": 2},
    "only helpers": {"comparers": (7, 8, 9), "recheckers": (10, 11, 12)},
    "liars": {"max_liars": 1, "rows": [*ROWS, ROWS[0] + 1]},
    "rounds": {"comparison": "rounds"},
    "wide area": {"link": "wan"},
    "coin": {"seed": None},
    "several k": {
        "compared": (2, 3),
        "reveal_inertia": True,
        "limits": Limits(reveal_inertia=True),
    },
    "predict": {
        "starts": [np.arange(len(part)) % 4 - 1 for part in ROWS],
        "predict": True,
        "max_iter": 1,
        "limits": Limits(predict=True),
    },
}


@pytest.fixture
def of(part_rows):
    """Six clients, of which three must answer. Three compare, and the others recheck."""
    part_rows(6)

    def wire(rows=ROWS, **more):
        given = {"k": 3, "disclosure": "labels", "comparers": COMPARERS, "recheckers": AGAIN, "seed": 0}
        return Wire(rows, **given | more)

    return wire


@pytest.fixture
def watched(monkeypatch):
    """What each client considered to be chosen, by client."""
    found, real = {}, recheck.Past.chosen

    def choose(self, count, last, seed):
        parts = real(self, count, last, seed)
        pairs = zip(parts.questions, parts.chosen, strict=True)
        found.setdefault(seed, []).append([(q, row) for q, rows in pairs for row in rows.tolist()])
        return parts

    monkeypatch.setattr(recheck.Past, "chosen", choose)
    return found


def test_the_server_still_says_who_lied_about_shares(of):
    net = of()
    net.deliver(net.hold(Assignment, recipient=1))
    phase = net.server.phase
    phase.shared = replace(phase.shared, cheats=(3,), unread=((3, 6),))
    request = net.hold(RecheckRequest, recipient=AGAIN[0])
    assert isinstance(net.server.phase, ServerRecheck)
    assert net.server.faults.cheats == (3,)
    assert net.server.faults.unread == ((3, 6),)
    net.deliver(request)
    net.run()
    assert net.server.faults.cheats == (3,)


@pytest.mark.some(1)
@pytest.mark.filterwarnings("ignore::secfc.errors.PrivacyWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_an_honest_run_has_the_labels_of_one_that_nobody_rechecks(of, watched, kind):
    given = KINDS[kind]
    net, plain = of(**given), of(**given)
    if kind == "coin":
        plain = net
    elif max(net.job.recheckers) <= net.job.n:
        plain = of(**given | {"recheckers": ()})
    net.run()
    plain.run()
    one, other = net.server.outcome, plain.server.outcome
    assert one.labels.tolist() == other.labels.tolist()
    assert (one.n_iter, one.converged, one.opened) == (other.n_iter, other.converged, other.opened)
    assert all(client.state is State.DONE for client in net.clients.values())
    seen = next(iter(watched.values()))
    assert len(seen) == net.job.parties
    assert all(one == seen[0] for one in seen)
    asked = np.concatenate(net.rows).shape[0] if kind != "predict" else np.count_nonzero(one.start < 0)
    assert len(seen[0]) >= asked


@pytest.mark.some(1)
@pytest.mark.parametrize("count", [1, 5, 20])
def test_as_many_labels_are_rechecked_as_are_to_be(of, monkeypatch, watched, count):
    monkeypatch.setattr(recheck, "RECHECKED", count)
    net = of()
    net.run()
    (seen,) = watched.values()
    assert {len(one) for one in seen} == {count}
    assert len(set(seen[0])) == count
    assert net.server.state is State.DONE


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("kind", "seed"),
    crossed(("random", "k-means++", "helpers", "liars"), sweep(range(20), keep=range(4)), together=1),
)
def test_in_any_order_an_honest_run_refuses_nothing(of, kind, seed):
    net, rng = of(**KINDS[kind]), random.Random(f"{kind} {seed}")
    net.run(choose=rng.choice)
    assert all(client.state is State.DONE for client in net.clients.values())


def moved(residues, primes, *, row, column, by):
    """Masked distances of a row to a set, larger by a number."""
    changed = PackedResidues.empty(residues.shape)
    changed.planes()[:] = residues.planes()
    for plane, p in zip(changed.planes(), primes, strict=True):
        values = unpack(plane[column])
        values[row] = (values[row] + by % p) % p
        plane[column] = pack(values, p)
    return changed


def lie(monkeypatch, place, rows):
    """Have one of the three treat rows of a question as if they were at the centre of another set.

    Rows may say which set. The first evaluator sends its values to the second.
    """
    sign = {Comparer.DEALER: 1, Comparer.E0: -1}[place]

    def change(round_, residues, part):
        if round_._deals_here != (place is Comparer.DEALER):
            return residues
        asked, at = round_._asked, round_._parts.answer_rows(part)
        lied = [row for row in rows.get(asked.round, ()) if at.start <= row < at.stop]
        for row in lied:
            other = next(h for h in np.flatnonzero(asked.sizes).tolist() if h != asked.sets[row])
            if isinstance(rows[asked.round], dict):
                other = rows[asked.round][row]
            by = sign * (int(asked.sizes[other]) * round_._job.radius) ** 2
            residues = moved(residues, round_._primes, row=row - at.start, column=other, by=by)
        return residues

    real = LabelRound._use_part
    monkeypatch.setattr(
        LabelRound,
        "_use_part",
        lambda round_, part, values: real(round_, part, change(round_, values, part)),
    )


def true_labels(net, sets):
    """Labels of the nearest means, exactly."""
    rows = np.rint(np.ldexp(np.concatenate(net.rows), net.job.exponent)).astype(np.int64).astype(object)
    found = []
    for row in rows:
        to = {}
        for h in np.unique(sets[sets >= 0]).tolist():
            own = rows[sets == h]
            to[h] = Fraction(int(sum((own.sum(axis=0) - len(own) * row) ** 2)), len(own) ** 2)
        found.append(min(to, key=lambda h: (to[h], h)))
    return np.array(found)


def past_of(net, client):
    return net.clients[client].phase._disclosure._rechecking.past


def outcome(net, lost=lambda message: False):
    """Run; return whether a client found a lie, and the sent sets and labels by question."""
    sets, ends = {}, []

    def see(message):
        if isinstance(message, Assignment):
            sets[message.round] = message.sets
        if isinstance(message, RecheckRequest):
            ends.append(message.labels)
        assert not (isinstance(message, Finish) and net.server.state is not State.DONE)
        return lost(message)

    caught = None
    try:
        net.run(drop=see)
    except CheatError as error:
        caught = str(error)
    if caught is not None:
        assert ": one of these, a comparer or a client that answered lied" in caught
        assert net.server.outcome is None
        assert {client.labels is None for client in net.clients.values()} == {True}
        return True, sets, ends[0]
    assert net.server.state is State.DONE
    return False, sets, ends[0]


def wrong_labels(net, sets, labels):
    """Question and row of labels that were sent and are wrong."""
    following = {number: sets.get(number + 1, labels) for number in sets}
    return {
        (number, int(row))
        for number, told in following.items()
        for row in np.flatnonzero(true_labels(net, sets[number]) != told)
    }


@pytest.mark.some(1)
@pytest.mark.parametrize("place", [Comparer.DEALER, Comparer.E0])
@pytest.mark.parametrize("seed", sweep(range(20), keep=range(3)))
def test_a_lie_is_found_when_its_label_is_rechecked_and_nobody_is_told_a_label(
    of, monkeypatch, watched, place, seed
):
    monkeypatch.setattr(recheck, "RECHECKED", 12)
    rng = random.Random(f"{place} {seed}")
    lie(monkeypatch, place, {rng.choice((1, 2)): rng.sample(range(24), 2)})
    net = of()
    found, sets, labels = outcome(net)
    (chosen, *_) = next(iter(watched.values()))
    assert found == bool(set(chosen) & wrong_labels(net, sets, labels))


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("place", "kind"),
    crossed(
        (Comparer.DEALER, Comparer.E0), ("random", "helpers", "liars", "rounds", "wide area"), together=1
    ),
)
def test_where_all_labels_are_rechecked_every_lie_is_found(of, monkeypatch, place, kind):
    lie(monkeypatch, place, {1: (0, 7, 20)})
    net = of(**KINDS[kind])
    found, sets, labels = outcome(net)
    assert wrong_labels(net, sets, labels)
    assert found


@pytest.mark.some(1)
@pytest.mark.parametrize("max_liars", [0, 1])
def test_a_comparer_that_answers_too_hides_its_lie_unless_wrong_answers_are_found(of, monkeypatch, max_liars):
    """It knows the weights of the responders, and adds the same to what is decoded as when it compared."""
    liar, row, answered = COMPARERS[1], 7, (1, COMPARERS[1], AGAIN[1])
    lie(monkeypatch, Comparer.E0, {1: (row,)})
    real = RecheckRound._answer

    def answer(round_, part):
        residues, parts = real(round_, part), round_._asked.parts
        if round_._me != liar or parts.questions[part] != 1 or row not in parts.chosen[part]:
            return residues
        sets, sizes = round_._asked.past.sets(1), round_._asked.asked[1]
        other = next(h for h in np.flatnonzero(sizes).tolist() if h != sets[row])
        by, (at,) = (int(sizes[other]) * round_._job.radius) ** 2, np.flatnonzero(parts.chosen[part] == row)
        weights = round_._kept.weights.of(answered)[:, 1]
        changed = PackedResidues.empty(residues.shape)
        changed.planes()[:] = residues.planes()
        for plane, weight, p in zip(changed.planes(), weights, round_._primes, strict=False):
            values = unpack(plane[other])
            values[at] = (values[at] - by * pow(int(weight) % p, -1, p) % p) % p
            plane[other] = pack(values, p)
        return changed

    monkeypatch.setattr(RecheckRound, "_answer", answer)
    net = of(max_liars=max_liars, rows=[*ROWS, ROWS[0] + 1])

    def lost(message):
        """If no liars can be found, exactly the needed answers arrive, and its own is among them."""
        again = isinstance(message, MaskedAnswer) and message.recipient == AGAIN[1]
        return again and not max_liars and message.sender not in answered

    found, sets, labels = outcome(net, lost)
    assert wrong_labels(net, sets, labels)
    assert found == bool(max_liars)


def test_without_rechecking_nobody_finds_it(of, monkeypatch):
    lie(monkeypatch, Comparer.E0, {1: (0, 7, 20)})
    net = of(recheckers=())
    net.run()
    assert net.server.state is State.DONE


def test_the_share_of_runs_in_which_it_is_found_is_as_stated(of, monkeypatch):
    """Some of about eighty labels are wrong, and 20 are rechecked with other values each time."""
    lie(monkeypatch, Comparer.E0, {1: (7,)})
    net, runs, count = of(), 600, 20
    _, sets, labels = outcome(net)
    wrong, last = wrong_labels(net, sets, labels), max(sets)
    monkeypatch.setattr(recheck, "RECHECKED", count)
    hits = 0
    for run in range(runs):
        parts = past_of(net, 5).chosen(last, last, hashlib.sha256(b"share %d" % run).digest())
        pairs = zip(parts.questions, parts.chosen, strict=True)
        hits += bool({(number, int(row)) for number, rows in pairs for row in rows} & wrong)
    f = len(wrong) / (24 * len(sets))
    stated = 1 - (1 - f) ** count
    assert 0 < f < 0.1
    deviation = (runs * stated * (1 - stated)) ** 0.5
    assert -3 * deviation < hits - runs * stated  # more often, as no label is drawn twice
    assert (
        hits
        < runs * (1 - math.comb(24 * len(sets) - len(wrong), count) / math.comb(24 * len(sets), count))
        + 3 * deviation
    )


class TestTheChoice:
    def test_one_wrong_in_a_thousand_is_found_with_probability_099(self):
        assert 1 - (1 - 0.001) ** RECHECKED > 0.99
        assert 1 - (1 - 0.001) ** (RECHECKED - 5) < 0.99

    @pytest.mark.some(1)
    @pytest.mark.parametrize(("total", "wrong", "count"), [(5000, 5, 600), (3000, 30, 100), (1 << 40, 0, 9)])
    def test_wrong_ones_are_among_those_drawn_as_often_as_stated(self, total, wrong, count):
        runs, hits = 2000, 0
        for run in range(runs):
            numbers = drawn(hashlib.sha256(b"%d" % run).digest(), total, count)
            assert np.unique(numbers).size == numbers.size == count
            assert 0 <= numbers.min() <= numbers.max() < total
            hits += bool((numbers < wrong).any())
        exact = 1 - math.comb(total - wrong, count) / math.comb(total, count) if total < 1 << 20 else 0.0
        assert exact >= 1 - (1 - wrong / total) ** count
        assert abs(hits - runs * exact) <= 4 * (runs * exact * (1 - exact)) ** 0.5

    @pytest.mark.parametrize("count", [4, 5, 9])
    def test_all_are_drawn_where_there_are_no_more(self, count):
        assert drawn(bytes(32), 4, count).tolist() == [0, 1, 2, 3]

    def test_each_number_is_drawn_as_often(self):
        counts = np.zeros(7)
        for run in range(3000):
            counts[drawn(hashlib.sha256(b"%d" % run).digest(), 7, 3)] += 1
        assert abs(counts - 3000 * 3 / 7).max() < 4 * (3000 * 3 / 7 * 4 / 7) ** 0.5


@pytest.fixture
def asked(of):
    """A run that has ended, and the server's request to one that rechecks, undelivered."""
    net = of()
    return net, net.hold(RecheckRequest, recipient=AGAIN[0])


class TestAServerThatCheats:
    def test_cannot_have_a_value_before_the_end(self, of, refuses):
        net = of()
        question = net.hold(Assignment, recipient=AGAIN[0])
        while not question.endorsements:
            net.deliver(question)
            question = net.hold(Assignment, recipient=AGAIN[0])
        wrong = RecheckRequest(
            run=net.server.run,
            sender=SERVER,
            recipient=AGAIN[0],
            last=1,
            labels=question.sets,
            n_iter=1,
            converged=True,
            inertia=None,
            endorsements=question.endorsements,
        )
        refuses(net.clients[AGAIN[0]], net.decode(net.encode(wrong)), SealError, "what follows from the")
        none = net.decode(net.encode(replace(wrong, endorsements=())))
        refuses(net.clients[AGAIN[0]], none, MessageError, "0 endorsements, 2 are needed")

    def test_nor_for_another_result(self, asked, refuses):
        net, request = asked
        last = net.server.gathering.round
        for changes, text in (
            ({"labels": (request.labels + 1) % 3}, "what follows from the labels"),
            ({"n_iter": request.n_iter + 1}, "what follows from the labels"),
            ({"converged": not request.converged}, "what follows from the labels"),
            ({"inertia": 0.5}, "no sum of squares"),
            ({"left_out": (2,)}, "without other clients"),
            ({"labels": request.labels[1:]}, "of 23 labels"),
            ({"last": 0}, "no start ended with it"),
            ({"last": last - 1}, "no start ended with it"),
            ({"last": last + 1}, "no start ended with it"),
        ):
            wrong = net.decode(net.encode(replace(request, **changes)))
            refuses(net.clients[AGAIN[0]], wrong, MessageError, text)

    def test_nor_twice_nor_from_one_who_rechecks_nothing(self, asked, refuses):
        net, request = asked
        net.deliver(request)
        again = net.decode(net.encode(request))
        refuses(net.clients[AGAIN[0]], again, MessageError, "^RecheckRequest: a second one")
        other = net.decode(net.encode(replace(request, recipient=5)))
        refuses(net.clients[5], other, MessageError, "^RecheckRequest: to client 5, which rechecks nothing")

    def test_cannot_ask_a_question_once_one_was_told_the_result(self, asked, refuses):
        net, request = asked
        net.deliver(request)
        question = Assignment(
            run=net.server.run,
            sender=SERVER,
            recipient=AGAIN[0],
            round=net.server.gathering.round + 1,
            sets=request.labels,
            endorsements=request.endorsements,
        )
        text = "the result is being rechecked"
        refuses(net.clients[AGAIN[0]], net.decode(net.encode(question)), MessageError, text)

    @pytest.mark.parametrize("client", [AGAIN[0], AGAIN[1], 4, 5])
    def test_cannot_choose_labels_by_other_values_nor_of_another_result(self, of, refuses, client):
        net = of()
        message = net.hold(Recheck, recipient=client)
        for changes, text in (
            ({"coin": bytes(288)}, "another value of the coin than it is committed to"),
            ({"coin": message.coin[96:] + message.coin[:96]}, "another value of the coin"),
            ({"result": bytes(32)}, "its value of the coin about|another result than this client was told"),
            ({"round": message.round + 1}, "not awaited"),
            ({"round": message.round - 1}, "not awaited"),
            ({"last": message.last - 1}, "no start ended with it"),
        ):
            wrong = net.decode(net.encode(replace(message, **changes)))
            refuses(net.clients[client], wrong, MessageError, text)
        net.deliver(message)
        again = net.decode(net.encode(message))
        refuses(net.clients[client], again, MessageError, "not awaited")

    def test_cannot_have_other_questions_rechecked_than_were_answered(self, of, monkeypatch):
        """Clients that recheck get question 2 before a comparer is lost. Others get one after a lie."""
        again, rows = (5, 6, 7), [*ROWS, ROWS[0] + 1]
        net = of(rows=rows, comparers=(1, 2, 3, 4), recheckers=again)
        sets = {}

        def first(message):
            if not isinstance(message, Assignment):
                return False
            sets[message.round] = message.sets
            return message.round == 2 and message.recipient not in again

        net.run(drop=first)
        truth, since = sets[2], 4
        swapped = {int(np.flatnonzero(truth == one)[0]): other for one, other in ((0, 1), (1, 0))}
        lie(monkeypatch, Comparer.E0, {since: swapped})

        def second(message):
            if isinstance(message, Assignment):
                sets[message.round] = message.sets
            to_again = message.sender == SERVER and message.recipient in again
            skipped = isinstance(message, Assignment | Continue) and message.round == since + 1
            # A party that rechecks is no bearer. Without masks its own answer does not arrive.
            return (to_again and skipped) or (isinstance(message, SpareMasks) and message.sender == again[0])

        net.post(net.server.absent(1))
        net.run(drop=second)
        assert np.flatnonzero(sets[since + 1] != truth).tolist() == sorted(swapped)
        assert isinstance(net.server.phase, ServerRecheck)
        assert net.server.awaited == again[1:]
        assert all(client.labels is None for client in net.clients.values())

    def test_cannot_begin_before_it_told_the_result(self, of, refuses):
        net = of()
        held = net.hold(RecheckRequest, recipient=AGAIN[2])
        others = net.hold(Coin, recipient=SERVER, sender=AGAIN[0])
        wrong = Recheck(
            run=net.server.run,
            sender=SERVER,
            recipient=AGAIN[2],
            round=net.server.gathering.round + 1,
            last=held.last,
            result=bytes(32),
            coin=(others.value + others.signature) * 3,
        )
        text = "of another result than this client was told"
        refuses(net.clients[AGAIN[2]], net.decode(net.encode(wrong)), MessageError, text)

    def test_cannot_begin_where_one_who_rechecks_did_not_come(self, of, monkeypatch):
        net = of(rows=[*ROWS, ROWS[0] + 1])
        monkeypatch.setattr(Gathering, "require_comparers", lambda *given, **named: None)
        net.run(drop=lambda message: isinstance(message, Hello) and message.sender == AGAIN[0])
        net.post(net.server.absent(AGAIN[0]))
        with pytest.raises(MessageError, match=r"^Plan: too few of those who are to compare came$"):
            net.run(drop=lambda message: AGAIN[0] in (message.sender, message.recipient))

    @pytest.mark.parametrize("client", [2, 3, 9])
    def test_cannot_tell_a_result_that_nobody_rechecked(self, of, refuses, client):
        net = of(**HELPERS)
        finish = net.hold(Finish, recipient=client)
        signed = finish.endorsements
        for endorsements, text in (
            (signed[:2], "2 endorsements, 4 are needed"),
            (signed[:3], "3 endorsements, 4 are needed"),
            ((*signed[:2], *signed[:2]), "what was rechecked"),
            ((*signed[:2], signed[3], signed[2]), "what was rechecked"),
            ((*signed[2:], *signed[:2]), "what follows from the labels"),
        ):
            wrong = net.decode(net.encode(replace(finish, endorsements=endorsements)))
            refuses(net.clients[client], wrong, MessageError, text)
        net.deliver(finish)

    def test_cannot_have_a_result_rechecked_of_a_run_in_which_nobody_does(self, of, refuses):
        net, plain = of(), of(recheckers=())
        request, finish = net.hold(RecheckRequest, recipient=AGAIN[0]), plain.hold(Finish, recipient=3)
        text = "RecheckRequest: to client 3, which rechecks nothing"
        refuses(plain.clients[3], plain.decode(plain.encode(request)), MessageError, text)
        net.deliver(request)
        message = net.hold(Recheck, recipient=5)
        refuses(plain.clients[5], plain.decode(plain.encode(message)), MessageError, "not awaited")
        plain.deliver(finish)

    @pytest.mark.some(1)
    @pytest.mark.parametrize("kind", ["random", "emptied", "rounds"])
    def test_has_no_answer_about_one_question_under_masks_of_another(self, of, kind):
        """Masks for the last question arrive late, when the points are asked about past questions."""
        given, late = KINDS[kind], []
        plain, net = of(**given), of(**given)
        plain.run()

        def masks(message):
            last = isinstance(message, SpareMasks) and message.round == plain.server.gathering.round
            late.extend([message] if last and message.recipient == 6 else [])
            return last and message.recipient == 6

        net.run(drop=masks, until=lambda: isinstance(net.server.phase, ServerRecheck))
        recheck = net.hold(Recheck, recipient=6)
        net.deliver(recheck)
        assert late
        for message in late:
            sent = net.clients[6].receive(message)
            assert not [one for one in sent if isinstance(one, MaskedAnswer) and one.round < recheck.round]
            net.post(sent)
        net.run()
        assert net.server.state is State.DONE
        assert net.server.outcome.labels.tolist() == plain.server.outcome.labels.tolist()


class TestTheServer:
    def test_refuses_values_and_signatures_that_are_not_those_awaited(self, of, refuses):
        net = of()
        coin = net.hold(Coin, recipient=SERVER, sender=AGAIN[1])
        refuses(net.server, replace(coin, value=bytes(32)), MessageError, "another value of the coin")
        refuses(net.server, replace(coin, sender=5), MessageError, "which rechecks nothing")
        round_ = net.server.gathering.round + 1
        early = Endorsement(
            run=net.server.run, sender=AGAIN[1], recipient=SERVER, round=round_, signature=bytes(64)
        )
        refuses(net.server, early, MessageError, "out of turn")
        net.deliver(coin)
        refuses(net.server, coin, MessageError, "has told its value")
        signed = net.hold(Endorsement, recipient=SERVER)
        for changes, text in (
            ({"signature": bytes(64)}, "what was rechecked"),
            ({"sender": AGAIN[0]}, "out of turn"),
            ({"sender": 5}, "out of turn"),
            ({"rows": (1,)}, "of more than what was rechecked"),
            ({"best": 1}, "of more than what was rechecked"),
            ({"round": round_ - 1}, "out of place"),
        ):
            refuses(net.server, replace(signed, **changes), MessageError, text)
        net.deliver(signed)
        refuses(net.server, signed, MessageError, "out of turn")
        net.run()
        assert net.server.state is State.DONE

    def test_waits_for_values_then_for_signatures(self, of):
        net = of()
        coin = net.hold(Coin, recipient=SERVER, sender=AGAIN[1])
        assert AGAIN[1] in net.server.awaited
        net.deliver(coin)
        net.hold(Endorsement, recipient=SERVER, sender=AGAIN[2])
        assert net.server.awaited in ((AGAIN[2],), AGAIN[1:])

    @pytest.mark.some(1)
    @pytest.mark.parametrize("gone", AGAIN)
    @pytest.mark.parametrize("kind", [Assignment, RecheckRequest, Coin, Recheck, Endorsement])
    def test_one_who_rechecks_and_vanishes_ends_the_run(self, of, gone, kind):
        net = of()
        seen = []

        def silent(message):
            seen.extend([message] if isinstance(message, kind) else [])
            return bool(seen) and gone in (message.sender, message.recipient)

        net.run(drop=silent)
        if net.server.state is State.DONE:
            assert gone == AGAIN[0] or kind is Endorsement  # it had already sent all its messages
            return
        with pytest.raises(TooManyFaultsError, match=f"^client {gone}, a comparer, is absent"):
            net.server.absent(gone)
        assert net.server.outcome is None

    @pytest.mark.some(1)
    @pytest.mark.parametrize("gone", [2, 4, 5])
    def test_anybody_else_may_vanish(self, of, gone):
        net, plain = of(), of(recheckers=())
        plain.run()
        net.run(until=lambda: isinstance(net.server.phase, ServerRecheck))

        def silent(message):
            return gone in (message.sender, message.recipient)

        net.post(net.server.absent(gone))
        net.run(drop=silent)
        assert net.server.state is State.DONE
        assert net.server.outcome.labels.tolist() == plain.server.outcome.labels.tolist()

    def test_asks_those_who_are_behind_with_answers(self, of):
        net, carried = of(max_liars=1, rows=[*ROWS, ROWS[0] + 1]), Counter()

        def silent(message):
            dropped = isinstance(message, MaskedAnswer) and message.recipient == AGAIN[1]
            dropped = dropped and message.sender in (2, 4, 5, 7)
            if not dropped:
                carried[type(message).__name__, message.sender, message.recipient] += 1
            return dropped

        net.run(drop=silent)
        assert net.server.overdue(lambda *link: carried[link]) == (2, 4, 5, 7)

    def late(self, net, withheld):
        """Run to the end without messages of the rechecking round; return how many arrived, by link."""
        carried = Counter()

        def drop(message):
            rechecks = isinstance(net.server.phase, ServerRecheck)
            dropped = rechecks and withheld(message)
            if rechecks and not dropped:
                carried[type(message).__name__, message.sender, message.recipient] += 1
            return dropped

        net.run(drop=drop)
        return net.server.overdue(lambda *link: carried[link])

    def test_counts_the_first_evaluators_own_answer(self, of):
        """With it R answers are present, so the evaluators are next."""

        def withheld(message):
            return isinstance(message, Endorsement) or (
                isinstance(message, MaskedAnswer) and message.sender in (4, 5, 6)
            )

        net = of(comparers=(4, 7, 5), recheckers=(3, 2, 6))
        assert self.late(net, withheld) == (2, 6)

    def test_asks_the_dealer_where_the_first_evaluator_lacks_its_masks(self, of):
        net = of(max_liars=1, rows=[*ROWS, ROWS[0] + 1])
        net.run(until=lambda: isinstance(net.server.phase, ServerRecheck))
        for gone in COMPARERS:
            net.post(net.server.absent(gone))
        dealer, first, _ = AGAIN

        def withheld(message):
            masks = isinstance(message, SpareMasks) and (message.sender, message.recipient) == (dealer, first)
            return masks or bool({message.sender, message.recipient} & {*COMPARERS})

        assert self.late(net, withheld) == (dealer,)

    def test_asks_the_dealer_where_others_lack_its_masks(self, of):
        net, carried = of(max_liars=1, rows=[*ROWS, ROWS[0] + 1]), Counter()

        def silent(message):
            dropped = isinstance(message, SpareMasks) and message.sender == AGAIN[0]
            if not dropped:
                carried[type(message).__name__, message.sender, message.recipient, message.round] += 1
            return dropped

        net.run(drop=silent)
        since = net.server.counted_from
        assert net.server.overdue(lambda *link: carried[(*link, since)]) == AGAIN[:1]

    def test_a_wrong_answer_is_corrected_and_its_sender_named(self, of):
        net = of(max_liars=1, rows=[*ROWS, ROWS[0] + 1])

        def drop(message):
            wrong = isinstance(message, MaskedAnswer) and (message.sender, message.recipient) == (2, AGAIN[1])
            if wrong:
                net.deliver(net.wrong(message))
            return wrong

        net.run(drop=drop)
        assert net.server.state is State.DONE
        assert net.server.faults.liars == (2,)

    @pytest.mark.some(1)
    @pytest.mark.parametrize("max_liars", [1, 2])
    def test_liars_of_the_rounds_and_of_the_recheck_add_up(self, of, max_liars):
        rows, who = [*ROWS, ROWS[0] + 1], {"comparers": (1, 8, 9), "recheckers": (2, 10, 11)}
        net = of(max_liars=max_liars, rows=rows, **who)

        def drop(message):
            wrong = isinstance(message, MaskedAnswer) and (message.sender, message.recipient) in (
                (3, 8),
                (4, 10),
            )
            if wrong:
                net.deliver(net.wrong(message))
            return wrong

        if max_liars == 2:
            net.run(drop=drop)
            assert net.server.state is State.DONE
            assert net.server.faults.liars == (3, 4)
            return
        with pytest.raises(TooManyFaultsError, match=r"^clients 3, 4 lied, according to the first") as caught:
            net.run(drop=drop)
        assert caught.value.clients == (3, 4)
        assert net.server.outcome is None

    @pytest.mark.some(1)
    @pytest.mark.parametrize("evaluator", [COMPARERS[1], AGAIN[1]])
    def test_a_first_evaluator_is_believed_about_who_lied(self, of, evaluator):
        net = of(max_liars=1, rows=[*ROWS, ROWS[0] + 1])

        def drop(message):
            says = isinstance(message, Endorsement) and message.sender == evaluator and not message.liars
            if says:
                net.deliver(replace(message, liars=(7,)))
            return says

        net.run(drop=drop)
        assert net.server.state is State.DONE
        assert net.server.faults.liars == (7,)

    def test_goes_on_from_the_last_question(self, of):
        net, plain = of(n_init=2), of(n_init=2)
        plain.run()
        last = plain.server.gathering.round
        net.run(until=lambda: net.server.gathering.round == last)
        asked = [net.take(link) for link in net.pending() if link[0] == SERVER]
        net.post(net.server.stand(bytes(net.server.standing())))
        net.run(drop=lambda message: message in asked)
        assert net.server.state is State.DONE
        assert net.server.outcome.labels.tolist() == plain.server.outcome.labels.tolist()


@pytest.mark.some(1)
@pytest.mark.parametrize("place", range(3))
def test_with_a_comparer_replaced_too(of, place):
    """Questions that were asked twice are rechecked once."""
    given = {"comparers": (*COMPARERS, 7), "rows": [*ROWS, ROWS[0] + 1]}
    net, gone = of(**given), COMPARERS[place]

    def silent(message):
        return net.server.gathering.round > 2 and gone in (message.sender, message.recipient)

    net.run(drop=silent)
    net.post(net.server.absent(gone))
    net.run(drop=silent)
    assert net.server.state is State.DONE
    assert net.server.phase.attempt.lost == (gone,)


class TestWhoRechecks:
    def job(self, **more):
        return Job(**{"n": 6, "k": 2, "t": 1, "ell": 1, "d": 1, "bound": 1.0, "disclosure": "labels"} | more)

    @pytest.mark.parametrize(
        ("given", "text"),
        [
            ({"recheckers": (4, 5)}, "recheck: three different parties are needed that do not compare"),
            ({"recheckers": (4, 5, 5)}, "recheck: three different parties"),
            ({"recheckers": (4, 5, 6, 7)}, "recheck: three different parties"),
            ({"recheckers": (3, 4, 5)}, "recheck: three different parties"),
            ({"comparers": (1, 2, 3, 4), "recheckers": (4, 5, 6)}, "recheck: three different parties"),
            ({"recheckers": (4, 5, 8)}, "comparers: clients have the numbers 1 to 6, helpers 7, 8 and so on"),
            ({"recheckers": (0, 4, 5)}, "recheck: at least 1 is needed"),
            ({"recheckers": (4, 5, 6), "disclosure": "coded"}, "recheck: with disclosure 'coded'"),
        ],
    )
    def test_others_are_refused(self, given, text):
        with pytest.raises(ParameterError, match=f"^{text}"):
            self.job(**given)

    def test_two_clients_are_fewer_than_t_so_it_warns(self):
        warning = self.job(t=2, recheckers=(2, 3, 9)).privacy_warning()
        assert isinstance(warning, PrivacyWarning)
        assert str(warning).startswith("recheck: any two of clients 2, 3 together learn")
        helpers = {"comparers": (7, 8, 9), "t": 2}
        assert self.job(recheckers=(2, 10, 11), **helpers).privacy_warning() is None
        assert self.job(recheckers=(4, 5, 6), max_liars=1).privacy_warning() is None

    @pytest.mark.parametrize("who", [(1, 2, 3), (7, 1, 8)])
    def test_it_warns_where_one_that_compares_can_hide_a_lie_by_wrong_answers(self, who):
        clients = ", ".join(str(j) for j in who if j < 7)
        warning = self.job(comparers=who, recheckers=(4, 5, 6)).privacy_warning()
        assert isinstance(warning, PrivacyWarning)
        assert str(warning).startswith(f"recheck: clients {clients} compare and max_liars=0, so one of them")
