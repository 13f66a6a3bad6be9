"""Disclosure "labels": the exact result, questions bound to opened labels, and parties that may be lost."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from support.sweeps import crossed
from support.wire import Wire

from secfc.comparing.role import Comparer
from secfc.errors import CheatError, MessageError, SealError, TooManyFaultsError
from secfc.field.label_packing import labels_of
from secfc.field.packing import PackedResidues
from secfc.field.primes import primes_of
from secfc.operations.inertia import InertiaEvaluator
from secfc.protocol.job.limits import Limits
from secfc.protocol.masked_answers import Liars, MaskedAnswers
from secfc.protocol.messages import (
    SERVER,
    Assignment,
    Compared,
    Endorsement,
    Finish,
    MaskedAnswer,
    MaskedDistances,
    OpenedLabels,
    SpareMasks,
    place_of,
)
from secfc.protocol.question import Said, endorsed, question_digest
from secfc.protocol.states import State

pytestmark = pytest.mark.questions


def outcome(net):
    best = net.server.outcome
    clients = [net.clients[j] for j in range(1, net.job.n + 1)]
    centres = [None if one.centres is None else one.centres.tolist() for one in clients]
    return net.labels(), best.n_iter, best.converged, best.start.tolist(), centres


_RNG = np.random.default_rng(6)
ROWS = [_RNG.normal(size=(m, 2)).round(2) for m in (4, 5, 6, 3, 4)]
COMPARERS = (4, 2, 5)
DEALER, FIRST, SECOND = COMPARERS
OTHERS = (1, 3)
EVERYBODY = (1, 2, 3, 4, 5)


@pytest.fixture
def five(part_rows):
    """Five clients, three of which must answer: 1 to 3 draw their masks, 4 and 5 get dealt ones."""
    part_rows(6)

    def of(**more):
        return Wire(ROWS, k=3, disclosure="labels", comparers=COMPARERS, seed=0, **more)

    return of


@pytest.fixture
def net(five):
    return five()


@pytest.fixture
def plain(five):
    """An undisturbed run, whose result the other runs must reach."""
    one = five()
    one.run()
    assert one.server.gathering.round >= 4
    return one


def of_round(net, round_, recipient, kind=Assignment):
    """Deliver everything before the first such message of this round; return that message."""
    while True:
        message = net.hold(kind, recipient=recipient)
        if message.round == round_:
            return message
        net.deliver(message)


def go_on_with(net, message):
    net.deliver(message)
    net.run()


def signed(net, labels, *, by=(FIRST, SECOND), session=None, said=Said.LABELS, **more):
    """Signatures of evaluators for what they said."""
    question = question_digest(labels, more.pop("left_out", ()), more.pop("draws", ()))
    given = {"round_": 2} | more
    statement = endorsed(session or net.session, said, question, **given)
    return tuple(net.identities[j - 1].sign(statement) for j in by)


def other(labels):
    changed = labels.copy()
    changed[:2] = changed[[1, 0]] if changed[0] != changed[1] else (changed[:2] + 1) % 3
    return changed


FORGED = {
    "of nobody": lambda net, one: {"endorsements": ()},
    "of the first alone": lambda net, one: {"endorsements": one.endorsements[:1]},
    "of the second alone": lambda net, one: {"endorsements": one.endorsements[1:]},
    "of the first twice": lambda net, one: {"endorsements": one.endorsements[:1] * 2},
    "in another order": lambda net, one: {"endorsements": one.endorsements[::-1]},
    "of three": lambda net, one: {"endorsements": (*one.endorsements, one.endorsements[0])},
    "a flipped bit": lambda net, one: {
        "endorsements": (one.endorsements[0], bytes([one.endorsements[1][0] ^ 1]) + one.endorsements[1][1:])
    },
    "of others": lambda net, one: {"endorsements": signed(net, one.sets, by=(FIRST, DEALER))},
    "of other sets": lambda net, one: {"sets": other(one.sets)},
    "of sets that one opened": lambda net, one: {
        "sets": other(one.sets),
        "endorsements": (one.endorsements[0], *signed(net, other(one.sets), by=(SECOND,))),
    },
    "of a later round": lambda net, one: {"endorsements": signed(net, one.sets, round_=3)},
    "of an earlier round": lambda net, one: {"endorsements": signed(net, one.sets, round_=1)},
    "of another run": lambda net, one: {
        "endorsements": signed(net, one.sets, session=replace(net.session, run=bytes(16)))
    },
    "of another job": lambda net, one: {
        "endorsements": signed(net, one.sets, session=replace(net.session, agreement=bytes(32)))
    },
    "where somebody is left out": lambda net, one: {"endorsements": signed(net, one.sets, left_out=(3,))},
    "as a result": lambda net, one: {
        "endorsements": signed(net, one.sets, said=Said.RESULT, round_=0, ended=(1, True, None))
    },
    "as candidates": lambda net, one: {"endorsements": signed(net, one.sets, said=Said.CANDIDATES)},
    "as a start": lambda net, one: {"endorsements": signed(net, one.sets, said=Said.START)},
    "with draws": lambda net, one: {"draws": (0, 1, 2)},
}


@pytest.mark.parametrize("client", EVERYBODY)
def test_a_question_that_both_evaluators_have_not_endorsed_is_refused(net, refuses, client):
    question = of_round(net, 2, client)
    for forged in FORGED.values():
        changed = replace(question, **forged(net, question))
        refuses(net.clients[client], changed, MessageError, "endorsements|client")
    net.deliver(question)


def test_what_both_have_signed_is_taken(net):
    question = of_round(net, 2, 1)
    assert question.endorsements == signed(net, question.sets)
    assert np.unique(question.sets).size == 3


@pytest.mark.parametrize("client", EVERYBODY)
def test_endorsements_of_the_question_before_are_refused(net, refuses, client):
    before = of_round(net, 2, client)
    net.deliver(before)
    question = of_round(net, 3, client)
    assert (question.sets != before.sets).any()
    for more in ({}, {"sets": before.sets}):
        asked = replace(question, endorsements=before.endorsements, **more)
        refuses(net.clients[client], asked, SealError, f"client {FIRST}")
    net.deliver(question)


FORGED_ENDS = {
    "nobody's": lambda net, one: {"endorsements": ()},
    "the first's": lambda net, one: {"endorsements": one.endorsements[:1] * 2},
    "labels": lambda net, one: {"labels": other(one.labels)},
    "n_iter": lambda net, one: {"n_iter": one.n_iter - 1},
    "converged": lambda net, one: {"converged": not one.converged},
    "a question's": lambda net, one: {
        "endorsements": signed(net, one.labels, round_=net.server.gathering.round + 1)
    },
    "no end": lambda net, one: {"endorsements": signed(net, one.labels, said=Said.RESULT, round_=0)},
}


@pytest.mark.some(1)
@pytest.mark.parametrize("client", EVERYBODY)
def test_a_result_that_both_evaluators_have_not_endorsed_is_refused(net, refuses, client):
    finish = net.hold(Finish, recipient=client)
    for forged in FORGED_ENDS.values():
        changed = replace(finish, **forged(net, finish))
        refuses(net.clients[client], changed, MessageError, "endorsements|client")
    net.deliver(finish)


@pytest.mark.parametrize("inertia", [0.0, 1.5])
def test_a_result_has_no_inertia(net, refuses, inertia):
    finish = net.hold(Finish, recipient=1)
    assert finish.inertia is None
    refuses(net.clients[1], replace(finish, inertia=inertia), MessageError, "no sum of squares are needed")
    net.deliver(finish)


CONSENTED = {"reveal_inertia": True, "limits": Limits(reveal_inertia=True)}


@pytest.fixture
def opening(five):
    """A run that opens the inertia."""
    return five(**CONSENTED)


@pytest.mark.some(1)
@pytest.mark.parametrize("client", EVERYBODY)
def test_an_inertia_that_the_evaluators_did_not_open_is_refused(opening, refuses, client):
    finish = opening.hold(Finish, recipient=client)
    told = finish.inertia
    assert told > 0
    for forged, text in (
        (np.nextafter(told, np.inf), "client 2"),
        (0.0, "client 2"),
        (None, "a sum of squares are needed"),
        (-told, "a sum of squares are needed"),
    ):
        refuses(opening.clients[client], replace(finish, inertia=forged), MessageError, text)
    opening.deliver(finish)
    opening.run()
    assert opening.server.state is State.DONE


@pytest.mark.some(1)
@pytest.mark.parametrize("client", EVERYBODY)
def test_of_several_k_clients_are_told_the_one_that_both_evaluators_chose(five, refuses, client):
    net = five(compared=(2, 3), n_init=2, **CONSENTED)
    finish = net.hold(Finish, recipient=client)
    found = net.server.found
    assert [one.k for one in found] == [2, 3]
    assert finish.inertia == max(found, key=lambda one: one.measures.calinski_harabasz).opened
    (other,) = (one for one in found if one.opened != finish.inertia)
    for forged in ({"labels": other.labels}, {"inertia": other.opened}, {"n_iter": finish.n_iter + 1}):
        refuses(net.clients[client], replace(finish, **forged), SealError, f"client {FIRST}")
    net.deliver(finish)


def test_of_several_k_an_inertia_is_opened_where_the_last_start_of_each_has_ended(five):
    net, told = five(compared=(2, 3), n_init=2, **CONSENTED), []

    def look(message):
        if isinstance(message, Endorsement) and message.sender == SECOND:
            told.append((len(net.server.phase.search.found), message.inertia))
        return False

    net.run(drop=look)
    assert [ended for ended, inertia in told if inertia is not None] == [0, 2, 4]
    opened = [one.opened for one in net.server.phase.search.found]
    assert [sum(one is not None for one in opened[low:high]) for low, high in ((0, 1), (1, 3), (3, 5))] == [
        1
    ] * 3


@pytest.mark.parametrize("inertia", [None, -1.0, 0.5])
def test_evaluators_that_open_different_inertias_end_the_run(opening, inertia):
    last = None
    while last is None or last.inertia is None:
        last = opening.hold(Endorsement, recipient=SERVER, sender=SECOND)
        if last.inertia is None:
            opening.deliver(last)
    with pytest.raises(CheatError, match="found different inertias in round"):
        go_on_with(opening, replace(last, inertia=inertia))


def test_an_inertia_before_the_end_or_without_consent_ends_the_run(five):
    for more in ({}, CONSENTED):
        net = five(**more)
        first = net.hold(Endorsement, recipient=SERVER, sender=SECOND)
        with pytest.raises(CheatError, match="found different inertias in round 1, or one that cannot be"):
            go_on_with(net, replace(first, inertia=1.0))


@pytest.mark.some(1)
@pytest.mark.parametrize("n_init", [1, 2])
@pytest.mark.parametrize("at", [0, 1])
def test_tampered_openings_of_the_inertia_end_the_run(five, n_init, at):
    """E0's message to E1 is changed before it is sealed: a bit that counts, or one that was not requested."""
    net, told = five(n_init=n_init, **CONSENTED), []
    exchanged = InertiaEvaluator._exchanged

    def lying(role, steps):
        def changed():
            mine = next(steps)
            while True:
                if role.me is Comparer.E0:
                    told.append(mine)
                    mine = mine ^ np.uint64(1 << 40 if len(told) == at + 1 else 0)
                try:
                    mine = steps.send((yield mine))
                except StopIteration:
                    return

        return exchanged(role, changed())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InertiaEvaluator, "_exchanged", lying)
        with pytest.raises(CheatError):
            net.run()
    assert len(told) > at


