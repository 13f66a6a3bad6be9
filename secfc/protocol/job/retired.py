"""Names that were retired, and what serves instead. An error says so wherever such a name is given."""

OPTIONS = {
    "comparison": "clients compare what the server sent at the end of every run",
    "compare_rounds": "clients compare what the server sent at the end of every run",
    "link": "it follows from the number of rows",
    "recheck": "choose three parties for comparers that do not lie; a wrong label was found too late",
    "reserves": "a comparer that is lost continues from its log in an agreed job; otherwise the run ends",
    "storage": "only agreed jobs keep shares and logs on disk; run a simulation again",
    "resume": "only agreed jobs continue after a kill; run a simulation again",
}
"""Options and keys of files, by name."""

CHOICES = {
    ("disclosure", "distances"): 'the server learned nearly every row; use "labels", with which nobody '
    'learns a distance, or "coded", the protocol of the paper',
}
"""Values of options, by name and value."""

COMMANDS = {"fetch": "submit the job again, and a party that comes back gets its labels"}
"""Subcommands, by name."""


def retired_option(name: str) -> str:
    """What serves instead of an option that was retired; empty if it was not."""
    return _told(OPTIONS.get(name.lstrip("-").replace("-", "_")))


def retired_choice(name: str, value: object) -> str:
    """What serves instead of an option's value that was retired; empty if it was not."""
    return _told(CHOICES.get((name, value))) if isinstance(value, str) else ""


def retired_command(message: str) -> str:
    """What serves instead of the retired command that an error's message names; empty if it names none."""
    named = (instead for name, instead in COMMANDS.items() if f"No such command '{name}'" in message)
    return _told(next(named, None))


def _told(instead: str | None) -> str:
    return f"it was retired: {instead}" if instead else ""
