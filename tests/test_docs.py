"""The documentation shows what really happens."""

import contextlib
import io
import json
import re
import runpy
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest

from secfc import params
from secfc.field.primes import PRIMES
from secfc.lagrange.points import recovery_threshold
from secfc.protocol.messages import KINDS, BetweenClients, FromServer, ToServer
from secfc.protocol.states import State
from secfc.protocol.turns import CLIENT_TAKES, SERVER_TAKES
from secfc.protocol.wire import MAGIC

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
PROTOCOL = (ROOT / "docs" / "protocol.md").read_text()


EXAMPLE = re.compile(r"```python\n(.*?)```\n(?:\n<!-- output -->\n```\n(.*?)```)?", flags=re.DOTALL)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
WITH_EXAMPLES = [page for page in PAGES if "```python" in page.read_text()]
WITH_OTHER_FIGURES = {"baselines"}
"""Its figures depend on scikit-learn's version: tests/plaintext_baselines/test_baselines_page.py runs it."""


JOB_WITH_A_SEED = re.compile(r"^(seed\s*=|secfc (job|consortium) .*--seed)", flags=re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_jobs_of_organisations_have_no_seed_which_their_proposer_would_choose(page):
    for block in re.findall(r"^ *```[^\n]*\n(.*?)^ *```$", page.read_text(), flags=re.MULTILINE | re.DOTALL):
        assert not JOB_WITH_A_SEED.search(block)


@pytest.mark.parametrize(
    "page", ["README.md", "docs/index.md", "docs/how-to/sign-off.md", "docs/threat-model.md"]
)
def test_who_decides_is_told_that_max_liars_is_no_help_against_a_lying_comparer(page):
    text = " ".join((ROOT / page).read_text().replace("> ", "").split())
    said = re.search(r"[Oo]ne of (the three|them) that lies(.{400})", text)
    assert said
    for word in ("read", "max_liars", "elpers", "most_rounds"):
        assert word in said[2]


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: page.stem)
@pytest.mark.filterwarnings("ignore::secfc.PrivacyWarning")
def test_examples_of_a_page_print_what_it_says(page, tmp_path, monkeypatch):
    if page.stem in WITH_OTHER_FIGURES:
        return
    examples = EXAMPLE.findall(page.read_text())
    assert len(examples) == page.read_text().count("```python")
    monkeypatch.chdir(tmp_path)  # some write files
    names = {"__name__": "example"}
    for code, output in examples:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, names)
        assert printed.getvalue() == output, code


def test_the_pages_that_people_start_with_have_examples():
    assert {page.stem for page in WITH_EXAMPLES} >= {"README", "tutorial", "precision"}


def test_the_readmes_table_beside_peers_has_the_measured_figures():
    measured = json.loads((ROOT / "benchmarks" / "results" / "peers.json").read_text())["rows"]
    rows = [row for row in measured if (row["m"], row["d"], row["k"]) == (10_000, 100, 16)]
    three = [row for row in rows if row["parties"].startswith("3 and a server")]
    (ours,) = (row["seconds"] for row in three if row["reveals"].startswith("labels"))
    (coded,) = (row for row in three if not row["reveals"].startswith("labels"))

    def cells(name):
        line = next(line for line in README.splitlines() if line.startswith(f"| {name}"))
        return [cell.strip(" *") for cell in line.split("|")[2:4]]

    assert cells("**secfc**") == [f"{ours * 1e3:.0f} ms", "0"]
    others = {"secfc, `disclosure": coded}
    peers = {"MPyC": "MPyC 0.11", "SPU": "SPU 0.9.5", "CrypTen": "CrypTen 0.4.1"}
    for system, name in (*peers.items(), ("NumPy", "NumPy on the pooled rows")):
        others[name] = next(row for row in rows if row["system"].startswith(system))
        assert others[name]["system"] in name or system == "NumPy"
    for name, row in others.items():
        ratio = row["seconds"] / ours
        shown = f"{ratio:.0f}×" if ratio >= 1 else f"{ratio:.2g}×"
        assert cells(name) == [shown, str(row["differing_rows"])]


@pytest.mark.parametrize("picture", sorted((ROOT / "docs" / "pictures").glob("*.svg")), ids=lambda p: p.stem)
def test_pictures_are_those_that_the_script_draws_and_load_nothing(picture):
    drawn = runpy.run_path(str(ROOT / "docs" / "pictures" / "draw.py"))[picture.stem]()
    assert picture.read_text(encoding="utf-8") == drawn
    root = ElementTree.fromstring(drawn)
    assert {element.tag.split("}")[1] for element in root.iter()}.isdisjoint({"script", "image", "use"})
    assert "url(#tip)" in drawn
    assert drawn.count("url(") == drawn.count("url(#tip)")
    assert any(picture.name in page.read_text() for page in PAGES)


