"""The roster file: all parties in the order of client numbers, with the keys that everybody pins.

Helpers are parties without rows that compare; the coordinator runs the server. A public key file, which an
organisation hands over, is a roster file with one party.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from secfc.agreement.key_files import key_words
from secfc.agreement.schemas import PublicKey
from secfc.agreement.words import to_words
from secfc.crypto.identity import Roster
from secfc.errors import AgreementError, ParameterError
from secfc.errors.codes import Code
from secfc.protocol.job.thresholds import COMPARERS, MAX_CLIENTS
from secfc.tables.outputs import replace_text
from secfc.tables.toml_file import FileSchema, ListOf, TomlFile, read_text, toml_text

_FINGERPRINT = b"secfc roster fingerprint 2"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
_HEAD = "# secfc roster: the order of parties is that of their client numbers, helpers come behind them.\n"
_MOST_ORGANISATION = 200
RESERVED = "server"  # no party's name, in any case of letters: FLARE gives it to the coordinator's process


def _possible_name(name: str) -> str:
    if not is_name(name):
        raise ValueError("1 to 63 letters, digits, '-' and '_' are possible, a letter or digit first")
    if name.lower() == RESERVED:
        raise ValueError(f"{name!r} is what FLARE calls the coordinator's process")
    return name


def _possible_organisation(text: str) -> str:
    if not text.isprintable() or len(text) > _MOST_ORGANISATION:
        raise ValueError(f"at most {_MOST_ORGANISATION} printable characters are possible")
    return text


def is_name(text: str) -> bool:
    """Whether a party, or an owner of rows, can have this name."""
    return _NAME.fullmatch(text) is not None


class Member(FileSchema):
    """A party, as an entry of a file."""

    # Short; used in files and errors, and as FLARE's name of the site.
    name: Annotated[str, AfterValidator(_possible_name)]
    organisation: Annotated[str, AfterValidator(_possible_organisation)] = ""  # its full name, for people
    key: PublicKey = Field(repr=False)

    @property
    def words(self) -> str:
        """Twelve words that encode the fingerprint of its key."""
        return key_words(self.key)

    def to_toml(self, table: str = "[[party]]") -> str:
        """Its entry in a roster file."""
        return toml_text(table, {key: value for key, value in self.model_dump().items() if value})


class RosterSchema(FileSchema):
    """A roster file."""

    coordinator: Member | None = None
    party: ListOf[Member] = Field(min_length=1, max_length=MAX_CLIENTS)
    helper: ListOf[Member] = Field(default=[], max_length=COMPARERS)


@dataclass(frozen=True)
class Consortium:
    """All parties and the coordinator. A roster may have none while it is collected, but a job needs one."""

    members: tuple[Member, ...]  # clients, client 1 first
    coordinator: Member | None = None
    helpers: tuple[Member, ...] = ()  # parties without rows that compare

    @cached_property
    def roster(self) -> Roster:
        """Only the keys."""
        coordinator = None if self.coordinator is None else self.coordinator.key
        return Roster(tuple(member.key for member in self.parties), coordinator)

    @property
    def parties(self) -> tuple[Member, ...]:
        """Clients, then helpers."""
        return self.members + self.helpers

    @property
    def everybody(self) -> tuple[Member, ...]:
        """The coordinator, if there is one, and all parties."""
        return (*(() if self.coordinator is None else (self.coordinator,)), *self.parties)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parties, client 1 first."""
        return tuple(member.name for member in self.parties)

    def to_dict(self) -> dict[str, Any]:
        """Its values in canonical content, as in a roster file."""
        return {
            "coordinator": None if self.coordinator is None else self.coordinator.model_dump(),
            "party": [member.model_dump() for member in self.members],
            "helper": [helper.model_dump() for helper in self.helpers],
        }

    @property
    def words(self) -> str:
        """Twenty-four words that encode the fingerprint of all names, keys and their order."""
        content = json.dumps(self.to_dict(), sort_keys=True)
        return to_words(hashlib.sha256(_FINGERPRINT + content.encode()).digest())

    def check_coordinator(self, key: bytes, *, file: Path) -> None:
        """Raise AgreementError unless this is the coordinator's public key."""
        if self.coordinator is None or self.coordinator.key != key:
            raise _not_in_roster(f"{file}: not the key that the roster has for the coordinator")

    def number_of(self, name: str, key: bytes, *, file: Path) -> int:
        """Client number of a party; AgreementError unless it is in the roster with the key in the file."""
        if name not in self.names:
            raise AgreementError(f"{name!r} is not in the roster ({', '.join(self.names)})")
        number = self.names.index(name) + 1
        if self.parties[number - 1].key != key:
            raise _not_in_roster(f"{file}: not the key that the roster has for {name} (client {number})")
        return number

    def number_with(self, key: bytes, *, file: Path) -> int:
        """Client number of the party with this public key; AgreementError if no party has it."""
        for number, member in enumerate(self.parties, 1):
            if member.key == key:
                return number
        raise _not_in_roster(f"{file}: its public key is not in the roster ({', '.join(self.names)})")


