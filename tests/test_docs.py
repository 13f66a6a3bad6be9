"""The documentation shows what really happens."""

import contextlib
import io
import re
import tomllib
from pathlib import Path

import pytest

from secfc.protocol.messages import KINDS, BetweenClients, FromServer, ToServer

ROOT = Path(__file__).parent.parent
PROTOCOL = (ROOT / "docs" / "protocol.md").read_text()


EXAMPLE = re.compile(r"```python\n(.*?)```\n(?:\n<!-- output -->\n```\n(.*?)```)?", flags=re.DOTALL)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
WITH_EXAMPLES = [page for page in PAGES if "```python" in page.read_text()]
WITH_A_TEST_OF_THEIR_OWN = {
    "baselines",  # figures depend on scikit-learn: tests/plaintext_baselines/test_baselines_page.py
    "guide",  # needs files that its commands make: tests/docs/test_guide.py
}


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: page.stem)
@pytest.mark.filterwarnings("ignore::secfc.PrivacyWarning")
def test_examples_of_a_page_print_what_it_says(page, tmp_path, monkeypatch):
    if page.stem in WITH_A_TEST_OF_THEIR_OWN:
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


def test_protocol_page_lists_the_messages_with_their_numbers_ways_phases_and_purposes():
    rows = re.findall(r"^\| (\d+) \| (\w+) \| (.+?) \| (.+?) \|(.*?)\|", PROTOCOL, flags=re.MULTILINE)
    ways = {FromServer: "server → client", ToServer: "client → server", BetweenClients: "client → client"}
    assert len(rows) == len(KINDS)
    for (number, name, way, phases, purpose), kind in zip(rows, KINDS, strict=True):
        base = next(one for one in kind.__mro__ if one in ways)
        assert (int(number), name, way) == (kind.number, kind.__name__, ways[base])
        assert kind.phase in phases.split(", ")
        assert purpose.strip(" `").encode() == kind.purpose


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
        found = ROOT / name.replace(".", "/")
        assert found.is_dir() or found.with_suffix(".py").exists(), name


def test_the_citation_is_of_this_version_and_licence():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    cited = dict(re.findall(r"^(version|license): (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE))
    assert cited == {"version": project["version"], "license": project["license"]}
    assert "Apache License" in (ROOT / "LICENSE").read_text()[:200]


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
