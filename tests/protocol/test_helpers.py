"""Helpers: parties without rows and shares that compare, so that any t clients still learn nothing."""

from dataclasses import replace

import numpy as np
import pytest
from support.wire import UnionWire, Wire

from secfc.errors import CheatError, MessageError, ParameterError, SealError, TooManyFaultsError
from secfc.protocol.messages import (
    KINDS,
    SERVER,
    Assignment,
    Compared,
    Finish,
    Hello,
    OpenedLabels,
    Plan,
)
from secfc.protocol.states import State

pytestmark = pytest.mark.questions

_RNG = np.random.default_rng(6)
ROWS = [_RNG.normal(size=(m, 2)).round(2) for m in (4, 5, 6, 3, 4, 2)]
FIRST, SECOND = HELPERS = 7, 8


@pytest.fixture
def of(part_rows):
    """Six clients, any two of whom may collude, and two helpers."""
    part_rows(6)

    def made(rows=ROWS, **more):
        return Wire(rows, t=2, **{"k": 3, "disclosure": "labels", **more})

    return made


@pytest.fixture
def net(of):
    return of()


def to_helper(net, kind, recipient=SECOND):
    return net.hold(kind, recipient=recipient)


def test_a_client_deals_and_helpers_evaluate_by_default(net):
    assert (net.job.comparers, net.job.parties) == ((1, FIRST, SECOND), 8)
    net.run()
    assert all(client.state is State.DONE for client in net.clients.values())
    assert [net.clients[j].labels.size for j in HELPERS] == [0, 0]


def test_a_helper_is_sent_no_share_and_no_proof_of_what_others_were_asked(net):
    kinds = {j: set() for j in HELPERS}

    def drop(message):
        for j in HELPERS:
            if j in (message.sender, message.recipient):
                kinds[j].add(type(message))
        return False

    net.run(drop=drop)
    assert all(kind.with_helpers for seen in kinds.values() for kind in seen)
    assert {Hello, Plan, Assignment, Compared, OpenedLabels, Finish} <= kinds[SECOND]


NOT_FOR_HELPERS = [kind for kind in KINDS if not kind.with_helpers and kind.phase not in ("prepare", "union")]


@pytest.mark.some(3)
@pytest.mark.parametrize("kind", NOT_FOR_HELPERS, ids=lambda kind: kind.__name__)
def test_what_is_not_for_helpers_is_refused_at_either_end(net, refuses, kind):
    to_helper(net, Compared)
    for sender, recipient in ((SECOND, 2), (2, SECOND), (SECOND, SERVER), (SERVER, SECOND)):
        message = net.message(kind, sender=2, recipient=3)
        message = replace(message, sender=sender, recipient=recipient)
        refuses(net.role(recipient), message, MessageError, f"^{kind.__name__}: ")


class TestRows:
    def test_a_helper_is_made_without_rows_start_and_ids(self, net):
        with pytest.raises(ParameterError, match=r"^client 8: a helper has no rows$"):
            net.client(SECOND, rows=ROWS[0], name="client 8")
        with pytest.raises(ParameterError, match="a helper has no rows"):
            net.client(SECOND, start=np.zeros(0, dtype=np.int32))

    def test_the_server_refuses_one_with_rows(self, net, refuses):
        hello = net.hold(Hello, recipient=SERVER, sender=SECOND)
        refuses(net.server, net.signed(hello, rows=1), MessageError, "^Hello: helper 8 has rows$")
        labels = np.zeros(0, dtype=np.int32)
        refuses(net.server, net.signed(hello, start=labels), MessageError, "start labels from client 8")

    @pytest.mark.parametrize("client", [1, 4, FIRST, SECOND])
    def test_so_does_everybody_in_the_plan(self, net, refuses, client):
        plan = net.hold(Plan, recipient=client)
        helper = SECOND if client == FIRST else FIRST
        said = list(plan.introductions)
        said[helper - 1] = net.introduction(helper, rows=1)
        forged = replace(plan, introductions=tuple(said))
        refuses(net.clients[client], forged, MessageError, f"^Plan: helper {helper} has rows$")
        said[helper - 1] = None
        forged = replace(plan, introductions=tuple(said))
        refuses(
            net.clients[client], forged, MessageError, "^Plan: one of those who are to compare did not come$"
        )


