"""How rows are cut into parts, and that many parts give the same results as one."""

import pytest
from support.parts import COUNTS

from secfc.protocol.job import row_layout
from secfc.protocol.job.making import changed_job, make_job
from secfc.protocol.job.row_layout import ANSWER_PARTS, PART_BYTES, PART_ROWS, Layout
from secfc.protocol.messages import (
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

    def test_no_rows_in_all_are_one_part_of_shares_and_none_of_answers(self):
        parts = Layout((0, 0, 0, 0, 0)).parts(self.JOB)
        assert (parts.shares, parts.answers) == (1, 0)


def test_part_sizes_are_read_when_a_run_begins(monkeypatch):
    monkeypatch.setattr(row_layout, "PART_BYTES", 1)
    monkeypatch.setattr(row_layout, "PART_ROWS", 7)
    assert Layout(COUNTS).parts(TestCut.JOB).answer == 7


# Equal results


def test_a_part_too_few_answers_leaves_the_round_open(many):
    net = many()
    net.run(
        drop=lambda message: isinstance(message, CodedDistances) and message.sender > 2 and message.part > 4
    )
    assert net.server.state is State.ITERATE
    assert (net.server.progress.round, net.server.progress.waiting_for) == (1, 1)
    assert net.server.gathering.head == 5
