"""A union of IDs in a run: what it hides, and what is found out of a server that lies about it."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest
from support.union import KEY
from support.wire import UnionWire

from secfc.errors import (
    CheatError,
    DataError,
    DuplicateIdError,
    MessageError,
    ParameterError,
    TooManyFaultsError,
    UnionError,
)
from secfc.operations.beginning import added, united
from secfc.protocol.messages import SERVER, Plan, Step, StepNotice, StepReport
from secfc.protocol.program.stepping import letters_of, packed
from secfc.protocol.server import Server
from secfc.protocol.states import State
from secfc.psu.found import Found
from secfc.psu.prime import P
from secfc.psu.roles import UnionClient, UnionServer
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
                (one.sender, one.recipient, len(one.sealed.payload if isinstance(one, Step) else one.data))
                for one in messages
                if isinstance(one, Step | StepReport)
            )

        net.post = counting
        net.run(until=lambda: net.server.state is State.ITERATE)
        return sorted(seen)

    flat = [row for part in ROWS for row in part]
    all_at_one = [flat, np.zeros((0, 1)), np.zeros((0, 1))]
    assert sizes(IDS, ROWS) == sizes([[x for part in IDS for x in part], [], []], all_at_one)


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


class Lies:
    """Changes letters of the server to some clients, or of a client to the server, on their way."""

    def __init__(self, net, kind, *recipients):
        self.net, self.kind, self.recipients = net, kind, recipients

    def __call__(self, message):
        if not isinstance(message, self.kind) or message.recipient not in self.recipients:
            return False
        letters = list(letters_of(message.data))
        data = {place.tag: bytes(one) for place, one in letters}
        changed = data | self.change(message, data)
        self.net.deliver(replace(message, data=packed([(place, changed[place.tag]) for place, _ in letters])))
        return True

    def change(self, message, data):
        return {}


def with_another_pole(found, table, asked):
    """What was found in a table, with another pole in place of an ID's."""
    asked = row_ids([asked], key=KEY, name="the server").tokens(table.plan.salt)
    poles = found.poles.copy()
    poles[poles == table.places(asked)[1]] += np.uint64(1)
    return replace(found, poles=poles)


@pytest.fixture
def roles(monkeypatch):
    """The roles of clients in the union, by number."""
    made = {}

    class Noted(UnionClient):
        opened = 0

        def __init__(self, **given):
            super().__init__(**given)
            made[self.number] = self

        def opening(self, part, dealt):
            self.opened += 1
            return super().opening(part, dealt)

    monkeypatch.setattr(united, "UnionClient", Noted)
    return made


@pytest.mark.parametrize("asked", ["a", "c"])
def test_a_server_cannot_ask_one_client_for_an_id_by_another_union(union, roles, asked) -> None:
    # If client 1 got another pole in place of the ID's, the check would fail if and only if it has the ID.
    class OtherPole(Lies):
        def change(self, message, data):
            if "union poles" not in data:
                return {}
            found = Found(
                counts=np.frombuffer(data["union counts"], dtype=np.int32),
                poles=np.frombuffer(data["union poles"], dtype=np.uint64),
            )
            poles = with_another_pole(found, roles[1].course.stage.table, asked).poles.tobytes()
            digest = hashlib.sha256(data["union counts"] + poles).digest()
            return {"union poles": poles, "union stage": digest + data["union stage"][32:]}

    net = union()
    with pytest.raises(CheatError, match=r"^party \d saw other numbers opened before step 3$"):
        net.run(drop=OtherPole(net, StepNotice, 1))
    assert all(role.checking and role.opened == 1 for role in roles.values())


@pytest.fixture
def lying_server(monkeypatch):
    """Have the server tell something else of a stage."""

    def change(to):
        class Liar(UnionServer):
            def found(self):
                return to(self.course.stage, super().found())

            def take_verdict(self):
                return to(self.course.stage, super().take_verdict())

        monkeypatch.setattr(united, "UnionServer", Liar)

    return change


def stopped(net):
    """Errors of clients, by number."""
    found = {}
    while links := net.pending():
        message = net.take(links[0])
        try:
            net.deliver(message)
        except CheatError as error:
            found[message.recipient] = str(error).removeprefix(f"client {message.recipient}: ")
    return found


