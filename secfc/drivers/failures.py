"""An exception as an error that may leave the process: our own as it is, of others only type and place.

And what a client's error means for the others, the same with every driver (docs/protocol.md, Parties that
vanish).
"""

import traceback
from pathlib import Path

import secfc
from secfc import errors
from secfc.errors import CheatError, LimitError, PartyError, SecFCError, StorageError


def as_error(error: Exception) -> SecFCError:
    """The error to tell others. The text of an error that is not ours may hold a value, so it is left out."""
    if isinstance(error, SecFCError):
        return error
    return PartyError(f"{type(error).__name__} {_place(error)}")


def error_of(kind: str, text: str) -> SecFCError:
    """An error that another process told, as our own type."""
    found = getattr(errors, kind, PartyError)
    own = isinstance(found, type) and issubclass(found, SecFCError)
    return found(text) if own else PartyError(text)


def ends_run(error: SecFCError, *, shared: bool) -> bool:
    """Whether a client's error ends the run for all; otherwise the client is absent from then on.

    Parameters
    ----------
    error : SecFCError
        As the client told it.
    shared : bool
        Whether all rows are shared.

    Notes
    -----
    A client that breaks is a fault, which the others bear with. One that refuses something before all rows
    are shared has found that the parties do not agree. Its limits protect rows whose shares the others hold,
    and a server that cheats does so to all, so these end a run at any time.
    """
    return isinstance(error, LimitError | CheatError) or not (
        shared or isinstance(error, PartyError | StorageError)
    )


def _place(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    package = Path(secfc.__file__).parent.parent
    path = Path(frame.filename)
    shown = path.relative_to(package) if path.is_relative_to(package) else path.name
    return f"at {shown}:{frame.lineno} in {frame.name}"
