"""The statement that each organisation signs after a run, and the summary that collects all statements.

::

    signed = "secfc statement 1" | canonical JSON of the statement

A statement says which job ran and in which versions, who took part, how many bytes of each type of message
left the party, and how the run ended. It holds no row, label, share or distance.
"""

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from secfc.agreement.job_file import Agreement
from secfc.agreement.public_errors import COMPLETE, LEFT_OUT, MISSED, is_ending
from secfc.agreement.schemas import Hex16, Hex32, SignatureBytes
from secfc.crypto.identity import Identity
from secfc.protocol.job.thresholds import MAX_CLIENTS
from secfc.tables.outputs import keep_earlier, replace_text
from secfc.tables.toml_file import MAX_BYTES, FileSchema, ListOf, TableOf, check_values, read_json
from secfc.version import versions

_SIGNED = b"secfc statement 1"
_MOST_TEXT, _MOST_SHORT = 2000, 100
_MOST_ENTRIES = 50

MOST_SUMMARY = 4 * MAX_BYTES
"""Most bytes of a summary that is read."""


def _printable(text: str) -> str:
    if not text.isprintable():  # terminals show it
        raise ValueError("printable characters are needed")
    return text


Text = Annotated[str, Field(max_length=_MOST_TEXT), AfterValidator(_printable)]
Short = Annotated[str, Field(max_length=_MOST_SHORT), AfterValidator(_printable)]
Count = Annotated[int, Field(ge=0, lt=1 << 63)]


def _of_the_list(text: str) -> str:
    if text not in (COMPLETE, LEFT_OUT, MISSED) and not is_ending(text):
        raise ValueError("a type of error and a code of secfc are needed")
    return text


Ending = Annotated[Text, AfterValidator(_of_the_list)]
"""How a run ended, for a party or for the coordinator: from a closed list, with names of the roster."""


class Sent(FileSchema):
    """Messages of one type that left a party."""

    messages: Count
    bytes: Count


class Statement(FileSchema):
    """The content that a party signs."""

    job: Hex32  # digest of the agreement
    run: Hex16
    party: Short
    client: Count  # its number
    versions: Annotated[TableOf[Short, Short], Field(max_length=_MOST_ENTRIES)]
    began: Short  # in UTC, by the party's own clock; also `ended_at`
    ended_at: Short
    # Digest of the signed introductions of all clients, as this one received them; None if it received none.
    introductions: Hex32 | None
    # In a job with owners: `Agreement.run_digest`, which fixes whose deposits count, and the digest of each
    # member's holding, from which it follows.
    deposits: Hex32 | None = None
    holdings: Annotated[ListOf[Hex32], Field(max_length=MAX_CLIENTS)] = Field(default=[])
    took_part: Annotated[ListOf[Short], Field(max_length=MAX_CLIENTS)]  # parties that it verified
    # What left it, by type of message; empty if labels were fetched, because its counts were lost.
    sent: Annotated[TableOf[Short, Sent], Field(max_length=_MOST_ENTRIES)]
    ended: Ending  # "complete" if it received its labels, else its own error, or the one it was sent
    iterations: Count | None  # of the result
    converged: bool | None

    def signed_bytes(self) -> bytes:
        """The bytes that are signed."""
        text = json.dumps(self.model_dump(), sort_keys=True, separators=(",", ":"))
        return _SIGNED + text.encode()


class SignedStatement(FileSchema):
    """A statement and its party's signature, as in summaries."""

    statement: Statement
    signature: SignatureBytes


class Summary(FileSchema):
    """The content of a summary file; `secfc.agreement.audit` checks it."""

    format: Literal["secfc summary 1"]
    agreement: str  # canonical content of the agreement that it claims to be about
    statements: ListOf[SignedStatement]
    coordinator: dict[str, Any] = Field(repr=False)  # not signed, and no check depends on it


def difference(stated: Mapping[str, Hashable]) -> str | None:
    """Parties that state another value than most do, as a text; all without a majority. None if all agree."""
    if len(set(stated.values())) <= 1:
        return None
    usual, count = Counter(stated.values()).most_common(1)[0]
    if 2 * count <= len(stated):
        return f"{', '.join(stated)}: most of them do not agree"
    return f"{', '.join(party for party, said in stated.items() if said != usual)} differ from the others"


def now() -> str:
    """The time in the format of statements."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def statement_by(agreement: Agreement, party: int, *, run: bytes, **more: Any) -> Statement:
    """What a party states now about a run; `more` are the fields that do not follow from the others."""
    return Statement(
        job=agreement.digest.hex(),
        run=run.hex(),
        party=agreement.names[party - 1],
        client=party,
        versions=versions("numpy", "cryptography"),  # on which arithmetic and secrecy depend
        ended_at=now(),
        **more,
    )


def sign_statement(statement: Statement, identity: Identity) -> SignedStatement:
    """The statement with its party's signature."""
    return SignedStatement(statement=statement, signature=identity.sign(statement.signed_bytes()))


def write_summary(
    path: Path, agreement: Agreement, statements: Iterable[SignedStatement], coordinator: dict[str, Any]
) -> None:
    """Write the summary of a run: statements of the parties, and what the coordinator adds.

    That of an earlier run gets another name.
    """
    summary = Summary(
        format="secfc summary 1",
        agreement=agreement.to_json(),
        statements=sorted(statements, key=lambda one: one.statement.client),
        coordinator=coordinator,
    )
    keep_earlier(path)
    replace_text(path, json.dumps(summary.model_dump(), indent=2) + "\n")


def statement_of(values: object, *, name: str) -> SignedStatement:
    """A signed statement that another party sent. Its form is checked, its signature is not."""
    return check_values(values, SignedStatement, name=name)


def read_summary(path: Path) -> Summary:
    """The summary in a file. Its form is checked, its signatures are not."""
    return check_values(read_json(path, most=MOST_SUMMARY), Summary, name=str(path))
