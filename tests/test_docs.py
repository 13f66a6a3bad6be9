"""What the documentation shows is what happens."""

import contextlib
import io
import re
from pathlib import Path

import pytest

from secfc.params import recovery_threshold
from secfc.protocol import wire
from secfc.protocol.states import CLIENT_TAKES, SERVER_TAKES

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
PROTOCOL = (ROOT / "docs" / "protocol.md").read_text()


EXAMPLE = re.compile(r"```python\n(.*?)```\n(?:\n<!-- output -->\n```\n(.*?)```)?", flags=re.DOTALL)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
WITH_EXAMPLES = [  # the baselines page has a test of its own
    page for page in PAGES if "<!-- output -->" in page.read_text() and page.stem != "baselines"
]


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: page.stem)
@pytest.mark.filterwarnings("ignore::secfc.PrivacyWarning")
def test_examples_of_a_page_print_what_it_says(page):
    names = {"__name__": "example"}
    for code, output in EXAMPLE.findall(page.read_text()):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, names)
        assert printed.getvalue() == output, code


def test_the_readme_and_the_tutorial_have_examples():
    assert {page.stem for page in WITH_EXAMPLES} >= {"README", "tutorial"}


def test_the_site_lists_every_page_but_decisions():
    listed = set(
        re.findall(r"^ *- .*?: ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), flags=re.MULTILINE)
    )
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert listed == {page for page in pages if not page.startswith("decisions/")}


def test_readme_table_of_clients_agrees_with_the_threshold():
    rows = re.findall(r"^\| (?:clients n|t with ell = \d) .*$", README, flags=re.MULTILINE)
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    clients = [int(cell) for cell in cells[0][1:]]
    for row in cells[1:]:
        ell = int(row[0][-1])
        for n, cell in zip(clients, row[1:], strict=True):
            fitting = [t for t in range(1, n) if recovery_threshold(t, ell) <= n]
            assert cell == (str(max(fitting)) if fitting else "–")


def test_protocol_page_lists_the_messages_with_their_numbers():
    listed = re.findall(r"^\| (\d+) \| (\w+) \|", PROTOCOL, flags=re.MULTILINE)
    assert listed == [(str(number), kind.__name__) for number, (kind, _, _) in enumerate(wire._TYPES)]


@pytest.mark.parametrize(("prefix", "table"), [("c_", CLIENT_TAKES), ("s_", SERVER_TAKES)])
def test_protocol_page_draws_the_table_of_states(prefix, table):
    drawn = re.findall(rf"^ *{prefix}(\w+) --> {prefix}\w+: (?:last )?(\w+)$", PROTOCOL, flags=re.MULTILINE)
    expected = {(state.value, kind.__name__) for state, kinds in table.items() for kind in kinds}
    assert set(drawn) == expected


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
