"""Runs that are one program: lost clients, wrong rows, limits, and a coordinator or carrier that lies."""

from dataclasses import replace

import numpy as np
import pytest
from support.dealing import deal_wrongly
from support.recorded import recorded_noise
from support.wire import UnionWire, Wire

import secfc
from plaintext_baselines import ExactLloyd
from secfc.agreement.public_errors import PublicError
from secfc.crypto.channel import Sealed
from secfc.drivers import in_process
from secfc.drivers.taking import take
from secfc.errors import (
    CheatError,
    LimitError,
    MessageError,
    ParameterError,
    RangeError,
    SealError,
    TooManyFaultsError,
)
from secfc.protocol import client as client_file
from secfc.protocol.job.limits import Limits
from secfc.protocol.messages import Plan, Step, StepNotice, StepReport
from secfc.protocol.messages.wire import envelope_of
from secfc.protocol.parties import inbox
from secfc.protocol.parties.inbox import Place
from secfc.protocol.parties.party import Party
from secfc.protocol.program.stepping import LOST, letters_of, packed
from secfc.protocol.states import State
from secfc.report.fault_texts import described_faults

_RNG = np.random.default_rng(3)
ROWS = [_RNG.normal(size=(m, 2)).round(2) + 4 * _RNG.integers(0, 2, (m, 1)) for m in (4, 5, 3, 6, 2)]
AT_ALL = range(1, 6)


def net_of(rows=ROWS, **more):
    return Wire(rows, **{"disclosure": "labels", "k": 3, "max_iter": 6} | more)


def exact(net, clients=AT_ALL):
    """The labels of these clients' rows, and the number of iterations, of Lloyd from the first sets."""
    rows, start = [ROWS[j - 1] for j in clients], net.server.outcome.start
    starts = np.split(start, np.cumsum([len(part) for part in rows])[:-1])
    lloyd = ExactLloyd(3, init=starts, bound=20.0, precision=16, max_iter=6).fit(rows)
    return {j: labels.tolist() for j, labels in zip(clients, lloyd.labels_, strict=True)}, lloyd.n_iter_


def assert_exact(net, clients=AT_ALL, *, but=()):
    labels, n_iter = exact(net, clients)
    for j in set(clients) - set(but):
        assert net.clients[j].state is State.DONE
        assert net.clients[j].labels.tolist() == labels[j]
        assert net.clients[j].ended == (n_iter, net.server.outcome.converged)
    assert net.server.outcome.n_iter == n_iter
    assert (net.server.outcome.labels == -1).all()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_labels_are_those_of_lloyd_in_any_order_of_messages(seed):
    rng, net = np.random.default_rng(seed), net_of(seed=seed)
    net.run(choose=lambda links: links[rng.integers(len(links))])
    assert_exact(net)
    assert net.server.faults.gone == frozenset()


def run_without(net, lost, at, *, seed=0):
    """Lose a client after so many messages. What it has sent to others is carried."""
    rng, count, gone = np.random.default_rng(seed), 0, False

    def until():
        nonlocal count, gone
        count += 1
        if count == at:
            gone = True
            net.post(net.server.absent(lost))
        return False

    net.run(
        until=until,
        drop=lambda message: gone and message.recipient == lost,
        choose=lambda links: links[rng.integers(len(links))],
    )


@pytest.mark.parametrize("at", [8, 30, 60, 90, 400, 1200, 2000])
@pytest.mark.parametrize("lost", [4, 5])
@pytest.mark.some(8)
def test_without_a_client_that_does_not_compare_the_others_end(lost, at):
    """Before its rows are shared and proved they are left out, and afterwards they are clustered."""
    net = net_of(seed=at)
    run_without(net, lost, at, seed=at)
    out = net.server.faults.left_out
    assert out in ((), (lost,))
    assert (at > 400) <= (out == ()) <= (at > 30)
    assert_exact(net, [j for j in AT_ALL if j not in out], but=[lost])


