"""The part of an error that other parties receive: type, code and public numbers (docs/how-to/errors.md)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

from secfc import errors
from secfc.errors import PartyError, SecFCError
from secfc.errors.codes import Code
from secfc.protocol.job.options import shared
from secfc.protocol.job.thresholds import MAX_CLIENTS, MAX_OWNERS, MAX_ROUNDS

TYPES: Mapping[str, type[SecFCError]] = {
    name: found
    for name, found in vars(errors).items()
    if isinstance(found, type) and issubclass(found, SecFCError)
}
"""Types of errors, by name."""

_CODES = {str(code): code for code in Code}
COMPLETE = "complete"  # the ending of a run for a party that has its result
LEFT_OUT = "the run continued without its rows"  # for a party that was left out
MISSED = "the run was complete before this party received its labels"  # for a party that received no labels
_MOST_CLIENTS = 50  # clients that a text names, so that it fits in a statement

_ENDING = re.compile(
    r"(?P<kind>\w+): (?P<code>[a-z-]+)(?: at [A-Za-z0-9_-]{1,63})?"
    r"(?: \((?:round|client|owner) \d{1,10}(?:, (?:client|owner) \d{1,10})*\))?",
    re.ASCII,
)


@dataclass(frozen=True, kw_only=True)
class PublicError:
    """What a party sends to others about an error: its type, its code and public numbers, no text."""

    kind: str  # name of a type of `secfc.errors`
    code: Code
    clients: tuple[int, ...] = ()  # clients that the error names
    owners: tuple[int, ...] = ()  # owners that it names
    round: int | None = None  # the round that it names
    party: int | None = None  # the client where it arose; None if it is the coordinator's own

    @classmethod
    def of(cls, error: SecFCError) -> "PublicError":
        """The public part of an error; its text is not included."""
        kind = next(one.__name__ for one in type(error).__mro__ if one.__name__ in TYPES)
        return cls(kind=kind, **shared(error, cls))

    @classmethod
    def read(cls, said: Mapping[str, Any]) -> "PublicError":
        """Parse what another party sent; unknown types and codes count as an error in its program."""
        kind, code, clients = (said.get(key) for key in ("error", "code", "clients"))
        round_, party = said.get("round"), said.get("party")
        return cls(
            kind=kind if isinstance(kind, str) and kind in TYPES else PartyError.__name__,
            code=_CODES.get(code, Code.INTERNAL) if isinstance(code, str) else Code.INTERNAL,
            clients=_numbers_of(clients, MAX_CLIENTS),
            owners=_numbers_of(said.get("owners"), MAX_OWNERS),
            round=round_ if _is_number(round_, MAX_ROUNDS) else None,
            party=party if _is_number(party, MAX_CLIENTS) else None,
        )

    def to_json(self) -> dict[str, Any]:
        """The form that is sent."""
        return {
            "error": self.kind,
            "code": str(self.code),
            "clients": list(self.clients),
            "owners": list(self.owners),
            "round": self.round,
            "party": self.party,
        }

    def error(self, text: str) -> SecFCError:
        """The error, with a text written by the recipient."""
        return TYPES[self.kind](
            text,
            code=self.code,
            clients=self.clients,
            owners=self.owners,
            round_=self.round,
            party=self.party,
        )

    def said_by(self, party: int, *, names: Sequence[str]) -> SecFCError:
        """The error that the recipient raises; it knows the sender. The text is made of code and names."""
        text = f"{names[party - 1]}: {self.code}{self._numbers(names)}: {self.code.meaning}"
        return replace(self, party=party).error(f"{text}. {self.code.advice}")

    def ending(self, names: Sequence[str]) -> str:
        """How a run ended, for statements and summaries, with names from the roster."""
        known = self.party is not None and self.party <= len(names)
        place = f" at {names[self.party - 1]}" if self.party is not None and known else ""
        return f"{self.kind}: {self.code}{place}{self._numbers()}"

    def _numbers(self, names: Sequence[str] = ()) -> str:
        parts = [] if self.round is None else [f"round {self.round}"]
        for client in self.clients[:_MOST_CLIENTS]:
            parts.append(names[client - 1] if client <= len(names) else f"client {client}")
        parts += [f"owner {owner}" for owner in self.owners[:_MOST_CLIENTS]]
        return f" ({', '.join(parts)})" if parts else ""


def is_ending(text: str) -> bool:
    """Whether a text can be a result of `PublicError.ending`."""
    found = _ENDING.fullmatch(text)
    return found is not None and found["kind"] in TYPES and found["code"] in _CODES


def error_of_ending(ended: str, *, names: Sequence[str], before: str = "") -> PartyError:
    """The error for a run that did not end well, with the code of its ending and with names of clients."""
    found = _ENDING.fullmatch(ended)
    code = None if found is None else _CODES.get(found["code"])
    return PartyError(before + named(ended, names), code=code)


def named(ended: str, names: Sequence[str]) -> str:
    """An ending with names instead of numbers of clients."""

    def name(found: re.Match[str]) -> str:
        client = int(found[1])
        return names[client - 1] if 1 <= client <= len(names) else found[0]

    return re.sub(r"\bclient (\d{1,10})\b", name, ended)


def _numbers_of(said: object, most: int) -> tuple[int, ...]:
    numbers = said if isinstance(said, list) and len(said) <= MAX_CLIENTS else []
    return tuple(one for one in numbers if _is_number(one, most))


def _is_number(value: object, most: int) -> TypeGuard[int]:
    return type(value) is int and 1 <= value <= most
