"""A client's part in rechecking labels, in a round after the last question with disclosure "labels".

Clients answer again about chosen rows of past questions, under the masks of another dealer. Three other
parties compare as in a round that opens labels, the told label first. Unless a party lied, nothing is opened
that is not known already. A party that rechecks sends its value of the coin after both evaluators have signed
the result. So all labels are fixed by then. From then on it takes no other question or result.
"""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from secfc.array_types import Ints, Labels
from secfc.codes import Code
from secfc.comparing.question import Question
from secfc.comparing.role import Comparer, Role
from secfc.comparing.trio import Evaluator
from secfc.errors import CheatError, MessageError
from secfc.field.packing import PackedResidues
from secfc.kernels import Kernels
from secfc.kmeans.coded_distance import CodedPoints
from secfc.kmeans.sets import asked_about
from secfc.protocol.attempt import Attempt
from secfc.protocol.choices import Toss
from secfc.protocol.consistency import ConsistencyCheck
from secfc.protocol.context import ClientContext, Peers
from secfc.protocol.decoding import Weights
from secfc.protocol.masked_answers import Liars
from secfc.protocol.messages import Endorsement, Message, Recheck, RecheckRequest
from secfc.protocol.question import Said, check_endorsed, endorsed, question_digest
from secfc.protocol.recheck import ChosenParts, Past
from secfc.protocol.trio_round import Asked, Kept, UnaskedRound
from secfc.protocol.witness import check_outcome
from secfc.randomness import KEY_BYTES
from secfc.row_layout import Parts
from secfc.sealing.coin import about_result, recheck_seed


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RecheckAsked(Asked):
    """The question of this round. `sets` are empty."""

    parts: ChosenParts
    asked: dict[int, Ints] = field(repr=False)  # set sizes of each question with chosen rows
    past: Past
    told: tuple[Labels, ...] = ()  # at parties that recheck: told labels of each part's rows


class RecheckRound(UnaskedRound):
    """A client's part in rechecking. A helper has no `points`.

    CheatError at a party that rechecks, if a label differs from the one that was told.
    """

    _asked: RecheckAsked

    def __init__(
        self,
        context: ClientContext,
        peers: Peers,
        asked: RecheckAsked,
        kept: Kept,
        points: CodedPoints | None,
    ) -> None:
        super().__init__(context, peers, asked, kept)
        self._points, self._question = points, 0
        self._same = 0  # parts with the told labels

    @property
    def complete(self) -> bool:
        """Whether this is an evaluator, and all labels are those that were told."""
        return self._as in (Comparer.E0, Comparer.E1) and self._same == self._parts.answers

    def _answer(self, part: int) -> PackedResidues:
        number, points = self._asked.parts.questions[part], self._points
        assert points is not None  # a party without shares has no masks for an answer
        if number != self._question:
            self._question, sizes = number, self._sizes(part)
            points.ask(self._asked.past.sets(number), sizes, len(self._primes))
        return points.answer_about(self._asked.parts.chosen[part])

    def _sizes(self, part: int) -> Ints:
        sizes = self._asked.asked[self._asked.parts.questions[part]]
        return sizes[: asked_about(sizes)]

    def _shape(self, part: int) -> tuple[int, int, int]:
        return len(self._primes), self._sizes(part).size, self._asked.parts.chosen[part].size

    def _use_part(self, part: int, values: PackedResidues) -> list[Message]:
        return self._begin_comparison(part, self._question_of(part), values)

    def _question_of(self, part: int) -> Question:
        sizes, told = self._sizes(part), self._asked.told[part]
        if told.max() >= sizes.size or not sizes[told].all():
            raise self._error(part)
        return Question.about(
            primes=self._primes, sizes=sizes, rows=told.size, champions=told, link=self._job.link
        )

    def _ended(self, slot: int, role: Role) -> list[Message]:
        if isinstance(role, Evaluator):
            if not np.array_equal(role.labels, self._asked.told[slot]):
                raise self._error(slot)
            self._same += 1
        return []

    def _error(self, part: int) -> CheatError:
        return CheatError(
            f"labels of question {self._asked.parts.questions[part]} differ from the labels found "
            f"before, according to clients {', '.join(map(str, self._job.recheckers))}: one of these, a "
            "comparer or a client that answered lied",
            code=Code.BAD_MESSAGE,
        )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class _Told:
    """The result, at a party that rechecks it."""

    labels: Labels = field(repr=False)
    last: int  # number of the question with these labels
    digest: bytes  # of the result
    says: bytes  # statement to sign once it was rechecked


