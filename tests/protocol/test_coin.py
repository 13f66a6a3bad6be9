"""Public choices of disclosure "labels": nobody has to trust the server about the rows of a start."""

import hashlib
import struct
from dataclasses import replace

import numpy as np
import pytest
from support.wire import RUN, UnionWire, Wire

from secfc.crypto.coin import toss
from secfc.errors import CheatError, MessageError, SealError
from secfc.field.label_packing import labels_of
from secfc.kmeans.start import random_partition
from secfc.protocol.choices import label_search
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.messages import (
    SERVER,
    Assignment,
    Coin,
    CoinRequest,
    Endorsement,
    LeaveOut,
    Ready,
    Report,
    Share,
)
from secfc.protocol.phases.server_coin import ServerCoin
from secfc.protocol.phases.server_share import ServerShare
from secfc.protocol.signed import value_statement

pytestmark = pytest.mark.questions

_RNG = np.random.default_rng(4)
ROWS = [_RNG.normal(size=(m, 2)).round(2) for m in (4, 5, 6, 3, 4, 2)]
THREE, HELPING = (4, 2, 5), (1, 7, 8)
TRIOS = {"clients": {"t": 1, "comparers": THREE}, "helpers": {"t": 2, "comparers": HELPING}}


def wire(*, trio="clients", union=False, rows=ROWS, **more):
    given = {"k": 3, "disclosure": "labels", "seed": None} | TRIOS[trio] | more
    return UnionWire(rows, salt=bytes(16), **given) if union else Wire(rows, **given)


@pytest.fixture(params=TRIOS)
def trio(request):
    return request.param


@pytest.fixture
def net(part_rows, trio):
    part_rows(6)
    return wire(trio=trio)


def asked(net, recipient=1):
    """Run; return all questions to a client."""
    questions = []

    def drop(message):
        if isinstance(message, Assignment) and message.recipient == recipient:
            questions.append(message)
        return False

    net.run(drop=drop)
    return questions


def of_round(net, round_, recipient):
    """Deliver everything before the client's question of this round; return that question."""
    while (message := net.hold(Assignment, recipient=recipient)).round != round_:
        net.deliver(message)
    return message


def coin_of(net, left_out=()):
    values = {j: net.clients[j].phase._peers.coin for j in net.job.comparers}
    return toss(net.transcript, values, left_out)


def test_the_server_still_says_who_lied_about_shares(monkeypatch):
    net = wire()
    monkeypatch.setattr(ServerShare, "cheats", (3,))
    unread = property(lambda self: ((3, 6),), lambda self, found: None)
    monkeypatch.setattr(ServerShare, "unread", unread, raising=False)
    net.hold(CoinRequest, recipient=net.job.comparers[0])
    assert isinstance(net.server.phase, ServerCoin)
    assert (net.server.faults.cheats, net.server.faults.unread) == ((3,), ((3, 6),))


def digest(*pieces):
    return hashlib.sha256(b"".join(pieces)).digest()


