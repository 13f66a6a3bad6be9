"""Prepare data without pooling it: an agreed schema, statistics from opened sums, one transform for all."""

from secfc.prepare.schema import Column, Schema
from secfc.prepare.statistics import Quartiles, Statistics
from secfc.prepare.transform import Preparation

__all__ = ["Column", "Preparation", "Quartiles", "Schema", "Statistics"]