class Rechecking:
    """A client's part in rechecking. It answers from `points`, which are None at a helper."""

    def __init__(
        self,
        context: ClientContext,
        peers: Peers,
        *,
        members: tuple[int, ...],
        left_out: frozenset[int],
        parts: Parts,
        kernels: Kernels,
        weights: Weights,
        points: CodedPoints | None,
    ) -> None:
        self._context, self._peers, self._job = context, peers, context.job
        self._members, self._parts, self._kernels, self._weights = members, parts, kernels, weights
        self._left_out = left_out
        self._points, self.past = points, Past(context.job, parts)
        self._told: _Told | None = None
        self._liars = Liars(check=ConsistencyCheck(context.job, context.masks, kernels))
        self._signed = False
        self.round: RecheckRound | None = None

    @property
    def begun(self) -> bool:
        """Whether it got the result, or the choice of rechecked labels. No question may follow."""
        return self._told is not None or self.round is not None

    def tell(self, message: RecheckRequest, labels: Labels, *, count: int, attempt: Attempt) -> list[Message]:
        """At a party that rechecks, once: send its value. All labels of the `count` questions are fixed."""
        job, session, number = self._job, self._context.session, self._context.number
        if number not in job.recheckers:
            raise MessageError(f"RecheckRequest: to client {number}, which rechecks nothing")
        if self.begun:
            raise MessageError("RecheckRequest: a second one")
        check_outcome(message, job)
        if labels.size != self._parts.layout.m or labels.min() < 0:
            raise MessageError(f"RecheckRequest: of {labels.size} labels, or a row has none")
        question = question_digest(labels, message.left_out)
        check_endorsed(message, question, job=job, session=session, attempt=attempt)
        self.past.check(count, message.last)
        ended = message.n_iter, message.converged, message.inertia
        said, says = (
            endorsed(session, one, question, round_=0, attempt=attempt, ended=ended)
            for one in (Said.RESULT, Said.RECHECKED)
        )
        digest = hashlib.sha256(said).digest()
        self._told = _Told(labels=labels, last=message.last, digest=digest, says=says)
        toss = self._toss(about_result(self._peers.transcript, digest, message.last), message.left_out)
        return toss.tell(self._context, self._peers.coin)

    def _toss(self, about: bytes, left_out: Collection[int]) -> Toss:
        session, tossing = self._context.session, self._job.recheckers
        return Toss(session=session, transcript=about, tossing=tossing, left_out=left_out)

    def begin(self, message: Recheck, *, count: int, round_: int) -> list[Message]:
        """Begin the round after `round_`, which was that of the last of `count` questions."""
        job, peers = self._job, self._peers
        if not job.recheckers or self.round is not None or message.round != round_ + 1:
            raise MessageError(f"Recheck: of round {message.round} after {round_}, or not awaited")
        self.past.check(count, message.last)
        told, number = self._told, self._context.number
        if number in job.recheckers and (
            told is None or (told.last, told.digest) != (message.last, message.result)
        ):
            raise MessageError("Recheck: of another result than this client was told")
        about = about_result(peers.transcript, message.result, message.last)
        values = self._toss(about, self._left_out).values_told(message.coin, peers.commitments)
        seed = recheck_seed(about, values)
        parts = self.past.chosen(count, message.last, seed)
        attempt = Attempt(comparers=job.recheckers, since=message.round)
        labels: tuple[Labels, ...] = ()
        if told is not None:
            labels = tuple(
                self.past.labels(question, told.last, told.labels)[rows]
                for question, rows in zip(parts.questions, parts.chosen, strict=True)
            )
        layout = self._parts.layout
        sizes = {one: layout.divisors(self.past.sets(one), job.k) for one in set(parts.questions)}
        asked = RecheckAsked(
            round=message.round,
            digest=attempt.digest(self.past.digest(count, seed)),
            attempt=attempt,
            sets=np.empty(0, dtype=np.int32),
            sizes=np.ones(1, dtype=np.int64),
            members=self._members,
            parts=parts,
            residues=max((job.round_residues(one, layout.weight) for one in sizes.values()), default=1),
            asked=sizes,
            past=self.past,
            told=labels,
        )
        kept = Kept(
            own_secret=self._own_secret() if number == attempt.dealer else bytes(KEY_BYTES),
            weights=self._weights,
            kernels=self._kernels,
            liars=self._liars,
        )
        self.round = RecheckRound(self._context, peers, asked, kept, self._points)
        return self.round.start()

    def _own_secret(self) -> bytes:
        """Secret from which the dealer's masks of its own answer follow."""
        return self._context.masks.octets(KEY_BYTES)

    def sign(self) -> list[Message]:
        """At an evaluator that rechecks: sign the result, once, if all labels are those that were told."""
        if self.round is None or self._told is None or self._signed or not self.round.complete:
            return []
        self._signed = True
        return [
            Endorsement(
                run=self._context.session.run,
                sender=self._context.number,
                round=self.round.number,
                signature=self._context.identity.sign(self._told.says),
                liars=tuple(sorted(self._liars.found)),
            )
        ]
