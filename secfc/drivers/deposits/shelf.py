"""A member's deposits, read some at a time, from the store or from the log of a run."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from secfc.agreement.deposits.admission import Certificate
from secfc.agreement.deposits.holdings import Deposits, Holding, call_of, deposit_in
from secfc.crypto.identity import Identity
from secfc.drivers.deposits.committee import kernels_of
from secfc.errors import MessageError, StorageError
from secfc.sharing.deposits import Intake

_BLOCK_BYTES = 1 << 25  # of deposits that are in memory at a time


@dataclass(frozen=True, kw_only=True, eq=False)
class Block:
    """Deposits that were read together, and the names of their owners."""

    intake: Intake
    names: Mapping[int, str]
    not_taken: Mapping[int, str]  # nobody is blamed for these: anybody can write a file


class Shelf:
    """The deposits for one member. Those that it has `signed` are not checked again: `Intake` says why."""

    def __init__(
        self,
        deposits: Deposits,
        *,
        member: int,
        identity: Identity,
        signed: Holding | None = None,
    ) -> None:
        self.deposits, self.member, self._identity, self._signed = deposits, member, identity, signed
        agreement = deposits.agreement
        assert agreement.owners is not None
        self._keys: list[bytes] = [b""] * (agreement.job.n * agreement.owners.most)
        self.call = call_of(agreement, self._keys)
        self._kernels = kernels_of(agreement.job, sum(self.call.most_rows))

    def blocks(
        self, numbers: Iterable[int], logged: Iterable[tuple[int, bytes]] | None = None
    ) -> Iterator[Block]:
        """Read the deposits of these owners, some at a time, from the store or from what was `logged`."""
        intake, names, not_taken, size = self._intake(), dict[int, str](), dict[int, str](), 0
        files = ((one, None) for one in numbers) if logged is None else logged
        for number, file in files:
            try:
                if file is None:
                    certificate, deposit = self.deposits.deposit(self.member, number)
                else:
                    certificate, deposit = deposit_in(file, number)
                size += len(deposit)
                self._take(intake, certificate, deposit, names)
            except (MessageError, StorageError) as error:
                not_taken[number] = str(error)
            if size >= _BLOCK_BYTES:
                yield Block(intake=intake, names=names, not_taken=not_taken)
                intake, names, not_taken, size = self._intake(), {}, {}, 0
        yield Block(intake=intake, names=names, not_taken=not_taken)

    def _intake(self) -> Intake:
        return Intake(
            self.call,
            number=self.member,
            identity=self._identity,
            kernels=self._kernels,
            known=None if self._signed is None else self._signed.held,
        )

    def _take(self, intake: Intake, certificate: Certificate, deposit: bytes, names: dict[int, str]) -> None:
        number = certificate.number
        if self._signed is not None and intake.knows(deposit):
            names[number] = self._signed.names[number]
        else:
            certificate.check(self.deposits.agreement)
            names[number], self._keys[number - 1] = certificate.name, certificate.key
        intake.take(deposit)