@pytest.mark.parametrize("client", EVERYBODY)
def test_a_first_question_that_does_not_follow_from_the_seed_is_refused(net, refuses, client):
    question = net.hold(Assignment, recipient=client)
    none, few, one = question.sets.copy(), question.sets.copy(), np.zeros_like(question.sets)
    none[-1] = -1
    few[few == 2] = 0
    one[:2] = 1, 2
    for sets in (none, few, one, other(question.sets)):
        refuses(net.clients[client], replace(question, sets=sets), MessageError, "that follow from the job's")
    text = "question 1 is endorsed, and no labels were opened before"
    forged = replace(question, endorsements=signed(net, question.sets, round_=1))
    refuses(net.clients[client], forged, MessageError, text)
    named = replace(question, responders=(1, 2, 3))
    refuses(net.clients[client], named, MessageError, "3 responders, disclosure 'labels' names none")
    net.deliver(question)


def test_with_another_disclosure_nothing_is_endorsed_or_compared(wire, refuses):
    net = wire([part[:2] for part in ROWS], k=3, disclosure="coded")
    question = net.hold(Assignment, recipient=1)
    endorsements = signed(net, question.sets)
    refuses(net.clients[1], replace(question, endorsements=endorsements), MessageError, "nobody gives any")
    net.deliver(question)
    for kind in (SpareMasks, MaskedAnswer, MaskedDistances, Compared):
        message = net.message(kind, sender=2, recipient=1, at=(1, 0))
        refuses(net.clients[1], message, MessageError, f"{kind.__name__}: ")
    for kind in (OpenedLabels, Endorsement):
        message = net.message(kind, sender=2, recipient=SERVER, at=(1, 0))
        refuses(net.server, message, MessageError, f"{kind.__name__}: ")


