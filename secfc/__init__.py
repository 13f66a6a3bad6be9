"""Secure k-means over data that may not be pooled.

Several parties get the clustering that pooling their rows would have given; no coalition of up to t of them
learns anything about another's rows, and the coordinating server sees neither rows nor centres.

>>> import secfc
>>> result = secfc.run(parties, k=4, t=1, ell=1)  # doctest: +SKIP
>>> result.labels[0]  # doctest: +SKIP
"""

from secfc._run import run
from secfc.errors import (
    AgreementError,
    ConvergenceWarning,
    DataError,
    DuplicateIdError,
    FaultWarning,
    LimitError,
    MessageError,
    ParameterError,
    PartyError,
    PrivacyWarning,
    SealError,
    SecFCError,
    ThresholdError,
    TooManyFaultsError,
    UnionError,
)
from secfc.params import Job, Limits
from secfc.protocol.progress import Faults, Progress
from secfc.result import Result

__version__ = "0.1.0"

__all__ = [
    "AgreementError",
    "ConvergenceWarning",
    "DataError",
    "DuplicateIdError",
    "FaultWarning",
    "Faults",
    "Job",
    "LimitError",
    "Limits",
    "MessageError",
    "ParameterError",
    "PartyError",
    "PrivacyWarning",
    "Progress",
    "Result",
    "SealError",
    "SecFCError",
    "ThresholdError",
    "TooManyFaultsError",
    "UnionError",
    "run",
]