def test_compiled_loops_take_the_rows_that_are_left(monkeypatch):
    monkeypatch.setenv("SECFC_KERNELS", "compiled")
    net = net_of()
    run_without(net, 4, 8)
    assert net.server.faults.left_out == (4,)
    assert_exact(net, [1, 2, 3, 5])


@pytest.mark.parametrize("at", [8, 60, 600])
@pytest.mark.parametrize("lost", [1, 2, 3])
def test_without_one_that_compares_nobody_goes_on(lost, at):
    with pytest.raises(TooManyFaultsError, match=f"client {lost}, a comparer, is absent"):
        run_without(net_of(), lost, at)


def test_a_helper_that_is_lost_ends_the_run():
    with pytest.raises(TooManyFaultsError, match=r"helper 7, a comparer, is absent"):
        run_without(net_of(comparers=(1, 6, 7)), 7, 100)


@pytest.mark.parametrize("ell", [1, 2])
@pytest.mark.parametrize(
    "change",
    [
        lambda integers: [[2**17 + 2, 0], *integers.tolist()[1:]],
        lambda integers: [[2**60, -(2**60)], *integers.tolist()[1:]],
    ],
    ids=["norm", "wraps around"],
)
def test_rows_beyond_the_bound_end_the_run_before_anything_is_computed_of_them(shared_as, change, ell):
    shared_as(4, lambda integers: np.array(change(integers), dtype=object))
    net = net_of(ell=ell)
    with pytest.raises(RangeError, match=r"^rows of clients 4 are beyond the public bound") as error:
        net.run()
    assert error.value.clients == (4,)
    assert net.server.progress.round == 0


def test_rows_at_the_bound_are_taken(shared_as):
    net = net_of(bound=20.0)
    radius = net.job.radius
    shared_as(4, lambda integers: [[radius, 0], [0, -radius], *integers.tolist()[2:]])
    net.run()
    assert net.server.state is State.DONE


class TestLiars:
    """A client deals shares off its polynomial. The coordinator tells all what holders refuse."""

    def test_without_max_liars_ends_the_run_by_name(self, monkeypatch):
        deal_wrongly(monkeypatch, 4, [2])
        with pytest.raises(CheatError, match=r"^party 4 dealt shares that lie on no polynomial"):
            net_of().run()

    def test_who_deals_two_wrong_shares_is_left_out(self, monkeypatch):
        deal_wrongly(monkeypatch, 4, [2, 5])
        net = net_of(max_liars=1)
        net.run()
        assert (net.server.faults.cheats, net.server.faults.left_out) == ((4,), (4,))
        assert net.clients[4].labels is None
        assert_exact(net, [1, 2, 3, 5])

    def test_with_one_wrong_share_nobody_is_blamed_and_the_rows_stay(self, monkeypatch):
        deal_wrongly(monkeypatch, 4, [5])
        net = net_of(max_liars=1)
        net.run()
        assert net.server.faults.unread == ((4, 5),)
        assert not net.server.faults.cheats
        assert_exact(net)


