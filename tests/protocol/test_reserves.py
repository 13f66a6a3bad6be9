"""Reserves take the places of lost comparers, and all questions are asked again with the new three."""

import random
from dataclasses import replace

import numpy as np
import pytest
from support.sweeps import crossed, sweep
from support.wire import UnionWire, Wire

from plaintext_baselines import ExactLloyd
from secfc.errors import CheatError, MessageError, ParameterError, SealError, TooManyFaultsError
from secfc.limits import Limits
from secfc.params import Job
from secfc.protocol.attempt import Attempt
from secfc.protocol.contradiction import Contradiction
from secfc.protocol.messages import (
    SERVER,
    Assignment,
    Coin,
    CoinRequest,
    Compared,
    Endorsement,
    Finish,
    FromServer,
    Hello,
    MaskedAnswer,
    MaskedDistances,
    OpenedLabels,
    Ready,
    SpareMasks,
    UnionDeal,
)
from secfc.protocol.signed import value_statement
from secfc.protocol.states import State
from secfc.sealing.coin import toss

_RNG = np.random.default_rng(6)
ROWS = [_RNG.normal(size=(m, 2)).round(2) for m in (4, 5, 6, 3, 4)]
FEW = [_RNG.integers(-3, 4, size=(m, 1)).astype(float) for m in (2, 3, 1, 2, 2)]
"""Rows for five clusters, so that some are emptied."""

COMPARERS = (4, 2, 5)
RESERVE = 1
SAID = (SpareMasks, MaskedAnswer, MaskedDistances, Compared, OpenedLabels, Endorsement)
"""Messages of a round."""

CONSENTED = {"reveal_inertia": True, "limits": Limits(reveal_inertia=True)}

STARTS = {
    "random": {},
    "separation": {"init": "separation"},
    "k-means++": {"init": "k-means++", "n_init": 2},
    "two starts": {"n_init": 2},
    "emptied": {"rows": FEW, "k": 5, "precision": 8},
    "helpers": {"comparers": (1, 6, 7, 8)},
    "several k": {"compared": (2, 3), **CONSENTED},
    "predict": {
        "starts": [np.arange(len(part)) % 4 - 1 for part in ROWS],
        "predict": True,
        "max_iter": 1,
        "limits": Limits(predict=True),
    },
}


@pytest.fixture
def of(part_rows):
    """Five clients, of which three must answer, with a reserve for each comparer that is lost."""
    part_rows(6)

    def wire(rows=ROWS, **more):
        given = {"k": 3, "disclosure": "labels", "comparers": (*COMPARERS, RESERVE), "seed": 0} | more
        return Wire(rows, **given)

    return wire


@pytest.fixture(scope="module")
def undisturbed():
    """Runs of `STARTS` without losses, by kind."""
    return {}


@pytest.fixture
def plain_of(of, undisturbed):
    def plain(kind):
        if kind not in undisturbed:
            undisturbed[kind] = of(**STARTS[kind])
            undisturbed[kind].run()
        return undisturbed[kind]

    return plain


def vanish(net, gone, after):
    """Run. A comparer sends nothing after `after` messages of rounds. Return whether it was missed."""
    said = [0]

    def drop(message):
        if isinstance(message, SAID) and message.sender == gone:
            said[0] += 1
        return said[0] > after and gone in (message.sender, message.recipient)

    net.run(drop=drop)
    missed = net.server.state is not State.DONE
    if missed:
        net.post(net.server.absent(gone))
        net.run(drop=drop)
    return missed


def lost(net):
    return net.server.phase.attempt.lost


def assert_exact(net):
    best, job = net.server.outcome, net.job
    if job.predict:
        return  # compared with the same run without losses
    plus_plus = {"init": "k-means++", "n_init": job.n_init, "random_state": 0}
    given = plus_plus if job.init == "k-means++" else {"init": [best.start]}
    if (best.start < 0).any() and job.init != "k-means++":
        return
    exact = ExactLloyd(job.k, **given, precision=job.precision, bound=job.bound, max_iter=job.max_iter).fit(
        [np.concatenate(net.rows)]
    )
    np.testing.assert_array_equal(best.labels, exact.labels_[0])
    assert (best.n_iter, best.converged) == (exact.n_iter_, exact.converged_)


