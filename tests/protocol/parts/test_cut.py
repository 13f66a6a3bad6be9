"""How rows are cut into parts, and that many parts give the same results as one."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.parts import COUNTS, MANY, ending, laws
from support.sweeps import crossed, sweep

from secfc.protocol.job import row_layout
from secfc.protocol.job.making import changed_job, make_job
from secfc.protocol.job.row_layout import ANSWER_PARTS, PART_BYTES, PART_ROWS, Layout
from secfc.protocol.messages import (
    SERVER,
    CodedDistances,
)
from secfc.protocol.states import State

# How rows are cut


class TestCut:
    JOB = make_job(n=5, k=4, t=1, ell=1, d=3, bound=20.0, precision=16, disclosure="coded")

    @pytest.mark.parametrize(
        "counts", [COUNTS, (1, 0, 0, 0, 3), (1000, 3, 0, 256, 257), (512, 256, 255, 1, 0)]
    )
    @pytest.mark.parametrize("rows", [1, 2, 3, 256, 1000])
    def test_parts_of_shares_cover_each_clients_rows_once_in_order(self, part_rows, counts, rows):
        part_rows(rows)
        parts = Layout(counts).parts(self.JOB)
        for client in range(1, 6):
            own = parts.layout.rows(client)
            cut = [parts.share_rows(client, part) for part in range(parts.shares + 2)]
            assert [i for piece in cut for i in range(piece.start, piece.stop)] == list(
                range(own.start, own.stop)
            )
            assert all(piece.stop - piece.start <= rows for piece in cut)
            assert all(piece.start == piece.stop for piece in cut[parts.shares :])
        assert parts.shares == max(1, -(-max(counts) // rows))

    @pytest.mark.parametrize(
        "counts", [COUNTS, (1, 0, 0, 0, 3), (1000, 3, 0, 256, 257), (512, 256, 255, 1, 0)]
    )
    @pytest.mark.parametrize("rows", [1, 2, 3, 256, 1000])
    def test_parts_of_answers_cover_all_rows_once_in_order(self, part_rows, counts, rows):
        part_rows(rows)
        parts = Layout(counts).parts(self.JOB)
        cut = [parts.answer_rows(part) for part in range(parts.answers)]
        assert [i for piece in cut for i in range(piece.start, piece.stop)] == list(range(sum(counts)))
        assert all(0 < piece.stop - piece.start <= rows for piece in cut)

    @pytest.mark.parametrize("d", [1, 10, 784])
    @pytest.mark.parametrize("k", [2, 100, 5000])
    def test_a_part_is_about_part_bytes_and_whole_blocks_of_rows(self, k, d):
        job = changed_job(self.JOB, k=k, d=d)
        layout = Layout((10**6, 0, 1, 2, 3))
        parts, primes = layout.parts(job), job.residues(layout.m)
        sizes = (PART_BYTES, ANSWER_PARTS * PART_BYTES)
        for size, rows, columns in zip(sizes, (parts.share, parts.answer), (job.width, k), strict=True):
            assert rows % PART_ROWS == 0
            assert 3 * primes * columns * rows <= size or rows == PART_ROWS
            assert 3 * primes * columns * (rows + PART_ROWS) > size

    def test_everybody_cuts_alike(self):
        # The cut follows from the job and the counts alone, so it is in no message.
        layout = Layout(COUNTS)
        assert layout.parts(self.JOB) == Layout(COUNTS).parts(self.JOB)

    def test_no_rows_in_all_are_one_part_of_shares_and_none_of_answers(self):
        parts = Layout((0, 0, 0, 0, 0)).parts(self.JOB)
        assert (parts.shares, parts.answers) == (1, 0)


def test_part_sizes_are_read_when_a_run_begins(monkeypatch):
    monkeypatch.setattr(row_layout, "PART_BYTES", 1)
    monkeypatch.setattr(row_layout, "PART_ROWS", 7)
    assert Layout(COUNTS).parts(TestCut.JOB).answer == 7


# Equal results


@pytest.mark.parametrize("rows", sweep([1, 2, 3, 5, 9, 10, 27, 28, 29], keep=(1, 5, 10, 27, 28)))
def test_labels_do_not_depend_on_the_parts(wire, part_rows, expected, rows):
    part_rows(rows)
    net = wire(MANY, k=4, seed=3)
    assert (net.parts().shares, net.parts().answers) == (-(-9 // rows), -(-28 // rows))
    assert ending(net) == expected


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("more", "rows"),
    crossed([{"t": 2}, {"ell": 2, "t": 1}, {"init": "separation"}, {"n_init": 3}], [1, 4], together=1),
)
def test_parts_do_not_change_other_jobs(wire, monkeypatch, part_rows, more, rows):
    whole = ending(wire(MANY, k=4, seed=3, **more))
    part_rows(rows)
    assert ending(wire(MANY, k=4, seed=3, **more)) == whole


@given(seed=st.integers(0, 2**32), rows=st.integers(1, 12))
@laws
def test_any_order_between_different_links_gives_the_same_result(wire, part_rows, expected, seed, rows):
    part_rows(rows)
    assert ending(wire(MANY, k=4, seed=3), choose=random.Random(seed).choice) == expected


@given(seed=st.integers(0, 2**32), rows=st.integers(1, 12))
@laws
def test_any_order_gives_the_same_result_when_every_answer_is_needed(wire, part_rows, expected, seed, rows):
    part_rows(rows)
    net = wire(MANY, k=4, t=2, seed=3)
    assert net.job.threshold == net.job.n
    assert ending(net, choose=random.Random(seed).choice) == expected


@given(
    seed=st.integers(0, 2**32),
    rows=st.integers(1, 6),
    slow=st.sets(st.integers(1, 5), min_size=1, max_size=2),
)
@laws
def test_the_answers_of_two_slow_clients_are_not_waited_for(wire, part_rows, expected, seed, rows, slow):
    part_rows(rows)
    net, chance = wire(MANY, k=4, seed=3), random.Random(seed)

    def choose(links):
        prompt = [link for link in links if link[0] not in slow or link[1] != SERVER]
        return chance.choice(prompt or links)

    # Every client's Hello and Ready are needed. Mail of the slow clients then arrives after all other mail.
    assert ending(net, choose=choose) == expected


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("silent", "from_part"), crossed([(1, 2), (1, 5), (3, 4), (4, 5)], [0, 1, 2, 13], together=1)
)
def test_two_of_five_clients_may_fall_silent_in_the_middle_of_an_answer(many, expected, silent, from_part):
    def drop(message):
        if not isinstance(message, CodedDistances) or message.sender not in silent:
            return False
        return (message.round, message.part) >= (2, from_part)

    assert ending(many(), drop=drop) == expected


def test_a_part_too_few_answers_leaves_the_round_open(many):
    net = many()
    net.run(
        drop=lambda message: isinstance(message, CodedDistances) and message.sender > 2 and message.part > 4
    )
    assert net.server.state is State.ITERATE
    assert (net.server.progress.round, net.server.progress.waiting_for) == (1, 1)
    assert net.server.gathering.head == 5
