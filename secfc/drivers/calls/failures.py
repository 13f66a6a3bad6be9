"""Errors where they arise, and their effect on the other parties (docs/faults.md, Parties that vanish).

`secfc.agreement.public_errors` defines what other parties see of an error.
"""

import traceback
from pathlib import Path

from secfc.errors import CheatError, LimitError, PartyError, RangeError, SecFCError, StorageError
from secfc.errors.codes import Code, code_of_write
from secfc.errors.escaping import shown
from secfc.version import PACKAGE

_LONG = 2000  # characters of one line of an error in a log


def as_error(error: Exception) -> SecFCError:
    """The error as one of ours. The text of any other error is left out, because it may contain a value."""
    if isinstance(error, SecFCError):
        return error
    place = f"{type(error).__name__} {_place(error)}"
    if isinstance(error, OSError) and code_of_write(error) is Code.DISK_FULL:
        return StorageError(f"a disk is full: {place}", code=Code.DISK_FULL)
    return PartyError(place)


def detail(error: Exception) -> str:
    """An error with its text in one line, only for the log of the party where it arose."""
    own = as_error(error)
    text = "; ".join(shown(line.strip(), _LONG) for line in str(own).splitlines())
    return f"{type(own).__name__}: {own.code}: {text}"


def ends_run(error: SecFCError, *, shared: bool) -> bool:
    """Whether a client's error ends the run for all. Otherwise the client is absent from then on.

    A client that breaks is a fault, which the run tolerates. One that refuses something before all rows are
    `shared` has found that the parties do not agree. LimitError, CheatError and RangeError end the run at any
    time. A client's limits protect rows whose shares the others have. A server that cheats cheats all. An
    evaluator that raises RangeError found rows beyond the bound.
    """
    return isinstance(error, LimitError | CheatError | RangeError) or not (
        shared or isinstance(error, PartyError | StorageError)
    )


def _place(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return "at an unknown place"
    frame = frames[-1]
    path = Path(frame.filename)
    inside = path.relative_to(PACKAGE.parent) if path.is_relative_to(PACKAGE) else path.name
    return f"at {inside}:{frame.lineno} in {frame.name}"