def assert_like(net, plain, gone):
    """The result is that of a run without losses, and all other parties have it."""
    one, other = net.server.outcome, plain.server.outcome
    assert one.labels.tolist() == other.labels.tolist()
    assert one.start.tolist() == other.start.tolist()
    assert (one.n_iter, one.converged, one.opened) == (other.n_iter, other.converged, other.opened)
    assert {j for j, client in net.clients.items() if client.labels is None} <= {gone}
    assert_exact(net)


@pytest.mark.some(1)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("kind", "place", "after"),
    crossed(STARTS, range(3), sweep((0, 1, 2, 5, 9, 14, 20, 27, 35, 50), keep=(0, 9, 27))),
)
def test_one_that_vanishes_anywhere_is_replaced_and_the_result_is_the_same(of, plain_of, kind, place, after):
    net, plain = of(**STARTS[kind]), plain_of(kind)
    gone = net.job.comparers[place]
    missed = vanish(net, gone, after)
    assert lost(net) == ((gone,) if missed else ())
    assert_like(net, plain, gone)
    assert net.server.faults.absent == ((gone,) if missed else ())
    assert missed or after > 9


@pytest.mark.some(1)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("after", [0, 2])
def test_one_that_vanishes_while_the_inertia_is_opened_is_replaced(of, place, after):
    """Labels of the last round are opened. The comparer vanishes after `after` messages about the inertia."""
    net, plain = of(max_iter=2, **CONSENTED), of(max_iter=2, **CONSENTED)
    plain.run()
    gone, said = COMPARERS[place], []

    def opens():
        evaluators = [net.clients[j].phase for j in COMPARERS[1:]]
        steps = [one._disclosure._step for one in evaluators if one.state is State.ITERATE]
        return any(step.name == "FIND_INERTIA" for step in steps)

    def drop(message):
        if isinstance(message, SAID) and message.sender == gone and (said or opens()):
            said.append(message)
        return len(said) > after and gone in (message.sender, message.recipient)

    net.run(drop=drop)
    missed = len(said) > after
    assert missed == (net.server.state is not State.DONE)
    assert missed or after
    if missed:
        net.post(net.server.absent(gone))
        net.run(drop=drop)
    assert plain.server.outcome.opened is not None
    assert lost(net) == ((gone,) if missed else ())
    assert_like(net, plain, gone)


@pytest.mark.some(1)
@pytest.mark.parametrize("seed", sweep(range(30), keep=range(2)))
@pytest.mark.parametrize("kind", ["random", "k-means++", "helpers"])
def test_one_that_is_slow_and_given_up_is_refused_nothing_and_refuses_nothing(of, plain_of, kind, seed):
    """All its messages arrive, in any order. It continues to answer as a client."""
    rng = random.Random(f"{kind} {seed}")
    net, plain = of(**STARTS[kind]), plain_of(kind)
    gone, moment, left = rng.choice(net.job.comparers[:3]), rng.randrange(400), [0]

    def due():
        left[0] += 1
        return left[0] > moment and net.server.state is State.ITERATE

    net.run(choose=rng.choice, until=due)
    if net.server.state is not State.DONE:
        net.post(net.server.absent(gone))
    net.run(choose=rng.choice)
    assert net.server.state is State.DONE
    assert all(client.labels is not None for client in net.clients.values())
    assert_like(net, plain, gone)


def test_all_three_are_replaced_one_after_the_other(of):
    net, plain = of(comparers=(4, 6, 5, 1, 7, 2)), of(comparers=(4, 6, 5, 1, 7, 2))
    plain.run()
    silent = set()

    def drop(message):
        return bool({message.sender, message.recipient} & silent)

    for number, gone in enumerate((6, 4), 2):
        net.run(drop=drop, until=lambda number=number: net.server.gathering.round >= 2 * number)
        silent.add(gone)
        net.run(drop=drop)
        net.post(net.server.absent(gone))
    net.run(drop=drop, until=lambda: net.server.gathering.round >= 12)
    silent.add(1)  # which took the place of 6
    net.run(drop=drop)
    net.post(net.server.absent(1))
    net.run(drop=drop)
    assert lost(net) == (6, 4, 1)
    assert net.server.phase.attempt.trio == (7, 2, 5)
    assert net.server.outcome.labels.tolist() == plain.server.outcome.labels.tolist()
    assert_exact(net)


