"""Who compares with disclosure "labels": a dealer, a first and a second evaluator, together the *trio*."""

from secfc.comparing.role import Comparer
from secfc.protocol.job.cases import LabelsOnly
from secfc.protocol.job.job import Job

RANGE_ROUND = 0
"""Number of the round before the first question, in which rows are shown to be within the bound."""


def places_of(job: Job) -> dict[Comparer, int]:
    """The client or helper in each place."""
    return dict(zip(Comparer, job.comparers, strict=True))


def is_sent(kind: str, job: Job, sender: int, recipient: int) -> bool:
    """Whether `sender` sends this type of message to `recipient`."""
    if not isinstance(job.disclosure, LabelsOnly):
        return False
    dealer, first, second = job.comparers
    match kind:
        case "SpareMasks":
            return sender == dealer and recipient <= job.n
        case "MaskedAnswer":
            return sender <= job.n and recipient == first
        case "MaskedDistances":
            return (sender, recipient) == (first, second)
    return kind == "Compared" and {sender, recipient} <= {dealer, first, second}
