"""The phase *union* of a client. It turns messages into calls of `secfc.psu`: order, sealing and parts."""

import hashlib
import struct
from contextlib import suppress

import numpy as np

from secfc.crypto.channel import TAG_BYTES
from secfc.errors import CheatError, DataError, MessageError, ParameterError, UnionError
from secfc.errors.codes import Code
from secfc.field.array_types import Floats
from secfc.protocol.context import ClientContext, Peers
from secfc.protocol.job.cases import Union
from secfc.protocol.job.job import Job
from secfc.protocol.job.row_layout import WINDOW, Layout
from secfc.protocol.messages import (
    Message,
    Step,
    StepNotice,
    UnionCheck,
    UnionContinue,
    UnionDeal,
    UnionFound,
    UnionOpening,
    UnionVerdict,
)
from secfc.protocol.phases.client_phase import ClientPhase, ClientStep
from secfc.protocol.phases.client_program import ClientProgram, EarlySteps
from secfc.protocol.phases.early_deals import EarlyDeals
from secfc.protocol.program.whose_rows import given_by
from secfc.protocol.states import State
from secfc.psu.plan import salt_of
from secfc.psu.prime import Elements
from secfc.psu.roles import UnionClient, check_elements
from secfc.psu.tokens import RowIds
from secfc.sharing.own_rows import OwnRows

_FOUND = struct.Struct("<I")  # bins