def test_a_reserve_that_is_absent_is_passed_over(of):
    net = of(comparers=(4, 2, 5, 1, 6))

    def drop(message):
        return isinstance(message, SAID) and message.sender in (1, 2)

    net.run(drop=drop)
    net.post(net.server.absent(1))
    assert lost(net) == ()
    net.post(net.server.absent(2))
    assert lost(net) == (2, 1)
    net.run(drop=drop)
    assert net.server.phase.attempt.trio == (4, 6, 5)
    assert_exact(net)


@pytest.mark.parametrize("gone", COMPARERS)
def test_one_that_never_shares_is_replaced_before_the_first_question(of, gone):
    net = of()
    asked = []

    def drop(message):
        asked.extend([message] if isinstance(message, Assignment) else [])
        return gone in (message.sender, message.recipient)

    net.run(drop=drop)
    net.post(net.server.absent(gone))
    net.run(drop=drop)
    assert net.server.faults.left_out == (gone,)
    assert {(message.lost, message.since) for message in asked} == {((gone,), 1)}
    assert net.server.state is State.DONE


def test_a_helper_that_is_lost_while_rows_are_shared_is_replaced_before_the_first_question(of):
    net = of(comparers=(1, 6, 7, 8))
    net.run(until=lambda: net.server.state is State.SHARE)
    net.post(net.server.absent(7))
    net.run(drop=lambda message: 7 in (message.sender, message.recipient))
    assert lost(net) == (7,)
    assert_exact(net)


@pytest.mark.parametrize("gone", COMPARERS)
def test_without_a_reserve_left_the_run_ends(of, gone):
    net = of()
    other = next(one for one in COMPARERS if one != gone)
    net.run(until=lambda: net.server.gathering.round == 2)
    net.post(net.server.absent(other))
    with pytest.raises(TooManyFaultsError, match=f"^client {gone}, a comparer, is absent"):
        net.server.absent(gone)


def test_a_comparer_that_answers_wrongly_is_replaced(part_rows):
    rows = [_RNG.normal(size=(m, 2)).round(2) for m in (4, 3, 4, 3, 4, 3, 4)]
    part_rows(6)
    given = {"k": 3, "disclosure": "labels", "max_liars": 2, "comparers": (4, 2, 5, 1)}
    net, plain = Wire(rows, **given), Wire(rows, **given)
    plain.run()

    def drop(message):
        wrong = isinstance(message, MaskedAnswer) and message.sender == 4 and message.round == 2
        if wrong:
            net.deliver(net.wrong(message))
        return wrong

    net.run(drop=drop)
    assert lost(net) == (4,)
    assert net.server.faults.liars == (4,)
    assert net.server.outcome.labels.tolist() == plain.server.outcome.labels.tolist()
    assert_exact(net)


@pytest.mark.some(1)
@pytest.mark.parametrize("place", range(3))
def test_without_a_seed_the_coin_of_the_first_three_stays(of, place):
    net, coins = of(seed=None), set()
    gone = COMPARERS[place]

    def drop(message):
        if isinstance(message, Assignment) and message.round == message.since:
            coins.add((message.lost, message.coin))
        return net.server.gathering.round > 1 and gone in (message.sender, message.recipient)

    net.run(drop=drop)
    net.post(net.server.absent(gone))
    net.run(drop=drop)
    assert len(coins) == 2
    assert len({coin for _, coin in coins}) == 1
    assert_exact(net)


UNSEEDED = {
    "random": {},
    "separation": {"init": "separation"},
    "k-means++": {"init": "k-means++", "n_init": 2},
    "helpers": {"comparers": (1, 6, 7, 8)},
    "predict": STARTS["predict"],
}


def assert_follows_from_the_coin(net):
    """Labels equal those of exact Lloyd and of a run with the coin as seed, on the rows that take part."""
    left_out = net.server.faults.left_out
    values = {j: one[:32] for j, one in net.server.phase._told.items()}
    assert all(net.clients[j].phase._peers.coin == value for j, value in values.items())
    seed = toss(net.server.phase.introductions.transcript, values, left_out) if values else None
    rows = [part[: 0 if j in left_out else None] for j, part in enumerate(net.rows, 1)]
    given = {"init": net.job.init, "n_init": net.job.n_init, "k": 3, "max_iter": net.job.max_iter}
    if net.job.predict:
        given |= STARTS["predict"]
    same = Wire(rows, seed=seed, **given)
    same.run()
    assert net.server.outcome.labels.tolist() == same.server.outcome.labels.tolist()
    assert net.server.outcome.start.tolist() == same.server.outcome.start.tolist()
    net.rows = rows
    if net.job.init == "random":
        assert_exact(net)
    return values


