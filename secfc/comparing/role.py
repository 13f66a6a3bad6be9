"""A role of the trio as a state machine without clock or socket: it takes bytes and returns bytes."""

from collections.abc import Generator, Hashable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import prod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from secfc.errors import MessageError, ParameterError, SecFCError
from secfc.kernels.interface import Bytes, Words
from secfc.kernels.threads import ALONE, Threads


class Comparer(StrEnum):
    """The three parties that compare. No two of them may collude."""

    DEALER = "dealer"
    E0 = "first evaluator"
    E1 = "second evaluator"


Data = bytes | bytearray | memoryview


@dataclass(frozen=True, kw_only=True)
class Sending:
    """Bytes for another party of the trio."""

    recipient: Comparer
    data: Data = field(repr=False)


Turn = tuple[tuple[Sending, ...], Mapping[Comparer, int]]
"""The messages to send, and how many bytes are awaited from whom."""

Steps = Generator[Turn, Mapping[Comparer, Data], None]
"""Yields turns and receives the bytes that each turn awaits. Ends after a turn that awaits nothing."""


_Found = TypeVar("_Found")


class Role:
    """Base of the roles. It makes a step when all awaited messages have come, each of exactly its size."""

    def __init__(self, me: Comparer, steps: Steps) -> None:
        self.me, self._steps = me, steps
        self.awaited: Mapping[Comparer, int] = {}
        """Bytes that the next step needs, by sender. Empty at the end."""
        self._begun = self.ended = False
        self._held: dict[Comparer, Data] = {}

    def __repr__(self) -> str:
        waits = ", ".join(f"{size} bytes of the {party.value}" for party, size in self.awaited.items())
        return f"{type(self).__name__}(awaits {waits or 'nothing'})"

    def __reduce__(self) -> tuple[object, ...]:
        raise SecFCError(f"{type(self).__name__} cannot be copied or pickled: masks would repeat")

    @property
    def wanted(self) -> frozenset[Comparer]:
        """Parties whose message is missing for the next step."""
        return frozenset(self.awaited.keys() - self._held.keys())

    def begin(self) -> tuple[Sending, ...]:
        """Make the first step, once. Return the messages to send before anything is received."""
        if self._begun:
            raise SecFCError(f"the {self.me.value} has begun")
        self._begun = True
        return self._advance(None)

    def take(self, sender: Comparer, data: Data) -> tuple[Sending, ...]:
        """Take bytes of another party, in the order in which it sent them. Return the messages to send next.

        A MessageError, if nothing is awaited from that party, or another size, leaves the role unchanged: a
        message that came early can be given again. Any other SecFCError ends the role: the opened values are
        impossible.
        """
        size = self.awaited.get(sender)
        if size is None or sender in self._held:
            raise MessageError(f"the {self.me.value} awaits nothing of the {sender.value}")
        if len(data) != size:
            raise MessageError(
                f"the {self.me.value} awaits {size} bytes of the {sender.value}, {len(data)} were given"
            )
        self._held[sender] = data
        if len(self._held) < len(self.awaited):
            return ()
        taken, self._held = self._held, {}
        return self._advance(taken)

    def _known(self, found: _Found | None, what: str) -> _Found:
        """A result. SecFCError if it is not known yet, or never will be."""
        if found is None:
            raise SecFCError(f"the {self.me.value} has no {what}")
        return found

    def _advance(self, taken: Mapping[Comparer, Data] | None) -> tuple[Sending, ...]:
        sent: tuple[Sending, ...] = ()
        self.awaited = {}
        try:
            sent, self.awaited = self._steps.send(taken)  # type: ignore[arg-type]  # None begins
        except StopIteration:
            pass
        except BaseException:
            self.ended = True
            raise
        if not self.awaited:
            self._steps.close()
            self.ended = True
        return sent


class EvaluatorRole(Role):
    """An evaluator whose steps exchange arrays with the other, after E1 has the dealer's message."""

    def __init__(self, me: Comparer, steps: Steps) -> None:
        if me is Comparer.DEALER:
            raise ParameterError("me: the dealer is no evaluator")
        self._e0, self._peer = me is Comparer.E0, Comparer.E1 if me is Comparer.E0 else Comparer.E0
        self._waiting: tuple[Sending, ...] = ()  # goes with the next message
        super().__init__(me, steps)

    def _tell(self, data: Data) -> None:
        """Send the dealer the opened bits, together with the next message."""
        self._waiting = (Sending(recipient=Comparer.DEALER, data=data),)

    def _dealt(self, size: int) -> Generator[Turn, Mapping[Comparer, Data], Bytes]:
        """The dealer's message to E1. Empty at E0."""
        if self._e0:
            return np.empty(0, dtype=np.uint8)
        told = yield self._waiting, {Comparer.DEALER: size}
        self._waiting = ()
        return np.frombuffer(told[Comparer.DEALER], dtype=np.uint8)

    def _exchanged(
        self,
        *batches: Generator[NDArray[Any], NDArray[Any], _Found],
        threads: Threads = ALONE,
        size: int = 0,
    ) -> Generator[Turn, Mapping[Comparer, Data], list[_Found]]:
        """Run batches in step and return their results. Their contiguous arrays go to the other evaluator.

        Threads take one step of all batches together. A step has `size` words.
        """
        mine, found = threads.each(next, batches, size=size), dict[int, _Found]()

        def step(item: tuple[int, NDArray[Any]]) -> NDArray[Any]:
            at, others = item
            try:
                return batches[at].send(others)
            except StopIteration as end:
                found[at] = end.value
                return others

        while not found:
            data = b"".join(array.data for array in mine)
            told = yield (*self._waiting, Sending(recipient=self._peer, data=data)), {self._peer: len(data)}
            self._waiting = ()
            others: list[NDArray[Any]] = []  # not list[...](): that call takes microseconds
            at = 0
            for array in mine:
                taken = np.frombuffer(told[self._peer], dtype=array.dtype, count=array.size, offset=at)
                others.append(taken.reshape(array.shape))
                at += array.nbytes
            mine = threads.each(step, list(enumerate(others)), size=size)
        return [one for _, one in sorted(found.items())]

    def _end(self) -> Steps:
        if self._waiting:
            yield self._waiting, {}


class Arena:
    """Named buffers that grow as needed, for one role at a time. They hold masks, so the repr hides them.

    Every round uses them again: new pages cost more than the gates that fill them.
    """

    def __init__(self) -> None:
        self._buffers: dict[Hashable, Words] = {}

    def __repr__(self) -> str:
        return f"Arena(buffers={len(self._buffers)})"

    def words(self, name: Hashable, shape: tuple[int, ...]) -> Words:
        """Contiguous uninitialised words. They overwrite the words taken before with this name."""
        size = prod(shape)
        buffer = self._buffers.get(name)
        if buffer is None or buffer.size < size:
            buffer = self._buffers[name] = np.empty(size, dtype=np.uint64)
        return buffer[:size].reshape(shape)