class ClientUnion(ClientPhase):
    """From the plan to the union.

    `deals` arrived before the plan, and `steps` arrive before the union is found.
    """

    state = State.UNION

    def __init__(
        self,
        context: ClientContext,
        peers: Peers,
        *,
        rows: Floats,
        ids: RowIds,
        deals: EarlyDeals,
        steps: EarlySteps,
    ) -> None:
        salt = context.salt or salt_of(peers.transcript)
        plan, tokens = context.job.union_plan(salt), ids.tokens(salt)
        self.role = UnionClient(
            number=context.number,
            plan=plan,
            tokens=tokens,
            masks=context.masks,
            threads=context.kernels(0).threads,
        )
        self._context, self._peers, self._rows = context, peers, rows
        self._run, self._number, self._channels = context.session.run, context.number, peers.channels
        self._early, self._early_steps = deals, steps
        self._said = tokens.check  # prefix that the others' first part of this stage must have
        self._checks: dict[int, Elements] = {}  # shares of what the check opens, by client
        self._verdict: UnionVerdict | None = None  # the server's, kept until all `_checks` are here
        self._dealt = 0  # parts of this stage
        self._taken = dict.fromkeys(self._channels, 0)  # parts of this stage, by sender

    def step(self, message: Message) -> ClientStep:
        """Take deals, findings and verdicts of the union. The program follows when the union is found.

        UnionError when there can be no union, CheatError when the server sent others something else.
        """
        match message:
            case Step() | StepNotice():
                self._early_steps.keep(message)
                return self, []
            case UnionDeal():
                messages = self._on_deal(message)
            case UnionContinue():
                messages = self._on_continue(message)
            case UnionFound():
                messages = self._on_found(message)
            case UnionVerdict():
                messages = self._on_verdict(message)
            case UnionCheck():
                messages = self._on_check(message)
            case _:
                raise AssertionError(type(message))
        return self._share() if self.role.finished else (self, messages)

    def unreadable(self, sender: int) -> list[Message]:
        """Note the sender until shares are opened."""
        self._early_steps.spoilt.add(sender)
        return []

    def _share(self) -> ClientStep:
        """Every client holds a part of every row of the union."""
        layout, rows = Layout((self.role.m,) * self._context.job.n, common=True), self.role.rows()
        own = OwnRows(self._rows, rows)
        given = given_by(self._context.job, own, self._context.allocate)
        program = ClientProgram(
            self._context, self._peers, layout=layout, rows=given, start=None, union_rows=rows
        )
        return program, program.begin(self._early_steps)

    def begin(self) -> list[Message]:
        """Deal the first parts of a stage, and take the parts that others dealt before."""
        self._dealt = 0
        self._taken = dict.fromkeys(self._channels, 0)
        messages: list[Message] = []
        for _ in range(min(WINDOW, self.role.parts)):
            messages += self._deal()
        early, self._early = self._early, EarlyDeals()
        for held in early.held:
            # A wrong early deal must not block the message that begins a stage. It counts as not sent.
            with suppress(MessageError):
                messages += self._on_deal(held)
        return messages

    def _on_deal(self, message: UnionDeal) -> list[Message]:
        if message.round == self.role.stage + 1:
            self._early.hold(message, stage=self.role.stage + 1)
            return []
        part = self._taken[message.sender]
        if (message.round, message.part) != (self.role.stage, part) or part >= self.role.parts:
            raise MessageError(
                f"UnionDeal: part {message.part} of stage {message.round} from client {message.sender}, "
                f"part {part} of stage {self.role.stage} is next"
            )
        head = self._head(part)
        size = len(message.sealed.payload)
        expected = len(head) + 8 * self.role.dealt_size(part) + TAG_BYTES
        if size != expected:
            raise MessageError(
                f"UnionDeal: {size} sealed bytes from client {message.sender}, part {part} has {expected}"
            )
        payload = self._channels[message.sender].open(
            UnionDeal.purpose, round_=message.round, part=part, sealed=message.sealed.payload
        )
        if payload[: len(head)] != head:
            raise self._differs(message.sender)
        values = np.frombuffer(payload, dtype="<u8", offset=len(head)).astype(np.uint64, copy=False)
        self.role.take(message.sender, part, values)
        self._taken[message.sender] += 1
        return self._open(part)

    def _on_continue(self, message: UnionContinue) -> list[Message]:
        if (message.round, message.part) != (self.role.stage, self._dealt) or self._dealt >= self.role.parts:
            raise MessageError(
                f"UnionContinue: part {message.part} of stage {message.round}, part {self._dealt} of "
                f"{self.role.parts} of stage {self.role.stage} is next"
            )
        return self._deal()

    def _on_found(self, message: UnionFound) -> list[Message]:
        self._check_turn(message)
        self.role.take_found(message.found)
        return self._go_on(message)

    def _on_verdict(self, message: UnionVerdict) -> list[Message]:
        """Keep the server's verdict of the check until all clients' shares confirm it."""
        self._check_turn(message)
        if not self.role.checking or self._verdict is not None:
            raise MessageError(f"UnionVerdict: of stage {message.round}, which has no check or its verdict")
        self._verdict = message
        return self._settle()

    def _on_check(self, message: UnionCheck) -> list[Message]:
        """Take another client's share of what the check opens. End the check if nothing is missing."""
        sender, sealed = message.sender, message.sealed.payload
        if sender not in self._channels or sender in self._checks:
            raise MessageError(f"UnionCheck: from client {sender}, itself or a second time")
        if message.round != self.role.stage or not self.role.checking:
            raise MessageError(f"UnionCheck: of stage {message.round} from client {sender}, out of turn")
        size = 8 * self.role.opened_size(0)
        if len(sealed) != size + TAG_BYTES:
            raise MessageError(
                f"UnionCheck: {len(sealed)} sealed bytes from client {sender}, {size + TAG_BYTES} are needed"
            )
        payload = self._channels[sender].open(UnionCheck.purpose, round_=message.round, part=0, sealed=sealed)
        values = np.frombuffer(payload, dtype="<u8").astype(np.uint64, copy=False)
        check_elements(values, values.size, sender)
        self._checks[sender] = values
        return self._settle()

    def _check_turn(self, message: UnionFound | UnionVerdict) -> None:
        if message.round != self.role.stage or not self.role.settled:
            raise MessageError(f"{type(message).__name__}: of stage {message.round}, out of turn")

    def _settle(self) -> list[Message]:
        """End the check when the server's verdict and all clients' shares are here."""
        message = self._verdict
        if message is None or len(self._checks) <= len(self._channels):
            return []
        if message.unique != self.role.unique(self._checks):
            raise CheatError(
                f"client {self._number}: the server reports another result of the union's check than the "
                "clients' shares give"
            )
        self._verdict, self._checks = None, {}
        self.role.take_verdict(message.unique)
        return self._go_on(message)

    def _go_on(self, message: UnionFound | UnionVerdict) -> list[Message]:
        self._said = hashlib.sha256(b"secfc union 1" + self._said + _told(message)).digest()
        return [] if self.role.finished else self.begin()

    def _deal(self) -> list[Message]:
        part, stage = self._dealt, self.role.stage
        shares = self.role.deal(part).astype("<u8", copy=False)
        self._dealt += 1
        messages: list[Message] = []
        for j, channel in self._channels.items():
            payload = self._head(part) + shares[j - 1].tobytes()
            sealed = channel.seal(UnionDeal.purpose, round_=stage, part=part, payload=payload)
            messages.append(
                UnionDeal(
                    run=self._run, sender=self._number, recipient=j, round=stage, part=part, sealed=sealed
                )
            )
        return messages + self._open(part)

    def _head(self, part: int) -> bytes:
        """The prefix of a stage's first part: in stage 1 a hash of the ID key, later a digest of that hash
        and of what the server said since. Clients compare it before they open anything of the stage.
        """
        return b"" if part else self._said

    def _differs(self, other: int) -> UnionError | CheatError:
        if self.role.stage == 1:
            text = f"client {self._number}: client {other} hashes its IDs with another id_key"
            return UnionError(text, code=Code.OTHER_ID_KEY, clients=[other])
        return CheatError(
            f"client {self._number}: the server sent client {other} other values of the union, in a "
            f"stage before stage {self.role.stage}",
            clients=[other],
        )

    def _open(self, part: int) -> list[Message]:
        """Its share of what a part opens, once all clients dealt the part. In a check, clients get it too."""
        if not self.role.complete(part):
            return []
        stage, values = self.role.stage, self.role.opening(part)
        messages: list[Message] = [
            UnionOpening(run=self._run, sender=self._number, round=stage, part=part, values=values)
        ]
        if not self.role.checking:
            return messages
        self._checks[self._number] = values
        payload = values.astype("<u8").tobytes()
        for j, channel in self._channels.items():
            sealed = channel.seal(UnionCheck.purpose, round_=stage, part=part, payload=payload)
            messages.append(
                UnionCheck(run=self._run, sender=self._number, recipient=j, round=stage, sealed=sealed)
            )
        return messages


def _told(message: UnionFound | UnionVerdict) -> bytes:
    """An injective encoding of what the server said at the end of a stage."""
    if isinstance(message, UnionVerdict):
        return b"verdict" + bytes([message.unique])
    found = message.found
    counts, poles = found.counts.astype("<i8").tobytes(), found.poles.astype("<u8").tobytes()
    return b"found" + _FOUND.pack(found.counts.size) + counts + poles


def check_ids(ids: RowIds | None, *, name: str, m: int, job: Job) -> None:
    """Raise ParameterError or DataError unless a client of m rows has the IDs that the job needs."""
    if (ids is not None) != isinstance(job.rows, Union):
        raise ParameterError(f"{name}: IDs are needed exactly if the job has ids_cap")
    if ids is None or not isinstance(job.rows, Union):
        return
    if len(ids) != m:
        raise DataError(f"{name}: {len(ids)} IDs for {m} rows", code=Code.BAD_ID)
    if m > job.rows.cap:
        raise DataError(f"{name}: more rows than ids_cap, {job.rows.cap}", code=Code.UNION)