@pytest.mark.some(1)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("kind", "place", "silent"), crossed(UNSEEDED, range(4), [Hello, Ready, Coin]))
def test_without_a_seed_one_that_is_lost_before_values_are_told_is_replaced(of, kind, place, silent):
    """It never appears, or is lost while rows are shared, or does not confirm its presence when asked."""
    net = of(seed=None, **UNSEEDED[kind])
    gone, said = net.job.comparers[place], []
    predict, helps = net.job.predict, gone > net.job.n

    def drop(message):
        if type(message) is silent and message.sender == gone:
            said.append(message)
        return bool(said) and gone in (message.sender, message.recipient)

    net.run(drop=drop, until=lambda: helps and silent is Ready and net.server.state is State.SHARE)
    missed = bool(said) or net.server.state is not State.DONE
    assert missed == (silent is not Coin or (place < 3 and not predict))
    if predict and missed and not helps:
        with pytest.raises(TooManyFaultsError, match="a prediction can leave no party out"):
            net.server.absent(gone)
        return
    if missed:
        said.append(gone)
        net.post(net.server.absent(gone))
        net.run(drop=drop)
    assert lost(net) == ((gone,) if missed and place < 3 else ())
    assert net.server.faults.left_out == ((gone,) if missed and silent is not Coin and not helps else ())
    tossed = assert_follows_from_the_coin(net)
    assert set(tossed) == (
        set() if predict else {*net.job.comparers} - {gone if missed else net.job.comparers[3]}
    )


@pytest.mark.parametrize("gone", COMPARERS)
def test_once_values_are_told_nobody_tosses_in_the_place_of_one_that_is_lost(of, gone):
    """Otherwise a server that knows some values could choose between coins."""
    net = of(seed=None)
    net.run(drop=lambda message: isinstance(message, Coin) and message.sender == gone and message.value)
    text = (
        f"^client {gone}, a comparer, is absent, and no other client can toss the coin in its place: the "
        "other clients were already asked"
    )
    with pytest.raises(TooManyFaultsError, match=text) as caught:
        net.server.absent(gone)
    assert caught.value.clients == (gone,)
    assert net.server.outcome is None


def test_one_that_has_told_its_value_is_replaced(of):
    net = of(seed=None)
    last = net.hold(Coin, recipient=SERVER, sender=5)
    while not last.value:
        net.deliver(last)
        last = net.hold(Coin, recipient=SERVER, sender=5)
    net.run(until=lambda: set(net.server.phase._told) == {4, 2})
    net.post(net.server.absent(4))
    net.deliver(last)
    net.run(drop=lambda message: 4 in (message.sender, message.recipient))
    assert lost(net) == (4,)
    assert set(assert_follows_from_the_coin(net)) == {4, 2, 5}


@pytest.mark.parametrize(
    ("comparers", "gone", "enough"),
    [((4, 2, 5, 1, 6), (4,), True), ((4, 2, 5, 1, 6), (4, 1), False), ((4, 2, 5, 1, 6, 7), (6, 4), True)],
)
def test_more_may_be_lost_while_any_two_sets_of_those_who_toss_have_two_in_common(
    of, comparers, gone, enough
):
    net = of(seed=None, comparers=comparers)

    def drop(message):
        return bool({message.sender, message.recipient} & {*gone})

    net.run(drop=drop)
    *first, last = gone
    for one in first:
        net.post(net.server.absent(one))
    if not enough:
        text = "no other client can toss the coin in its place: 4 of 5 must toss it"
        with pytest.raises(TooManyFaultsError, match=text):
            net.server.absent(last)
        return
    net.post(net.server.absent(last))
    net.run(drop=drop)
    assert len(assert_follows_from_the_coin(net)) == 4


def test_one_that_is_slow_to_say_that_it_is_there_and_given_up_is_refused_nothing(of):
    net = of(seed=None)
    late = net.hold(Coin, recipient=SERVER, sender=2)
    net.post(net.server.absent(2))
    net.run(until=lambda: net.server.gathering.round == 2)
    net.deliver(late)
    net.run()
    assert set(assert_follows_from_the_coin(net)) == {4, 5, 1}


