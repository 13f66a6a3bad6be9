"""Centres by consent through `secfc.run` and `SecureKMeans`."""

from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest

import secfc
from secfc import Limits, Reveal, SecureKMeans
from secfc.drivers import in_process
from secfc.errors import CheatError
from secfc.protocol.client import Client
from secfc.protocol.parties.party import Party
from secfc.report.learned import who_learned_what
from secfc.tables.number_texts import number_text

_RNG = np.random.default_rng(8)
FIVE = [_RNG.normal(size=(m, 3)) + _RNG.integers(3, size=(m, 1)) * 6 for m in (9, 6, 0, 7, 8)]
WILLING = Limits(reveal_centres=True)
ROUNDING = 1e-8
"""Rows are rounded to 32 bits of their bound."""


def reveal(parties=FIVE, k=3, **more):
    """A run; `more` are options, or fields of `secfc.Reveal`."""
    opened = {"centres": [1]} | {one.name: more.pop(one.name) for one in fields(Reveal) if one.name in more}
    fixed = {"init": "random", "seed": 4, "reveal": Reveal(**opened), "limits": WILLING}
    return secfc.run(parties, k, 1, 1, **fixed | more)


def assert_means(result, parties=FIVE):
    rows, labels = np.concatenate(parties), np.concatenate(result.labels)
    expected = [rows[labels == h].mean(axis=0) for h in range(result.job.k)]
    np.testing.assert_allclose(result.cluster_centers, expected, atol=ROUNDING)


@pytest.mark.some(1)
@pytest.mark.processes
@pytest.mark.parametrize("driver", ["in-process", "multiprocess"])
@pytest.mark.parametrize("options", [{}, {"disclosure": "coded", "max_liars": 1}, {"n_init": 3}])
def test_centres_are_the_means_of_the_clusters(driver, options):
    assert_means(reveal(driver=driver, **options))


@pytest.mark.filterwarnings("ignore::secfc.ConvergenceWarning")
def test_a_cluster_without_rows_has_no_centre():
    parties = [np.zeros((3, 2)), np.zeros((2, 2)), np.zeros((2, 2))]
    result = reveal(parties, k=2, init=[[0, 1, 1], [0, 0], [1, 1]])
    assert result.sizes.tolist() == [7, 0]
    np.testing.assert_array_equal(result.cluster_centers, [[0, 0], [np.nan, np.nan]])


@pytest.mark.parametrize(
    ("named", "recipients"), [("all", {1, 2, 3, 4, 5}), ([3], {4}), ((0, 4), {1, 5}), ([], set())]
)
def test_only_those_who_are_named_are_sent_anything(named, recipients, monkeypatch):
    sent, real = set(), Party.send

    def send(me, recipient, tag, data):
        sent.update({recipient} if tag in ("sums", "sizes") else ())
        real(me, recipient, tag, data)

    monkeypatch.setattr(Party, "send", send)
    result = reveal(centres=named)
    assert sent == recipients
    assert (result.cluster_centers is None) == (not recipients)


@pytest.mark.parametrize("named", [5, -1, [True], ["north"], 1.0, "some", [0, None]])
def test_other_recipients_are_refused(named):
    with pytest.raises(
        secfc.ParameterError, match=r"^reveal.centres: 'all' or positions of parties, 0 to 4, are"
    ):
        reveal(centres=named)


def test_who_does_not_consent_is_named_and_nothing_is_sent(monkeypatch):
    begun = []
    monkeypatch.setattr(in_process, "roles_of", begun.append)
    against = [WILLING, Limits(), WILLING, Limits(smallest_set=2), WILLING]
    with pytest.raises(
        secfc.LimitError, match=r"^reveal_centres: parties\[1\], parties\[3\] did not consent"
    ):
        reveal(limits=against)
    with pytest.raises(secfc.LimitError, match=r"did not consent"):
        reveal(limits=None)
    assert not begun


