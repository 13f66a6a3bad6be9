"""All options of a run. Each option is declared here and nowhere else.

A dataclass field is an option: its type, its default, and an `Option` with its text, its range and its line
on the command line. These are derived from the fields:

- the arguments of `secfc.run`, `secfc.choose_k` and `secfc.predict` (`secfc.called_with`),
- fields of `secfc.SecureKMeans` and `secfc.Job`, which inherit them,
- options of ``secfc run``, ``choose-k`` and ``predict`` that have a help line (`secfc.cli.grouped`),
- keys of job files that the parties agree on (`secfc.agreement.job_file`).

To add an option, declare a field in the class that its users inherit. Then write the code that reads it, and
a test of that code.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, get_args, get_type_hints

if TYPE_CHECKING:  # both import the job, which has options
    from secfc.limits import Limits
    from secfc.protocol.progress import Progress

Comparison = Literal["end", "rounds"]
"""When clients compare what the server sent them: after the run, or also in each round."""

Disclosure = Literal["coded", "distances", "labels"]
"""Who learns distances. "labels": nobody, only labels are learned; "distances": the server alone;
"coded": the server, which receives every client's coded distances."""

Auto = Literal["auto"]
AUTO: Auto = "auto"
"""Marks a choice that depends on other options (`secfc.params.default_start`)."""

Link = Literal["lan", "wan"]  # the network between the parties
Driver = Literal["in-process", "multiprocess"]  # both run all parties on one machine
Recipients = Literal["all"] | Sequence[int] | None  # positions of parties that receive the centres
MAX_ROWS = 1 << 29  # a sum of this many reduced residues (below 2**24) stays below 2**53

MAX_WEIGHT = 1 << 23  # below every prime, so no row's masks become zero in a weighted sum

MAX_PRECISION = 52
"""Integers up to 2**52 in magnitude are exact in float64, and so are their differences."""

MAX_THREADS = 1024  # more than a machine's cores

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


def option(default: Any, kind: str, text: str, **more: Any) -> Any:
    """Declare an option; further arguments are those of `Option`."""
    return field(default=default, metadata={"option": Option(kind=kind, text=text, **more)})


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
    from secfc.limits import Limits  # noqa: PLC0415 - see above
    from secfc.protocol.progress import Progress  # noqa: PLC0415

    names = {"Limits": Limits, "Progress": Progress}
    hints = get_type_hints(kind, localns=names, include_extras=True)
    return {one.name: hints[one.name] for one in fields(kind)}


def choices_of(one: Field[Any]) -> tuple[str, ...]:
    """The possible names of an option; () if its values are not names."""
    found: tuple[str, ...] = one.metadata["option"].choices
    return found or (get_args(one.type) if getattr(one.type, "__origin__", None) is Literal else ())


