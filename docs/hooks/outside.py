"""A hook of mkdocs: the site has benchmarks/ and examples/ too, and links between them and docs/ work.

In the repository docs/threat-model.md links to ../benchmarks/RESULTS.md. The site has docs/ as its root, and
the others as folders in it.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
FOLDERS = ("benchmarks/", "examples/")
_KINDS = {".md", ".png", ".json", ".ipynb"}
_LINK = re.compile(r"(\]\()([^)#:\s]+)((?:#[^)\s]*)?\))")


def on_files(files: Files, *, config: Any) -> Files:
    """Add their pages, with pictures, figures and notebooks."""
    for path in sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*")):
        if path.suffix in _KINDS:
            name = path.relative_to(ROOT).as_posix()
            files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def place_on_site(target: str, page: str) -> str:
    """The link on the site for a link between files of the repository; `page` is named as on the site."""
    here = page if page.startswith(FOLDERS) else f"docs/{page}"
    there = posixpath.normpath(posixpath.join(posixpath.dirname(here), target))
    if there.startswith(FOLDERS) == here.startswith(FOLDERS):
        return target
    return posixpath.relpath(there.removeprefix("docs/"), posixpath.dirname(page) or ".")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Called by mkdocs for each page before Markdown is."""
    return _LINK.sub(lambda link: link[1] + place_on_site(link[2], page.file.src_uri) + link[3], markdown)
