"""Prepare data without pooling it: an agreed schema, statistics from opened sums, one transform for all."""

from secfc.prepare.column_transform import Preparation
from secfc.prepare.preparation_file import read_preparation
from secfc.prepare.schema import Column, Schema
from secfc.prepare.statistics import Mode, Quartiles, Statistics
from secfc.prepare.tables import read_rows

__all__ = [
    "Column",
    "Mode",
    "Preparation",
    "Quartiles",
    "Schema",
    "Statistics",
    "read_preparation",
    "read_rows",
]