def shared(given: object, kind: type) -> dict[str, Any]:
    """The values, by name, of those fields of `kind` that the object also has."""
    return {one.name: getattr(given, one.name) for one in fields(kind) if hasattr(given, one.name)}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Threshold:
    """How many clients may collude, and the cost. In calls these come after the number of clusters."""

    t: int | None = option(
        None,
        "int, optional",
        "Number of clients that may collude and still learn nothing about other clients' rows. The "
        "default is 4 with eleven clients or more. With fewer it is the largest number up to 4 with "
        "which the run still succeeds if one client is lost, if there is such a number.",
        least=1,
        help="Number of parties that learn nothing even if they collude; by default 4, less with fewer than "
        "eleven parties.",
    )
    ell: int | None = option(
        None,
        "int, optional",
        "Number of segments of a row. More segments make shares and iterations cheaper but need more "
        "clients: at least 2(ell + t) - 1. The default is 2 with eleven clients or more, else 1.",
        least=1,
        help="Number of segments of a row; 2(ell + t) - 1 parties are needed. By default 2, or 1 with fewer "
        "than eleven parties.",
    )


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
        '{"labels", "distances", "coded"}',
        'What the server receives. "labels": only labels, which three parties compute together; no two '
        'of these three may collude (docs/threat-model.md). "distances": answers under masks that '
        'cancel in their sum, so that it learns only the distances. "coded": every client\'s coded '
        "distances, as in the paper, from which it can compute more than distances. `max_liars` > 0 "
        'needs "labels" or "coded".',
        help="What the server receives: labels, distances or coded distances.",
    )
    max_liars: int = option(
        0,
        "int",
        "A: number of clients that may share inconsistently or send wrong answers. They are detected, "
        "named in ``result.faults`` and excluded, and the result stays exact. If S clients vanish, n >= "
        "2(ell + t) - 1 + S + 2A clients are needed. With 0 nothing is checked. One of the three that "
        "compare can read all rows by lies, whatever `max_liars` (docs/threat-model.md).",
        least=0,
        help="Number of parties that may send wrong answers; each needs two more parties.",
    )
    comparison: Comparison = option(
        "end",
        '{"end", "rounds"}',
        "When clients check that the server sent all of them the same: after the run, or also before "
        "each answer.",
    )
    link: Link = option(
        "lan",
        '{"lan", "wan"}',
        'The network between the parties that compare, with disclosure "labels". With "wan" a '
        "comparison of few rows takes fewer exchanges and more bytes.",
        help="Network between the parties that compare; wan takes fewer exchanges and more bytes.",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class AgreedClustering(Agreed):
    """More parameters of a job that clusters."""

    n_init: int | Auto = option(
        AUTO,
        'int or "auto"',
        "Number of starts. The result with the least inertia is returned, computed with rounded weights "
        '(docs/protocol.md). Rows are shared only once. "auto": 5 for each k if several are compared, '
        "else 1. Every start discloses more labels.",
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
    reveal_inertia: bool = option(
        False,
        "bool",
        'With disclosure "labels", whether everybody learns the inertia of the result; with the other '
        "disclosures everybody learns it in any case. Every party must consent by its `limits`. "
        "`reveal_spread` implies it. `choose_k` needs it, and opens to the server the inertia of each k "
        "and of one cluster.",
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
class ClusterOptions(AgreedClustering):
    """Options of a clustering with one number of clusters or several."""

    init: Any = option(
        AUTO,
        '{"auto", "k-means++", "random", "separation"}, ndarray or DataFrame of shape (k, d), or list of '
        "integer arrays of shape (m_j,)",
        '"auto" is "random". "random": the means of a random partition (the paper); the best of several '
        'starts (`n_init`) often has a much lower inertia than one. "separation": the cores after one Lloyd '
        "step from a random partition, that is, rows at most a third as far from their centre as from any "
        'other (the paper, section 5). "k-means++": single rows, drawn by their distance to the rows drawn '
        "before; the best of several candidates is taken, as scikit-learn does. Its draws are public and "
        "tell sums of distances of rows to the rows drawn before: a party with many rows of its choice can "
        'read single rows of others (docs/threat-model.md). Except with disclosure "labels" the server also '
        "learns every row's distance to each candidate. A client whose `limits` forbid sets of one row "
        "refuses. An ndarray or DataFrame: public centres, such as those of an earlier run or of a "
        "published model; columns are matched by name. Every row starts with its nearest centre, which "
        "everybody learns, and every centre must be the nearest of at least one row. Start labels: one "
        "array per party; each cluster needs at least one row.",
        choices=(AUTO, "k-means++", "random", "separation"),
        help="How the first sets are chosen: auto, k-means++, random or separation; or a file of centres, "
        "such as NAME.centres.csv.",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class OfData:
    """Options that belong to one data set and not to a model."""

    ids: Sequence[Any] | None = option(
        None,
        "sequence of one sequence of row IDs per party, optional",
        "Switches on membership privacy. First the parties find the union of their IDs (str, int, UUID "
        "or bytes), and nobody learns who holds which ID. Then every party shares a vector for every ID "
        "of the union. If an ID is held twice, the run ends with an error. IDs are compared as text in "
        'Unicode\'s NFC without blanks at either end: 7 equals "7", but "7" and "007" differ, and so do '
        '"a" and "A".',
    )
    id_key: bytes | None = option(
        None,
        "bytes of length 32, optional",
        "The key that hashes the IDs. All clients have it, and the server must not. By default it is "
        "random; with a seed it is derived from the seed, so that a simulation can be repeated. A "
        "deployment must give its own key.",
    )
    seed: int | None = option(
        None,
        "int, optional",
        "Seed of public choices (first sets and draws), to repeat a simulation. Who chooses it chooses "
        "them. Masks never depend on it.",
        least=0,
        help="Seed of public choices, to repeat a simulation; masks never depend on it.",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CentreNoise:
    """Differential privacy of opened centres."""

    centres_epsilon: float | None = option(
        None,
        "float, optional",
        "Opened centres have noise: (epsilon, `centres_delta`)-differential privacy of one row's values, "
        "given the labels, which are exact, public and not covered (docs/how-to/centres.md). Only with "
        'disclosure "labels", and without `reveal_spread` and `reveal_inertia`. None: no noise.',
        help="Centres with noise for differential privacy; labels are exact and not covered by it.",
        panel=OPENED,
    )
    centres_delta: float | None = option(
        None,
        "float, optional",
        "Only with `centres_epsilon`: far below 1 divided by the number of rows.",
        help="delta of --centres-epsilon; far below 1 divided by the number of rows.",
        panel=OPENED,
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RevealOptions(CentreNoise):
    """What is opened at the end, and to whom."""

    reveal_centres: Recipients = option(
        None,
        'None, "all" or sequence of int',
        "The parties, by position, that receive the centres of the final clusters. They learn the exact "
        "means (docs/threat-model.md says what follows from them), or means with noise. Every party must "
        "consent by its `limits`. The server learns nothing about the centres. None: nobody receives them.",
    )
    reveal_spread: bool = option(
        False,
        "bool",
        "Whether the same parties also learn each column's standard deviation in each cluster. Every "
        "party must consent by ``limits.reveal_spread``, the size of the smallest cluster for which it "
        "consents. The largest of these sizes applies to all. A run that ends with a smaller cluster "
        "opens nothing and raises LimitError.",
        help="The same parties also learn standard deviations: NAME.spreads.csv.",
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


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Execution(Computing):
    """How the parties are run on one machine, and what each party refuses."""

    bound: float | None = option(
        None,
        "float, optional",
        "Public bound on the Euclidean norm of a row. By default the largest norm in the data, which only a "
        "simulation can know.",
        help="Public bound on a row's norm; by default from the data.",
    )
    limits: "Limits | Sequence[Limits] | None" = option(
        None,
        "Limits or sequence of Limits, one per party, optional",
        "What each client refuses, and what it consents to.",
    )
    comparers: Sequence[int] | None = option(
        None,
        "sequence of int, optional",
        'With disclosure "labels" the parties, by position, that compare: dealer, first and '
        "second evaluator. If one of them is lost, the run ends. Positions from n on are helpers, parties "
        "without rows and shares. By default the first three "
        "parties if t = 1, else the first party and two helpers.",
    )
    storage: str | os.PathLike[str] | None = option(
        None,
        "path, optional",
        "Folder for the clients' shares; by default they are kept in memory. Free space is checked "
        "first, and no file remains after the run. With the multiprocess driver every party also keeps "
        "a journal there: if its process is killed, it is started again and continues. Without "
        "`storage` such a party is absent.",
        help="Folder for shares, and for journals from which killed parties continue.",
        panel=MACHINE,
    )
    resume: bool | None = option(
        None,
        "bool, optional",
        "What to do with a run in `storage` whose calling process was killed or interrupted. True: "
        "continue it from the parties' journals; the call must be the same, with the same rows. False: "
        "remove it and start a new run. By default a call that finds such a run raises StorageError. "
        "Only with the multiprocess driver.",
        help="Continue the run in --storage whose command was killed; repeat that command. Or remove it.",
        panel=MACHINE,
    )
    driver: Driver = option(
        "in-process",
        '{"in-process", "multiprocess"}',
        "All parties in this process, or one OS process each.",
        help="All parties in one process, or a process each.",
        panel=MACHINE,
    )
    deadline: float | None = option(
        None,
        "float, optional",
        "Seconds that a client's process has to answer a call, with the multiprocess driver; after that "
        "the client is lost. By default a client is lost only if its process has ended.",
        help="Seconds that a party has to answer; after that it is lost.",
        panel=MACHINE,
    )
    progress: "Callable[[Progress], None] | Literal['bar'] | None" = option(
        None,
        '"bar" or callable, optional',
        "A bar in the terminal or the notebook, or a function that is called with a `Progress` each "
        "time the server has accepted a message.",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Weights:
    """How many times each row counts."""

    sample_weight: Sequence[Any] | None = option(
        None,
        "sequence of one integer array per party, optional",
        "How many times each row counts: in means, the inertia, scores of starts and draws of "
        'k-means++, as in scikit-learn (the first sets of "random" and "separation" do not depend on '
        f"it). Whole numbers from 1 to {MAX_WEIGHT}, with a sum of {MAX_ROWS} at most. **Weights are "
        "public**: all parties and the server learn the weight of every row. For `limits` the size of a "
        "set is its total weight divided by its largest weight, rounded down. Not with `ids` or "
        "`committee`.",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PredictOptions(Weights, Execution, Agreed):
    """Options of `secfc.predict`."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ChooseOptions(Execution, OfData, ClusterOptions):
    """Options of `secfc.choose_k`."""

    init: str = again(
        ClusterOptions,
        "init",
        kind='{"auto", "k-means++", "random", "separation"}',
        text="As for `secfc.run`, but neither centres nor start labels.",
        help="How the first sets are chosen.",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RunOptions(Weights, Execution, RevealOptions, OfData, ClusterOptions):
    """Options of `secfc.run`."""

    committee: int | Sequence[int] | None = option(
        None,
        "int or sequence of int, optional",
        "The parties that compute, by position; a number c means the first c parties. They may be fewer "
        "than the parties with rows. Positions from n on are members without rows. Each party deals its "
        "rows to the committee once, with a proof that its shares are consistent, and then receives "
        "only the labels of its own rows. Members learn all labels. t and ell refer to members, and "
        "`comparers` are positions in the committee. There is one `limits` for all. Not "
        "with `ids`, given centres or start labels, `reveal_centres`, or `storage` with a process per "
        "party. By default all parties compute.",
    )