@pytest.mark.some(1)
@pytest.mark.parametrize("gone", [(), (2,)])
@pytest.mark.parametrize("more", [{}, {"recheckers": (3, 6, 7)}])
def test_nobody_has_evidence_that_an_honest_server_cheated(of, more, gone):
    net, proofs = of(seed=None, n_init=2, **more), {}

    def see(message):
        lost = (
            bool(gone)
            and net.server.gathering.round > 1
            and bool({*gone} & {message.sender, message.recipient})
        )
        if isinstance(message, FromServer):
            proofs.setdefault((type(message).__name__, message.round), []).append(message.proof)
        return lost

    net.run(drop=see)
    for one in gone:
        net.post(net.server.absent(one))
        net.run(drop=see)
    assert net.server.state is State.DONE
    assert {"CoinRequest", "Assignment", "Finish"} <= {kind for kind, _ in proofs}
    for first, *others in proofs.values():
        for second in others:
            found = Contradiction(agreement=net.session.agreement, first=first, second=second)
            with pytest.raises(SealError, match="do not contradict"):
                found.check(net.session.roster)


@pytest.mark.parametrize("comparer", [4, RESERVE])
def test_a_comparer_tells_its_value_for_one_coin_alone(of, refuses, comparer):
    net = of(seed=None)
    if comparer == RESERVE:
        net.run(drop=lambda message: isinstance(message, Coin) and message.sender == 2)
        net.post(net.server.absent(2))
    request = net.hold(CoinRequest, recipient=comparer)
    while not request.tossing:
        net.deliver(request)
        request = net.hold(CoinRequest, recipient=comparer)
    for tossing in ((4, 2), (2, 5, 1)[comparer == RESERVE :], (5, 4, 1), (4, 4, 1), (4, 1, 3), (4, 2, 5, 1)):
        refuses(
            net.clients[comparer], replace(request, tossing=tossing), MessageError, "^CoinRequest: to client"
        )
    net.deliver(request)
    for tossing in ((), (4, 2, 1), (4, 5, 1)):
        again = replace(request, tossing=tossing)
        refuses(net.clients[comparer], again, MessageError, "^CoinRequest: a second one")


def test_a_coin_of_others_than_those_who_signed_it_is_refused(of, refuses):
    """Values that were told for one coin cannot make another. Fewer values make none."""
    net = of(seed=None)
    held = [net.hold(Assignment, recipient=j) for j in net.clients]
    spare = net.clients[RESERVE].phase._peers.coin
    signed = value_statement(net.transcript, party=RESERVE, value=spare, tossing=(2, 5, 1), left_out=())
    told = spare + net.identities[RESERVE - 1].sign(signed)
    for one in held:
        coin, client = one.coin, net.clients[one.recipient]
        assert coin[288:] == bytes(96)
        other = replace(one, coin=bytes(96) + coin[96:288] + told)
        refuses(client, other, SealError, "^client 2: its value of the coin about these rows is not signed")
        for wrong in (coin[:288] + told, coin[:192] + bytes(192), bytes(384)):
            text = "384 bytes of a coin, 3 values are needed"
            refuses(client, replace(one, coin=wrong), MessageError, text)
        net.deliver(one)
    net.run()
    assert_follows_from_the_coin(net)


def test_any_two_sets_of_those_who_toss_have_two_in_common():
    for named in range(3, 17):
        job = Job(
            n=16, k=2, t=1, ell=1, d=1, bound=1.0, disclosure="labels", comparers=tuple(range(1, named + 1))
        )
        assert 3 <= job.tossers <= named
        assert 2 * job.tossers - named in (2, 3)


@pytest.mark.some(2)
@pytest.mark.parametrize("gone", [1, 7])
@pytest.mark.parametrize("kind", [Hello, UnionDeal])
def test_with_membership_privacy_a_helper_is_replaced_and_a_client_ends_the_run(part_rows, gone, kind):
    """Every client has a part of every row, so none can be left out before all rows are shared."""
    part_rows(6)
    net = UnionWire(ROWS, k=3, seed=None, salt=bytes(16), disclosure="labels", comparers=(1, 6, 7, 8))
    seen = []

    def drop(message):
        if type(message) is kind and (message.sender == gone or kind is UnionDeal):
            seen.append(message)
        return message.sender == gone and kind is Hello

    net.run(drop=drop, until=lambda: bool(seen) and kind is UnionDeal)
    assert seen
    if gone == 1:
        with pytest.raises(TooManyFaultsError, match="with membership privacy no client can be left out"):
            net.server.absent(gone)
        return
    net.post(net.server.absent(gone))
    net.run(drop=lambda message: 7 in (message.sender, message.recipient))
    assert lost(net) == (7,)
    pooled = np.concatenate(net.rows)
    pooled[np.concatenate([net.clients[j].union_rows for j in range(1, 6)])] = np.concatenate(net.rows)
    net.rows = [pooled]
    assert_exact(net)


