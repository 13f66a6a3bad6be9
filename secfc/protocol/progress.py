"""What the server reports to its driver: the progress of the run, and clients that did not do their part."""

from collections.abc import Sequence
from dataclasses import dataclass

from secfc.protocol.job.cases import Deposited
from secfc.protocol.job.job import Job
from secfc.protocol.messages import Phase


@dataclass(frozen=True, kw_only=True)
class Progress:
    """The progress of a run, for a person who watches it.

    Attributes
    ----------
    phase : str
    waiting_for : int
        Number of clients whose message the server still needs to continue.
    round, iteration : int
        Number of the round, and of finished iterations in the current start.
    moved : int or None
        Rows whose label changed in the last iteration. None where nobody knows it.
    inertia : float or None
        Inertia of the last iteration, in the data's units squared.
    sent_bytes : int
        Bytes sent by all parties so far, counted by the driver. 0 from the server itself.
    """

    phase: Phase
    waiting_for: int
    round: int = 0
    iteration: int = 0
    moved: int | None = 0
    inertia: float | None = None
    sent_bytes: int = 0


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
        Clients that dealt shares on no polynomial, or reported other shares than they were dealt.
    liars : tuple of int
        Clients that sent a wrong answer, or with membership privacy a wrong report on shares, and were
        excluded. Their rows are in.
    unread : tuple of (int, int)
        Pairs of a dealer and a recipient that says it cannot read the dealer's shares. Nobody can tell which
        of them lies. Their rows are in.
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

    @property
    def _vanished(self) -> tuple[int, ...]:
        return tuple(j for j in self.left_out if j not in self.cheats)

    @property
    def _wrong(self) -> tuple[int, ...]:
        return tuple(j for j in self.liars if j not in self.cheats)

    def _cheats(self, *, kept: bool) -> tuple[int, ...]:
        """Clients that lied about shares and whose rows are in (`kept`) or not."""
        return tuple(j for j in self.cheats if kept == (j not in self.left_out))

    def parts(self, job: Job) -> list[str]:
        """For each client and helper, in order, what it failed to do. Empty for one that did its part."""
        said = (
            (
                "left out: it vanished or was refused while rows were shared; its rows are not clustered",
                self._vanished,
            ),
            ("left out: it lied about shares; its rows are not clustered", self._cheats(kept=False)),
            ("excluded: it lied about others' shares; its rows are clustered", self._cheats(kept=True)),
            ("excluded: it sent wrong answers; its rows are clustered", self._wrong),
            ("absent: it stopped answering; its rows are clustered", self.absent),
            (
                "it reports that it cannot read another client's shares, and it is not known which of "
                "the two is at fault; its rows are clustered",
                tuple(recipient for _, recipient in self.unread),
            ),
            (
                "another client reports that it cannot read this client's shares, and it is not known "
                "which of the two is at fault; its rows are clustered",
                tuple(dealer for dealer, _ in self.unread),
            ),
            (
                "an evaluator says that it sent wrong shares, or the dealer dealt for other masks, which "
                "nobody else can check; its rows are clustered",
                tuple(holder for _, holder in self.claimed),
            ),
        )
        of_clients = ["; ".join(text for text, clients in said if j in clients) for j in range(1, job.n + 1)]
        of_helpers = [
            "; ".join(text.split(";")[0] for text, parties in said if j in parties)  # helpers have no rows
            for j in range(job.n + 1, job.parties + 1)
        ]
        return of_clients + of_helpers

    def describe(self, job: Job, names: Sequence[str] = ()) -> str:
        """One sentence, empty if all did their part. `names` are those that `Job.names_of` takes."""
        names, without, within = job.names_of(names), "", ""
        if not isinstance(job.rows, Deposited):  # members of a committee have no rows
            without, within = ", and their rows are not clustered", "; their rows are clustered"
        said = {
            "stopped answering": self.absent,
            f"vanished before all rows were shared{without}": self._vanished,
            f"lied about shares{without}": self._cheats(kept=False),
            "lied about others' shares and were excluded": self._cheats(kept=True),
            "sent wrong answers and were excluded": self._wrong,
        }
        told = [
            f"{', '.join(names[j - 1] for j in clients)} {what}" for what, clients in said.items() if clients
        ]
        told += [
            f"{names[recipient - 1]} reports that it cannot read the shares of {names[dealer - 1]}, and "
            f"it is not known which of the two is at fault{within}"
            for dealer, recipient in self.unread
        ]
        told += [
            f"according to {names[evaluator - 1]}, {names[holder - 1]} sent wrong shares, or the dealer "
            f"dealt for other masks, which nobody else can check{within}"
            for evaluator, holder in self.claimed
        ]
        return "; ".join(told)
