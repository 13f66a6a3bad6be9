"""Deposits: an owner of rows deals them to a committee once, and is not needed during the run.

::

    call      = SHA-256("secfc deposits 1" | run (16) | agreement (32) | most rows of each owner (4 each))
    head      = owner (4) | rows (4) | X25519 key (32) | SHA-256 of the sealed piece of each member (32 each)
    proof     = segments and masks of random combinations, packed residues (P, ell + t, COVERS)
    deposit   = head | proof | signature of "secfc deposit 1" | call | head | proof (64) | sealed piece
    piece     = packed residues modulo each prime: shares (width, rows), and those of COVERS covers
    labels    = 16 random bytes | sealed shares of the owner's labels, packed residues (k, rows)

Head, proof and signature are the same for all members. Each member has its own piece, sealed by a `Channel`
between the owner's fresh key and the member's identity. The coefficients of the proof (`secfc.sharing.proof`)
follow from the call and the head, which fix every piece. So each member can check alone that its shares and
covers lie on the same polynomials as those of all others.
"""

import hashlib
import secrets
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from secfc.crypto.channel import TAG_BYTES, Channel, Channels
from secfc.crypto.handshake import Session
from secfc.crypto.hash_tree import DIGEST_BYTES
from secfc.crypto.identity import KEY_BYTES, SIGNATURE_BYTES, Identity, check_signature, x25519_key
from secfc.crypto.randomness import MaskSource
from secfc.errors import MessageError, ParameterError, SealError, SecFCError, TooManyFaultsError
from secfc.field.array_types import Floats, Labels
from secfc.field.packing import (
    BYTES_PER_RESIDUE,
    PackedResidues,
    from_bytes,
    pack,
    packed_bytes,
    size_of,
    to_bytes,
)
from secfc.field.primes import primes_of
from secfc.kernels import Kernels
from secfc.kmeans.sets import labels_of_bits
from secfc.protocol.job.cases import Deposited
from secfc.protocol.job.job import Job
from secfc.sharing.codewords import Codewords
from secfc.sharing.proof import COVERS, agrees, coefficients, sums, with_covers
from secfc.sharing.row_checks import check_rows

_CALL, _DEPOSIT, _CHECK = b"secfc deposits 1", b"secfc deposit 1", b"secfc deposit check 1"
_PAIR = b"secfc deposit transcript 1"
_HEAD = struct.Struct(f"<II{KEY_BYTES}s")
_PIECE, _LABELS = b"deposit", b"labels"  # purposes of a channel
_OWNER = 0  # number of every owner in its channels; their transcript has the owner's own number
_FRESH = 16
"""Random bytes in the purpose of sealed labels. So a member that uses the same deposits in another run seals
with another key."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """What owners deposit for: the job of a committee, before it has owners, and the session of its members.

    `keys` are the owners' Ed25519 public keys in order, `most_rows` the most rows that each may deposit. A
    list of keys may be filled in later: to take or make a deposit only its owner's key is needed.
    """

    job: Job
    session: Session
    keys: Sequence[bytes] = field(repr=False)
    most_rows: tuple[int, ...] = field(repr=False)

    @cached_property
    def digest(self) -> bytes:
        """Digest of everything that a deposit is bound to, 32 bytes."""
        said = _CALL + self.session.run + self.session.agreement
        return hashlib.sha256(said + np.array(self.most_rows, dtype="<u4").tobytes()).digest()

    @cached_property
    def primes(self) -> tuple[int, ...]:
        """Primes of the shares: enough for the most rows that may be deposited."""
        return primes_of(self.job.residues(sum(self.most_rows)))

    @cached_property
    def code(self) -> Codewords:
        """Of shares of rows. Those of labels are modulo the first prime."""
        return Codewords(n=self.job.n, t=self.job.t, ell=self.job.ell, primes=self.primes)

    @cached_property
    def members(self) -> list[bytes]:
        """The X25519 key of each member."""
        return [x25519_key(key) for key in self.session.roster.keys[: self.job.n]]

    @cached_property
    def points(self) -> list[X25519PublicKey]:
        """The members' keys as key objects."""
        return [X25519PublicKey.from_public_bytes(key) for key in self.members]

    @cached_property
    def head_bytes(self) -> int:
        """Bytes of a head."""
        return _HEAD.size + DIGEST_BYTES * self.job.n

    @cached_property
    def signed_bytes(self) -> int:
        """Bytes of the part that is the same for all members."""
        return self.head_bytes + size_of(self.code.narrow * COVERS, self.primes) + SIGNATURE_BYTES

    def piece_bytes(self, rows: int) -> int:
        """Bytes of a sealed piece."""
        return size_of(self.job.width * rows + COVERS, self.primes) + TAG_BYTES

    def deposit_bytes(self, rows: int) -> int:
        """Bytes of a deposit of `rows` rows at one member."""
        return self.signed_bytes + self.piece_bytes(rows)

    def said(self, deposit: bytes) -> bytes:
        """Digest of what all members get alike of a deposit."""
        return hashlib.sha256(deposit[: self.signed_bytes]).digest()

    def has_piece(self, deposit: bytes, member: int) -> bool:
        """Whether the sealed piece is the one whose digest the owner stated for this member."""
        at = _HEAD.size + DIGEST_BYTES * (member - 1)
        stated = deposit[: self.head_bytes][at : at + DIGEST_BYTES]
        return hashlib.sha256(deposit[self.signed_bytes :]).digest() == stated

    def check_signed(self, deposit: bytes, key: bytes) -> None:
        """Raise SealError unless the owner with this key signed a deposit, of any member, for this call."""
        signed = self.signed_bytes - SIGNATURE_BYTES
        statement = _DEPOSIT + self.digest + deposit[:signed]
        try:
            check_signature(key, deposit[signed : self.signed_bytes], statement)
        except (InvalidSignature, ValueError):
            owner = int.from_bytes(deposit[:4], "little")
            raise SealError(f"deposit of owner {owner}: not signed by it for this call") from None

    def coefficients(self, head: bytes, rows: int) -> Floats:
        """The coefficients of a deposit's proof."""
        seed = hashlib.sha256(_CHECK + self.digest + head).digest()
        return coefficients(seed, self.job.width * rows, self.code.moduli)

    def channel(self, secret: bytes, *, owner: int, ephemeral: bytes, member: int, me: int) -> Channel:
        """The channel of an owner and a member that share `secret`. `me` is `member`, or 0 at the owner."""
        said = _PAIR + self.digest + _HEAD.pack(owner, member, ephemeral) + self.members[member - 1]
        transcript = hashlib.sha256(said).digest()
        peer = _OWNER + member - me
        return Channels(secrets={peer: secret}, transcript=transcript, me=me)[peer]


