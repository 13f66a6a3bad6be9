"""All references of the documentation exist by that name: tests, modules, attacks, sections, figures."""

import ast
import importlib
import re
from pathlib import Path

import pytest

from secfc.agreement.job_file import ClusteringSchema, JobSchema, LimitsSchema
from secfc.agreement.site_file import OwnLimitsSchema
from secfc.protocol.job.job import Job
from secfc.protocol.job.limits import Limits

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


def headings(text):
    outside = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"^#+ (.*)$", outside, flags=re.MULTILINE)


def slug(heading):
    """An anchor as Python-Markdown's table of contents makes it, which equals GitHub's for these headings."""
    kept = re.sub(r"[^\w\s-]", "", heading.replace("`", "").strip().lower())
    return re.sub(r"[\s]+", "-", kept)


def with_any(paths, *patterns):
    """A test parameter for each file that contains one of the patterns, named by the file."""
    return [
        pytest.param(path, id=str(path.relative_to(ROOT)))
        for path in paths
        if any(re.search(pattern, path.read_text()) for pattern in patterns)
    ]


def table_after(page, heading):
    text = page.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
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


def test_the_table_of_limits_has_all_of_calls_site_files_and_jobs_each_with_a_test():
    table = table_after(DOCS / "how-to" / "sign-off.md", "What limits mean")
    test = r"`tests/[\w/.]+\.py(::\w+)+`"
    assert all(re.fullmatch(f"{test}(, {test})*", row[5]) for row in table)
    named = {name for row in table for name in re.findall(r"`(\w+)`", row[0])}
    limits = Limits.__dataclass_fields__.keys() | OwnLimitsSchema.model_fields.keys()
    assert named >= limits | LimitsSchema.model_fields.keys() | {"runs", "expires"}
    known = JobSchema.model_fields.keys() | ClusteringSchema.model_fields.keys() | {"bound", "ids", "coded"}
    assert named <= limits | known