def test_the_site_lists_every_page_but_decisions():
    listed = set(
        re.findall(r"^ *- .*?: ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), flags=re.MULTILINE)
    )
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    pages |= {str(page.relative_to(ROOT)) for page in (ROOT / "benchmarks").rglob("*.md")}
    assert listed == {page for page in pages if not page.startswith("decisions/")}


def test_table_of_clients_agrees_with_the_threshold():
    page = (ROOT / "docs" / "how-to" / "parties.md").read_text()
    rows = re.findall(r"^\| (?:clients n|t with ell = \d) .*$", page, flags=re.MULTILINE)
    assert len(rows) == 3
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    clients = [int(cell) for cell in cells[0][1:]]
    for row in cells[1:]:
        ell = int(row[0][-1])
        for n, cell in zip(clients, row[1:], strict=True):
            fitting = [t for t in range(1, n) if recovery_threshold(t, ell) <= n]
            assert cell == (str(max(fitting)) if fitting else "–")


def test_protocol_page_lists_the_messages_with_their_numbers_ways_phases_and_purposes():
    rows = re.findall(r"^\| (\d+) \| (\w+) \| (.+?) \| (.+?) \|(.*?)\|", PROTOCOL, flags=re.MULTILINE)
    ways = {FromServer: "server → client", ToServer: "client → server", BetweenClients: "client → client"}
    assert len(rows) == len(KINDS)
    for (number, name, way, phases, purpose), kind in zip(rows, KINDS, strict=True):
        base = next(one for one in kind.__mro__ if one in ways)
        assert (int(number), name, way) == (kind.number, kind.__name__, ways[base])
        assert kind.phase in phases.split(", ")
        assert purpose.strip(" `").encode() == kind.purpose


def test_protocol_page_names_the_version_of_the_protocol():
    assert f"version of the protocol: {params.PROTOCOL} (2)" in PROTOCOL
    assert f"`{MAGIC.decode()}` ({params.PROTOCOL} is the version" in PROTOCOL


def test_protocol_page_lists_the_primes_in_order():
    listed = re.search(r"They are\s+the first P of (.+?), the largest primes", PROTOCOL, flags=re.DOTALL)
    assert [int(p) for p in re.findall(r"\d{8}", listed[1])] == [prime.p for prime in PRIMES]


def test_protocol_page_lists_the_messages_that_are_signed_once_for_all():
    listed = re.search(r"SHA-256 of the body\. (.+?)\s+are the same for all", PROTOCOL, flags=re.DOTALL)
    assert set(re.findall(r"`(\w+)`", listed[1])) == {kind.__name__ for kind in KINDS if kind.alike}


@pytest.mark.parametrize(("role", "table"), [("CLIENT", CLIENT_TAKES), ("SERVER", SERVER_TAKES)])
def test_the_picture_of_states_shows_the_table_and_moves_that_it_allows(role, table):
    script = runpy.run_path(str(ROOT / "docs" / "pictures" / "draw.py"))
    moves = script[f"{role}_MOVES"]
    for first, last, message in moves:
        taken = {kind.__name__ for kind in table[State(first)]}
        assert set(re.findall(r"[A-Z]\w+", message)) <= taken, (first, last)
    states = {state for move in moves for state in move[:2]}
    assert states >= {state.value for state, kinds in table.items() if kinds}
    drawn = [element.text for element in ElementTree.fromstring(script["states"]()).iter() if element.text]
    for state in states:
        assert drawn.count(state) >= 1
        for kind in table[State(state)]:
            assert any(kind.__name__ in line for line in drawn)


@pytest.mark.parametrize("path", [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"], ids=str)
def test_links_between_pages_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", path.read_text()):
        assert (path.parent / target).exists(), target


@pytest.mark.parametrize("path", [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"], ids=str)
def test_files_and_modules_named_in_pages_exist(path):
    text = path.read_text()
    for name in re.findall(r"`(tests/[\w/.]+|secfc/[\w/.]+)`", text):
        assert (ROOT / name).exists(), name
    for name in re.findall(r"`(secfc\.(?:field|lagrange|kmeans|protocol|drivers)\.\w+)", text):
        assert (ROOT / (name.replace(".", "/") + ".py")).exists(), name


def test_the_citation_is_of_this_version_and_licence():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    cited = dict(re.findall(r"^(version|license): (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE))
    assert cited == {"version": project["version"], "license": project["license"]}
    assert "Apache License" in (ROOT / "LICENSE").read_text()[:200]


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "SECURITY.md"])
def test_files_that_contributing_and_security_name_exist(name):
    text = (ROOT / name).read_text()
    for target in re.findall(r"\]\(([^)#:]+?)\)", text):
        assert (ROOT / target).exists(), target
    for line in re.findall(r"^\| (`.*?) \| .* \|$", text, flags=re.MULTILINE):  # the table of the layout
        first, *others = re.findall(r"`([\w/.]+)`", line)
        assert (ROOT / first).exists(), first
        for other in others:
            assert (ROOT / other).exists() or (ROOT / "secfc" / other).exists(), other


INSTALLS_ANOTHERS = re.compile(
    r"(?:install|add|uvx|pipx run)(?: -\S+)* ['\"]?secfc(?=[\[\s'\"=<>~@]|$)|\bsecfc\[[a-z]+[,\]]",
    flags=re.MULTILINE,
)


def test_nobody_is_told_to_install_the_project_that_has_our_name_on_the_public_index():
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["name"] == "secfc-kmeans"
    texts = [ROOT / "pyproject.toml", *ROOT.glob("*.md"), *ROOT.glob(".ci/*")]
    for folder, pattern in (
        ("docs", "*.md"),
        *((one, "*.py") for one in ("secfc", "plaintext_baselines", "benchmarks")),
    ):
        texts += (ROOT / folder).rglob(pattern)
    found = [path.name for path in texts if INSTALLS_ANOTHERS.search(path.read_text())]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "pip install {}",
        'pip install "{}[flare]"',
        "uv add --dev {}",
        "pip install '{}>=0.1'",
        "{}[flare]",
    ],
)
def test_such_texts_would_be_found(text):
    assert INSTALLS_ANOTHERS.search(text.format("secfc"))


@pytest.mark.parametrize(
    "text",
    [
        "pip install '.[sklearn]' && secfc demo",
        "pip install '.[flare]' in a checkout of secfc",
        "pip install secfc-kmeans",
    ],
)
def test_others_are_none(text):
    assert not INSTALLS_ANOTHERS.search(text)
