"""Columns by cluster: exact totals of cells that enough clients hold, and nothing of other columns."""

import numpy as np
import pytest
from operations.own_net import parties_of, play
from operations.test_own_labels import Lying
from support.sweeps import every

from secfc.errors import CheatError
from secfc.errors.codes import Code
from secfc.field.primes import primes_of
from secfc.operations.beginning.rows import SharedRows
from secfc.operations.beginning.totals import LIMIT, STEPS
from secfc.operations.ending import cells
from secfc.operations.ending.cells import OwnColumns, described_cells, own_parts
from secfc.protocol.job.cases import Described
from secfc.protocol.job.row_layout import Layout
from secfc.sharing.codewords import Codewords

SHAPES = [(3, 1, 1), (5, 1, 2), (6, 2, 1), (7, 2, 2)]


class Table:
    """Clients that know the labels of their rows, and describe columns: numbers, and three categories."""

    def __init__(self, labels, values, *, k, shape=(3, 1, 1), smallest=2, liars=0, refuses=None):
        n, t, ell = shape
        self.labels, self.values, self.full = labels, values, sorted(set(np.concatenate(labels).tolist()))
        self.described = Described((0, 3), smallest)
        comparers = {"dealer": 1, "first": n + 1, "second": n + 2} if t > 1 else {}
        self.code = Codewords(n=n, t=t, ell=ell, primes=primes_of(3))
        self.parties = parties_of(self.code, max_liars=liars, **comparers)
        layout = Layout(tuple(map(len, labels)))
        shared = SharedRows(rows=None, layout=layout, lost=(), cheats={}, unread=())

        def program(me):
            own = None
            if me.holds:
                more = {} if refuses is None or me.number != refuses[0] else {"refuses": refuses[1]}
                own = labels[me.number - 1], OwnColumns(values=values[me.number - 1], **more)
            return described_cells(me, shared, self.described, self.full, own)

        self.programs = {j: program(me) for j, me in self.parties.items()}

    def run(self, **more):
        """What each client learns: the same."""
        found = play(self.parties, self.programs, **more)
        told = [one.to_dict() for one in found.values() if one is not None]
        assert all(one == told[0] for one in told)
        assert [j for j, one in found.items() if one is not None] == [
            j for j in found if 1 <= j <= self.code.n
        ]
        assert all(me.code is self.code and me.stock is None for me in self.parties.values())
        return told[0]

    def expected(self, clients):
        """Totals over the rows of some clients, computed alone."""
        labels = np.concatenate([self.labels[j - 1] for j in clients])
        numbers, categories = np.concatenate([self.values[j - 1] for j in clients], axis=1).astype(object)
        inside = [labels == h for h in self.full]
        kept = [numbers[one & (numbers >= 0)] for one in inside]
        return [
            [[int(one.sum())] for one in inside],
            [[one.size, one.sum(), (one**2).sum()] for one in kept],
            [[int((categories[one] == c).sum()) for c in range(3)] for one in inside],
        ]


def drawn(seed, shape=(3, 1, 1), *, k=3, m=30):
    """Labels and values of each client, some missing."""
    rng = np.random.default_rng(seed)
    labels = [rng.integers(0, k, m + j).astype(np.int32) for j in range(shape[0])]
    values = [
        np.stack(
            [
                rng.integers(-1, STEPS + 1, own.size) * rng.choice([1, 1, 1], own.size),
                rng.integers(-1, 3, own.size),
            ]
        )
        for own in labels
    ]
    for own in values:
        own[0, ::7] = -1
        own[0, 1] = STEPS
    return labels, values


@every("seed", range(4))
@every("shape", SHAPES)
def test_totals_are_those_of_all_rows(seed, shape):
    net = Table(*drawn(seed, shape), k=3, shape=shape)
    found = net.run()
    assert found["clients"] == tuple(range(1, shape[0] + 1))
    assert found["clusters"] == (0, 1, 2)
    assert found["numbers"] == net.expected(found["clients"])


def test_a_cluster_without_rows_is_not_described():
    labels, values = drawn(0)
    net = Table([2 * (own > 0) for own in labels], values, k=3)
    found = net.run()
    assert found["clusters"] == (0, 2)
    assert found["numbers"] == net.expected((1, 2, 3))


def test_a_column_of_which_a_client_has_too_few_values_in_a_cluster_is_not_opened():
    labels, values = drawn(1)
    in_cluster = np.flatnonzero((labels[1] == 2) & (values[1][0] >= 0))
    values[1][0, in_cluster[1:]] = -1  # one is left
    found, sent = *[Table(labels, values, k=3)], []
    told = found.run(carry=lambda *given: (sent.append((given[2].tag, len(given[3]))), given[3])[1])
    expected = found.expected((1, 2, 3))
    assert told["numbers"] == [expected[0], None, expected[2]]
    # Of the others, 3 clusters with 1 and 3 numbers modulo five primes, nothing is sent.
    assert {size for tag, size in sent if tag == "described"} == {3 * 5 * 3 * (1 + 3)}


def test_a_client_without_values_in_a_cluster_does_not_hold_it():
    """Of three clients with t = 1 all are needed, and of four one may have none."""
    for shape, passes in (((3, 1, 1), False), ((4, 1, 1), True)):
        labels, values = drawn(2, shape)
        values[1][0, labels[1] == 0] = -1
        net = Table(labels, values, k=3, shape=shape)
        assert (net.run()["numbers"][1] is not None) == passes


def test_if_no_column_passes_nothing_is_opened_to_clients():
    labels, values = drawn(3)
    labels[0][:] = 0
    labels[0][0] = 1
    sent = []
    told = Table(labels, values, k=3).run(carry=lambda *given: (sent.append(given[2].tag), given[3])[1])
    assert told["numbers"] == [None, None, None]
    assert "described" not in sent


