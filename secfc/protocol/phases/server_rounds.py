"""The common part of the server's rounds: it sends questions to all parties until the search has ended."""

from abc import abstractmethod
from collections.abc import Collection
from typing import Any

from secfc.field.label_packing import PackedLabels
from secfc.kmeans.label_search import LabelSearch
from secfc.kmeans.search import LabelResult, Search
from secfc.protocol.introductions import Introductions
from secfc.protocol.messages import Assignment, Continue, Finish, Message
from secfc.protocol.phases.server_phase import ServerContext, ServerPhase, Shared
from secfc.protocol.progress import Progress
from secfc.protocol.states import State


class ServerRounds(ServerPhase):
    """The rounds and the result of a run. ParameterError when the remaining rows do not fit the job."""

    state: State = State.ITERATE  # then DONE, when the search has ended
    search: Search | LabelSearch

    def __init__(self, context: ServerContext, introductions: Introductions, shared: Shared) -> None:
        super().__init__(context, introductions, shared)
        self.check(self.layout)
        self._job, self._run, self._gathering = context.job, context.session.run, context.gathering
        self._parts = self.layout.parts(context.job)

    @property
    def progress(self) -> Progress:
        """The progress of the search."""
        return Progress(
            phase="iterate" if self.outcome is None else "reveal",
            waiting_for=self._waiting_for,
            round=self._gathering.round,
            iteration=self.search.current.n_iter,
            moved=self.search.moved,
        )

    @property
    def _waiting_for(self) -> int:
        """How many clients' messages the server still needs to continue."""
        return len(self.awaited)

    @abstractmethod
    def ask(self) -> list[Message]:
        """Begin a round, and return its questions, one to each party."""

    @abstractmethod
    def standing(self) -> memoryview:
        """Right after a question: the state that later messages depend on and the first round did not fix."""

    @abstractmethod
    def stand(self, state: bytes) -> list[Message]:
        """Restore this state, and return its questions."""

    def _assignments(self, **said: Any) -> list[Message]:
        """The questions of this round, one to each party. `said` are fields that the disclosure adds."""
        gathering, k = self._gathering, self._job.k
        # Packed once for all clients.
        sets = PackedLabels.of(self.search.sets, k, none=True)
        return [
            Assignment(
                run=self._run,
                recipient=j,
                round=gathering.round,
                sets=sets,
                responders=gathering.responders,
                left_out=tuple(sorted(gathering.left_out)),
                **said,
            )
            for j in gathering.everybody
        ]

    def _continue(self, part: int, clients: Collection[int]) -> list[Message]:
        return [
            Continue(run=self._run, recipient=j, round=self._gathering.round, part=part)
            for j in clients
            if part < self._parts.answers
        ]

    def _finish(self, best: LabelResult, inertia: float | None = None, **said: Any) -> list[Message]:
        """End the run, and send the result to all parties. `said` are fields that the disclosure adds."""
        self.outcome, self.state = best, State.DONE
        self._gathering.close()
        left_out = self._gathering.left_out
        return [
            Finish(
                run=self._run,
                recipient=j,
                labels=best.labels,
                n_iter=best.n_iter,
                converged=best.converged,
                inertia=inertia,
                left_out=tuple(sorted(left_out)),
                **said,
            )
            for j in range(1, self._job.parties + 1)
            if j not in left_out
        ]
