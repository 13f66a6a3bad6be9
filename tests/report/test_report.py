"""The report as readers get it: complete, self-contained, and rendered by a real browser."""

import platform
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from support.browser import drawn

import secfc
from secfc.prepare import Column, Schema
from secfc.prepare.statistics import Mode
from secfc.protocol.job.making import make_job
from secfc.report.learned import who_learned_what
from secfc.report.notes import notes
from secfc.report.pooled import compare_with_pooled
from secfc.report.prepared import prepared_columns
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

    VOID = frozenset({"meta", "link", "br", "img"})

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
    pytest.importorskip("matplotlib")
    wanted = ["clusters", "convergence", "distances", "pictures", "pooled", "ran", "learned", "costs"]
    assert Reader(page).ids == wanted


def test_nothing_is_loaded_from_anywhere(page):
    reader = Reader(page)
    assert reader.addresses[0] == "data:,"
    assert all(one.startswith("data:image/png;base64,") for one in reader.addresses[1:])
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
    given |= {"titles": ["0", "1"]}
    found = notes(**given | changes)
    assert len(found) == len(told)
    assert all(text in note for text, note in zip(told, found, strict=True))


def test_the_page_names_the_columns_of_the_run(tmp_path):
    pandas = pytest.importorskip("pandas")
    frames = [pandas.DataFrame(rows, columns=["age", "<bmi>"]) for rows in PARTIES]
    page = secfc.run(frames, 2, 1, 1, seed=0).report(tmp_path / "a.html").read_text(encoding="utf-8")
    assert "Columns: age, &lt;bmi&gt;." in page


def test_names_of_clusters_stand_in_every_table_and_note(tmp_path):
    small = [np.vstack([rows, [[99.0, 99.0]]]) if j == 0 else rows for j, rows in enumerate(PARTIES)]
    reveal, limits = secfc.Reveal(centres=[0]), secfc.Limits(reveal_centres=True)
    start = [[0] * 40 + [1], [0] * 25, [0] * 31]
    result = secfc.run(small, 2, 1, 1, init=start, disclosure="coded", reveal=reveal, limits=limits)
    result = result.ordered(0).named(["<usual> rows", "far away"])
    for party in (None, 0):
        page = result.report(tmp_path / "a.html", party=party, pooled=small).read_text(encoding="utf-8")
        text = Reader(page).text
        assert "cluster far away has 1" in text
        assert "&lt;usual&gt; rows" in page
        for section in ("clusters", "profiles" if party == 0 else "distances"):
            tables = page.split(f'id="{section}"')[1].split("<h2")[0]
            assert tables.count("far away") >= tables.count("<table")
        assert "cluster 0" not in text
    headings = page.split('id="clusters"')[1].split("</thead>")[0]
    assert headings.index("usual") < headings.index("far away")


def test_a_copy_does_not_show_an_order_by_what_its_party_may_not_know(tmp_path):
    result = secfc.run(PARTIES, 3, 1, 1, seed=0).ordered("size")
    result.report(tmp_path / "a.html")
    with pytest.raises(
        secfc.ParameterError, match="party: party 2 may not know by what clusters were ordered"
    ):
        result.report(tmp_path / "b.html", party=1)
    result.named(["a", "b", "c"]).report(tmp_path / "b.html")


@pytest.mark.parametrize("order", ["size", 0])
def test_pooled_rows_have_the_same_order(tmp_path, order):
    reveal, limits = secfc.Reveal(centres=[0]), secfc.Limits(reveal_centres=True)
    result = secfc.run(PARTIES, 3, 1, 1, seed=3, reveal=reveal, limits=limits).ordered(order)
    found = compare_with_pooled(result, PARTIES)
    assert found.same_start
    assert found.same == found.rows