def test_a_client_that_does_not_consent_refuses_by_itself(monkeypatch):
    # As if nobody had asked this party before the start.
    real = Client.__init__

    def begin(client, *, number, **given):
        real(client, number=number, **given | ({"limits": Limits()} if number == 4 else {}))

    monkeypatch.setattr(Client, "__init__", begin)
    with pytest.raises(secfc.LimitError, match=r"^parties\[3\] does not consent to revealing centres"):
        reveal()


def test_each_party_has_limits_of_its_own():
    limits = [Limits(smallest_set=1 + (j == 2) * 40) for j in range(5)]
    with pytest.raises(secfc.LimitError, match="at least 41 rows"):
        secfc.run(FIVE, 3, 1, 1, seed=4, limits=limits)
    with pytest.raises(secfc.ParameterError, match=r"^limits: limits of 2 parties were given, there are 5"):
        secfc.run(FIVE, 3, 1, 1, seed=4, limits=limits[:2])


def test_wrong_shares_end_the_run_instead_of_the_centres(monkeypatch):
    real = Party.send

    def send(me, recipient, tag, data):
        wrong = (me.number, tag) == (3, "sums")
        real(me, recipient, tag, bytes([data[0] ^ 1]) + bytes(data[1:]) if wrong else data)

    monkeypatch.setattr(Party, "send", send)
    with pytest.raises(CheatError, match=r"^sums: shares lie on no polynomial of their degree$"):
        reveal([FIVE[0], FIVE[1], FIVE[3]])


class TestEstimator:
    def model(self, **more):
        return SecureKMeans(3, t=1, ell=1, random_state=4, **more)

    def test_it_has_centres_and_predicts_only_where_they_were_revealed(self):
        model = self.model(reveal=Reveal(centres="all"), limits=WILLING).fit(FIVE)
        np.testing.assert_array_equal(model.cluster_centers_, model.result_.cluster_centers)
        for rows, labels in zip(FIVE, model.labels_, strict=True):
            assert rows.shape[0] == 0 or model.predict(rows).tolist() == labels.tolist()
        model.set_params(reveal=None).fit(FIVE)
        assert not hasattr(model, "cluster_centers_")
        with pytest.raises(AttributeError, match="Reveal"):
            model.predict(FIVE[0])


MANY = [np.concatenate([rows] * 6 + [rows + 0.25] * 6) for rows in FIVE]


class TestSpread:
    WILLING = Limits(reveal_centres=True, reveal_spread=10)

    def open(self, parties=MANY, **more):
        return reveal(parties, **{"spread": True, "limits": self.WILLING} | more)

    def assert_spreads(self, result, parties=MANY):
        rows, labels = np.concatenate(parties), np.concatenate(result.labels)
        expected = [rows[labels == h].std(axis=0) for h in range(result.job.k)]
        np.testing.assert_allclose(result.cluster_std, expected, atol=ROUNDING)

    @pytest.mark.some(1)
    @pytest.mark.processes
    @pytest.mark.parametrize("driver", ["in-process", "multiprocess"])
    @pytest.mark.parametrize("options", [{}, {"disclosure": "coded"}, {"n_init": 2}])
    def test_it_is_the_population_standard_deviation(self, driver, options):
        result = self.open(driver=driver, **options)
        self.assert_spreads(result)
        assert_means(result, MANY)

    def test_the_largest_of_all_limits_holds(self):
        limits = [replace(self.WILLING, reveal_spread=least) for least in (10, 12, 11, 10, 10)]
        assert self.open(limits=limits).job.opened.spread == 12
        limits[3] = replace(self.WILLING, reveal_spread=400)
        with pytest.raises(secfc.LimitError, match=r"only of clusters with 400 rows or more that are not"):
            self.open(limits=limits)

    def test_who_does_not_consent_is_named_and_nothing_is_sent(self, monkeypatch):
        begun = []
        monkeypatch.setattr(in_process, "roles_of", begun.append)
        limits = [self.WILLING, WILLING, self.WILLING, self.WILLING, WILLING]
        with pytest.raises(
            secfc.LimitError, match=r"^reveal_spread: parties\[1\], parties\[4\] did not consent"
        ):
            self.open(limits=limits)
        assert not begun

    @pytest.mark.parametrize(
        ("more", "text"),
        [
            ({"spread": 10}, "a bool is needed, int was given"),
            ({"centres": None}, "only with reveal_centres"),
        ],
    )
    def test_what_it_does_not_go_with_is_refused(self, more, text):
        with pytest.raises(secfc.ParameterError, match=rf"^reveal[._]spread: .*{text}"):
            self.open(**more)

    def test_the_table_has_a_line_for_each_cluster_and_column(self):
        result = self.open()
        frame = pd.DataFrame(result.cluster_report(["a", "b", "c"])).set_index(["cluster", "column"])
        assert frame.shape == (9, 3)
        for h in range(3):
            for at, name in enumerate("abc"):
                line = frame.loc[(h, name)]
                assert line["count"] == result.sizes[h]
                assert line["mean"] == result.cluster_centers[h, at]
                assert line["std"] == result.cluster_std[h, at]

    def test_the_table_has_means_alone_where_spreads_were_not_revealed(self):
        assert {line["std"] for line in reveal().cluster_report()} == {None}
        with pytest.raises(secfc.ParameterError, match=r"^columns: 3 names are needed, 1 were given$"):
            reveal().cluster_report(["a"])
        with pytest.raises(secfc.ParameterError, match=r"^reveal_centres: centres were not revealed"):
            reveal(centres=None).cluster_report()

    def test_the_page_shows_it_to_its_recipients_alone(self, tmp_path):
        result = self.open()
        spread = number_text(result.cluster_std[0, 0], 6)
        pages = {
            party: result.report(tmp_path / "page.html", party=party).read_text() for party in (None, 0, 1)
        }
        assert [spread in page for page in pages.values()] == [False, False, True]
        assert "party 2, because all consented" in pages[1]
        opened = "the exact mean and standard deviation of every column in every final cluster"
        assert all(page.count(opened) == 1 for page in pages.values())