class TestWhatFollows:
    def test_the_coin_is_what_its_documentation_says(self, net):
        question = net.hold(Assignment, recipient=1)
        values = [question.coin[at : at + 32] for at in (0, 96, 192)]
        assert len(set(values)) == 3
        for j, value in zip(net.job.comparers, values, strict=True):
            expected = digest(b"secfc commitment 1", RUN, struct.pack("<H", j), value)
            assert net.introductions[j - 1].commitment == expected
        said = sorted(zip(net.job.comparers, values, strict=True))
        pieces = [struct.pack("<H", j) + value for j, value in said]
        coin = int.from_bytes(digest(b"secfc toss 1", net.transcript, *pieces), "little")
        first = random_partition(np.random.default_rng(coin), net.m, net.job.k)
        assert labels_of(question.sets).tolist() == first.tolist()

    def test_two_runs_differ_and_a_seed_repeats_one(self, trio):
        firsts = [wire(trio=trio).hold(Assignment, recipient=1).sets.tolist() for _ in range(2)]
        assert firsts[0] != firsts[1]
        seeded = [wire(trio=trio, seed=9).hold(Assignment, recipient=1).sets.tolist() for _ in range(2)]
        assert seeded[0] == seeded[1] == random_partition(np.random.default_rng(9), 24, 3).tolist()

    @pytest.mark.some(2)
    @pytest.mark.parametrize("more", [{"seed": 5}, {"seed": 5, "init": "k-means++"}, {"init": "labels"}])
    def test_where_choices_are_agreed_on_no_coin_is_tossed(self, trio, more, refuses):
        starts = [np.arange(len(part)) % 3 for part in ROWS] if more.get("init") == "labels" else None
        net = wire(trio=trio, starts=starts, **more)
        kinds = set()

        def drop(message):
            kinds.add(type(message))
            if isinstance(message, Assignment) and message.round == 1:
                tossed = replace(message, coin=bytes(288))
                text = "288 bytes of a coin, 0 values are needed"
                refuses(net.clients[message.recipient], tossed, MessageError, text)
            return False

        net.run(drop=drop)
        assert not kinds & {Coin, CoinRequest}
        assert net.server.outcome is not None

    def test_with_another_disclosure_nobody_tosses_one(self, refuses):
        net = wire(disclosure="coded", comparers=())
        question = net.hold(Assignment, recipient=2)
        request = CoinRequest(run=RUN, sender=SERVER, recipient=2)
        refuses(net.clients[2], request, MessageError, "^CoinRequest: ")
        tossed = replace(question, coin=bytes(288))
        refuses(net.clients[2], tossed, MessageError, "288 bytes of a coin, nobody tosses one")
        net.deliver(question)
        net.run()
        told = Coin(run=RUN, sender=2, recipient=SERVER, value=bytes(32), signature=bytes(64))
        refuses(net.server, told, MessageError, "Coin")


CHOSEN = {
    "a row alone": lambda net, one: {"sets": np.where(np.arange(24) == 7, 1, np.arange(24) % 2 * 2)},
    "one row against another": lambda net, one: {
        "sets": np.where(np.arange(24) < 2, np.arange(24), -1).astype(np.int32)
    },
    "of another seed": lambda net, one: {
        "sets": random_partition(np.random.default_rng(1), net.m, net.job.k)
    },
    "draws": lambda net, one: {"draws": (1, 2, 3)},
    "no coin": lambda net, one: {"coin": b""},
    "a value less": lambda net, one: {"coin": one.coin[:192]},
    "a value more": lambda net, one: {"coin": one.coin + bytes(96)},
    "values of others": lambda net, one: {"coin": one.coin[96:] + one.coin[:96]},
}


