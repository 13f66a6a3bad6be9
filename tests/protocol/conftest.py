"""Fixtures: the fake wire, and a check that a role that refuses a message does not change."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.wire import Wire, picture

from secfc.errors import MessageError
from secfc.operations.beginning import rows as sharing
from secfc.protocol.client import Client
from secfc.protocol.messages import Message
from secfc.protocol.server import Server
from secfc.protocol.states import State
from secfc.sharing.codewords import split


@pytest.fixture(scope="session")
def wire() -> type[Wire]:
    return Wire


@pytest.fixture(scope="session")
def refuses() -> Callable[..., None]:
    """Assert that a role refuses a message with a given error and text, and does not change.

    If the error ends the run for a client, only the client's state changes.
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
def shared_as(monkeypatch):
    """Let a client share other integers than those of its rows."""

    def other(owner, change):
        real = sharing.dealt_by_owners

        def dealt(me, sizes, segments):
            if me.number == owner and segments is not None:
                p = me.code.primes[0]
                residues = (segments[0].astype(int) + p // 2) % p - p // 2
                integers = np.array(change(residues.reshape(2, -1).T))  # of rows with two columns
                of_primes = [split((integers % p).astype(float), me.code.ell) for p in me.code.primes]
                segments = np.array(of_primes).reshape(segments.shape)
            return (yield from real(me, sizes, segments))

        monkeypatch.setattr(sharing, "dealt_by_owners", dealt)

    return other
