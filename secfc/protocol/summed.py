"""A client's side of the check of shares that are added up: part by part, before they are.

What every dealer sent of a part is kept until the server says that nobody disputes it any more; then the sum
takes its place (docs/faults.md, "Rows of a union").
"""

from collections.abc import Callable, Collection

import numpy as np

from secfc.array_types import Floats
from secfc.errors import MessageError
from secfc.field.packing import PackedResidues, unpack
from secfc.field.residues import reduce
from secfc.kernels import Kernels
from secfc.protocol.context import SharePlan
from secfc.protocol.dealing import Column
from secfc.protocol.echoes import Echoes
from secfc.protocol.messages import Challenge, Dispute, Echo, Message
from secfc.protocol.testimony import Testimony


class _Part:
    """What is known of a part that is not added up yet."""

    def __init__(self, testimony: Testimony) -> None:
        self.testimony = testimony
        self.held: dict[int, PackedResidues] = {}  # by dealer


class SummedShares:
    """Shares of parts that are checked before they are added up.

    Parameters
    ----------
    plan : SharePlan
    number : int
        Of the client.
    kernels : Kernels
    echoes : Echoes
        The check of part x is number x + 1.
    testimony : callable
        Gives one for the check of a round.
    add : callable
        Takes a dealer's shares of a part, with its number, for their sum.
    unread : collection of int
        Clients that sent what could not be read.

    Attributes
    ----------
    added : int
        Parts that were added up.
    """

    def __init__(
        self,
        plan: SharePlan,
        *,
        number: int,
        kernels: Kernels,
        echoes: Echoes,
        testimony: Callable[[int], Testimony],
        add: Callable[[PackedResidues, int], None],
        unread: Collection[int],
    ) -> None:
        self._number, self._n, self._primes, self._kernels = number, plan.job.n, plan.primes, kernels
        self._echoes, self._testimony, self._add = echoes, testimony, add
        self._unread = unread
        self._parts: dict[int, _Part] = {}
        self._challenged = 0  # parts whose challenge came
        self.added = 0

    def __repr__(self) -> str:
        return f"SummedShares(client {self._number}, {self.added} parts added up)"

    def testimony(self, part: int) -> Testimony:
        """That of the check of a part."""
        return self._part(part).testimony

    def keep(self, dealer: int, part: int, residues: PackedResidues) -> None:
        """Keep a dealer's shares of a part."""
        self._part(part).held[dealer] = residues

    def on_challenge(self, message: Challenge, *, complete: int) -> list[Message]:
        """Tell the other clients the seed; report once a quorum was given it.

        Parameters
        ----------
        complete : int
            Parts that this client holds of everybody. A part is combined only when nobody can deal it
            any more.

        Raises
        ------
        CheatError
            The server signed another seed for another client.
        """
        if message.round != self._challenged + 1 or message.round > complete:
            raise MessageError(
                f"Challenge: number {message.round} when {self._challenged} came and {complete} parts are "
                f"complete"
            )
        self._challenged += 1
        return self._echoes.begin(message) + self._reported(message.round)

    def on_echo(self, message: Echo, *, complete: int) -> list[Message]:
        """Take the seed that another client was given.

        Raises
        ------
        CheatError
            The server signed another seed for the sender.
        """
        self._echoes.take(message, complete=complete + 1)
        return self._reported(message.round)

    def on_dispute(self, message: Dispute) -> list[Message]:
        """Show the shares of the part that this client disputes, as their dealers signed them."""
        part = self._parts.get(message.round - 1)
        if part is None:
            raise MessageError(f"Dispute: number {message.round}, of no part that is being checked")
        return part.testimony.evidence(message, shares=self._shares)

    def settle(self, parts: int) -> None:
        """Add up the first parts, which are checked.

        Raises
        ------
        MessageError
            One of them this client has not reported about.
        """
        for part in range(self.added, parts):
            if part not in self._parts or not self._parts[part].testimony.reported:
                raise MessageError(f"part {part} of the shares was not checked")
        for part in range(self.added, parts):
            for residues in self._parts.pop(part).held.values():
                self._add(residues, part)
            self._echoes.end(part + 1)
            self.added += 1

    def _part(self, part: int) -> _Part:
        if part not in self._parts:
            self._parts[part] = _Part(self._testimony(part + 1))
        return self._parts[part]

    def _reported(self, round_: int) -> list[Message]:
        """The report about a part, once, when a quorum was given the same seed."""
        if not self._echoes.confirmed(round_) or self._parts[round_ - 1].testimony.reported:
            return []
        columns = [(dealer, round_ - 1) for dealer in range(1, self._n + 1)]
        return [
            self._parts[round_ - 1].testimony.report(
                seed=self._echoes.seed(round_),
                columns=columns,
                combine=self._combined,
                kernels=self._kernels,
                unread=self._unread,
            )
        ]

    def _combined(self, column: Column, index: int, coefficients: Floats) -> Floats:
        dealer, part = column
        count, out = coefficients.shape[0], np.empty(coefficients.shape[0])
        plane = self._parts[part].held[dealer].planes()[index]
        right = self._kernels.combine(plane, coefficients.reshape(count, -1), self._primes[index], out)
        assert right  # residues were checked when they arrived
        return out

    def _shares(self, column: Column, index: int) -> Floats:
        dealer, part = column
        return reduce(unpack(self._parts[part].held[dealer].planes()[index]), self._primes[index])
