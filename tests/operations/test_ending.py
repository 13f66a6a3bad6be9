"""Centres, spreads and noise at the end of the program: exact, to recipients alone, and what is refused."""

from dataclasses import replace
from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from operations.own_net import dealt, ended, parties_of, play, shared_rows
from operations.test_own_labels import Lying
from support.recorded import recorded_noise
from support.sweeps import every

from secfc.errors import CheatError, LimitError, TooManyFaultsError
from secfc.field.primes import primes_of
from secfc.operations.beginning.rows import SharedRows, set_aside
from secfc.operations.ending.large_enough import lacking, plain_lacking
from secfc.operations.ending.noise import noise_of
from secfc.operations.ending.revealing import revealed
from secfc.protocol.job.making import make_job
from secfc.protocol.job.row_layout import Layout
from secfc.sharing.codewords import Codewords
from secfc.sharing.shared import Shared

SHAPES = [(3, 1, 1), (5, 1, 2), (6, 2, 1), (7, 2, 2)]
OPENING = {"sums", "sizes"}


class Ending:
    """Parties that have shares of rows and of final sets, and open what a job says."""

    def __init__(
        self,
        rows,
        labels,
        k,
        *,
        n=3,
        t=1,
        ell=1,
        to=(1, 3),
        weights=None,
        smallest=1,
        liars=0,
        reveal_spread=None,
        unread=(),
        **more,
    ):
        self.rows, self.labels, self.k = np.asarray(rows), np.asarray(labels), k
        m, d = self.rows.shape
        bound = float(np.ceil(np.sqrt((self.rows**2).sum(axis=1).max())) + 1)
        options = {"precision": 12} if "centres_epsilon" in more else {"step": 1.0}
        self.weights = np.ones(m, dtype=np.int64) if weights is None else weights
        comparers = (1, n + 1, n + 2) if t > 1 else (1, 2, 3)
        self.job = make_job(
            n=n, k=k, t=t, ell=ell, d=d, bound=bound, reveal_to=to, disclosure="labels", max_liars=liars,
            comparers=comparers, weighted=weights is not None, **options, **more,
        )  # fmt: skip
        # With `max_liars` too, which jobs whose server asks questions cannot have.
        self.job = replace(self.job, opened=replace(self.job.opened, spread=reveal_spread))
        self.layout = Layout(tuple(len(part) for part in np.array_split(np.arange(m), n)), weights=weights)
        primes = primes_of(self.job.residues(self.layout.weight))
        code = Codewords(n=n, t=t, ell=ell, primes=primes)
        dealer, first, second = comparers
        self.parties = parties_of(code, dealer=dealer, first=first, second=second, max_liars=liars)
        self.quantised = np.rint(self.rows / float(self.job.unit)).astype(np.int64)
        self.of_rows = of_rows = shared_rows(code, self.quantised, self.parties)
        bits = (self.labels == np.arange(k)[:, np.newaxis]).astype(np.float64)
        of_sets = dealt(code, np.stack([np.stack([bits] * ell)] * len(primes)))
        noise = noise_of(self.job, self.layout) if self.job.opened.noise else None

        def program(me):
            shared = SharedRows(
                rows=of_rows[me.number], layout=self.layout, lost=(), cheats={}, unread=unread
            )
            set_aside(me, {}, unread)
            sets = Shared(primes, (k, m), of_sets.get(me.number))
            return revealed(me, self.job, shared, sets, weights=self.weights, noise=noise, smallest=smallest)

        self.programs = {j: program(me) for j, me in self.parties.items()}

    def run(self, **more):
        """What was opened, by recipient."""
        found = play(self.parties, self.programs, **more)
        return {j: one for j, one in found.items() if one is not None}

    def sums(self, power=1):
        """Sums of the clusters, and their weights, as integers."""
        rows, weights = self.quantised.astype(object), self.weights.astype(object)
        of = [(rows**power * weights[:, np.newaxis])[self.labels == h].sum(axis=0) for h in range(self.k)]
        return np.array(of).reshape(self.k, -1), [int(weights[self.labels == h].sum()) for h in range(self.k)]

    def assert_opened(self, found, *, to=(1, 3), noise=0):
        assert sorted(found) == sorted(to)
        sums, sizes = self.sums()
        unit = self.job.unit
        expected = [
            [float(Fraction(int(one), size) * unit) if size else np.nan for one in line]
            for line, size in zip(sums + noise, sizes, strict=True)
        ]
        for one in found.values():
            np.testing.assert_array_equal(one.centres, expected)
            assert one.sizes.tolist() == sizes
            assert (one.deviations is None) == (self.job.opened.spread is None)
            if one.deviations is not None:
                np.testing.assert_array_equal(one.deviations, self.spreads())

    def spreads(self):
        (sums, sizes), squares = self.sums(), self.sums(2)[0]
        found = np.full(sums.shape, np.nan)
        for (h, c), total in np.ndenumerate(sums):
            if sizes[h]:
                scaled = int(sizes[h] * squares[h, c] - total**2)
                root = Fraction(isqrt(scaled << 256), sizes[h] << 128)
                found[h, c] = float(root * self.job.unit)
        return found