class TestOverdue:
    """Nothing comes any more. Who is to count as absent?"""

    @staticmethod
    def run_without(net, dropped):
        net.run(drop=dropped)
        assert net.server.state is not State.DONE
        return net.server.overdue(lambda *link: 1)

    @pytest.mark.parametrize("silent", [1, 2, 3])
    def test_nobody_alone_is_blamed_if_a_comparer_keeps_all_waiting(self, silent):
        def dropped(message):
            return isinstance(message, Step) and message.round == 1 and message.sender == silent

        text = r"^nobody sends anything: client 1, client 2, client 3, or a client .* it is not known which"
        net = net_of()
        with pytest.raises(TooManyFaultsError, match=text) as error:
            self.run_without(net, dropped)
        assert error.value.clients == (1, 2, 3)
        assert net.server.faults.absent == ()

    @pytest.mark.parametrize("disclosure", ["coded", "labels"])
    def test_nobody_is_blamed_if_a_client_of_a_union_keeps_all_waiting(self, disclosure):
        def dropped(message):
            return isinstance(message, Step) and (message.sender, message.recipient) == (4, 5)

        text = "^nobody sends anything: a client keeps the others waiting .* it is not known which"
        net = UnionWire(ROWS, disclosure=disclosure)
        with pytest.raises(TooManyFaultsError, match=text) as error:
            self.run_without(net, dropped)
        assert error.value.clients == ()

    def test_an_owner_that_does_not_deal_is_named(self):
        net = net_of()
        net.run(drop=lambda message: isinstance(message, StepReport) and message.sender == 4)
        assert net.server.overdue(lambda *link: 1) == (4,)

    def test_who_owes_what_others_have_sent_is_named(self):
        silent = set()

        def dropped(message):
            if not isinstance(message, StepReport) or message.sender != 4:
                return False
            silent.update(place.tag for place, _ in letters_of(message.data))
            return "refused" in silent

        assert self.run_without(net_of(), dropped) == (4,)

    @pytest.mark.parametrize("lacking", [2, 3])
    def test_an_evaluator_is_not_blamed_for_a_share_that_it_lacks(self, monkeypatch, lacking):
        """The other one has told what was opened."""
        real = Party.send

        def send(me, recipient, tag, data):
            if (me.number, recipient, tag) != (4, lacking, "share"):
                real(me, recipient, tag, data)

        monkeypatch.setattr(Party, "send", send)
        text = "^nobody sends anything: client 1, client 2, client 3, or a client .* it is not known which"
        with pytest.raises(TooManyFaultsError, match=text) as error:
            self.run_without(net_of(ell=2, tol_moved=0), lambda message: False)
        assert error.value.clients == (1, 2, 3)


class TestClaims:
    """Of shares that only evaluators get they say at the end which were wrong. Nobody else can check it."""

    @staticmethod
    def wrongly(monkeypatch, holder, tag, recipients):
        real = Party.send

        def send(me, recipient, of, data):
            if (me.number, of) == (holder, tag) and recipient in recipients:
                data = bytes([data[0] ^ 1, *bytes(data)[1:]])
            real(me, recipient, of, data)

        monkeypatch.setattr(Party, "send", send)

    @pytest.mark.parametrize(
        ("tag", "recipients", "claimed"),
        [
            *((tag, {2, 3}, ((2, 4), (3, 4))) for tag in ("hidden", "share")),
            *((tag, {3}, ((3, 4),)) for tag in ("hidden", "share")),
            ("answer", {2}, ((2, 4),)),
        ],
    )
    def test_name_who_sent_them(self, monkeypatch, tag, recipients, claimed):
        self.wrongly(monkeypatch, 4, tag, recipients)
        net = net_of(max_liars=1)
        net.run()
        assert net.server.faults.claimed == claimed
        assert net.server.faults.liars == ()
        assert_exact(net)

    def test_of_a_holder_that_the_dealer_gave_wrong_masks_say_that_too(self, monkeypatch):
        """The answer is right, but what the first evaluator gets lies on no polynomial."""
        self.wrongly(monkeypatch, 1, "masks", {4})
        net = net_of(max_liars=1)
        net.run()
        assert net.server.faults.claimed == ((2, 4),)
        assert "or the dealer dealt for other masks" in described_faults(net.server.faults, net.job)
        assert_exact(net)


class TestJunk:
    """An owner sends something else in the place of its piece."""

    @pytest.fixture
    def junk(self, monkeypatch):
        def of(owner, holders, *, step=0):
            real = Party.send

            def send(me, recipient, tag, data):
                junk = (me.number, tag) == (owner, "piece") and recipient in holders
                real(me, recipient, "junk" if junk else tag, data)
                if junk:
                    recipient, place, data = me.outbox.pop()
                    me.outbox.append((recipient, replace(place, step=place.step + step), data))

            monkeypatch.setattr(Party, "send", send)

        return of

    @pytest.mark.parametrize("holder", [2, 5])
    @pytest.mark.parametrize("step", [0, 1])
    def test_without_max_liars_ends_the_run_by_name(self, junk, holder, step):
        junk(4, [holder], step=step)
        with pytest.raises(CheatError, match=r"^party 4 went on without having sent piece of step 1$"):
            net_of().run()

    def test_of_a_step_that_is_over_is_refused(self, junk):
        junk(4, [5], step=-1)
        with pytest.raises(MessageError, match=r"^party 4 sent a message of step 0, from which nothing was"):
            net_of().run()

    @pytest.mark.parametrize("step", [0, 3])
    def test_to_two_holders_leaves_it_out(self, junk, step):
        junk(4, [2, 5], step=step)
        net = net_of(max_liars=1)
        net.run()
        assert (net.server.faults.cheats, net.server.faults.left_out) == ((4,), (4,))
        assert_exact(net, [1, 2, 3, 5])

    def test_to_one_holder_blames_nobody_and_the_rows_stay(self, junk):
        junk(4, [5])
        net = net_of(max_liars=1)
        net.run()
        assert net.server.faults.unread == ((4, 5),)
        assert_exact(net)