def test_a_cell_that_a_client_refuses_is_not_opened():
    labels, values = drawn(4)
    asked = []

    def refuses(rows):
        asked.append(rows)
        return np.arange(len(rows)) == 4  # the second cluster of the column of numbers

    net = Table(labels, values, k=3, refuses=(2, refuses))
    told = net.run()
    expected = net.expected((1, 2, 3))
    assert told["numbers"] == [expected[0], None, expected[2]]
    np.testing.assert_array_equal(asked[0][4], (labels[1] == 1) & (values[1][0] >= 0))


@pytest.mark.parametrize("label", [-1, 3])
def test_a_client_that_cannot_read_a_label_hides_all_columns(label):
    """A comparer that lies can have labels unreadable by what they are. Counts would tell how many are."""
    labels, values = drawn(4)
    labels[1][3] = label  # none, or a cluster that had no rows
    net = Table(labels, values, k=3)
    net.full.remove(label)
    assert net.run()["numbers"] == [None, None, None]


def test_without_a_client_that_is_lost_nothing_is_opened():
    labels, values = drawn(5, (5, 1, 1))
    net = Table(labels, values, k=3, shape=(5, 1, 1))
    for me in net.parties.values():
        me.inbox.lost.add(5)
    told = net.run(lost=lambda me: me.number == 5)
    assert told["clients"] == (1, 2, 3, 4)
    assert told["numbers"] == [None, None, None]


def test_a_client_whose_piece_another_refuses_is_in_no_table_without_it():
    """Else two tables, with and without client 4, would give its part to client 2, which lies alone."""
    labels, values = drawn(5, (4, 1, 1))

    def carry(sender, _, place, data):
        refuses = sender == 2 and place.tag == "refused"
        return np.packbits(np.arange(1, 5) == 4).tobytes() if refuses else data

    told = Table(labels, values, k=3, shape=(4, 1, 1)).run(carry=carry)
    assert told["clients"] == (1, 2, 3)
    assert told["numbers"] == [None, None, None]


class TestLies:
    def lying(self, monkeypatch, changed, **more):
        """A table in which client 2 deals other numbers."""
        labels, values = drawn(6)

        def parts(own, *given):
            right = own_parts(own, *given)
            return changed(right) if own is labels[1] else right

        monkeypatch.setattr(cells, "own_parts", parts)
        return Table(labels, values, k=3, **more)

    @pytest.mark.parametrize("value", [2, -1, LIMIT - 1])
    @pytest.mark.parametrize("at", [0, 17])
    def test_what_is_no_bit_is_told_by_name(self, monkeypatch, value, at):
        net = self.lying(monkeypatch, lambda right: [*right[:at], value, *right[at + 1 :]])
        with pytest.raises(CheatError, match=r"^described: what client 2 dealt are no bits$") as caught:
            net.run()
        assert caught.value.clients == (2,)

    def test_a_bit_counts_modulo_the_prime_by_which_it_is_checked_alone(self, monkeypatch):
        """Modulo others it may be anything, and would let a client decide whether a column passes."""
        first = primes_of(1)[0]
        net = self.lying(monkeypatch, lambda right: [one + first for one in right[:18]] + right[18:])
        assert net.run()["numbers"] == net.expected((1, 2, 3))

    def test_t_clients_that_claim_to_hold_a_cell_are_not_enough(self, monkeypatch):
        """Client 2 has no rows, and claims to have enough everywhere. One other has no values of a cell."""
        net = self.lying(monkeypatch, lambda right: [1] * 9 + [0] * 9 + [0] * len(right[18:]))
        net.values[2][0, net.labels[2] == 0] = -1
        assert net.run()["numbers"][1] is None

    @pytest.mark.parametrize(
        "more", [[1 << 60], [0, 0, 0, 1 << 30], [0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 1 << 90]]
    )
    def test_totals_that_no_rows_have_are_refused(self, monkeypatch, more):
        added = more + [0] * 100
        net = self.lying(
            monkeypatch, lambda right: right[:18] + [a + b for a, b in zip(right[18:], added, strict=False)]
        )
        with pytest.raises(
            CheatError, match=r"^described: no rows have the opened numbers of column [01], "
        ) as caught:
            net.run()
        assert caught.value.code is Code.IMPOSSIBLE_TOTALS

    @pytest.mark.parametrize("tag", ["described", "answer"])
    def test_a_wrong_share_ends_the_run(self, tag):
        net = Table(*drawn(7), k=3)
        with pytest.raises(CheatError):
            net.run(carry=Lying(3, tag))

    def test_with_max_liars_it_is_located(self):
        shape = (5, 1, 1)
        net = Table(*drawn(7, shape), k=3, shape=shape, liars=1)
        lying = Lying(4, "described")
        assert net.run(carry=lying)["numbers"] == net.expected(range(1, 6))
        assert lying.lies
        assert net.parties[1].liars == {4}


def test_columns_that_do_not_fit_the_job_are_told_apart():
    described = Described((0, 3), 2)
    fits = np.array([[0, -1, STEPS], [2, -1, 0]])
    assert OwnColumns(values=fits).check(described, m=3)
    assert not OwnColumns(values=fits).check(described, m=4)
    assert not OwnColumns(values=fits[:1]).check(described, m=3)
    for at, value in (((0, 0), STEPS + 1), ((0, 0), -2), ((1, 0), 3)):
        other = fits.copy()
        other[at] = value
        assert not OwnColumns(values=other).check(described, m=3)
