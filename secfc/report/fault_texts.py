"""Faults of a run in words."""

from collections.abc import Sequence

from secfc.protocol.gathering import Faults
from secfc.protocol.job.cases import Deposited
from secfc.protocol.job.job import Job


def texts_of(faults: Faults, job: Job) -> list[str]:
    """For each client and helper, in order, what it failed to do. Empty for one that did its part."""
    vanished, wrong = _vanished(faults), _wrong(faults)
    said = (
        (
            "left out: it vanished or was refused while rows were shared; its rows are not clustered",
            vanished,
        ),
        (
            "left out: it lied about shares, or the server withheld some; its rows are not clustered",
            _lied(faults, kept=False),
        ),
        (
            "excluded: it lied about others' shares, or the server withheld some; its rows are clustered",
            _lied(faults, kept=True),
        ),
        ("excluded: it sent wrong answers; its rows are clustered", wrong),
        ("absent: it stopped answering; its rows are clustered", faults.absent),
        (
            "it reports that it cannot read another client's shares, and it is not known which of "
            "the two, or the server, is at fault; its rows are clustered",
            tuple(recipient for _, recipient in faults.unread),
        ),
        (
            "another client reports that it cannot read this client's shares, and it is not known "
            "which of the two, or the server, is at fault; its rows are clustered",
            tuple(dealer for dealer, _ in faults.unread),
        ),
        (
            "an evaluator says that it sent wrong shares, or the dealer dealt for other masks, which "
            "nobody else can check; its rows are clustered",
            tuple(holder for _, holder in faults.claimed),
        ),
    )
    of_clients = ["; ".join(text for text, clients in said if j in clients) for j in range(1, job.n + 1)]
    of_helpers = [
        "; ".join(text.split(";")[0] for text, parties in said if j in parties)  # helpers have no rows
        for j in range(job.n + 1, job.parties + 1)
    ]
    return of_clients + of_helpers


def described_faults(faults: Faults, job: Job, names: Sequence[str] = ()) -> str:
    """One sentence, empty if all did their part. `names` are those that `Job.names_of` takes."""
    vanished, wrong = _vanished(faults), _wrong(faults)
    names, without, within = job.names_of(names), "", ""
    if not isinstance(job.rows, Deposited):  # members of a committee have no rows
        without, within = ", and their rows are not clustered", "; their rows are clustered"
    said = {
        "stopped answering": faults.absent,
        f"vanished before all rows were shared{without}": vanished,
        f"lied about shares, or the server withheld some{without}": _lied(faults, kept=False),
        "lied about others' shares, or the server withheld some, and were excluded": _lied(faults, kept=True),
        "sent wrong answers and were excluded": wrong,
    }
    told = [f"{', '.join(names[j - 1] for j in clients)} {what}" for what, clients in said.items() if clients]
    told += [
        f"{names[recipient - 1]} reports that it cannot read the shares of {names[dealer - 1]}, and "
        f"it is not known which of the two, or the server, is at fault{within}"
        for dealer, recipient in faults.unread
    ]
    told += [
        f"according to {names[evaluator - 1]}, {names[holder - 1]} sent wrong shares, or the dealer "
        f"dealt for other masks, which nobody else can check{within}"
        for evaluator, holder in faults.claimed
    ]
    return "; ".join(told)


def _vanished(faults: Faults) -> tuple[int, ...]:
    return tuple(j for j in faults.left_out if j not in faults.cheats)


def _wrong(faults: Faults) -> tuple[int, ...]:
    return tuple(j for j in faults.liars if j not in faults.cheats)


def _lied(faults: Faults, *, kept: bool) -> tuple[int, ...]:
    """The `cheats` whose rows are in (`kept`) or not."""
    return tuple(j for j in faults.cheats if kept == (j not in faults.left_out))
