"""Whole unions equal the union of sets or give an error, for all distributions of IDs."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sweeps import tries
from support.union import Parties, plan_for, tokens_of
from support.unite import United, unite

from secfc.errors import DuplicateIdError, ParameterError, UnionError
from secfc.psu import stages
from secfc.psu.plan import CAPACITY, LOAD, UnionPlan, UnionTable
from secfc.psu.tokens import Tokens


def united(parties: Parties, **options) -> United:
    return unite(plan_for(parties, **options), tokens_of(parties))


def check(parties: Parties, **options) -> United:
    """Every ID has its own row, rows are 0..m-1, and equal IDs have equal rows."""
    result = united(parties, **options)
    rows = {}
    for ids, of_party in zip(parties, result.rows, strict=True):
        rows |= dict(zip(ids, of_party.tolist(), strict=True))
    assert sorted(rows.values()) == list(range(result.m))
    assert result.m == len(set().union(*parties))
    return result


def spread(m: int, n: int) -> list[list[int]]:
    return [list(range(j, m, n)) for j in range(n)]


@tries(0.5)
@given(owners=st.lists(st.integers(0, 2), max_size=40), extra=st.integers(0, 50))
def test_any_disjoint_ownership_gives_the_union(owners: list[int], extra: int) -> None:
    parties = [[i for i, owner in enumerate(owners) if owner == j] for j in range(3)]
    check(parties, cap=max(1, len(owners)) + extra)


@tries(0.3)
@given(st.lists(st.sets(st.integers(0, 30)), min_size=3, max_size=3))
def test_an_id_at_two_clients_is_an_error_and_nothing_else_is(sets: list[set[int]]) -> None:
    parties = [sorted(held) for held in sets]
    if sum(map(len, sets)) == len(set().union(*sets)):
        check(parties)
        return
    with pytest.raises(DuplicateIdError, match=r"^ids: an ID is held more than once$"):
        united(parties)


def test_what_is_sent_does_not_depend_on_who_holds_what() -> None:
    sizes = {
        (result.bytes_dealt, result.bytes_opened)
        for result in (
            check(parties, cap=100) for parties in ([list(range(90)), [], []], spread(90, 3), [[], [1], []])
        )
    }
    assert len(sizes) == 1


class TestFalseAlarms:
    """Two IDs in one place look like one ID held twice; the second attempt corrects this."""

    @pytest.mark.parametrize("owners", [(0, 0), (0, 1)], ids=["one client", "two clients"])
    def test_a_collision_in_one_attempt_is_no_error(
        self, monkeypatch: pytest.MonkeyPatch, owners: tuple[int, int]
    ) -> None:
        parties: list[list[str]] = [["x"], ["y"], ["z"]]
        for owner, name in zip(owners, ("a", "b"), strict=True):
            parties[owner].append(name)
        self.collide(monkeypatch, stages={1})
        result = check(parties)
        assert result.stages == 4  # table, check, table, check

    def test_a_collision_in_every_attempt_is_an_error_and_never_a_merge(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.collide(monkeypatch, stages=set(range(99)))
        with pytest.raises(DuplicateIdError):
            united([["x", "a"], ["y", "b"], ["z"]])

    def collide(self, monkeypatch: pytest.MonkeyPatch, stages: set[int]) -> None:
        a, b = (tokens_of([[name]])[0] for name in ("a", "b"))
        places = UnionTable.places

        def colliding(table: UnionTable, tokens: Tokens):
            if table.stage in stages:
                at = (tokens.u == b.u) & (tokens.v == b.v)
                tokens = Tokens(u=np.where(at, a.u, tokens.u), v=np.where(at, a.v, tokens.v))
            return places(table, tokens)

        monkeypatch.setattr(UnionTable, "places", colliding)


class TestMissing:
    def test_an_id_whose_residue_vanishes_is_found_in_the_second_attempt(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        values = stages.SeriesInput.values
        lost = []

        def losing(self, groups: slice):
            if not lost:  # the first client's first table
                lost.append(self)
                return np.zeros_like(values(self, groups))
            return values(self, groups)

        monkeypatch.setattr(stages.SeriesInput, "values", losing)
        result = check([["a"], ["b"], ["c"]])
        assert result.stages == 4


class TestCap:
    @pytest.mark.some(2)
    @pytest.mark.parametrize(("cap", "m"), [(40, 41), (40, 60), (30, 60), (40, 400), (3000, 3100)])
    def test_more_ids_of_all_parties_than_the_cap_are_an_error(self, cap: int, m: int) -> None:
        parties = spread(m, 3)
        with pytest.raises(
            UnionError, match=rf"which is not possible with ids_cap = {cap}: the parties hold more"
        ):
            united(parties, cap=cap)


class TestPlan:
    def test_stages_and_salts_hash_independently(self) -> None:
        plan = plan_for([[], [], []], cap=1000)
        tokens = tokens_of([list(range(1000))])[0]
        other = replace(plan, salt=bytes(16))
        places = [
            tuple(map(tuple, table.places(tokens)))
            for table in (plan.table(1, 1000), plan.table(2, 1000), other.table(1, 1000))
        ]
        for one, two in ((0, 1), (0, 2), (1, 2)):
            same = sum(a == b for a, b in zip(places[one][0], places[two][0], strict=True))
            assert same < 60  # 1000 / 63 bins expected
            assert not set(places[one][1]) & set(places[two][1])

    def test_the_load_and_capacity_leave_a_fortieth_of_the_bins_overfull(self) -> None:
        bins = np.random.default_rng(1).poisson(LOAD, 1_000_000)
        assert 0.015 < (bins > CAPACITY).mean() < 0.03


def test_a_union_plan_needs_a_salt() -> None:
    with pytest.raises(ParameterError, match="salt: 16 bytes"):
        UnionPlan(n=3, t=1, ell=1, cap=1, salt=b"")
