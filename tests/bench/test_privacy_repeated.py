"""Distances of all pairs, and centres of several jobs: what a server and a recipient read from them."""

import numpy as np

from benchmarks.privacy.measure import blobs
from benchmarks.privacy.pairs import by_pairs, pair_distances
from benchmarks.privacy.repeated import Centres, by_repeated_jobs, candidates, in_units
from secfc.protocol.job.making import make_job


class TestPairs:
    def test_distances_are_those_of_pairs(self):
        rows = np.array([[0, 0], [3, 4], [3, 0]], dtype=object)
        assert pair_distances(rows).tolist() == [[0, 25, 9], [25, 0, 16], [9, 16, 0]]

    def test_a_server_finds_columns_alone_and_everything_with_two_rows(self):
        rows = np.concatenate(blobs(5, 40, 3))
        bound = float(np.linalg.norm(rows, axis=1).max())
        job = make_job(n=5, k=4, t=1, ell=1, d=3, bound=bound)
        alone, with_client = by_pairs(job, rows)
        assert (alone.success, with_client.success) == (1, 1)

    def test_a_column_that_follows_from_others_is_not_found(self):
        rows = np.concatenate(blobs(5, 40, 2))
        rows = np.column_stack([rows, rows[:, 0]])
        job = make_job(n=5, k=4, t=1, ell=1, d=3, bound=float(np.linalg.norm(rows, axis=1).max()))
        assert next(by_pairs(job, rows)).success == 0


class TestCentresOfSeveralJobs:
    def test_a_row_that_is_between_two_unions_is_found(self):
        first = Centres(np.array([[1.0], [7.0]]), np.array([2, 3]))
        second = Centres(np.array([[1.0], [3.0], [5.5]]), np.array([1, 2, 3]))  # one row of 1.5 more
        found = candidates([first, second], bound=2.0)
        assert in_units(np.array([[1.5]])) <= found

    def test_nothing_is_found_beyond_the_bound_or_in_one_job(self):
        first = Centres(np.array([[1.0]]), np.array([2]))
        second = Centres(np.array([[9.0]]), np.array([3]))
        assert candidates([first, second], bound=2.0) == candidates([first], bound=2.0) == set()

    def test_jobs_with_one_row_more_tell_rows(self):
        found = {row.swept: row.success for row in by_repeated_jobs(each=30, jobs=4, repeats=2, seed=1)}
        assert len(found) == 8
        assert found["one row of others more, no rules: jobs"] > 0.01
        guarded = [one for name, one in found.items() if "rules of tables" in name]
        assert guarded == [0, 0, 0, 0]