def test_a_server_in_the_same_state_goes_on_with_the_same_comparers(of):
    net, plain = of(), of()
    plain.run()
    net.run(until=lambda: net.server.gathering.round == 2)

    def silent(message):
        return 4 in (message.sender, message.recipient)

    net.run(drop=silent)
    net.post(net.server.absent(4))
    net.run(drop=silent, until=lambda: net.server.gathering.round == 5)
    asked = [net.take(link) for link in net.pending() if link[0] == SERVER]
    again = net.server.stand(bytes(net.server.standing()))
    assert lost(net) == (4,)
    assert [(one.lost, one.since, one.round) for one in again] == [((4,), 4, 5)] * 5
    net.post(again)
    net.run(drop=lambda message: silent(message) or message in asked)
    assert_like(net, plain, 4)


class TestWhoCompares:
    def test_the_next_reserve_takes_the_place_of_the_one_that_is_lost(self):
        attempt = Attempt(comparers=(1, 2, 3, 4, 5))
        assert attempt.trio == (1, 2, 3)
        assert attempt.again(2, 5).trio == (1, 4, 3)
        assert attempt.again(2, 5).again(1, 9).trio == (5, 4, 3)
        assert attempt.again(2, 5).again(4, 9).trio == (1, 5, 3)

    @pytest.mark.parametrize("gone", [(4,), (6,), (2, 2), (1, 2, 3)])
    def test_one_that_does_not_compare_is_not_replaced_nor_any_without_a_reserve(self, gone):
        with pytest.raises(MessageError, match=f"^client {gone[-1]} is lost as a comparer, and "):
            Attempt(comparers=(1, 2, 3, 4, 5), lost=gone)

    def test_attempts_and_questions_have_digests_of_their_own(self):
        attempts = [
            Attempt(comparers=(1, 2, 3, 4, 5), lost=gone, since=since)
            for gone, since in (((), 1), ((1,), 3), ((1,), 4), ((2,), 3), ((1, 2), 3))
        ]
        digests = {attempt.digest(bytes([question]) * 32) for attempt in attempts for question in range(3)}
        assert len(digests) == 15

    @pytest.mark.parametrize("comparers", [(1, 2), (1, 2, 3, 3), tuple(range(1, 18)), (1, 2, 3, 7)])
    def test_a_job_with_others_is_refused(self, comparers):
        with pytest.raises(ParameterError, match=r"^comparers: "):
            Job(n=5, k=2, t=1, ell=1, d=1, bound=1.0, disclosure="labels", comparers=comparers)

    def test_rounds_have_room_for_every_attempt(self):
        job = Job(n=5, k=2, t=1, ell=1, d=1, bound=1.0, disclosure="labels", comparers=(1, 2, 3, 4, 5))
        assert job.last_round == 3 * job.max_rounds + 2


@pytest.fixture
def asked(of):
    """A client's question that was asked again because comparer 4 was lost in round 2; undelivered."""
    net = of(comparers=(4, 2, 5, 1, 6))
    net.run(until=lambda: net.server.gathering.round == 2)
    net.run(drop=lambda message: 4 in (message.sender, message.recipient) and isinstance(message, SAID))
    net.post(net.server.absent(4))

    def of_client(client):
        question = net.hold(Assignment, recipient=client)
        while question.round < 4:
            net.deliver(question)
            question = net.hold(Assignment, recipient=client)
        assert (question.round, question.lost, question.since) == (4, (4,), 4)
        return net, question

    return of_client


