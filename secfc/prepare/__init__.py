"""Preparing data without pooling it: an agreed schema, statistics opened as sums, one transform for all."""

from secfc.prepare.schema import Column, Schema
from secfc.prepare.transform import Preparation, Prepared, prepare

__all__ = ["Column", "Preparation", "Prepared", "Schema", "prepare"]