class TestCentres:
    """Opened to clients 1 and 4; what is opened is tested in tests/operations/test_ending.py."""

    @staticmethod
    def net(**more):
        return net_of(reveal_to=(1, 4), **{"limits": Limits(reveal_centres=True)} | more)

    @staticmethod
    def means(net, clients=AT_ALL):
        rows = np.concatenate([net.rows[j - 1] for j in clients])
        labels = np.concatenate([exact(net, clients)[0][j] for j in clients])
        whole = np.rint(np.ldexp(rows, net.job.exponent))
        sums = [whole[labels == h].sum(axis=0) / (labels == h).sum() for h in range(net.job.k)]
        return np.ldexp(sums, -net.job.exponent), np.bincount(labels).tolist()

    def assert_opened(self, net, to, clients=AT_ALL):
        found = {j: client for j, client in net.clients.items() if client.centres is not None}
        assert sorted(found) == sorted(to)
        centres, sizes = self.means(net, clients)
        for client in found.values():
            np.testing.assert_array_equal(client.centres, centres)
            assert client.opened_sizes.tolist() == sizes
            assert client.deviations is None

    @pytest.mark.parametrize("seed", [1, 2])
    def test_go_to_recipients_alone_in_any_order_of_messages(self, seed):
        rng, net = np.random.default_rng(seed), self.net(seed=seed)
        net.run(choose=lambda links: links[rng.integers(len(links))])
        assert_exact(net)
        self.assert_opened(net, (1, 4))

    @pytest.mark.parametrize(("lost", "at"), [(4, 30), (4, 450), (5, 30), (5, 450)])
    def test_without_a_client_are_of_the_rows_that_are_in(self, lost, at):
        net = self.net(seed=at)
        run_without(net, lost, at, seed=at)
        out = net.server.faults.left_out
        assert out == ((lost,) if at == 30 else ())
        self.assert_opened(net, {1, 4} - {lost}, [j for j in AT_ALL if j not in out])

    @pytest.mark.parametrize("named", [(0,), (6,), (2, 1), (1, 1)])
    def test_go_to_different_clients_in_order(self, named):
        with pytest.raises(ParameterError, match=r"^reveal_centres: "):
            net_of(reveal_to=named)

    def test_need_the_consent_of_all(self):
        with pytest.raises(LimitError, match=r"^client 1 does not consent to revealing centres"):
            net_of(reveal_to=(1, 4))

    @pytest.mark.parametrize(("smallest", "fits"), [(1, True), (2, False)])
    def test_of_a_set_that_is_too_small_are_not_opened(self, smallest, fits):
        """Every client has a limit of its own. The first cluster has a single row, of client 2."""
        rows = [np.zeros((3, 1)) + j / 8 for j in range(5)]
        rows[1][0] = 19
        net = Wire(rows, disclosure="labels", reveal_to=(1, 2), starts=[[0, 1, 0]] * 5, limits=self.WILLING)
        net.replace_client(5, limits=replace(self.WILLING, smallest_set=smallest))
        if fits:
            net.run()
            assert net.clients[1].opened_sizes.tolist() == net.clients[2].opened_sizes.tolist() == [1, 14]
            return
        text = (
            r"^centres are opened only of clusters with 2 rows or more .* for clients 1 a cluster has fewer"
        )
        with pytest.raises(LimitError, match=text):
            net.run()
        assert all(client.centres is None for client in net.clients.values())

    WILLING = Limits(reveal_centres=True)

    def test_with_noise_that_does_not_fit_the_run_does_not_begin(self):
        private = {"centres_epsilon": 1.0, "centres_delta": 0.1}
        with pytest.raises(
            ParameterError, match=r"^centres_delta: less than 1 divided by the number of rows"
        ):
            self.net(**private).run()

    def test_a_client_that_is_lost_adds_no_noise(self, monkeypatch):
        """Once its rows are shared they stay in, and the noise of the others is enough."""
        drawn = recorded_noise(monkeypatch)
        net = self.net(centres_epsilon=5.0, centres_delta=1e-3, seed=3)
        lost = []

        def until():
            if not lost and net.clients[5].round == 1:
                lost.append(5)
                net.post(net.server.absent(5))
            return False

        net.run(until=until, drop=lambda message: bool(lost) and 5 in (message.sender, message.recipient))
        assert net.masks[5] not in drawn
        assert net.server.faults.left_out == ()
        centres, sizes = self.means(net)
        more = np.array(sum(drawn.values()) / np.array(sizes)[:, np.newaxis], dtype=float)
        found = net.clients[1].centres
        np.testing.assert_allclose(found, centres + np.ldexp(more, -net.job.exponent), rtol=1e-12)
        np.testing.assert_array_equal(found, net.clients[4].centres)


