"""Who still takes part in a run, and whether those are enough.

With A liars tolerated, R + A answers that agree are right. A polynomial of degree below R that differs from
phi agrees with it in at most R - 1 of them, so it differs in more than A.
"""

from collections.abc import Collection, Iterable, Mapping

from secfc.errors import TooManyFaultsError
from secfc.protocol.job.job import Job


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
        self._silenced = 0  # least number of liars among them

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

    @property
    def spare(self) -> int:
        """Liars that may still be among the clients."""
        return max(0, self._job.max_liars - len(self.liars) - self._silenced)

    def leave_out(self, clients: Mapping[int, str]) -> None:
        """Leave out clients, each for a reason. TooManyFaultsError if too few are left."""
        self.left_out.update(clients)
        self.require(len(self.members))

    def silence(self, clients: Collection[int], liars: int) -> None:
        """Use nothing of these clients, of whom `liars` or more lie. Raises what `require` does."""
        self.silent, self._silenced = set(clients), liars
        self.require(len(self.members))

    def require(self, left: int) -> None:
        """Raise TooManyFaultsError unless `left` clients are enough to decode and to detect a lie."""
        n, threshold, spare = self._job.n, self._job.threshold, self.spare
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
