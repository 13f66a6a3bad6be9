"""A party's run of its program, from messages to messages.

A message has letters, one after another: several places and bytes. A letter is its step (4 bytes), the length
of its tag (4), the number of its bytes (8), the digest of what its sender saw opened (32), the tag, and the
bytes. Tag and bytes are filled up with zeros to a multiple of 8, so that words among the bytes are aligned.
A letter of less than a quarter of its message is copied, so that it does not keep all of it in memory.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import Any

from secfc.crypto.channel import Channels
from secfc.crypto.hash_tree import DIGEST_BYTES
from secfc.crypto.randomness import MaskSource
from secfc.errors import CheatError, MessageError
from secfc.field.array_types import Data
from secfc.field.primes import primes_of
from secfc.kernels import Choose
from secfc.kernels.gates import WORD_BYTES
from secfc.protocol.job.job import Job
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.messages import Message, Step, StepNotice, StepReport
from secfc.protocol.messages.accepted import RepeatedError, most_held_bytes
from secfc.protocol.parties.inbox import Inbox, Place
from secfc.protocol.parties.party import COORDINATOR, Party, Roles
from secfc.protocol.program.whole_run import Brought, Found, Watching, whole_run
from secfc.sharing.codewords import Codewords

_HEAD = struct.Struct("<IIQ32s")
_MOST_TAG = 24
"""Bytes of a tag: the longest that a party sends has half as many."""

Letter = tuple[Place, Data]

LOST = "lost"
"""The tag of a notice of a party for which no other is to wait."""

_PARTY = 2
"""Bytes of the number of such a party."""


class Stepping:
    """Runs the program of a client, a helper or the coordinator until it waits or has ended.

    `channels` are to all other parties but the coordinator. The coordinator has none: nothing that it takes
    or tells is sealed.
    """

    def __init__(
        self,
        job: Job,
        planned: Layout,
        number: int,
        brought: Brought,
        watching: Watching,
        *,
        masks: MaskSource,
        kernels: Choose,
        transcript: bytes,
        channels: Channels | None = None,
    ) -> None:
        self.me = _party(job, planned, number, masks, kernels, transcript, channels)
        self._program = whole_run(self.me, job, planned, brought, watching)
        self._run, self._channels = brought.run, channels
        self._sent = dict[int, int]()  # messages to each party
        self.ended = False
        self.result: Found | None = None

    def __repr__(self) -> str:
        return f"Stepping({self.me!r})"

    @property
    def is_stuck(self) -> bool:
        """Whether too few shares that it waits for can still come."""
        return not self.ended and not all(map(self.me.inbox.can_have, self.me.waits))

    def take(self, message: Step | StepReport | StepNotice) -> list[Place]:
        """Keep letters until their step. Returns their places.

        MessageError, with nothing changed, for one that cannot be used.
        """
        sender = message.sender
        if isinstance(message, Step):
            assert self._channels is not None
            if sender not in self._channels:
                raise MessageError(f"Step: party {sender} takes no part")
            channel = self._channels[sender]
            data: Data = channel.open(message.purpose, part=message.place, sealed=message.sealed.payload)
        else:
            data = message.data
        letters, inbox, lost = list(letters_of(data)), self.me.inbox, set[int]()
        if not letters:
            raise MessageError(f"Step: party {sender} sent no letter")
        if sender == COORDINATOR:
            lost = {self._lost_party(told) for place, told in letters if place.tag == LOST}
            letters = [one for one in letters if one[0].tag != LOST]
        new = [place for place, _ in letters if not inbox.has_had(sender, place)]
        again = isinstance(message, Step) and inbox.has_come(sender, message.place)
        if again or (len(new) < len(letters) and all(map(inbox.is_over, new))):
            raise RepeatedError(f"Step: party {sender} sent what it has sent before")
        if len({(place.step, place.tag) for place, _ in letters}) < len(letters):
            raise MessageError(f"Step: party {sender} sent one letter twice")
        inbox.put_all(sender, letters)
        inbox.lost |= lost
        if isinstance(message, Step):
            inbox.came(sender, message.place)
        return [place for place, _ in letters]

    def _lost_party(self, told: Data) -> int:
        party = int.from_bytes(told)
        if len(told) != _PARTY or party == COORDINATOR or party not in self.me.roles.everybody:
            raise MessageError("Step: a notice of a lost party names none")
        return party

    def go_on(self) -> list[Message]:
        """Run on as far as possible, and return what is to be sent."""
        if self.ended:
            return []
        try:
            next(self._program)
        except StopIteration as end:
            self.ended, self.result = True, end.value
        except MessageError as error:  # of a message that was taken before, perhaps not of the last one
            raise CheatError(str(error), code=error.code, clients=error.clients) from None
        outbox = dict[int, list[Letter]]()
        for recipient, place, data in self.me.outbox:
            outbox.setdefault(recipient, []).append((place, data))
        self.me.outbox.clear()
        # The coordinator's comes last: when it is there, what others are sent is on the way.
        recipients = sorted(outbox, key=lambda recipient: recipient == COORDINATOR)
        words = sum(len(data) for letters in outbox.values() for _, data in letters) // WORD_BYTES

        def made(recipient: int) -> Message | None:
            return self._message(recipient, outbox[recipient])

        messages = self.me.kernels.threads.each(made, recipients, size=words)
        return [one for one in messages if one is not None]

    def lose(self, client: int) -> list[Message]:
        """At the coordinator: wait no longer for a client, tell the others, and run on."""
        me, place = self.me, Place(self.me.step, LOST, bytes(DIGEST_BYTES))
        me.inbox.lost.add(client)
        others = [j for j in me.roles.everybody if j not in (COORDINATOR, client)]
        me.outbox += [(j, place, client.to_bytes(_PARTY)) for j in others]
        return self.go_on()

    def _message(self, recipient: int, letters: list[Letter]) -> Message | None:
        me = self.me
        common: dict[str, Any] = {"run": self._run, "round": me.round}
        if recipient == COORDINATOR:
            return StepReport(**common, sender=me.number, data=packed(letters))
        if me.number == COORDINATOR:
            return StepNotice(**common, recipient=recipient, data=packed(letters))
        assert self._channels is not None
        if recipient not in self._channels:
            return None  # it did not come
        place = self._sent.get(recipient, 0)
        self._sent[recipient] = place + 1
        sealed = self._channels[recipient].seal_parts(Step.purpose, part=place, parts=parts_of(letters))
        return Step(**common, sender=me.number, recipient=recipient, place=place, sealed=sealed)


def _party(
    job: Job,
    planned: Layout,
    number: int,
    masks: MaskSource,
    kernels: Choose,
    transcript: bytes,
    channels: Channels | None,
) -> Party:
    """A party before its first step. With disclosure "coded" the coordinator does what comparers do."""
    dealer, first, second = job.comparers or (COORDINATOR,) * 3
    roles = Roles(n=job.n, dealer=dealer, first=first, second=second)
    secrets = {}
    if channels is not None:  # what it shares with itself, or with who did not come, nobody else knows
        for j in roles.everybody:
            secrets[j] = channels[j].mask_key(transcript) if j in channels else masks.octets(32)
    may_lie = frozenset(roles.holders) - {*roles.comparers} if job.max_liars else frozenset[int]()
    primes = primes_of(job.residues(planned.weight))
    most = most_held_bytes(job, planned.m, len(primes))
    return Party(
        number=number,
        roles=roles,
        code=Codewords(n=job.n, t=job.t, ell=job.ell, primes=primes),
        kernels=kernels(planned.run_residues(job)),
        masks=masks,
        transcript=transcript,
        secrets=secrets,
        inbox=Inbox(frozenset(roles.everybody), may_lie, most=most),
        max_liars=job.max_liars,
    )


def parts_of(letters: Sequence[Letter]) -> list[Data]:
    """The bytes of letters, in parts that follow one another."""
    parts: list[Data] = []
    for place, data in letters:
        tag = place.tag.encode()
        parts += [_HEAD.pack(place.step, len(tag), len(data), place.seen) + tag + _filling(len(tag)), data]
        if len(data) % 8:
            parts.append(_filling(len(data)))
    return parts


def packed(letters: Sequence[Letter]) -> bytes:
    """The bytes of letters."""
    return b"".join(parts_of(letters))


def letters_of(data: Data) -> Iterator[Letter]:
    """The letters of these bytes. MessageError for bytes that are none."""
    view, at = memoryview(data), 0
    while at < len(view):
        start = at + _HEAD.size
        if start > len(view):
            raise MessageError(f"Step: {len(view) - at} bytes are no letter")
        step, length, size, seen = _HEAD.unpack_from(view, at)
        begin = start + length + -length % 8
        end = begin + size
        at = end + -size % 8
        tag = bytes(view[start : start + length])
        if at > len(view) or length > _MOST_TAG or not tag.isascii():
            raise MessageError(f"Step: a letter of step {step} is cut, or its tag is too long or no text")
        if any(view[start + length : begin]) or any(view[end:at]):
            raise MessageError(f"Step: a letter of step {step} is not filled up with zeros")
        letter = view[begin:end]
        yield Place(step, tag.decode(), seen), letter if 4 * size >= len(view) else bytes(letter)


def _filling(size: int) -> bytes:
    return bytes(-size % 8)
