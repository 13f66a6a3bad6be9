"""Sites on disk as organisations keep them: a job file, and each site's rows and configuration."""

import json
import secrets
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from secfc.drivers.flare.jobs import Agreement, read_agreement
from secfc.sealing.identity import KEY_BYTES, Identity

collect_ignore = (
    [] if find_spec("nvflare") else ["test_flare.py", "test_flare_refusals.py", "test_deployment_page.py"]
)
"""They need secfc[flare]."""


class Organisations:
    """Files of some organisations in a folder."""

    def __init__(self, folder: Path, rows: list[np.ndarray], **job: Any) -> None:
        self.folder, self.rows = folder, rows
        self.sites = tuple(f"site-{j}" for j in range(1, len(rows) + 1))
        bound = max(float(np.linalg.norm(part, axis=1).max(initial=0.0)) for part in rows)
        values = {"k": 3, "t": 1, "ell": 1, "bound": bound, "seed": 3} | job
        self.text = "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items())
        self.text += f"d = {rows[0].shape[1]}\n[roster]\n"
        for name in self.sites:
            private = secrets.token_bytes(KEY_BYTES)
            (folder / f"{name}.key").write_text(private.hex())
            self.text += f'{name} = "{Identity(private).public.hex()}"\n'
        (folder / "job.toml").write_text(self.text)
        for name, part in zip(self.sites, rows, strict=True):
            np.save(folder / f"{name}.npy", part)
            self.configure(name)

    @property
    def agreement(self) -> Agreement:
        return read_agreement(self.text)

    def config(self, name: str) -> Path:
        return self.folder / f"{name}.toml"

    def configure(self, name: str, *, job: str = "job.toml", data: str | None = None, more: str = "") -> None:
        """Write a site's configuration; `more` is TOML before the tables."""
        lines = [f'job = "{job}"', f'key = "{name}.key"', f'results = "results-{name}"', more]
        lines += ["[data]", f'path = "{data or f"{name}.npy"}"', ""]
        self.config(name).write_text("\n".join(lines))

    def written(self, name: str) -> list[Path]:
        """What the site has in its folder of results."""
        folder = self.folder / f"results-{name}"
        return sorted(folder.iterdir()) if folder.exists() else []

    def forget(self, name: str) -> None:
        """Empty the site's folder of results."""
        for folder in self.written(name):
            shutil.rmtree(folder)

    def summary(self, name: str) -> dict[str, Any]:
        (folder,) = self.written(name)
        summary: dict[str, Any] = json.loads((folder / "summary.json").read_text())
        return summary

    def labels(self, name: str) -> np.ndarray:
        (folder,) = self.written(name)
        lines = (folder / "labels.csv").read_text().splitlines()[1:]
        return np.array([int(line.split(",")[1]) for line in lines], dtype=int)


def blobs(*counts: int, d: int = 4) -> list[np.ndarray]:
    """Rows of three blobs."""
    rng = np.random.default_rng(2)
    return [rng.normal(size=(m, d)) + rng.integers(3, size=(m, 1)) * 4 for m in counts]


@pytest.fixture(scope="session")
def organisations_of() -> type[Organisations]:
    return Organisations


@pytest.fixture(scope="session")
def blobs_of() -> Callable[..., list[np.ndarray]]:
    return blobs


@pytest.fixture
def organisations(tmp_path: Path) -> Callable[..., Organisations]:
    def make(*counts: int, **job: Any) -> Organisations:
        return Organisations(tmp_path, blobs(*counts), **job)

    return make
