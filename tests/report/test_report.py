"""The report as readers get it: complete, self-contained, and rendered by a real browser."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from support.browser import drawn

import secfc
from secfc.protocol.job.making import make_job
from secfc.report.charts import descent
from secfc.report.learned import who_learned_what
from secfc.report.notes import notes
from secfc.report.pooled import compare_with_pooled
from secfc.tables.number_texts import number_text

_RNG = np.random.default_rng(4)
PARTIES = [_RNG.normal(size=(m, 2)) + _RNG.integers(3, size=(m, 1)) * 7 for m in (40, 25, 31)]
NAMES = ["north.csv", "<south> & co", "west"]


@pytest.fixture(scope="module")
def result():
    return secfc.run(PARTIES, 3, 1, 1, n_init=5, seed=0, disclosure="coded")


@pytest.fixture
def page(result, tmp_path):
    return result.report(tmp_path / "report.html", names=NAMES, pooled=PARTIES).read_text(encoding="utf-8")


class Reader(HTMLParser):
    """Collects tags, identifiers, addresses and text; reports tags that are not closed."""

    VOID = frozenset({"meta", "link", "br"})

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.ids, self.addresses, self.words = [], [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.ids += [value for name, value in attrs if name == "id"]
        self.addresses += [value for name, value in attrs if name in {"src", "href", "action", "data"}]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def test_every_element_is_closed(page):
    assert Reader(page).open == []


def test_sections_are_those_the_sign_off_needs(page):
    wanted = ["clusters", "convergence", "distances", "pooled", "ran", "learned", "costs"]
    assert Reader(page).ids == wanted


def test_nothing_is_loaded_from_anywhere(page):
    reader = Reader(page)
    assert reader.addresses == ["data:,"]
    assert "script" not in reader.tags
    assert "url(" not in page
    assert "default-src 'none'" in page


def test_names_are_text_and_never_markup(page):
    assert "&lt;south&gt; &amp; co" in page
    assert "<south>" not in page


def test_sizes_inertia_and_run_are_there(page, result):
    text = Reader(page).text
    assert all(str(size) in text for size in result.sizes)
    assert number_text(result.inertia, 6) in text
    assert result.run_id in text
    assert re.fullmatch("[0-9a-f]{32}", result.run_id)


def sizes_of_parties(page):
    """Rows by cluster for each party, [] if the page has none."""
    rows = page.split('id="clusters"')[1].split("</table>")[0].split("<tr>")[2:]
    return [list(map(int, re.findall(r'<td class="n part"[^>]*>(\d+)</td>', row))) for row in rows]


@pytest.mark.parametrize("party", [None, 1])
def test_sizes_of_parties_are_there_as_everybody_is_told_them(result, tmp_path, party):
    page = result.report(tmp_path / "a.html", names=NAMES, party=party).read_text(encoding="utf-8")
    assert sizes_of_parties(page) == [np.bincount(one, minlength=3).tolist() for one in result.labels]


@pytest.mark.parametrize("party", [None, 1])
def test_with_membership_privacy_sizes_of_a_party_are_in_its_own_copy_alone(tmp_path, party):
    ids = [[f"{j}-{i}" for i in range(len(rows))] for j, rows in enumerate(PARTIES)]
    result = secfc.run(PARTIES, 2, 1, 1, seed=0, ids=ids)
    page = result.report(tmp_path / "a.html", names=NAMES, party=party).read_text(encoding="utf-8")
    own = np.bincount(result.labels[1], minlength=2).tolist()
    assert sizes_of_parties(page) == [own if j == party else [] for j in range(3)]
    rows = re.findall(r'<td class="n">(\w+)</td>', page.split('id="clusters"')[1].split("</table>")[0])
    assert rows == ["96", *("25" if j == party else "hidden" for j in range(3))]


def test_a_partys_copy_leaves_the_distances_out(result, tmp_path):
    copy = result.report(tmp_path / "b.html", party=1).read_text(encoding="utf-8")
    assert "distances" not in Reader(copy).ids


def test_no_value_of_a_row_is_on_the_page(page):
    text = Reader(page).text
    for value in np.concatenate(PARTIES).ravel():
        assert number_text(value, 6) not in text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"party": 3}, "party: a number from 0 to 2"),
        ({"names": ["a"]}, "names: 1 names of 3 parties"),
        ({"pooled": PARTIES[:2]}, r"rows \[40, 25\] of 2 columns are not those of the run"),
    ],
)
def test_arguments_that_cannot_be_used_leave_no_file(result, tmp_path, arguments, text):
    with pytest.raises(secfc.SecFCError, match=text):
        result.report(tmp_path / "report.html", **arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_named(result, tmp_path):
    with pytest.raises(secfc.ParameterError, match=r"none/report\.html cannot be written"):
        result.report(tmp_path / "none" / "report.html")


def test_a_run_that_ends_before_its_sets_repeat_says_so(tmp_path):
    rows = [np.array([[1.0]]), np.array([[2.0]]), np.array([[9.0]])]
    with pytest.warns(secfc.ConvergenceWarning):
        result = secfc.run(rows, 2, 1, 1, max_iter=1, init=[[0], [1], [0]])
    assert "not converged" in result.report(tmp_path / "a.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("t", [1, 3])
def test_who_learned_what_names_everybody(t):
    job = make_job(n=9, k=2, t=t, ell=2, d=8, bound=1.0, disclosure="coded")
    lines = {line.who: line.what for line in who_learned_what(job, rounds=7)}
    assert ("any one client" if t == 1 else "any 3 clients together") in lines
    assert f"{t + 1} clients together" in lines
    assert f"{t + 2} or more clients together" in lines
    assert "in 7 rounds" in lines["the server"]
    assert "; the inertia" in lines["everybody"]
    assert "drawn as candidates" not in lines["everybody"]


def test_what_is_opened_before_a_run_is_told():
    job = make_job(n=3, k=2, t=1, ell=1, d=2, bound=1.0)
    lines = {line.who: line.what for line in who_learned_what(job, rounds=7, opened=("age", "dose"))}
    assert lines["every client, because all consented"].startswith(
        "of age, dose: how many parties hold values"
    )
    assert "every client, because all consented" not in {line.who for line in who_learned_what(job, rounds=7)}


def test_with_membership_privacy_nobody_learns_how_many_rows_a_client_holds():
    job = make_job(n=3, k=2, t=1, ell=1, d=8, bound=1.0, ids_cap=9)
    line = who_learned_what(job, rounds=7)[0]
    assert "not who holds which ID" in line.what
    assert "how many rows" not in line.what


def test_the_curve_has_a_step_down_for_each_tenth_and_the_last_values_on_the_axis():
    chart = descent([110.0, 20.0, 11.0, 10.1, 10.0, 10.0])
    heights = [point.y for point in chart.points]
    assert np.diff(heights) == pytest.approx(
        [(chart.bottom - chart.top) / 4] * 3 + [heights[4] - heights[3], 0]
    )
    assert (heights[0], heights[-1]) == (chart.top, chart.bottom)
    assert [tick.text for tick in chart.y_ticks] == ["100 %", "10 %", "1 %", "0.1 %", "0"]


@pytest.mark.processes
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.some(1)
def test_a_browser_draws_the_page_without_a_word_of_complaint(result, tmp_path, dark):
    drawn(result.report(tmp_path / "report.html", names=NAMES, pooled=PARTIES), tmp_path, dark=dark)


@pytest.mark.parametrize("hidden", [False, True], ids=["own rows", "union"])
def test_pooled_rows_begin_with_the_rows_that_a_seed_draws_in_secret(hidden):
    ids = [[f"{party}-{row}" for row in range(len(rows))] for party, rows in enumerate(PARTIES)]
    result = secfc.run(PARTIES, 3, 1, 1, seed=3, ids=ids if hidden else None)
    found = compare_with_pooled(result, PARTIES)
    assert np.concatenate(result.start).max() == -1
    assert found.same_start
    assert (found.same, found.n_iter) == (found.rows, result.n_iter)


def test_without_a_seed_pooled_rows_begin_with_the_clusters_of_the_run_and_the_page_says_so(tmp_path):
    result = secfc.run(PARTIES, 3, 1, 1)
    found = compare_with_pooled(result, PARTIES)
    assert (found.same_start, found.same) == (False, found.rows)
    page = result.report(tmp_path / "a.html", pooled=PARTIES).read_text(encoding="utf-8")
    assert "from the run's own clusters, because nobody knows which rows it drew" in Reader(page).text


def test_rows_of_a_party_that_was_left_out_are_not_compared_with_the_pooled_ones(tmp_path):
    parties = [*PARTIES, np.empty((0, 2))]
    result = secfc.run(parties, 3, 1, 1, seed=0)
    outside = np.full(7, -1, dtype=np.int32)
    without = replace(
        result,
        labels=[*result.labels[:3], outside],
        start=[*result.start[:3], outside],
        faults=secfc.Faults(left_out=(4,)),
    )
    page = without.report(tmp_path / "a.html", pooled=[*PARTIES, PARTIES[0][:7]])
    text = Reader(page.read_text(encoding="utf-8")).text
    assert "96 of 96" in text
    assert "left out: it vanished or was refused while rows were shared; its rows are not clustered" in text


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, []),
        ({"by_party": [None, None]}, []),
        ({"by_party": [[19, 5], [1, 25]]}, ["cluster 0 are of a"]),
        ({"by_party": [[19, 29], [1, 1]]}, []),  # a has nearly all rows
        (
            {"sizes": [9, 41], "by_party": [[9, 16], [0, 25]]},  # not whose they are
            ["Fewer than 10 rows: cluster 0 has 9."],
        ),
        ({"stopped_at": 3}, ["Labels still changed when the run stopped after 3 iterations."]),
    ],
)
def test_what_a_reader_must_know_is_noted(changes, told):
    given = {"sizes": [20, 30], "by_party": [[10, 15], [10, 15]], "names": ["a", "b"], "stopped_at": None}
    found = notes(**given | changes)
    assert len(found) == len(told)
    assert all(text in note for text, note in zip(told, found, strict=True))


def test_the_page_names_the_columns_of_the_run(tmp_path):
    pandas = pytest.importorskip("pandas")
    frames = [pandas.DataFrame(rows, columns=["age", "<bmi>"]) for rows in PARTIES]
    page = secfc.run(frames, 2, 1, 1, seed=0).report(tmp_path / "a.html").read_text(encoding="utf-8")
    assert "Columns: age, &lt;bmi&gt;." in page


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (520412.3, 4, "520,400"),
        (520412.3, 6, "520,412"),
        (-1234567.8, 4, "-1,235,000"),
        (999999.7, 6, "1,000,000"),
        (0.00001234, 4, "0.00001234"),
        (-0.000001, 6, "-0.000001"),
        (12.5, 4, "12.5"),
        (12, 4, "12"),
        (0.0, 4, "0"),
        (-0.0, 4, "0"),
        (9994999999, 4, "9,995,000,000"),
        (9999999999, 4, "1×10¹⁰"),
        (1.2346e-7, 4, "1.235×10⁻⁷"),
        (float("inf"), 4, "inf"),
        (float("nan"), 4, "nan"),
    ],
)
def test_numbers_are_written_out_in_groups_of_three(value, digits, text):
    assert number_text(value, digits) == text


@pytest.mark.parametrize("digits", [1, 3, 6])
def test_a_number_has_the_digits_that_it_had(digits):
    for value in np.random.default_rng(1).normal(size=200) * 10.0 ** np.arange(-100, 100):
        text = (
            number_text(value, digits).replace(",", "").translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
        )
        assert float(text.replace("×10", "e")) == float(f"{value:.{digits}g}")
