"""The built site: a page loads nothing from the network, so it can be read offline."""

import re
from html.parser import HTMLParser

import pytest

pytest.importorskip("mkdocs", reason="the site is built with the extra docs")

AWAY = re.compile(r"^\s*(?:[a-z][a-z+.-]*:)?//", flags=re.IGNORECASE)
LOADED_BY_STYLE = re.compile(r"""@import\s*["']?([^"';)]+)|url\(\s*["']?([^"')]+)""", flags=re.IGNORECASE)
LINKS_THAT_ARE_NOT_LOADED = {"canonical", "alternate", "next", "prev", "author", "license"}
LOADS = {"src", "srcset", "poster", "data", "action"}

FETCHED_BY_THE_THEME = {"mermaid": "a library for diagrams", "source": "figures of a repository"}
"""Classes and components of the theme for which its own script fetches from other hosts."""


class Loaded(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found, self.parts, self._style = [], set(), False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = {name: value or "" for name, value in attrs}
        self._style = tag == "style"
        self.parts |= set(given.get("class", "").split()) | {given.get("data-md-component", "")}
        self.found += [value for name, value in given.items() if name in LOADS]
        if tag == "link" and given.get("rel") not in LINKS_THAT_ARE_NOT_LOADED:
            self.found.append(given.get("href", ""))
        if tag in {"use", "image"}:
            self.found += [given.get("href", ""), given.get("xlink:href", "")]
        self.found += of_style(given.get("style", ""))

    def handle_data(self, data):
        if self._style:
            self.found += of_style(data)

    def handle_endtag(self, tag):
        self._style = False


def of_style(text):
    return [one or other for one, other in LOADED_BY_STYLE.findall(text)]


def away(found):
    return [one for one in found if AWAY.match(one)]


def test_the_checks_find_what_is_loaded_from_elsewhere():
    page = """<link rel=stylesheet href="https://a/b.css"><script src="//c/d.js"></script><a href="https://e">e</a>
    <style>@import "https://f/g.css"; body { background: url(http://h/i.png) }</style>
    <p style="--x: url('//j/k')">
    <link rel="canonical" href="https://l"><img src="m.png"><pre class="mermaid"></pre>
    """
    loaded = Loaded(page)
    assert away(loaded.found) == [
        "https://a/b.css",
        "//c/d.js",
        "https://f/g.css",
        "http://h/i.png",
        "//j/k",
    ]
    assert "mermaid" in loaded.parts


def test_no_page_loads_anything_from_elsewhere(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 15
    for page in pages:
        loaded = Loaded(page.read_text(encoding="utf-8"))
        assert len(loaded.found) > 3
        assert away(loaded.found) == [], page
        assert loaded.parts.isdisjoint(FETCHED_BY_THE_THEME), page


@pytest.mark.parametrize("kind", ["*.css", "*.svg"])
def test_no_style_or_picture_loads_anything_from_elsewhere(site, kind):
    files = sorted(site.rglob(kind))
    assert files
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert away(of_style(text)) == [], file
        if kind == "*.svg":
            assert away(Loaded(text).found) == [], file


@pytest.mark.parametrize(
    ("page", "taken"),
    [
        ("run", "run"),
        ("choose", "choose_k"),
        ("choose", "stability"),
        ("predict", "predict"),
        ("estimator", "SecureKMeans"),
    ],
)
def test_the_api_shows_options_where_they_are_taken_those_of_every_day_first(site, page, taken):
    text = (site / "api" / f"{page}.html").read_text(encoding="utf-8")
    own = re.sub(r"<[^>]+>", "", text[text.index(f'id="secfc.{taken}"') :][:60_000])
    assert "precision=32" in own.replace(" ", "")
    assert "**options" not in own
    daily, rare = own.split("Other Parameters:", 1)
    assert "What each client refuses, and what it consents to" in daily
    assert "rows are rounded to nearest" not in daily
    assert "rows are rounded to nearest" in rare
