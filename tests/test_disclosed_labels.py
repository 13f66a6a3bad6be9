"""`disclosure="labels"` as people use it: the same labels with every driver, and no distances anywhere."""

import json
import re

import numpy as np
import pytest
from test_cli import ARGUMENTS, COLUMNS, files, read_labels, rows, secfc_command

import secfc
from secfc.errors import ParameterError
from secfc.protocol.job.making import make_job
from secfc.protocol.server import Server
from secfc.tables.number_texts import number_text

__all__ = ["files", "rows"]  # fixtures

_RNG = np.random.default_rng(11)
ROWS = [(_RNG.normal(size=(m, 3)) + _RNG.integers(4, size=(m, 1)) * 4).round(4) for m in (30, 0, 25, 40, 11)]


def run(**options):
    start = {"init": "random", "n_init": 1}  # for any disclosure
    return secfc.run(ROWS, **{"k": 4, "t": 1, "ell": 1, "seed": 2, "disclosure": "labels"} | start | options)


def test_no_distance_is_in_the_result():
    result = run()
    assert result.inertia is None
    assert result.near_ties is None
    assert result.history.tolist() == []
    assert result.cluster_spreads.tolist() == result.cluster_silhouettes.tolist() == []
    assert "inertia=None" in repr(result)


CONSENT = {"reveal": secfc.Reveal(inertia=True), "limits": secfc.Limits(reveal_inertia=True)}


def test_spreads_imply_the_inertia():
    limits = secfc.Limits(reveal_centres=True, reveal_spread=10)
    result = run(k=2, reveal=secfc.Reveal(centres=[0], spread=True), limits=limits)
    told = run(k=2, disclosure="coded")
    within = (result.cluster_std**2 * result.sizes[:, np.newaxis]).sum()
    assert told.inertia == pytest.approx(within)


def test_without_the_consent_of_one_nothing_is_sent(monkeypatch):
    made = []
    monkeypatch.setattr(Server, "__init__", lambda *given, **named: made.append(1))
    limits = [secfc.Limits(reveal_inertia=j != 3) for j in range(5)]
    with pytest.raises(
        secfc.LimitError, match=r"^reveal_inertia: parties\[3\] did not consent; .*nothing was"
    ):
        run(reveal=secfc.Reveal(inertia=True), limits=limits)
    assert made == []


def test_a_client_that_does_not_consent_refuses_by_itself():
    job = make_job(n=3, k=1, t=1, ell=1, d=2, bound=1.0, disclosure="labels", reveal_inertia=True)
    with pytest.raises(secfc.LimitError, match=r"^client 2 does not consent to revealing the inertia"):
        secfc.Limits().check_consent(job, name="client 2")
    secfc.Limits(reveal_inertia=True).check_consent(job, name="client 2")


def test_whether_the_inertia_is_opened_is_a_bool():
    with pytest.raises(ParameterError, match=r"^reveal_inertia: a bool is needed, int was given"):
        run(**CONSENT | {"reveal": secfc.Reveal(inertia=1)})


def test_a_model_has_an_inertia_only_where_it_was_opened():
    given = {"t": 1, "ell": 1, "random_state": 2, "disclosure": "labels"}
    model = secfc.SecureKMeans(4, **given)
    with pytest.raises(AttributeError, match="no inertia_ before fit"):
        _ = model.inertia_
    model.fit(ROWS)
    assert not hasattr(model, "inertia_")
    for ask in (lambda: model.inertia_, lambda: model.score(ROWS)):
        with pytest.raises(AttributeError, match=r"^inertia_: .* reveal=secfc.Reveal\(inertia=True\)"):
            ask()
    opened = secfc.SecureKMeans(4, **given, **CONSENT).fit(ROWS)
    assert opened.inertia_ == -opened.score(ROWS) == opened.result_.inertia


def test_the_page_has_no_inertia_and_no_distances(tmp_path):
    names = [f"party {j}" for j in range(5)]
    pages = [
        one.report(tmp_path / f"{at}.html", names=names).read_text(encoding="utf-8")
        for at, one in enumerate((run(), run(disclosure="coded")))
    ]
    for text, there in zip(pages, (False, True), strict=True):
        assert ('id="distances"' in text) == there
        assert ('id="convergence"' in text) == there
        assert ("</b> inertia" in text) == there
        assert ("too close for floating point" in text) == there
    assert "None" not in pages[0]
    assert "nan" not in re.sub(r"<[^>]*>", " ", pages[0]).split()


@pytest.mark.parametrize("max_liars", [0, 1])
def test_who_learned_what_is_said_of_the_comparers(tmp_path, max_liars):
    names = [f"party {j}" for j in range(5)]
    result = run(comparers=(4, 0, 2), max_liars=max_liars)
    text = result.report(tmp_path / "r.html", names=names).read_text(encoding="utf-8")
    assert "party 4 with party 0" in text
    told = run(disclosure="coded").report(tmp_path / "d.html").read_text(encoding="utf-8")
    assert "one of those that compare" not in told


@pytest.mark.parametrize("t", [1, 2])
@pytest.mark.filterwarnings("ignore::secfc.PrivacyWarning")
def test_the_promise_of_a_page_is_no_larger_than_what_holds(tmp_path, t):
    names = [f"party {j}" for j in range(5)]
    text = run(t=t, comparers=(4, 0, 2)).report(tmp_path / "r.html", names=names).read_text(encoding="utf-8")
    promised = re.findall(r"<td>(any [^<]*)</td><td>nothing else about the rows of the other clients", text)
    assert promised == [
        "any one client" if t == 1 else "any 2 clients together, except two of those that compare"
    ]
    assert "collude" not in text


