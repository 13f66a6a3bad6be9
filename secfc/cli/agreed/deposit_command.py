"""`secfc deposit`: owners deposit rows with a committee, and open their labels later."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from secfc.cli.endings import scripted
from secfc.cli.render import console, say
from secfc.errors import ParameterError, PartyError, SecFCError
from secfc.errors.codes import Code
from secfc.errors.escaping import shown

if TYPE_CHECKING:
    from secfc.agreement.site_file import Site

deposit = typer.Typer(
    help="Without a command: deposit your rows with the committee of a job. You can repeat this until its "
    "members close the deposits; the last deposit counts.",
    no_args_is_help=True,
    invoke_without_command=True,
)

_SHOWN = 20  # most lines about owners

MemberSite = Annotated[Path, typer.Argument(help="Your site file, as a member of the committee.")]
OwnSite = Annotated[Path, typer.Option("--site", help="Your site file, with the certificate of a member.")]
OwnJob = Annotated[Path | None, typer.Option("--job", help="The job file; by default that of the site file.")]


@deposit.callback(epilog="Example: secfc deposit --job job.toml --site clinic.toml")
@scripted
def make(
    call: typer.Context,
    site: Annotated[
        Path | None, typer.Option("--site", help="Your site file, with the certificate of a member.")
    ] = None,
    job: OwnJob = None,
) -> dict[str, Any]:
    """Seal your rows to the members of a committee, in one file for each member."""
    if call.invoked_subcommand is not None:
        sources = map(call.get_parameter_source, call.params)
        if any(source is not None and source.name != "DEFAULT" for source in sources):
            raise ParameterError("--site, --job, --json, --log: give them after the name of the command")
        return {}
    if site is None:
        raise ParameterError("--site: your site file is needed")
    from secfc.drivers.deposits.depositing import Depositor

    depositor = Depositor(_site(site, job))
    rows, members = depositor.deposit(), depositor.agreement.job.n
    out = console()
    out.print(f"{rows} rows are deposited with {members} members; you can go offline now")
    out.print("keep the receipt beside your results: only this receipt opens your labels")
    return {"rows": rows, "members": members}


@deposit.command(name="open", epilog="Example: secfc deposit open --site clinic.toml")
@scripted
def open_(site: OwnSite, job: OwnJob = None) -> dict[str, Any]:
    """Open the labels of your rows, once the committee has computed them."""
    from secfc.drivers.deposits.depositing import Depositor

    found, out = Depositor(_site(site, job)).open(), console()
    if not found:
        raise PartyError("there are no labels yet; the committee has not run the job", code=Code.TIMEOUT)
    for one in found:
        what = f"{one.rows} labels" if one.rows else "you have these labels"
        out.print(f"{one.folder}: {'; '.join(filter(None, (what, one.told)))}", soft_wrap=True)
    return {"labels": [{"folder": str(one.folder), "rows": one.rows} for one in found]}


@deposit.command(epilog="Example: secfc deposit admit north.toml clinic-1.pub clinic-2.pub")
@scripted
def admit(
    site: MemberSite,
    keys: Annotated[
        list[Path], typer.Argument(help="Public key files of owners; compare their words first.")
    ],
) -> dict[str, Any]:
    """Admit owners of rows to a job, as a member of its committee; writes a certificate beside each key."""
    from secfc.drivers.deposits.collecting import Member

    written = [str(path) for path in Member.of(_site(site)).admit(keys)]
    for path in written:
        say(f"{path}: send it to the owner")
    return {"certificates": written}


@deposit.command(epilog="Example: secfc deposit close north.toml --without 7")
@scripted
def close(
    site: MemberSite,
    without: Annotated[
        list[int] | None,
        typer.Option(help="Number of an owner to leave out; repeatable. You can leave out owners later too."),
    ] = None,
) -> dict[str, Any]:
    """Check the deposits for you, sign which you hold, and accept no more; all members do so before a run.

    Repeated, it stores again what you have signed, and your sealed labels of runs.
    """
    from secfc.drivers.deposits.collecting import Member

    own = _site(site)
    taken, out = Member.of(own).close(without or ()), console()
    held, names = taken.holding.held, taken.holding.names
    rows = sum(one for one, _ in held.values())
    out.print(f"{own.party} holds deposits of {len(held)} owners, {rows} rows")
    refused = (f"{names[owner]} (owner {owner}): {text}" for owner, text in taken.holding.refused.items())
    print_lines("refused", refused)
    print_lines("not taken", (f"owner {owner}: {text}" for owner, text in taken.not_taken.items()))
    return {"owners": len(held), "rows": rows, "refused": taken.holding.refused, "not_taken": taken.not_taken}


@contextmanager
def named_owners(names: Mapping[int, str]) -> Iterator[None]:
    """Add the names of owners to an error that has only their numbers."""
    try:
        yield
    except SecFCError as error:
        if not error.owners:
            raise
        who = ", ".join(f"owner {owner} is {names.get(owner, 'unknown')}" for owner in error.owners[:_SHOWN])
        text = f"{error}; {who}; a member can leave them out (secfc deposit close --without)"
        raise type(error)(text, code=error.code, owners=error.owners) from None


def print_lines(what: str, lines: Iterable[str]) -> None:
    """Print at most `_SHOWN` lines about owners."""
    out, found = console(), list(lines)
    for line in found[:_SHOWN]:
        out.print(f"{what}: {shown(line)}", soft_wrap=True, markup=False)
    if len(found) > _SHOWN:
        out.print(f"{what}: {len(found) - _SHOWN} more")


def _site(path: Path, job: Path | None = None) -> "Site":
    from secfc.agreement.site_file import read_site

    site = read_site(path)
    return site if job is None else replace(site, job=job.absolute())