class TestLimits:
    def test_of_rounds_end_the_run(self):
        with pytest.raises(LimitError, match="answers 1 rounds at most, but round 2 would begin"):
            net_of(limits=Limits(most_rounds=1)).run()

    def test_of_sets_are_about_the_first_ones(self):
        starts = [np.arange(len(part)) % 2 for part in ROWS]
        starts[0][0] = 2
        with pytest.raises(LimitError, match=r"sets of at least 2 rows, but round 1 has a set of 1$"):
            net_of(starts=starts, limits=Limits(smallest_set=2)).run()


@pytest.mark.parametrize("other", [0b11110000, 0b11101000], ids=["without another", "without itself"])
def test_a_coordinator_that_tells_a_client_another_list_is_found(other):
    net = net_of()

    def drop(message):
        if not isinstance(message, StepNotice) or message.recipient != 4:
            return False
        letters = list(letters_of(message.data))
        told = [(at, bytes([other, *data[1:]]) if at.tag == "roots" else data) for at, data in letters]
        net.deliver(replace(message, data=packed(told)))
        return True

    with pytest.raises(CheatError, match=r"saw other numbers opened before step \d+$"):
        net.run(drop=drop)


def held_by(client):
    return repr(client._steps.me.inbox._held)


def test_what_a_carrier_changes_is_refused():
    net = net_of()
    step, client = net.hold(Step, recipient=4, sender=2), net.clients[4]
    before = held_by(client)
    changed = bytes(step.sealed.payload[:-1]) + bytes([step.sealed.payload[-1] ^ 1])
    for change in ({"place": 9}, {"sender": 3}, {"sealed": Sealed(payload=changed)}):
        with pytest.raises(SealError):
            client.receive(replace(step, **change))
    assert held_by(client) == before


@pytest.mark.parametrize("early", [True, False])
def test_what_nobody_can_read_ends_the_run_and_accuses_nobody(early):
    """Whoever transports the message may have changed it."""
    net = net_of()
    held, client = net.hold(Plan if early else Step, recipient=5), net.clients[5]
    junk = Step(run=held.run, sender=4, recipient=5, place=0, sealed=Sealed(payload=bytes(48)))
    if early:
        client.receive(junk)
    taken = held if early else junk
    text = "was not sealed by it .*; party 4 lies, or its message was changed on its way$"
    with pytest.raises(CheatError, match=text) as error:
        take(client, envelope_of(taken), lambda: client.receive(taken), note=pytest.fail)
    said = replace(PublicError.of(error.value), party=5)
    assert said.ending("abcde") == "CheatError: bad-signature at e"


