"""Roles whose steps are gates, and the batches that they deal for and open."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from secfc.array_types import Bools
from secfc.codes import Code
from secfc.comparing.arena import Arena
from secfc.comparing.batch import DealerTools, Dealing, Evaluating, EvaluatorTools
from secfc.comparing.keys import Keys
from secfc.comparing.plan import BatchPlan
from secfc.comparing.role import Comparer, Data, EvaluatorRole, Role, Sending, Steps, Turn
from secfc.comparing.slicing import WORD_BYTES, to_rows
from secfc.errors import CheatError
from secfc.kernels import Kernels
from secfc.kernels.interface import Bytes


@dataclass(frozen=True, kw_only=True)
class Opening:
    """Consecutive batches whose outputs are opened. Residues have shape (P, k, 3 * m)."""

    stage: str
    plans: Sequence[BatchPlan]
    residues: Bytes = field(repr=False)

    @property
    def dealt(self) -> int:
        """Words that the dealer sends."""
        return sum(plan.dealt for plan in self.plans)


class GateDealer(Role):
    """C: it deals for gates. The evaluators send it opened bits where it needs them."""

    def __init__(self, steps: Steps, *, keys: tuple[Keys, Keys], kernels: Kernels, arena: Arena) -> None:
        self._tools: DealerTools = {"keys": keys, "kernels": kernels, "arena": arena}
        super().__init__(Comparer.DEALER, steps)

    def _deal(self, opening: Opening) -> Sending:
        dealt, at = np.empty(opening.dealt, dtype=np.uint64), 0
        batches: list[tuple[Dealing, BatchPlan]] = []
        for batch, plan in enumerate(opening.plans):
            out = dealt[at : at + plan.dealt]
            batches.append((Dealing(opening.stage, out, batch=batch, **self._tools), plan))
            at += plan.dealt

        def deal(item: tuple[Dealing, BatchPlan]) -> None:
            item[0].outputs(item[1], opening.residues)

        self._tools["kernels"].threads.each(deal, batches, size=opening.dealt)
        return Sending(recipient=Comparer.E1, data=dealt.view(np.uint8).data)

    def _told(
        self, sent: tuple[Sending, ...], size: int, what: str
    ) -> Generator[Turn, Mapping[Comparer, Data], bytes]:
        """Send, then receive the same `size` bytes from both evaluators."""
        told = yield sent, {Comparer.E0: size, Comparer.E1: size}
        first, second = bytes(told[Comparer.E0]), bytes(told[Comparer.E1])
        if first != second:
            raise CheatError(f"the evaluators told the dealer of different {what}", code=Code.BAD_MESSAGE)
        return first

    def _told_bits(
        self, opening: Opening, what: str, order: Literal["big", "little"]
    ) -> Generator[Turn, Mapping[Comparer, Data], Bools]:
        """Deal, then receive the opened bits, shape (outputs, rows)."""
        outputs = opening.plans[0].bracket.outputs
        count = outputs * sum(plan.rows for plan in opening.plans)
        told = yield from self._told((self._deal(opening),), -(-count // 8), what)
        bits = np.unpackbits(np.frombuffer(told, dtype=np.uint8), count=count, bitorder=order)
        return bits.reshape(outputs, -1).astype(np.bool_)


class GateEvaluator(EvaluatorRole):
    """E0 or E1: it evaluates gates."""

    def __init__(self, steps: Steps, *, me: Comparer, keys: Keys, kernels: Kernels, arena: Arena) -> None:
        self._tools: EvaluatorTools = {"me": me, "keys": keys, "kernels": kernels, "arena": arena}
        super().__init__(me, steps)

    def _opened(self, opening: Opening) -> Generator[Turn, Mapping[Comparer, Data], Bools]:
        """Open outputs, shape (outputs, rows)."""
        dealt = yield from self._dealt(WORD_BYTES * opening.dealt)
        batches, at = [], 0
        for batch, plan in enumerate(opening.plans):
            end = at + WORD_BYTES * plan.dealt
            gates = Evaluating(opening.stage, dealt[at:end], batch=batch, **self._tools)
            batches.append(gates.outputs(plan, opening.residues))
            at = end
        threads = self._tools["kernels"].threads
        opened = yield from self._exchanged(*batches, threads=threads, size=opening.dealt)
        bits = [to_rows(words, plan.rows) for words, plan in zip(opened, opening.plans, strict=True)]
        return np.concatenate(bits, axis=1)