def test_the_page_has_a_paragraph_for_a_paper(tmp_path):
    result = secfc.run(PARTIES, 3, 1, 1, n_init=2, seed=0)
    text = Reader(result.report(tmp_path / "a.html").read_text(encoding="utf-8")).text
    for told in (
        "96 rows of 3 parties were clustered into k = 3 clusters without pooling them.",
        "Lloyd’s algorithm ran on rows that were rounded to 32 bits",
        "from the start “k-means++” (the best of 2 starts: ",
        f"It converged after {result.n_iter} iterations.",
        "No row had a missing value",
        "No party was left out.",
        "with t = 1 and ℓ = 1, disclosure “labels”",
        f"Software: secfc {secfc.__version__}, python {platform.python_version()}, numpy {np.__version__}.",
    ):
        assert told in text


def test_who_was_left_out_stands_in_the_paragraph(result, tmp_path):
    without = replace(result, faults=secfc.Faults(left_out=(2,)))
    text = Reader(without.report(tmp_path / "a.html", names=NAMES).read_text(encoding="utf-8")).text
    assert "Exclusions and faults: <south> & co: left out: it vanished" in text


@pytest.fixture(scope="module")
def prepared():
    columns = [
        {"name": "age", "unit": "years", "low": 0, "high": 120, "scale": "standardise", "missing": "mean"},
        {"name": "dose", "low": 1, "high": 50, "log": True, "clip": True},
        {"name": "smokes", "categories": ["yes", "no"], "missing": "zero"},
    ]
    rng = np.random.default_rng(0)
    tables = []
    for j in range(3):
        age = [None if i < j else 20.0 + i for i in range(20)]
        dose = [90.0 if i < 2 * j else 2.0 for i in range(20)]
        tables.append(
            {"age": age, "dose": dose, "smokes": [str(one) for one in rng.choice(["yes", "no"], 20)]}
        )
    model = secfc.Prepare(Schema.of({"column": columns}), t=1, names=["north", "south", "west"])
    return model, model.fit_transform(tables)


@pytest.mark.parametrize("consenting", [(), ("south",), ("south", "west")])
def test_the_page_says_how_columns_were_prepared_and_how_often_at_sites_that_consent(
    prepared, tmp_path, consenting
):
    model, rows = prepared
    mended = {name: model.mended_[name] for name in consenting}
    result = secfc.run(rows, 2, 1, 1, seed=0)
    page = result.report(tmp_path / "a.html", columns=model.preparation_, mended=mended)
    text = Reader(page.read_text(encoding="utf-8")).text
    mean = number_text(model.preparation_.statistics["age"].mean, 4)
    for told in (
        f"0 to 120 years; standardised by mean {mean} and deviation",
        "age (standardised by mean and deviation of all rows; missing values become the mean of all rows)",
        "missing values become the mean of all rows",
        "57 values of 3 parties",
        "1 to 50; values beyond the agreed range are moved to its ends; logarithm; not scaled",
        "one of yes, no; a column of 0 and 1 for each category; a missing category is 0 in all its columns",
    ):
        assert told in text
    counts = {"south": ["1 missing, 0 clipped of 20", "0 missing, 2 clipped of 20"]}
    counts["west"] = ["2 missing, 0 clipped of 20", "0 missing, 4 clipped of 20"]
    for name, told in counts.items():
        assert all((f"{name}: {one}" in text) == (name in consenting) for one in told)
    assert "north: 0 missing" not in text


@pytest.mark.parametrize(
    ("changes", "told", "text"),
    [
        ({"missing": "mode"}, Mode(holders=3, count=9, counts=(2, 7), mode="{b}"), "one of all rows {b}"),
        ({"missing": "mode"}, None, "becomes the most frequent one of all rows"),
        ({"missing": "category"}, None, "missing is a category of its own"),
        ({"drop": "first"}, None, "a column of 0 and 1 for each category but the first"),
    ],
)
def test_what_was_done_with_categories_is_told(changes, told, text):
    schema = Schema(columns=(Column(name="kind", categories=("a", "{b}"), **changes),))
    (line,) = prepared_columns(schema, {} if told is None else {"kind": told}, {})
    assert line.how.startswith("one of a, {b}; a column of 0 and 1")
    assert line.how.endswith(text)
    assert "{b}" not in line.rule


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
