"""All references of the documentation exist by that name: tests, modules, attacks, sections, figures."""

import ast
import importlib
import json
import re
from pathlib import Path

import pytest

from benchmarks.privacy.measure import ATTACKS
from secfc.limits import Limits
from secfc.params import Job

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(
    [
        *DOCS.rglob("*.md"),
        *(ROOT / "benchmarks").rglob("*.md"),
        *(ROOT / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md")),
    ]
)
PACKAGES = ("secfc", "plaintext_baselines", "benchmarks")
SOURCES = sorted(path for folder in PACKAGES for path in (ROOT / folder).rglob("*.py"))
THREATS = (DOCS / "threat-model.md").read_text()
EQUATIONS = {
    name: re.findall(r"^> \(([UP]?\d+'*)\)", (DOCS / name).read_text(), flags=re.MULTILINE)
    for name in ("protocol.md", "optional.md", "union.md", "faults.md", "proofs.md")
}
"""The numbers of the equations that each page defines."""


def headings(text):
    outside = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"^#+ (.*)$", outside, flags=re.MULTILINE)


def slug(heading):
    """An anchor as Python-Markdown's table of contents makes it, which equals GitHub's for these headings."""
    kept = re.sub(r"[^\w\s-]", "", heading.replace("`", "").strip().lower())
    return re.sub(r"[\s]+", "-", kept)


def sections(text):
    """Headings, and the bold beginnings of paragraphs and list items."""
    bold = re.findall(r"^(?:[-\d. ]*)\*\*(.+?)\.?\*\*", text, flags=re.MULTILINE)
    return {one.replace("*", "").rstrip(".") for one in [*headings(text), *bold]}


def with_any(paths, *patterns):
    """A test parameter for each file that contains one of the patterns, named by the file."""
    return [
        pytest.param(path, id=str(path.relative_to(ROOT)))
        for path in paths
        if any(re.search(pattern, path.read_text()) for pattern in patterns)
    ]


def table_after(heading):
    text = THREATS.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


@pytest.mark.parametrize("page", with_any(PAGES, r"`tests/", r"`test_"))
def test_tests_that_a_page_names_exist(page):
    known = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    for path, within in re.findall(r"`(tests/[\w/.]+\.py)((?:::\w+)*)`", page.read_text()):
        defined = {
            node.name
            for node in ast.walk(ast.parse((ROOT / path).read_text()))
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
        }
        assert defined.issuperset(within.split("::")[1:]), path + within
    for name in re.findall(r"`(test_\w+\.py)`", page.read_text()):
        assert name in known, name


@pytest.mark.parametrize("page", with_any(PAGES, r"`(?:secfc|plaintext_baselines|Limits|Job)\."))
def test_names_of_the_package_that_a_page_uses_exist(page):
    for name in sorted(set(re.findall(rf"`((?:{'|'.join(PACKAGES)})(?:\.\w+)+)", page.read_text()))):
        if name.endswith((".py", ".json")):
            continue
        found, parts = importlib.import_module(name.split(".")[0]), name.split(".")
        for depth, part in enumerate(parts[1:], 2):
            if not hasattr(found, part):
                importlib.import_module(".".join(parts[:depth]))
            found = getattr(found, part)
    for owner, attribute in re.findall(r"`(Limits|Job)\.(\w+)", page.read_text()):
        assert (
            hasattr({"Limits": Limits, "Job": Job}[owner], attribute) or attribute in Job.__dataclass_fields__
        )


@pytest.mark.parametrize("page", with_any(PAGES, r"\]\([^):]*#"))
def test_anchors_of_links_are_headings(page):
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)#([^)\s]+)\)", page.read_text()):
        there = (page.parent / target) if target else page
        assert anchor in {slug(one) for one in headings(there.read_text())}, f"{target}#{anchor}"


@pytest.mark.parametrize("source", with_any(SOURCES, "docs/"))
def test_sections_that_docstrings_name_exist(source):
    text = re.sub(r"\s*\n\s*#? *", " ", source.read_text())
    for page, quoted, plain in re.findall(
        r'(?:docs/)([\w/-]+\.md), (?:"([^"]+)"|([A-Z][\w ]+?)(?=[).;,]))', text
    ):
        assert (quoted or plain) in sections((DOCS / page).read_text()), f"{page}, {quoted or plain}"
    for page in re.findall(r"\bdocs/([\w/-]+\.md)", text):
        assert (DOCS / page).exists(), page
    for number in re.findall(r"docs/decisions/(\d{3})\b", text):
        assert list((DOCS / "decisions").glob(f"{number}-*.md")), number


