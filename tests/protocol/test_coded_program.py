"""Runs with disclosure "coded": lost clients, wrong rows and answers, limits, and a coordinator that lies."""

import hashlib
import struct
from dataclasses import replace

import numpy as np
import pytest
from protocol.test_program import run_without
from support.wire import Wire

import secfc
from plaintext_baselines import ExactLloyd
from secfc.errors import CheatError, LimitError, RangeError, TooManyFaultsError
from secfc.field.packing import pack_canonical, unpack
from secfc.operations.decoding import distances, kept
from secfc.protocol.job.limits import Limits
from secfc.protocol.messages import Step, StepNotice, StepReport
from secfc.protocol.parties.inbox import Place
from secfc.protocol.parties.party import Party
from secfc.protocol.program.stepping import letters_of, packed
from secfc.protocol.states import State

_RNG = np.random.default_rng(3)
ROWS = [_RNG.normal(size=(m, 2)).round(2) + 4 * _RNG.integers(0, 2, (m, 1)) for m in (4, 5, 3, 6, 2)]
AT_ALL = range(1, 6)


def net_of(rows=ROWS, **more):
    return Wire(rows, **{"k": 3, "max_iter": 6} | more)


def assert_exact(net, clients=AT_ALL, *, but=()):
    """Clients have the labels of Lloyd from the first sets, which the server has too."""
    rows, outcome = [net.rows[j - 1] for j in clients], net.server.outcome
    starts = np.split(outcome.start, np.cumsum([len(part) for part in rows])[:-1])
    lloyd = ExactLloyd(net.job.k, init=starts, bound=20.0, precision=16, max_iter=6).fit(rows)
    assert outcome.labels.tolist() == np.concatenate(lloyd.labels_).tolist()
    assert (outcome.n_iter, len(outcome.history)) == (lloyd.n_iter_, lloyd.n_iter_)
    for j, labels in zip(clients, lloyd.labels_, strict=True):
        if j not in but:
            assert net.clients[j].state is State.DONE
            assert net.clients[j].labels.tolist() == labels.tolist()
            assert net.clients[j].ended == (lloyd.n_iter_, outcome.converged)


def in_any_order(rng):
    return lambda links: links[rng.integers(len(links))]


@pytest.mark.parametrize("seed", [1, 2, 3, None])
def test_labels_are_those_of_lloyd_in_any_order_of_messages(seed):
    net = net_of(seed=seed)
    net.run(choose=in_any_order(np.random.default_rng(seed)))
    assert_exact(net)
    assert net.server.faults.gone == frozenset()
    assert net.server.progress.moved is not None


@pytest.mark.parametrize("options", [{"n_init": 3}, {"init": "separation", "n_init": 2}, {"tol_moved": 0.3}])
def test_starts_and_options_have_the_results_of_lloyd(options):
    parties = [np.random.default_rng(j).integers(-3, 4, (9, 2)).astype(float) for j in range(3)]
    found = secfc.run(parties, 4, 1, 1, seed=5, disclosure="coded", **options)
    tol = {"tol_moved": options.get("tol_moved", 0)}
    exact = ExactLloyd(4, init=found.start, bound=found.job.bound, **tol).fit(parties)
    assert [one.tolist() for one in found.labels] == [one.tolist() for one in exact.labels_]
    assert found.inertia == pytest.approx(exact.inertia_)


