"""What each organisation states and signs of a run that ended, and the summary that collects all statements.

::

    signed = "secfc statement 1" | canonical JSON of the statement

A statement is a party's own: which job ran and in which versions, who took part, how many bytes of each type
of message left it, and how it ended. It holds no row, label, share or distance.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from secfc.agreement.job_file import Agreement
from secfc.agreement.signatures import decoded, encoded
from secfc.agreement.toml_file import FileSchema, check_values, read_text
from secfc.errors import ParameterError
from secfc.outputs import replace_text
from secfc.params import MAX_CLIENTS
from secfc.public_errors import COMPLETE, LEFT_OUT, MISSED, is_ending
from secfc.sealing.identity import Identity

_SIGNED = b"secfc statement 1"
_MOST_TEXT, _MOST_SHORT = 2000, 100
_MOST_ENTRIES = 50

Hex32 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Hex16 = Annotated[str, Field(pattern="^[0-9a-f]{32}$")]


def _printable(text: str) -> str:
    if not text.isprintable():  # it is shown on terminals
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
"""How a run ended, for a party or for the coordinator: of a closed list, with names of the roster."""


class Sent(FileSchema):
    """Messages of one type that left a party."""

    messages: Count
    bytes: Count


class Statement(FileSchema):
    """What a party states.

    Attributes
    ----------
    job : str
        Digest of the agreement, in hexadecimal.
    run : str
        Identifier of the run.
    party : str
    client : int
        Its number.
    versions : dict of str to str
        Of secfc, Python and the libraries that arithmetic and secrecy rest on.
    began, ended_at : str
        Times in UTC, by the party's own clock.
    introductions : str or None
        Digest of the signed introductions of all clients, as this one received them; None when it received
        none.
    took_part : list of str
        Parties whose introductions it verified.
    sent : dict of str to Sent
        What left it, by type of message.
    ended : str
        "complete" when it received its labels, else type and code of its own error, or of what it was told.
    iterations : int or None
        Of the result.
    converged : bool or None
    """

    job: Hex32
    run: Hex16
    party: Short
    client: Count
    versions: Annotated[dict[Short, Short], Field(max_length=_MOST_ENTRIES)]
    began: Short
    ended_at: Short
    introductions: Hex32 | None
    took_part: Annotated[list[Short], Field(max_length=MAX_CLIENTS)]
    sent: Annotated[dict[Short, Sent], Field(max_length=_MOST_ENTRIES)]
    ended: Ending
    iterations: Count | None
    converged: bool | None

    def signed_bytes(self) -> bytes:
        """What is signed."""
        text = json.dumps(self.model_dump(), sort_keys=True, separators=(",", ":"))
        return _SIGNED + text.encode()


class SignedStatement(FileSchema):
    """A statement and its party's signature, as summaries hold them."""

    statement: Statement
    signature: str


class Summary(FileSchema):
    """A summary, as its file has it; `secfc.agreement.audit` checks it.

    Attributes
    ----------
    agreement : str
        Canonical content of the agreement that it says it is about.
    statements : list of SignedStatement
    coordinator : dict
        What the coordinator says. Nobody signs it, and nothing rests on it.
    """

    format: Literal["secfc summary 1"]
    agreement: str
    statements: list[SignedStatement]
    coordinator: dict[str, Any] = Field(repr=False)


def sign_statement(statement: Statement, identity: Identity) -> SignedStatement:
    """The statement with its party's signature."""
    return SignedStatement(statement=statement, signature=encoded(identity.sign(statement.signed_bytes())))


def write_summary(
    path: Path,
    agreement: Agreement,
    statements: Iterable[SignedStatement],
    coordinator: dict[str, Any],
) -> None:
    """Write the summary of a run.

    Parameters
    ----------
    path : Path
    agreement : Agreement
    statements : iterable of SignedStatement
        Of the parties that gave one.
    coordinator : dict
        What the coordinator adds, for JSON.
    """
    summary = Summary(
        format="secfc summary 1",
        agreement=agreement.to_json(),
        statements=sorted(statements, key=lambda one: one.statement.client),
        coordinator=coordinator,
    )
    replace_text(path, json.dumps(summary.model_dump(), indent=2) + "\n")


def statement_of(values: object, *, name: str) -> SignedStatement:
    """A signed statement that somebody sent, its form checked and not its signature.

    Raises
    ------
    ParameterError
        Naming who sent it.
    """
    return _checked(check_values(values, SignedStatement, name=name), name)


def read_summary(path: Path) -> Summary:
    """The summary in a file, its form checked and not its signatures.

    Raises
    ------
    ParameterError
        Naming the file, and the line or key.
    """
    try:
        values = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise ParameterError(f"{path}:{error.lineno}: not JSON: {error.msg}") from None
    except (ValueError, RecursionError):
        raise ParameterError(f"{path}: not JSON that can be read") from None
    summary = check_values(values, Summary, name=str(path))
    for at, one in enumerate(summary.statements):
        _checked(one, f"{path}: statements[{at + 1}]")
    return summary


def _checked(one: SignedStatement, name: str) -> SignedStatement:
    try:
        decoded(one.signature)
    except ValueError as error:
        raise ParameterError(f"{name}: signature: {error}") from None
    return one
