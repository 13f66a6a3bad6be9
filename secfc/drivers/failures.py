"""An exception as an error that may leave the process: our own as it is, of others only type and place."""

import traceback
from pathlib import Path

import secfc
from secfc import errors
from secfc.errors import PartyError, SecFCError


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


def _place(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    package = Path(secfc.__file__).parent.parent
    path = Path(frame.filename)
    shown = path.relative_to(package) if path.is_relative_to(package) else path.name
    return f"at {shown}:{frame.lineno} in {frame.name}"