def test_a_message_that_comes_twice_is_refused():
    net = net_of()
    step = net.hold(Step, recipient=4, sender=2)
    net.deliver(step)
    with pytest.raises(MessageError, match=r"^Step: party 2 sent what it has sent before$"):
        net.clients[4].receive(step)


@pytest.mark.parametrize(
    ("letters", "text"),
    [
        (packed([(Place(900, "root", bytes(32)), b"")]), r"sent a message of step 900 in step \d+$"),
        (packed([(Place(2, "root", bytes(32)), b"")] * 2), r"^Step: party \d sent one letter twice$"),
        (packed([(Place(2, "root", bytes(32)), b"12")])[:-1], r"is cut, or its tag is too long or no text$"),
        (packed([(Place(2, "a" * 25, bytes(32)), b"12")]), r"is cut, or its tag is too long or no text$"),
        (b"12", r"^Step: 2 bytes are no letter$"),
        (packed([(Place(2, "root", bytes(32)), b"12")])[:-1] + b"x", r"is not filled up with zeros$"),
        (packed([(Place(2, "root", bytes(32)), bytes(1 << 24))]), r"bytes that are not used yet$"),
    ],
)
def test_letters_that_cannot_be_are_refused_and_none_of_them_is_kept(letters, text):
    net = net_of()
    report = net.hold(StepReport, recipient=0)
    before = repr(net.server._steps.me.inbox._held)
    with pytest.raises(MessageError, match=text):
        net.server.receive(replace(report, data=letters))
    assert repr(net.server._steps.me.inbox._held) == before


@pytest.mark.parametrize("told", [b"", b"\4", bytes(2), b"\0\x09", bytes(2) + b"\4", b"\x80" + bytes(4999)])
def test_a_notice_of_a_lost_party_that_is_none_is_refused(told):
    net = net_of()
    notice, client = net.hold(StepNotice, recipient=1), net.clients[1]
    data = packed([(Place(1, LOST, bytes(32)), told)])
    with pytest.raises(MessageError, match=r"^Step: a notice of a lost party names none$"):
        client.receive(net.decode(net.encode(replace(notice, data=data))))
    assert not client._steps.me.inbox.lost


def test_a_small_letter_does_not_keep_its_message_in_memory():
    data = packed([(Place(5, "gates", bytes(32)), b"12"), (Place(1, "piece", bytes(32)), bytes(1000))])
    (_, small), (_, large) = letters_of(data)
    assert isinstance(small, bytes)
    assert large.obj is data


@pytest.mark.parametrize("sizes", [(0, 1, 8, 3), (16, 7)])
def test_letters_begin_at_multiples_of_eight_bytes(sizes):
    letters = [(Place(5, f"gates {size}", bytes(32)), bytes(range(size))) for size in sizes]
    data = np.frombuffer(packed(letters), dtype=np.uint8)
    found = list(letters_of(data.data))
    assert found == letters
    addresses = [np.frombuffer(one, dtype=np.uint8).ctypes.data for _, one in found if len(one)]
    assert not any((address - data.ctypes.data) % 8 for address in addresses)


def test_of_steps_before_the_plan_few_are_kept():
    net = net_of()
    plan = net.hold(Plan, recipient=4)
    early = Step(run=plan.run, sender=2, recipient=4, place=0, sealed=net.seal(2, 4, 0, bytes(32)))
    for _ in range(8):
        net.clients[4].receive(early)
    with pytest.raises(MessageError, match=r"^Step: more than 8 of party 2 before the program$"):
        net.clients[4].receive(early)


def test_of_steps_before_the_plan_few_bytes_are_kept(monkeypatch):
    """The rows of all parties are not known yet, so their sizes follow from the most rows of any job."""
    monkeypatch.setattr(client_file, "MOST_EARLY_BYTES", 100)
    net = net_of()
    plan, client = net.hold(Plan, recipient=4), net.clients[4]
    assert client.sizes.most_bytes(Step) < 1 << 27

    def early(sender):
        sealed = net.seal(sender, 4, 0, bytes(44))
        return Step(run=plan.run, sender=sender, recipient=4, place=0, sealed=sealed)

    client.receive(early(2))
    with pytest.raises(MessageError, match=r"^Step: more than 100 bytes of party 2 before the program$"):
        client.receive(early(2))
    client.receive(early(3))