def drawn(seed, shape, *, least=0, **more):
    """Rows with ties, labels of which some are of nobody, and what else a job may have."""
    rng, (n, t, ell) = np.random.default_rng(seed), shape
    k, d = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    m = int(rng.integers(max(n, k), 25)) + least
    rows = rng.integers(-3, 4, (m, d)) * int(rng.choice([1, 1000]))
    labels = rng.choice(rng.permutation(k)[: rng.integers(1, k + 1)], m)
    to = tuple(sorted(rng.choice(np.arange(1, n + 1), int(rng.integers(1, n + 1)), replace=False).tolist()))
    weights = rng.integers(1, 6, m) if seed % 3 == 0 else None
    return rows, labels, k, {"n": n, "t": t, "ell": ell, "to": to, "weights": weights} | more


@every("seed", range(8))
@every("shape", SHAPES)
def test_centres_are_the_exact_means_and_go_to_recipients_alone(seed, shape):
    rows, labels, k, given = drawn(seed, shape)
    net, sent = Ending(rows, labels, k, **given), set()

    def carry(sender, recipient, place, data):
        sent.update({recipient} if place.tag in OPENING else ())
        return data

    net.assert_opened(net.run(carry=carry), to=given["to"])
    assert sent <= set(given["to"])


@every("seed", range(4))
@every("shape", SHAPES)
def test_spreads_are_the_exact_deviations(seed, shape):
    rows, labels, k, given = drawn(seed, shape, least=60, reveal_spread=10)
    labels[:] = np.arange(labels.size) % 3 % k  # of others there are enough
    net = Ending(rows, labels, k, **given | {"to": given["to"][:1], "weights": None})
    net.assert_opened(net.run(), to=given["to"][:1])


def test_squares_are_summed_block_by_block(monkeypatch):
    monkeypatch.setattr("secfc.operations.ending.spreads.BLOCK", 40)
    rows, labels = np.arange(120).reshape(60, 2) % 11, np.arange(60) % 2
    net = Ending(rows, labels, 3, reveal_spread=10)
    net.assert_opened(net.run())


@every("seed", range(24))
def test_recipients_for_whom_others_have_too_few_rows_in_a_set(seed):
    rng = np.random.default_rng(seed)
    shape = SHAPES[seed % 2]
    rows, labels, k, given = drawn(seed + 3 * (seed % 2), shape)
    net = Ending(rows, labels, k, **given)
    least = int(rng.integers(1, 5))
    own = {j: net.layout.rows(j) for j in given["to"]}
    expected = plain_lacking(net.labels.astype(np.int32), k, net.weights, own, least)
    bits = (net.labels == np.arange(k)[:, np.newaxis]).astype(np.float64)
    code = net.parties[1].code
    of_sets = dealt(code, np.stack([np.stack([bits] * code.ell)] * len(code.primes)))

    def program(me):
        sets = Shared(code.primes, bits.shape, of_sets.get(me.number))
        return lacking(me, sets, net.weights, own, least)

    found = play(net.parties, {j: program(me) for j, me in net.parties.items()})
    assert set(map(tuple, found.values())) == {tuple(expected)}


