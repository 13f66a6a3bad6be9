"""Every error and warning that secfc raises.

::

    SecFCError
    ├── ParameterError     an argument of a call cannot be used (also a ValueError)
    │   └── ThresholdError too few clients for (t, ell)
    ├── DataError          a party's rows or labels cannot be used (also a ValueError)
    ├── MessageError       a message that another party sent is refused; the receiver is unchanged
    │   └── SealError      it was not signed or sealed by the client it names, or for another place or run
    ├── LimitError         a party refuses a job or a round because of its own limits
    ├── AgreementError     parties do not agree: another roster or job, a signature that is missing or wrong
    ├── CheatError         clients received different unions, assignments or results, or impossible totals
    ├── RangeError         distances that rows within the public bound cannot have
    ├── TooManyFaultsError more parties vanished or lied than n >= R + S + 2A allows
    ├── PartyError         a party's process failed or vanished
    ├── StorageError       a party's stored state cannot be written, or cannot be used to restart it
    └── UnionError         the parties' IDs make no union
        └── DuplicateIdError   an ID is held more than once

Texts name the party, the argument and the wrong number, and never a data value. A text is for the party where
the error arose. Other parties get the type, a code and public numbers (docs/how-to/errors.md).
"""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, TypeVar

from secfc.errors.codes import Code


class SecFCError(Exception):
    """Base of every error that secfc raises.

    Parameters
    ----------
    text : str
        For the party where the error arises.
    code : Code, optional
        What other parties receive; by default the code of the type.
    clients : sequence of int
        Public numbers of the clients that the error names.
    owners : sequence of int, optional
        Public numbers of the owners that the error names. Owners deposited rows with a committee.
    round_ : int, optional
        Public number of the round that the error names.
    party : int, optional
        The client that reported the error; None where it arises.
    """

    default: ClassVar[Code] = Code.INTERNAL

    def __init__(
        self,
        *text: object,
        code: Code | None = None,
        clients: Sequence[int] = (),
        owners: Sequence[int] = (),
        round_: int | None = None,
        party: int | None = None,
    ) -> None:
        super().__init__(*text)
        self.code = self.default if code is None else code
        self.clients, self.owners = tuple(clients), tuple(owners)
        self.round = round_
        self.party = party


E = TypeVar("E", bound=SecFCError)
T = TypeVar("T")
UNIX = os.name == "posix"
_MOST_LINES = 50


def all_of(errors: Sequence[E], *, before: str = "") -> E:
    """One error with the texts of several, each after `before`, and the type and code of the first."""
    lines = [line for error in errors for line in str(error).split("\n")]
    lines = [line if line.startswith(" ") else before + line for line in lines]
    if len(lines) > _MOST_LINES:
        lines[_MOST_LINES:] = [f"{len(lines) - _MOST_LINES} more lines"]
    return type(errors[0])("\n".join(lines), code=errors[0].code)


def each(check: Callable[..., T], *many: Iterable[Any]) -> list[T]:
    """Results of a check for each item; all DataErrors are collected and raised as one."""
    found, wrong = [], []
    for one in zip(*many, strict=True):
        try:
            found.append(check(*one))
        except DataError as error:
            wrong.append(error)
    if wrong:
        raise all_of(wrong)
    return found


class ParameterError(SecFCError, ValueError):
    """An argument cannot be used; the text names it and says what would fit."""

    default = Code.BAD_PARAMETER


def missing(library: str, purpose: str, extra: str, *, code: Code | None = None) -> ParameterError:
    """The error for a library that is not installed, because it belongs to an extra."""
    text = f"{library} is needed for {purpose}, pip install '.[{extra}]' in a checkout of secfc"
    return ParameterError(text, code=code)


def need_unix(purpose: str) -> None:
    """ParameterError on a system without file modes, locks and links as Linux and macOS have them."""
    if not UNIX:
        raise ParameterError(f"{purpose}: Linux or macOS is needed, this is {sys.platform}")


class ThresholdError(ParameterError):
    """Fewer clients than the recovery threshold R = 2(ell + t) - 1."""

    default = Code.THRESHOLD


class DataError(SecFCError, ValueError):
    """A party's rows, labels or file cannot be used; the text never shows a value."""

    default = Code.BAD_DATA


class MessageError(SecFCError):
    """A received message is refused. The role that refused it has not changed."""

    default = Code.BAD_MESSAGE


class SealError(MessageError):
    """A signed or sealed message was not made by the client it names, or not for this place in this run."""

    default = Code.BAD_SIGNATURE


class LimitError(SecFCError):
    """A party's own limits forbid the job, or what comes next in it; the party stops."""

    default = Code.LIMIT


class AgreementError(SecFCError):
    """Parties do not agree on roster or job, or a signature is missing or wrong; the text names the party."""

    default = Code.NOT_AGREED


class CheatError(SecFCError):
    """Parties received different values, or values that nobody honest sends; the text names parties if known.

    It is also raised for different unions, and for opened totals of a preparation that no values can have.
    """

    default = Code.CHEATING_SERVER


class RangeError(SecFCError):
    """Distances of a round are larger than the public bound allows; no result that depends on them is sent.

    A client shared rows beyond the bound or, where answers are not checked, gave a wrong answer. The text
    names the client if it is known.
    """

    default = Code.IMPOSSIBLE_DISTANCES


class TooManyFaultsError(SecFCError):
    """More parties vanished or lied than the run tolerates; the text names the inequality that fails."""

    default = Code.TOO_MANY_FAULTS


class PartyError(SecFCError):
    """A party failed or vanished; the text names it."""


class StorageError(SecFCError):
    """A party's log cannot be written, or its content has changed; the text names the file."""

    default = Code.STORAGE


class UnionError(SecFCError):
    """The union of the parties' IDs could not be found; the text names the number that does not fit."""

    default = Code.UNION


class DuplicateIdError(UnionError):
    """An ID is held by two parties, or twice by one; the text never shows the ID."""

    default = Code.DUPLICATE_ID


class ColumnWarning(UserWarning):
    """Columns that the first party lacks were left out; the text names them."""


class ConvergenceWarning(UserWarning):
    """The run ended at ``max_iter``, not because the labels had converged."""


class FaultWarning(UserWarning):
    """The run tolerated parties that vanished or lied; the text names them."""


class PrecisionWarning(UserWarning):
    """With the given bound, most rows take few distinct values; labels are exact only for rounded rows."""


class PrivacyWarning(UserWarning):
    """The parameters protect or detect less than a reader may expect."""
