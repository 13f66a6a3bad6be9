"""The masked answers of a round at the first evaluator: which are decoded, and which clients lied.

Masked answers are words of the same code as unmasked ones (docs/proofs.md, "Masked answers stay codewords"),
so wrong ones are found as at a server (`secfc.protocol.answers.gathering`). If up to A clients lie, R + A
answers that agree are right, and R + 2A answers show who lied. A client with an unusable answer counts as
missing.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from secfc.comparing.masking import DecodingWeights
from secfc.errors import TooManyFaultsError
from secfc.field.packing import PackedResidues
from secfc.kernels import Kernels
from secfc.kernels.interface import Bytes
from secfc.protocol.answers.consistency import ConsistencyCheck
from secfc.protocol.answers.decoding import ResidueError
from secfc.protocol.job.job import Job


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Liars:
    """Liars found so far, and the check that finds them."""

    check: ConsistencyCheck
    found: set[int] = field(default_factory=set)


class MaskedAnswers:
    """Answers by part and client, decoded with `weights`. `liars` are kept from round to round."""

    def __init__(
        self,
        job: Job,
        members: tuple[int, ...],
        *,
        primes: tuple[int, ...],
        weights: Callable[[int], DecodingWeights],
        kernels: Kernels,
        liars: Liars,
    ) -> None:
        self._job, self._primes, self._weights, self._kernels = job, primes, weights, kernels
        self._liars = liars
        self._members = frozenset(members)
        self._unfit: set[int] = set()  # clients with an unusable answer
        self._answers: dict[int, dict[int, PackedResidues]] = {}
        self._head = 0  # number of decoded parts

    @property
    def _spare(self) -> int:
        """Liars that may still be among the clients."""
        return max(0, self._job.max_liars - len(self._liars.found))

    @property
    def _candidates(self) -> frozenset[int]:
        """Clients whose answers count. Another round at the same time may have found liars."""
        return self._members - self._liars.found - self._unfit

    def take(self, client: int, part: int, residues: PackedResidues) -> list[tuple[int, PackedResidues]]:
        """Keep an answer, and return parts that can now be decoded. TooManyFaultsError if they never can."""
        if part < self._head or client not in self._candidates:
            return []
        self._require()  # the server may have left out too many
        self._answers.setdefault(part, {})[client] = residues
        return self._all_decoded()

    def unfit(self, client: int) -> list[tuple[int, PackedResidues]]:
        """Continue without the answers of a client that sent an unusable one. Otherwise as `take`."""
        self._unfit.add(client)
        self._require()
        return self._all_decoded()

    def _all_decoded(self) -> list[tuple[int, PackedResidues]]:
        decoded: list[tuple[int, PackedResidues]] = []
        while (masked := self._decoded()) is not None:
            del self._answers[self._head]
            decoded.append((self._head, masked))
            self._head += 1
        return decoded

    def _decoded(self) -> PackedResidues | None:
        """The decoded next part, once enough answers agree, else None."""
        # When A liars were found, one answer more than R still shows whether other clients lie.
        wanted = self._job.threshold + (self._spare or min(1, self._job.max_liars))
        while True:
            candidates, answers = self._candidates, self._answers.get(self._head, {})
            planes = {j: answers[j].planes() for j in sorted(answers.keys() & candidates)}
            if len(planes) < min(wanted, len(candidates)):
                return None
            try:
                if not self._agree(planes):
                    return None
                right = dict(list(planes.items())[: self._job.threshold])
                return self._decode(right, answers[next(iter(right))].shape)
            except ResidueError as error:
                self._unfit.add(error.client)
                self._require()

    def _agree(self, planes: dict[int, Bytes]) -> bool:
        """Whether the answers agree, after liars are removed from `planes`, once they are certain."""
        job, liars = self._job, self._liars
        if not job.max_liars or liars.check.agree(planes, self._primes):
            return True
        beyond = len(planes) - job.threshold
        most = max(0, min(beyond // 2, beyond - self._spare))
        found = liars.check.liars(planes, self._primes, most=most) if most else None
        if found:
            liars.found.update(found)
            self._require()
            for liar in found:
                del planes[liar]
            return True
        if len(planes) == len(self._candidates):
            raise TooManyFaultsError(
                f"{len(planes)} answers do not agree: more than max_liars={job.max_liars} clients lie, "
                "or too few are left to find out who lies"
            )
        return False

    def _decode(self, planes: dict[int, Bytes], shape: tuple[int, int, int]) -> PackedResidues:
        clients, masked = tuple(planes), PackedResidues.empty(shape)
        refused = self._kernels.weigh(
            list(planes.values()),
            self._weights(self._head)(clients)[: len(self._primes)],
            self._primes,
            masked.planes(),
        )
        if refused >= 0:
            raise ResidueError(client=clients[refused], p=self._primes[0])
        return masked

    def _require(self) -> None:
        """Raise TooManyFaultsError if fewer than R + A clients can still answer."""
        if len(self._candidates) < self._job.threshold + self._spare:
            unfit = sorted(self._unfit)
            text = f": those of clients {', '.join(map(str, unfit))} cannot be used" if unfit else ""
            raise TooManyFaultsError(f"too few answers are left{text}", clients=unfit)
