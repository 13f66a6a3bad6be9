"""Both implementations, their block edges, and a subprocess that imports this secfc."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

import secfc

PACKAGE = Path(secfc.__file__).resolve().parent


@pytest.fixture(scope="session")
def python() -> Callable[..., str]:
    """Run code in a new interpreter and return what it prints.

    `package` is the folder to import secfc from. Other keywords are environment variables; None unsets one.
    """

    def run(
        code: str, *, package: Path = PACKAGE.parent, options: Sequence[str] = (), **variables: Any
    ) -> str:
        wanted = {"PYTHONPATH": str(package), "SECFC_KERNELS": None, "NUMBA_DISABLE_JIT": None} | variables
        environment = {name: value for name, value in os.environ.items() if name not in wanted}
        environment |= {name: str(value) for name, value in wanted.items() if value is not None}
        done = subprocess.run(
            [*options, sys.executable, "-W", "error", "-c", dedent(code)],
            check=False,
            capture_output=True,
            text=True,
            env=environment,
            cwd=package,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
