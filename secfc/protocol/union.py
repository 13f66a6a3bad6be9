"""The phase *union* between messages and the roles of `secfc.psu`: what arrives when, sealed and in parts."""

import hashlib
import struct
from contextlib import suppress

import numpy as np

from secfc.codes import Code
from secfc.errors import CheatError, DataError, MessageError, ParameterError, UnionError
from secfc.params import Job
from secfc.protocol.bounds import MOST_DEALT_BYTES
from secfc.protocol.messages import (
    SERVER,
    Message,
    UnionCheck,
    UnionContinue,
    UnionDeal,
    UnionFound,
    UnionOpening,
    UnionVerdict,
)
from secfc.psu.plan import UnionPlan
from secfc.psu.prime import Elements
from secfc.psu.roles import UnionClient, UnionServer, check_elements
from secfc.psu.tokens import RowIds
from secfc.randomness import MaskSource
from secfc.row_layout import WINDOW
from secfc.sealing.channel import TAG_BYTES, Channel

_FOUND = struct.Struct("<I")  # bins


class EarlyDeals:
    """Parts that overtook what their stage begins with, at most `WINDOW` from each client."""

    def __init__(self) -> None:
        self._held: list[UnionDeal] = []

    def hold(self, message: UnionDeal, *, me: int, stage: int) -> None:
        """Keep a part that cannot be opened yet.

        Raises
        ------
        MessageError
            It is not the sender's next one, or too large.
        """
        if message.sender == me:
            raise MessageError(f"UnionDeal: from client {me} itself")
        known = sum(held.sender == message.sender for held in self._held)
        if message.round != stage or message.part != known or known == WINDOW:
            raise MessageError(
                f"UnionDeal: part {message.part} of stage {message.round} from client {message.sender}, "
                "out of turn"
            )
        if len(message.sealed.payload) > MOST_DEALT_BYTES + TAG_BYTES:
            raise MessageError(
                f"UnionDeal: {len(message.sealed.payload)} sealed bytes from client {message.sender}, "
                f"no part has more than {MOST_DEALT_BYTES + TAG_BYTES}"
            )
        self._held.append(message)

    def release(self) -> list[UnionDeal]:
        """What was kept, which is forgotten."""
        held, self._held = self._held, []
        return held