@pytest.mark.parametrize("seed", [0, 2])
def test_as_many_starts_are_about_as_good_as_with_labels(seed):
    parties = [np.random.default_rng(10 * seed + j).integers(-3, 4, (9, 2)).astype(float) for j in range(3)]
    coded, labels = (
        secfc.run(parties, 4, 1, 1, seed=seed, init="random", n_init=6, disclosure=one)
        for one in ("coded", "labels")
    )
    assert (coded.equal_starts, coded.near_starts) == (labels.equal_starts, labels.near_starts)
    assert coded.equal_starts == (1, 4)[seed // 2]
    assert secfc.run(parties, 4, 1, 1, seed=seed, n_init=1, disclosure="coded").equal_starts is None


def everything(result):
    measured = result.cluster_spreads.tolist(), result.cluster_silhouettes.tolist()
    return [one.tolist() for one in result.labels], result.history.tolist(), result.near_ties, measured


def answered(result):
    return sum(one.size for one in result.costs.messages if one.kind == "StepReport")


class TestAnswers:
    PARTIES = tuple(np.random.default_rng(j).normal(size=(30, 2)).round(2) for j in range(3))

    def run(self, **more):
        return secfc.run(list(self.PARTIES), 5, 1, 1, seed=2, init="random", disclosure="coded", **more)

    def test_in_blocks_have_the_same_result(self, monkeypatch):
        whole = self.run()
        monkeypatch.setattr(distances, "_BLOCK", 1 << 7)
        assert distances.rows_at_once(5, 3) < 10
        assert everything(self.run()) == everything(whole)

    def test_are_about_sets_that_changed_alone(self, monkeypatch):
        few = self.run()
        monkeypatch.setattr(kept, "MOST_BYTES", 0)
        every = self.run()
        assert everything(few) == everything(every)
        sizes = [
            sum(one.size for one in found.costs.messages if one.kind == "StepReport")
            for found in (few, every)
        ]
        assert sizes[0] < sizes[1]

    def test_go_to_the_server_alone_and_labels_to_everybody(self, monkeypatch):
        sent, real = set(), Party.send

        def send(me, recipient, tag, data):
            sent.add((me.number == 0, recipient == 0, tag))
            real(me, recipient, tag, data)

        monkeypatch.setattr(Party, "send", send)
        net_of().run()
        assert {tag for server, to_server, tag in sent if to_server and not server} == {
            "root",
            "refused",
            "answer",
            "same",
        }
        assert {tag for server, to_server, tag in sent if not to_server and not server} == {"piece", "same"}


@pytest.mark.parametrize("max_liars", [0, 1])
@pytest.mark.parametrize("at", [8, 30, 60, 90, 110, 130])
@pytest.mark.parametrize("lost", [1, 4])
def test_without_a_client_the_others_end(lost, at, max_liars):
    """Before its rows are shared and proved they are left out, and afterwards they are clustered."""
    net = net_of(seed=at, max_liars=max_liars)
    run_without(net, lost, at, seed=at)
    out = net.server.faults.left_out
    assert out in ((), (lost,))
    assert_exact(net, [j for j in AT_ALL if j not in out], but=[lost])


def test_with_too_few_clients_the_run_ends():
    with pytest.raises(TooManyFaultsError, match=r"^too few clients are left: to decode"):
        run_without(net_of(ROWS[:3]), 2, 25)


@pytest.mark.parametrize(
    "change",
    [lambda rows: [[2**19, 0], *rows.tolist()[1:]], lambda rows: [[2**60, -(2**60)], *rows.tolist()[1:]]],
    ids=["norm", "wraps around"],
)
@pytest.mark.parametrize(
    "options",
    [
        {"max_liars": 0},
        {"max_liars": 1},
        {"init": "separation"},
        {"compared": (2, 3)},
        {"precision": 32, "step": 0.001},
    ],
    ids=str,
)
def test_rows_beyond_the_bound_end_the_run_before_a_label_of_them_is_told(shared_as, change, options):
    shared_as(4, change)
    told, net = [], net_of(**options)

    def note(message):
        if isinstance(message, StepNotice):
            told.extend(place.tag for place, _ in letters_of(message.data))
        return False

    with pytest.raises(RangeError, match="distances are larger than the public bound allows") as error:
        net.run(drop=note)
    assert "labels" not in told
    assert error.value.clients in ((), (4,))


class Lying:
    """Changes the first residue of answers of some clients on their way, from a round on."""

    def __init__(self, net, *liars, first=1, by=1):
        self.net, self.liars, self.first, self.by = net, liars, first, by

    def __call__(self, message):
        if not isinstance(message, StepReport) or message.sender not in self.liars:
            return False
        letters = list(letters_of(message.data))
        if all(place.tag != "answer" for place, _ in letters) or message.round < self.first:
            return False
        self.net.deliver(replace(message, data=packed([(at, self.wrong(at, data)) for at, data in letters])))
        return True

    def wrong(self, place, data):
        if place.tag != "answer":
            return data
        first = (unpack(np.frombuffer(data[:3], dtype=np.uint8)) + self.by) % 8_000_000
        return pack_canonical(first).tobytes() + bytes(data[3:])


@pytest.mark.parametrize("seed", [1, 2])
def test_who_answers_wrongly_is_named_and_changes_nothing(seed):
    net = net_of(max_liars=1, seed=seed)
    net.run(drop=Lying(net, 4, first=2), choose=in_any_order(np.random.default_rng(seed)))
    assert net.server.faults.liars == (4,)
    assert_exact(net)


def test_more_liars_than_promised_end_the_run():
    net = net_of(max_liars=1)
    with pytest.raises(TooManyFaultsError, match="more than max_liars=1 holders sent wrong shares"):
        net.run(drop=Lying(net, 4, 5))


def test_a_liar_is_not_located_when_too_many_clients_are_lost():
    net, lost = net_of(max_liars=1), False
    lying = Lying(net, 4)

    def drop(message):
        nonlocal lost
        if message.round == 1 and not lost:
            lost = True
            net.post(net.server.absent(5))
        return (lost and 5 in (message.recipient, message.sender)) or lying(message)

    with pytest.raises(TooManyFaultsError, match="too few clients are left"):
        net.run(drop=drop)


def test_integers_that_are_no_residues_end_the_run_by_name():
    net = net_of(ROWS[:3])

    def drop(message):
        if not isinstance(message, StepReport) or message.sender != 2:
            return False
        letters = list(letters_of(message.data))
        wrong = [(at, b"\xff" * len(data) if at.tag == "answer" else data) for at, data in letters]
        net.deliver(replace(message, data=packed(wrong)))
        return True

    with pytest.raises(CheatError, match=r"^party 2: integers that are not below their prime were sent$"):
        net.run(drop=drop)


def test_a_round_beyond_the_most_rounds_is_refused():
    with pytest.raises(LimitError, match="answers 1 rounds at most, but round 2 would begin"):
        net_of(limits=Limits(most_rounds=1)).run()


def test_a_round_with_a_set_below_the_smallest_is_refused():
    parties = [[[0.0], [1.0], [2.0]], [[3.0], [4.0], [19.0]], [[2.0], [2.0], [1.0]]]
    net = net_of(parties, k=2, limits=Limits(smallest_set=2), starts=[[0, 0, 0], [1, 1, 1], [0, 0, 0]])
    with pytest.raises(LimitError, match=r"sets of at least 2 rows, but round [2-9] has a set of 1$"):
        net.run()


def telling(net, recipients, tag, change):
    """A server that tells some clients something else."""

    def drop(message):
        if not isinstance(message, StepNotice) or message.recipient not in recipients:
            return False
        letters = list(letters_of(message.data))
        told = [(at, change(bytes(data)) if at.tag == tag else data) for at, data in letters]
        net.deliver(replace(message, data=packed(told)))
        return True

    return drop


class TestALyingServer:
    """It tells some clients other final labels, and then only what each of them expects."""

    @staticmethod
    def net(deceived, **more):
        net, begun = net_of(max_iter=1, **more), set()  # nothing follows from labels after the last round

        def drop(message):
            if isinstance(message, StepReport) and message.sender in begun:
                box = net.server._steps.me.inbox
                letters = [
                    (replace(at, seen=box._seen_with(message.sender, min(at.step, box._step))), data)
                    for at, data in letters_of(message.data)
                ]
                net.deliver(replace(message, data=packed(letters)))
                return True
            if not isinstance(message, StepNotice) or message.recipient not in deceived:
                return False
            if any(place.tag == "best" for place, _ in letters_of(message.data)):  # after the last labels
                begun.add(message.recipient)
            if message.recipient not in begun:
                return False
            me, letters = net.clients[message.recipient]._steps.me, []
            noted, seen, step = me._seen, me.inbox._seen_with(0, me.step), me.step
            for place, data in letters_of(message.data):
                if place.step > step:  # it has noted the letter before
                    noted, step = hashlib.sha256(noted + letters[-1][1]).digest(), place.step
                    seen = hashlib.sha256(noted + me._inside).digest()
                changed = bytes([data[0] ^ 1, *data[1:]]) if place.tag == "labels" else bytes(data)
                letters.append((replace(place, seen=seen), changed))
            net.deliver(replace(message, data=packed(letters)))
            return True

        return net, drop

    def test_is_found_before_a_result(self):
        net, drop = self.net([4])
        with pytest.raises(CheatError, match=r"saw other numbers opened before step \d+$"):
            net.run(drop=drop)
        assert net.clients[4].labels is None

    def test_is_found_where_clients_may_lie(self):
        net, drop = self.net([3, 4], max_liars=1)
        with pytest.raises(CheatError, match="fewer than 3 clients say that the server told them the same"):
            net.run(drop=drop)

    @pytest.mark.parametrize(
        ("clients", "colluding", "halves"), [(6, None, True), (5, 3, True), (5, None, False), (4, 3, False)]
    )
    def test_can_tell_two_halves_of_a_quorum_different_labels(self, clients, colluding, halves):
        """R clients each. One that colludes counts in both: docs/threat-model.md, "A server that cheats"."""
        deceived = [j for j in range(1, clients + 1) if j > 3]
        net, drop = self.net(deceived, rows=[*ROWS, ROWS[0]][:clients])

        def apart(message):
            if not isinstance(message, Step) or message.round == 0:
                return drop(message)
            if message.sender == colluding and message.recipient in deceived:
                me = net.clients[message.recipient]._steps.me
                letter = Place(me.step, "same", me.inbox._seen_with(colluding, me.step)), b""
                sealed = net.seal(colluding, message.recipient, message.place, packed([letter]))
                net.deliver(replace(message, sealed=sealed))
                return True
            return (message.sender in deceived) != (message.recipient in deceived)

        net.run(drop=apart, choose=lambda links: min(links, key=lambda link: link[0] == colluding))
        ended = {j: one._steps.result for j, one in net.clients.items() if one.state is State.DONE}
        assert list(ended) == ([1, 2, 3, *deceived] if halves else [1, 2, 3])
        told = {found.result.labels.tobytes() for found in ended.values()}
        assert len(told) == (2 if halves else 1)

    def test_can_tell_all_the_same_labels_within_their_limits(self, monkeypatch):
        """So it chooses the sets of the next round: docs/threat-model.md, "A server that cheats"."""
        chosen, real = np.repeat([0, 1, 2], [1, 10, 9]).astype(np.int32), distances.tell
        monkeypatch.setattr(distances, "tell", lambda me, labels, k, none: real(me, chosen, k, none=none))
        net = net_of(seed=1)
        net.run()
        assert np.concatenate(net.labels()).tolist() == chosen.tolist()
        with pytest.raises(LimitError, match=r"at least 2 rows, but round 2 has a set of 1$"):
            net_of(seed=1, limits=Limits(smallest_set=2)).run()

    @pytest.mark.parametrize(
        "told", [struct.pack("<Hd", 1, 1.0), struct.pack("<Hd", 0, -1.0), struct.pack("<Hd", 0, float("nan"))]
    )
    def test_cannot_tell_a_start_or_an_inertia_that_there_is_not(self, told):
        net = net_of()
        with pytest.raises(CheatError, match=r"^party 0 told start \d of 1 with inertia"):
            net.run(drop=telling(net, AT_ALL, "best", lambda data: told))

    def test_cannot_tell_labels_of_other_rows_or_sets(self):
        for change, text in (
            (lambda data: data[:-1], "bytes for labels"),
            (lambda data: b"\xff" * len(data), "a label is above 2|bits behind the last label"),
        ):
            net = net_of()
            with pytest.raises(CheatError, match=text):
                net.run(drop=telling(net, [4], "labels", change))


def test_a_client_that_does_not_hear_from_enough_others_has_no_labels():
    net = net_of()
    net.run(drop=lambda message: isinstance(message, Step) and message.recipient == 2 and message.round > 0)
    assert net.clients[2].labels is None
    assert net.clients[1].state is State.DONE
