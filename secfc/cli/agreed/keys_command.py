"""`secfc keygen`, `secfc ids-key` and `secfc roster`: keys, and which party has which key."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from secfc.cli.endings import scripted
from secfc.cli.render import console, say
from secfc.errors import AgreementError, ParameterError

roster = typer.Typer(
    help="Who takes part: names and public keys, in the order of client numbers.", no_args_is_help=True
)

RosterFile = Annotated[Path, typer.Argument(help="The roster file.")]


@scripted
def keygen(
    file: Annotated[Path, typer.Argument(help="The private key file to write, such as north.key.")],
    name: Annotated[str, typer.Option(help="Short name: letters, digits, - and _.")],
    organisation: Annotated[str, typer.Option(help="Full name of the organisation.")] = "",
) -> dict[str, Any]:
    """Make a key: a private file for yourself, and beside it a public one (.pub) for the other parties."""
    from secfc.agreement.consortium import Member, check_member
    from secfc.agreement.key_files import write_new_key
    from secfc.agreement.secret_files import write_new

    check_member(name, organisation)
    public = file.with_suffix(".pub")
    if public == file or public.exists():
        raise ParameterError(f"{public}: it exists and is left as it is; name another file")
    identity = write_new_key(file)
    member = Member(name=name, organisation=organisation, key=identity.public)
    write_new(public, member.to_toml().encode())
    say(f"{file}: the private key; keep it secret")
    say(f"{public}: the public key; send it to the other parties and read them its words")
    read_out(member.words)
    return {"private": str(file), "public": str(public), "words": member.words}


@scripted
def ids_key(
    file: Annotated[Path, typer.Argument(help="The key file to write, or with --show to read.")],
    show: Annotated[bool, typer.Option("--show", help="Show the words of an existing key.")] = False,
) -> dict[str, Any]:
    """Make the key that hashes row IDs. All parties need it, but the coordinator must not have it."""
    from secfc.agreement.key_files import ids_key_words, read_ids_key, write_new_ids_key

    key = read_ids_key(file) if show else write_new_ids_key(file)
    if not show:
        say(f"{file}: send it to the other parties as you would send a password, never to the coordinator")
    read_out(words := ids_key_words(key))
    return {"key": str(file), "words": words}


@roster.command(epilog="Example: secfc roster add roster.toml north.pub south.pub west.pub")
@scripted
def add(
    file: RosterFile,
    keys: Annotated[
        list[Path] | None, typer.Argument(help="Public key files, in the order of client numbers.")
    ] = None,
    coordinator: Annotated[
        Path | None,
        typer.Option(
            help="The public key file of the coordinator, who runs the server; every job needs one."
        ),
    ] = None,
    helper: Annotated[
        list[Path] | None,
        typer.Option(help="The public key file of a helper, a party without rows that compares."),
    ] = None,
) -> dict[str, Any]:
    """Append parties to a roster; the file is created if it does not exist."""
    from secfc.agreement.consortium import add_members, read_roster

    added, helping = (
        [one for key in given or () for one in read_roster(key).members] for given in (keys, helper)
    )
    server = None if coordinator is None else read_roster(coordinator).members[0]
    before = len(read_roster(file).members) if file.exists() else 0
    add_members(file, added, server, helping)
    return _show(file, before)


@roster.command(epilog="Example: secfc roster show roster.toml")
@scripted
def show(file: RosterFile) -> dict[str, Any]:
    """Show the parties of a roster and the words of their keys and of the roster as a whole."""
    return _show(file, 0)


@roster.command(
    epilog="Example: secfc roster verify roster.toml --key north.key --words 'quality tuition ...'"
)
@scripted
def verify(
    file: RosterFile,
    key: Annotated[
        Path | None, typer.Option(help="Your private key: is its public part in the roster?")
    ] = None,
    words: Annotated[
        str | None,
        typer.Option(help="Words that another party read to you: those of the roster (24) or of a key (12)."),
    ] = None,
) -> dict[str, Any]:
    """Check a roster file, whether your key is in it, and words that somebody read to you."""
    from secfc.agreement.consortium import read_roster
    from secfc.agreement.key_files import read_key
    from secfc.agreement.words import check_words

    consortium, out = read_roster(file), console()
    result: dict[str, Any] = {"parties": consortium.names, "key": None, "words": None}
    out.print(f"{file}: {len(consortium.parties)} parties with different names and keys")
    if key is not None:
        public, server = read_key(key).public, consortium.coordinator
        if server is not None and server.key == public:
            result["key"] = server.name
            out.print(f"{key}: the key of {server.name}, the coordinator")
        else:
            number = consortium.number_with(public, file=key)
            result["key"] = consortium.names[number - 1]
            out.print(f"{key}: the key of {consortium.names[number - 1]}, client {number}")
    if words is not None:
        given = check_words(words)
        of = {member.words: f"of the key of {member.name}" for member in consortium.everybody}
        of[consortium.words] = "of this roster"
        if given not in of:
            raise AgreementError(f"words: they are not those of {file}, nor of a key in it")
        result["words"] = of[given]
        out.print(f"words: {of[given]}")
    return result


def _show(file: Path, before: int) -> dict[str, Any]:
    """Print the parties from position `before`, and the roster's words. Return all for a program."""
    from secfc.agreement.consortium import read_roster
    from secfc.agreement.words import in_lines

    consortium, out = read_roster(file), console()
    table = Table(show_lines=True)
    for heading in ("client", "name", "words of its key"):
        table.add_column(heading)
    shown = [(str(number), one) for number, one in enumerate(consortium.members[before:], before + 1)]
    shown += [("helper", one) for one in consortium.helpers]
    if consortium.coordinator is not None:
        shown.insert(0, ("coordinator", consortium.coordinator))
    for number, member in shown:
        name = f"{member.name}\n{member.organisation}" if member.organisation else member.name
        table.add_row(number, name, "\n".join(in_lines(member.words)))
    out.print(table)
    out.print(f"words of this roster, {len(consortium.parties)} parties:")
    read_out(consortium.words)
    parties = [
        {"client": number, "name": one.name, "organisation": one.organisation, "words": one.words}
        for number, one in enumerate(consortium.parties, 1)
    ]
    server = consortium.coordinator
    coordinator = server and {"name": server.name, "organisation": server.organisation, "words": server.words}
    return {"coordinator": coordinator, "parties": parties, "words": consortium.words}


def read_out(words: str) -> None:
    """Print words in lines, for reading aloud."""
    from secfc.agreement.words import in_lines

    for line in in_lines(words):
        say(f"  {line}")
