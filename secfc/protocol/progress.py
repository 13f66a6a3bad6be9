"""What the server tells its driver: where the run stands, and who did not do its part."""

from collections.abc import Sequence
from dataclasses import dataclass

from secfc.protocol.messages import Phase


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Where a run stands, for a person who watches it.

    Attributes
    ----------
    phase : str
    waiting_for : int
        Clients whose message the server still needs to go on.
    round, iteration : int
        Questions asked; iterations ended in the current start.
    moved : int
        Rows whose label changed in the last iteration.
    inertia : float or None
        Of the last iteration, in the data's units squared.
    sent_bytes : int
        Sent by all parties so far, as the driver counts them; 0 from the server itself.
    """

    phase: Phase
    waiting_for: int
    round: int
    iteration: int
    moved: int
    inertia: float | None
    sent_bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class Faults:
    """Clients that did not do their part.

    Attributes
    ----------
    absent : tuple of int
        Did not answer when the run ended; their rows are in.
    left_out : tuple of int
        Vanished while rows were shared, or lied about shares; their rows are not in.
    cheats : tuple of int
        Dealt shares that lie on no polynomial, or reported others than they were dealt.
    liars : tuple of int
        Sent a wrong answer, or with membership privacy a wrong report on shares, and were heard no more;
        their rows are in.
    unread : tuple of (int, int)
        Dealers and recipients that say they cannot read what these sent. Nobody can tell which of both lies;
        their rows are in.
    """

    absent: tuple[int, ...] = ()
    left_out: tuple[int, ...] = ()
    liars: tuple[int, ...] = ()
    cheats: tuple[int, ...] = ()
    unread: tuple[tuple[int, int], ...] = ()

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
        """Who lied about shares, and whether their rows are in."""
        return tuple(j for j in self.cheats if kept == (j not in self.left_out))

    def parts(self, n: int) -> list[str]:
        """What each of n clients failed to do, client 1's first; empty for one that did its part."""
        said = (
            (
                "left out: it vanished or was refused while rows were shared; its rows are not in",
                self._vanished,
            ),
            ("left out: it lied about shares; its rows are not in", self._cheats(kept=False)),
            ("excluded: it lied about others' shares; its rows are in", self._cheats(kept=True)),
            ("excluded: it sent wrong answers; its rows are in", self._wrong),
            ("absent: it did not answer to the end; its rows are in", self.absent),
            (
                "it says that it cannot read another's shares, and nobody can tell which of both is at "
                "fault; its rows are in",
                tuple(recipient for _, recipient in self.unread),
            ),
            (
                "another says that it cannot read this one's shares, and nobody can tell which of both is at "
                "fault; its rows are in",
                tuple(dealer for dealer, _ in self.unread),
            ),
        )
        return ["; ".join(text for text, clients in said if j in clients) for j in range(1, n + 1)]

    def describe(self, names: Sequence[str]) -> str:
        """One sentence, empty when all did their part; `names` are the clients', client 1's first."""
        said = {
            "did not answer to the end": self.absent,
            "vanished before all rows were shared, and their rows are not in": self._vanished,
            "lied about shares, and their rows are not in": self._cheats(kept=False),
            "lied about others' shares and were excluded": self._cheats(kept=True),
            "sent wrong answers and were excluded": self._wrong,
        }
        told = [
            f"{', '.join(names[j - 1] for j in clients)} {what}" for what, clients in said.items() if clients
        ]
        told += [
            f"{names[recipient - 1]} says that it cannot read the shares of {names[dealer - 1]}, and nobody "
            f"can tell which of both is at fault; their rows are in"
            for dealer, recipient in self.unread
        ]
        return "; ".join(told)
