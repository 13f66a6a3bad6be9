"""Options of calls besides those that the parties agree on (`secfc.protocol.job.options`)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from secfc.api.described import documented
from secfc.field.residues import MAX_ROWS, MAX_WEIGHT
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.options import (
    AUTO,
    MACHINE,
    OPENED,
    AgreedClustering,
    CentreNoise,
    Computing,
    Iterating,
    Resampling,
    again,
    option,
)
from secfc.protocol.progress import Progress

Driver = Literal["in-process", "multiprocess"]  # both run all parties on one machine
Recipients = Literal["all"] | Sequence[int] | None  # positions of parties that receive the centres


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
class Starting(Iterating):
    """Starts and how they begin."""

    init: Any = option(
        AUTO,
        '{"auto", "k-means++", "random", "separation"}, ndarray or DataFrame of shape (k, d), or list of '
        "integer arrays of shape (m_j,)",
        '"auto" is "k-means++" with disclosure "labels" and "random" with "coded". "k-means++": single rows, '
        "drawn by their distance to the rows drawn before; the best of several candidates is taken, as "
        'scikit-learn does. Only with "labels". Nobody learns a drawn row, and only a simulation with a '
        '`seed` can be repeated. "random": the means of a random partition (the paper); the best of several '
        'starts (`n_init`) often has a much lower inertia than one. "separation": the cores after one Lloyd '
        "step from a random partition, that is, rows at most a third as far from their centre as from any "
        'other (the paper, section 5); only with "coded". An ndarray or '
        "DataFrame: public centres, such as those of an earlier run or of a published model; columns are "
        "matched by name. Every row starts with its nearest centre, which everybody learns, and every centre "
        "must be the nearest of at least one row. Start labels: one array per party; each cluster needs at "
        "least one row.",
        choices=(AUTO, "k-means++", "random", "separation"),
        help="How the first sets are chosen: auto, k-means++, random or separation; or a file of centres, "
        "such as NAME.centres.csv.",
    )


@documented
@dataclass(frozen=True, kw_only=True)
class Reveal:
    """What is opened at the end, and to whom.

    Parameters
    ----------
    **options
        Every party must consent by its `limits`.
    """

    centres: Recipients = option(
        None,
        'None, "all" or sequence of int',
        "The parties, by position, that receive the centres of the final clusters. They learn the exact "
        "means (docs/threat-model.md says what follows from them), or means with noise, and the sizes of the "
        "clusters. Every party must consent by its `limits`. The server learns nothing about the centres. "
        "None: nobody receives them.",
    )
    spread: bool = option(
        False,
        "bool",
        "Whether the same parties also learn each column's standard deviation in each cluster. Every "
        "party must consent by ``limits.reveal_spread``, the size of the smallest cluster for which it "
        "consents. The largest of these sizes applies to all. A run that ends with a smaller cluster "
        "opens nothing and raises LimitError.",
        help="The same parties also learn standard deviations: NAME.spreads.csv.",
        panel=OPENED,
    )
    inertia: bool = again(AgreedClustering, "reveal_inertia")
    epsilon: float | None = again(CentreNoise, "centres_epsilon")
    delta: float | None = again(CentreNoise, "centres_delta")


@documented
@dataclass(frozen=True, eq=False)
class Membership:
    """Row IDs, the key that hashes them, and a bound on their number. Its repr shows neither IDs nor key.

    Parameters
    ----------
    ids : sequence of one sequence of row IDs per party, or dict of them by name
        As for `secfc.run`.
    **options
        As in a job.
    """

    ids: Sequence[Any] | Mapping[str, Any] = field(repr=False)
    key: bytes | None = option(
        None,
        "bytes of length 32, optional",
        "The key that hashes the IDs. All clients have it, and the server must not. By default it is "
        "random; with a seed it is derived from the seed, so that a simulation can be repeated. A "
        "deployment must give its own key.",
        hidden=True,
    )
    cap: int | None = again(AgreedClustering, "ids_cap")


Ids = Sequence[Any] | Mapping[str, Any] | Membership | None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class OfData:
    """Options that belong to one data set and not to a model."""

    ids: Ids = option(
        None,
        "sequence of one sequence of row IDs per party, or Membership, optional",
        "Switches on membership privacy. First the parties find the union of their IDs (str, int, UUID "
        "or bytes), and nobody learns who holds which ID. Then every party shares a vector for every ID "
        "of the union. If an ID is held twice, the run ends with an error. IDs are compared as text in "
        'Unicode\'s NFC without blanks at either end: 7 equals "7", but "7" and "007" differ, and so do '
        '"a" and "A". A `Membership` also gives the key that hashes the IDs, and the public cap.',
    )
    seed: int | None = option(
        None,
        "int, optional",
        "Seed of first sets, to repeat a simulation: without it nobody can tell which rows k-means++ drew. "
        "Masks never depend on it.",
        least=0,
        help="Seed of first sets, to repeat a simulation; masks never depend on it.",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Revealing:
    """The option of calls for what is opened."""

    reveal: Reveal | None = option(
        None,
        "Reveal, optional",
        "What is opened at the end, and to whom. Every party must consent by its `limits`. By default "
        "nothing is opened besides the labels.",
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
    limits: Limits | Sequence[Limits] | None = option(
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
    progress: Callable[[Progress], None] | Literal["bar"] | None = option(
        None,
        '"bar" or callable, optional',
        "A bar in the terminal or the notebook, or a function that is called with a `Progress` each "
        "time the server has accepted a message.",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RunOptions(Execution, Revealing, OfData, Starting):
    """Options of `secfc.run`. `secfc.choose_k` and `secfc.predict` have some of them."""

    sample_weight: Sequence[Any] | None = option(
        None,
        "sequence of one integer array per party, optional",
        "How many times each row counts: in means, the inertia, scores of starts and draws of "
        'k-means++, as in scikit-learn (the first sets of "random" and "separation" do not depend on '
        f"it). Whole numbers from 1 to {MAX_WEIGHT}, with a sum of {MAX_ROWS} at most. **Weights are "
        "public**: all parties and the server learn the weight of every row. For `limits` the size of a "
        "set is its total weight divided by its largest weight, rounded down. docs/optional.md says what "
        "weights go with.",
    )
    committee: int | Sequence[int] | None = option(
        None,
        "int or sequence of int, optional",
        "The parties that compute, by position; a number c means the first c parties. They may be fewer "
        "than the parties with rows. Positions from n on are members without rows. Each party deals its "
        "rows to the committee once, with a proof that its shares are consistent, and then receives "
        'only the labels of its own rows. With "coded" members learn all labels. t and ell refer to members, '
        "and `comparers` are positions in the committee. There is one `limits` for all. Not "
        "with `ids`, given centres or start labels, or opened centres. By default all parties compute.",
    )

    describe: Sequence[Any] | Mapping[str, Any] | None = option(
        None,
        "sequence of str, or of one DataFrame or array per party, or dict of them by name, optional",
        "Columns that are not clustered and are described by cluster (`Result.table1`): names of columns of "
        "the parties' DataFrames, or other tables with as many rows. Values may be missing; texts are "
        "categories. Every party must consent by ``limits.describe``. A column is opened only if in each "
        "cluster t + 2 parties have as many of its values, and no party has fewer but some.",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ChooseOptions(RunOptions):
    """Options of `secfc.choose_k`, whose start must fit every number of clusters."""

    init: str = again(
        Starting,
        "init",
        kind='{"auto", "k-means++", "random"}',
        text="As for `secfc.run`, without centres and labels, which have one number of clusters.",
        help="How the first sets are chosen: auto, k-means++ or random.",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StabilityOptions(ChooseOptions):
    """Options of `secfc.stability`."""

    resamples: int = again(Resampling, "resamples", default=20)


def given_options(arguments: Mapping[str, Any]) -> RunOptions:
    """The record of options from the arguments of a call by name."""
    names = {one.name for one in fields(RunOptions)}
    return RunOptions(**{name: value for name, value in arguments.items() if name in names})
