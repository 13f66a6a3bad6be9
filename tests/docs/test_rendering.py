"""The site shows each page as in its source: headings, blocks of code, list items, table rows.

A CommonMark parser, which is not the site's, reads the source. So a heading or block of code that only one of
the two parsers recognises makes a difference.
"""

from html.parser import HTMLParser
from pathlib import Path

import pytest

pytest.importorskip("mkdocs", reason="the site is built with the extra docs")
MarkdownIt = pytest.importorskip("markdown_it", reason="comes with the extra docs").MarkdownIt

ROOT = Path(__file__).parents[2]
PAGES = {path.relative_to(ROOT / "docs").as_posix(): path for path in (ROOT / "docs").rglob("*.md")} | {
    path.relative_to(ROOT).as_posix(): path for path in (ROOT / "benchmarks").rglob("*.md")
}
HEADINGS = {f"h{level}" for level in range(1, 7)}
COUNTED = {"pre": "code", "li": "items", "tr": "rows"} | dict.fromkeys(HEADINGS, "headings")


def in_source(text):
    """The code of a page, and the numbers of its headings, items and rows."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    counts = {
        "headings": [token.type for token in tokens].count("heading_open"),
        "items": [token.type for token in tokens].count("list_item_open"),
        "rows": [token.type for token in tokens].count("tr_open"),
    }
    return counts, [token.content.rstrip() for token in tokens if token.type in {"fence", "code_block"}]


class Rendered(HTMLParser):
    """The same for a page of the site."""

    def __init__(self, text):
        super().__init__()
        self.counts, self.code, self.text = dict.fromkeys(("headings", "items", "rows"), 0), [], ""
        self._article = self._pre = 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self._article += tag == "article"
        self._pre += tag == "pre"
        if self._article and tag == "pre":
            self.code.append("")
        elif self._article and tag in COUNTED:
            self.counts[COUNTED[tag]] += 1

    def handle_endtag(self, tag):
        self._article -= tag == "article"
        self._pre -= tag == "pre"

    def handle_data(self, data):
        if self._pre and self._article:
            self.code[-1] += data
        elif self._article:
            self.text += data


def rendered(site, name):
    page = site / (name.removesuffix(".md").replace("README", "index") + ".html")
    return Rendered(page.read_text(encoding="utf-8"))


def test_a_fence_that_the_site_does_not_understand_is_found():
    counts, code = in_source("# A\n\n```toml a.toml\n# no heading\n```\n\n- one\n\n| a |\n|---|\n| 1 |\n")
    assert (counts, code) == ({"headings": 1, "items": 1, "rows": 2}, ["# no heading"])
    shown = Rendered("<article><h1>A</h1><p>```toml a.toml</p><h1>no heading</h1><p>```</p></article>")
    assert (shown.counts["headings"], shown.code) == (2, [])


def test_every_page_has_the_headings_code_items_and_rows_of_its_source(site):
    """One test, because each process with one of several tests would build the site."""
    pages = {name: path.read_text(encoding="utf-8") for name, path in PAGES.items()}
    of_sources = {name: in_source(text) for name, text in pages.items() if "\n::: " not in text}
    shown = {name: rendered(site, name) for name in of_sources}
    assert {
        name: (one.counts, [code.rstrip() for code in one.code]) for name, one in shown.items()
    } == of_sources
    assert [name for name, one in shown.items() if "```" in one.text] == []


@pytest.mark.parametrize("name", [name for name, path in PAGES.items() if "\n::: " in path.read_text()])
def test_a_page_of_the_api_has_the_headings_of_its_source_and_all_names(site, name):
    text = PAGES[name].read_text(encoding="utf-8")
    shown = rendered(site, name)
    names = [line.removeprefix("::: ") for line in text.splitlines() if line.startswith("::: ")]
    page = (site / name.replace(".md", ".html")).read_text(encoding="utf-8")
    assert [one for one in names if f'id="{one}"' not in page] == []
    assert shown.counts["headings"] >= in_source(text)[0]["headings"] + len(names)