def test_questions_that_differ_have_other_digests():
    sets = np.array([0, 1, -1], dtype=np.int32)
    asked = [(sets, ()), (sets[:2], ()), (-sets, ()), (sets, (4,)), (sets, (4, 5))]
    digests = [question_digest(*one) for one in asked]
    digests += [question_digest(sets, (), draws) for draws in ((4,), (5,), (4, 5))]
    assert len(set(digests)) == len(digests)


class TestWhoAnswers:
    def assert_same(self, net, plain):
        assert net.server.outcome.labels.tolist() == plain.server.outcome.labels.tolist()
        assert net.server.gathering.round == plain.server.gathering.round
        assert net.server.outcome.n_iter == plain.server.outcome.n_iter

    def test_who_gets_no_masks_does_not_answer_and_is_not_needed(self, net, plain):
        answered = set()

        def drop(message):
            answered.update([message.sender] if isinstance(message, MaskedAnswer) else [])
            return isinstance(message, SpareMasks) and message.recipient == SECOND

        net.run(drop=drop)
        assert answered == {1, 3, DEALER}  # the first evaluator takes its own answer
        self.assert_same(net, plain)

    @pytest.mark.parametrize("asked", ["the same", "something else"])
    def test_masks_of_another_question_are_not_added_to_an_answer(self, part_rows, asked, gullible):
        # With the others' answers they would show the first evaluator the difference of two answers.
        part_rows(6)
        net = Wire(ROWS, k=3, disclosure="labels", comparers=(1, 2, 3), seed=0)
        question = of_round(net, 1, 5)
        net.deliver(question if asked == "the same" else replace(question, sets=other(question.sets)))
        of_round(net, 2, 5)
        assert net.clients[5].phase.round == 1
        assert net.clients[5].phase.sent == (4 if asked == "the same" else 0)

    def test_answers_of_later_rounds_are_not_kept(self, net, refuses):
        answer = net.hold(MaskedAnswer, recipient=FIRST, sender=1)
        later = replace(
            answer, round=3, sealed=net.seal(1, FIRST, 0, bytes(9), MaskedAnswer.purpose, round_=3)
        )
        refuses(net.clients[FIRST], later, MessageError, "of round 3 from client 1, in round 1")

    def test_without_r_answers_nothing_is_decoded(self, net):
        kinds = set()

        def drop(message):
            kinds.add(type(message))
            return isinstance(message, MaskedAnswer) and message.sender in (1, 3, DEALER)

        net.run(drop=drop)
        assert MaskedDistances not in kinds
        assert OpenedLabels not in kinds
        net.post(net.server.absent(1))
        net.post(net.server.absent(3))
        with pytest.raises(TooManyFaultsError, match=f"client {DEALER}, a comparer, is absent"):
            net.server.absent(DEALER)