# With noise


NOISE = {"epsilon": 1.0, "delta": 1e-6}


@pytest.mark.some(1)
@pytest.mark.processes
@pytest.mark.parametrize("driver", ["in-process", "multiprocess"])
@pytest.mark.parametrize("options", [{}, {"n_init": 3}])
def test_with_centres_epsilon_centres_have_noise_and_labels_none(driver, options):
    noisy, plain = reveal(driver=driver, **NOISE, **options), reveal(driver=driver, **options)
    assert [one.tolist() for one in noisy.labels] == [one.tolist() for one in plain.labels]
    assert (noisy.cluster_centers != plain.cluster_centers).all()


def test_the_page_of_a_recipient_says_beside_the_means_that_they_have_noise(tmp_path):
    text = "Means have noise (epsilon 1, delta 0.000001), and so has what follows from them."
    for more, expected in (({}, False), (NOISE, True)):
        page = reveal(**more).report(tmp_path / "own.html", party=1).read_text(encoding="utf-8")
        assert "The mean of each column in each cluster." in page
        assert (text in page) is expected


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"delta": None}, "centres_epsilon: only with centres_delta"),
        ({"centres": None}, "centres_epsilon: only with reveal_centres"),
        ({"epsilon": "1"}, "centres_epsilon: a number above 0 is needed, '1' was given"),
        (
            {"parties": [FIVE[0], FIVE[2], FIVE[2]]},
            "centres_epsilon: 1 clients may collude and 0 may vanish, ",
        ),
        ({"committee": 3, "centres": None}, "centres_epsilon: not with committee"),
    ],
)
def test_noise_that_does_not_fit_the_run_is_refused(options, text):
    with pytest.raises(secfc.ParameterError) as caught:
        reveal(**NOISE | options)
    assert str(caught.value).startswith(text)


def test_who_learned_what_says_that_labels_are_not_covered():
    lines = {one.who: one.what for one in who_learned_what(reveal(**NOISE).job, 3)}
    told = lines["client 2, because all consented"]
    assert told.startswith("the mean, with noise, of every column")
    assert told.endswith(
        "differential privacy (epsilon 1, delta 1e-06) for the values of one row, given the labels; it does "
        "not cover the labels, which are exact"
    )
