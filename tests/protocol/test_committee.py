"""Owners of rows and a committee: results are exact, and an owner gets only its own labels."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.stats import kstest, uniform

import secfc
from plaintext_baselines import ExactLloyd
from secfc.drivers import in_process
from secfc.drivers.deposits import committee
from secfc.drivers.deposits.committee import Committee
from secfc.drivers.in_process import Roles, roles_of, run_in_process
from secfc.drivers.setup import Setup
from secfc.errors import (
    MessageError,
    ParameterError,
    RangeError,
    SecFCError,
    ThresholdError,
    TooManyFaultsError,
)
from secfc.kernels.threads import Threads
from secfc.protocol.client import Client
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import changed_job, make_job
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.messages import Hello
from secfc.sharing.deposits import Owner, sealed_labels_of

pytestmark = pytest.mark.filterwarnings("ignore")

_RNG = np.random.default_rng(19)
PARTIES = [
    _RNG.normal(size=(m, 3)).round(2) + 5 * _RNG.integers(3, size=(m, 1)) for m in (5, 4, 0, 7, 1, 3, 6, 2)
]
N = len(PARTIES)
SEPARATE = range(N, N + 5)
ENDS = np.cumsum([len(rows) for rows in PARTIES])[:-1]


class TestRefusals:
    @pytest.mark.parametrize(
        ("name", "more"),
        [
            ("limits of single parties", {"limits": [Limits()] * N}),
        ],
    )
    def test_options_of_a_call_that_do_not_work_are_refused_too(self, monkeypatch, name, more):
        monkeypatch.setattr(Committee, "of", None)
        with pytest.raises(ParameterError, match=f"^committee: not with {name} .*docs/decisions/051"):
            secfc.run(PARTIES, 3, 1, 1, committee=5, **more)

    @pytest.mark.parametrize(
        "chosen", [0, -1, True, 1.5, "all", [], [0, 0], [0, -1], [True, 2], [0, 1.0], N + 1, [0, N + 5000]]
    )
    def test_a_committee_is_a_number_of_parties_or_their_positions(self, chosen):
        with pytest.raises(ParameterError, match=r"^committee: "):
            secfc.run(PARTIES, 3, 1, 1, committee=chosen)

    def test_thresholds_are_about_members(self):
        with pytest.raises(ThresholdError, match=r"secfc.run\(parties, k=3, t=1, ell=1\)"):
            secfc.run(PARTIES, 3, 2, 1, committee=3)
        with pytest.raises(ParameterError, match="0 to 4, are needed, or from 5 on for helpers"):
            secfc.run(PARTIES, 3, 1, 1, committee=5, comparers=[0, 1, 40])

    @pytest.mark.parametrize(
        ("more", "text"),
        [
            ({"owners": (1, 2)}, "owners, deposits: both are needed"),
            ({"deposits": ""}, "owners, deposits: both are needed"),
            ({"owners": (1, -2), "deposits": ""}, "numbers of rows are needed, -2"),
            ({"owners": (1, True), "deposits": ""}, "numbers of rows are needed, True"),
        ],
    )
    def test_a_job_with_owners_is_checked(self, more, text):
        with pytest.raises(ParameterError, match=text):
            make_job(n=5, k=3, t=1, ell=1, d=3, bound=20.0, **more)


def test_owners_are_in_the_digest_of_a_job():
    job = make_job(n=5, k=3, t=1, ell=1, d=3, bound=20.0, seed=0)
    owned = changed_job(job, owners=(3, 4), deposits="00")
    assert len({job.digest, owned.digest, changed_job(owned, owners=(4, 3)).digest}) == 3
    assert changed_job(owned, deposits="01").digest != owned.digest


@pytest.fixture
def setup():
    """Owners who have dealt to five members, and the setup of the run."""
    job = make_job(n=5, k=3, t=1, ell=1, d=3, bound=40.0, seed=0)
    return setup_of(Committee.of(job, PARTIES, keeps=False))


def setup_of(made):
    names = [f"member {j}" for j in range(1, 6)]
    return Setup(job=made.job, rows=PARTIES, starts=None, names=names, limits=Limits(), committee=made)


def test_an_owner_is_sent_the_labels_of_its_rows_and_nothing_else(setup, monkeypatch):
    """An owner gets a share from each member, sealed to it, as long as its own labels need."""
    came = {}
    honest = Owner.open

    def open_(self, sealed):
        came[self._number] = sealed
        return honest(self, sealed)

    monkeypatch.setattr(Owner, "open", open_)
    outcome = run_in_process(setup)
    assert came.keys() == {j for j, rows in enumerate(PARTIES, 1) if len(rows)}
    for number, sealed in came.items():
        assert list(sealed) == [1, 2, 3, 4, 5]  # one from each member
        assert {len(copy) for copy in sealed.values()} == {9 * len(PARTIES[number - 1]) + 32}
        owner, others = setup.committee.owners[number], [copy for j, copy in came.items() if j != number]
        assert honest(owner, sealed).tolist() == outcome.labels[number - 1].tolist()
        for copy in others:
            with pytest.raises(TooManyFaultsError, match="0 shares of labels"):
                honest(owner, copy)


def test_no_member_learns_a_label(setup):
    """Its shares of labels are uniform residues, and it has no labels."""
    clients, shares = [], []

    def make(**given):
        clients.append(Client(**given))
        return clients[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(in_process, "Client", make)
        patch.setattr(in_process, "roles_of", partial(roles_of, make=make))
        outcome = run_in_process(setup)
    assert np.concatenate(outcome.labels).min() >= 0
    p = setup.committee.call.primes[0]
    for client in clients:
        assert client.labels.size == 0
        shares.append(client.label_shares % p)
        assert shares[-1].shape == (3, sum(map(len, PARTIES)))
        assert (shares[-1] > 2).mean() > 0.9  # a bit would be 0 or 1
        assert kstest(shares[-1].ravel(), uniform(0, p).cdf).pvalue > 1e-6
    assert len({share.tobytes() for share in shares}) == 5


def test_one_member_that_seals_wrong_shares_does_not_end_the_run_of_owners(setup, monkeypatch):
    honest = committee.Intake.seal_labels

    def seal(self, shares):
        return honest(self, (shares + (self._number == 1)) % self._call.primes[0])

    monkeypatch.setattr(committee.Intake, "seal_labels", seal)
    outcome = run_in_process(setup)
    exact = ExactLloyd(3, init="random", random_state=0, bound=40.0).fit(PARTIES)
    assert [one.tolist() for one in outcome.labels] == [one.tolist() for one in exact.labels_]


def test_members_with_processes_of_their_own_check_deposits_there_and_only_there(monkeypatch):
    job = make_job(n=5, k=3, t=1, ell=1, d=3, bound=40.0, seed=0)
    monkeypatch.setattr(committee.Intake, "take", None)
    made = Committee.of(job, PARTIES, keeps=True)
    monkeypatch.undo()
    assert made.intakes == []
    assert made.complete.owners == tuple(map(len, PARTIES))
    for j, deposits in enumerate(made.deposits, 1):
        member = in_process.Identity(made.keys[j])
        intake = committee.Intake(made.call, number=j, identity=member, kernels=committee.choose(0))
        for deposit in deposits:
            intake.take(deposit)
        intake.keep(made.job.rows)  # else it raises


@pytest.mark.parametrize("keeps", [False, True])
def test_owners_in_threads_deal_in_the_order_of_their_numbers(monkeypatch, keeps):
    monkeypatch.setattr(committee, "_TOGETHER", 3)
    job = make_job(n=5, k=3, t=1, ell=1, d=3, bound=40.0, seed=0)
    made = Committee.of(job, PARTIES, keeps=keeps, threads=Threads(3))
    assert list(made.owners) == [j for j, rows in enumerate(PARTIES, 1) if len(rows)]
    assert made.complete.owners == tuple(map(len, PARTIES))
    if not keeps:
        outcome = run_in_process(setup_of(made))
        exact = ExactLloyd(3, init="random", random_state=0, bound=40.0).fit(PARTIES)
        assert [one.tolist() for one in outcome.labels] == [one.tolist() for one in exact.labels_]


def test_members_use_deposits_in_one_run(setup):
    run_in_process(setup)
    with pytest.raises(SecFCError, match="member 1: its deposits are in a run already"):
        run_in_process(setup)


def test_no_message_is_for_an_owner(setup):
    seen = []
    run_in_process(setup, on_delivery=lambda header, _: seen.append(header))
    assert {header.recipient for header in seen} == set(range(6))


def test_rows_beyond_the_bound_end_the_run_with_the_owners_number(monkeypatch):
    """An owner shares integers too large for the bound: its shares are consistent, its norm is not."""
    job = make_job(n=5, k=3, t=1, ell=1, d=3, bound=40.0, seed=0)
    far = [rows.copy() for rows in PARTIES]
    far[3][2] = 60.0
    monkeypatch.setattr("secfc.sharing.deposits.check_rows", lambda *_, **__: None)
    with pytest.raises(
        RangeError, match=r"^rows of owners 4 are beyond the public bound, or one that compares lied"
    ):
        run_in_process(replace(setup_of(Committee.of(job, far, keeps=False)), rows=far))


def test_more_owners_than_groups_are_told_apart_by_their_norms(monkeypatch):
    job = make_job(n=3, k=2, t=1, ell=1, d=1, bound=4.0, seed=0)
    rows = [np.array([[float(j % 3)]]) for j in range(70)]
    rows[41] = np.array([[5.0]])
    monkeypatch.setattr("secfc.sharing.deposits.check_rows", lambda *_, **__: None)
    names = ["a", "b", "c"]
    made = Committee.of(job, rows, keeps=False)
    setup = Setup(job=made.job, rows=rows, starts=None, names=names, limits=Limits(), committee=made)
    with pytest.raises(RangeError, match=r"^rows of owners 42 are beyond the public bound"):
        run_in_process(setup)


def test_a_million_owners_of_a_row_fit_in_messages():
    many = (1,) * 10**6
    job = make_job(n=11, k=8, t=4, ell=2, d=20, bound=20.0, owners=many, deposits="")
    Layout(many, deposited=True).check(job)


class TestMessages:
    def started(self, setup):
        roles = roles_of(setup)
        hellos = [message for client in roles.clients for message in client.start()]
        return roles, hellos

    def test_a_member_that_says_that_it_has_rows_is_refused(self, setup):
        job, made = setup.job, setup.committee
        roles, _ = self.started(setup)
        other = Client(
            number=1,
            rows=PARTIES[0],
            job=changed_job(job, owners=None, deposits=None),
            session=roles.session,
            identity=in_process.Identity(made.keys[1]),
            masks=in_process.MaskSource(),
        )
        (hello,) = other.start()
        assert isinstance(hello, Hello)
        with pytest.raises(MessageError, match="Hello: client 1 has rows, where owners deposit them"):
            roles.server.receive(hello)

    def test_a_client_has_rows_or_deposits(self, setup):
        job, made = setup.job, setup.committee
        roles, _ = self.started(setup)
        party = {
            "number": 1,
            "session": roles.session,
            "identity": in_process.Identity(made.keys[1]),
            "masks": in_process.MaskSource(),
        }
        for rows, its, deposits in (
            (PARTIES[0], job, made.intakes[0]),
            (PARTIES[0], job, None),
            (PARTIES[0], changed_job(job, owners=None, deposits=None), made.intakes[0]),
        ):
            with pytest.raises(ParameterError, match="client 1: rows, or deposits of a job with owners"):
                Client(rows=rows, job=its, deposits=deposits, **party)

    def test_labels_of_each_owner_follow_each_other(self, setup):
        assert isinstance(roles_of(setup), Roles)
        sizes = [len(rows) for rows in PARTIES]
        sealed = bytes(sum(9 * rows + 32 for rows in sizes if rows))
        found = sealed_labels_of(sizes, sealed, 3)
        assert {j: len(one) for j, one in found.items()} == {
            j: 9 * rows + 32 for j, rows in enumerate(sizes, 1) if rows
        }