def _not_in_roster(text: str) -> AgreementError:
    return AgreementError(text, code=Code.KEY_NOT_IN_ROSTER)


def check_member(name: str, organisation: str) -> None:
    """Raise ParameterError unless a party can have these names."""
    for key, check, text in (
        ("name", _possible_name, name),
        ("organisation", _possible_organisation, organisation),
    ):
        try:
            check(text)
        except ValueError as error:
            raise ParameterError(f"{key}: {error}") from None


def read_roster(path: Path) -> Consortium:
    """The parties in a roster or public key file; ParameterError with file, line and party."""
    return roster_of(TomlFile(path))


def add_members(
    path: Path, members: list[Member], coordinator: Member | None = None, helpers: Sequence[Member] = ()
) -> Consortium:
    """Append parties, a coordinator and helpers to a roster file, which is created if it does not exist.

    Existing text is kept. ParameterError, and an unchanged file, if the result is no valid roster.
    """
    text = _HEAD
    if path.exists():
        read_roster(path)
        text = read_text(path)
    text += "" if text.endswith("\n") else "\n"
    text = roster_text(members, coordinator, helpers, before=text)
    consortium = roster_of(TomlFile(path, text))
    replace_text(path, text)
    return consortium


def roster_text(
    members: Sequence[Member],
    coordinator: Member | None = None,
    helpers: Sequence[Member] = (),
    *,
    before: str = _HEAD,
) -> str:
    """The text of a roster file with these parties behind what is there `before`."""
    entries = [] if coordinator is None else [coordinator.to_toml("[coordinator]")]
    entries += [member.to_toml() for member in members]
    entries += [helper.to_toml("[[helper]]") for helper in helpers]
    return before + "".join(f"\n{entry}" for entry in entries)


def roster_of(file: TomlFile) -> Consortium:
    """The parties in a roster file that was already read; ParameterError with file, line and party."""
    schema = file.check(RosterSchema)
    wrong: list[tuple[int, str]] = []
    names: dict[str, str] = {}
    keys: dict[bytes, str] = {}
    entries: list[tuple[str, tuple[str | int, ...], Member]] = [
        (f"{kind} {at + 1}", (kind, at), one)
        for kind, listed in (("party", schema.party), ("helper", schema.helper))
        for at, one in enumerate(listed)
    ]
    if schema.coordinator is not None:
        entries.append(("the coordinator", ("coordinator",), schema.coordinator))
    for who, place, one in entries:
        first = names.setdefault(one.name.lower(), who)
        if first != who:
            wrong.append((file.line(*place, "name"), f"{who}: {one.name!r} is the name of {first} too"))
        first = keys.setdefault(one.key, who)
        if first != who:
            wrong.append((file.line(*place, "key"), f"{who} ({one.name}): the key of {first} too"))
    if wrong:
        raise ParameterError("\n".join(f"{file.path}:{line}: {text}" for line, text in sorted(wrong)))
    return Consortium(tuple(schema.party), schema.coordinator, tuple(schema.helper))
