"""Attack o: one comparer that lies, and reads others' rows from the labels that follow.

The comparison takes D = y - r from the masked values y of the evaluators and the masks r of the dealer. A
dealer that deals for r - o, or a first evaluator that continues with y + o, has every row compared with D + o
instead, for numbers o of its choice. So it can do what a client that answers wrongly does
(`benchmarks.privacy.bisection`). But every client's answer is right, and `max_liars` finds nobody.
"""

from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np

from benchmarks.privacy.bisection import Bisection, watched_with
from benchmarks.privacy.geometry import error
from benchmarks.privacy.rows import PLACED, AttackRow
from secfc.comparing.role import Comparer
from secfc.field.array_types import Floats
from secfc.field.label_packing import labels_of
from secfc.field.packing import PackedResidues
from secfc.protocol.client import Client
from secfc.protocol.labels import ClientLabels
from secfc.protocol.messages import Assignment, Message
from secfc.protocol.phases.client_iterate import ClientIterate
from secfc.protocol.phases.client_share import ClientShare

_LIARS = {Comparer.DEALER: (1, 2, 3), Comparer.E0: (2, 1, 3)}
"""The comparers of a job in which the first client is the one that lies."""


class LyingComparer(Client):
    """The dealer or the first evaluator. `bits` and `smallest` are those of `Bisection`."""

    def __init__(self, *, bits: int, smallest: int, **given: Any) -> None:
        super().__init__(**given)
        self.bisection = Bisection(job=self._job, rows=given["rows"], bits=bits, smallest=smallest)

    def receive(self, message: Message) -> list[Message]:
        """Take a message, and lie when this round is compared."""
        if isinstance(message, Assignment):
            self.bisection.plan(message.round, labels_of(message.sets))
            if isinstance(self.phase, ClientShare):  # it iterates from this message on
                self.phase = ClientIterate(self.phase._context, self.phase._peers, self.phase.held)
            disclosure = cast(ClientLabels, cast(ClientIterate, self.phase)._disclosure)
            cast(Any, disclosure).ask = self._asking(disclosure, type(disclosure).ask)
        return super().receive(message)

    def _asking(self, disclosure: ClientLabels, ask: Callable[..., bool]) -> Callable[..., bool]:
        """`ClientLabels.ask`, after which the round that it begins moves what it compares."""

        def asked(*given: Any) -> bool:
            begun = ask(disclosure, *given)
            current = cast(Any, disclosure._round_now)
            if disclosure._deals:
                use = current._use_part
                current._use_part = lambda part, masks: use(part, self._moved(masks, -1))
            else:
                send = current._decoded
                current._decoded = lambda parts: send([(at, self._moved(one, 1)) for at, one in parts])
            return begun

        return asked

    def _moved(self, residues: PackedResidues, sign: int) -> PackedResidues:
        return self.bisection.added(residues, [sign] * residues.shape[0])


def by_lying_comparer(
    parties: list[Floats], *, liar: Comparer, bits: int, smallest: int, seed: int, max_liars: int
) -> Iterator[AttackRow]:
    """Attack o: the error of others' rows, by rounds, up to the end of the attack.

    Parameters
    ----------
    parties : list of ndarray of shape (m_j, d), float64
        The other clients.
    liar : Comparer
        The dealer or the first evaluator.
    bits, smallest, seed, max_liars : int
        As for `benchmarks.privacy.bisection.by_wrong_answers`.
    """
    others = np.concatenate(parties)
    watched, own = watched_with(
        LyingComparer,
        parties,
        bits=bits,
        smallest=smallest,
        seed=seed,
        max_liars=max_liars,
        comparers=_LIARS[liar],
        disclosure="labels",
    )
    after = f"liars found: {watched.liars}" if watched.liars else "nobody notices"
    for rounds, rows in cast(LyingComparer, watched.clients[0]).bisection.found:
        yield PLACED.row(
            error(rows[own:], others),
            job=watched.job,
            m=len(watched.rows),
            attack="o-rows",
            adversary=f"{liar.value} that lies",
            against="labels",
            swept="rounds",
            value=rounds,
            note=f"max_liars={max_liars}, smallest_set={smallest}; "
            + (after if watched.ended else "the run does not end"),
        )
