"""Messages with which a run begins: introductions, and the plan."""

from dataclasses import field
from typing import Annotated

from secfc.crypto.handshake import DIGEST_BYTES, Introduction
from secfc.field.array_types import Ints, Labels
from secfc.field.label_packing import PackedLabels
from secfc.protocol.messages import encodings as enc
from secfc.protocol.messages.base import FromServer, ToServer
from secfc.protocol.states import State


class Hello(ToServer, number=0, phase="identify"):
    """The sender's introduction, the weights of its rows if rows have weights, and its given start labels.

    Of labels that the job hides it tells only which rows are new (`Job.told_start`).

    `agreement` is the digest of what the client agreed on, so an error can name a party that differs.
    """

    states = frozenset({State.IDENTIFY})
    with_helpers = True

    agreement: Annotated[bytes, enc.octets(DIGEST_BYTES)] = field(repr=False)
    introduction: Annotated[Introduction, enc.INTRODUCTION]
    weights: Annotated[Ints | None, enc.WEIGHTS] = field(default=None, repr=False)
    start: Annotated[Labels | PackedLabels | None, enc.START] = field(default=None, repr=False)


class Plan(FromServer, number=1, phase="identify"):
    """The introductions of all parties in order, and weights and start labels of all rows."""

    work = "share"
    states = frozenset({State.IDENTIFY})
    with_helpers = signed_once = True

    weights: Annotated[Ints | None, enc.WEIGHTS] = field(default=None, repr=False)
    start: Annotated[Labels | PackedLabels | None, enc.ALL_STARTS] = field(default=None, repr=False)
    introductions: Annotated[tuple[Introduction | None, ...], enc.INTRODUCTIONS]
