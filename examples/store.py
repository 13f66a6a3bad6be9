"""Runs the notebooks and docs/guide.md, and stores what they show: `python examples/store.py [NAME ...]`.

A notebook gets its outputs, and its last picture becomes NAME.png, which docs/examples.md shows. The pictures
of the guide go to docs/pictures, and the top of its report if Chromium is installed. All run in a folder of
their own.
"""

import ast
import base64
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

from PIL import Image

ROOT = Path(__file__).parent.parent
EXAMPLES, PICTURES = ROOT / "examples", ROOT / "docs" / "pictures"
GUIDE = "guide"

BLOCK = re.compile(
    r"^```(bash|toml|python)\n(.*?)^```\n(?:\n<!-- output -->\n```\n(.*?)^```)?", re.DOTALL | re.MULTILINE
)
"""A block that is run, or that is a file, and the output below it."""


def notebook_path(name: str) -> Path:
    """Where a notebook lies."""
    return EXAMPLES / f"{name}.ipynb"


def read_notebook(name: str) -> dict[str, Any]:
    """A notebook's content."""
    found: dict[str, Any] = json.loads(notebook_path(name).read_text(encoding="utf-8"))
    return found


def run_notebook(name: str, folder: Path) -> tuple[dict[str, Any], list[list[dict[str, Any]]]]:
    """Run all cells in one namespace, as a kernel does; return its variables, and outputs by cell."""
    variables: dict[str, Any] = {}
    outputs = list[list[dict[str, Any]]]()
    with chdir(folder):
        for cell in read_notebook(name)["cells"]:
            if cell["cell_type"] == "code":
                code = "".join(cell["source"])
                outputs.append(run_cell(code, f"{name}, {cell['id']}", variables, len(outputs) + 1))
    return variables, outputs


def run_cell(code: str, called: str, variables: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """Run a cell; return what Jupyter would show: printed text, open figures, the value of the last line.

    A semicolon at the end hides the value.
    """
    lines = ast.parse(code)
    last = None
    if isinstance(lines.body[-1], ast.Expr) and not code.endswith(";"):
        last = ast.Expression(lines.body.pop().value)
    printed, warned = StringIO(), StringIO()
    with redirect_stdout(printed), redirect_stderr(warned):
        exec(compile(lines, called, "exec"), variables)
        value = None if last is None else eval(compile(last, called, "eval"), variables)
    streams = (("stdout", printed.getvalue()), ("stderr", warned.getvalue()))
    found: list[dict[str, Any]] = [
        {"output_type": "stream", "name": name, "text": text.splitlines(keepends=True)}
        for name, text in streams
        if text
    ]
    if value is not None:
        result = {"output_type": "execute_result", "execution_count": number}
        found.append(result | {"data": shown(value), "metadata": {}})
    pictures = open_figures()
    return found + [{"output_type": "display_data", "data": one, "metadata": {}} for one in pictures]


def shown(value: Any) -> dict[str, Any]:
    """A value as text, and as HTML or picture if it has such a form."""
    found: dict[str, Any] = {"text/plain": repr(value).splitlines(keepends=True)}
    page = value._repr_html_() if hasattr(value, "_repr_html_") else None
    if page is not None:
        found["text/html"] = page.splitlines(keepends=True)
    if hasattr(value, "_repr_png_"):
        found["image/png"] = base64.b64encode(value._repr_png_()).decode()
    return found


def open_figures() -> list[dict[str, Any]]:
    """The figures that pyplot has open, which are closed."""
    if "matplotlib.pyplot" not in sys.modules:
        return []
    from matplotlib import pyplot as plt  # noqa: PLC0415 - only some notebooks need it

    found = []
    for number in plt.get_fignums():
        drawn = BytesIO()
        plt.figure(number).savefig(drawn, format="png", dpi=100)
        data = base64.b64encode(drawn.getvalue()).decode()
        found.append({"image/png": data, "text/plain": ["<Figure>"]})
    plt.close("all")
    return found


def store_notebook(name: str, folder: Path) -> None:
    """Run a notebook and write its outputs and its picture."""
    notebook = read_notebook(name)
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    _, outputs = run_notebook(name, folder)
    for number, (cell, found) in enumerate(zip(cells, outputs, strict=True), 1):
        cell["execution_count"], cell["outputs"] = number, found
    text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    notebook_path(name).write_text(text, encoding="utf-8")
    notebook_path(name).with_suffix(".png").write_bytes(pictures_of(outputs)[-1])


def pictures_of(outputs: list[list[dict[str, Any]]]) -> list[bytes]:
    """The pictures in outputs, in order."""
    every = [one.get("data", {}) for found in outputs for one in found]
    return [base64.b64decode(data["image/png"]) for data in every if "image/png" in data]


def run_guide(folder: Path, variables: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Write the guide's files, run its commands and code; yield each block, its output and what it printed.

    `cd` holds for all that comes after it. The code's variables are added to `variables`.
    """
    page = (ROOT / "docs" / f"{GUIDE}.md").read_text(encoding="utf-8")
    for kind, text, output in BLOCK.findall(page):
        printed = StringIO()
        if kind == "toml":
            (folder / text.split("\n", 1)[0].removeprefix("# ")).write_text(text, encoding="utf-8")
        elif kind == "python":
            with chdir(folder), redirect_stdout(printed):
                exec(compile(text, GUIDE, "exec"), variables)
        else:
            for line in text.replace("\\\n", " ").splitlines():
                program, *given = shlex.split(line)
                if program == "cd":
                    folder /= given[0]
                else:
                    printed.write(run_command(program, given, folder))
        yield text, output, printed.getvalue()


def run_command(program: str, given: list[str], folder: Path) -> str:
    """What a command of the guide prints: one of secfc, or a program of this project."""
    called = ["-m", "secfc", *given] if program == "secfc" else [str(ROOT / given[0]), *given[1:]]
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    command = [sys.executable, *called]
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def picture_report(folder: Path) -> None:
    """Draw the top of the report north.html as report.png, on a light ground and in few colours."""
    picture = folder / "report.png"
    options = ["--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=960,960"]
    command = ["chromium", *options, f"--user-data-dir={folder / 'profile'}", f"--screenshot={picture}"]
    subprocess.run([*command, (folder / "north.html").as_uri()], check=True, capture_output=True)
    Image.open(picture).convert("RGB").quantize(64).save(picture, optimize=True)


def main(names: list[str]) -> None:
    """Run what is named, or all, with data that everybody has."""
    os.environ.pop("SECFC_DATA", None)
    os.environ["MPLBACKEND"] = "agg"
    for name in names or [*sorted(path.stem for path in EXAMPLES.glob("*.ipynb")), GUIDE]:
        with tempfile.TemporaryDirectory() as folder:
            if name != GUIDE:
                store_notebook(name, Path(folder))
                continue
            for _ in run_guide(Path(folder), {}):
                pass
            if shutil.which("chromium"):
                picture_report(Path(folder) / "study")
            for path in Path(folder).rglob("*.png"):
                (PICTURES / path.name).write_bytes(path.read_bytes())


if __name__ == "__main__":
    main(sys.argv[1:])
