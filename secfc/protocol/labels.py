"""Disclosure "labels" at a client: its rounds, and at an evaluator what follows from each round."""

from enum import Enum, auto
from typing import Any

import numpy as np

from secfc.crypto.randomness import KEY_BYTES
from secfc.errors import CheatError, MessageError
from secfc.errors.codes import Code
from secfc.field.array_types import Ints, Labels
from secfc.field.packing import PackedResidues
from secfc.field.primes import primes_of
from secfc.kernels import Kernels
from secfc.kmeans.label_search import Follows, LabelSearch
from secfc.operations.minima import Minima
from secfc.protocol.answers.consistency import ConsistencyCheck
from secfc.protocol.answers.decoding import Weights
from secfc.protocol.answers.disclosure import ClientCoded
from secfc.protocol.choices import label_search, values_in
from secfc.protocol.context import ClientContext, Peers
from secfc.protocol.job.row_layout import Layout, RangeParts
from secfc.protocol.label_round import LabelRound, LabelsAsked
from secfc.protocol.mail import Mail
from secfc.protocol.masked_answers import Liars
from secfc.protocol.messages import (
    Assignment,
    Endorsement,
    Finish,
    MaskedAnswer,
    Message,
    RoundMessage,
    SpareMasks,
)
from secfc.protocol.question import Said, Signed, check_endorsed, question_digest, statement
from secfc.protocol.range_round import RangeRound, range_asked
from secfc.protocol.start_round import CandidatesAsked, StartRound
from secfc.protocol.trio_round import Kept, TrioRound
from secfc.sharing.client_shares import ClientSharing

_CORE_QUESTION = 2
"""Number of the question of a start by separation that asks for the core."""


class _Step(Enum):
    """Steps of an evaluator in a round."""

    OPEN = auto()
    FIND_FARTHEST = auto()
    FIND_BEST = auto()
    FIND_INERTIA = auto()
    ENDORSED = auto()