CHEATS = {
    "other sets": ({"sets": np.arange(22, dtype=np.int32)[::-1] % 3}, "question 1 is another than"),
    "nobody lost": ({"lost": ()}, "other comparers are lost than before, or since another round"),
    "an overlapping round": ({"since": 3}, "lost since round 3, after 2"),
    "a later round": ({"since": 5}, "round 4, the first of this attempt is 5"),
    "far rounds": ({"round": 2**31, "since": 2**31}, "round 2147483648, the first"),
    "one who does not compare": ({"lost": (3,)}, "client 3 is lost as a comparer, and does not compare"),
    "a reserve that has no place": ({"lost": (1,)}, "client 1 is lost as a comparer, and does not compare"),
    "more than reserves": ({"lost": (4, 2, 5)}, "client 5 is lost as a comparer, and no reserve is left"),
    "others signed it": ({"round": 5, "sets": np.arange(22, dtype=np.int32) % 3}, "endorsements|question 2"),
}


@pytest.mark.parametrize("client", [1, 2, 3, 6])
def test_a_server_cannot_ask_something_else_again_nor_of_whom_it_likes(asked, refuses, client):
    net, question = asked(client)
    for changes, text in CHEATS.values():
        wrong = net.decode(net.encode(replace(question, **changes)))
        refuses(net.clients[client], wrong, MessageError, f"{text}|Assignment: round")


@pytest.mark.some(2)
@pytest.mark.parametrize("client", [1, 2, 3, 6])
def test_places_only_move_forward(asked, refuses, client):
    """Comparer 4 dealt and was lost. It does not return, and nobody else is lost in its place."""
    net, question = asked(client)
    net.deliver(question)
    for gone in ((), (2,), (5,), (2, 4), (1,)):
        wrong = replace(question, round=7, lost=gone, since=6 if gone else 1)
        text = "compare again|other comparers are lost|does not compare|Assignment: round 7 after"
        refuses(net.clients[client], net.decode(net.encode(wrong)), MessageError, text)


def test_a_result_says_who_signed_it(of):
    net = of()
    finish = net.hold(Finish, recipient=3)
    wrong = replace(finish, lost=(2,), since=finish.round + 40)
    with pytest.raises(SealError, match="what follows from the labels"):
        net.deliver(wrong)


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("sender", "kind"), [(4, Compared), (6, Compared), (6, MaskedDistances)], ids=["lost", "reserve", "y"]
)
def test_one_without_a_place_is_not_heard(asked, sender, kind):
    net, question = asked(5)
    net.deliver(question)
    net.run(until=lambda: net.server.gathering.round == 5)
    place = {"part": 0} | ({"index": 0} if kind is Compared else {})
    sealed = net.seal(sender, 5, 0, bytes(40), kind.purpose, 5)
    net.deliver(kind(run=net.session.run, sender=sender, recipient=5, round=5, sealed=sealed, **place))
    net.run()
    assert_exact(net)


@pytest.mark.parametrize(("gone", "kinds"), [(2, {SpareMasks, Compared}), (5, {MaskedAnswer})])
def test_nothing_of_an_earlier_attempt_is_taken_in_a_later_one(of, refuses, gone, kinds):
    """Neither unchanged nor as a message of a round of the new attempt."""
    net, earlier = of(), {}

    def keep(message):
        if isinstance(message, SAID[:4]):
            earlier.setdefault((type(message), message.sender, message.recipient), message)
        return False

    net.run(drop=keep, until=lambda: net.server.gathering.round == 3)
    net.post(net.server.absent(gone))
    net.run(until=lambda: net.server.gathering.round == 7)
    assert lost(net) == (gone,)
    still = [one for one in earlier.values() if gone not in (one.sender, one.recipient)]
    assert {type(one) for one in still} == kinds
    for message in still:
        for round_ in (message.round, 4, 5, 7, 8):
            again = replace(message, round=round_)
            refuses(net.clients[message.recipient], again, MessageError, "after message|not sealed by it")
    net.run()
    assert_exact(net)


def test_a_server_that_tells_some_of_another_comparer_opens_noise(of):
    """Keys of a question depend on the comparers, so masks of one question do not fit the other."""
    net = of(comparers=(4, 2, 5, 1))
    net.run(until=lambda: net.server.gathering.round == 2)
    net.run(drop=lambda message: isinstance(message, OpenedLabels) and message.sender == 2)
    split = {3: (5,)}
    net.post(net.server.absent(2))

    def drop(message):
        if isinstance(message, Assignment) and message.recipient in split and message.lost == (2,):
            net.deliver(replace(message, lost=split[message.recipient]))
            return True
        return False

    with pytest.raises((CheatError, MessageError)):
        net.run(drop=drop)
    assert net.server.outcome is None