class ClientUnion:
    """A client's part in the union.

    Parameters
    ----------
    number : int
    job : Job
    run : bytes
    ids : RowIds
        Its own.
    salt : bytes of length 16
        Of the hashes of this run (`secfc.psu.plan.salt_of`).
    masks : MaskSource
    channels : dict of int to Channel
        To every other client.
    early : EarlyDeals
        What arrived before the plan.
    """

    def __init__(
        self,
        *,
        number: int,
        job: Job,
        run: bytes,
        ids: RowIds,
        salt: bytes,
        masks: MaskSource,
        channels: dict[int, Channel],
        early: EarlyDeals,
    ) -> None:
        plan, tokens = UnionPlan.of(job, salt), ids.tokens(salt)
        self.role = UnionClient(number=number, plan=plan, tokens=tokens, masks=masks)
        self._run, self._number, self._channels, self._early = run, number, channels, early
        self._said = tokens.check  # what the others' first part of this stage must begin with
        self._checks: dict[int, Elements] = {}  # shares of what the check opens, by client
        self._verdict: UnionVerdict | None = None  # the server's, until all of them are here

    def begin(self) -> list[Message]:
        """Deal the first parts of a stage, and take those that others have dealt already."""
        self._dealt = 0
        self._taken = dict.fromkeys(self._channels, 0)
        messages: list[Message] = []
        for _ in range(min(WINDOW, self.role.parts)):
            messages += self._deal()
        for held in self._early.release():
            # What somebody else sent too early is no reason to refuse what begins a stage: it counts as not
            # sent.
            with suppress(MessageError):
                messages += self.on_deal(held)
        return messages

    def on_deal(self, message: UnionDeal) -> list[Message]:
        """Take what another client dealt, now or when its stage has begun.

        Raises
        ------
        UnionError
            The other client has another key.
        CheatError
            The server told the other client something else.
        """
        if message.sender == self._number:
            raise MessageError(f"UnionDeal: from client {message.sender} itself")
        if message.round == self.role.stage + 1:
            self._early.hold(message, me=self._number, stage=self.role.stage + 1)
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

    def on_continue(self, message: UnionContinue) -> list[Message]:
        """Deal another part."""
        if (message.round, message.part) != (self.role.stage, self._dealt) or self._dealt >= self.role.parts:
            raise MessageError(
                f"UnionContinue: part {message.part} of stage {message.round}, part {self._dealt} of "
                f"{self.role.parts} of stage {self.role.stage} is next"
            )
        return self._deal()

    def on_found(self, message: UnionFound) -> list[Message]:
        """Take what the server found in a table; the next stage begins.

        Raises
        ------
        UnionError
            The union cannot be made.
        """
        self._check_turn(message)
        self.role.take_found(message.found)
        return self._go_on(message)

    def on_verdict(self, message: UnionVerdict) -> list[Message]:
        """Take what the server says of the check, once all clients' shares of it say so too.

        Raises
        ------
        UnionError
            An ID is held twice.
        CheatError
            They say something else.
        """
        self._check_turn(message)
        if not self.role.checking or self._verdict is not None:
            raise MessageError(f"UnionVerdict: of stage {message.round}, which has no check or its verdict")
        self._verdict = message
        return self._settle()

    def on_check(self, message: UnionCheck) -> list[Message]:
        """Take another client's share of what the check opens, then as `on_verdict`."""
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
                f"client {self._number}: the server says of the union's check what the clients' shares do not"
            )
        self._verdict, self._checks = None, {}
        self.role.take_verdict(message.unique)
        return self._go_on(message)

    def _go_on(self, message: UnionFound | UnionVerdict) -> list[Message]:
        """Begin the next stage, if there is one."""
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
        """What comes before a stage's first shares: a hash of the ID key, later a digest of that and of what
        the server said since. It is compared before anything of the stage is opened.
        """
        return b"" if part else self._said

    def _differs(self, other: int) -> UnionError | CheatError:
        if self.role.stage == 1:
            text = f"client {self._number}: client {other} hashes its IDs with another id_key"
            return UnionError(text, code=Code.OTHER_ID_KEY, clients=[other])
        return CheatError(
            f"client {self._number}: the server told client {other} something else of the union, in a stage "
            f"before stage {self.role.stage}",
            clients=[other],
        )

    def _open(self, part: int) -> list[Message]:
        """Its share of what is opened of a part, once all clients have dealt it; of a check, for all."""
        if not self.role.complete(part):
            return []
        stage, values = self.role.stage, self.role.opening(part)
        messages: list[Message] = [
            UnionOpening(
                run=self._run, sender=self._number, recipient=SERVER, round=stage, part=part, values=values
            )
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
    """What the server said at the end of a stage, the same bytes for the same only; stages follow from it."""
    if isinstance(message, UnionVerdict):
        return b"verdict" + bytes([message.unique])
    found = message.found
    counts, poles = found.counts.astype("<i8").tobytes(), found.poles.astype("<u8").tobytes()
    return b"found" + _FOUND.pack(found.counts.size) + counts + poles


class ServerUnion:
    """The server's part in the union."""

    def __init__(self, *, job: Job, run: bytes, salt: bytes) -> None:
        self.role = UnionServer(UnionPlan.of(job, salt))
        self._run, self._n = run, job.n

    def on_opening(self, message: UnionOpening) -> list[Message]:
        """Take a client's share; the last one of a part asks for another part or ends the stage.

        Raises
        ------
        UnionError
            The union cannot be made, or an ID is held twice.
        """
        stage = self.role.stage
        if message.round != stage:
            raise MessageError(
                f"UnionOpening: of stage {message.round} from client {message.sender}, the union is in "
                f"stage {stage}"
            )
        opened = self.role.opened
        self.role.take(message.sender, message.part, message.values)
        if self.role.opened == opened:
            return []
        if not self.role.complete:
            following = opened + WINDOW
            return [
                UnionContinue(run=self._run, sender=SERVER, recipient=j, round=stage, part=following)
                for j in range(1, self._n + 1)
                if following < self.role.parts
            ]
        said = self.role.conclude()
        clients = range(1, self._n + 1)
        if isinstance(said, bool):
            return [
                UnionVerdict(run=self._run, sender=SERVER, recipient=j, round=stage, unique=said)
                for j in clients
            ]
        return [
            UnionFound(run=self._run, sender=SERVER, recipient=j, round=stage, found=said) for j in clients
        ]

    @property
    def awaited(self) -> tuple[int, ...]:
        """Clients whose share of the next part has not come, because of themselves or of others' deals."""
        return self.role.missing


def check_ids(ids: RowIds | None, *, name: str, m: int, job: Job) -> None:
    """Raise an error of ours unless a client of m rows has the IDs that the job asks for."""
    if (ids is None) != (job.ids_cap is None):
        raise ParameterError(f"{name}: IDs are needed exactly if the job has ids_cap")
    if ids is None or job.ids_cap is None:
        return
    if len(ids) != m:
        raise DataError(f"{name}: {len(ids)} IDs for {m} rows", code=Code.BAD_ID)
    if m > job.ids_cap:
        raise DataError(f"{name}: more rows than ids_cap, {job.ids_cap}", code=Code.UNION)
