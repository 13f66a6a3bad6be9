# ruff: noqa: F403
"""The messages of a run: their types, their bytes, and which of them a role takes."""

from secfc.protocol.messages.kinds import *