class TestLiars:
    """Seven clients, of which three must answer and two may lie; 2, 4 and 5 compare."""

    @pytest.fixture
    def of(self, part_rows):
        part_rows(6)

        def made(n=7, **more):
            rows = [*ROWS, ROWS[0] + 1, ROWS[1] - 1][:n]
            return Wire(
                rows, **{"k": 3, "disclosure": "labels", "comparers": COMPARERS, "max_liars": 2} | more
            )

        return made

    def lying(self, net, liars, since=1, part=0):
        """Change the first residue of answers."""

        def drop(message):
            wrong = isinstance(message, MaskedAnswer) and message.sender in liars
            if not wrong or message.round < since or message.part != part:
                return False
            net.deliver(net.wrong(message))
            return True

        return drop

    def test_they_are_asked_nothing_more(self, of):
        net, asked = of(), set()
        lie = self.lying(net, (3,), since=2)

        def drop(message):
            if isinstance(message, Assignment) and message.recipient == 3:
                asked.add(message.round)
            return lie(message)

        net.run(drop=drop)
        assert asked == {1, 2}
        assert net.server.gathering.round > 3

    def test_in_a_later_part_too(self, of):
        net, plain = of(), of(max_liars=0)
        net.run(drop=self.lying(net, (3,), part=2))
        plain.run()
        assert net.labels() == plain.labels()
        assert net.server.faults.liars == (3,)

    @pytest.mark.parametrize("liars", [(1, 3, 6), (1, 3, 6, 7)])
    def test_more_than_may_lie_end_the_run(self, of, liars):
        net = of()
        with pytest.raises(TooManyFaultsError, match=r"answers do not agree: more than max_liars=2 clients"):
            net.run(drop=self.lying(net, liars))
        assert net.server.outcome is None

    def test_a_dealer_that_answers_wrongly_ends_the_run(self, of):
        net = of()
        with pytest.raises(
            TooManyFaultsError,
            match=f"^client {DEALER}, a comparer, lied, and no other party can take its place$",
        ):
            net.run(drop=self.lying(net, (DEALER,)))

    @pytest.mark.some(2)
    @pytest.mark.parametrize("said", [(0,), (8,), (3, 1), (1, 1), (1, 3, 6)])
    def test_liars_that_cannot_be_are_not_believed(self, of, said):
        net = of()
        message = net.hold(Endorsement, recipient=SERVER, sender=FIRST)
        text = f"^client {FIRST} and client {SECOND} name impossible liars in round 1$"
        with pytest.raises(CheatError, match=text):
            go_on_with(net, replace(message, liars=said))

    def test_the_second_evaluator_names_nobody(self, of):
        net = of()
        message = net.hold(Endorsement, recipient=SERVER, sender=SECOND)
        with pytest.raises(CheatError, match="name impossible liars"):
            go_on_with(net, replace(message, liars=(1,)))

    def test_nothing_is_decoded_where_a_server_leaves_out_more_than_honest_ones_may(self, of):
        net = of()
        residues, liars = PackedResidues.empty((1, 1, 1)), Liars(check=None)
        given = {"primes": primes_of(1), "weights": None, "kernels": None, "liars": liars}
        answers = MaskedAnswers(net.job, (1, 2, 4, 5), **given)  # R + A = 5 are needed
        with pytest.raises(TooManyFaultsError, match=r"^too few answers are left$"):
            answers.take(1, 0, residues)

    @pytest.mark.some(2)
    @pytest.mark.parametrize(
        ("withheld", "blamed"),
        [
            ((MaskedAnswer, (6, 7)), (6, 7)),
            ((SpareMasks, (DEALER,)), (DEALER,)),
            ((OpenedLabels, (FIRST,)), (FIRST,)),
            ((OpenedLabels, (SECOND,)), (SECOND,)),
            ((Endorsement, (FIRST,)), (FIRST,)),
        ],
        ids=["answers", "masks", "labels of the first", "labels of the second", "what follows"],
    )
    def test_of_those_who_are_waited_for_who_has_not_sent_something_is_overdue(self, of, withheld, blamed):
        net, carried = of(), Counter()
        kind, senders = withheld
        lie = self.lying(net, (1,), since=2)

        def drop(message):
            if message.round == 2 and isinstance(message, kind) and message.sender in senders:
                return True
            carried[type(message).__name__, message.sender, message.recipient] += 1
            return lie(message)

        net.run(drop=drop)
        assert net.server.outcome is None
        assert net.server.overdue(lambda *link: carried[link]) == blamed

    def test_a_dealer_that_gives_the_first_evaluator_no_masks_is_overdue(self, of):
        """Its own answer is sent to nobody, and with two liars all seven answers are needed."""
        net, carried = of(comparers=(4, 7, 5)), Counter()
        lie = self.lying(net, (1, 3), since=2)

        def drop(message):
            if message.round == 2 and isinstance(message, SpareMasks) and message.recipient == 7:
                return True
            carried[type(message).__name__, message.sender, message.recipient] += 1
            return lie(message)

        net.run(drop=drop)
        assert net.server.outcome is None
        assert net.server.overdue(lambda *link: carried[link]) == (4,)


