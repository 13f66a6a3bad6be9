"""Prepare data without pooling it: an agreed schema, statistics from opened sums, one transform for all."""

from secfc.prepare.column_transform import Preparation
from secfc.prepare.schema import Column, Schema
from secfc.prepare.statistics import Quartiles, Statistics

__all__ = ["Column", "Preparation", "Quartiles", "Schema", "Statistics"]