def test_each_equation_is_defined_once():
    numbers = [number for page in EQUATIONS.values() for number in page]
    assert {str(number) for number in (*range(1, 16), 17, 18)} < set(numbers)
    assert len(numbers) == len(set(numbers))


@pytest.mark.parametrize("path", with_any([*PAGES, *SOURCES], r"\.md[^\n]*,\s*eqs?\.", r"\[eq\. "))
def test_equations_that_are_named_exist_on_the_page_that_is_named(path):
    text = re.sub(r"\s*\n\s*#? *", " ", path.read_text())
    for page, first, last in re.findall(r"\b(\w+\.md)(?:#[\w-]+\))?, eqs?\. (\d+)(?:-(\d+))?", text):
        assert {first, last or first} <= set(EQUATIONS[page]), page
    for first, page in re.findall(r"\[eq\. (\d+)\]\((?:\.\./)*(\w+\.md)#", text):
        assert first in EQUATIONS[page], page


@pytest.mark.parametrize("page", EQUATIONS)
def test_equations_that_a_page_of_the_protocol_refers_to_exist(page):
    named = re.findall(r"\b(?:by|in|of|to|with|is) \(([UP]?\d+'*)\)", (DOCS / page).read_text())
    assert named
    assert set(named) <= {number for numbers in EQUATIONS.values() for number in numbers}


def test_limits_of_the_table_are_those_of_clients_and_jobs_each_with_a_test():
    table = table_after("Limits of a client")
    assert all(re.fullmatch(r"`tests/[\w/.]+\.py::test_\w+`", row[3]) for row in table)
    named = {name for row in table for name in re.findall(r"`(\w+)`", row[0])}
    assert named >= set(Limits.__dataclass_fields__)
    assert named <= set(Limits.__dataclass_fields__) | set(Job.__dataclass_fields__)


def test_pictures_and_attacks_of_the_page_of_attacks_exist():
    folder = ROOT / "benchmarks" / "privacy"
    text = (folder / "README.md").read_text()
    named = set(re.findall(r"results/([\w-]+)-(?:light|dark)\.png", text))
    stored = (folder.parent / "results").glob("privacy-*.png")
    assert named == {path.stem.rsplit("-", 1)[0] for path in stored}
    for attack in re.findall(r"`([a-z]-[a-z-]+)`", text):
        assert attack in ATTACKS or any(one.startswith(attack) for one in ATTACKS), attack


