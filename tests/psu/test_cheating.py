"""What clients with false shares of opened values, or a server that sends another table, can cause."""

import numpy as np
import pytest
from support.union import plan_for, random_elements, tokens_of
from support.unite import opened_by, unite

from secfc.crypto.randomness import MaskSource
from secfc.errors import DuplicateIdError, UnionError
from secfc.lagrange.basis import basis_residues
from secfc.psu.course import Course
from secfc.psu.found import OVERFULL, Found
from secfc.psu.plan import UnionPlan
from secfc.psu.prime import P
from secfc.psu.roles import UnionClient, UnionRole, UnionServer
from secfc.psu.stages import CheckStage


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    monkeypatch.setenv("SECFC_KERNELS", "compiled")


@pytest.fixture
def tables(monkeypatch):
    """Number of IDs that the table of each stage was made for."""
    made, table = {}, UnionPlan.table

    def counted(self, stage, cap):
        made[stage] = cap
        return table(self, stage, cap)

    monkeypatch.setattr(UnionPlan, "table", counted)
    return made


@pytest.fixture
def liars(monkeypatch):
    """Have clients open random values, in tables or in the check."""

    def of(*numbers, check=False):
        opening = UnionClient.opening

        def false(self, part, dealt):
            shares = opening(self, part, dealt)
            if self.number in numbers and isinstance(self.course.stage, CheckStage) == check:
                return random_elements(shares.shape, self.number)
            return shares

        monkeypatch.setattr(UnionClient, "opening", false)

    return of


def united(n, m=600, **options):
    parties = [list(range(j, m, n)) for j in range(n)]
    return unite(plan_for(parties, **options), tokens_of(parties))


def test_false_shares_that_nobody_can_tell_apart_end_the_run_at_once(liars, tables) -> None:
    # With n = R any values can be opened; here they give bins that are overfull.
    liars(2)
    with pytest.raises(UnionError, match=r"or a client sent a wrong share of the opened values$"):
        united(3)
    assert tables == {1: 600}


@pytest.mark.parametrize("overfull", [2, 40, 113])
def test_a_client_follows_no_server_into_tables_that_honest_parties_would_not_need(overfull) -> None:
    # 188 bins; 40 of them with 25 IDs each would fit in 3000 IDs.
    course = Course(plan_for([[0]] * 3, cap=3000))
    counts = np.zeros(188, dtype=np.int64)
    counts[:overfull] = OVERFULL
    found = Found(counts=counts, poles=np.empty(0, dtype=np.uint64))
    if overfull == 2:
        course.take_found(found)
        assert course.stage.table.cap == 64
    elif overfull == 40:
        course.take_found(found)
        assert course.stage.table.cap <= 2048
    else:
        with pytest.raises(UnionError, match=r"^union: 113 of 188 bins are overfull|more than 24 IDs each"):
            course.take_found(found)


def test_tables_of_an_attempt_add_up_to_little_more_than_the_first(tables) -> None:
    united(3, m=3000)
    assert tables[1] == 3000
    assert sum(tables.values()) < 1.2 * 3000


@pytest.mark.parametrize("liar", [1, 3, 5])
@pytest.mark.parametrize("check", [False, True])
def test_a_client_whose_share_does_not_fit_is_named_where_two_more_than_needed_answer(
    liars, tables, liar, check
) -> None:
    liars(liar, check=check)
    with pytest.raises(UnionError, match=rf"contradict each other \(client {liar}\): such a share is wrong$"):
        united(5, m=60)
    assert len(tables) == 1


@pytest.mark.parametrize(
    ("n", "who", "named"),
    [
        (4, (1,), ""),
        (5, (1, 2), ""),
        (6, (2, 5), ""),
        (7, (2, 6), r" \(client 2, 6\)"),
    ],
)
def test_two_are_named_where_four_more_than_needed_answer(liars, n, who, named) -> None:
    liars(*who)
    with pytest.raises(UnionError, match=f"contradict each other{named}: such a share is wrong"):
        united(n, m=60)


def test_a_client_finds_a_false_share_of_the_check_itself() -> None:
    parties = [[1], [2], [3], [4], [5]]
    plan = plan_for(parties)
    clients = [
        UnionClient(number=j, plan=plan, tokens=held, masks=MaskSource())
        for j, held in enumerate(tokens_of(parties), 1)
    ]
    server = UnionServer(plan)
    server.open(0, opened_by(clients, 0))
    found = server.found()
    for client in clients:
        client.take_found(found)
    opened = opened_by(clients, 0)
    clients[0].open(0, opened)
    opened[4] = random_elements(opened[4].shape, 1)
    with pytest.raises(UnionError, match=r"contradict each other \(client 4\)"):
        clients[0].open(0, opened)
    assert clients[0].take_verdict()


@pytest.fixture
def opened(monkeypatch):
    """Which numbers of each check are 0. Client 2 deals sums as if IDs that it guesses were held once."""
    found = []

    def of(*guesses):
        begin, take, left = UnionClient._begin, UnionServer._take_opened, iter(guesses)

        def guessing(self):
            begin(self)
            if self.number == 2 and self.checking:
                for at, (base, guess) in enumerate(zip(self.course.stage.bases(), next(left), strict=True)):
                    (row,), _ = self.course.rows(tokens_of([[guess]])[0])
                    lie = int(self._input._values[0, at]) - pow(base, int(row) + 1, P)
                    self._input._values[0, at] = lie % P

        def noted(self, values):
            if self.checking:
                found.append((values[0] == 0).tolist())
            take(self, values)

        monkeypatch.setattr(UnionClient, "_begin", guessing)
        monkeypatch.setattr(UnionServer, "_take_opened", noted)
        return found

    return of


@pytest.mark.parametrize("guesses", [(6, 7, 8, 9), (7, 8, 6, 9), (7, 8, 9, 6)])
def test_a_false_sum_tells_whether_an_id_is_the_only_one_that_is_held_twice(opened, guesses) -> None:
    # The threat model says that a run answers four such guesses.
    found, parties = opened(guesses[:2], guesses[2:]), [[3, 6], [7], [4, 8], [9], [6, 5]]
    with pytest.raises(DuplicateIdError):
        unite(plan_for(parties), tokens_of(parties))
    assert [zero for check in found for zero in check] == [guess == 6 for guess in guesses]


def test_who_sees_the_others_shares_of_the_check_opens_0_where_no_share_is_to_spare(monkeypatch) -> None:
    parties, real = [[1, 2], [3], [4, 2]], UnionRole.open

    def last(self, part, shares):  # clients send each other these shares, so one can send its own last
        weights = basis_residues(self._sharing.alpha, self._sharing.beta[:1], P)[0]
        others = sum(weights[j - 1] * shares[j].astype(object) for j in (1, 3))
        wrong = (-others * pow(weights[1], -1, P) % P).astype(np.uint64)
        real(self, part, {**shares, 2: wrong} if self.checking else shares)

    monkeypatch.setattr(UnionRole, "open", last)
    found = unite(plan_for(parties), tokens_of(parties))
    assert found.rows[0][1] == found.rows[2][1]
