"""The job, on which all parties agree before a run."""

from dataclasses import dataclass

from secfc.protocol.job.described import documented
from secfc.protocol.job.job_checks import check_job
from secfc.protocol.job.job_values import JobValues


@documented
@dataclass(frozen=True, kw_only=True)
class Job(JobValues):
    """The public parameters of a run, equal at all parties.

    `ids_cap` switches on membership privacy: what is sent depends on it, not on how many rows each party
    holds. With `max_liars` = A the server waits for R + A answers, and for R + 2A if these do not agree.

    Parameters
    ----------
    n : int
        Number of clients.
    k : int
        Number of clusters.
    t : int
        Number of clients that may collude and still learn nothing about other clients' rows.
    ell : int
        Number of segments of a row.
    d : int
        Number of columns.
    bound : float
        Public bound on the Euclidean norm of a row, in the data's units.
    init : {"random", "separation", "k-means++", "labels"}
        "labels": every client gives the labels of its rows. A job has no "auto", because `secfc.run` and job
        files have already replaced it.
    **options
        `secfc.protocol.job.options.AgreedClustering` and `CentreNoise`.
    compared : tuple of int
        Numbers of clusters that are compared on one sharing, ascending; the last is k. () for k alone.
    reveal_to : tuple of int
        Clients to whom the centres are opened at the end, ascending; every client must consent
        (`Limits.reveal_centres`). () for nobody.
    predict : bool
        A prediction: start labels are kept, and rows with label -1 get the label of the nearest mean, in one
        round; every client must consent (`Limits.predict`).
    comparers : tuple of int
        With disclosure "labels" the trio: dealer, first and second evaluator. Numbers above n are
        helpers, parties without rows and shares. By
        default clients 1, 2 and 3 if t = 1, else client 1 and two helpers. () with another disclosure.
    seed : int, optional
        Determines the public choices: first sets of starts, and draws. Without a seed the comparers toss a
        coin that determines them. With another disclosure the server chooses.
    reveal_spread : int, optional
        Also opens the spread of each column in each cluster to the same clients. Each cluster must have at
        least this many rows that are not a recipient's own, `SMALLEST_SPREAD` or more. Every client must
        consent (`Limits.reveal_spread`).
    owners : tuple of int, optional
        Number of rows that each owner deposited before (`secfc.sharing.deposits`), 0 for one that is left
        out. The clients are a committee without rows of their own. None: the clients hold the rows.
    deposits : str, optional
        With `owners` the digest of their deposits, in hexadecimal.
    weighted : bool
        Whether every client gives weights of its rows. All parties are told the weights.

    Raises
    ------
    ParameterError
        The text names the parameter and says what would fit; `ThresholdError` for too few clients.
    """

    def __post_init__(self) -> None:
        check_job(self)
