"""Predictions with disclosure "labels": a run that is one program, of labels that only their owners know."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from support.wire import Wire

import secfc
from plaintext_baselines._exact import ExactRows
from plaintext_baselines._quantise import quantise
from secfc.errors import CheatError, LimitError, MessageError, RangeError, SealError, TooManyFaultsError
from secfc.field.label_packing import pack_labels
from secfc.operations import sums
from secfc.operations.predicting import given
from secfc.protocol.job.limits import Limits
from secfc.protocol.messages import SERVER, Hello, Plan
from secfc.protocol.parties.party import Party
from secfc.protocol.states import State

# Old rows 0 and 2, 8 and 10; new ones 4, 5 and 6.
ROWS = [[[0.0], [4.0], [2.0]], [[8.0], [5.0]], [[6.0], [10.0]], [], []]
STARTS = [[0, -1, 0], [1, -1], [-1, 1], [], []]
FOUND = [[0, 0, 0], [1, 0], [1, 1], [], []]
WILLING = Limits(predict=True)
TOO_SMALL = r"^rows are predicted only from sets with 3 rows or more, or none; a set has fewer, "


def columns(rows):
    (d,) = {len(row) for part in rows for row in part}
    return [np.array(part, dtype=float).reshape(-1, d) for part in rows]


def net_of(rows=ROWS, starts=STARTS, **more):
    rows = columns(rows)
    fixed = {"starts": starts, "max_iter": 1, "predict": True, "limits": WILLING, "disclosure": "labels"}
    return Wire(rows, **fixed | more)


def test_four_points_by_hand():
    net = net_of()
    net.run()
    assert net.labels() == FOUND
    outcome = net.server.outcome
    assert (outcome.n_iter, outcome.converged, set(outcome.labels.tolist())) == (1, True, {-1})
    assert outcome.start.tolist() == [0, -1, 0, 0, -1, -1, 0]  # which rows are new, and nothing else
    assert net.server.gathering.round == 1


def test_compiled_loops_give_the_same(monkeypatch):
    monkeypatch.setenv("SECFC_KERNELS", "compiled")
    net = net_of()
    net.run()
    assert net.labels() == FOUND


def drawn(seed):
    """A job with ties, empty sets and weights, and parties without rows, old rows or new rows."""
    rng = np.random.default_rng(seed)
    t, ell = [(1, 1), (1, 2), (2, 1)][seed % 3]
    liars = int(rng.integers(0, 2))
    n = 2 * (t + ell) - 1 + 2 * liars + int(rng.integers(0, 2))
    d, k, most = int(rng.integers(1, 4)), int(rng.integers(1, 5)), int(rng.integers(1, 4))
    counts = rng.integers(0, 4, n)
    counts[rng.integers(n)] = k + 1
    rows = [rng.integers(-most, most + 1, (m, d)).astype(float) for m in counts]
    starts = [rng.integers(-1, k, m).astype(np.int32) for m in counts]
    longest = int(counts.argmax())
    starts[longest][:2] = -1, 0
    more = {"t": t, "ell": ell, "k": k, "max_liars": liars}
    if t > 1:
        more["comparers"] = (1, n + 1, n + 2)
    if rng.random() < 0.4:
        more["weights"] = [rng.integers(1, 5, m) for m in counts]
    if rng.random() < 0.5:
        more |= {"step": 1.0, "precision": 32}
    return rows, starts, more


def expected(net, rows, starts, weights=None):
    unit, joined = net.job.unit, np.concatenate(starts)
    every = None if weights is None else np.concatenate(weights)
    exact = ExactRows(quantise([np.concatenate(rows)], unit), net.job.k, Fraction(unit), every)
    labels = np.where(joined < 0, exact.assign(exact.means(joined)).labels, joined)
    ends = np.cumsum([len(part) for part in rows])[:-1]
    return [part.tolist() for part in np.split(labels, ends)]


@pytest.mark.parametrize("seed", range(8))
def test_new_rows_get_the_nearest_mean_and_old_ones_keep_their_labels(seed):
    rows, starts, more = drawn(seed)
    net, rng = net_of(rows, starts, **more), np.random.default_rng(seed)
    net.run(choose=lambda links: links[rng.integers(len(links))])
    assert net.labels() == expected(net, rows, starts, more.get("weights"))
    assert net.server.faults.gone == frozenset()


@pytest.mark.parametrize("max_liars", [0, 1])
@pytest.mark.parametrize("at", [1, 30, 80])
def test_who_is_lost_after_its_rows_were_proved_stays_in(at, max_liars):
    rng, count, gone = np.random.default_rng(at), 0, False
    rows = [*ROWS[:3], [[1.0], [9.0]], [[3.0]]]
    starts = [*STARTS[:3], [0, 1], [-1]]
    net = net_of(rows, starts, max_liars=max_liars, **({} if max_liars else {"comparers": (1, 2, 3)}))

    def until():
        nonlocal count, gone
        count += net.server.state is State.ITERATE
        if count == at and not gone:
            gone = True
            net.post(net.server.absent(4))
        return False

    net.run(
        until=until,
        drop=lambda message: gone and message.recipient == 4,
        choose=lambda links: links[rng.integers(len(links))],
    )
    labels = expected(net, columns(rows), [np.array(one, dtype=np.int32) for one in starts])
    assert [net.clients[j].labels.tolist() for j in (1, 2, 3, 5)] == [labels[j - 1] for j in (1, 2, 3, 5)]
    assert gone


@pytest.mark.parametrize("client", [4, 5])
@pytest.mark.parametrize("at", [6, 20, 32])
def test_before_all_rows_are_proved_nobody_can_be_lost(at, client):
    net, count = net_of(), 0

    def until():
        nonlocal count
        count += 1
        return count == at

    net.run(until=until)
    assert net.server.state is not State.ITERATE
    text = f"^client {client}: absent; a prediction can leave no party out, because the centres are means of"
    with pytest.raises(TooManyFaultsError, match=text):
        net.server.absent(client)


def test_a_plan_without_a_client_is_refused(refuses):
    net = net_of()
    plan = net.hold(Plan, recipient=1)
    without = replace(plan, introductions=(*plan.introductions[:4], None))
    text = "^Plan: without client 5, whom a prediction cannot do without$"
    refuses(net.clients[1], without, MessageError, text)


class TestOwnLabels:
    def test_everybody_is_told_only_which_rows_are_new(self):
        net = net_of()
        hello = net.hold(Hello, recipient=SERVER, sender=1)
        assert hello.start.tolist() == [0, -1, 0]
        net.deliver(hello)
        hello = net.hold(Hello, recipient=SERVER, sender=2)
        assert hello.start.tolist() == [0, -1]
        net.deliver(hello)
        assert net.hold(Plan, recipient=4).start.tolist() == [0, -1, 0, 0, -1, -1, 0]

    def test_a_client_that_tells_its_labels_is_refused(self, refuses):
        net = net_of()
        hello = net.hold(Hello, recipient=SERVER, sender=2)
        text = r"^Hello: client 2 tells labels of its rows, which it must keep to itself$"
        labels = np.array([1, -1], dtype=np.int32)
        refuses(net.server, net.signed(hello, start=labels), MessageError, text)

    def test_other_new_rows_than_those_that_a_client_signed_are_refused(self, refuses):
        net = net_of()
        plan = net.hold(Plan, recipient=4)
        text = "^Plan: it has not the start labels that client 1 signed$"
        start = np.array([-1, 0, 0, 0, -1, -1, 0], dtype=np.int32)
        refuses(net.clients[4], replace(plan, start=start), SealError, text)

    def test_no_message_has_the_labels_of_old_rows(self, monkeypatch):
        """Neither sealed nor before it is sealed, in any usual encoding."""
        rng, sent, real = np.random.default_rng(5), [], Party.send
        rows = [rng.normal(size=(72, 2)) for _ in range(5)]
        starts = [rng.integers(0, 3, 72).astype(np.int32) for _ in rows]
        for one in starts:
            one[-3:] = -1

        def send(me, recipient, tag, data):
            sent.append((me.number, recipient, bytes(data)))
            real(me, recipient, tag, data)

        monkeypatch.setattr(Party, "send", send)
        net = net_of(rows, starts, k=3)
        wired = []
        net.run(drop=lambda message: wired.append(net.encode(message)))
        assert net.clients[4].state is State.DONE
        for j, labels in enumerate(starts, 1):
            old = labels[:-3]
            encoded = [old.astype(kind).tobytes() for kind in ("u1", "<u2", "<i4", "<i8", "<f8", "<f4")]
            encoded += [bytes(pack_labels(old[:64].astype(np.uint16), bits)) for bits in (2, 4)]
            encoded += [np.packbits(old == h).tobytes()[:-1] for h in range(3)]
            for pattern in encoded:
                assert not any(pattern in data for data in wired)
                assert not any(pattern in data for a, b, data in sent if a != b), j

    def test_two_runs_with_other_labels_look_alike_to_the_server(self):
        """All that is not sealed has the same size, and tells the same but for keys and digests."""
        sizes, told = [], []
        for starts in (STARTS, [[1, -1, 1], [0, -1], [-1, 0], [], []]):
            net = net_of(starts=starts)
            lengths = []
            net.run(drop=lambda message, net=net, lengths=lengths: lengths.append(len(net.encode(message))))
            sizes.append(sorted(lengths))
            told.append((net.server.outcome.start.tolist(), repr(net.server.outcome)))
        assert sizes[0] == sizes[1]
        assert told[0] == told[1]

    def test_what_is_opened_is_which_sets_are_empty(self, monkeypatch):
        opened, real = [], sums.testing

        def noted(me, vectors, random):
            found = yield from real(me, vectors, random)
            opened.append((me.number, found.tolist()))
            return found

        monkeypatch.setattr(sums, "testing", noted)
        net = net_of(k=3)
        net.run()
        assert sorted(opened) == [(j, [True, True, False]) for j in range(6)]


class TestLies:
    def send(self, monkeypatch, sender, change):
        """Let a client send other turned labels."""
        real = given._owner

        def owner(me, own, k):
            if me.number != sender:
                return (yield from real(me, own, k))
            me.send(me.roles.first, "turned", change(own, k))

        monkeypatch.setattr(given, "_owner", owner)

    @pytest.mark.parametrize("max_liars", [0, 1])
    def test_labels_beyond_k_end_the_run_by_name(self, monkeypatch, max_liars):
        self.send(monkeypatch, 4, lambda own, k: np.full(own.size, k, dtype="<u2").tobytes())
        net = net_of([*ROWS[:3], [[1.0]], []], [*STARTS[:3], [0], []], max_liars=max_liars)
        with pytest.raises(CheatError, match=r"^party 4 sent labels that are not below k=2$"):
            net.run()

    @pytest.mark.parametrize(
        ("max_liars", "kind", "text"),
        [
            (0, CheatError, r"^party 4 sent 5 bytes for turned, not 2$"),
            (1, TooManyFaultsError, r"^client 4 sent no labels of its rows"),
        ],
    )
    def test_labels_of_other_rows_end_the_run_by_name(self, monkeypatch, max_liars, kind, text):
        self.send(monkeypatch, 4, lambda own, k: bytes(5))
        net = net_of([*ROWS[:3], [[1.0]], []], [*STARTS[:3], [0], []], max_liars=max_liars)
        with pytest.raises(kind, match=text):
            net.run()

    def test_rows_beyond_the_bound_end_the_run_before_a_label_is_used(self, monkeypatch):
        monkeypatch.setattr(
            "secfc.sharing.codewords.quantise",
            lambda rows, unit: quantise([rows], unit) * (1000 if len(rows) == 2 else 1),
        )
        with pytest.raises(RangeError, match=r"^rows of clients 2, 3 are beyond the public bound") as error:
            net_of().run()
        assert error.value.clients == (2, 3)


def test_the_smallest_set_is_about_old_rows_and_one_bit_is_told():
    limits = Limits(predict=True, smallest_set=2)
    net = net_of(limits=limits)
    net.run()
    assert net.labels() == FOUND
    with pytest.raises(LimitError, match=TOO_SMALL):
        net_of(limits=replace(limits, smallest_set=3)).run()


class TestLimits:
    def test_one_client_is_enough(self):
        net = net_of()
        net.replace_client(4, limits=Limits(predict=True, smallest_set=3))
        with pytest.raises(LimitError, match=TOO_SMALL):
            net.run()

    def test_who_does_not_consent_sends_nothing(self):
        with pytest.raises(LimitError, match="does not consent to predicting"):
            net_of(limits=Limits())


@pytest.mark.parametrize(
    ("starts", "text"),
    [
        ([[-1, -1, -1], [-1, -1], [-1, -1], [], []], "^labels: at least one row needs a label"),
        ([[0, 0, 0], [1, 1], [1, 1], [], []], "^predict: no party has a new row$"),
    ],
)
def test_without_old_or_new_rows_there_is_no_prediction(starts, text):
    with pytest.raises(secfc.ParameterError, match=text):
        net_of(starts=starts).run()
