"""Declarations of message types. docs/protocol.md fixes numbers and purposes (tests/test_docs.py)."""

from dataclasses import fields

import pytest

from secfc.protocol.messages import (
    KINDS,
    BetweenClients,
    FromServer,
    Message,
    ToServer,
)
from secfc.protocol.states import State

kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def test_no_two_types_have_one_number_and_none_is_left_out():
    assert [kind.number for kind in KINDS] == list(range(len(KINDS)))


@kinds
def test_a_type_has_a_purpose_exactly_if_it_is_sealed(kind):
    assert bool(kind.purpose) == ("sealed" in kind.body.fields)
    assert not kind.purpose or issubclass(kind, BetweenClients)


@kinds
def test_a_body_has_every_field_of_its_type_and_no_other(kind):
    header = {one.name for base in (Message, FromServer) for one in fields(base)}
    assert set(kind.body.fields) == {one.name for one in fields(kind)} - header


@kinds
def test_a_type_declares_all_by_itself(kind):
    assert {"number", "body", "phase", "work"} <= vars(kind).keys()
    assert issubclass(kind, FromServer | ToServer | BetweenClients)


@kinds
def test_a_type_of_a_run_arrives_somewhere_and_never_after_an_error(kind):
    assert kind.states
    assert State.ENDED not in kind.states