def label_shares_of(job: Job) -> int:
    """Shares of its labels that an owner needs: all of t, or of `max_liars`, wrong ones are noticed."""
    return job.ell + job.t + max(job.t, job.max_liars)


class Owner:
    """Deals its rows to a committee, and opens the labels that the members seal to it.

    `rows`, shape (m, d), m at least 1, are dropped once they are dealt. DataError for unusable rows,
    ParameterError if there is no row or the call has another key for this owner.
    """

    def __init__(
        self, call: Call, *, number: int, identity: Identity, rows: Floats, kernels: Kernels
    ) -> None:
        job = call.job
        check_rows(rows, name=f"owner {number}", d=job.d, bound=job.bound, step=job.step)
        if not rows.shape[0] or call.keys[number - 1] != identity.public:
            raise ParameterError(f"owner {number}: a row, and the key that the call has, are needed")
        self._call, self._number, self._kernels = call, number, kernels
        self._rows, self._count, self._identity = rows, rows.shape[0], identity
        self._key = X25519PrivateKey.generate()
        self._ephemeral = self._key.public_key().public_bytes_raw()

    @classmethod
    def of_receipt(cls, call: Call, *, number: int, count: int, receipt: bytes) -> Self:
        """The owner that dealt `count` rows and kept a `receipt`. It can open labels, but not deal again."""
        found = cls.__new__(cls)
        found._call, found._number, found._count = call, number, count
        found._rows = np.empty((0, call.job.d))
        found._key = X25519PrivateKey.from_private_bytes(receipt)
        found._ephemeral = found._key.public_key().public_bytes_raw()
        return found

    @property
    def receipt(self) -> bytes:
        """The private key of this deposit, 32 bytes, which the owner keeps until it opens its labels."""
        return self._key.private_bytes_raw()

    def __repr__(self) -> str:
        return f"Owner(number={self._number})"

    def deposit(self) -> list[bytes]:
        """A deposit for each member. SecFCError the second time: the same key would seal other shares."""
        call, job, number = self._call, self._call.job, self._number
        if not self._rows.shape[0]:
            raise SecFCError(f"owner {number}: it has dealt its rows")
        code = call.code
        values = with_covers(code, code.segments(self._rows, job.unit), MaskSource())
        self._rows = self._rows[:0].copy()
        dealt = enumerate(code.deal(values, self._kernels), 1)
        pieces = [self._channel(j).seal(_PIECE, part=0, payload=own.data).payload for j, own in dealt]
        digests = (hashlib.sha256(piece).digest() for piece in pieces)
        head = b"".join((_HEAD.pack(number, self._count, self._ephemeral), *digests))
        proof = sums(values, call.coefficients(head, self._count), code.moduli)
        said = head + to_bytes(proof, code.primes)
        said += self._identity.sign(_DEPOSIT + call.digest + said)
        return [b"".join((said, piece)) for piece in pieces]

    def open(self, sealed: Mapping[int, bytes], run: bytes = b"") -> Labels:
        """The labels of its rows, from what members sealed, by member.

        What its member did not seal to this owner and run, or is no share, does not count. With more shares
        than `label_shares_of` says, as many wrong ones are corrected, up to half of those beyond ell + t.
        TooManyFaultsError for too few shares, or more wrong ones. -1 for a row of which they are of no label.
        """
        job, shares, size = self._call.job, dict[int, Floats](), self._call.job.k * self._count
        code = self._call.code.first_prime()
        for member, copy in sealed.items():
            try:
                fresh, ciphertext = copy[:_FRESH], copy[_FRESH:]
                opened = self._channel(member).open(_labels(fresh, run), part=0, sealed=ciphertext)
                if len(opened) == size_of(size, code.primes):
                    shares[member] = from_bytes(opened, (size,), code.primes)
            except (SealError, MessageError):
                continue
        needed = label_shares_of(job)
        if len(shares) < needed:
            text = f"{len(shares)} shares of labels, {needed} are needed"
            raise TooManyFaultsError(f"owner {self._number}: {text}")
        most = min(len(shares) - needed, (len(shares) - code.narrow) // 2)
        wrong = code.wrong(shares, MaskSource(), wide=False, most=most)
        if wrong is None:
            text = f"more than {most} of {len(shares)} shares of labels are wrong"
            raise TooManyFaultsError(f"owner {self._number}: {text}")
        right = {member: share for member, share in shares.items() if member not in wrong}
        return labels_of_bits(code.open(right, wide=False)[0].reshape(job.ell, job.k, self._count))

    def _channel(self, member: int) -> Channel:
        return self._call.channel(
            self._key.exchange(self._call.points[member - 1]),
            owner=self._number,
            ephemeral=self._ephemeral,
            member=member,
            me=_OWNER,
        )


@dataclass(kw_only=True, eq=False, slots=True)
class _Opened:
    """A deposit that a member has opened."""

    rows: int
    said: bytes = field(repr=False)  # digest of the part that is the same for all members
    channel: Channel
    piece: bytes = field(repr=False)


class Intake:
    """A member's deposits. Each is checked when it arrives.

    What an owner has signed and what is wrong nevertheless counts against it: `refused` has the reason, and
    the owner is left out as a whole. What it has not signed is refused and forgotten, since anybody can send
    it.

    `known`, rows and digest by owner, is what this member has checked before: the digest fixes every byte of
    such a deposit, also of the piece. So it is opened, and signature and proof are not checked again.
    """

    def __init__(
        self,
        call: Call,
        *,
        number: int,
        identity: Identity,
        kernels: Kernels,
        known: Mapping[int, tuple[int, bytes]] | None = None,
    ) -> None:
        self._call, self._number, self._identity, self._kernels = call, number, identity, kernels
        self._known = known or {}
        self._held: dict[int, _Opened] = {}
        self._closed = False
        self.refused: dict[int, str] = {}
        self._sealed: bytes | None = None

    def __repr__(self) -> str:
        return f"Intake(number={self._number}, deposits={len(self._held)})"

    def knows(self, deposit: bytes) -> bool:
        """Whether this member has checked this very deposit before."""
        owner = int.from_bytes(deposit[:4], "little")
        return owner in self._known and self._known[owner][1] == self._call.said(deposit)

    def take(self, deposit: bytes) -> None:
        """Take a deposit, the first of its owner. MessageError if it is refused, SealError if not signed."""
        call, head = self._call, deposit[: self._call.head_bytes]
        if self._closed:
            raise MessageError("deposit: after the job said whose deposits count")
        if len(deposit) < call.signed_bytes:
            raise MessageError(f"deposit: {len(deposit)} bytes, the shortest has {call.deposit_bytes(1)}")
        owner, rows, ephemeral = _HEAD.unpack(head[: _HEAD.size])
        if not 1 <= owner <= len(call.keys):
            raise MessageError(f"deposit: of owner {owner}, there are {len(call.keys)}")
        if not 1 <= rows <= call.most_rows[owner - 1] or len(deposit) != call.deposit_bytes(rows):
            raise MessageError(f"deposit of owner {owner}: {len(deposit)} bytes for {rows} rows")
        known = self.knows(deposit)
        if not known:
            call.check_signed(deposit, call.keys[owner - 1])
        sealed = deposit[call.signed_bytes :]
        if not call.has_piece(deposit, self._number):
            raise SealError(f"deposit of owner {owner}: not the piece that it signed for this member")
        if owner in self.refused or owner in self._held:
            raise MessageError(f"deposit of owner {owner}: a second one")
        try:
            secret = self._identity.secret_with(X25519PublicKey.from_public_bytes(ephemeral))
            channel = call.channel(
                secret, owner=owner, ephemeral=ephemeral, member=self._number, me=self._number
            )
            piece = bytes(channel.open(_PIECE, part=0, sealed=sealed))
        except (SealError, ValueError):
            raise self._refuse(owner, "its piece cannot be opened") from None
        if not known and not self._consistent(deposit, rows, piece):
            raise self._refuse(owner, "its shares are not consistent")
        self._held[owner] = _Opened(rows=rows, said=call.said(deposit), channel=channel, piece=piece)

    def _refuse(self, owner: int, reason: str) -> MessageError:
        self.refused[owner] = reason
        return MessageError(f"deposit of owner {owner}: {reason}")

    def _consistent(self, deposit: bytes, rows: int, piece: bytes) -> bool:
        """Whether all residues are below their primes, and the shares agree with the proof."""
        call, code = self._call, self._call.code
        try:
            shares = from_bytes(piece, (call.job.width * rows + COVERS,), code.primes)
            said = deposit[call.head_bytes : call.signed_bytes - SIGNATURE_BYTES]
            proof = from_bytes(said, (code.narrow, COVERS), code.primes)
        except MessageError:
            return False
        factors = call.coefficients(deposit[: call.head_bytes], rows)
        return agrees(code, self._number, shares, proof, factors)

    @property
    def held(self) -> dict[int, tuple[int, bytes]]:
        """Rows, and digest of the part that is the same for all members, by owner with a right deposit."""
        return {owner: (opened.rows, opened.said) for owner, opened in self._held.items()}

    def keep(self, named: Deposited) -> None:
        """Keep only the deposits of a job. ParameterError unless they are those that the job names."""
        held, owners = self.held, named.included
        found = {owner: held.get(owner, (0, b"")) for owner in owners}
        if {owner: rows for owner, (rows, _) in found.items()} != owners:
            raise ParameterError(f"member {self._number}: it holds other deposits than the job says")
        if digest_of({owner: said for owner, (_, said) in found.items()}) != named.digest:
            raise ParameterError(f"member {self._number}: it holds other deposits than the other members")
        self._held = {owner: self._held[owner] for owner in found}
        self._closed = True

    def store(self, keep: Callable[[PackedResidues, int], None], primes: int, start: int = 0) -> int:
        """Give the shares, modulo the first `primes`, of rows from `start` on, by owner, to `keep`.

        It is told the first row. Returns the row after the last one. SecFCError the second time.
        """
        if any(not opened.piece for opened in self._held.values()):
            raise SecFCError(f"member {self._number}: its deposits are in a run already")
        width = self._call.job.width
        for opened in self._held.values():
            every = np.frombuffer(opened.piece, dtype=np.uint8).reshape(len(self._call.primes), -1)
            shares = every[:primes, : BYTES_PER_RESIDUE * width * opened.rows]
            keep(PackedResidues(shape=(primes, width, opened.rows), payload=shares.tobytes()), start)
            start += opened.rows
            opened.piece = b""
        return start

    def seal_labels(self, shares: Floats, run: bytes = b"") -> bytes:
        """Shares of the labels of each owner's rows, sealed to that owner, concatenated.

        `shares`, shape (k, m), are of one-hot labels of all rows, owner by owner, modulo the first prime.
        They are sealed only once. With `run` they can be opened in this run only.
        """
        if self._sealed is None:
            parts: list[bytes | bytearray | memoryview] = []
            start = 0
            for opened in self._held.values():
                stop = start + opened.rows
                octets = pack(shares[:, start:stop], self._call.primes[0]).tobytes()
                fresh = secrets.token_bytes(_FRESH)
                sealed = opened.channel.seal(_labels(fresh, run), part=0, payload=octets)
                parts += fresh, sealed.payload
                start = stop
            self._sealed = b"".join(parts)
        return self._sealed


def _labels(fresh: bytes, run: bytes) -> bytes:
    """The printable purpose of labels of a run that are sealed with these random bytes."""
    return _LABELS + (fresh + run).hex().encode()


def label_bytes(rows: int, k: int) -> int:
    """Bytes of the sealed shares of labels from one member for an owner of `rows` rows."""
    return _FRESH + packed_bytes((k, rows, 1)) + TAG_BYTES


def sealed_labels_of(owners: Sequence[int], sealed: bytes, k: int) -> dict[int, bytes]:
    """Split the result of `Intake.seal_labels` by owner. Owners without rows have none."""
    found, start = {}, 0
    for owner, rows in enumerate(owners, 1):
        if rows:
            stop = start + label_bytes(rows, k)
            found[owner], start = sealed[start:stop], stop
    return found


def digest_of(said: Mapping[int, bytes]) -> str:
    """Digest of the digests `said` of the owners' deposits."""
    return hashlib.sha256(_CALL + b"".join(said[owner] for owner in sorted(said))).hexdigest()
