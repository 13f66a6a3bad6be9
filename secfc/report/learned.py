"""Text about who learned what from a run: the statements of docs/threat-model.md, and no stronger ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from secfc.kmeans.score import KEPT
from secfc.protocol.job.cases import Deposited, Predict, Union
from secfc.protocol.job.job import Job


@dataclass(frozen=True)
class Learned:
    """One line of the table."""

    who: str
    what: str


def who_learned_what(
    job: Job, rounds: int, opened: Sequence[str] = (), *, names: Sequence[str] = ()
) -> list[Learned]:
    """The lines for this job, whose run had so many rounds.

    The means and deviations of columns `opened` were opened before the run. `names` are of clients, then
    helpers.
    """
    called = dict(enumerate(job.names_of(names), start=1))
    coalition = "any one client" if job.t == 1 else f"any {job.t} clients together"
    if job.t > 1 and len(job.comparing_clients) > 1:
        coalition += ", except two of those that compare"
    union = isinstance(job.rows, Union)
    row, whose = ("ID", "; not who holds which ID") if union else ("row", "")
    held = "how many rows each client holds"
    if union:
        held = "the number of IDs in all and a keyed hash of each"
    elif isinstance(job.rows, Deposited):
        held = "how many rows each owner deposited"
    each = "which clusters are empty" if job.own_labels else f"the cluster of every {row}"
    rows = f"{held}, and {each} in each of {rounds} rounds{whose}"
    step = "" if job.step is None else ", the step that values are multiples of"
    inertia = _of_ending(job)
    if job.rows.weighted:
        rows += "; the weight of every row"
    if isinstance(job.method, Predict):
        inertia = "; which rows are new; only their clusters are found"
        if job.own_labels:
            inertia += "; whether a cluster has fewer rows than a client demands, and the demand"
    owner = "an owner" if isinstance(job.rows, Deposited) else "a client"
    lines = [
        Learned("everybody", f"n, k, t, ell, d, the bound on a row's norm{step}, {rows}{inertia}"),
        *_opened(opened),
        *([Learned(owner, "the final clusters of its own rows")] if job.own_labels else []),
        *_of_resamples(job),
        Learned(coalition, "nothing else about the rows of the other clients"),
        *_between(job),
        Learned(
            f"{job.ell + job.t} or more clients together", "every row, exactly, if they pool their shares"
        ),
        *(_of_program(rounds, called, job) if job.own_labels else _of_server(job, rounds)),
    ]
    if not job.max_liars and not job.own_labels:
        lines.append(
            Learned(
                "a client that answered wrongly, if there was one",
                "possibly every row: two rounds tell it one bit of a column of all rows, and with "
                "max_liars=0 nobody checks for wrong answers",
            )
        )
    if job.opened.to:
        told = ", ".join(called[client] for client in job.opened.to)
        what, least = "the exact mean", ""
        noise = job.opened.noise
        if noise is not None:
            what = "the mean, with noise,"
            least = (
                f": differential privacy (epsilon {noise.epsilon:g}, delta {noise.delta:g}) for "
                "the values of one row, given the labels; it does not cover the labels, which are exact"
            )
        if job.opened.spread is not None:
            what, least = "the exact mean and standard deviation", f", which are at least {job.opened.spread}"
        lines.append(
            Learned(
                f"{told}, because all consented",
                f"{what} of every column in every final cluster, its size and, without their own rows, "
                f"of the others' rows in it{least}",
            )
        )
    if job.opened.described is not None:
        count, smallest = len(job.opened.described.categories), job.opened.described.smallest
        lines.append(
            Learned(
                "every party, because all consented",
                f"of {count} described columns, by cluster: counts, and sums and sums of "
                f"squares or counts by category. Any t = {job.t} parties, without their own rows: those of "
                f"at least two others, with {smallest} values or more each. The server: which were opened",
            )
        )
    return lines


def _of_server(job: Job, rounds: int) -> list[Learned]:
    exact = f"the exact distance of every row to the centres of all sets, in {rounds} rounds"
    return [
        Learned("the server", f"{exact}; no row and no centre"),
        Learned(
            "the server, because the disclosure is 'coded'",
            "also every client's coded distances, so squared distances for each segment of "
            f"{job.width} columns, and products with masks",
        ),
        Learned(
            "the server, from exact distances",
            "possibly by how much any two rows differ in each column: once centres span all columns, it can "
            "compute the columns except for their order, sign and shift",
        ),
        Learned(
            "the server with a client that owns two rows, or with two opened centres",
            "possibly every row: known points determine order, signs and shifts",
        ),
    ]


def _of_ending(job: Job) -> str:
    method, told = job.method, ""
    each = " for each k" if len(method.compared) > 1 else ""
    if method.n_init > 1:
        told += f"; which of {method.n_init} starts is the best{each}, and how many are about as good"
    if not job.own_labels:
        told += "; the inertia"
    elif job.disclosure.inertia:
        whose = "the inertia of each k and of one cluster" if method.compared else "the inertia"
        told += f"; the first {KEPT} bits of {whose}"
    return told


def _of_program(rounds: int, called: Mapping[int, str], job: Job) -> list[Learned]:
    dealer, first, second = [called[one] for one in job.comparers]
    distances = (
        f"how much nearer every row is to one centre than to another, for all pairs in {rounds} rounds"
    )
    drawn = "which rows were drawn as first centres. A deployed run cannot be repeated, whatever its seed"
    return [
        *([Learned("nobody", drawn)] if job.method.init == "k-means++" else []),
        Learned("the server", "nothing else"),
        Learned(f"{dealer} with {first} or {second}", f"{distances}; so all clusters"),
        Learned(
            f"{first} with {second}",
            f"the cluster of every row, and all sums and sizes of clusters, in {rounds} rounds",
        ),
        Learned(
            "a party that lied, if there was one",
            "possibly more of what the final clusters of its own rows, the rounds and empty clusters tell; "
            "nobody finds most lies of one of those that compare",
        ),
    ]


def _opened(columns: Sequence[str]) -> list[Learned]:
    if not columns:
        return []
    what = "how many parties hold values, how many values there are, their mean and their deviation"
    return [Learned("every client, because all consented", f"of {', '.join(columns)}: {what}")]


def _of_resamples(job: Job) -> list[Learned]:
    if not job.method.resamples:
        return []
    what = "how many rows each two clusters of two of them share, and the sizes of clusters"
    who = "every client, because all consented"
    return [Learned(who, f"of the clustering of all rows and of {job.method.resamples} resamples: {what}")]


def _between(job: Job) -> list[Learned]:
    """The lines for more clients than may collude, but fewer than determine the polynomials."""
    if job.ell == 1:
        return []
    first, last = job.t + 1, job.ell + job.t - 1
    who = f"{first} clients together" if first == last else f"{first} to {last} clients together"
    return [
        Learned(
            who,
            "equations about each row's segments, and possibly every value, because rows are small integers",
        )
    ]