def test_of_one_row_there_are_always_enough_so_nothing_is_sent():
    net = Ending([[1], [2], [3]], [0, 1, 1], 2)
    sets = Shared((17,), (2, 3), None)
    assert ended(lacking(net.parties[1], sets, net.weights, {1: slice(0, 1)}, 1)) == []
    assert ended(lacking(net.parties[1], sets, net.weights, {1: slice(0, 3)}, 5)) == []


@pytest.mark.parametrize("more", [{"smallest": 3}, {"reveal_spread": 10}])
def test_a_set_that_is_too_small_opens_nothing_at_all(more):
    net, sent = Ending(np.arange(12).reshape(-1, 1), [0] * 10 + [1] * 2, 2, **more), []
    with pytest.raises(
        LimitError, match=r"of clusters with \d+ rows or more .* for clients 1(, 3)? a cluster has"
    ):
        net.run(carry=lambda *given: (sent.append(given[2].tag), given[3])[1])
    assert not OPENING & set(sent)


def test_a_cluster_of_a_recipients_own_rows_may_be_small():
    net = Ending(np.arange(12).reshape(-1, 1), [0] + [1] * 11, 2, to=(1,), smallest=4)
    net.assert_opened(net.run(), to=(1,))


class TestFaults:
    ROWS = np.random.default_rng(5).integers(-50, 50, (40, 2))
    LABELS = np.arange(40) % 2

    @pytest.mark.parametrize("tag", ["hidden", "sums", "sizes"])
    def test_a_holder_that_lies_is_named_and_changes_nothing(self, tag):
        net = Ending(self.ROWS, self.LABELS, 2, n=5, liars=1, reveal_spread=10)
        lying = Lying(4, tag)
        net.assert_opened(net.run(carry=lying))
        assert lying.lies
        assert set().union(*(me.liars for me in net.parties.values())) == {4}

    @pytest.mark.parametrize("tag", ["sums", "sizes"])
    @pytest.mark.parametrize("liar", [1, 2, 3])
    def test_without_max_liars_a_wrong_share_ends_the_run_where_it_is_opened(self, tag, liar):
        net = Ending(self.ROWS, self.LABELS, 2, to=(3 if liar == 1 else 1,))
        with pytest.raises(CheatError, match=rf"^{tag}: shares lie on no polynomial of their degree$"):
            net.run(carry=Lying(liar, tag))

    def test_a_holder_that_is_lost_is_not_needed(self):
        net = Ending(self.ROWS, self.LABELS, 2, n=5, to=(1, 5))
        found = net.run(lost=lambda me: me.number == 5 and me.step >= 2)
        net.assert_opened(found, to=(1,))

    def test_wrong_sizes_are_refused(self):
        # Of R shares of <x> a holder can change what is reduced, which is checked before it is opened.
        net = Ending(self.ROWS, self.LABELS, 2)
        with pytest.raises(CheatError, match=r"^what holders have sent does not agree with the shares"):
            net.run(carry=Lying(1, "hidden"))


PRIVATE = {"centres_epsilon": 1.0, "centres_delta": 1e-6}


