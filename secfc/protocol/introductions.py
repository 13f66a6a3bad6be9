"""The server's side of the phase *identify*: the introductions of all parties."""

import numpy as np

from secfc.crypto.handshake import Introduction, Session, digest_of, transcript_of
from secfc.errors import MessageError
from secfc.field.array_types import Ints, Labels
from secfc.field.label_packing import labels_of
from secfc.protocol.job.cases import Deposited, Union
from secfc.protocol.job.job import Job
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.messages import Hello, Plan


class Introductions:
    """The introductions of clients and helpers."""

    def __init__(self, job: Job, session: Session) -> None:
        self._job, self._session = job, session
        self._hellos: dict[int, Introduction] = {}
        self._starts: dict[int, Labels | None] = {}
        self._weights: dict[int, Ints] = {}

    def __contains__(self, client: int) -> bool:
        return client in self._hellos

    def take(self, message: Hello) -> None:
        """Keep a party's first introduction, after checks of its agreement, signature and fields."""
        introduction = message.introduction
        if message.sender in self._hellos:
            raise MessageError(f"Hello: a second one from client {message.sender}")
        if message.agreement != self._session.agreement:
            told, own = message.agreement.hex(), self._session.agreement.hex()
            raise MessageError(
                f"Hello: client {message.sender} agreed on another job or roster, digest {told[:16]}; the "
                f"server's is {own[:16]}"
            )
        introduction.verify(self._session, message.sender)
        check_told(self._job, message.sender, introduction, kind="Hello")
        helps = message.sender > self._job.n
        if (message.start is None) == (self._job.method.init == "labels" and not helps):
            given = "no" if message.start is None else "given"
            raise MessageError(
                f"Hello: {given} start labels from client {message.sender}, init={self._job.method.init!r}"
            )
        start = None
        if message.start is not None:
            if message.start.size != introduction.rows:
                raise MessageError(
                    f"Hello: {message.start.size} start labels for {introduction.rows} rows "
                    f"from client {message.sender}"
                )
            start = labels_of(message.start)
            if start.size and start.min() < self._job.least_label:
                raise MessageError(f"Hello: a row of client {message.sender} has no start label")
            if self._job.hides_start and start.max(initial=0) > 0:
                raise MessageError(
                    f"Hello: client {message.sender} tells labels of its rows, which it must keep to itself"
                )
        weights = np.empty(0, dtype=np.int64) if message.weights is None else message.weights
        if weights.size != (introduction.rows if self._job.rows.weighted else 0):
            raise MessageError(
                f"Hello: {weights.size} weights for {introduction.rows} rows from client {message.sender}, "
                f"weighted={self._job.rows.weighted}"
            )
        if (digest_of(start), digest_of(weights)) != (introduction.start, introduction.weights):
            raise MessageError(f"Hello: client {message.sender} signed other start labels or weights")
        self._hellos[message.sender], self._starts[message.sender] = introduction, start
        self._weights[message.sender] = weights

    def drop(self, client: int) -> None:
        """Forget a client that was left out."""
        self._hellos.pop(client, None)
        self._starts.pop(client, None)
        self._weights.pop(client, None)

    @property
    def transcript(self) -> bytes:
        """Digest of the session and of all introductions. The clients' channels depend on it too."""
        present = dict(sorted(self._hellos.items()))
        return transcript_of(self._session, present)

    def commitment(self, party: int) -> bytes:
        """A party's commitment to its value of the coin."""
        return self._hellos[party].commitment

    @property
    def smallest(self) -> int:
        """The fewest rows in a set of which all consent to open the mean, or to predict with it."""
        return max(one.smallest for one in self._hellos.values())

    def layout(self) -> Layout:
        """The rows of each client or owner: as deposited, most of a union, otherwise as the clients said."""
        rows = {j: one.rows for j, one in self._hellos.items()}
        counts = tuple(rows.get(j, 0) for j in range(1, self._job.n + 1))
        return planned_of(self._job, Layout(counts, weights=self._all_weights()))

    def _all_weights(self) -> Ints | None:
        if not self._job.rows.weighted or not self._weights:
            return None
        return np.concatenate([weights for _, weights in sorted(self._weights.items())])

    def start(self, layout: Layout) -> Labels:
        """Given start labels of all rows that are in."""
        starts = [self._starts[j] for j, rows in enumerate(layout.counts, 1) if rows]
        return np.concatenate([start for start in starts if start is not None])

    def plans(self) -> list[Plan]:
        """The plan for every party that introduced itself."""
        said = tuple(self._hellos.get(j) for j in range(1, self._job.parties + 1))
        run, weights = self._session.run, self._all_weights()
        start = None
        if self._job.method.init == "labels":
            start = self.start(self.layout())
        return [
            Plan(run=run, recipient=j, introductions=said, weights=weights, start=start)
            for j in sorted(self._hellos)
        ]


def check_told(job: Job, party: int, one: Introduction, *, kind: str) -> None:
    """Raise MessageError if an introduction tells of rows that its party has not, or is to hide."""
    if party > job.n and one.tells_of_rows:
        raise MessageError(f"{kind}: helper {party} has rows")
    if isinstance(job.rows, Union) and one.rows:
        raise MessageError(f"{kind}: client {party} tells a number of rows, which membership privacy hides")
    if isinstance(job.rows, Deposited) and one.rows:
        raise MessageError(f"{kind}: client {party} has rows, where owners deposit them")


def planned_of(job: Job, own: Layout) -> Layout:
    """All rows of a job: those that owners deposited, the most that a union may have, or the clients' own."""
    match job.rows:
        case Deposited():
            return Layout(job.rows.owners, deposited=True)
        case Union():
            return Layout((job.rows.cap,) * job.n, common=True)
        case _:
            return own
