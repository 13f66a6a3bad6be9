"""The phase union between the roles: who accepts what and when, what overtakes what, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from support.union import KEY

from secfc.crypto.channel import Sealed
from secfc.errors import (
    CheatError,
    DataError,
    DuplicateIdError,
    MessageError,
    ParameterError,
    SealError,
    UnionError,
)
from secfc.protocol.messages import (
    SERVER,
    Plan,
    Step,
    UnionCheck,
    UnionContinue,
    UnionDeal,
    UnionFound,
    UnionOpening,
    UnionVerdict,
)
from secfc.protocol.phases.client_union import _told
from secfc.protocol.server import Server
from secfc.protocol.states import State
from secfc.psu.found import Found
from secfc.psu.prime import P
from secfc.tables.ids import row_ids

ROWS = [[[0.0], [0.5]], [[9.0], [9.5], [8.0]], [[0.2], [7.0]]]
IDS = [["a", "b"], ["c", "d", "e"], ["f", "g"]]


@pytest.fixture
def union(wire):

    class Union(wire):
        def __init__(self, ids=IDS, rows=ROWS, **parameters):
            self._ids = ids
            super().__init__(rows, **{"ids_cap": 40, **parameters})

        def client(self, number, **other):
            held = row_ids(self._ids[number - 1], key=KEY, name=f"client {number}")
            return super().client(number, **{"ids": held, **other})

    return Union


def test_nobody_tells_how_many_rows_it_holds(union) -> None:
    net = union()
    assert [one.rows for one in net.introductions] == [0, 0, 0]
    plan = net.hold(Plan, recipient=1)
    assert {one.rows for one in plan.introductions} == {0}


def test_a_client_that_tells_its_rows_is_refused_by_server_and_clients(union, refuses) -> None:
    net = union()
    hello = net.signed(net.take((2, SERVER)), rows=3)
    refuses(net.server, hello, MessageError, "client 2 tells a number of rows")
    net = union()
    plan = net.hold(Plan, recipient=1)
    told = (plan.introductions[0], net.introduction(2, rows=3), plan.introductions[2])
    refuses(
        net.clients[1], replace(plan, introductions=told), MessageError, "client 2 tells a number of rows"
    )


def test_messages_have_the_same_sizes_whoever_holds_what(union) -> None:
    def sizes(ids, rows):
        net = union(ids, rows)
        seen = []
        post = net.post

        def counting(messages):
            post(messages)
            seen.extend(
                (type(one).__name__, one.sender, one.recipient, len(one.sealed.payload))
                for one in messages
                if isinstance(one, UnionDeal | Step)
            )

        net.post = counting
        net.run(until=lambda: net.server.state is State.ITERATE)
        return sorted(seen)

    flat = [row for part in ROWS for row in part]
    all_at_one = [flat, np.zeros((0, 1)), np.zeros((0, 1))]
    assert sizes(IDS, ROWS) == sizes([[x for part in IDS for x in part], [], []], all_at_one)


class TestRefusals:
    def test_union_messages_have_no_place_in_a_run_without_ids(self, wire, refuses) -> None:
        net = wire(ROWS)
        deal = UnionDeal(
            run=net.session.run, sender=2, recipient=1, round=1, part=0, sealed=Sealed(payload=bytes(64))
        )
        refuses(net.clients[1], deal, MessageError, "^UnionDeal: from client 2, in a run without IDs$")

    def test_a_deal_of_another_size_part_or_stage_is_refused(self, union, refuses) -> None:
        net = union()
        deal = net.hold(UnionDeal, recipient=1)
        client = net.clients[1]
        if client.state is State.IDENTIFY:
            net.deliver(net.take((SERVER, 1)))
        short = replace(deal, sealed=Sealed(payload=bytes(deal.sealed.payload)[:-8]))
        refuses(client, short, MessageError, "sealed bytes from client 2, part 0 has")
        refuses(client, replace(deal, part=1), MessageError, "part 0 of stage 1 is next")
        refuses(client, replace(deal, round=7), MessageError, "part 0 of stage 1 is next")
        flipped = bytearray(deal.sealed.payload)
        flipped[3] ^= 1
        refuses(client, replace(deal, sealed=Sealed(payload=flipped)), SealError, "was not sealed by it")

    def test_an_element_beyond_the_field_is_refused(self, union, refuses) -> None:
        net = union()
        opening = net.hold(UnionOpening, recipient=SERVER)
        wrong = opening.values.copy()
        wrong[0] = P
        refuses(net.server, replace(opening, values=wrong), MessageError, f"is not below {P}$")
        refuses(net.server, replace(opening, values=opening.values[1:]), MessageError, "elements from client")
        refuses(net.server, replace(opening, part=1), MessageError, "part 0 of 1 is next")
        refuses(net.server, replace(opening, round=2), MessageError, "the union is in stage 1")
        net.deliver(opening)
        refuses(net.server, opening, MessageError, "part 1 of 1 is next")

    def test_poles_that_do_not_fit_the_table_are_refused(self, union, refuses) -> None:
        net = union()
        message = net.hold(UnionFound, recipient=1)
        counts, poles = message.found.counts, message.found.poles
        client = net.clients[1]
        for found, text in (
            (Found(counts=counts[:-1], poles=poles), "bins, the table has"),
            (Found(counts=counts, poles=poles[1:]), "poles, the bins have"),
            (Found(counts=counts, poles=np.full_like(poles, P)), "outside the field"),
            (Found(counts=counts, poles=poles[::-1].copy()), "do not ascend"),
            (Found(counts=counts + 25, poles=poles), "at most 24 are found"),
        ):
            refuses(client, replace(message, found=found), MessageError, text)
        refuses(client, replace(message, round=2), MessageError, "of stage 2, out of turn")
        verdict = UnionVerdict(run=message.run, sender=0, recipient=1, round=1, unique=True)
        refuses(client, verdict, MessageError, "of stage 1, which has no check or its verdict")

    def test_a_share_of_the_check_is_taken_once_from_each_other_client_in_its_stage(self, union, refuses):
        net = union()
        message = net.hold(UnionCheck, recipient=1)
        client, channel = net.clients[1], net.channels[message.sender][1]

        def sealed(payload):
            channel._sealed.clear()
            one = channel.seal(b"union check", round_=message.round, part=0, payload=payload)
            return replace(message, sealed=Sealed(payload=bytes(one.payload)))

        refuses(client, sealed(bytes(24)), MessageError, "40 sealed bytes from client .*, 32 are needed$")
        refuses(client, sealed(P.to_bytes(8, "little") * 2), MessageError, f"is not below {P}$")
        flipped = bytearray(message.sealed.payload)
        flipped[3] ^= 1
        refuses(client, replace(message, sealed=Sealed(payload=flipped)), SealError, "was not sealed by it")
        for round_ in (1, 3):
            refuses(client, replace(message, round=round_), MessageError, "out of turn$")
        net.deliver(message)
        refuses(client, message, MessageError, "itself or a second time$")

    def test_a_share_of_the_check_before_there_is_one_is_refused(self, union, refuses) -> None:
        net = union()
        net.hold(UnionFound, recipient=1)
        early = UnionCheck(
            run=net.session.run, sender=2, recipient=1, round=1, sealed=Sealed(payload=bytes(32))
        )
        refuses(net.clients[1], early, MessageError, "of stage 1 from client 2, out of turn$")

    def test_a_part_nobody_waits_for_is_not_dealt(self, union, refuses) -> None:
        net = union()
        found = net.hold(UnionFound, recipient=1)
        more = UnionContinue(run=found.run, sender=0, recipient=1, round=1, part=1)
        refuses(net.clients[1], more, MessageError, "part 1 of 1 of stage 1 is next")


def test_an_id_at_two_clients_stops_server_and_clients_without_the_id(union) -> None:
    net = union([["a", "secret-id"], ["c", "d", "secret-id"], ["f", "g"]])
    with pytest.raises(DuplicateIdError, match=r"^ids: an ID is held more than once$"):
        net.run()
    assert "secret" not in repr(net.clients[1])


def test_a_client_with_another_key_is_named(union) -> None:
    class Other(union):
        def client(self, number, **other):
            held = row_ids(self._ids[number - 1], key=bytes(32), name="client 2")
            return super().client(number, **({"ids": held} if number == 2 else {}), **other)

    with pytest.raises(UnionError, match=r"^client \d: client \d hashes its IDs with another id_key$"):
        Other().run()


def run_changed(net, change):
    while links := net.pending():
        net.deliver(change(net.take(links[0])))


@pytest.mark.parametrize("asked", ["a", "c"])
def test_a_server_cannot_ask_one_client_for_an_id_by_another_union(union, asked) -> None:
    # If client 1 got another pole in place of the ID's, the check would fail if and only if it has the ID.
    net = union()

    def change(message):
        assert not isinstance(message, UnionOpening) or message.round == 1
        if not isinstance(message, UnionFound) or message.recipient != 1:
            return message
        table = net.clients[1].phase.role.course.stage.table
        held = row_ids([asked], key=KEY, name="the server").tokens(table.plan.salt)
        poles = message.found.poles.copy()
        poles[poles == table.places(held)[1]] += np.uint64(1)
        assert (poles != message.found.poles).sum() == 1
        return replace(message, found=replace(message.found, poles=poles))

    with pytest.raises(CheatError, match=r"^client \d: the server sent client \d other values of the union"):
        run_changed(net, change)


@pytest.mark.parametrize("asked", ["a", "c", "f"])
def test_a_server_that_lies_about_the_check_is_found_out_by_all_alike(union, asked) -> None:
    # All clients get another pole in place of an ID's, with the claim that the check holds. If only the ID's
    # holder stopped, that would reveal the holder.
    net, stopped = union(), {}
    asked = row_ids([asked], key=KEY, name="the server")
    while links := net.pending():
        message = net.take(links[0])
        if isinstance(message, UnionFound):
            table = net.clients[message.recipient].phase.role.course.stage.table
            poles = message.found.poles.copy()
            poles[poles == table.places(asked.tokens(table.plan.salt))[1]] += np.uint64(1)
            message = replace(message, found=replace(message.found, poles=poles))
        if isinstance(message, UnionVerdict):
            message = replace(message, unique=True)
        try:
            net.deliver(message)
        except CheatError as error:
            stopped[message.recipient] = str(error).removeprefix(f"client {message.recipient}: ")
    assert stopped == dict.fromkeys(
        (1, 2, 3), "the server reports another result of the union's check than the clients' shares give"
    )


def test_a_check_that_holds_cannot_be_said_to_fail(union) -> None:
    net = union()
    with pytest.raises(CheatError, match=r"than the clients' shares give$"):
        run_changed(
            net,
            lambda message: replace(message, unique=False) if isinstance(message, UnionVerdict) else message,
        )


def test_what_the_server_said_of_the_union_is_told_apart() -> None:
    counts, poles = np.array([1, -1]), np.array([5], dtype=np.uint64)
    found = [
        Found(counts=counts, poles=poles),
        Found(counts=counts[::-1], poles=poles),
        Found(counts=counts, poles=poles + 1),
        Found(counts=counts[:1], poles=poles),
    ]
    head = {"run": bytes(16), "sender": SERVER, "recipient": 1, "round": 1}
    said = [_told(UnionFound(**head, found=one)) for one in found]
    said += [_told(UnionVerdict(**head, unique=one)) for one in (True, False)]
    assert len(set(said)) == len(found) + 2


def test_the_first_sets_cannot_be_given(union) -> None:
    with pytest.raises(ParameterError, match="which party has which rows"):
        union(starts=[[0, 1], [0, 1, 0], [1, 1]])


def test_ids_and_rows_must_be_as_many_and_within_the_cap(union) -> None:
    with pytest.raises(DataError, match=r"^client 2: 1 IDs for 3 rows$"):
        union([["a", "b"], ["c"], ["f", "g"]])
    with pytest.raises(DataError, match=r"^client 2: more rows than ids_cap, 2$"):
        union(ids_cap=2)


def test_a_client_without_ids_does_not_join(wire) -> None:
    with pytest.raises(ParameterError, match="IDs are needed exactly if"):
        wire(ROWS, ids_cap=40)


def again(net, union):
    """The same run once more, with the same identifier, agreement, identities and IDs."""
    other = union()
    other.identities, other.session = net.identities, net.session
    other.coordinator, other.signer = net.coordinator, net.signer
    other.server = Server(job=other.job, session=other.session)
    other.clients = {number: other.client(number) for number in other.clients}
    other.replace_client(1)
    return other


def hashes(net):
    """Tokens of all clients' IDs, and what the server finds."""
    net.run(until=lambda: all(client.state is State.UNION for client in net.clients.values()))
    tokens = [client.phase.role._tokens for client in net.clients.values()]
    poles = net.hold(UnionFound, recipient=1).found.poles.tolist()
    return {pair for one in tokens for pair in zip(one.u.tolist(), one.v.tolist(), strict=True)}, {*poles}


