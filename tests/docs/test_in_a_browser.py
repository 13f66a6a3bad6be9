"""The built site in a real browser: pages fit on a desk and on a telephone."""

import pytest
from support.browser import found

pytest.importorskip("mkdocs", reason="the site is built with the extra docs")

MEASURED = """<style>iframe { width: 1280px; height: 800px }</style><script>
function measured(frame, width) {
  frame.style.width = `${width}px`;
  const page = frame.contentDocument, whole = page.documentElement;
  const wide = [...page.querySelectorAll("pre > code")].filter(one => one.scrollWidth > one.clientWidth);
  const sideways = whole.scrollWidth - whole.clientWidth;
  return {page: frame.src, width, sideways, code: wide.map(one => one.innerText)};
}
addEventListener("load", () => {
  const frames = [...document.querySelectorAll("iframe")];
  const all = [1280, 390].flatMap(width => frames.map(frame => measured(frame, width)));
  document.getElementById("found").textContent = JSON.stringify(all);
});
</script>"""
"""A page that measures the pages in its frames. At each width a page has its own scroll bar."""


@pytest.fixture(scope="module")
def measured(site, tmp_path_factory):
    pages = [path.as_uri() for path in sorted(site.rglob("*.html")) if path.name != "404.html"]
    frames = "".join(f'<iframe src="{page}"></iframe>' for page in pages)
    seen = found(MEASURED + frames, tmp_path_factory.mktemp("measured"))
    assert len(seen) == 2 * len(pages)
    return seen


def test_no_page_scrolls_sideways(measured):
    assert [(one["page"], one["width"]) for one in measured if one["sideways"]] == []


def test_lines_of_code_fit_in_the_column_on_a_desk(measured):
    wide = [(one["page"], code) for one in measured if one["width"] == 1280 for code in one["code"]]
    assert wide == []
