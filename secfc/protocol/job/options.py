"""Options: how each is declared, once, and those that the parties of a job agree on.

A dataclass field is an option: its type, its default, and an `Option` with its text, its range and its line
on the command line. These are derived from the fields:

- descriptions of the arguments of `secfc.run`, `secfc.choose_k` and `secfc.predict` (`secfc.api.arguments`),
  whose written signatures are compared by a test,
- fields of `secfc.SecureKMeans` and `secfc.Job`, which inherit them,
- options of ``secfc run``, ``choose-k`` and ``predict`` that have a help line (`secfc.cli.grouped`),
- keys of job files that the parties agree on (`secfc.agreement.job_file`).

To add an option, declare a field in the class that its users inherit, and write it into the signatures of
calls. Then write the code that reads it, and a test of that code.
"""

from dataclasses import Field, dataclass, field, fields, replace
from typing import Any, Literal, get_args, get_type_hints

from secfc.errors import ParameterError
from secfc.field.residues import MAX_ROWS

Disclosure = Literal["coded", "labels"]
"""Who learns distances. "labels": nobody; "coded": the server, which receives every client's coded
distances."""

Auto = Literal["auto"]
AUTO: Auto = "auto"
"""Marks a choice that depends on other options (`secfc.protocol.job.thresholds.default_start`)."""

MAX_PRECISION = 52
"""Integers up to 2**52 in magnitude are exact in float64, and so are their differences."""

MAX_RESAMPLES = 100
"""More hardly change means over them. Each is a run with 0.63 of the rows, and tells more."""

MAX_THREADS = 1024  # more than a machine's cores

RETIRED = {
    ("disclosure", "distances"): 'the server learned nearly every row; use "labels", with which nobody '
    'learns a distance, or "coded", the protocol of the paper',
}
"""Values of options that were retired, and what serves instead, by name of the option and value."""

MACHINE = "How the parties are run, and what is shown"  # a heading in the help of commands
OPENED = "What is opened, if every party consents"  # a heading too


@dataclass(frozen=True, kw_only=True)
class Option:
    """The description of an option besides its type and default."""

    kind: str  # its type in docstrings
    text: str  # its description there
    choices: tuple[str, ...] = ()  # possible names; by default those of a `Literal` type
    least: int | None = None  # its range: least and most
    most: int | None = None
    below: int | None = None  # for a number that need not be whole: it is at least 0 and less than this
    unit: str = ""  # of `most`
    help: str = ""  # its line on the command line; "" if no command has the option
    panel: str | None = None  # the heading above this line


def option(default: Any, kind: str, text: str, *, hidden: bool = False, **more: Any) -> Any:
    """Declare an option, `hidden` in the repr; further arguments are those of `Option`."""
    return field(default=default, repr=not hidden, metadata={"option": Option(kind=kind, text=text, **more)})


def again(of: type, name: str, /, *, default: Any = None, **changed: Any) -> Any:
    """Declare an option of another class again: as a positional one, or with another default or text."""
    (before,) = (one for one in fields(of) if one.name == name)
    value = before.default if default is None else default
    return field(default=value, metadata={"option": replace(before.metadata["option"], **changed)})


def options_of(kind: type) -> dict[str, tuple[Field[Any], Option]]:
    """The options among the fields of a dataclass, by name."""
    return {one.name: (one, one.metadata["option"]) for one in fields(kind) if "option" in one.metadata}


def types_of(kind: type) -> dict[str, Any]:
    """The type of each field."""
    hints = get_type_hints(kind, include_extras=True)
    return {one.name: hints[one.name] for one in fields(kind)}


def choices_of(one: Field[Any]) -> tuple[str, ...]:
    """The possible names of an option; () if its values are not names."""
    found: tuple[str, ...] = one.metadata["option"].choices
    return found or (get_args(one.type) if getattr(one.type, "__origin__", None) is Literal else ())