class TestNoise:
    ROWS = np.random.default_rng(5).integers(-50, 50, (20, 3)).astype(float)
    LABELS = np.arange(20) % 2

    @pytest.fixture
    def noise(self, monkeypatch):
        """The noise of each party."""
        return recorded_noise(monkeypatch)

    @pytest.mark.parametrize("shape", SHAPES, ids=str)
    @pytest.mark.parametrize("weighted", [False, True])
    def test_of_all_clients_is_in_the_sums(self, noise, shape, weighted):
        n, t, ell = shape
        weights = np.arange(20) % 3 + 1 if weighted else None
        net = Ending(self.ROWS, self.LABELS, 3, n=n, t=t, ell=ell, weights=weights, **PRIVATE)
        found = net.run()
        assert len(noise) == n
        net.assert_opened(found, noise=sum(noise.values()))

    def test_of_a_client_that_is_lost_is_not_in_them(self, noise):
        net = Ending(self.ROWS, self.LABELS, 2, n=5, **PRIVATE)
        for me in net.parties.values():
            me.inbox.lost.add(5)
        net.assert_opened(
            net.run(lost=lambda me: me.number == 5),
            noise=sum(one for masks, one in noise.items() if masks is not net.parties[5].masks),
        )

    def test_of_too_few_clients_ends_the_run(self):
        net, sent = Ending(self.ROWS, self.LABELS, 2, n=5, **PRIVATE), []
        for me in net.parties.values():
            me.inbox.lost |= {4, 5}
        with pytest.raises(TooManyFaultsError, match=r"^centres: noise of 3 clients is in, that of 4 is"):
            net.run(
                lost=lambda me: me.number in (4, 5),
                carry=lambda *given: (sent.append(given[2].tag), given[3])[1],
            )
        assert not OPENING & set(sent)

    @pytest.mark.parametrize("victim", [2, 4])
    def test_a_server_that_tells_others_of_fewer_dealers_has_nothing_opened(self, victim):
        """Two sums with other noise would have less of it together."""
        net, sent = Ending(self.ROWS, self.LABELS, 2, n=5, **PRIVATE), []

        def carry(sender, recipient, place, data):
            sent.append(place.tag)
            if (sender, recipient, place.tag) == (0, victim, "roots"):
                return bytes([0b11110000, *bytes(data)[1:]])
            return data

        with pytest.raises(CheatError, match=r"saw other numbers opened before step \d+$"):
            net.run(carry=carry)
        assert "roots" in sent
        assert not OPENING & set(sent)

    @pytest.mark.parametrize("refusing", [(2,), (2, 3)])
    def test_on_no_polynomial_is_refused(self, noise, refusing):
        """One refusal may be a lie, so the noise stays in; of two only the dealer can be the liar."""
        net = Ending(self.ROWS, self.LABELS, 2, n=7, liars=1, to=(1, 3), **PRIVATE)

        def carry(sender, recipient, place, data):
            if (sender, place.tag) == (4, "piece") and recipient in refusing:
                return bytes(data[:-40]) + bytes([data[-40] ^ 1]) + bytes(data[-39:])
            return data

        found, last = net.run(carry=carry), net.parties[4].masks
        left = [one for masks, one in noise.items() if masks is not last or len(refusing) == 1]
        net.assert_opened(found, noise=sum(left))
        assert net.parties[1].accused == ({4} if len(refusing) == 2 else set())
        assert net.parties[1].unsure == ({4} if len(refusing) == 2 else {2})

    def test_a_holder_that_lacks_rows_stays_aside_when_their_owner_is_found_to_lie(self, noise):
        """The rows are in. So its shares of sums are wrong, and others would take it for another liar."""
        net, sent = Ending(self.ROWS, self.LABELS, 2, n=6, liars=1, unread=((4, 2),), **PRIVATE), []
        net.of_rows[2].held[..., net.layout.rows(4)] = 0

        def carry(sender, recipient, place, data):
            sent.append((sender, place.tag))
            if (sender, recipient, place.tag) == (4, 3, "piece"):
                return bytes(data[:-40]) + bytes([data[-40] ^ 1]) + bytes(data[-39:])
            return data

        found, liar = net.run(carry=carry), net.parties[4].masks
        net.assert_opened(found, noise=sum(one for masks, one in noise.items() if masks is not liar))
        assert all((me.accused, me.unsure) == ({4}, {2, 4}) for me in net.parties.values())
        assert {sender for sender, tag in sent if tag == "hidden"} == {1, 3, 5, 6}

    def test_without_max_liars_noise_on_no_polynomial_ends_the_run(self):
        net = Ending(self.ROWS, self.LABELS, 2, n=5, **PRIVATE)

        def carry(sender, recipient, place, data):
            if (sender, recipient, place.tag) == (4, 2, "piece"):
                return bytes(data[:-40]) + bytes([data[-40] ^ 1]) + bytes(data[-39:])
            return data

        with pytest.raises(CheatError, match=r"^party 4 dealt shares that lie on no polynomial"):
            net.run(carry=carry)
