"""The default start: one rule for calls, the estimator, commands and job files."""

from itertools import product

import numpy as np
import pytest
from support.organisations import Organisations
from typer.testing import CliRunner

import secfc
from secfc import SecureKMeans
from secfc.agreement.job_file import read_job
from secfc.cli.app import app
from secfc.protocol.job.making import make_job
from secfc.protocol.job.thresholds import COMPARED_STARTS
from secfc.report.learned import who_learned_what

_RNG = np.random.default_rng(2)
PARTIES = [_RNG.normal(size=(m, 2)) + _RNG.integers(3, size=(m, 1)) * 5 for m in (9, 7, 8)]
DECIDED = {
    ("labels", 1, "auto", "auto"): ("k-means++", 1),
    ("labels", 1, "k-means++", "auto"): ("k-means++", 1),
    ("labels", 2, "auto", "auto"): ("k-means++", 1),
    ("labels", 1, "random", "auto"): ("random", 1),
    ("labels", 1, "random", 2): ("random", 2),
    ("labels", 1, "auto", 3): ("k-means++", 3),
    ("coded", 1, "auto", "auto"): ("random", 1),
    ("coded", 1, "separation", "auto"): ("separation", 1),
    ("coded", 1, "auto", 2): ("random", 2),
}


@pytest.fixture
def organisations(tmp_path):
    return Organisations(tmp_path)


@pytest.fixture(params=DECIDED, ids=str)
def case(request):
    return request.param, DECIDED[request.param]


def options(disclosure, smallest, init, n_init):
    limits = secfc.Limits(smallest_set=smallest)
    given = {"disclosure": disclosure, "init": init, "n_init": n_init, "max_iter": 3, "limits": limits}
    return {name: value for name, value in given.items() if value != "auto"}


@pytest.mark.some(2)
@pytest.mark.filterwarnings("ignore:max_iter")
def test_run_and_the_estimator_decide_by_the_rule(case):
    given, decided = case
    job = secfc.run(PARTIES, 2, 1, 1, seed=0, **options(*given)).job
    assert (job.method.init, job.method.n_init) == decided
    fitted = SecureKMeans(2, t=1, ell=1, random_state=0, **options(*given)).fit(PARTIES)
    assert fitted.result_.job == job


def test_a_job_file_decides_by_the_rule(case, organisations):
    (disclosure, smallest, init, n_init), decided = case
    lines = [f'disclosure = "{disclosure}"']
    lines += [] if init == "auto" else [f'init = "{init}"']
    lines += [] if n_init == "auto" else [f"n_init = {n_init}"]
    lines += [f"[limits]\nsmallest_set = {smallest}"]
    organisations.replace(organisations.job, "seed = 7", "\n".join(["seed = 7", *lines]))
    job = read_job(organisations.job).job
    assert (job.method.init, job.method.n_init) == decided


def test_several_k_are_compared_with_more_starts_whoever_asks(organisations):
    consent = secfc.Limits(reveal_inertia=True)
    job = secfc.choose_k(PARTIES, [2, 3], 1, 1, seed=0, reveal=secfc.Reveal(inertia=True), limits=consent).job
    more = "seed = 7\ncompared = [1, 2]\nreveal_inertia = true"
    organisations.replace(organisations.job, "seed = 7", more)
    for one in (job, read_job(organisations.job).job):
        assert (one.method.init, one.method.n_init) == ("k-means++", COMPARED_STARTS)
    told = secfc.choose_k(PARTIES, [2, 3], 1, 1, seed=0, disclosure="coded").job
    assert (told.method.init, told.method.n_init) == ("random", COMPARED_STARTS)


def test_what_is_wrong_is_left_to_the_job():
    for n_init in (0, "many", None, 1.5):
        with pytest.raises(secfc.ParameterError, match=r"^n_init: "):
            secfc.run(PARTIES, 2, 1, 1, n_init=n_init)
    with pytest.raises(secfc.ParameterError, match=r"^init: 'random', "):
        make_job(n=3, k=2, t=1, ell=1, d=2, bound=1.0, init="auto")
    done = CliRunner().invoke(app, ["run", "a.npy", "-k", "2", "--n-init", "many"])
    assert done.exit_code == 2


@pytest.mark.parametrize("value", ["0", '"many"', "1.5", "true"])
def test_a_number_of_starts_that_is_none_is_told_by_line(organisations, value):
    organisations.replace(organisations.job, "seed = 7", f"n_init = {value}")
    with pytest.raises(secfc.ParameterError, match=r"job\.toml:10: (clustering\.)?n_init: "):
        read_job(organisations.job)


@pytest.mark.parametrize(
    ("init", "disclosure"),
    [*product(["auto", "random"], ["labels", "coded"]), ("k-means++", "labels"), ("separation", "coded")],
)
@pytest.mark.filterwarnings("error::secfc.PrivacyWarning")
def test_no_start_has_public_draws_of_single_rows(init, disclosure):
    job = secfc.run(PARTIES, 2, 1, 1, seed=0, init=init, disclosure=disclosure).job
    assert "draws" not in who_learned_what(job, 1)[0].what