OTHER = "the server reports another result of the union than the clients' shares give, or than it told"


@pytest.mark.parametrize("asked", ["a", "c", "f"])
def test_a_server_that_lies_about_the_check_is_found_out_by_all_alike(union, lying_server, asked) -> None:
    # All clients get another pole in place of an ID's, with the claim that the check holds. If only the ID's
    # holder stopped, that would reveal the holder.
    lying_server(
        lambda stage, said: True if isinstance(said, bool) else with_another_pole(said, stage.table, asked)
    )
    assert stopped(union()) == dict.fromkeys((1, 2, 3), OTHER)


def test_a_check_that_holds_cannot_be_said_to_fail(union, lying_server) -> None:
    lying_server(lambda stage, said: False if isinstance(said, bool) else said)
    assert stopped(union()) == dict.fromkeys((1, 2, 3), OTHER)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda data: {"union counts": data["union counts"][:-4]}, "^party 0 sent .* bytes for union counts"),
        (
            lambda data: {"union poles": data["union poles"][8:]},
            "^party 0 sent 48 bytes for union poles",
        ),
        (lambda data: {"union poles": P.to_bytes(8, "little") * 7}, "^a pole outside the field$"),
        (
            lambda data: {"union poles": np.frombuffer(data["union poles"], np.uint64)[::-1].tobytes()},
            "^poles of a bin that do not ascend$",
        ),
        (lambda data: {"union stage": data["union stage"][:-1] + b"\2"}, "or than it told$"),
    ],
)
def test_what_does_not_fit_the_table_ends_the_run(union, change, text) -> None:
    class Wrong(Lies):
        def change(self, message, data):
            return change(data) if "union poles" in data else {}

    net = union()
    with pytest.raises(CheatError, match=text):
        net.run(drop=Wrong(net, StepNotice, 1))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda values: P.to_bytes(8, "little") + values[8:], f"^an element from client 1 is not below {P}$"),
        (lambda values: values[8:], "^party 1 sent .* bytes for union opened, not"),
        (lambda values: bytes(8) + values[8:], "^union: .* a client sent a wrong share"),
    ],
)
def test_a_wrong_share_of_what_is_opened_ends_the_run(union, change, text) -> None:
    class Wrong(Lies):
        def change(self, message, data):
            opened = data.get("union opened")
            return {} if opened is None or message.sender > 1 else {"union opened": change(opened)}

    net = union()
    with pytest.raises((CheatError, UnionError), match=text):
        net.run(drop=Wrong(net, StepReport, SERVER))


@pytest.mark.parametrize("max_liars", [0, 1])
@pytest.mark.parametrize("asked", ["a", "d"])
def test_a_client_that_covers_the_row_of_an_id_does_not_see_who_has_it(
    union, roles, monkeypatch, asked, max_liars
) -> None:
    liar, honest, tokens_of = 3, added._segments, row_ids([asked], key=KEY, name="the liar").tokens

    def segments(me, own, rows, unit, mine):
        found = honest(me, own, rows, unit, mine)
        if me.number == liar:
            row = roles[liar].course._locate(tokens_of(roles[liar].plan.salt))[0][0] - rows.start
            found[:, :, row - (rows.stop - rows.start)] += 1000  # its cover of the row, which is not its own
        return found

    monkeypatch.setattr(added, "_segments", segments)
    ids, rows = [*IDS, ["h"], ["i"]], [*ROWS, [[0.1]], [[9.2]]]
    net = union(ids, rows, disclosure="labels", max_iter=3, max_liars=max_liars)
    net.run()
    assert {one.state for one in (net.server, *net.clients.values())} == {State.DONE}
    unreadable = [[label < 0 for label in labels] for labels in net.labels()]
    assert unreadable == [[name == asked for name in own] for own in ids]


