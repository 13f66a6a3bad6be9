"""With membership privacy a row is the sum of all clients' shares: a client that adds to it is detected."""

import numpy as np
import pytest
from support.wire import UnionWire

from secfc.errors import RangeError
from secfc.operations.beginning.added import OwnRows
from secfc.protocol.program import whose_rows
from secfc.protocol.states import State

ROWS = [[[0.0], [0.5]], [[9.0], [9.5], [8.0]], [[0.2], [0.7]]]
LIAR = 2


@pytest.fixture
def adding(monkeypatch):
    """Have client 2 add a number to the first row of the union that is not its own; return these rows."""

    def to(number):
        rows_of_others = []

        def own(rows, at):
            if rows.shape[0] == len(ROWS[LIAR - 1]):
                rows_of_others.append(next(row for row in range(7) if row not in at))
                rows, at = np.append(rows, [[number]], axis=0), np.append(at, rows_of_others)
            return OwnRows(rows, at)

        monkeypatch.setattr(whose_rows, "OwnRows", own)
        return rows_of_others

    return to


def test_a_vector_in_range_that_a_client_adds_to_anothers_row_is_not_noticed(adding) -> None:
    changed = adding(9.0)
    net = UnionWire(ROWS, disclosure="coded", init="separation")
    net.run()
    assert net.server.state is State.DONE
    assert net.server.faults.liars == net.server.faults.cheats == ()
    labels = net.server.outcome.labels
    large = [row for row in net.clients[LIAR].union_rows if row not in changed]
    assert len({*labels[large].tolist()}) == 1
    others = [row for row in range(7) if row not in large]
    # Among the small rows (all others), the changed one is labelled as large.
    assert [row for row in others if labels[row] == labels[large[0]]] == changed


def test_a_vector_out_of_range_ends_the_run(adding) -> None:
    adding(2.0**24)
    net = UnionWire(ROWS)
    with pytest.raises(RangeError):
        net.run()
