"""The answers of a round as they come in: from whom, how many are enough, and who is not waited for.

With A liars tolerated, R + A answers that agree are right: a polynomial of degree below R that differs from
phi does so in all but R - 1 of them, in more than A. If they do not agree, liars are located once all that
can come are here (docs/faults.md, "Liars in the iteration").
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from secfc.errors import MessageError, TooManyFaultsError
from secfc.field.packing import PackedResidues
from secfc.params import Job
from secfc.protocol.messages import CodedDistances
from secfc.row_layout import WINDOW

NO_OTHER_COIN = "nobody tosses the coin in its place"
NOBODY_RECHECKS = "nobody rechecks in its place"


class Gathering:
    """Answers by part and client."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self.round = 0  # question that answers are awaited for, from 1
        self.head = 0  # parts of the round that were decoded
        self.absent: set[int] = set()  # nobody waits for them, until they answer again
        self.left_out: dict[int, str] = {}  # rows are not in, with the reason; they answer nothing
        self.liars: dict[int, str] = {}  # found out, with the reason; answers are dropped, rows stay
        self.responders: tuple[int, ...] = ()  # of the round, where it cannot do without any of them
        self.missed: set[int] = set()  # ever absent when a round began
        # Asked nothing, since nobody can tell whether they lie (`secfc.protocol.unread`); rows stay.
        self.silent: set[int] = set()
        self._silenced = 0  # liars among them, at least
        self.expected = dict.fromkeys(range(1, job.n + 1), (1, 0))  # round and part to come
        self._answers: dict[int, dict[int, PackedResidues]] = {}
        self._doubted = False  # the first answers of the head did not agree

    @property
    def members(self) -> list[int]:
        """Clients that questions go to, the absent included: they may come back."""
        return [j for j in range(1, self._job.n + 1) if self._is_in(j)]

    def _is_in(self, client: int) -> bool:
        return not (client in self.left_out or client in self.liars or client in self.silent)

    @property
    def everybody(self) -> list[int]:
        """Members and helpers."""
        return [*self.members, *range(self._job.n + 1, self._job.parties + 1)]

    @property
    def spare(self) -> int:
        """Liars that may still be among the clients."""
        return max(0, self._job.max_liars - len(self.liars) - self._silenced)

    @property
    def needed_to_evaluate(self) -> int:
        """Answers that tell a first evaluator who lies: it does not know which liars are asked nothing."""
        return self._job.threshold + self._job.max_liars + self.spare

    @property
    def waiting_for(self) -> int:
        """Answers to the head that are still needed."""
        return max(0, self._wanted() - len(self._answers.get(self.head, {})))

    @property
    def awaited(self) -> tuple[int, ...]:
        """Clients whose answer to the head is not here, unless enough others' are."""
        answers = self._answers.get(self.head, {})
        if len(answers) >= self._wanted():
            return ()
        return tuple(sorted(self._candidates() - answers.keys()))

    def begin(self, responders: tuple[int, ...] = ()) -> None:
        """Start the next round, which these clients answer; any that are enough if none is named."""
        self.missed |= self.absent
        self.responders = responders
        self.round += 1
        self.head, self._doubted = 0, False
        self._answers = {}

    def leave_out(self, clients: Mapping[int, str]) -> None:
        """Go on without the rows of some clients, for a reason each; TooManyFaultsError for too few left."""
        self.left_out.update(clients)
        self.require(len(self.members))

    def silence(self, clients: Collection[int], liars: int) -> None:
        """Ask nothing of these clients, of whom so many lie or more; TooManyFaultsError for too few left."""
        self.silent, self._silenced = set(clients), liars
        self.require(len(self.members))

    def standing(self) -> dict[str, Any]:
        """Before the first answer to a round, all that is known of the clients, as a value of plain ones."""
        assert not self.head
        assert not self._answers
        return {
            "round": self.round,
            "absent": sorted(self.absent),
            "missed": sorted(self.missed),
            "left_out": self.left_out,
            "liars": self.liars,
            "responders": self.responders,
            "expected": self.expected,
        }

    def stand(self, standing: dict[str, Any]) -> None:
        """Stand where another one stood."""
        self.round, self.head, self._doubted, self._answers = standing["round"], 0, False, {}
        self.absent, self.missed = set(standing["absent"]), set(standing["missed"])
        self.left_out = standing["left_out"]
        self.liars, self.responders = standing["liars"], tuple(standing["responders"])
        self.expected = {j: (round_, part) for j, (round_, part) in standing["expected"].items()}

    def expects(self, message: CodedDistances) -> bool:
        """Whether an answer, its sender's next or the first of this round, is of use: not late, no liar's."""
        sender = message.sender
        if not self._is_in(sender):
            return False
        expected, at = self.expected[sender], (message.round, message.part)
        # A client skips rounds that did not name it, or in which it did not hear in time that others were
        # asked the same. The round that it answers next may be over by now.
        comes_back = expected < at and message.part == 0
        if (at != expected and not comes_back) or message.round > self.round:
            raise MessageError(
                f"CodedDistances: part {message.part} of round {message.round} from client {sender}, part "
                f"{expected[1]} of round {expected[0]} is next; the server is in round {self.round}"
            )
        if self.responders and message.round == self.round and sender not in self.responders:
            raise MessageError(f"CodedDistances: client {sender} is no responder of round {self.round}")
        if message.round == self.round and message.part >= self.head + WINDOW:
            # Answers ahead of the head are kept: nobody has to keep more than were asked for.
            raise MessageError(
                f"CodedDistances: part {message.part} of round {self.round} from client {sender}, parts "
                f"below {self.head + WINDOW} were asked for"
            )
        return at >= (self.round, self.head)

    def take(self, message: CodedDistances, parts: int, *, keep: bool) -> None:
        """Note that an expected answer came, and keep it unless it is late; rounds have this many parts."""
        sender, round_, part = message.sender, message.round, message.part
        if not self._is_in(sender):
            return
        self.expected[sender] = (round_, part + 1) if part + 1 < parts else (round_ + 1, 0)
        self.absent.discard(sender)
        if keep:
            self._answers.setdefault(part, {})[sender] = message.residues

    def complete(self) -> dict[int, PackedResidues] | None:
        """The answers to the head when there are enough of them.

        A client sends its parts in order, so parts complete in order too. TooManyFaultsError when there never
        will be enough, unless somebody comes back.
        """
        answers = self._answers.get(self.head, {})
        self.require(len(self._candidates()))
        return answers if len(answers) >= self._wanted() else None

    def require(self, left: int) -> None:
        """Raise TooManyFaultsError unless this many clients are enough, to decode and to see a lie."""
        n, threshold, spare = self._job.n, self._job.threshold, self.spare
        if left >= threshold + spare:
            return
        if spare:
            inequality = f"n >= R + S + A: {n} < {threshold} + {n - left} + {spare}"
            text = f"to see whether A = {spare} clients lie, {inequality}"
        else:
            text = f"to decode, n >= R + S: {n} < {threshold} + {n - left}"
        raise TooManyFaultsError(f"too few clients are left: {text}; {self.describe()}")

    def gone(self, comparers: Collection[int]) -> list[int]:
        """Those of these that are not there."""
        left = set(self.everybody) - self.absent
        return [j for j in comparers if j not in left]

    def require_named(self) -> None:
        """Before the first question: raise TooManyFaultsError unless enough are there to compare and toss."""
        job, named = self._job, len(self._job.comparers)
        if job.disclosure != "labels":
            return
        if job.tosses:
            toss = f"{NO_OTHER_COIN}: {job.tossers} of {named} must, lest a server can choose between coins"
            self.require_comparers(job.comparers, without=toss, spare=named - job.tossers)
        self.require_comparers(job.comparers, without="no reserve is left", spare=job.reserves)
        self.require_comparers(job.recheckers, without=NOBODY_RECHECKS)

    def require_comparers(self, comparers: Sequence[int], *, without: str, spare: int = 0) -> None:
        """Raise TooManyFaultsError unless those who compare are there, but for some that are to spare.

        `without` says why nobody else can compare.
        """
        gone = self.gone(comparers)
        if len(gone) <= spare:
            return
        client, who = gone[0], self.describe()
        called = self._job.called(client)
        if client in self.liars:
            raise TooManyFaultsError(f"{called} lies, who compares, and {without}", clients=[client])
        if client in self.silent:
            raise TooManyFaultsError(f"{called} compares and may be asked nothing, and {without}; {who}")
        lies = (
            ", or answers do not agree"
            if self.round and self._job.max_liars and client == comparers[1]
            else ""
        )
        text = f"{called} is absent, who compares{lies}, and {without}; {who}"
        raise TooManyFaultsError(text, clients=gone)

    def _candidates(self) -> set[int]:
        """Who has answered the head or may still."""
        awaited = {j for j in self.responders or self.members if j not in self.absent}
        return awaited | self._answers.get(self.head, {}).keys()

    def _wanted(self) -> int:
        candidates = len(self._candidates())
        if self._doubted:
            return candidates
        # When all that may lie were found, one answer more than R still shows whether others do.
        more = self.spare or min(1, self._job.max_liars)
        return min(self._job.threshold + more, candidates)

    def locatable(self, answers: int) -> int:
        """Wrong answers that can be told from right ones with certainty, among this many to the head.

        N - R - A at most: two codewords differ in more than N - R places, so no other one is that near to
        what up to A liars have changed. None while more answers may come: among R + 2A, what A + 1 colluding
        liars sent can be as near to a wrong codeword as what A sent is to the right one.
        """
        if answers < len(self._candidates()):
            return 0
        beyond = answers - self._job.threshold
        return max(0, min(beyond // 2, beyond - self.spare))

    def disagree(self) -> None:
        """Wait for more answers to the head, as these do not agree; TooManyFaultsError if none will come."""
        answered, spare = len(self._answers[self.head]), self.spare
        if answered < len(self._candidates()):
            self._doubted = True
            return
        if answered >= self._job.threshold + 2 * spare:
            raise TooManyFaultsError(
                f"round {self.round}: {answered} answers do not agree, and more than "
                f"max_liars={self._job.max_liars} clients lie; {self.describe()}"
            )
        raise TooManyFaultsError(
            f"round {self.round}: answers do not agree, and to locate wrong ones n >= R + S + 2A must hold: "
            f"{self._job.n} < {self._job.threshold} + {self._job.n - answered} + 2 * {spare}; "
            f"{self.describe()}"
        )

    def exclude(self, client: int, reason: str) -> None:
        """Take no answer of a liar from now on, and forget those that are here."""
        self.liars[client] = reason
        self.absent.discard(client)
        for answers in self._answers.values():
            answers.pop(client, None)

    def retract(self, client: int) -> None:
        """Forget a client's answers from the head on, so that it can send them again."""
        for answers in self._answers.values():
            answers.pop(client, None)
        self.expected[client] = (self.round, self.head)

    def advance(self) -> None:
        """The head was decoded: let go of its answers."""
        del self._answers[self.head]
        self.head += 1
        self._doubted = False

    def close(self) -> None:
        """No answer is awaited any more."""
        self._answers = {}

    def describe(self) -> str:
        """Who is missing, in words."""
        groups: dict[str, Iterable[int]] = {
            "absent": self.absent,
            "left out": self.left_out,
            "found lying": self.liars,
        }
        if self.silent:
            groups["asked nothing, as some accuse others and nobody can tell who lies"] = self.silent
        texts = [f"{name}: {', '.join(map(str, sorted(who)))}" for name, who in groups.items() if who]
        return f"clients {'; '.join(texts)}" if texts else "no client is missing"