class TestTheTrio:
    @pytest.mark.parametrize("gone", COMPARERS)
    @pytest.mark.parametrize("round_", [1, 3])
    def test_a_comparer_that_vanishes_ends_the_run_and_nothing_is_opened(self, net, gone, round_):
        of_round(net, round_, gone)
        opened = []

        def drop(message):
            if isinstance(message, OpenedLabels) and message.round == round_:
                opened.append(message)
            return gone in (message.sender, message.recipient)

        net.run(drop=drop)
        assert opened == []
        with pytest.raises(TooManyFaultsError, match=f"^client {gone}, a comparer, is absent") as caught:
            net.server.absent(gone)
        assert caught.value.clients == (gone,)
        assert net.server.outcome is None
        assert all(client.labels is None for client in net.clients.values())

    @pytest.mark.parametrize("liar", [FIRST, SECOND])
    def test_evaluators_that_opened_different_labels_end_the_run(self, net, liar):
        opened = net.hold(OpenedLabels, recipient=SERVER, sender=liar)
        text = f"^client {FIRST} and client {SECOND} opened different labels in round 1$"
        with pytest.raises(CheatError, match=text):
            go_on_with(net, replace(opened, labels=other(opened.labels)))
        assert net.server.outcome is None

    @pytest.mark.parametrize("liar", [FIRST, SECOND])
    @pytest.mark.parametrize("last", [False, True])
    def test_a_signature_of_something_else_is_its_signers_fault(self, net, liar, last):
        wrong = {}

        def drop(message):
            if isinstance(message, Endorsement) and message.sender == liar:
                wrong["one"] = replace(message, signature=bytes(64))
                if not last:
                    net.deliver(wrong["one"])
                return True
            return False

        def go():
            net.run(drop=drop)
            net.deliver(wrong["one"])

        with pytest.raises(CheatError, match=f"client {liar}"):
            go()
        assert net.server.gathering.round == 1

    @pytest.mark.parametrize("kind", [OpenedLabels, Endorsement])
    @pytest.mark.parametrize("sender", [1, 3, DEALER])
    def test_nobody_else_opens_or_endorses(self, net, refuses, kind, sender):
        net.hold(OpenedLabels, recipient=SERVER)
        message = net.message(kind, sender=sender, recipient=SERVER, at=(1, 0))
        refuses(net.server, message, MessageError, f"^{kind.__name__}: client {sender} is no evaluator$")

    @pytest.mark.parametrize("kind", [OpenedLabels, Endorsement])
    @pytest.mark.parametrize("round_", [0, 2, 2**32 - 1])
    def test_of_another_round_neither_is_taken(self, net, refuses, kind, round_):
        message = replace(net.hold(kind, recipient=SERVER), round=round_)
        text = f"^{kind.__name__}: of round {round_}, the server is in round 1$"
        refuses(net.server, message, MessageError, text)

    def test_labels_of_a_part_come_once_and_in_turn(self, net, refuses):
        opened = net.hold(OpenedLabels, recipient=SERVER)
        refuses(net.server, replace(opened, part=3), MessageError, "part 3 .* out of turn")
        refuses(
            net.server, replace(opened, labels=opened.labels[:-1]), MessageError, "of 5 rows, part 0 has 6"
        )
        net.deliver(opened)
        refuses(net.server, opened, MessageError, "part 0 .* out of turn")

    def test_a_signature_before_all_labels_is_out_of_turn(self, net, refuses):
        opened = net.hold(OpenedLabels, recipient=SERVER)
        early = net.message(Endorsement, sender=opened.sender, recipient=SERVER, at=(1, 0))
        refuses(net.server, early, MessageError, f"of client {opened.sender} out of turn")

    @pytest.mark.parametrize(
        ("kind", "sender", "recipient"),
        [
            (SpareMasks, FIRST, SECOND),
            (SpareMasks, 1, 3),
            (MaskedAnswer, 1, SECOND),
            (MaskedAnswer, 1, DEALER),
            (MaskedAnswer, 1, 3),
            (MaskedDistances, 1, SECOND),
            (MaskedDistances, DEALER, SECOND),
            (MaskedDistances, SECOND, FIRST),
            (MaskedDistances, FIRST, DEALER),
            (Compared, 1, FIRST),
            (Compared, 3, DEALER),
            (Compared, DEALER, 1),
            (Compared, FIRST, 3),
        ],
    )
    def test_what_somebody_does_not_send_to_another_is_refused(self, net, refuses, kind, sender, recipient):
        net.deliver(net.hold(Assignment, recipient=recipient))
        message = net.message(kind, sender=sender, recipient=recipient, at=(1, 0))
        text = f"^{kind.__name__}: client {sender} does not send this to client {recipient}$"
        refuses(net.clients[recipient], message, MessageError, text)

    @pytest.mark.parametrize("sender", COMPARERS)
    def test_words_of_another_size_end_the_run_with_their_senders_name(self, net, sender):
        recipient = FIRST if sender == SECOND else SECOND
        message = net.hold(Compared, recipient=recipient, sender=sender)
        data = net.question_in(message) + bytes(24)
        sealed = net.seal(sender, recipient, message.place, data, message.purpose, round_=message.round)
        with pytest.raises(CheatError, match=f"client {sender}: .* bytes"):
            go_on_with(net, replace(message, sealed=sealed))

    def test_masked_distances_of_another_size_end_the_run_with_their_senders_name(self, net):
        message = net.hold(MaskedDistances, recipient=SECOND)
        sealed = net.seal(
            FIRST, SECOND, message.part, bytes(9), MaskedDistances.purpose, round_=message.round
        )
        with pytest.raises(CheatError, match=f"client {FIRST}: "):
            net.deliver(replace(message, sealed=sealed))

    def test_a_message_of_a_part_that_there_is_not_ends_the_run(self, net):
        # The dealer's messages before labels, which prove that rows are in range; they say nothing about
        # labels.
        def drop(one):
            return isinstance(one, Compared) and (one.sender, one.recipient) == (DEALER, SECOND) and one.round

        net.run(drop=drop)
        sealed = net.seal(DEALER, SECOND, place_of(0, 99), bytes(8), Compared.purpose, round_=1)
        message = replace(net.message(Compared, sender=DEALER, recipient=SECOND, at=(1, 0)), part=99)
        with pytest.raises(CheatError, match=f"client {DEALER}: Compared: part 99, there are 14"):
            net.deliver(replace(message, sealed=sealed))


