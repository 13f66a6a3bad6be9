"""Plaintext federated k-means: the published methods that secure clustering is compared with.

Every estimator takes a list of parties (one 2-D array of rows each) instead of one matrix and otherwise has
scikit-learn's manners. :class:`ExactLloyd` is at the same time the reference for exact results: it computes
on integers and rationals only, and shares no code with the secure protocol.
"""

from plaintext_baselines.dwf import DWF, EWF
from plaintext_baselines.exact_lloyd import ExactLloyd
from plaintext_baselines.ffcm import FFCM
from plaintext_baselines.fkm import FKM
from plaintext_baselines.kfed import KFED
from plaintext_baselines.lloyd import Lloyd
from plaintext_baselines.parent_child import ParentChildKMeans

__all__ = ["DWF", "EWF", "FFCM", "FKM", "KFED", "ExactLloyd", "Lloyd", "ParentChildKMeans"]
