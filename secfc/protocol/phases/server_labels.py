"""The phase *iterate* of the server with disclosure "labels": evaluators open labels, sign what follows."""

from collections.abc import Mapping

import numpy as np

from secfc.crypto.coin import COIN_BYTES
from secfc.errors import CheatError, MessageError, TooManyFaultsError
from secfc.errors.codes import Code
from secfc.field.array_types import Bools, Ints, Labels
from secfc.field.label_packing import labels_of
from secfc.kmeans.label_search import Follows, LabelSearch
from secfc.kmeans.plus_plus import Choices, candidates_of
from secfc.protocol.checkpoint import pack, unpack
from secfc.protocol.choices import label_search
from secfc.protocol.introductions import Introductions
from secfc.protocol.job.row_layout import WINDOW, RangeParts
from secfc.protocol.messages import Endorsement, Message, OpenedLabels
from secfc.protocol.phases.server_phase import ServerContext, ServerStep, Shared
from secfc.protocol.phases.server_rounds import ServerRounds
from secfc.protocol.question import statement
from secfc.protocol.withholding import Carried, owing


class ServerLabels(ServerRounds):
    """The rounds and the result of a run whose trio opens labels. `told` are signed values of the coin."""

    search: LabelSearch

    def __init__(
        self,
        context: ServerContext,
        introductions: Introductions,
        shared: Shared,
        told: Mapping[int, bytes],
    ) -> None:
        super().__init__(context, introductions, shared)
        self._told = told
        self._gathering.require_comparers()
        self._check_silence()
        job = self._job
        self.search = label_search(
            job,
            layout=self.layout,
            transcript=self.introductions.transcript,
            left_out=self._gathering.left_out,
            values={j: one[:COIN_BYTES] for j, one in self._told.items()},
            start=introductions.start(self.layout) if job.method.init == "labels" else None,
        )
        self.endorsements: tuple[bytes, ...] = ()  # of the current question
        self._clear()

    @property
    def _evaluators(self) -> tuple[int, int]:
        _, first, second = self._job.comparers
        return first, second

    def _clear(self) -> None:
        # Labels and core by evaluator and part.
        self._opened: dict[int, dict[int, tuple[Labels, Bools | None]]] = {j: {} for j in self._evaluators}
        self._signed: dict[int, Endorsement] = {}
        self._parts_done = 0

    @property
    def awaited(self) -> tuple[int, ...]:
        """Evaluators with the fewest opened parts, then those that have not signed."""
        if self.outcome is not None:
            return ()
        least = min(map(len, self._opened.values()))
        if least < self._parts.answers:
            return tuple(j for j, opened in self._opened.items() if len(opened) == least)
        return tuple(j for j in self._evaluators if j not in self._signed)

    def overdue(self, carried: Carried) -> tuple[int, ...]:
        """As `awaited`. While the first evaluator waits for answers: who owes it one, or the dealer."""
        gathering, part = self._gathering, self._parts_done
        if part == self._parts.answers or part in self._opened[self._evaluators[0]]:
            return self.awaited
        before = RangeParts.of(self.layout, self._job).answers
        due = before + (gathering.round - 1) * self._parts.answers + part + 1
        return owing(gathering, self._job, carried, due=due) or self.awaited

    def step(self, message: Message) -> ServerStep:
        """Take labels of a part, or the signature of what follows. Continue when both evaluators sent it."""
        match message:
            case OpenedLabels():
                return self, self._take(message)
            case Endorsement():
                return self._on_endorsement(message)
        raise MessageError(f"{type(message).__name__}: out of place in a round of 'labels'")

    def absent(self, client: int) -> ServerStep:
        """Continue without its answers. TooManyFaultsError if it compares."""
        self._gathering.absent.add(client)
        self._gathering.require_comparers()
        self._gathering.require(len([j for j in self._gathering.members if j not in self._gathering.absent]))
        return self, []

    def _check_silence(self) -> None:
        """TooManyFaultsError if an evaluator cannot find liars: it does not know who is asked nothing."""
        gathering, needed = self._gathering, self._gathering.needed_to_evaluate
        left = len(gathering.members)
        if gathering.silent and left < needed:
            raise TooManyFaultsError(
                f"too few clients are left to find out who lies: {left} < R + A + {gathering.spare} = "
                f"{needed}; {gathering.describe()}"
            )

    def standing(self) -> memoryview:
        """See `ServerRounds`."""
        return pack(
            {
                "gathering": self._gathering.standing(),
                "search": self.search.standing(),
                "endorsements": list(self.endorsements),
            }
        )

    def stand(self, state: bytes) -> list[Message]:
        """See `ServerRounds`."""
        standing = unpack(state)
        self._gathering.stand(standing["gathering"])
        self.search.stand(standing["search"])
        self.endorsements = tuple(bytes(one) for one in standing["endorsements"])
        self._clear()
        return self._questions()

    def ask(self) -> list[Message]:
        """Begin a round, and return its questions, one to each party."""
        self._gathering.begin()
        self._clear()
        return self._questions()

    def _questions(self) -> list[Message]:
        toss = self._told if self._gathering.round == 1 else {}
        coin = b"".join(toss[j] for j in self._job.comparers if toss)
        return self._assignments(draws=self.search.draws, coin=coin, endorsements=self.endorsements)

    def _check_evaluated(self, message: OpenedLabels | Endorsement) -> None:
        """MessageError unless an evaluator sent it in this round."""
        kind = type(message).__name__
        if message.sender not in self._evaluators:
            raise MessageError(f"{kind}: client {message.sender} is no evaluator")
        if message.round != self._gathering.round:
            raise MessageError(
                f"{kind}: of round {message.round}, the server is in round {self._gathering.round}"
            )

    def _take(self, message: OpenedLabels) -> list[Message]:
        self._check_evaluated(message)
        opened, part = self._opened[message.sender], message.part
        if part in opened or part >= min(self._parts.answers, self._parts_done + WINDOW):
            raise MessageError(
                f"OpenedLabels: part {part} of client {message.sender} out of turn; {self._parts_done} of "
                f"{self._parts.answers} are opened"
            )
        rows = self._parts.answer_rows(part)
        expected = rows.stop - rows.start if self.search.choices is None else 0
        if message.labels.size != expected:
            raise MessageError(f"OpenedLabels: of {message.labels.size} rows, part {part} has {expected}")
        core = self._core(message.core, message.labels.size)
        opened[part] = labels_of(message.labels), core
        messages: list[Message] = []
        while all(self._parts_done in one for one in self._opened.values()):
            messages += self._agreed(self._parts_done)
        return messages

    def _agreed(self, part: int) -> list[Message]:
        (first, core), (second, other) = (self._opened[j][part] for j in self._evaluators)
        if (first != second).any() or (core is not None and (core != other).any()):
            raise self._differ("opened different labels")
        rows = self._parts.answer_rows(part)
        asked = self.search.asked
        low, high = asked.searchsorted((rows.start, rows.stop))
        self.search.add(asked[low:high], first[asked[low:high] - rows.start], core)
        self._parts_done += 1
        return self._continue(part + WINDOW, self._gathering.everybody)

    def _differ(self, did: str, more: str = "") -> CheatError:
        both = " and ".join(map(self._job.called, self._evaluators))
        text = f"{both} {did} in round {self._gathering.round}{more}"
        return CheatError(text, code=Code.BAD_MESSAGE)

    def _core(self, bits: bytes, rows: int) -> Bools | None:
        """The rows of a part in the core, if asked for: one bit per row, zeros after the last."""
        if len(bits) != (-(-rows // 8) if self.search.with_core else 0):
            raise MessageError(f"OpenedLabels: {len(bits)} bytes of the core, of {rows} rows")
        if not self.search.with_core:
            return None
        found = np.unpackbits(np.frombuffer(bits, dtype=np.uint8), bitorder="little").astype(np.bool_)
        if found[rows:].any():
            raise MessageError("OpenedLabels: bits of the core behind the last row are not zero")
        return found[:rows]

    def _on_endorsement(self, message: Endorsement) -> ServerStep:
        self._check_evaluated(message)
        if message.sender in self._signed or len(self._opened[message.sender]) < self._parts.answers:
            raise MessageError(f"Endorsement: of client {message.sender} out of turn")
        self._signed[message.sender] = message
        if len(self._signed) < len(self._evaluators):
            return self, []
        round_, left_out = self._gathering.round, self._gathering.left_out
        if self.search.choices is None:
            follows = self.search.end_round(self._moved())
        else:
            follows = self.search.choose(*self._chosen(self.search.choices))
        self.search.best = self._best(ended=follows is not Follows.QUESTION)
        inertia = self._inertia(ended=follows is not Follows.QUESTION and self.search.last_of_k)
        if inertia is not None:
            self.search.found[self.search.best].opened = inertia
        session = self.context.session
        signed = statement(session, self.search, follows, round_=round_, left_out=left_out)
        for j in self._evaluators:
            signature = self._signed[j].signature
            try:
                session.roster.verify(j, signature, signed, what="what follows from the labels")
            except MessageError as error:  # a wrong signature, not always of this message's sender
                raise CheatError(str(error), code=Code.BAD_MESSAGE) from None
        self.endorsements = tuple(self._signed[j].signature for j in self._evaluators)
        self._exclude_liars(*(self._signed[j] for j in self._evaluators))
        self._gathering.require_comparers()
        if follows is not Follows.END:
            return self, self.ask()
        self.found, best = self.search.results(), self.search.result()
        return self, self._finish(best, best.opened, endorsements=self.endorsements)

    def _exclude_liars(self, one: Endorsement, other: Endorsement) -> None:
        """Exclude the clients whose answers the first evaluator found wrong.

        CheatError when the evaluators name impossible clients, TooManyFaultsError when the first evaluator
        has named more than `max_liars`.
        """
        gathering, called = self._gathering, self._job.called
        first, second = one.liars, other.liars
        known = {*range(1, self._job.n + 1)} - gathering.left_out.keys()
        possible = set(first) <= known and list(first) == sorted(set(first)) and not second
        if not possible or len(first) > self._job.max_liars:
            raise CheatError(
                f"{called(one.sender)} and {called(other.sender)} name impossible liars in round {one.round}",
                code=Code.BAD_MESSAGE,
            )
        for liar in set(first) - gathering.liars.keys():
            gathering.exclude(liar, f"its answer in round {one.round} was wrong")
        if len(gathering.liars) > self._job.max_liars:
            liars = sorted(gathering.liars)
            raise TooManyFaultsError(
                f"clients {', '.join(map(str, liars))} lied, according to the first evaluator that "
                f"received their answers: more than max_liars={self._job.max_liars}",
                clients=liars,
            )

    def _best(self, *, ended: bool) -> int:
        """The best start so far, on which both evaluators agree: the best before, or the one just ended."""
        first, second = (self._signed[j].best for j in self._evaluators)
        possible, last = {self.search.best}, len(self.search.found) - 1
        if ended:
            possible = {last} if self.search.first_of_k else {self.search.best, last}
        if first != second or first not in possible:
            raise self._differ("found other starts the best")
        return first

    def _inertia(self, *, ended: bool) -> float | None:
        """The inertia of the result, on which both evaluators agree. None where it is not opened."""
        first, second = (self._signed[j].inertia for j in self._evaluators)
        opened = ended and self._job.opens_inertia
        if first != second or (first is not None) != opened or (first is not None and first < 0):
            raise self._differ("found different inertias", ", or one that cannot be")
        return first

    def _moved(self) -> Ints:
        """Rows that move to emptied clusters, on which both evaluators agree."""
        first, second = (self._signed[j].rows for j in self._evaluators)
        emptied, m = self.search.emptied.size, self.layout.m
        possible = len(set(first)) == len(first) in (0, emptied) and max(first, default=0) < m
        if first != second or not possible:
            raise self._differ("moved different rows", f", or not {emptied}")
        return np.array(first, dtype=np.int64)

    def _chosen(self, choices: Choices) -> tuple[int, tuple[int, ...]]:
        """Index of the chosen candidate, and the rows asked about next. Both evaluators agree on them."""
        first, second = (self._signed[j].rows for j in self._evaluators)
        chosen, drawn = first[:1], first[1:]
        taken, m = {*choices.chosen, *chosen}, self.layout.m
        most = 0 if choices.last else candidates_of(self.search.k)
        possible = (
            first == second
            and set(chosen) & set(choices.candidates)
            and all(row < m and row not in taken for row in drawn)
            and len(set(drawn)) == len(drawn) <= most
        )
        if not possible:
            raise self._differ("found different rows of a start", ", or rows that cannot be")
        return choices.candidates.index(chosen[0]), drawn
