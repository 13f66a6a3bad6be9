"""The fake wire as a fixture, and whether a role that refuses a message is as it was."""

from collections.abc import Callable
from typing import Any

import pytest
from support.wire import Wire, picture

from secfc import row_layout
from secfc.errors import MessageError
from secfc.protocol.client import Client
from secfc.protocol.messages import Message
from secfc.protocol.server import Server
from secfc.protocol.states import State


@pytest.fixture(scope="session")
def wire() -> type[Wire]:
    return Wire


@pytest.fixture(scope="session")
def refuses() -> Callable[..., None]:
    """Assert that a role refuses a message with an error of a kind and a text, and has not changed.

    An error that ends the run for a client changes its state alone.
    """

    def check(role: Server | Client, message: Message, kind: type[Exception], text: str) -> None:
        before = picture(role)
        with pytest.raises(kind, match=text):
            role.receive(message)
        name, after = picture(role)
        if isinstance(role, Client) and not issubclass(kind, MessageError):
            assert role.state is State.ENDED
            assert after.pop("_ended")
            before[1].pop("_ended")
        assert (name, after) == before

    return check


@pytest.fixture(scope="session")
def pictured() -> Callable[[Any], Any]:
    return picture


@pytest.fixture
def part_rows(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Cut shares and answers in parts of this many rows."""

    def cut(rows: int) -> None:
        monkeypatch.setattr(row_layout, "PART_BYTES", 1)
        monkeypatch.setattr(row_layout, "PART_ROWS", rows)

    return cut
