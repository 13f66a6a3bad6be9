"""A client whose run ended with an error refuses every message and sends nothing."""

from dataclasses import replace

import pytest
from support.dealing import deal_wrongly

from secfc.errors import CheatError, LimitError, MessageError
from secfc.protocol.job.limits import Limits
from secfc.protocol.messages import SERVER, FromServer, Plan, Step, StepNotice
from secfc.protocol.states import State

ROWS = [[[0.0], [0.5]], [[9.0], [9.5], [8.0]], [[0.2], [7.0]], [[8.5]], [[8.0]]]


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        (LimitError, {"limits": Limits(most_rows=3)}),  # by the plan
        (LimitError, {"limits": Limits(most_rounds=1), "seed": 1}),  # in a round
        (CheatError, {"limits": Limits()}),  # by a share
    ],
)
@pytest.mark.parametrize("disclosure", ["coded", "labels"])
def test_after_an_error_that_ends_its_run_a_client_refuses_everything(
    wire, monkeypatch, pictured, kind, more, disclosure
):
    if kind is CheatError:
        deal_wrongly(monkeypatch, 4, [2])
    net = wire(ROWS, disclosure=disclosure, **more)
    with pytest.raises(kind):
        net.run()
    (client,) = [one for one in net.clients.values() if one.state is State.ENDED]
    before = pictured(client)
    for one in (Plan, Step, StepNotice):
        sender = SERVER if issubclass(one, FromServer) else client.number % 5 + 1
        message = net.message(one, sender=sender, recipient=client.number)
        for again in (message, *(replace(message, round=round_) for round_ in (1, 2, 7))):
            with pytest.raises(MessageError, match=r"^\w+: "):
                client.receive(again)
    assert pictured(client) == before
