"""Secure k-means over data of several parties that must not be pooled.

The parties get the clustering that pooling their rows would give. No coalition of up to t parties learns
anything about another party's rows. The coordinating server receives neither rows nor centres. What it
learns of distances depends on the disclosure (docs/threat-model.md).

>>> import secfc
>>> result = secfc.run(parties, k=4, t=1, ell=1)  # doctest: +SKIP
>>> result.labels[0]  # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from secfc.errors import (
    AgreementError,
    ColumnWarning,
    ConvergenceWarning,
    DataError,
    DuplicateIdError,
    FaultWarning,
    LimitError,
    MessageError,
    ParameterError,
    PartyError,
    PrecisionWarning,
    PrivacyWarning,
    RangeError,
    SealError,
    SecFCError,
    StorageError,
    ThresholdError,
    TooManyFaultsError,
    UnionError,
)
from secfc.version import VERSION

if TYPE_CHECKING:
    from secfc.api.choose_k import Candidate, Choice, choose_k
    from secfc.api.estimator import SecureKMeans
    from secfc.api.options import Membership, Reveal
    from secfc.api.predict import Prediction, predict
    from secfc.api.result import Result
    from secfc.api.run import run
    from secfc.api.stability import Stability, stability
    from secfc.api.transformer import Prepare
    from secfc.kmeans.consensus import Stable
    from secfc.protocol.gathering import Faults
    from secfc.protocol.job.job import Job
    from secfc.protocol.job.limits import Limits
from secfc.protocol.progress import Progress

__version__ = VERSION

__all__ = [
    "AgreementError",
    "Candidate",
    "Choice",
    "ColumnWarning",
    "ConvergenceWarning",
    "DataError",
    "DuplicateIdError",
    "FaultWarning",
    "Faults",
    "Job",
    "LimitError",
    "Limits",
    "Membership",
    "MessageError",
    "ParameterError",
    "PartyError",
    "PrecisionWarning",
    "Prediction",
    "Prepare",
    "PrivacyWarning",
    "Progress",
    "RangeError",
    "Result",
    "Reveal",
    "SealError",
    "SecFCError",
    "SecureKMeans",
    "Stability",
    "Stable",
    "StorageError",
    "ThresholdError",
    "TooManyFaultsError",
    "UnionError",
    "choose_k",
    "predict",
    "run",
    "stability",
]

_LATE = {
    **dict.fromkeys(("Prediction", "predict"), "secfc.api.predict"),
    "run": "secfc.api.run",
    **dict.fromkeys(("Candidate", "Choice", "choose_k"), "secfc.api.choose_k"),
    **dict.fromkeys(("Stability", "stability"), "secfc.api.stability"),
    "Stable": "secfc.kmeans.consensus",
    "SecureKMeans": "secfc.api.estimator",
    "Prepare": "secfc.api.transformer",
    "Limits": "secfc.protocol.job.limits",
    "Job": "secfc.protocol.job.job",
    "Faults": "secfc.protocol.gathering",
    "Progress": "secfc.protocol.progress",
    "Result": "secfc.api.result",
    **dict.fromkeys(("Membership", "Reveal"), "secfc.api.options"),
}
"""Names that are imported at first use: scikit-learn takes a second, the protocol a third of a second."""


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module 'secfc' has no attribute {name!r}")
    value = getattr(import_module(_LATE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
