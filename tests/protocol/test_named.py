"""Disclosure "coded" with many clients: each round names some that answer, twice as many as are needed."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.wire import Wire

from plaintext_baselines import ExactLloyd
from secfc.errors import MessageError, TooManyFaultsError
from secfc.field.packing import PackedResidues
from secfc.protocol.answers.disclosure import ServerCoded
from secfc.protocol.answers.gathering import Gathering
from secfc.protocol.job.job_options import as_options
from secfc.protocol.job.making import make_job
from secfc.protocol.messages import SERVER, Assignment, CodedDistances

pytestmark = pytest.mark.questions

N, NAMED, R = 9, 6, 3
ROWS = np.random.default_rng(4).integers(-9, 9, size=(30, 2)).astype(float)


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr("secfc.protocol.job.job._FEW_ANSWER", 4)


def net_of(n=N, **options):
    return Wire(np.array_split(ROWS, n), **{"k": 3, "seed": 2} | options)


def exact(net):
    """The labels of the same start on the pooled rows."""
    ends = np.cumsum([len(part) for part in net.rows])[:-1]
    start = np.split(net.server.outcome.start, ends)
    of_job = {name: as_options(net.job)[name] for name in ("bound", "precision", "max_iter")}
    model = ExactLloyd(net.job.k, init=start, **of_job)
    return np.concatenate(model.fit(net.rows).labels_)


def labels_of(net):
    return np.concatenate([net.clients[j].labels for j in range(1, net.job.n + 1)])


def sets_of(recorded):
    """A `drop` that records who answers which round, and loses nothing."""

    def drop(message):
        if isinstance(message, CodedDistances):
            recorded.setdefault(message.round, set()).add(message.sender)
        return False

    return drop


def test_twice_as_many_as_are_needed_are_named_where_there_are_more(monkeypatch):
    def job(n, **options):
        return make_job(
            **{"n": n, "k": 2, "t": 1, "ell": 1, "d": 2, "bound": 1.0, "disclosure": "coded"} | options
        )

    assert [job(n).named for n in (6, 7, 20)] == [0, 6, 6]
    assert [job(n, max_liars=2).named for n in (14, 15, 40)] == [0, 14, 14]
    assert job(20, disclosure="labels", comparers=(1, 2, 3)).named == 0
    assert job(20).asked_again == (20 - R) // (NAMED - R)
    assert job(20, max_liars=2).asked_again == (20 - R) // (14 - R - 4)
    assert job(6).asked_again == 0
    assert job(20).max_rounds == job(6).max_rounds + 5
    monkeypatch.undo()
    assert [job(n).named for n in (32, 33, 1000)] == [0, 32, 32]
    assert [job(n, t=20, ell=20).named for n in (158, 159)] == [0, 158]


def test_only_the_named_answer_and_all_get_the_labels():
    net, answered = net_of(), {}
    net.run(drop=sets_of(answered))
    assert set(map(frozenset, answered.values())) == {frozenset(range(1, NAMED + 1))}
    assert len(answered) > 2
    assert (labels_of(net) == exact(net)).all()


def test_others_are_named_when_too_few_are_left():
    net, answered, gone = net_of(15), {}, {1, 2, 4, 5}
    note = sets_of(answered)

    def drop(message):
        return isinstance(message, CodedDistances) and message.round == 2 and message.sender in gone

    net.run(drop=drop)
    assert net.server.gathering.round == 2
    for client in sorted(gone):
        net.post(net.server.absent(client))
    net.run(drop=note)
    assert answered[3] == {3, 6, 7, 8, 9, 10} | gone  # and those that are back
    assert answered[4] >= {3, 6, 7, 8, 9, 10}  # never absent
    assert (labels_of(net) == exact(net)).all()


def test_clients_that_were_never_absent_are_named_first():
    job = make_job(n=12, k=2, t=1, ell=1, d=2, bound=1.0, disclosure="coded")
    gathering, disclosure, named = Gathering(job), ServerCoded(job), []
    for absent in (set(), {2}, set(), {1, 3, 4, 5, 6, 7}, {9, 10, 11, 12}, {2, 8}):
        gathering.absent = set(absent)
        gathering.begin(disclosure.responders(gathering))
        named.append(gathering.responders)
    # Absent ones are named too, so that they come back when they answer.
    assert named[:3] == [(1, 2, 3, 4, 5, 6), (1, 2, 3, 4, 5, 6, 7), (1, 3, 4, 5, 6, 7)]
    assert named[3] == ()  # six are present, and all of them answer
    assert named[4] == (1, 2, 3, 4, 5, 8, 9, 10, 11, 12)
    assert named[5] == (1, 2, 3, 4, 5, 6, 7, 8)


@pytest.mark.parametrize(("liars", "named", "absent"), [(0, 6, 3), (1, 10, 4)])
def test_a_round_is_asked_again_exactly_when_too_few_named_are_left(liars, named, absent):
    job = make_job(n=20, k=2, t=1, ell=1, d=2, bound=1.0, disclosure="coded", max_liars=liars)
    gathering, disclosure = Gathering(job), ServerCoded(job)
    gathering.begin(disclosure.responders(gathering))
    assert gathering.responders == tuple(range(1, named + 1))
    gathering.absent.add(20)
    assert not disclosure.asks_again(20, gathering)  # it was not named
    for client in range(1, absent + 1):
        gathering.absent.add(client)
        assert not disclosure.asks_again(client, gathering)
    gathering.absent.add(absent + 1)
    assert disclosure.asks_again(absent + 1, gathering)
    gathering.begin(disclosure.responders(gathering))
    assert len({*gathering.responders} - gathering.absent) == named


def test_nobody_is_asked_again_where_nobody_else_can_answer():
    job = make_job(n=7, k=2, t=1, ell=1, d=2, bound=1.0, disclosure="coded")
    gathering, disclosure = Gathering(job), ServerCoded(job)
    gathering.begin(disclosure.responders(gathering))
    gathering.absent = {4, 5, 6, 7, 1}
    assert not disclosure.asks_again(1, gathering)
    with pytest.raises(TooManyFaultsError, match="too few clients are left: to decode"):
        gathering.complete()


def test_absent_clients_come_back_with_their_next_answer():
    """Clients 7 to 14 miss round 1, and then others vanish: enough are there."""
    net, missed, gone = net_of(15), set(range(7, 15)), {1, 2, 3, 4, 15}

    def drop(message):
        if not isinstance(message, CodedDistances):
            return False
        if message.round == 1 and missed & {message.sender}:
            return True
        return message.round >= 2 and message.sender in gone

    net.run(until=lambda: net.server.gathering.round == 1)
    for client in sorted(missed):
        net.post(net.server.absent(client))
    net.run(drop=drop)
    for client in sorted(gone):
        net.post(net.server.absent(client))
    net.run(drop=drop)
    assert net.server.gathering.absent <= gone
    assert (labels_of(net) == exact(net)).all()


@pytest.mark.parametrize(
    ("responders", "text"),
    [
        ((1, 2, 3), "3 responders, 6 different ones"),
        ((1, 2, 3, 4, 5), "5 responders, 6 different ones"),
        ((1, 2, 3, 4, 5, 5), "6 responders, 6 different ones in ascending order"),
        ((2, 1, 3, 4, 5, 6), "6 responders, 6 different ones in ascending order"),
        ((1, 2, 3, 4, 5, 10), "responder 10 is no client"),
        ((0, 1, 2, 3, 4, 5), "responder 0 is no client"),
    ],
)
def test_other_responders_are_refused(refuses, responders, text):
    net = net_of()
    question = replace(net.hold(Assignment, recipient=1), responders=tuple(responders))
    refuses(net.clients[1], question, MessageError, text)


def test_responders_are_refused_where_all_clients_answer(refuses):
    net = net_of(3)
    question = replace(net.hold(Assignment, recipient=1), responders=(1, 2, 3))
    refuses(net.clients[1], question, MessageError, "disclosure 'coded' names none")


def test_an_answer_to_a_round_that_was_asked_again_is_dropped_and_its_sender_stays():
    job = make_job(n=16, k=2, t=1, ell=1, d=2, bound=1.0, disclosure="coded")
    gathering, disclosure = Gathering(job), ServerCoded(job)
    gathering.begin(disclosure.responders(gathering))
    for gone in ((1, 2, 3, 4), (5, 6, 7, 8)):
        gathering.absent |= {*gone}
        assert disclosure.asks_again(gone[-1], gathering)
        gathering.begin(disclosure.responders(gathering))
    assert set(gathering.responders) >= {9, 10, 11, 12, 13, 14}

    def answer(round_, part):
        residues = PackedResidues(shape=(1, 1, 1), payload=bytes(3))
        return CodedDistances(
            run=bytes(16), sender=9, recipient=SERVER, round=round_, part=part, residues=residues
        )

    late = answer(2, 0)  # the first one that client 9 was asked for
    assert not gathering.expects(late)
    gathering.take(late, 2, keep=False)
    with pytest.raises(MessageError, match="part 1 of round 3 from client 9, part 1 of round 2 is next"):
        gathering.expects(answer(3, 1))
    assert gathering.expects(answer(3, 0))
    assert 9 not in gathering.absent


def test_an_answer_of_a_client_that_was_not_named_is_refused(refuses):
    net = net_of()
    answer = net.hold(CodedDistances, recipient=SERVER)
    refuses(net.server, replace(answer, sender=8), MessageError, "client 8 is no responder")


@given(st.data())
@settings(deadline=None)
def test_whoever_vanishes_and_comes_back_labels_are_exact_or_too_few_are_left(data):
    n = data.draw(st.integers(7, 12), label="n")
    net = net_of(n, max_liars=data.draw(st.sampled_from([0, 0, 1]) if n > 7 else st.just(0)))
    most = net.job.threshold + net.job.max_liars
    down = set()

    def drop(message):
        if not isinstance(message, CodedDistances):
            return False
        if message.sender in down:
            return True
        if data.draw(st.integers(0, 7), label="fault") or len(down) >= n - most:
            return False
        down.add(message.sender)
        net.post(net.server.absent(message.sender))
        if len(down) > 1 and data.draw(st.booleans(), label="back"):
            down.pop()
        return True

    try:
        net.run(drop=drop)
        for client in sorted(down):  # nobody answers any more: the coordinator gives the silent ones up
            if net.server.outcome is None and client not in net.server.gathering.absent:
                net.post(net.server.absent(client))
                net.run(drop=drop)
    except TooManyFaultsError:
        return
    if net.server.outcome is not None:
        assert (labels_of(net) == exact(net)).all()


class Flapping:
    """All but some clients vanish whenever the round is then asked again. Late answers bring them back."""

    def __init__(self, net, stable):
        self.net, self.held = net, []
        self.flapping = set(range(stable + 1, net.job.n + 1))

    def hold(self, message):
        if isinstance(message, CodedDistances):
            self.held.append(message)
        return isinstance(message, CodedDistances)

    def run(self):
        net = self.net
        while net.server.outcome is None:
            net.run(drop=self.hold)
            late, self.held = self.held, []
            if self.vanished():
                self.held = [one for one in late if one.sender not in self.flapping]
                late = [one for one in late if one.sender in self.flapping]
            for message in late:
                net.deliver(message)
        net.run()

    def vanished(self):
        """Let named clients vanish until the round is asked again, if that is possible."""
        gathering = self.net.server.gathering
        before = gathering.round
        for client in sorted(self.flapping & {*gathering.responders} - gathering.absent):
            if set(gathering.present) <= set(gathering.responders):
                return False  # nobody else can be asked
            self.net.post(self.net.server.absent(client))
            if gathering.round > before:
                return True
        return False


@pytest.mark.parametrize(("n", "liars", "k"), [(20, 0, 3), (20, 1, 3), (40, 1, 6), (40, 2, 3)])
def test_rounds_are_not_asked_again_more_often_than_a_job_may_have(n, liars, k):
    net = net_of(n, max_liars=liars, k=k, max_iter=8)
    Flapping(net, stable=net.job.threshold + 2 * liars).run()
    assert net.server.gathering.repeats <= net.job.asked_again
    assert (net.server.gathering.repeats == net.job.asked_again) == (liars > 0)
    assert net.server.gathering.round <= net.job.max_rounds
    assert (labels_of(net) == exact(net)).all()


def test_how_often_a_round_was_asked_again_is_restored():
    net = net_of(20, max_liars=1)
    gathering, disclosure, again = net.server.gathering, ServerCoded(net.job), Gathering(net.job)
    gathering.repeats = net.job.asked_again - 1
    assert disclosure.responders(gathering)
    gathering.repeats += 1
    again.stand(gathering.standing())
    assert again.repeats == net.job.asked_again
    assert disclosure.responders(again) == ()