class TestQuestions:
    @pytest.fixture
    def question(self, net):
        return to_helper(net, Assignment)

    def refused(self, net, refuses, message, text, error=MessageError):
        refuses(net.clients[SECOND], message, error, text)

    def test_of_other_rows_than_were_planned(self, net, refuses, question):
        self.refused(
            net, refuses, replace(question, sets=question.sets[:-1]), "of 23 rows, the parties hold 24"
        )
        self.refused(net, refuses, replace(question, left_out=(6,)), "of 24 rows, the parties hold 22")

    @pytest.mark.parametrize("left_out", [(SECOND,), (9,)])
    def test_without_who_is_no_client(self, net, refuses, question, left_out):
        self.refused(net, refuses, replace(question, left_out=left_out), "others than clients")

    def test_that_begin_the_run_follow_from_the_seed_and_are_endorsed_by_nobody(self, net, refuses, question):
        few = np.where(question.sets == 2, 0, question.sets)
        self.refused(net, refuses, replace(question, sets=few), "that follow from the job's seed")
        self.refused(net, refuses, replace(question, endorsements=(bytes(64),) * 2), "no labels were opened")
        self.refused(net, refuses, replace(question, responders=(1, 2, 3)), "names none")

    def test_that_come_again_or_without_both_endorsements(self, net, refuses, question):
        net.deliver(question)
        self.refused(net, refuses, question, "round 1 after round 1")
        later = to_helper(net, Assignment)
        self.refused(net, refuses, replace(later, endorsements=later.endorsements[:1]), "2 are needed")
        self.refused(
            net, refuses, replace(later, endorsements=later.endorsements[::-1]), "client 7", SealError
        )
        self.refused(net, refuses, replace(later, left_out=(6,)), "others are left out than before")

    def test_no_result_comes_before_a_question(self, net, refuses, question):
        message = net.message(Finish, sender=SERVER, recipient=SECOND)
        self.refused(net, refuses, replace(message, inertia=None), "before any question")

    def test_the_result_is_what_both_endorsed(self, net, refuses):
        finish = to_helper(net, Finish)
        self.refused(net, refuses, replace(finish, endorsements=()), "0 endorsements, 2 are needed")
        self.refused(net, refuses, replace(finish, inertia=1.0), "no sum of squares")
        self.refused(net, refuses, replace(finish, labels=finish.labels[:-1]), "other rows")
        self.refused(net, refuses, replace(finish, left_out=(6,)), "other rows")
        self.refused(net, refuses, replace(finish, n_iter=finish.n_iter + 1), "client 7", SealError)
        net.deliver(finish)
        assert net.clients[SECOND].state is State.DONE

    def test_with_ids_there_are_at_most_as_many_rows_as_the_job_says(self, refuses):
        net = UnionWire([part[:2] for part in ROWS], k=2, t=2, disclosure="labels", ids_cap=15)
        question = to_helper(net, Assignment)
        more = np.resize(question.sets, 16)
        self.refused(net, refuses, replace(question, sets=more), "of 16 rows, the parties hold 15")
        net.deliver(question)
        later = to_helper(net, Assignment)
        self.refused(
            net, refuses, replace(later, sets=np.resize(later.sets, 13)), "of 13 rows, the parties hold 12"
        )


UNUSABLE = r"too few answers are left: those of clients [\d, ]+ cannot be used"


class TestOtherQuestions:
    """With two clusters all bits are labels, so opened values of different questions would be accepted."""

    @pytest.mark.parametrize(
        ("comparers", "asked", "found"),
        [
            ((1, FIRST, SECOND), (FIRST,), UNUSABLE),  # it accepts nobody's answer
            ((1, FIRST, SECOND), (FIRST, SECOND), UNUSABLE),
            ((1, FIRST, SECOND), (SECOND,), "client 7: MaskedDistances: of another question than client 8"),
            ((FIRST, SECOND, 9), (FIRST, SECOND, 9), UNUSABLE),
            ((FIRST, SECOND, 9), (FIRST,), "client 7: Compared: of another question than client 9"),
        ],
    )
    def test_nothing_comes_of_them(self, of, comparers, asked, found, gullible):
        net, opened = of(k=2, comparers=comparers), []

        def ask(message):
            if isinstance(message, OpenedLabels):
                opened.append(message)
            if isinstance(message, Assignment) and message.recipient in asked:
                net.deliver(replace(message, sets=message.sets[::-1]))
                return True
            return False

        with pytest.raises(TooManyFaultsError if found is UNUSABLE else CheatError, match=found):
            net.run(drop=ask)
        assert opened == []
        assert net.server.gathering.round == 1

    def test_none_is_passed_over(self, net, refuses):
        net.deliver(to_helper(net, Assignment))
        later = to_helper(net, Assignment)
        refuses(net.clients[SECOND], replace(later, round=3), MessageError, "round 3 after round 1")
