"""The answers of a round: from which clients, how many are enough, and which clients are absent.

With A liars tolerated, R + A answers that agree are right. A polynomial of degree below R that differs from
phi agrees with it in at most R - 1 of them, so it differs in more than A. If they do not agree, liars are
located once all answers that can come have arrived (docs/faults.md, "Liars in the iteration"). The *head* is
the next part of the round to decode.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from secfc.errors import MessageError, TooManyFaultsError
from secfc.field.packing import PackedResidues
from secfc.protocol.job.job import Job
from secfc.protocol.job.row_layout import WINDOW
from secfc.protocol.messages import CodedDistances


class Gathering:
    """Answers by part and client."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self.round = 0  # number of the current question, from 1
        self.head = 0  # number of decoded parts of the round
        self.absent: set[int] = set()  # not waited for, until they answer again
        self.left_out: dict[int, str] = {}  # reasons; their rows are not in, and they answer nothing
        self.liars: dict[int, str] = {}  # reasons; their answers are dropped, and their rows stay
        self.responders: tuple[int, ...] = ()  # of the round, if it names some
        self.missed: set[int] = set()  # absent at the beginning of some round
        self.repeats = 0  # rounds that were asked again because named clients vanished
        # Asked nothing, because it is unknown whether they lie (`secfc.sharing.unread`). Their rows stay.
        self.silent: set[int] = set()
        self._silenced = 0  # least number of liars among them
        self.expected = dict.fromkeys(range(1, job.n + 1), (1, 0))  # next round and part by client
        self._answers: dict[int, dict[int, PackedResidues]] = {}
        self._doubted = False  # the first answers of the head did not agree

    @property
    def members(self) -> list[int]:
        """Clients to which questions are sent. Absent ones are included, because they may come back."""
        out = self.left_out.keys() | self.liars.keys() | self.silent
        return [j for j in range(1, self._job.n + 1) if j not in out]

    @property
    def asked(self) -> list[int]:
        """Members that answer this round."""
        return [j for j in self.members if j in self.responders or not self.responders]

    @property
    def present(self) -> list[int]:
        """Members that are not absent."""
        return [j for j in self.members if j not in self.absent]

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
        """Answers that a first evaluator needs to find liars. It does not know who is asked nothing."""
        return self._job.threshold + self._job.max_liars + self.spare

    @property
    def waiting_for(self) -> int:
        """Answers to the head that are still needed."""
        return max(0, self._wanted(len(self._candidates())) - len(self._answers.get(self.head, {})))

    @property
    def awaited(self) -> tuple[int, ...]:
        """Clients whose answer to the head is missing. Empty if enough others have answered."""
        answers = self._answers.get(self.head, {})
        candidates = self._candidates()
        if len(answers) >= self._wanted(len(candidates)):
            return ()
        return tuple(sorted(candidates - answers.keys()))

    def begin(self, responders: tuple[int, ...] = ()) -> None:
        """Start the next round, which the responders answer. If none is named, all clients do."""
        self.missed |= self.absent
        self.responders = responders
        self.round += 1
        self.head, self._doubted = 0, False
        self._answers = {}

    def leave_out(self, clients: Mapping[int, str]) -> None:
        """Leave out clients, each for a reason. TooManyFaultsError if too few are left."""
        self.left_out.update(clients)
        self.require(len(self.members))

    def silence(self, clients: Collection[int], liars: int) -> None:
        """Ask these clients nothing. At least `liars` of them lie. TooManyFaultsError if too few are left."""
        self.silent, self._silenced = set(clients), liars
        self.require(len(self.members))

    def standing(self) -> dict[str, Any]:
        """All that is known of the clients, as plain values. Only before the first answer to a round."""
        assert not self.head
        assert not self._answers
        return {
            "round": self.round,
            "absent": sorted(self.absent),
            "missed": sorted(self.missed),
            "repeats": self.repeats,
            "left_out": self.left_out,
            "liars": self.liars,
            "responders": self.responders,
            "expected": self.expected,
        }

    def stand(self, standing: dict[str, Any]) -> None:
        """Restore the result of `standing`."""
        self.round, self.head, self._doubted, self._answers = standing["round"], 0, False, {}
        self.absent, self.missed = set(standing["absent"]), set(standing["missed"])
        self.repeats = standing["repeats"]
        self.left_out = standing["left_out"]
        self.liars, self.responders = standing["liars"], tuple(standing["responders"])
        self.expected = {j: (round_, part) for j, (round_, part) in standing["expected"].items()}

    def expects(self, message: CodedDistances) -> bool:
        """Whether an answer is useful: not late, and of no liar. MessageError if it is out of order."""
        sender = message.sender
        if not self._is_in(sender):
            return False
        expected, at = self.expected[sender], (message.round, message.part)
        # A client skips rounds that did not name it, and rounds where it learned too late that others were
        # asked the same. The round that it answers next may be over by then.
        comes_back = expected < at and message.part == 0
        if (at != expected and not comes_back) or message.round > self.round:
            raise MessageError(
                f"CodedDistances: part {message.part} of round {message.round} from client {sender}, part "
                f"{expected[1]} of round {expected[0]} is next; the server is in round {self.round}"
            )
        if self.responders and message.round == self.round and sender not in self.responders:
            raise MessageError(f"CodedDistances: client {sender} is no responder of round {self.round}")
        if message.round == self.round and message.part >= self.head + WINDOW:
            # Answers ahead of the head are kept in memory, so only parts that were asked for are accepted.
            raise MessageError(
                f"CodedDistances: part {message.part} of round {self.round} from client {sender}, parts "
                f"below {self.head + WINDOW} were asked for"
            )
        return at >= (self.round, self.head)

    def take(self, message: CodedDistances, parts: int, *, keep: bool) -> None:
        """Note an expected answer, and keep it if `keep`. Rounds have `parts` parts."""
        sender, round_, part = message.sender, message.round, message.part
        if not self._is_in(sender):
            return
        self.expected[sender] = (round_, part + 1) if part + 1 < parts else (round_ + 1, 0)
        self.absent.discard(sender)
        if keep:
            self._answers.setdefault(part, {})[sender] = message.residues

    def complete(self) -> dict[int, PackedResidues] | None:
        """The answers to the head if there are enough of them, else None.

        A client sends its parts in order, so parts become complete in order too. TooManyFaultsError when
        there can only be enough if a client comes back.
        """
        answers = self._answers.get(self.head, {})
        candidates = len(self._candidates())
        self.require(candidates)
        return answers if len(answers) >= self._wanted(candidates) else None

    def require(self, left: int) -> None:
        """Raise TooManyFaultsError unless `left` clients are enough to decode and to detect a lie."""
        n, threshold, spare = self._job.n, self._job.threshold, self.spare
        if left >= threshold + spare:
            return
        if spare:
            inequality = f"n >= R + S + A: {n} < {threshold} + {n - left} + {spare}"
            text = f"to detect A = {spare} lies, {inequality}"
        else:
            text = f"to decode, n >= R + S: {n} < {threshold} + {n - left}"
        raise TooManyFaultsError(f"too few clients are left: {text}; {self.describe()}")

    def require_comparers(self) -> None:
        """Raise TooManyFaultsError if a comparer is absent or asked nothing: no other can take its place."""
        comparers, left = self._job.comparers, set(self.everybody) - self.absent
        gone = [j for j in comparers if j not in left]
        if not gone:
            return
        without = "no other party can take its place"
        client, who = gone[0], self.describe()
        called = self._job.called(client)
        if client in self.liars:
            raise TooManyFaultsError(f"{called}, a comparer, lied, and {without}", clients=[client])
        if client in self.silent:
            raise TooManyFaultsError(f"{called}, a comparer, may not be asked, and {without}; {who}")
        lies = (
            ", or answers do not agree"
            if self.round and self._job.max_liars and client == comparers[1]
            else ""
        )
        text = f"{called}, a comparer, is absent{lies}, and {without}; {who}"
        raise TooManyFaultsError(text, clients=gone)

    def _candidates(self) -> set[int]:
        """Clients that have answered the head or may still answer it."""
        return set(self.asked) - self.absent | self._answers.get(self.head, {}).keys()

    def _wanted(self, candidates: int) -> int:
        """Answers to the head that are enough, if so many clients can answer."""
        if self._doubted:
            return candidates
        # When A liars were found, one answer more than R still shows whether other clients lie.
        more = self.spare or min(1, self._job.max_liars)
        return min(self._job.threshold + more, candidates)

    def locatable(self, answers: int) -> int:
        """How many wrong answers can be located with certainty among this many to the head.

        At most N - R - A. Two codewords differ in more than N - R places, so no other codeword is so near to
        a word that up to A liars changed. 0 while more answers may come: of R + 2A answers, those of A + 1
        colluding liars can be as near to a wrong codeword as those of A liars are to the right one.
        """
        if answers < len(self._candidates()):
            return 0
        beyond = answers - self._job.threshold
        return max(0, min(beyond // 2, beyond - self.spare))

    def disagree(self) -> None:
        """Wait for more answers to the head, because these disagree. TooManyFaultsError if none can come."""
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
        """Accept no more answers of a liar, and drop those that are here."""
        self.liars[client] = reason
        self.absent.discard(client)
        for answers in self._answers.values():
            answers.pop(client, None)

    def retract(self, client: int) -> None:
        """Drop a client's answers from the head on, so that it can send them again."""
        for answers in self._answers.values():
            answers.pop(client, None)
        self.expected[client] = (self.round, self.head)

    def advance(self) -> None:
        """Drop the answers to the decoded head, and go to the next part."""
        del self._answers[self.head]
        self.head += 1
        self._doubted = False

    def close(self) -> None:
        """Drop all answers at the end of the run."""
        self._answers = {}

    def describe(self) -> str:
        """Text about missing clients and helpers, for errors."""
        groups: dict[str, Iterable[int]] = {
            "absent": self.absent,
            "left out": self.left_out,
            "found lying": self.liars,
        }
        if self.silent:
            groups["not asked, because some accuse others and it is not known who lies"] = self.silent
        called = self._job.called
        texts = [f"{name}: {', '.join(map(called, sorted(who)))}" for name, who in groups.items() if who]
        return "; ".join(texts) or "no client is missing"
