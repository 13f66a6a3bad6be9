"""One client's part in the round that rechecks labels, after the last question with disclosure "labels".

Clients answer again about chosen rows of past questions, under the masks of another dealer. Three other
parties compare as in a round that opens labels, the told label first. Unless a party lied, nothing is opened
that is not known already.
"""

from dataclasses import dataclass, field

import numpy as np

from secfc.array_types import Ints, Labels
from secfc.codes import Code
from secfc.comparing.question import Question
from secfc.comparing.role import Comparer, Role
from secfc.comparing.trio import Dealer, Evaluator
from secfc.errors import CheatError
from secfc.field.packing import PackedResidues
from secfc.kmeans.coded_distance import CodedPoints
from secfc.kmeans.sets import asked_about
from secfc.protocol.context import ClientContext, Peers
from secfc.protocol.messages import Message
from secfc.protocol.recheck import ChosenParts, Past
from secfc.protocol.trio_round import Asked, Kept, UnaskedRound


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
        """Sizes of the sets that a part is about."""
        sizes = self._asked.asked[self._asked.parts.questions[part]]
        return sizes[: asked_about(sizes)]

    def _shape(self, part: int) -> tuple[int, int, int]:
        return len(self._primes), self._sizes(part).size, self._asked.parts.chosen[part].size

    def _deal_part(self, part: int, masks: PackedResidues) -> list[Message]:
        return self._begin_role(part, Dealer, question=self._question_of(part), masks=masks)

    def _compare_part(self, part: int, masked: PackedResidues) -> list[Message]:
        return self._begin_role(part, Evaluator, question=self._question_of(part), masked=masked)

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
            f"labels of question {self._asked.parts.questions[part]} are others than were told, as clients "
            f"{', '.join(map(str, self._job.recheckers))} find: one of them, a comparer or a client that "
            "answered lied",
            code=Code.BAD_MESSAGE,
        )