_WHOLE = np.random.default_rng(9)
EMPTIED = [_WHOLE.integers(-3, 4, size=(m, 1)).astype(float) for m in (2, 3, 1, 2, 2)]


class TestEmptiedClusters:
    """Evaluators say which rows move to emptied clusters. What both sign is the next question."""

    @pytest.fixture
    def of(self, wire):
        def made(disclosure="labels", **more):
            return wire(EMPTIED, k=5, seed=0, precision=8, disclosure=disclosure, **more)

        return made

    @pytest.fixture
    def net(self, of):
        return of(comparers=COMPARERS)

    @pytest.mark.some(3)
    @pytest.mark.parametrize(
        "change",
        [
            lambda moved: (),
            lambda moved: moved[:1],
            lambda moved: moved[::-1],
            lambda moved: (*moved[:-1], moved[0]),
            lambda moved: (*moved[:-1], 10),
            lambda moved: (*moved, 9),
        ],
        ids=["none", "one", "in another order", "one twice", "beyond the rows", "one more"],
    )
    @pytest.mark.parametrize("liars", [(FIRST,), (SECOND,), (FIRST, SECOND)])
    def test_other_rows_than_both_found_end_the_run(self, net, liars, change):
        def drop(message):
            lies = isinstance(message, Endorsement) and message.round == 1 and message.sender in liars
            if lies and message.rows == (0, 3):
                net.deliver(replace(message, rows=change(message.rows)))
                return True
            return False

        with pytest.raises(
            CheatError, match=f"client {FIRST}|client {FIRST} and client {SECOND} moved different"
        ):
            net.run(drop=drop)
        assert net.server.outcome is None
        assert net.server.gathering.round == 1

    def test_a_row_moved_elsewhere_by_the_server_is_refused(self, net, refuses):
        question = of_round(net, 2, 1)
        sets = question.sets.copy()
        sets[[0, 3]] = sets[[3, 0]]
        assert (sets != question.sets).any()
        refuses(net.clients[1], replace(question, sets=sets), SealError, f"client {FIRST}")
        net.deliver(question)


