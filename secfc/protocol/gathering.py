"""Who still takes part in a run, whether those are enough, and who keeps others waiting.

With A liars tolerated, R + A answers that agree are right. A polynomial of degree below R that differs from
phi agrees with it in at most R - 1 of them, so it differs in more than A.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from secfc.errors import TooManyFaultsError
from secfc.errors.codes import Code
from secfc.operations.beginning.added import UNION_IS_OPEN
from secfc.protocol.job.cases import Predict, Union
from secfc.protocol.job.job import Job

Carried = Callable[[int, int], int]
"""Number of messages that were carried from one client to another."""


class Gathering:
    """The clients and helpers that take part, and those that do not, with reasons."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self.round = 0  # number of the current round, from 1
        self.absent: set[int] = set()  # not waited for, until they send something again
        self.left_out: dict[int, str] = {}  # reasons; their rows are not in, and they take no part
        self.liars: dict[int, str] = {}  # reasons; their messages are dropped, and their rows stay
        # Not used, because it is unknown whether they lie (`secfc.sharing.unread`). Their rows stay.
        self.silent: set[int] = set()

    @property
    def members(self) -> list[int]:
        """Clients that take part. Absent ones are included, because they may come back."""
        out = self.left_out.keys() | self.liars.keys() | self.silent
        return [j for j in range(1, self._job.n + 1) if j not in out]

    @property
    def present(self) -> list[int]:
        """Members that are not absent."""
        return [j for j in self.members if j not in self.absent]

    @property
    def everybody(self) -> list[int]:
        """Members and helpers."""
        return [*self.members, *range(self._job.n + 1, self._job.parties + 1)]

    def leave_out(self, clients: Mapping[int, str], *, planned: bool) -> None:
        """Continue without the rows of some clients, each for a reason, before the plan or after it.

        TooManyFaultsError when the run needs one of them, or too few are left to answer or to compare.
        """
        for client, reason in clients.items():
            self.check_dispensable(client, reason, planned=planned)
        self.left_out.update(clients)
        self.require(len(self.members))
        self.require_comparers()

    def check_dispensable(self, client: int, reason: str, *, planned: bool) -> None:
        """Raise TooManyFaultsError if the run cannot do without a client's rows."""
        job, code = self._job, None
        if job.prepares:
            # Before means and deviations are opened, the others wait for it. Afterwards centres, spreads or
            # the inertia of the others would reveal its values by difference.
            text = (
                f"client {client}: {reason}; no party can be left out, because the opened means and "
                f"deviations include all {job.n} parties' values"
            )
        elif isinstance(job.method, Predict):
            text = (
                f"client {client}: {reason}; a prediction can leave no party out, because the centres "
                "are means of all parties' rows"
            )
        elif isinstance(job.rows, Union):
            text = (
                f"client {client} is absent before all rows were shared; with membership privacy no client "
                "can be left out, because every client holds a part of every row"
            )
            if planned:
                text, code = text + UNION_IS_OPEN, Code.UNION_OPENED
        else:
            return
        raise TooManyFaultsError(text, code=code, clients=[client])

    def silence(self, clients: Collection[int]) -> None:
        """Use nothing of these clients. Raises what `require` does."""
        self.silent = set(clients) - self.left_out.keys() - self.liars.keys()
        self.require(len(self.members))

    def require(self, left: int) -> None:
        """Raise TooManyFaultsError unless `left` clients are enough to decode and to detect a lie."""
        n, threshold, spare = self._job.n, self._job.threshold, self._job.max_liars
        if left >= threshold + spare:
            return
        if spare:
            inequality = f"n >= R + S + A: {n} < {threshold} + {n - left} + {spare}"
            text = f"to detect A = {spare} lies, {inequality}"
        else:
            text = f"to decode, n >= R + S: {n} < {threshold} + {n - left}"
        raise TooManyFaultsError(f"too few clients are left: {text}; {self.describe()}")

    def require_comparers(self) -> None:
        """Raise TooManyFaultsError if a comparer is absent or not used: no other can take its place."""
        comparers, left = self._job.comparers, set(self.everybody) - self.absent
        gone = [j for j in comparers if j not in left]
        if not gone:
            return
        without = "no other party can take its place"
        client, who = gone[0], self.describe()
        called = self._job.called(client)
        if client in self.liars:
            raise TooManyFaultsError(f"{called}, a comparer, lied, and {without}", clients=[client])
        if client in self.silent:
            raise TooManyFaultsError(f"{called}, a comparer, may be lying, and {without}; {who}")
        lies = (
            ", or answers do not agree"
            if self.round and self._job.max_liars and client == comparers[1]
            else ""
        )
        text = f"{called}, a comparer, is absent{lies}, and {without}; {who}"
        raise TooManyFaultsError(text, clients=gone)

    def describe(self) -> str:
        """Text about missing clients and helpers, for errors."""
        groups: dict[str, Iterable[int]] = {
            "absent": self.absent,
            "left out": self.left_out,
            "found lying": self.liars,
        }
        if self.silent:
            groups["not used, because some accuse others and it is not known who lies"] = self.silent
        called = self._job.called
        texts = [f"{name}: {', '.join(map(called, sorted(who)))}" for name, who in groups.items() if who]
        return "; ".join(texts) or "no client is missing"


@dataclass(frozen=True, kw_only=True)
class Faults:
    """Parties that did not do their part, by number: clients from 1 on, then helpers.

    Attributes
    ----------
    absent : tuple of int
        Clients and helpers that did not answer when the run ended. Rows of such clients are in.
    left_out : tuple of int
        Clients that vanished while rows were shared, or lied about shares. Their rows are not in.
    cheats : tuple of int
        Clients that dealt shares on no polynomial, or reported other shares than they were dealt, unless
        the server withheld shares from honest ones.
    liars : tuple of int
        Clients that sent a wrong answer, or with membership privacy a wrong report on shares, and were
        excluded. Their rows are in.
    unread : tuple of (int, int)
        Pairs of a dealer and a recipient that says it cannot read the dealer's shares. Nobody can tell which
        of them lies, or whether the server does. Their rows are in.
    claimed : tuple of (int, int)
        Pairs of an evaluator and a client that sent it wrong shares, as it says. Nobody else can check that,
        and if the dealer of the comparison dealt for other masks it looks the same. Their rows are in.
    """

    absent: tuple[int, ...] = ()
    left_out: tuple[int, ...] = ()
    liars: tuple[int, ...] = ()
    cheats: tuple[int, ...] = ()
    unread: tuple[tuple[int, int], ...] = ()
    claimed: tuple[tuple[int, int], ...] = ()

    @property
    def gone(self) -> frozenset[int]:
        """Clients that did not have the result at the end, as far as the server knows."""
        return frozenset((*self.absent, *self.left_out, *self.liars))
