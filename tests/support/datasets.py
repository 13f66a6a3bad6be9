"""Readers for the datasets in the folder that SECFC_DATA names, and splits of rows among parties."""

import gzip
import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

G2 = [
    *((d, s) for d in (2, 4, 8, 16, 32) for s in (10, 20, 30, 50, 70, 90)),
    *((d, s) for d in (64, 128) for s in (10, 50, 90)),
]


def folder() -> Path:
    """The data folder. Without one, skip the test and say what is missing."""
    name = os.environ.get("SECFC_DATA")
    if not name:
        pytest.skip("SECFC_DATA is not set: it names a folder with the datasets")
    return Path(name)


def _file(relative: str) -> Path:
    path = folder() / relative
    if not path.is_file():
        pytest.skip(f"SECFC_DATA has no {relative}")
    return path


def _sipu(name: str) -> np.ndarray:
    return np.loadtxt(_file(f"sipu/{name}.txt"))


def _g2(d: int, s: int) -> np.ndarray:
    return np.loadtxt(_file(f"g2/g2-{d}-{s}.txt"))


def _igt(d: int) -> np.ndarray:
    lines = _file(f"igt/dim_reduced_{d}d.tsv").read_text().splitlines()[1:]
    return np.array([[float(x) for x in line.split("\t")[-d:]] for line in lines])


def _csv(relative: str) -> np.ndarray:
    path = _file(relative)
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    rows = [line.split(",") for line in text.splitlines()]
    try:
        float(rows[0][-1])
    except ValueError:
        rows = rows[1:]
    return np.array(rows, dtype=float)


def fkm_parties(beta: str) -> list[np.ndarray]:
    """The five clients of the FKM paper's synthetic data, noise 1."""
    parts = [
        _csv(f"fkm_synthetic/beta{beta}/cluster_beta{beta}_ppc50_noise1_client{i}.csv") for i in range(5)
    ]
    return [part[:, -2:] for part in parts]


def femnist_parties() -> list[np.ndarray]:
    """Ten writers of FEMNIST as the FKM paper uses them."""
    return [_csv(f"femnist_fkm/MNIST_cluster_client{i}.csv.gz")[:, -784:] for i in range(10)]


def _leaf() -> np.ndarray:
    archive = zipfile.ZipFile(_file("femnist_leaf/IID_NEW.zip"))
    names = sorted(n for n in archive.namelist() if n.endswith("User_Data.csv") and "__MACOSX" not in n)
    return np.vstack([np.loadtxt(io.BytesIO(archive.read(n)), delimiter=",", ndmin=2) for n in names])


def mnist() -> tuple[np.ndarray, np.ndarray]:
    """MNIST's training rows, 60,000 x 784 in 0..255, and digits."""
    images = gzip.decompress(_file("mnist/train-images-idx3-ubyte.gz").read_bytes())
    labels = gzip.decompress(_file("mnist/train-labels-idx1-ubyte.gz").read_bytes())
    rows = np.frombuffer(images, dtype=np.uint8, offset=16).reshape(-1, 784).astype(float)
    return rows, np.frombuffer(labels, dtype=np.uint8, offset=8)


# Name: (reader, clusters).
DATASETS: dict[str, tuple[Callable[[], np.ndarray], int]] = {
    **{name: (lambda name=name: _sipu(name), 15) for name in ("s1", "s2", "s3", "s4")},
    "a1": (lambda: _sipu("a1"), 20),
    **{f"g2-{d}-{s}": (lambda d=d, s=s: _g2(d, s), 2) for d, s in G2},
    "igt-2d": (lambda: _igt(2), 3),
    "igt-3d": (lambda: _igt(3), 3),
    **{f"fkm-beta{b}": (lambda b=b: np.vstack(fkm_parties(b)), 16) for b in ("0.1", "1", "10")},
    "femnist-fkm": (lambda: np.vstack(femnist_parties()), 10),
    "femnist-leaf": (_leaf, 10),
    "birch1": (lambda: _sipu("b1"), 100),
    "mnist": (lambda: mnist()[0], 10),
}


def even(rows: np.ndarray, n: int) -> list[np.ndarray]:
    """Row numbers of n parties of equal size."""
    return np.array_split(np.arange(len(rows)), n)


def skewed(rows: np.ndarray, n: int) -> list[np.ndarray]:
    """Row numbers of n parties that grow geometrically; the first two have no row and one row."""
    weights = np.concatenate([[0.0], 2.0 ** np.arange(n - 2)])
    ends = 1 + (np.cumsum(weights) / weights.sum() * (len(rows) - 1)).astype(int)
    return np.split(np.arange(len(rows)), [0, *ends[:-1]])


def by_class(rows: np.ndarray, n: int) -> list[np.ndarray]:
    """Row numbers of n parties, sliced along the direction of largest variance: one or two classes each."""
    centred = rows - rows.mean(axis=0)
    direction = np.linalg.svd(centred[:: max(1, len(rows) // 2000)], full_matrices=False)[2][0]
    return np.array_split(np.argsort(centred @ direction, kind="stable"), n)


SPLITS = {"even": even, "skewed": skewed, "by-class": by_class}
