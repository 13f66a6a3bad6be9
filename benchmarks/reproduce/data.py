"""Data files of the papers. A missing file gives a one-line error that says what to get."""

import gzip
import io
import zipfile
from pathlib import Path

import numpy as np

from secfc.errors import DataError
from secfc.field.array_types import Floats, Ints

FKM_REPOSITORY = "folder data/ of github.com/swiergarst/fedKMeans"
DWF_REPOSITORY = 'folder "data femnist/" of github.com/PatrickITWM/DWF-k-means (in its history)'

MNIST_ROWS = 60_000
"""MNIST's training images are the first of OpenML's 70,000."""


def found(folder: Path | None, relative: str, source: str) -> Path:
    """The file below the data folder.

    Raises
    ------
    DataError
        In one line: the missing file, and its source.
    """
    if folder is None:
        raise DataError(
            f"{relative} is needed: set --data-dir or SECFC_DATA to a folder with it, from {source}"
        )
    path = folder / relative
    if not path.is_file():
        raise DataError(f"{path} is missing: get it from {source}")
    return path


def fkm_parties(folder: Path | None, beta: str, suffix: str = "") -> tuple[list[Floats], list[Ints]]:
    """Rows and classes of the five clients of FKM's grid; `suffix` as in "_ppc50_noise1.5"."""
    return _fkm(folder, f"beta{beta}/cluster_", f"beta{beta}/labels_", f"beta{beta}{suffix}")


def fkm_variable(folder: Path | None) -> tuple[list[Floats], list[Ints]]:
    """The same for Figure 4: clients with 16, 1, 3, 10 and 7 clusters."""
    return _fkm(folder, "cluster_wise_small/", "cluster_wise_small/labels_", "cluster_wise")


def _fkm(
    folder: Path | None, rows_prefix: str, labels_prefix: str, name: str
) -> tuple[list[Floats], list[Ints]]:
    rows, classes = [], []
    for client in range(5):
        path = found(folder, f"fkm_synthetic/{rows_prefix}{name}_client{client}.csv", FKM_REPOSITORY)
        rows.append(np.loadtxt(path, delimiter=",", ndmin=2))
        path = found(folder, f"fkm_synthetic/{labels_prefix}{name}_client{client}.csv", FKM_REPOSITORY)
        classes.append(np.atleast_1d(np.loadtxt(path)).astype(np.int64))
    return rows, classes


def femnist_writers(folder: Path | None) -> list[Floats]:
    """Ten writers of FEMNIST, 784 columns, as in FKM's Figure 5."""
    parties = []
    for client in range(10):
        path = found(folder, f"femnist_fkm/MNIST_cluster_client{client}.csv.gz", FKM_REPOSITORY)
        lines = gzip.decompress(path.read_bytes()).decode().splitlines()
        try:
            float(lines[0].split(",")[-1])
        except ValueError:
            lines = lines[1:]
        parties.append(np.array([line.split(",")[-784:] for line in lines], dtype=np.float64))
    return parties


def femnist_iid(folder: Path | None) -> tuple[list[Floats], list[Ints]]:
    """FEMNIST's IID draw for 100 clients (16,744 rows, 784 columns) and its 62 classes, for DWF's tables."""
    path = found(folder, "femnist_leaf/IID_NEW.zip", DWF_REPOSITORY)
    with zipfile.ZipFile(path) as archive:
        names = {name for name in archive.namelist() if "__MACOSX" not in name}
        rows = sorted(name for name in names if name.endswith("User_Data.csv"))

        def read(name: str) -> Floats:
            return np.loadtxt(io.BytesIO(archive.read(name)), delimiter=",", ndmin=2)

        parties = [read(name) for name in rows]
        classes = [read(name.replace("User_Data", "User_Label")).ravel().astype(np.int64) for name in rows]
    return parties, classes


def mnist(folder: Path | None) -> tuple[Floats, Ints]:
    """MNIST's 60,000 training images, 784 columns in [0, 1], and their digits.

    Without a data folder, scikit-learn's fetcher gets them from OpenML and keeps a copy.
    """
    if folder is None:
        return _mnist_from_openml()
    images = found(folder, "mnist/train-images-idx3-ubyte.gz", "MNIST's IDX files, by any mirror")
    digits = found(folder, "mnist/train-labels-idx1-ubyte.gz", "MNIST's IDX files, by any mirror")
    rows = np.frombuffer(gzip.decompress(images.read_bytes()), dtype=np.uint8, offset=16)
    classes = np.frombuffer(gzip.decompress(digits.read_bytes()), dtype=np.uint8, offset=8)
    return rows.reshape(-1, 784) / 255.0, classes.astype(np.int64)


def _mnist_from_openml() -> tuple[Floats, Ints]:
    from sklearn.datasets import fetch_openml  # noqa: PLC0415 - only where there is no data folder

    try:
        rows, classes = fetch_openml(
            "mnist_784", version=1, return_X_y=True, as_frame=False, parser="liac-arff"
        )
    except OSError as error:  # no network, or the server refuses
        raise DataError(
            "MNIST could not be fetched from OpenML: set --data-dir or SECFC_DATA to a folder with "
            "mnist/train-images-idx3-ubyte.gz and mnist/train-labels-idx1-ubyte.gz, from any mirror"
        ) from error
    return rows[:MNIST_ROWS] / 255.0, classes[:MNIST_ROWS].astype(np.int64)


def g2_rows(folder: Path | None, n_features: int, sigma: int) -> Floats | None:
    """An original G2 set of 2048 rows; None if its file is missing."""
    if folder is None:
        return None
    path = folder / f"g2/g2-{n_features}-{sigma}.txt"
    return np.loadtxt(path) if path.is_file() else None