class ClientLabels(ClientCoded):
    """Clients send answers under the dealer's masks, and the trio compares the decoded values.

    A client that is no comparer only answers. A helper has no `sharing`: it compares and does not answer.
    `layout` has the rows that are in.
    """

    def __init__(
        self,
        context: ClientContext,
        peers: Peers,
        *,
        mail: Mail,
        layout: Layout,
        left_out: frozenset[int],
        kernels: Kernels,
        sharing: ClientSharing | None = None,
    ) -> None:
        super().__init__(context, peers, left_out)
        self._mail, self._sharing = mail, sharing
        self._members = tuple(j for j, start in enumerate(peers.starts, 1) if start and j not in left_out)
        self._parts, self._kernels, self._weights = layout.parts(self._job), kernels, Weights(self._job)
        self._first: LabelSearch | None = None  # set between check and ask of the first question
        # Kind and digest of the last checked question.
        self._asks, self._asked = Said.START, b""
        dealer, *evaluators = self._job.comparers
        self._deals, self._evaluates = self._number == dealer, self._number in evaluators
        self._compares = self._deals or self._evaluates
        # The dealer's own masks follow from it. Only the dealer draws it, so no other party's masks change.
        own_secret = self._context.masks.octets(KEY_BYTES) if self._deals else bytes(KEY_BYTES)
        self._kept = Kept(
            own_secret=own_secret,
            weights=self._weights,
            kernels=self._kernels,
            liars=Liars(check=ConsistencyCheck(self._job, self._context.masks, self._kernels)),
        )
        self._search: LabelSearch | None = None  # at an evaluator
        self._step = _Step.OPEN
        self._rows: tuple[int, ...] = ()  # `rows` of the next endorsement
        self._signed: Signed | None = None  # an evaluator's last endorsement
        self._follows = Follows.QUESTION
        self._starts_begun = 0
        # Questions of the current start.
        self._candidates_asked = self._labels_asked = 0
        self._minima: Minima | None = None
        self._proof: RangeRound | None = None  # shows that rows are within the bound
        self._current: LabelRound | StartRound | None = None
        self._late: LabelRound | None = None

    def check(self, message: Assignment, sets: Labels) -> None:
        """Raise MessageError or SealError for a question that is not valid.

        The first question must follow from the seed or the coin, later ones from opened labels, by the
        evaluators' signatures.
        """
        if message.responders:
            raise MessageError(
                f"Assignment: {len(message.responders)} responders, disclosure 'labels' names none"
            )
        number, said = message.round, Said.START
        if number > self._job.max_rounds:
            raise MessageError(f"Assignment: round {number}, at most {self._job.max_rounds} are asked")
        digest = question_digest(sets, self._left_out, message.draws)
        if number > 1 and message.coin:
            raise MessageError(f"Assignment: a coin in question {number}, it is told in the first")
        if number > 1:
            session = self._context.session
            said = check_endorsed(message, digest, job=self._job, session=session, own=self._signed)
        elif self._sharing is not None and not self._sharing.seed:
            raise MessageError("Assignment: before shares were checked")
        elif message.endorsements:
            raise MessageError("Assignment: question 1 is endorsed, and no labels were opened before")
        else:
            self._check_first(message, sets)
        self._asks, self._asked = said, digest

    def _check_first(self, message: Assignment, sets: Labels) -> None:
        job, peers, session = self._job, self._peers, self._context.session
        search = label_search(
            job,
            layout=self._parts.layout,
            transcript=peers.transcript,
            left_out=self._left_out,
            values=values_in(message.coin, job, peers=peers, session=session, left_out=self._left_out),
            start=sets if job.method.init == "labels" else None,
        )
        if not np.array_equal(search.sets, sets) or search.draws != message.draws:
            follows = "the comparers' coin" if job.tosses else "the job's seed"
            raise MessageError(
                f"Assignment: question 1 is not about the first sets and draws that follow from {follows} "
                f"here (NumPy {np.__version__})"
            )
        self._first = search

    def _about_candidates(self, said: Said) -> bool:
        """Whether a question is about candidates of a start."""
        return said is Said.CANDIDATES or (said is Said.START and self._job.method.init == "k-means++")

    @property
    def _k(self) -> int:
        """Clusters of the current start. Known to comparers only, because they are asked every question."""
        starts = self._job.method.starts
        return starts[min(self._starts_begun, len(starts)) - 1]

    def check_end(self, message: Finish, labels: Labels) -> None:
        """Raise MessageError or SealError unless evaluators signed that the result follows from labels."""
        question = question_digest(labels, message.left_out)
        check_endorsed(message, question, job=self._job, session=self._context.session)

    def ask(self, message: Assignment, sets: Labels, sizes: Ints, residues: int) -> bool:
        """Begin a round. Its keys depend on the whole question."""
        super().ask(message, sets, sizes, residues)
        self._mail.round = message.round
        job = self._job
        self._step, begins = _Step.OPEN, self._asks is Said.START
        candidates = self._about_candidates(self._asks)
        if begins:
            self._starts_begun += 1
            self._candidates_asked = self._labels_asked = 0
        self._candidates_asked += candidates
        self._labels_asked += not candidates
        if self._evaluates and self._search is None:
            self._search = self._first
        self._first = None
        if self._proof is None:
            parts = RangeParts.of(self._parts.layout, job)
            about = range_asked(job, self._members, parts, self._left_out)
            self._proof = RangeRound(self._context, self._peers, about, self._kept, self._sharing)
        common: dict[str, Any] = {
            "round": message.round,
            "digest": self._asked,
            "sets": sets,
            "sizes": sizes[: self._k] if self._compares else sizes,
            "members": self._members,
            "parts": self._parts,
            "residues": residues,
        }
        if begins and self._deals and isinstance(self._current, LabelRound) and not self._current.scored:
            # A start has ended. The evaluators' messages about it may arrive after the next question.
            self._late = self._current
        if candidates:
            if begins and self._compares:
                weights = self._parts.layout.weights
                self._minima = Minima(rows=sets.size, primes=primes_of(residues), weights=weights)
            candidates_asked = CandidatesAsked(draws=message.draws, minima=self._minima, **common)
            self._current = StartRound(self._context, self._peers, candidates_asked, self._kept)
            return True
        self._minima = None
        asked = LabelsAsked(
            champions=self._labels_asked > 1 or job.method.init == "labels",
            core=job.method.init == "separation" and self._labels_asked == _CORE_QUESTION,
            rows=np.arange(sets.size),
            opens_inertia=job.opens_inertia and self._k not in job.method.starts[self._starts_begun :],
            **common,
        )
        self._current = LabelRound(self._context, self._peers, asked, self._kept)
        return True

    def begin(self, part: int) -> list[Message]:
        """At the dealer: deal for a part. Before the first part of all, start the range round."""
        shown = self._proof_now.start()
        return shown + self._round_now.begin(part) + self._drain()

    def can_leave(self, part: int) -> bool:
        """Whether this client has the masks of a part."""
        return self._round_now.can_leave(part)

    def leave(self, part: int, residues: PackedResidues) -> list[Message]:
        """Mask the answer, and return the messages that bring it to the first evaluator."""
        return self._round_now.leave(part, residues) + self._drain()

    def deliver(self, message: RoundMessage) -> list[Message]:
        """Keep a message, and use it if it is ready. It cannot make earlier kept ones ready by itself."""
        if not (self._mail.hold(message) and self._ready(message)):
            return []
        return self._drain()

    @property
    def _round_now(self) -> LabelRound | StartRound:
        assert self._current is not None
        return self._current

    @property
    def _proof_now(self) -> RangeRound:
        assert self._proof is not None
        return self._proof

    def _ready(self, message: RoundMessage) -> bool:
        """Whether a message can be used now. Those about labels wait until rows are known to be in range."""
        proof = self._proof_now
        known = message.round <= proof.number or proof.over
        return known and self._round_of(message).ready(message)

    def _round_of(self, message: RoundMessage) -> TrioRound:
        """The round that takes a message. The current round drops messages of earlier ones."""
        if message.round == self._proof_now.number:
            return self._proof_now
        late = self._late
        return late if late is not None and message.round == late.number else self._round_now

    def _drain(self) -> list[Message]:
        """Use all kept messages that are ready. At an evaluator, continue when all labels are opened."""
        current, messages = self._round_now, list[Message]()
        while True:
            letter = self._mail.take(self._ready)
            if letter is None:
                step = self._step
                messages += self._follow(current)
                if self._step is step:
                    return messages
                continue
            message = letter.message
            taking = self._round_of(message)
            try:
                messages += taking.take(letter)
            except MessageError as error:
                if isinstance(message, SpareMasks):
                    continue  # other clients' answers may be enough
                if isinstance(message, MaskedAnswer):
                    messages += taking.unfit(message.sender)
                    continue
                text = f"client {message.sender}: {error}"
                raise CheatError(text, code=Code.BAD_MESSAGE) from None

    def _follow(self, current: LabelRound | StartRound) -> list[Message]:
        """At an evaluator: make the next step after all of a round is opened, if possible."""
        search = self._search
        if search is None or not current.complete or self._step is _Step.ENDORSED:
            return []
        if isinstance(current, StartRound):
            assert search.choices is not None
            assert current.best is not None
            chosen = search.choices.candidates[current.best]
            self._follows = search.choose(current.best, current.drawn)
            self._rows = (chosen, *(search.choices.candidates if search.choices else ()))
            return self._endorse(search)
        match self._step:
            case _Step.OPEN:
                for part in range(self._parts.answers):
                    search.add(current.rows(part), current.opened[part], current.cores.get(part))
                self._step = _Step.FIND_FARTHEST
                return current.find_farthest(search.labels) if search.emptied.size else self._follow(current)
            case _Step.FIND_FARTHEST if not search.emptied.size or current.farthest is not None:
                farthest = np.empty(0, dtype=np.int64) if current.farthest is None else current.farthest
                labels, self._rows = search.labels.copy(), tuple(farthest.tolist())
                self._follows = search.end_round(farthest)
                self._step = _Step.FIND_BEST
                scored = self._job.scores_starts and self._follows is not Follows.QUESTION
                return current.find_best(labels) if scored else self._endorse(search)
            case _Step.FIND_BEST if current.better is not None:
                if current.better:
                    search.best = len(search.found) - 1
                if not current.opens_inertia:
                    return self._endorse(search)
                self._step = _Step.FIND_INERTIA
                return current.find_inertia()
            case _Step.FIND_INERTIA if current.inertia is not None:
                inertia = search.found[search.best].opened = self._job.in_data_units(current.inertia)
                return self._endorse(search, inertia)
        return []

    def _endorse(self, search: LabelSearch, inertia: float | None = None) -> list[Message]:
        self._step = _Step.ENDORSED
        session = self._context.session
        said = statement(session, search, self._follows, round_=self._round, left_out=self._left_out)
        self._signed = self._number, said, self._context.identity.sign(said)
        return [
            Endorsement(
                run=session.run,
                sender=self._number,
                round=self._round,
                signature=self._signed[2],
                best=search.best,
                inertia=inertia,
                rows=self._rows,
                liars=tuple(sorted(self._kept.liars.found)),
            )
        ]
