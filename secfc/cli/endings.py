"""How commands end: their exit status and their answer to a program, after an error or Ctrl-C too."""

import inspect
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from secfc.cli import INTERRUPTED
from secfc.cli.render import error_console, log_file, people_on_stderr
from secfc.errors import SecFCError
from secfc.errors.codes import Code
from secfc.errors.escaping import shown
from secfc.protocol.job.options import MACHINE, retired_choice

FAILED, GIVEN, REFUSED, ABSENT = 1, 2, 3, 4
"""Exit statuses of every command beside 0: the run failed or a check does not hold; what was given cannot be
used, such as options, files and rows; limits, signatures or the agreement forbid it; a party is absent."""

STATUSES = {
    FAILED: "disk-full storage bad-message bad-signature cheating-server impossible-totals "
    "impossible-distances union stopped internal",
    REFUSED: "limit limit-smallest-set limit-rounds limit-rows limit-share no-consent not-agreed expired "
    "no-runs-left key-not-in-roster other-id-key other-version not-signed in-use",
    ABSENT: "party-vanished timeout too-many-faults union-opened",
}
"""Codes of errors by status; all others are GIVEN."""

_MOST_OF_LINE = 5000  # characters of an error's line, which may list the columns of a wide file


def status_of(code: Code) -> int:
    """The exit status of a command that ends with an error of this code."""
    return next((status for status, codes in STATUSES.items() if code in codes.split()), GIVEN)


@contextmanager
def told_which_log(logs: Sequence[Path]) -> Iterator[None]:
    """After an error say which of the parties' own logs got its whole text."""

    def sizes() -> list[int]:
        return [log.stat().st_size if log.is_file() else 0 for log in logs]

    before = sizes()
    try:
        yield
    except SecFCError:
        for log, old, new in zip(logs, before, sizes(), strict=True):
            if new > old:
                error_console().print(f"{log}: the whole text of an error", markup=False, soft_wrap=True)
        raise


@contextmanager
def plain_endings() -> Iterator[None]:
    """Print our own errors as one line, and end without a traceback after Ctrl-C."""
    try:
        yield
    except SecFCError as error:
        out = error_console()
        out.print("error:", style="bold red", end=" ")
        # A text may quote other parties line by line.
        text = "\n".join(shown(line, _MOST_OF_LINE) for line in str(error).split("\n"))
        out.print(f"{type(error).__name__}: {text}", soft_wrap=True)
        raise typer.Exit(status_of(error.code)) from None
    except KeyboardInterrupt:
        error_console().print("interrupted; nothing was written")
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def told_what_serves_instead() -> Iterator[None]:
    """Add what serves instead to an error about a value that was retired."""
    try:
        yield
    except typer.BadParameter as error:
        value = error.message.partition("'")[2].partition("'")[0]
        if error.param is not None and (instead := retired_choice(error.param.name or "", value)):
            error.message = f"{error.message.rstrip('.')}; {instead}"
        raise


class PlainGroup(TyperGroup):
    """A command group with `plain_endings` for all commands."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with plain_endings(), told_what_serves_instead():
            return super().invoke(ctx)


_ADDED: tuple[tuple[str, Any, Any, Any], ...] = (
    ("as_json", bool, False, typer.Option("--json", help="Print one JSON object.", rich_help_panel=MACHINE)),
    ("log", Path | None, None, typer.Option(help="Append log lines to this file.", rich_help_panel=MACHINE)),
    (
        "log_format",
        Literal["text", "json"],
        "text",
        typer.Option(help="Form of the lines in --log.", rich_help_panel=MACHINE),
    ),
)


def scripted(command: Callable[..., Any]) -> Callable[..., None]:
    """A command with --json, --log and --log-format.

    It returns its result as JSON values. If a check does not hold, it raises `Unsound` with its result. It
    gets the context if it has a parameter `call`.
    """
    own = inspect.signature(command, eval_str=True).parameters
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [one.replace(kind=keyword) for one in own.values()]
    if "call" not in own:
        parameters.append(inspect.Parameter("call", keyword, annotation=typer.Context))
    parameters += [
        inspect.Parameter(name, keyword, default=default, annotation=Annotated[kind, option])
        for name, kind, default, option in _ADDED
    ]

    @wraps(command)
    def expanded(*, call: typer.Context, **given: Any) -> None:
        as_json, log, log_format = (given.pop(name) for name, *_ in _ADDED)
        given |= {"call": call} if "call" in own else {}
        if not as_json:
            with log_file(log, as_json=log_format == "json"):
                command(**given)
            return
        name = call.command_path.partition(" ")[2]  # without the program's
        answer: dict[str, Any] = {"command": name, "ok": True, "code": 0, "result": None, "error": None}
        try:
            with log_file(log, as_json=log_format == "json"), people_on_stderr():
                answer["result"] = command(**given)
        except Unsound as unsound:
            answer |= {"ok": False, "code": unsound.exit_code, "result": unsound.result}
            raise
        except SecFCError as error:
            said = {"type": type(error).__name__, "code": error.code, "text": str(error)}
            answer |= {"ok": False, "code": status_of(error.code), "error": said}
            raise
        except KeyboardInterrupt:
            answer |= {"ok": False, "code": INTERRUPTED}
            raise
        finally:
            print(json.dumps(answer, indent=2, allow_nan=False))

    expanded.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    expanded.__annotations__ = {one.name: one.annotation for one in parameters}
    return expanded


class Unsound(typer.Exit):
    """Ends a command whose checks do not all hold, with its result as JSON values."""

    def __init__(self, status: int, result: Any) -> None:
        super().__init__(status)
        self.result = result
