"""Measures of the project's size: lines, words, folders, import circles, and what one run executes."""

import ast
import inspect
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import secfc

ROOT = Path(__file__).parent.parent
PACKAGE = Path(secfc.__file__).parent
CORE = ("field", "lagrange", "crypto", "sharing", "operations", "comparing", "kmeans", "protocol", "psu")
"""Folders that an auditor must read; kernels are counted apart."""


def measures() -> list[tuple[str, int]]:
    """The name and value of each measure."""
    modules = _modules()
    folders = {path.parent for path in modules.values()} - {PACKAGE}
    circles = [circle for circle in _circles(_imports(modules)) if len(circle) > 1]
    return [
        ("lines in the wheel", _lines(ROOT / "secfc") + _lines(ROOT / "plaintext_baselines")),
        ("lines of tests", _lines(ROOT / "tests")),
        ("lines of benchmarks", _lines(ROOT / "benchmarks")),
        ("words of docs and README", _words([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"])),
        ("words of README", _words([ROOT / "README.md"])),
        ("entries of secfc/", len({path.relative_to(PACKAGE).parts[0] for path in modules.values()}) + 1),
        ("files in the largest folder", max(len(list(folder.glob("*.py"))) for folder in folders)),
        ("parameters of secfc.run", len(inspect.signature(secfc.run).parameters)),
        ("files in import circles", sum(map(len, circles))),
        ("lines of the trusted core", sum(_lines(PACKAGE / folder) for folder in CORE)),
        ("files that a run executes", _executed()),
    ]


def _lines(folder: Path) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in folder.rglob("*.py"))


def _words(paths: list[Path]) -> int:
    return sum(len(path.read_text(encoding="utf-8").split()) for path in paths)


def _modules() -> dict[str, Path]:
    """Files of the package by module name."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def _imports(modules: dict[str, Path]) -> dict[str, set[str]]:
    """What each module imports of the package, also in functions and for type checkers only."""

    def imported(path: Path) -> Iterator[str]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    yield inner if inner in modules else node.module

    return {name: (set(imported(path)) & modules.keys()) - {name} for name, path in modules.items()}


def _circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """The strongly connected components: modules that can reach each other."""

    def reached(start: str) -> set[str]:
        found, left = set[str](), [start]
        while left:
            new = graph[left.pop()] - found
            found |= new
            left.extend(new)
        return found

    reach = {name: reached(name) for name in graph}
    circles: list[set[str]] = []
    for name in graph:
        if not any(name in circle for circle in circles):
            circles.append({name} | {other for other in reach[name] if name in reach[other]})
    return circles


def _executed() -> int:
    """Files of secfc in the second of two runs with labels: three parties, 12 rows each, NumPy kernels."""
    code = "from benchmarks.house import executed; print(executed())"
    environment = {"SECFC_KERNELS": "numpy", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    return int(done.stdout)


def executed() -> int:
    """See `_executed`: in a process that has imported nothing else."""
    rng = np.random.default_rng(0)
    parties, files = [rng.normal(size=(12, 2)) for _ in range(3)], set[str]()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            files.add(frame.f_code.co_filename)

    secfc.run(parties, 3, 1, 1, seed=0)
    sys.setprofile(note)
    try:
        secfc.run(parties, 3, 1, 1, seed=0)
    finally:
        sys.setprofile(None)
    return sum(name.startswith(str(PACKAGE)) for name in files)