class TestServerThatCheats:
    """Questions that a server and a client would ask to read rows: sets of their choice."""

    @pytest.mark.some(2)
    @pytest.mark.parametrize("chosen", CHOSEN.values(), ids=CHOSEN)
    def test_nobody_answers_first_sets_of_its_choice(self, net, refuses, chosen):
        held = [net.hold(Assignment, recipient=j) for j in net.clients]
        for one in held:
            text = "that follow from the comparers' coin|coin than it is committed to|bytes of a coin"
            asked = replace(one, **chosen(net, one))
            refuses(net.clients[one.recipient], asked, MessageError, f"^(Assignment|client .*): .*|{text}")
        for one in held:
            net.deliver(one)
        net.run()
        assert net.server.outcome is not None

    def test_a_comparers_other_value_is_refused_by_everybody_and_names_it(self, net, refuses):
        for one in [net.hold(Assignment, recipient=j) for j in net.clients]:
            for at, liar in enumerate(net.job.comparers):
                coin = bytearray(one.coin)
                coin[96 * at] ^= 1
                text = f"^client {liar} told another value of the coin than it is committed to$"
                refuses(net.clients[one.recipient], replace(one, coin=bytes(coin)), MessageError, text)

    @pytest.mark.some(2)
    @pytest.mark.parametrize("at", range(3))
    def test_a_comparer_signs_for_which_rows_it_told_its_value(self, net, refuses, at):
        """Otherwise a server could choose a coin: it would name different rows and then lose comparers."""
        held = [net.hold(Assignment, recipient=j) for j in net.clients]
        liar = net.job.comparers[at]
        value, text = (
            held[0].coin[96 * at :][:32],
            f"^client {liar}: its value of the coin about these rows is",
        )
        for about in ({"left_out": (6,)}, {"transcript": bytes(32)}, {"party": 3}):
            given = {"transcript": net.transcript, "party": liar, "left_out": (), "value": value} | about
            signature = net.identities[liar - 1].sign(value_statement(given.pop("transcript"), **given))
            for one in held:
                coin = bytearray(one.coin)
                coin[96 * at + 32 : 96 * at + 96] = signature
                refuses(net.clients[one.recipient], replace(one, coin=bytes(coin)), SealError, text)
        for one in held:
            net.deliver(one)
        net.run()
        assert net.server.outcome is not None

    @pytest.mark.some(1)
    @pytest.mark.parametrize("init", ["random", "k-means++"])
    def test_nobody_answers_other_first_sets_of_a_later_start(self, part_rows, trio, refuses, init):
        part_rows(6)
        plain = wire(trio=trio, n_init=2, init=init, seed=3)
        questions = asked(plain)
        rows = {"layout": Layout((24,)), "transcript": b"", "left_out": (), "values": {}, "start": None}
        first = label_search(plain.job, **rows).sets
        starts = [one.round for one in questions if (labels_of(one.sets) == first).all()]
        second = next(
            one.round
            for one in questions[2:]
            if (init == "k-means++" and labels_of(one.sets).max() == 0)
            or (init == "random" and one.round > 2 and self.begins(plain, one))
        )
        assert starts[0] == 1 < second
        for client in (1, plain.job.comparers[0], plain.job.comparers[1], plain.job.comparers[2], 6):
            net = wire(trio=trio, n_init=2, init=init, seed=3)
            question = of_round(net, second, client)
            sets = labels_of(question.sets)
            for changed in ({"sets": np.roll(sets, 1)}, {"sets": first}, {"draws": (1, 2, 3)}):
                refuses(net.clients[client], replace(question, **changed), SealError, "^client ")
            net.deliver(question)

    def begins(self, net, question):
        """Whether a question is about a partition drawn by the generator."""
        rng = np.random.default_rng(net.job.seed)
        random_partition(rng, net.m, net.job.k)
        return (labels_of(question.sets) == random_partition(rng, net.m, net.job.k)).all()

    def test_evaluators_endorse_the_next_start_that_follows_alone(self, trio):
        net = wire(trio=trio, n_init=3)
        endorsement = net.hold(Endorsement, recipient=SERVER)
        net.server.phase.search._rng = np.random.default_rng(0)  # what the server would choose
        net.deliver(endorsement)
        with pytest.raises(CheatError, match="what follows from the labels"):
            net.run()
        assert net.server.outcome is None

    def test_a_coin_comes_with_the_first_question_alone(self, net, refuses):
        first = net.hold(Assignment, recipient=1)
        net.deliver(first)
        question = net.hold(Assignment, recipient=1)
        text = "a coin in question 2, it is told in the first"
        refuses(net.clients[1], replace(question, coin=first.coin), MessageError, text)
        net.deliver(question)