def test_a_coordinator_that_uses_an_identifier_twice_cannot_compare_the_unions(union) -> None:
    first = union()
    second = again(first, union)
    assert (first.session.run, first.session.agreement) == (second.session.run, second.session.agreement)
    (tokens, poles), (other_tokens, other_poles) = hashes(first), hashes(second)
    assert len(tokens) == len(other_tokens) == len(poles) == len(other_poles) == 7
    assert not tokens & other_tokens
    assert not poles & other_poles


def test_a_fresh_key_of_one_client_changes_the_tokens_of_all(union) -> None:
    net = union()
    plan = net.hold(Plan, recipient=1)
    found = []
    for introductions in (plan.introductions, again(net, union).introductions):
        said = (plan.introductions[0], plan.introductions[1], introductions[2])
        client = net.client(1, ephemeral=bytes(range(32)))
        said = (client.start()[0].introduction, *said[1:])
        client.receive(replace(plan, introductions=said))
        found.append(set(client.phase.role._tokens.u.tolist()))
    assert not found[0] & found[1]


def test_a_client_that_is_started_again_has_the_same_tokens(union) -> None:
    net = union()
    plan = net.hold(Plan, recipient=1)
    found = []
    for _ in range(2):
        client = net.client(1, ephemeral=bytes(range(32)))
        said = (client.start()[0].introduction, *plan.introductions[1:])
        client.receive(replace(plan, introductions=said))
        found.append(client.phase.role._tokens.u.tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize("size", [0, 16, 1000, "right"])
@pytest.mark.parametrize("stage", [1, 2])
def test_what_somebody_forged_before_a_stage_counts_as_not_sent(union, stage, size) -> None:
    net = union()
    begins = net.hold(Plan if stage == 1 else UnionFound, recipient=1)
    client = net.clients[1]
    if size == "right":
        there = union()
        there.run(
            until=lambda: (role := getattr(there.clients[2].phase, "role", None)) and role.stage == stage
        )
        size = (8 if stage == 1 else 32) + 8 * there.clients[2].phase.role.dealt_size(0) + 16
    forged = UnionDeal(
        run=net.session.run,
        sender=2,
        recipient=1,
        round=stage,
        part=0,
        sealed=Sealed(payload=bytes(size)),
    )
    client.receive(forged)
    net.deliver(begins)
    assert client.phase.role.stage == stage
    assert client.phase._taken[2] == 0
    net.run()  # client 2's own still arrives
    assert all(one.state is State.DONE for one in net.clients.values())
