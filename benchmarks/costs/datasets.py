"""Datasets by name: those of tests/support/datasets.py, in the folder in SECFC_DATA."""

from collections.abc import Callable

import pytest

from secfc.errors import DataError, ParameterError
from secfc.field.array_types import Floats
from tests.support.datasets import DATASETS

NAMES: tuple[str, ...] = tuple(DATASETS)


def dataset_reader(name: str) -> tuple[Callable[[], Floats], int]:
    """The function that reads a dataset, and its number of clusters.

    Raises
    ------
    ParameterError
        If there is no dataset of this name.
    DataError
        When it is read, if its file is missing.
    """
    if name not in DATASETS:
        raise ParameterError(f"there is no dataset {name!r}, only {', '.join(NAMES)}")
    reader, k = DATASETS[name]

    def read() -> Floats:
        try:
            rows: Floats = reader()
        except pytest.skip.Exception as missing:  # how the readers report a missing file
            raise DataError(str(missing)) from None
        return rows

    return read, k