class TestWhoTells:
    def test_values_are_told_once_and_when_all_shares_were_checked(self, net):
        told, reports = {}, set()

        def drop(message):
            if isinstance(message, Report):
                reports.add(message.sender)
            if isinstance(message, CoinRequest):
                assert reports == set(range(1, 7))
                assert not told
            if isinstance(message, Coin):
                told[message.sender] = message.value
            return False

        net.run(drop=drop)
        assert set(told) == set(net.job.comparers)

    def test_no_value_can_be_read_before(self, net):
        sent = []
        net.run(until=lambda: bool(net.links[SERVER, net.job.comparers[0]]) and self.requested(net, sent))
        values = [net.clients[j].phase._peers.coin for j in net.job.comparers]
        assert not any(value in data for value in values for data in sent)

    def requested(self, net, sent):
        sent.extend(data for link in net.links.values() for _, data in link)
        kinds = [type(net.decode(data)) for _, data in net.links[SERVER, net.job.comparers[0]]]
        return CoinRequest in kinds

    def test_a_request_is_answered_in_its_turn_alone(self, net, refuses):
        comparer = net.job.comparers[2]
        client = net.clients[comparer]
        request = CoinRequest(run=RUN, sender=SERVER, recipient=comparer)
        if comparer <= net.job.n:
            ready = net.hold(Ready, recipient=SERVER, sender=comparer)
            refuses(client, request, MessageError, "^CoinRequest: ")
            net.deliver(ready)
        request = net.hold(CoinRequest, recipient=comparer)
        for left_out in ((1,), (6, 5), (1, 1)):
            if comparer <= net.job.n or left_out != (1,):
                changed = replace(request, left_out=left_out)
                refuses(client, changed, MessageError, "^CoinRequest: ")
        net.deliver(request)
        refuses(client, request, MessageError, "^CoinRequest: a second one")
        question = net.hold(Assignment, recipient=comparer)
        net.deliver(question)
        refuses(client, request, MessageError, "^CoinRequest: ")

    def test_who_compares_nothing_is_asked_nothing(self, net, refuses):
        held = net.hold(Assignment, recipient=3)
        request = CoinRequest(run=RUN, sender=SERVER, recipient=3)
        refuses(net.clients[3], request, MessageError, "to client 3, which tosses no coin")
        net.deliver(held)
        refuses(net.clients[3], request, MessageError, "CoinRequest: after round 1")

    def test_nobody_is_left_out_after_the_coin(self, net, refuses):
        comparer = net.job.comparers[0]
        request = net.hold(CoinRequest, recipient=comparer)
        net.deliver(request)
        leave = LeaveOut(run=RUN, sender=SERVER, recipient=comparer, client=6)
        refuses(net.clients[comparer], leave, MessageError, "LeaveOut: of client 6, after the coin")

    def test_a_helper_refuses_questions_without_others_than_it_was_told_with_the_coin(self, refuses):
        net = wire(trio="helpers")
        request = net.hold(CoinRequest, recipient=8)
        net.deliver(replace(request, left_out=(6,)))
        coin = net.hold(Coin, recipient=SERVER, sender=8)
        refuses(
            net.server, coin, SealError, "^client 8: its value of the coin about these rows is not signed"
        )
        signed = value_statement(net.transcript, party=8, value=coin.value, left_out=())
        net.deliver(replace(coin, signature=net.identities[7].sign(signed)))
        question = net.hold(Assignment, recipient=8)
        refuses(net.clients[8], question, MessageError, "others are left out than before")

    @pytest.mark.parametrize("gone", [6])
    def test_the_coin_depends_on_who_is_left_out(self, trio, gone):
        net = wire(trio=trio)
        net.run(drop=lambda message: isinstance(message, Share) and message.sender == gone)
        net.post(net.server.absent(gone))
        net.run(drop=lambda message: gone in (message.sender, message.recipient))
        assert net.server.outcome is not None
        coin, whole = coin_of(net, (gone,)), coin_of(net)
        assert coin != whole
        first = random_partition(np.random.default_rng(coin), 22, 3)
        assert net.server.outcome.start.tolist() == first.tolist()


class TestServer:
    def test_names_who_tells_another_value(self, net, refuses):
        liar = net.job.comparers[1]
        coin = net.hold(Coin, recipient=SERVER, sender=liar)
        other = net.clients[net.job.comparers[0]].phase._peers.coin
        text = f"^client {liar} told another value of the coin than it is committed to$"
        for value in (bytes(32), other, coin.value[::-1]):
            refuses(net.server, replace(coin, value=value), MessageError, text)
        text = f"^client {liar}: its value of the coin about these rows is not signed"
        refuses(net.server, replace(coin, signature=bytes(64)), SealError, text)
        net.deliver(coin)
        net.run()
        assert net.server.outcome is not None

    def test_takes_one_of_each_comparer_before_the_first_question(self, net, refuses):
        comparer = net.job.comparers[1]
        coin = net.hold(Coin, recipient=SERVER, sender=comparer)
        refuses(
            net.server, replace(coin, sender=3), MessageError, "^Coin: of client 3, which compares nothing"
        )
        early = Endorsement(run=RUN, sender=comparer, recipient=SERVER, round=0, signature=bytes(64))
        refuses(net.server, early, MessageError, "^Endorsement: before the first question")
        net.deliver(coin)
        refuses(net.server, coin, MessageError, f"^Coin: of client {comparer}, which .* has told its value")
        net.hold(Assignment, recipient=1)
        refuses(net.server, coin, MessageError, "^Coin: ")
