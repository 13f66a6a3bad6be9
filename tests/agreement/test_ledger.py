"""A site's ledger: which openings together would determine a sum over few of its rows."""

import contextlib
import json
import os
import time
from itertools import combinations
from multiprocessing import get_context

import numpy as np
import pytest

from secfc.agreement.logs import ledger
from secfc.agreement.logs.ledger import Ledger, determines_few, ledger_key, locked
from secfc.crypto.identity import Identity
from secfc.errors import StorageError

KEY = bytes(32)
ROWS = [f"patient {at}" for at in range(40)]


def cell(*rows, of=40):
    """One cell with these rows."""
    return np.isin(np.arange(of), rows)[np.newaxis]


def cells(labels, k=2):
    return np.array(labels) == np.arange(k)[:, np.newaxis]


def asked(path, run, columns, *, rows=ROWS, smallest=5):
    """What a ledger, read anew, refuses."""
    found = Ledger.read(path, KEY)
    return found.consent(run, "job", columns, found.positions(rows), smallest=smallest)


def ask_locked(path, run, count):
    with locked(path):
        time.sleep(0.2)  # so that both have come
        return asked(path, run, {"age": cell(*range(count))})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "north.ledger"


def rank_says(matrix, counts, smallest):
    """By ranks over the rationals: is there a sum over few rows in the row space? All groups are tried."""
    rank, small = np.linalg.matrix_rank, np.flatnonzero(counts < smallest)
    groups = (list(group) for size in range(1, smallest) for group in combinations(small, size))
    few = (group for group in groups if counts[group].sum() < smallest)
    return any(rank(np.delete(matrix, group, axis=1)) < rank(matrix) for group in few)


