"""Clients on a fake wire that deal wrong shares or send wrong answers."""

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from support.wire import Wire

from secfc.field.packing import PackedResidues, pack, unpack
from secfc.field.primes import PRIMES, primes_of
from secfc.field.residues import reduce
from secfc.protocol.answers.decoding import Weights
from secfc.protocol.messages import CodedDistances, Message
from secfc.sharing import client_shares as sharing


def primes(net: Wire) -> tuple[int, ...]:
    """Primes of the shares. Small jobs use all of them in every round."""
    assert net.job.residues(1) == net.job.residues(net.m)
    return primes_of(net.job.residues(net.m))


def modulus(net: Wire) -> int:
    return prod(primes(net))


def add(residues: PackedResidues, column: int, row: int, number: int, only: int | None = None) -> None:
    """Add an integer to one entry, modulo each prime or modulo the one with this index."""
    for index, plane in enumerate(residues.planes()):
        if only in (None, index):
            p = PRIMES[index].p
            found = unpack(plane)
            found[column, row] += number % p
            plane[:] = pack(reduce(found, p), p)


def change_shares(net: Wire, dealer: int, change: Callable[[list[PackedResidues]], None]) -> None:
    """Let a client change what it deals with the first part. `change` gets a list by recipient."""
    client = net.clients[dealer]
    honest = client.receive

    def dealing(message: Any) -> list[Message]:
        real = sharing.Sharer.share

        def share(sharer: Any, rows: Any, *noise: Any) -> Any:
            packed = real(sharer, rows, *noise)
            change(packed)
            return packed

        sharing.Sharer.share = share  # type: ignore[method-assign]
        try:
            return honest(message)
        finally:
            sharing.Sharer.share = real  # type: ignore[method-assign]

    client.receive = dealing  # type: ignore[method-assign]


def deal_integers(net: Wire, dealer: int, numbers: dict[tuple[int, int], int]) -> None:
    """Let a client with rows of zeros share these integers modulo Q, by own row and column; ell is 1.

    A constant is a polynomial, so the shares are consistent.
    """
    assert net.job.ell == 1

    def change(packed: list[PackedResidues]) -> None:
        for share in packed:
            for (row, column), number in numbers.items():
                add(share, column, row, number)

    change_shares(net, dealer, change)


def change_answers(net: Wire, responder: int, offsets: Callable[[int], dict[tuple[int, int], int]]) -> None:
    """Let a client change distances by integers; `offsets` gives them for a round, by row and set.

    All R clients answer. So a distance changes by what is added to the answer times the client's weight.
    """
    client, everybody = net.clients[responder], tuple(range(1, net.job.n + 1))
    assert net.job.threshold == net.job.n
    weights = Weights(net.job).of(everybody)[:, responder - 1]
    honest = client.receive

    def answered(message: Message) -> list[Message]:
        replies = honest(message)
        for at, reply in enumerate(replies):
            if isinstance(reply, CodedDistances):
                residues = PackedResidues(
                    shape=reply.residues.shape, payload=bytearray(reply.residues.payload)
                )
                for (row, h), number in offsets(reply.round).items():
                    for index, weight in enumerate(weights[: residues.shape[0]]):
                        add(residues, h, row, number * pow(int(weight), -1, PRIMES[index].p), index)
                replies[at] = replace(reply, residues=residues)
        return replies

    client.receive = answered  # type: ignore[method-assign]


def random_integers(rng: np.random.Generator, count: int, below: int) -> list[int]:
    return [int.from_bytes(rng.bytes(32), "little") % below for _ in range(count)]