@pytest.mark.parametrize("disclosure", ["labels", "coded"])
@pytest.mark.parametrize("asked", ["a", "d"])
def test_a_server_that_leaves_an_id_out_with_a_client_does_not_see_who_has_it(
    union, lying_server, monkeypatch, asked, disclosure
) -> None:
    # Another pole is in place of the ID's, and a client deals a sum with which the check holds all the same.
    class Liar(UnionClient):
        def _begin(self):
            super()._begin()
            if self.number == 3 and self.checking:
                ((table, found),) = self.course._tables
                token = row_ids([asked], key=KEY, name="the liar").tokens(table.plan.salt)
                (row,) = np.flatnonzero(found.poles == table.places(token)[1] + np.uint64(1))
                for at, base in enumerate(self.course.stage.bases()):
                    lie = pow(base, int(row) + 1, P) - pow(base, self.course.m + 1, P)
                    self._input._values[0, at] = (int(self._input._values[0, at]) + lie) % P

    monkeypatch.setattr(united, "UnionClient", Liar)
    lying_server(
        lambda stage, said: said if isinstance(said, bool) else with_another_pole(said, stage.table, asked)
    )
    net = union(disclosure=disclosure, max_iter=3)
    net.run()
    assert {one.state for one in (net.server, *net.clients.values())} == {State.DONE}
    unreadable = [[label < 0 for label in labels] for labels in net.labels()]
    assert unreadable == [[name == asked for name in own] for own in IDS]


def test_a_helper_believes_no_more_parts_than_the_first_stage_has() -> None:
    class Huge(Lies):
        def change(self, message, data):
            return {"union stage": data["union stage"][:32] + b"\xff" * 4} if "union stage" in data else {}

    net = UnionWire(ROWS, disclosure="labels", comparers=(4, 5, 6))
    with pytest.raises(CheatError, match=r"tells a stage of 4294967295 parts of the union, the first has 1$"):
        net.run(drop=Huge(net, StepNotice, 4))


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


def hashes(net, roles):
    """Tokens of all clients' IDs, and what the server finds."""
    told = net.hold(StepNotice, recipient=1).data
    tokens = [role._tokens for role in roles.values()]
    (poles,) = (
        np.frombuffer(data, np.uint64) for place, data in letters_of(told) if place.tag == "union poles"
    )
    pairs = {pair for one in tokens for pair in zip(one.u.tolist(), one.v.tolist(), strict=True)}
    return pairs, {*np.frombuffer(poles, np.uint64).tolist()}


def test_a_coordinator_that_uses_an_identifier_twice_cannot_compare_the_unions(union, roles) -> None:
    first = union()
    second = again(first, union)
    assert (first.session.run, first.session.agreement) == (second.session.run, second.session.agreement)
    (tokens, poles), (other_tokens, other_poles) = hashes(first, roles), hashes(second, roles)
    assert len(tokens) == len(other_tokens) == len(poles) == len(other_poles) == 7
    assert not tokens & other_tokens
    assert not poles & other_poles


def test_a_fresh_key_of_one_client_changes_the_tokens_of_all(union, roles) -> None:
    net = union()
    plan = net.hold(Plan, recipient=1)
    found = []
    for introductions in (plan.introductions, again(net, union).introductions):
        said = (plan.introductions[0], plan.introductions[1], introductions[2])
        client = net.client(1, ephemeral=bytes(range(32)))
        said = (client.start()[0].introduction, *said[1:])
        client.receive(replace(plan, introductions=said))
        found.append(set(roles[1]._tokens.u.tolist()))
    assert not found[0] & found[1]


def test_a_client_that_is_started_again_has_the_same_tokens(union, roles) -> None:
    net = union()
    plan = net.hold(Plan, recipient=1)
    found = []
    for _ in range(2):
        client = net.client(1, ephemeral=bytes(range(32)))
        said = (client.start()[0].introduction, *plan.introductions[1:])
        client.receive(replace(plan, introductions=said))
        found.append(roles[1]._tokens.u.tolist())
    assert found[0] == found[1]


def test_a_client_that_saw_other_numbers_while_a_union_is_found_is_waited_for(union) -> None:
    # Nobody can be left out: the driver ends the run by this client's name, when its time is up.
    net = union([*IDS, [], []], [*ROWS, np.zeros((0, 1)), np.zeros((0, 1))], max_liars=1)
    report = net.hold(StepReport, recipient=SERVER, sender=4)
    letters = [(replace(place, seen=bytes(32)), data) for place, data in letters_of(report.data)]
    net.deliver(replace(report, data=packed(letters)))
    net.run()
    assert net.server.awaited == (4,)
    with pytest.raises(TooManyFaultsError, match=r"^client 4 is absent before all rows were shared"):
        net.server.absent(4)
