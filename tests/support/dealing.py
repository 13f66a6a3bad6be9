"""A client that deals shares off its polynomial, in runs on a fake wire."""

from collections.abc import Collection
from typing import Any

import pytest

from secfc.operations.beginning import rows


def deal_wrongly(monkeypatch: pytest.MonkeyPatch, dealer: int, holders: Collection[int]) -> None:
    """Change a residue of the rows that a client deals to each of some holders."""
    real = rows.dealt_by_owners

    def dealt(me: Any, sizes: Any, segments: Any) -> Any:
        if me.number != dealer or segments is None:
            return (yield from real(me, sizes, segments))
        code, deal = me.code, type(me.code).deal

        def wrong(self: Any, values: Any, kernels: Any, out: Any) -> Any:
            shares = deal(self, values, kernels, out)
            for holder in holders:
                shares[holder - 1, 0, 0] ^= 1
            return shares

        monkeypatch.setattr(type(code), "deal", wrong)
        try:
            step = real(me, sizes, segments)
            next(step)  # it has dealt
        finally:
            monkeypatch.setattr(type(code), "deal", deal)
        while True:
            try:
                yield
                next(step)
            except StopIteration as end:
                return end.value

    monkeypatch.setattr(rows, "dealt_by_owners", dealt)
