"""Plaintext federated k-means: published methods with which secure clustering is compared.

Every estimator takes a list of parties (one 2-D array of rows each) instead of one matrix, and otherwise
follows scikit-learn's interface. :class:`ExactLloyd` is also the reference for exact results: it computes on
integers and rationals only and has no code in common with the secure protocol.
"""

from importlib.util import find_spec

if find_spec("sklearn") is None or find_spec("scipy") is None:
    raise ModuleNotFoundError(
        "plaintext_baselines needs scikit-learn, pip install '.[sklearn]' in a checkout of secfc"
    )

from plaintext_baselines.dwf import DWF, EWF
from plaintext_baselines.exact_lloyd import ExactLloyd
from plaintext_baselines.ffcm import FFCM
from plaintext_baselines.fkm import FKM
from plaintext_baselines.kfed import KFED
from plaintext_baselines.parent_child import ParentChildKMeans

__all__ = ["DWF", "EWF", "FFCM", "FKM", "KFED", "ExactLloyd", "ParentChildKMeans"]
