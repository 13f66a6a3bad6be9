"""Largest size of each type of message in a job. Larger messages are refused before they are read."""

from dataclasses import dataclass
from functools import cached_property

from secfc.crypto.identity import SIGNATURE_BYTES
from secfc.errors import MessageError
from secfc.protocol.job.row_layout import MAX_MESSAGE_BYTES
from secfc.protocol.messages import RUNNING, FromServer, Message, ToServer
from secfc.protocol.messages.bounds import Bounds
from secfc.protocol.messages.wire import HEADER_BYTES
from secfc.protocol.states import State

_OF_ROUNDS = frozenset({State.ITERATE, State.DONE})


@dataclass(frozen=True)
class Sizes(Bounds):
    """Bounds of a job's messages."""

    def most_bytes(self, kind: type[Message]) -> int:
        """Bytes of the largest message of a type. MessageError for a type of a preparation."""
        if kind not in RUNNING:
            raise MessageError(f"{kind.__name__}: a message of a preparation, where rows are clustered")
        if kind not in self._known:
            signature = SIGNATURE_BYTES if issubclass(kind, FromServer) else 0
            self._known[kind] = min(MAX_MESSAGE_BYTES, HEADER_BYTES + kind.body.most(self) + signature)
        return self._known[kind]

    @cached_property
    def _known(self) -> dict[type[Message], int]:
        return {}

    @cached_property
    def most_from_client(self) -> int:
        """Bytes of the largest message that a client sends."""
        return max(self.most_bytes(kind) for kind in RUNNING if not issubclass(kind, FromServer))

    @cached_property
    def most_to_client(self) -> int:
        """Bytes of the largest message that a client takes. Before the rows are known no round begins."""
        taken = [kind for kind in RUNNING if not issubclass(kind, ToServer)]
        if self.layout is None:
            taken = [kind for kind in taken if not kind.states <= _OF_ROUNDS]
        return max(map(self.most_bytes, taken))