WRONG = {
    "one twice": ({"comparers": (0, 1, 1)}, "comparers: three different parties are needed"),
    "two": ({"comparers": (0, 1)}, "comparers: three different parties"),
    "seventeen": ({"comparers": range(17)}, "comparers: positions of parties"),
    "four": ({"comparers": (*range(4),)}, "comparers: three different parties are needed"),
    "beyond": ({"comparers": (0, 1, 24)}, "comparers: positions of parties, 0 to 4, are needed"),
    "a gap": ({"comparers": (0, 1, 6)}, "comparers: clients have the numbers 1 to 5, helpers 6, 7 and so on"),
    "negative": ({"comparers": (0, 1, -1)}, "comparers: positions of parties"),
    "names": ({"comparers": ("a", "b", "c")}, "comparers: positions of parties"),
    "coded": ({"comparers": (0, 1, 2), "disclosure": "coded"}, "comparers: not with disclosure 'coded'"),
}


@pytest.mark.parametrize(("options", "text"), WRONG.values(), ids=WRONG)
def test_what_labels_do_not_go_with_is_refused_before_anything_is_sent(monkeypatch, options, text):
    made = []
    monkeypatch.setattr(Server, "__init__", lambda *given, **named: made.append(1))
    with pytest.raises(ParameterError, match=f"^{text}"):
        run(**options)
    assert made == []


class TestSeveralK:
    def choose(self, ks=(2, 4), **more):
        given = {"seed": 3, "n_init": 2, "disclosure": "labels"} | CONSENT
        return secfc.choose_k(ROWS, ks, 1, 1, **given | more)

    def test_their_table_has_no_other_measures(self):
        choice = self.choose()
        assert not any(name in str(choice) for name in ("silhouette", "Davies"))
        marked = [line.split()[0] for line in str(choice).splitlines() if "*" in line]
        assert marked == [str(choice.best)]
        assert {one["silhouette"] for one in choice.to_dict()["candidates"]} == {None}

    def test_need_consent(self):
        with pytest.raises(
            ParameterError, match=r"^reveal_inertia: True is needed to compare several k with"
        ):
            self.choose(reveal=secfc.Reveal(inertia=False))
        with pytest.raises(secfc.LimitError, match=r"^reveal_inertia: .* did not consent"):
            self.choose(limits=None)


def test_two_comparers_are_fewer_than_t_so_it_warns():
    with pytest.warns(secfc.PrivacyWarning, match="any two of clients 1, 2 together learn .* though t=2"):
        run(t=2, comparers=(0, 5, 1))


@pytest.mark.parametrize(("t", "comparers"), [(1, (1, 2, 3)), (2, (1, 6, 7))])
def test_by_default_the_promise_of_t_holds_and_nothing_is_warned_of(recwarn, t, comparers):
    assert run(t=t).job.comparers == comparers
    assert [one for one in recwarn if one.category is secfc.PrivacyWarning] == []


@pytest.mark.processes
class TestTheCommand:
    def test_it_prints_and_writes_no_inertia(self, files):
        for disclosure in ("labels", "coded"):
            options = ("--disclosure", disclosure, "--report", f"{disclosure}.html", "--out", disclosure)
            options += ("--init", "random", "--n-init", 1)
            done = secfc_command("run", *ARGUMENTS, *COLUMNS, *options, cwd=files)
            assert done.returncode == 0, done.stderr
            there = disclosure == "coded"
            assert ("inertia not opened" in done.stdout) == (not there)
            assert "None" not in done.stdout
            page = (files / f"{disclosure}.html").read_text(encoding="utf-8")
            assert ("</b> inertia" in page) == there
        for name in "abc":
            one, other = (read_labels(files / mode / f"{name}.labels.csv") for mode in ("labels", "coded"))
            assert one == other

    def test_its_summary_has_null(self, files):
        done = secfc_command(
            "run", *ARGUMENTS, *COLUMNS, "--disclosure", "labels", "--out", "result", "--json", cwd=files
        )
        assert done.returncode == 0, done.stderr
        summary = json.loads(done.stdout)["result"]
        assert summary == json.loads((files / "result" / "summary.json").read_text())
        assert "NaN" not in done.stdout
        assert (summary["result"]["inertia"], summary["result"]["near_ties"]) == (None, None)

    def test_by_consent_it_has_the_inertia(self, files):
        arguments = ("run", *ARGUMENTS, *COLUMNS, "--disclosure", "labels", "--reveal-inertia")
        refused = secfc_command(*arguments, "--consent", "a,b", "--out", "result", cwd=files)
        assert refused.returncode == 3, refused.stderr
        assert "c.csv did not consent; every party must, by limits=secfc.Limits(reveal_inertia" in " ".join(
            refused.stderr.split()
        )
        report = ("--report", "r.html", "--out", "result")
        done = secfc_command(*arguments, "--consent", "all", *report, cwd=files)
        assert done.returncode == 0, done.stderr
        inertia = json.loads((files / "result" / "summary.json").read_text())["result"]["inertia"]
        assert inertia > 0
        assert f"inertia {number_text(inertia, 6)}" in done.stdout
        assert f"<b>{number_text(inertia, 6)}</b> inertia" in (files / "r.html").read_text(encoding="utf-8")