FIRST_SETS = {
    "none": lambda sets: np.full_like(sets, -1),
    "two": lambda sets: np.where(np.arange(sets.size) < 2, [0], -1),
    "two sets": lambda sets: np.where(np.arange(sets.size) < 2, np.arange(sets.size), -1),
    "another set": lambda sets: np.where(sets == 0, 1, -1),
    "another row": lambda sets: np.roll(sets, 1),
    "a partition": lambda sets: np.arange(sets.size) % 4,
}
"""First questions that a cheating server may ask instead of the right row."""


class TestStartByPlusPlus:
    """Evaluators say which candidate is chosen and which rows are drawn. The server gives the draws."""

    K = 4

    @pytest.fixture
    def made(self, part_rows):
        part_rows(6)

        def of(**more):
            given = {"k": self.K, "disclosure": "labels", "comparers": COMPARERS, "init": "k-means++"}
            return Wire(ROWS, **given | {"seed": 0} | more)

        return of

    @pytest.fixture
    def net(self, made):
        return made()

    def test_each_question_but_the_last_of_a_start_has_its_own_draws(self, made):
        net, asked = made(n_init=2), []

        def drop(message):
            if isinstance(message, Assignment) and message.recipient == 1:
                asked.append(message)
            return False

        net.run(drop=drop)
        counts = [len(one.draws) for one in asked]
        assert counts[: self.K + 1] == [3, 3, 3, 0, 0]
        assert sorted(counts)[-7:] == [0, 3, 3, 3, 3, 3, 3]
        drawn = [number for one in asked for number in one.draws]
        assert len(set(drawn)) == len(drawn)

    def test_the_server_is_told_rows_and_no_labels_of_candidates(self, net):
        told = {}

        def drop(message):
            if isinstance(message, OpenedLabels | Endorsement):
                told.setdefault(message.round, []).append(message)
            return False

        net.run(drop=drop)
        for round_ in range(1, self.K + 1):
            opened = [one for one in told[round_] if isinstance(one, OpenedLabels)]
            assert len(opened) == 2 * 4
            assert not any(one.labels.size for one in opened)
            rows = {one.rows for one in told[round_] if isinstance(one, Endorsement)}
            assert len(rows) == 1
            assert len(rows.pop()) == 1 if round_ == self.K else 2 <= len(rows.pop()) <= 4

    @pytest.mark.parametrize(("client", "change"), crossed(EVERYBODY, FIRST_SETS, together=1))
    def test_a_first_question_that_is_not_about_the_row_that_follows_is_refused(
        self, net, refuses, client, change
    ):
        question = net.hold(Assignment, recipient=client)
        sets = FIRST_SETS[change](labels_of(question.sets)).astype(np.int32)
        text = "first sets and draws that follow from|every set is"
        refuses(net.clients[client], replace(question, sets=sets), MessageError, text)
        net.deliver(question)

    @pytest.mark.parametrize(("client", "round_", "count"), crossed(EVERYBODY, [1, 2], [1, 2]))
    def test_other_draws_are_refused(self, net, refuses, client, round_, count):
        question = of_round(net, round_, client)
        text = "first sets and draws that follow from" if round_ == 1 else f"client {FIRST}"
        for draws in (question.draws[:count], (*question.draws[:2], question.draws[2] ^ 1)):
            refuses(net.clients[client], replace(question, draws=draws), MessageError, text)
        net.deliver(question)

    @pytest.mark.some(1)
    @pytest.mark.parametrize("client", EVERYBODY)
    def test_draws_where_none_follow_are_refused(self, net, refuses, client):
        question = of_round(net, self.K, client)
        assert question.draws == ()
        refuses(net.clients[client], replace(question, draws=(1, 2, 3)), SealError, f"client {FIRST}")
        net.deliver(question)

    @pytest.mark.parametrize(
        ("client", "said"), crossed(EVERYBODY, [Said.LABELS, Said.START, Said.RESULT], together=1)
    )
    def test_candidates_that_evaluators_did_not_draw_are_refused(self, net, refuses, client, said):
        question = of_round(net, 2, client)
        sets = labels_of(question.sets)
        draws = {"draws": question.draws}
        assert question.endorsements == signed(net, sets, said=Said.CANDIDATES, **draws)
        others = np.roll(sets, 1)
        refuses(net.clients[client], replace(question, sets=others), SealError, f"client {FIRST}")
        endorsements = signed(net, sets, said=said, **({} if said is Said.LABELS else draws))
        refuses(
            net.clients[client], replace(question, endorsements=endorsements), SealError, f"client {FIRST}"
        )
        net.deliver(question)

    @pytest.mark.some(4)
    @pytest.mark.parametrize(
        "change",
        [
            lambda rows: (),
            lambda rows: rows[1:],
            lambda rows: (rows[0], *rows),
            lambda rows: (*rows, rows[1]),
            lambda rows: (*rows, 22),
            lambda rows: (*rows, *(row for row in range(22) if row not in rows)),
            lambda rows: ((rows[0] + 1) % 22, *rows[1:]),
        ],
        ids=["none", "not chosen", "chosen again", "twice", "beyond", "many", "no candidate"],
    )
    @pytest.mark.parametrize("liars", [(FIRST,), (SECOND,), (FIRST, SECOND)])
    def test_rows_that_cannot_be_end_the_run(self, net, liars, change):
        def drop(message):
            if isinstance(message, Endorsement) and message.round == 1 and message.sender in liars:
                net.deliver(replace(message, rows=change(message.rows)))
                return True
            return False

        text = f"^client {FIRST} and client {SECOND} found different rows of a start in round 1, or rows that"
        with pytest.raises(CheatError, match=text):
            net.run(drop=drop)
        assert net.server.outcome is None
        assert net.server.gathering.round == 1

    @pytest.mark.parametrize("liar", [FIRST, SECOND])
    def test_labels_of_candidates_are_refused(self, net, refuses, liar):
        opened = net.hold(OpenedLabels, recipient=SERVER, sender=liar)
        forged = replace(opened, labels=np.zeros(6, dtype=np.int32))
        refuses(net.server, forged, MessageError, "of 6 rows, part 0 has 0")
        net.deliver(opened)