class TestFigures:
    """Figures of the threat model are those that `python -m benchmarks privacy` found."""

    STORED = json.loads((ROOT / "benchmarks" / "results" / "privacy.json").read_text())
    ROWS = STORED["rows"]
    TEXT = re.sub(r"\s+", " ", THREATS)

    def found(self, attack, **given):
        rows = [
            row["success"]
            for row in self.ROWS
            if row["attack"] == attack and all(row[name] == value for name, value in given.items())
        ]
        assert rows
        return rows

    def test_all_attacks_were_run_at_full_size(self):
        assert not self.STORED["quick"]
        assert {row["attack"] for row in self.ROWS} == set(ATTACKS)

    def test_columns_from_exact_distances(self):
        assert {row["d"] for row in self.ROWS if row["attack"] == "c-integers"} == {2, 4, 8, 16}
        assert "d = 2, 4, 8 and 16" in self.TEXT
        assert set(self.found("c-integers") + self.found("c-integers-precision")) == {1.0}
        assert [self.found("c-integers-rounds", value=r) for r in (2, 3)] == [[0.0], [1.0]]
        assert [self.found("d-integers", value=count) for count in (1, 2)] == [[0.0], [1.0]]

    def test_opened_centres(self):
        two, eight = (self.found("h-centres", d=8, k=k)[0] for k in (2, 8))
        assert f"is {two:.2f} for two centres and {eight:.2f} for eight" in self.TEXT
        assert self.found("h-reveals", value=3)[0] < 1e-8 < 0.1 < self.found("h-reveals", value=2)[0]
        assert f"the error is {self.found('h-alone', value=128)[0]:.2f} with 128 rows a party" in self.TEXT
        assert self.found("h-alone-rows", value=4) == [1 / 8]

    def test_spreads(self):
        def left(what, note):
            adversary = f"recipient of {what}"
            return [
                row["success"]
                for row in self.ROWS
                if row["attack"] == "h-spreads"
                and row["adversary"] == adversary
                and (row["note"], row["value"])[: len(note)] == note
            ]

        few = "10 values; not opened: fewer than ten"
        run = ("10 values; a run that opened both",)
        centres, both = "centres", "centres and spreads"
        assert f"leaves {left(centres, (few, 5))[0]:.2f} of the bits" in self.TEXT
        assert f"with the spread {left(both, (few, 5))[0]:.2f}; over two rows" in self.TEXT
        assert f"{left(centres, (few, 2))[0]:.2f} and {left(both, (few, 2))[0]:.2f}, which" in self.TEXT
        spans = [(min(left(what, run)), max(left(what, run))) for what in (centres, both)]
        assert " and ".join(f"{low:.2f} to {high:.2f}" for low, high in spans) in self.TEXT
        assert left(centres, ("2 values; a run that opened both",)) == left(
            both, ("2 values; a run that opened both",)
        )

    def test_predictions(self):
        def first(note):
            rows = [
                row for row in self.ROWS if row["attack"] == "i-centres" and row["d"] == 2 and row["k"] == 4
            ]
            return next(row for row in rows if row["note"].startswith(note) and row["success"] < 1.05e-3)

        few, many = first("100 rows"), first("2000 rows")
        assert "; 7 predictions" in few["note"]
        assert "; 2 predictions" in many["note"]
        text = f"after {few['value']:.0f} new rows in seven predictions, or {many['value']:,.0f} in two"
        assert text in self.TEXT

    def test_labels_tell_one_comparer_nothing_and_two_everything(self):
        table = [row for row in self.ROWS if row["against"] == "labels" and row["swept"] == "comparers"]
        exact = [row for row in table if row["measure"] == "values recovered exactly"]
        assert {row["success"] for row in exact if row["value"] < 2} == {0.0}
        assert {row["success"] for row in exact if row["value"] == 2} == {1.0}
        errors = [row for row in table if row["attack"] in ("k-rows", "k-known-rows")]
        assert min(row["success"] for row in errors if row["value"] < 2) > 1
        assert max(row["success"] for row in errors if row["value"] == 2) < 1e-8
        assert self.found("k-answered", against="labels") == [0.0]

    def test_wrong_answers(self):
        for d, text in ((2, "44 rounds for two columns"), (4, "and 96 for four")):
            assert text in self.TEXT
            for disclosure in ("coded", "labels"):
                points = [
                    row["value"]
                    for row in self.ROWS
                    if (row["attack"], row["against"], row["d"]) == ("l-rows", disclosure, d)
                    and row["success"] < 1e-3
                    and row["note"] == "max_liars=0, smallest_set=5; nobody notices"
                ]
                assert points[0] == int(re.search(r"\d+", text)[0])
        sought = [
            row for row in self.ROWS if row["attack"] == "l-rows" and row["note"].startswith("max_liars=1")
        ]
        assert {row["against"] for row in sought} == {"coded", "labels"}
        assert all((row["success"], row["note"][-17:]) == (1, "liars found: (1,)") for row in sought)

    def test_readings_by_draws_and_by_one_comparer(self):
        page = re.sub(r"\s+", " ", (ROOT / "benchmarks" / "privacy" / "README.md").read_text())
        errors = [self.found("n-row", value=own)[0] for own in (20_000, 2000, 200)]
        text = "the error is {:.2f}, with 2,000 own rows {:.2f}, with 200 {:.2f}".format(*errors)
        assert text in page
        (note,) = [row["note"] for row in self.ROWS if row["attack"] == "n-row" and row["value"] == 20_000]
        for percent in re.findall(r"[\d.]+(?=%)", note):
            assert f"{percent} %" in page
        assert {row["note"][:11] for row in self.ROWS if row["attack"] == "o-rows"} == {"max_liars=1"}
        assert "an error of 0.1 % after 44 and of 10⁻⁶ after 88" in page
        for liar in ("dealer that lies", "first evaluator that lies"):
            assert self.found("o-rows", adversary=liar, value=44)[0] < 1e-3
            assert self.found("o-rows", adversary=liar, value=88)[0] < 1e-6

    def test_readings_by_chosen_rows(self):
        page = (ROOT / "benchmarks" / "privacy" / "README.md").read_text()
        shown = page.split("| its share of all rows |")[1].split("\n\n")[0].splitlines()[2:]
        columns = [
            (1, 300, "chooses rows"),
            (1, 10, "chooses rows"),
            (2, 300, "chooses rows"),
            (1, 300, "like"),
        ]
        for line, share in zip(shown, (0.9, 0.5, 1 / 3, 0.2), strict=True):
            for cell, (d, most, who) in zip(line.split("|")[2:-1], columns, strict=True):
                (row,) = [
                    row
                    for row in self.ROWS
                    if row["attack"] == "p-rows"
                    and row["value"] == share
                    and row["swept"] == f"d={d}, max_iter={most}, share of rows"
                    and who in row["adversary"]
                ]
                half = re.search(r"below ([\d.]+)%", row["note"])[1]
                assert cell.strip() == f"{100 * row['success']:.0f} % ({half} %)"