def shared(given: object, kind: type) -> dict[str, Any]:
    """The values, by name, of those fields of `kind` that the object also has."""
    return {one.name: getattr(given, one.name) for one in fields(kind) if hasattr(given, one.name)}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Agreed:
    """Parameters of every job, equal at all parties."""

    precision: int = option(
        32,
        "int",
        "Bits of a row relative to the bound, 1 to 52; rows are rounded to nearest.",
        least=1,
        most=MAX_PRECISION,
        unit="bits",
        help="Bits of a row relative to the bound.",
    )
    step: float | None = option(
        None,
        "float, optional",
        "A public number above 0 that every value is a multiple of, within rounding of floats: 1 for whole "
        "numbers, 0.01 for two decimals. Rows are then represented exactly, and with the fewest primes; "
        "`precision` is not used. A party with another value is refused before anything is sent.",
        help="Number that every value is a multiple of, 1 or 0.01: exact, and cheaper.",
    )
    disclosure: Disclosure = option(
        "labels",
        '{"labels", "coded"}',
        'Who learns distances. "labels": nobody. Three parties compute the labels together; no two of these '
        "three may collude (docs/threat-model.md). Each party learns the labels of its own rows. "
        '"coded": the server receives every client\'s coded distances, as in the paper, from which it can '
        "compute more than distances, and everybody learns the labels of every round.",
        help="Who learns distances: nobody, or the server, from coded distances.",
    )
    max_liars: int = option(
        0,
        "int",
        "A: number of clients that may share inconsistently or send wrong answers, and with which the run "
        "goes on. They are named in ``result.faults`` and excluded, and the result stays exact. If S clients "
        "vanish, n >= 2(ell + t) - 1 + S + 2A clients are needed. With 0 a wrong answer ends the run, but "
        'with "coded" nobody notices it. One of the three that compare can read rows by lies, whatever '
        "`max_liars` (docs/threat-model.md).",
        least=0,
        help="Number of parties that may send wrong answers without an end of the run; each needs two more.",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Iterating(Agreed):
    """Starts and their iterations."""

    n_init: int | Auto = option(
        AUTO,
        'int or "auto"',
        "Number of starts. The result with the least inertia is returned, computed with rounded weights "
        '(docs/protocol.md). Rows are shared only once. "auto": 5 for each k if several are compared, '
        "else 1.",
        least=1,
        help="Number of starts, or auto; the best result is kept, and rows are shared only once.",
    )
    max_iter: int = option(
        300, "int", "Most iterations of a start.", least=1, help="Most iterations of a start."
    )
    tol_moved: float = option(
        0.0,
        "float",
        "Fraction of all rows, 0 <= tol_moved < 1. A start ends with the first iteration that changes "
        "the label of fewer rows than this. One more assignment follows, as after `max_iter`. With 0 a "
        "start ends when no label changes.",
        below=1,
        help="Stop when an iteration changes the label of fewer rows than this fraction.",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class AgreedClustering(Iterating):
    """More parameters of a job that clusters."""

    reveal_inertia: bool = option(
        False,
        "bool",
        'With disclosure "labels", whether everybody learns the inertia of the result; with "coded" '
        "everybody learns it in any case. Every party must consent by its `limits`. "
        "Opened spreads imply it. `choose_k` needs it, and opens the inertia of each k and of one cluster.",
        help="With --disclosure labels: everybody learns the inertia of the result.",
        panel=OPENED,
    )
    ids_cap: int | None = option(
        None,
        "int, optional",
        "Public bound on the number of rows of all parties together. It hides how many rows each party "
        "holds. By default it is the number of rows, which only a simulation can know. Only with `ids`.",
        least=1,
        most=MAX_ROWS,
        unit="rows",
        help="Public bound on the number of rows of all parties; by default from the data. With "
        "--membership.",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Resampling:
    """How stable clusters are."""

    resamples: int = option(
        0,
        "int",
        "B: the clustering is repeated with B bootstrap samples of the rows, 2 to 100, or 0. Clients learn, "
        "for each two of these partitions and that of all rows, a table of counts: how many rows are in "
        "which cluster of the one and of the other. `secfc.stability` makes measures of them. Every party "
        "must consent by its `limits`. Only with k-means++.",
        least=0,
        most=MAX_RESAMPLES,
        unit="resamples",
        help="Repeat with so many bootstrap samples, and open how partitions overlap.",
        panel=OPENED,
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CentreNoise:
    """Differential privacy of opened centres."""

    centres_epsilon: float | None = option(
        None,
        "float, optional",
        "Opened centres have noise: (epsilon, delta)-differential privacy of one row's values, "
        "given the labels, which are exact and not covered, as sizes of clusters are not "
        "(docs/how-to/centres.md). Only with "
        'disclosure "labels", and without spreads and the inertia. None: no noise.',
        help="Centres with noise for differential privacy; labels are exact and not covered by it.",
        panel=OPENED,
    )
    centres_delta: float | None = option(
        None,
        "float, optional",
        "Only with an epsilon: far below 1 divided by the number of rows.",
        help="delta of --centres-epsilon; far below 1 divided by the number of rows.",
        panel=OPENED,
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Computing:
    """Resources of a computing process."""

    threads: int | None = option(
        None,
        "int, optional",
        "Number of threads that compute in a process. By default it is the number of cores, divided by "
        "the number of processes with the multiprocess driver. The result does not depend on it.",
        least=1,
        most=MAX_THREADS,
        unit="threads",
        help="Number of threads of a process; by default the number of cores, divided by that of processes.",
        panel=MACHINE,
    )


def check_positive(name: str, value: object) -> None:
    """Raise ParameterError unless a value is an integer of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ParameterError(f"{name}: an integer is needed, {type(value).__name__} was given")
    if value < 1:
        raise ParameterError(f"{name}: at least 1 is needed, {value} was given")


def check_bool(name: str, value: object) -> None:
    """Raise ParameterError unless a value is a bool."""
    if not isinstance(value, bool):
        raise ParameterError(f"{name}: a bool is needed, {type(value).__name__} was given")


def check_share(name: str, value: object) -> None:
    """Raise ParameterError unless a value is a number above 0 and at most 1."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(f"{name}: a number is needed, {type(value).__name__} was given")
    if not 0 < value <= 1:
        raise ParameterError(f"{name}: more than 0 and at most 1 is needed, {value!r} was given")


def retired_choice(name: str, value: object) -> str:
    """What serves instead of an option's value that was retired; empty if it was not. Errors say it."""
    instead = RETIRED.get((name, value)) if isinstance(value, str) else None
    return f"it was retired: {instead}" if instead else ""


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise ParameterError unless a value is one of the choices."""
    if value not in choices:
        allowed = ", ".join(map(repr, choices))
        instead = retired_choice(name, value)
        raise ParameterError(
            f"{name}: {allowed} are possible, {value!r} was given" + (f"; {instead}" if instead else "")
        )


def check_option(name: str, value: object, option: Option, choices: tuple[str, ...]) -> None:
    """Raise ParameterError unless a value is one of an option's choices and in its range."""
    if choices:
        check_choice(name, value, choices)
    if option.least == 1:
        check_positive(name, value)
    elif option.least == 0 and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
        raise ParameterError(f"{name}: an integer >= 0 is needed, {value!r} was given")
    if option.below is not None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ParameterError(f"{name}: a number is needed, {type(value).__name__} was given")
        if not 0 <= value < option.below:
            raise ParameterError(
                f"{name}: at least 0 and less than {option.below} is needed, {value!r} was given"
            )
    if option.most is not None and isinstance(value, int) and value > option.most:
        raise ParameterError(f"{name}: at most {option.most} {option.unit}, {value} was given")


def check_seed(seed: object) -> None:
    """Raise ParameterError unless this is None or an integer of at least 0."""
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
        raise ParameterError("seed: None or an integer >= 0 is needed")