@pytest.mark.parametrize("seed", range(60))
def test_a_group_is_found_if_ranks_say_that_it_is_determined(seed):
    rng = np.random.default_rng(seed)
    groups, every = rng.integers(0, 4, 60), []
    for _ in range(rng.integers(2, 4)):
        k = int(rng.integers(2, 5))
        labels = np.where(rng.random(60) < rng.choice([0.02, 0.05, 0.1]), rng.integers(0, 4, 60), groups)
        every.append(cells(labels * k // 4, k))
    every = np.concatenate(every)
    patterns, counts = np.unique(every, axis=1, return_counts=True)
    assert determines_few(every, 4) == rank_says(patterns.astype(float), counts, 4)


@pytest.mark.parametrize("seed", range(10))
def test_a_row_of_each_of_two_clusters_that_another_run_joins_is_found(seed):
    """Both clusters without the joined one are these two rows. No two cells differ by few."""
    rng = np.random.default_rng(seed)
    four = rng.permutation(np.arange(80) % 4)
    two = four // 2
    two[[np.flatnonzero(four == 0)[0], np.flatnonzero(four == 1)[0]]] = 1
    assert determines_few(np.concatenate([cells(four, 4), cells(two)]), 3)


def test_one_clustering_of_large_clusters_determines_none():
    labels = np.arange(40) % 4
    assert not determines_few(cells(labels, 4), 5)
    assert determines_few(cells(labels, 4), 11)  # a cluster has ten rows


def test_two_clusterings_that_cross_determine_none():
    both = np.concatenate([cells(np.arange(40) % 2), cells(np.arange(40) // 20)])
    assert not determines_few(both, 10)


@pytest.mark.parametrize("moved", [1, 4])
def test_two_cells_that_differ_by_few_rows_determine_their_sum(moved):
    one, other = cell(*range(20)), cell(*range(20 + moved))
    assert determines_few(np.concatenate([one, other]), 5)
    assert not determines_few(np.concatenate([one, cell(*range(25))]), 5)


def test_three_cells_may_determine_what_no_two_do():
    """The third is the first and the second, and one row."""
    three = np.concatenate([cell(*range(10)), cell(*range(10, 20)), cell(*range(21))])
    assert not any(determines_few(three[list(two)], 5) for two in combinations(range(3), 2))
    assert determines_few(three, 5)


class TestFile:
    def test_a_second_opening_that_differs_by_a_row_is_refused(self, path):
        assert asked(path, "a", {"age": cell(*range(20)), "bmi": cell(*range(20))}) == set()
        assert asked(path, "b", {"age": cell(*range(21)), "dose": cell(*range(21))}) == {"age"}
        assert asked(path, "c", {"bmi": cell(*range(30))}) == set()

    def test_what_was_refused_was_not_opened(self, path):
        asked(path, "a", {"age": cell(*range(20))})
        assert asked(path, "b", {"age": cell(*range(21))}) == {"age"}
        assert asked(path, "c", {"age": cell(*range(26))}) == set()

    def test_the_same_run_has_the_same_answer(self, path):
        asked(path, "a", {"age": cell(*range(20))})
        before = asked(path, "b", {"age": cell(*range(21))})
        assert asked(path, "b", {"age": cell(*range(21))}) == before == {"age"}
        assert asked(path, "a", {"age": cell(*range(20))}) == set()
        assert len(Ledger.read(path, KEY).openings) == 2

    def test_what_a_run_opens_first_is_no_answer(self, path):
        """Totals of a preparation, before a table of the same run."""
        asked(path, "a", {"age": cell(*range(20))})
        found = Ledger.read(path, KEY)
        found.note("b", "job", {"bmi": cell(*range(40))}, found.positions(ROWS))
        assert asked(path, "b", {"age": cell(*range(21)), "dose": cell(*range(20))}) == {"age"}
        assert asked(path, "b", {"age": cell(*range(21)), "dose": cell(*range(20))}) == {"age"}
        assert len(Ledger.read(path, KEY).openings) == 3

    def test_what_it_refuses_altogether_stays_so_after_what_the_run_opened_first(self, path):
        asked(path, "a", {"age": cell(*range(20))})
        found = Ledger.read(path, KEY)
        found.note("b", "job", {"bmi": cell(*range(40))}, found.positions(ROWS))
        assert asked(path, "b", {"age": cell(*range(21))}) == {"age"}
        assert Ledger.read(path, KEY).openings[-1].refused == ["age"]

    def test_other_sums_of_the_same_run_and_columns_count(self, path):
        """Totals of a preparation, and then centres. The same centres do not, with more rows known."""
        asked(path, "a", {"age": cell(*range(40))})
        for rows in (ROWS, [*ROWS, *map(str, range(40))]):
            found = Ledger.read(path, KEY)
            found.positions(rows)
            found.note("a", "job", {"age": cells(np.arange(40) // 20)}, found.positions(ROWS))
        assert len(Ledger.read(path, KEY).openings) == 2
        assert asked(path, "b", {"age": cell(*range(22))}) == {"age"}

    def test_a_cell_without_rows_stays_without_rows(self, path):
        """Of the first cluster this site has no row, and of each column two values are missing."""
        labels, columns = 1 + np.arange(40) % 2, {}
        for at in range(8):
            columns[f"column {at}"] = cells(np.where(np.arange(40) // 2 == at, -1, labels), 3)
        assert asked(path, "a", columns) == asked(path, "b", columns) == set()

    def test_of_two_runs_at_once_one_sees_the_other(self, path):
        context = get_context("spawn")
        with context.Pool(2) as pool:
            told = pool.starmap(ask_locked, [(path, "a", 20), (path, "b", 21)] * 3)
        assert sorted(map(len, told[:2])) == [0, 1]
        assert told[:2] == told[2:4] == told[4:]
        assert len(Ledger.read(path, KEY).openings) == 2

    def test_a_folder_of_results_may_be_new(self, tmp_path):
        path = tmp_path / "new" / "north.ledger"
        with locked(path):
            assert not asked(path, "a", {"age": cell(*range(20))})

    def test_a_lock_that_is_not_free_ends_the_run(self, path, monkeypatch):
        monkeypatch.setattr(ledger, "_WAIT", 0.1)
        with (
            locked(path),
            pytest.raises(StorageError, match=r"^ledger: .*north.ledger-lock: database is locked$"),
            locked(path),
        ):
            pass

    def test_rows_are_known_in_another_order_and_beside_new_ones(self, path):
        asked(path, "a", {"age": cell(*range(20))})
        rows = [*reversed(ROWS), "new 1", "new 2"]
        of_old = cell(*(39 - at for at in range(20)), of=42)
        assert asked(path, "b", {"age": of_old | cell(40, of=42)}, rows=rows) == {"age"}
        assert asked(path, "c", {"age": of_old}, rows=rows) == set()

    def test_equal_rows_are_counted(self, path):
        asked(path, "a", {"age": cell(*range(20))}, rows=["x"] * 40)
        assert asked(path, "b", {"age": cell(*range(20))}, rows=["x"] * 40) == set()
        assert asked(path, "c", {"age": cell(*range(21))}, rows=["x"] * 40) == {"age"}

    def test_opened_centres_count_too(self, path):
        found = Ledger.read(path, KEY)
        found.note("a", "job", {"age": cells(np.arange(40) // 20)}, found.positions(ROWS))
        found.note("a", "job", {"age": cells(np.arange(40) // 20)}, found.positions(ROWS))
        assert len(Ledger.read(path, KEY).openings) == 1
        assert asked(path, "b", {"age": cell(*range(22))}) == {"age"}

    def test_it_is_private_and_shows_no_row(self, path):
        asked(path, "a", {"age": cell(*range(20))})
        assert path.stat().st_mode & 0o777 == 0o600
        assert "patient" not in path.read_text()
        assert [one.name for one in path.parent.iterdir()] == [path.name]

    def test_another_key_has_other_marks_and_is_refused(self, path):
        asked(path, "a", {"age": cell(*range(20))})
        with pytest.raises(
            StorageError, match=r"^ledger: .*north.ledger is of another key; keep the key with"
        ):
            Ledger.read(path, bytes([1]) * 32)
        one, other = Identity(), Identity()
        assert ledger_key(one) == ledger_key(one) != ledger_key(other)

    @pytest.mark.parametrize(
        "spoil",
        [
            lambda text: text[:-5],
            lambda text: "",
            lambda text: "[]",
            lambda text: text.replace('"openings"', '"others"'),
            lambda text: json.dumps(json.loads(text) | {"marks": 3}),
        ],
    )
    def test_one_that_cannot_be_read_refuses(self, path, spoil):
        asked(path, "a", {"age": cell(*range(20))})
        path.write_text(spoil(path.read_text()))
        with pytest.raises(
            StorageError, match=r"^ledger: .*north.ledger cannot be read .* nothing of these rows"
        ):
            Ledger.read(path, KEY)

    def test_a_link_to_what_is_not_there_refuses(self, path):
        path.symlink_to(path.parent / "not mounted")
        with pytest.raises(StorageError, match=r"^ledger: .*north.ledger cannot be read "):
            Ledger.read(path, KEY)

    def test_one_that_others_may_read_refuses(self, path):
        asked(path, "a", {"age": cell(*range(20))})
        os.chmod(path, 0o644)
        with pytest.raises(StorageError, match="a ledger that others may read"):
            Ledger.read(path, KEY)

    def test_it_is_bounded(self, path, monkeypatch):
        monkeypatch.setattr(ledger, "MOST_OPENINGS", 2)
        asked(path, "a", {"age": cell(*range(20))})
        Ledger.read(path, KEY).check_room(40, 1)
        asked(path, "b", {"age": cell(*range(30))})
        with pytest.raises(StorageError, match=r"has 2 openings, and takes no more$"):
            Ledger.read(path, KEY).check_room(40, 1)
        monkeypatch.setattr(ledger, "_MOST_BYTES", 10)
        with pytest.raises(StorageError, match=r"it is too large"):
            Ledger.read(path, KEY)

    @pytest.mark.parametrize("count", [1, 100, 4000])
    def test_what_it_takes_can_be_read_again(self, path, monkeypatch, count):
        rows, columns = [f"patient {at}" for at in range(count)], {"age": cell(*range(count), of=count)}
        asked(path, "a", columns, rows=rows)
        before, new = Ledger.read(path, KEY), [f"other {at}" for at in range(count)]
        for most in range(path.stat().st_size, 10**6, 1000):
            monkeypatch.setattr(ledger, "_MOST_BYTES", most)
            with contextlib.suppress(StorageError):
                before.check_room(count, 1)
                break
        asked(path, "b", columns, rows=new)
        assert len(Ledger.read(path, KEY).openings) == 2

    def test_a_million_rows_of_1000_cells_are_refused_before_the_run(self, path):
        with pytest.raises(StorageError, match=r"does not take 1000 cells of 1000000 rows, because a ledger"):
            Ledger.read(path, KEY).check_room(10**6, 1000)
        Ledger.read(path, KEY).check_room(10**6, 900)

    def test_one_that_cannot_be_written_refuses_and_stays(self, path, monkeypatch):
        asked(path, "a", {"age": cell(*range(20))})
        before = path.read_bytes()

        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("os.replace", full)
        with pytest.raises(StorageError, match="No space left"):
            asked(path, "b", {"age": cell(*range(30))})
        assert path.read_bytes() == before
        assert [one.name for one in path.parent.iterdir()] == [path.name]
