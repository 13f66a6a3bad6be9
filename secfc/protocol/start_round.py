"""A round of disclosure "labels" about candidates of a start by k-means++, at one client.

The trio finds each row's least distance to the chosen rows and a candidate, part by part. Then it opens which
candidate is chosen. Unless it is the start's last, or all rows coincide with chosen ones, it also opens the
rows that are drawn next.
"""

from dataclasses import dataclass, field

import numpy as np

from secfc.comparing.role import Role
from secfc.field.packing import PackedResidues
from secfc.operations.draw import DrawDealer, DrawEvaluator
from secfc.operations.minima import Minima
from secfc.operations.plus_plus_steps import LeastDealer, LeastEvaluator, NearerDealer, NearerEvaluator
from secfc.protocol.context import ClientContext, Peers
from secfc.protocol.messages import Message
from secfc.protocol.trio_round import Asked, Kept, TrioRound


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CandidatesAsked(Asked):
    """The question of a round about candidates."""

    # Public random numbers below 2**32, one for each of the next candidates; () in a start's last round.
    draws: tuple[int, ...]
    minima: Minima | None = field(repr=False)  # of the start, at one of the trio only


class StartRound(TrioRound):
    """A client's part in a round about candidates."""

    _asked: CandidatesAsked

    def __init__(self, context: ClientContext, peers: Peers, asked: CandidatesAsked, kept: Kept) -> None:
        super().__init__(context, peers, asked, kept)
        self._added = 0  # parts with minima
        self.best: int | None = None  # at one of the trio: index of the chosen candidate
        self.drawn: list[int] = []  # at an evaluator: rows drawn next; [] after the last, or if all coincide
        self.complete = False

    @property
    def _minima(self) -> Minima:
        assert self._asked.minima is not None
        return self._asked.minima

    def _use_part(self, part: int, values: PackedResidues) -> list[Message]:
        """Least distances of a part's rows with each candidate. In a start's first round, the distances."""
        closest = self._minima.closest(self._parts.answer_rows(part))
        if closest is None:
            return self._add(part, values)
        kinds = NearerDealer, NearerEvaluator
        return self._begin_role(part, kinds, primes=self._primes, closest=closest, asked=values)

    def _add(self, part: int, least: PackedResidues) -> list[Message]:
        """Keep minima. After the last part, begin the choice of a candidate."""
        self._minima.add(self._parts.answer_rows(part), least)
        self._added += 1
        messages: list[Message] = []
        if not self._deals_here:
            messages.append(self._opened(part, np.empty(0, dtype=np.int32)))
        if self._added < self._slots.parts:
            return messages
        kinds, given = (LeastDealer, LeastEvaluator), {"totals": self._minima.totals()}
        last = not self._asked.draws
        return messages + self._begin_role(self._slots.least, kinds, primes=self._primes, last=last, **given)

    def _choose(self, best: int, *, drawing: bool) -> list[Message]:
        self.best = best
        if not drawing:
            self.complete = True
            return []
        self._minima.keep(best)
        kinds, given = (DrawDealer, DrawEvaluator), {"sums": self._minima.sums(), "draws": self._asked.draws}
        return self._begin_role(self._slots.draw, kinds, primes=self._primes, **given)

    def _ended(self, slot: int, role: Role) -> list[Message]:
        match role:
            case NearerDealer() | NearerEvaluator():
                return self._add(slot, role.least)
            case LeastDealer() | LeastEvaluator():
                return self._choose(role.best, drawing=bool(self._asked.draws) and not role.is_zero)
            case DrawEvaluator():
                self.drawn, self.complete = role.rows.tolist(), True
        return []
