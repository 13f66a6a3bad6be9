"""Messages of rounds with disclosure "labels", besides those of all rounds."""

from dataclasses import field
from typing import Annotated

from secfc.crypto.channel import Sealed
from secfc.crypto.coin import COIN_BYTES
from secfc.crypto.handshake import DIGEST_BYTES
from secfc.crypto.identity import SIGNATURE_BYTES
from secfc.field.array_types import Labels
from secfc.field.label_packing import PackedLabels
from secfc.protocol.messages import encodings as enc
from secfc.protocol.messages.base import BetweenClients, FromServer, ToServer
from secfc.protocol.states import State


class RoundMessage(BetweenClients):
    """A message between clients in a round. It may arrive after the result, and is dropped then.

    But for `Compared`, a sender sends one for each part.
    """

    states = frozenset({State.ITERATE, State.COMPARE, State.REVEAL, State.DONE})
    rounds = with_helpers = True

    part: int
    sealed: Sealed

    @property
    def place(self) -> int:
        """Position among the sender's messages of this type and round."""
        return self.part

    @property
    def begins(self) -> bool:
        """Whether it is the first of these, which contains the digest of the question."""
        return self.part == 0


class SpareMasks(RoundMessage, number=27, phase="iterate"):
    """The dealer's masks for a part of a spare client's answer, shape (primes, k, rows)."""

    purpose = b"spare masks"

    part: Annotated[int, enc.COUNT]
    sealed: Annotated[Sealed, enc.sealed(lambda of: DIGEST_BYTES + of.answer)]


class MaskedAnswer(RoundMessage, number=28, phase="iterate"):
    """Masked coded distances of some rows, shape (primes, k, rows), to the first evaluator."""

    purpose = b"masked answer"

    part: Annotated[int, enc.COUNT]
    sealed: Annotated[Sealed, enc.sealed(lambda of: DIGEST_BYTES + of.answer)]


class MaskedDistances(RoundMessage, number=29, phase="iterate"):
    """What the first evaluator decoded of a part, shape (primes, k, rows), to the second."""

    purpose = b"masked distances"
    needed = True

    part: Annotated[int, enc.COUNT]
    sealed: Annotated[Sealed, enc.sealed(lambda of: DIGEST_BYTES + of.answer)]


def place_of(index: int, part: int) -> int:
    """The place of a `Compared`: it determines both values, and ascends with the index."""
    return index << 32 | part


class Compared(RoundMessage, number=30, phase="iterate"):
    """A message from one of the trio to another, to compare the rows of a part.

    `index` counts the sender's messages to the recipient in this round.
    """

    purpose = b"compared"
    needed = True

    part: Annotated[int, enc.COUNT]
    index: Annotated[int, enc.COUNT]
    sealed: Annotated[Sealed, enc.sealed(lambda of: DIGEST_BYTES + of.compared)]

    @property
    def place(self) -> int:
        """Index among the sender's messages to the recipient in this round, combined with the part."""
        return place_of(self.index, self.part)

    @property
    def begins(self) -> bool:
        """Whether it is the first of these, which contains the digest of the question."""
        return self.index == 0


class OpenedLabels(ToServer, number=31, phase="iterate"):
    """The labels of the rows of a part, as an evaluator opened them.

    `core` has a bit of each row if the core was asked for, the lowest bit first. Questions about candidates
    of a start open no labels.
    """

    states = frozenset({State.ITERATE})
    rounds = with_helpers = True

    part: Annotated[int, enc.COUNT]
    labels: Annotated[Labels | PackedLabels, enc.PART_LABELS] = field(repr=False)
    core: Annotated[bytes, enc.counted(lambda of: -(-of.part_rows() // 8))] = field(default=b"", repr=False)


class Endorsement(ToServer, number=32, phase="iterate"):
    """An evaluator's signature of what follows from a round's labels: the next question, or the result.

    `rows` are those that move to emptied clusters, in the order of the clusters. After a question about
    candidates of a start, they are the chosen candidate and the rows asked about next. `best` is the best
    start so far, counted from 0. `inertia` is that of the result if it is opened, else None. `liars` are the
    clients, ascending, that the first evaluator found lying.
    """

    states = frozenset({State.ITERATE})
    rounds = with_helpers = True

    signature: Annotated[bytes, enc.octets(SIGNATURE_BYTES)] = field(repr=False)
    best: Annotated[int, enc.COUNT] = 0
    inertia: Annotated[float | None, enc.REAL] = None
    liars: Annotated[tuple[int, ...], enc.clients(lambda of: of.job.max_liars)] = ()
    rows: Annotated[tuple[int, ...], enc.numbers(lambda of: of.job.k + 1)] = field(default=(), repr=False)


class CoinRequest(FromServer, number=33, phase="iterate"):
    """A request to a comparer for its value of the coin, sent when all remaining clients hold all shares."""

    states = frozenset({State.ITERATE})
    with_helpers = True

    left_out: Annotated[tuple[int, ...], enc.clients(lambda of: of.job.n)] = ()


class Coin(ToServer, number=34, phase="iterate"):
    """A comparer's value, to which its introduction commits it.

    The signature covers the clients left out.
    """

    states = frozenset({State.ITERATE})
    with_helpers = True

    value: Annotated[bytes, enc.octets(COIN_BYTES)] = field(repr=False)
    signature: Annotated[bytes, enc.octets(SIGNATURE_BYTES)] = field(repr=False)