OPEN_TO_ALL = {"root", "roots", "refused", "value", "opened", "bits", "accepted"}
OPEN_TO_ALL |= {"anchor", "coin 0", "coin 1"}


def test_the_server_is_sent_no_share_of_a_label_and_others_are_sent_their_own_alone(monkeypatch):
    sent, real = [], Party.send

    def send(me, recipient, tag, data):
        sent.append((me.number, recipient, tag))
        real(me, recipient, tag, data)

    monkeypatch.setattr(Party, "send", send)
    net_of().run()
    of_labels = [(sender, recipient) for sender, recipient, tag in sent if tag == "labels"]
    assert sorted(of_labels) == [(a, b) for a in AT_ALL for b in AT_ALL]
    to_server = {tag for sender, recipient, tag in sent if recipient == 0 < sender}
    assert to_server == OPEN_TO_ALL


@pytest.mark.parametrize("max_liars", [0, 1])
def test_a_client_that_never_comes_is_left_out(max_liars):
    net = net_of(max_liars=max_liars)
    net.links.clear()
    net.post(net.server.absent(4))
    for j in (1, 2, 3, 5):
        net.post(net.clients[j].start())
    net.run(drop=lambda message: message.recipient == 4)
    assert net.server.faults.left_out == (4,)
    assert_exact(net, [1, 2, 3, 5])


def test_large_answers_in_one_process_leave_no_client_behind(monkeypatch):
    """Letters of others come in order with the server's, also where two clients take theirs at once."""
    monkeypatch.setattr(in_process, "LEAST", 1)
    monkeypatch.setattr(inbox, "WINDOW", 16)
    parties = [np.random.default_rng(j).normal(size=(20, 2)) for j in range(7)]
    result = secfc.run(parties, k=4, t=1, ell=1, seed=1, max_iter=20)
    exact = ExactLloyd(4, init="k-means++", random_state=1, max_iter=20).fit(parties)
    for ours, theirs in zip(result.labels, exact.labels_, strict=True):
        assert ours.tolist() == theirs.tolist()


def test_helpers_and_clients_without_rows_end_with_no_label():
    net = Wire([*ROWS[:4], np.empty((0, 2))], disclosure="labels", k=3, comparers=(1, 6, 7))
    net.run()
    assert [net.clients[j].labels.size for j in (5, 6, 7)] == [0, 0, 0]


def test_a_server_that_tells_others_refusals_that_a_holder_has_not_sent_is_found():
    net = net_of(max_liars=1)

    def drop(message):
        if not isinstance(message, StepNotice):
            return False
        letters = list(letters_of(message.data))
        told = [
            (place, bytes([0, 0, 0, 0, 16]) if place.tag == "refusals" else data) for place, data in letters
        ]
        net.deliver(replace(message, data=packed(told)))
        return True

    with pytest.raises(CheatError, match=r"the server told others what party 5 refuses"):
        net.run(drop=drop)


@pytest.mark.parametrize("union", [False, True])
def test_a_digest_that_the_server_changes_accuses_nobody(union):
    """It passes on what owners tell of their pieces. So their owner need not have lied."""
    net = (UnionWire if union else Wire)(ROWS, disclosure="labels")

    def drop(message):
        if not isinstance(message, StepNotice):
            return False
        letters = [(place, bytearray(data)) for place, data in letters_of(message.data)]
        for place, data in letters:
            if place.tag == "roots":
                data[-1] ^= 1  # of client 5
        net.deliver(replace(message, data=packed(letters)))
        return True

    text = "^party 5 dealt shares that .* of their degree, or the server told another digest of them$"
    with pytest.raises(CheatError, match=text) as error:
        net.run(drop=drop)
    assert error.value.clients == ()
