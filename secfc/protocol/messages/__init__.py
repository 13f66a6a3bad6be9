# ruff: noqa: F403
"""The messages of a run: frozen, keyword-only dataclasses. Their repr never shows shares or labels.

Each class declares its type completely, and its base says who sends it to whom (`base`). Received labels stay
packed until a role has checked their sender and their number.
"""

from secfc.protocol.messages.base import *
from secfc.protocol.messages.base import TYPES, Message
from secfc.protocol.messages.beginning import *
from secfc.protocol.messages.preparing import *
from secfc.protocol.messages.program import *
from secfc.protocol.messages.union import *

KINDS: tuple[type[Message], ...] = tuple(sorted(TYPES, key=lambda kind: kind.number))
"""All types of messages. The index of a type is its number."""

PREPARING: tuple[type[Message], ...] = tuple(kind for kind in KINDS if kind.phase == "prepare")
"""Types of a preparation, one from each client to each other, in this order. They have no states."""

RUNNING: tuple[type[Message], ...] = tuple(kind for kind in KINDS if kind.phase != "prepare")
"""Types of a run."""
