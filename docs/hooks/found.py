"""A hook of mkdocs: search lists pages that say how before decisions, figures and the API."""

from typing import Any

_BOOST = {"decisions/": 0.1, "benchmarks/": 0.1, "api/": 0.3}


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> None:
    """Called by mkdocs for each page before Markdown is."""
    for folder, boost in _BOOST.items():
        if page.file.src_uri.startswith(folder):
            page.meta["search"] = {"boost": boost}
