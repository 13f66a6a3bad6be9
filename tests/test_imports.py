"""What importing secfc loads, and what it must not need."""

import ast
import os
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import secfc
from secfc.tables.outputs import check_report

PACKAGE = Path(secfc.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))
HEAVY = [
    *("jinja2", "matplotlib", "numba", "pandas", "pyarrow", "pydantic", "rich", "scipy", "sklearn", "typer"),
    *("benchmarks", "nvflare", "plaintext_baselines"),
]


def loaded_after(statement):
    code = f"import sys; {statement}; print(*(name for name in {HEAVY} if name in sys.modules))"
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("statement", ["import secfc", "import secfc; secfc.run, secfc.Job, secfc.Result"])
def test_importing_secfc_loads_no_heavy_module(statement):
    assert loaded_after(statement) == set()


def test_the_command_loads_what_shows_its_help_and_nothing_else():
    assert loaded_after("import secfc.cli.app") == {"rich", "typer"}


def test_every_public_name_is_there():
    assert set(secfc.__all__) <= set(dir(secfc))
    for name in secfc.__all__:
        assert getattr(secfc, name).__name__ == name


def test_a_name_that_there_is_not_is_an_error():
    with pytest.raises(AttributeError, match="module 'secfc' has no attribute 'rum'"):
        secfc.rum  # noqa: B018


def test_the_package_does_not_import_its_laboratory():
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        imported = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module is not None:
                imported.add(node.module.partition(".")[0])
        laboratory = imported & {"benchmarks", "plaintext_baselines", "tests"}
        found += [f"{path.relative_to(PACKAGE)}: {name}" for name in laboratory]
    assert found == []


def module_name(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in SOURCES}


def imported(tree):
    """All that a module imports, also in functions and for type checkers only."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in MODULES else node.module


def import_graph():
    return {
        name: set(imported(ast.parse(path.read_text(encoding="utf-8")))) & MODULES.keys() - {name}
        for name, path in MODULES.items()
    }


def test_no_module_imports_itself_by_way_of_others():
    assert len(tuple(TopologicalSorter(import_graph()).static_order())) == len(MODULES)


def test_only_commands_import_the_whole_package():
    whole = {name for name, found in import_graph().items() if "secfc" in found}
    assert {name.split(".")[1] for name in whole} <= {"cli"}


CORE = {
    "field",
    "lagrange",
    "crypto",
    "sharing",
    "operations",
    "comparing",
    "kmeans",
    "protocol",
    "psu",
    "kernels",
}
BESIDE = {"errors", "version"}
LIBRARIES = {"numpy", "cryptography", "gmpy2", "numba", "llvmlite"}


def test_the_trusted_core_imports_only_itself_and_the_libraries_that_an_auditor_knows():
    beyond = {
        f"{name}: {other}"
        for name, path in MODULES.items()
        if name.split(".")[1:2] and name.split(".")[1] in CORE | BESIDE
        for other in imported(ast.parse(path.read_text(encoding="utf-8")))
        if not _is_known(other)
    }
    assert beyond == set()


def _is_known(name):
    first, *rest = name.split(".")
    if first == "secfc":
        return bool(rest) and rest[0] in CORE | BESIDE
    return first in LIBRARIES | sys.stdlib_module_names


ROOT = Path(__file__).parent.parent


def test_folders_are_small():
    """No folder of the package has more than 15 files."""
    folders = {path.parent for path in SOURCES} - {PACKAGE}
    counts = {folder: len(list(folder.glob("*.py"))) for folder in folders}
    assert {folder.name: count for folder, count in counts.items() if count > 15} == {}
    assert len({path.relative_to(PACKAGE).parts[0] for path in SOURCES} | {"py.typed"}) <= 22


def test_relative_imports_do_not_escape_the_graph():
    for path in SOURCES:
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        assert not any(isinstance(node, ast.ImportFrom) and node.level for node in nodes), path


WANTED = r"Jinja is needed for (a report|--report), pip install '\.\[report\]' in a checkout of secfc"


def test_a_page_without_jinja_is_refused_before_anything_runs(monkeypatch, tmp_path):
    check_report(tmp_path / "report.html")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(secfc.ParameterError, match=rf"^{WANTED}"):
        check_report(tmp_path / "report.html")
    check_report(None)


def test_a_report_without_jinja_names_the_extra_and_writes_nothing(monkeypatch, tmp_path):
    rows = [[0.0], [1.0]], [[5.0]], [[6.0]]
    result = secfc.run(rows, 2, 1, 1, seed=1)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(secfc.ParameterError, match=rf"^{WANTED}"):
        result.report(tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []
