"""Key agreement of the clients of a run: from signed introductions to a channel to each other client.

::

    said(j)      = client j (2) | its rows (4) | its smallest set (4)
                   | digests of its start labels and of its weights (32 each) | ephemeral key (32)
                   | commitment(j) to its value of a coin (32)
    statement(j) = "secfc introduction 1" | run (16) | agreement (32) | said(j)
    value(j)      = HKDF-SHA256(ephemeral private key of j, info = "secfc coin 1" | run (16))
    commitment(j) = SHA-256("secfc commitment 1" | run | j (2) | value(j))
    transcript   = SHA-256("secfc transcript 1" | run | agreement | said(j) of everyone who came, by number)

The server carries introductions and can only drop one. A statement has all that a client says about itself.
It is signed with the client's key that the roster pins. The transcript is part of every key derivation. So if
the server shows clients different introductions of anybody, they cannot open each other's sealed messages.

A coin is what the program makes of the values (`secfc.operations.beginning.coin`; Blum: *Coin flipping by
telephone*, 1983). The transcript fixes all commitments. One honest value makes the coin uniform. The party
that opens its value last can only refuse to open it. All three comparers must open theirs, so a refusal ends
the run and cannot lead to another coin.
"""

import hashlib
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from secfc.crypto.channel import Channels
from secfc.crypto.identity import KNOWN, Identity, Roster
from secfc.errors import MessageError, ParameterError, SealError, SecFCError
from secfc.field.array_types import Ints, Labels

_STATEMENT = b"secfc introduction 1"
_TRANSCRIPT = b"secfc transcript 1"
_PROBE = X25519PrivateKey.from_private_bytes(bytes(32))
"""A key that everybody knows. A point of small order shares no secret with it or with any other key."""
_CLIENT_ROWS = struct.Struct("<HII")


@dataclass(frozen=True, kw_only=True)
class Session:
    """Identifies a run, the same at every party.

    `run` is its random identifier, 16 bytes. `agreement` is a digest of all that the parties agreed on, 32
    bytes.
    """

    run: bytes = field(repr=False)
    agreement: bytes = field(repr=False)
    roster: Roster


@dataclass(frozen=True, kw_only=True)
class Introduction:
    """What a client says about itself, signed.

    Parameters
    ----------
    rows : int
    smallest : int
        The fewest rows in a set for which it consents to opening its mean, or to predicting with it.
    start, weights : bytes of length 32
        Digests of its start labels and of its weights (`digest_of`).
    ephemeral : bytes of length 32
        X25519 public key, used in this run only.
    commitment : bytes of length 32
        Commitment to its value of a coin.
    signature : bytes of length 64
        By its identity, over all of this, the session and its number.
    """

    rows: int
    smallest: int = field(repr=False)
    start: bytes = field(repr=False)
    weights: bytes = field(repr=False)
    ephemeral: bytes = field(repr=False)
    commitment: bytes = field(repr=False)
    signature: bytes = field(repr=False)

    @property
    def tells_of_rows(self) -> bool:
        """Whether it has rows, start labels or weights, which helpers have not."""
        return self.rows > 0 or {self.start, self.weights} != {digest_of(None)}

    def verify(self, session: Session, client: int) -> None:
        """Raise SealError unless this client signed it for this session and its key can share a secret."""
        statement = _statement(session, _said(client, self))
        session.roster.verify(client, self.signature, statement)
        try:
            check_ephemeral(self.ephemeral)
        except ValueError:
            raise SealError(f"client {client}: its ephemeral key shares no secret") from None


@lru_cache(maxsize=KNOWN)
def check_ephemeral(key: bytes) -> X25519PublicKey:
    """The public key of these bytes. ValueError for a point of small order.

    With such a point the secret would be zero for any other key (RFC 7748, 6.1).
    """
    public = X25519PublicKey.from_public_bytes(key)
    _PROBE.exchange(public)
    return public


def digest_of(values: Labels | Ints | None) -> bytes:
    """SHA-256 of start labels or weights, four bytes each, or of nothing if there are none.

    The agreed job decides whether there are any. Their number follows from the number of rows.
    """
    return hashlib.sha256(b"" if values is None else values.astype("<i4").tobytes()).digest()


def transcript_of(session: Session, present: Mapping[int, Introduction]) -> bytes:
    """Digest of the session and the introductions of all clients that came, in ascending order, 32 bytes.

    Every part has a fixed length and its client's number, so no two lists give the same bytes. It depends on
    a fresh key of every client. So no two runs have the same transcript if one client is honest.
    """
    digest = hashlib.sha256(_TRANSCRIPT + session.run + session.agreement)
    for client, one in present.items():
        digest.update(_said(client, one))
    return digest.digest()


def _said(client: int, one: Introduction) -> bytes:
    digests = one.start, one.weights, one.ephemeral, one.commitment
    return _CLIENT_ROWS.pack(client, one.rows, one.smallest) + b"".join(digests)


def _statement(session: Session, said: bytes) -> bytes:
    return _STATEMENT + session.run + session.agreement + said


class PairSecrets:
    """X25519 secrets of parties of one process: the first of a pair computes theirs, the second takes it.

    A secret is a function of the two public keys alone, and whoever takes one has the private key of either.
    It is kept from the first to the second; what is never taken goes with this object.
    """

    def __init__(self) -> None:
        self._here: set[bytes] = set()  # public keys of the parties
        self._waiting: dict[tuple[bytes, bytes], bytes] = {}  # by public keys: who computed it, who takes it

    def __repr__(self) -> str:
        return f"PairSecrets(waiting={len(self._waiting)})"

    def __reduce__(self) -> tuple[object, ...]:
        raise SecFCError("PairSecrets cannot be copied or pickled: they stay where they are")

    def join(self, own: bytes) -> None:
        """A party of this public key is in this process."""
        self._here.add(own)

    def of(self, private: X25519PrivateKey, own: bytes, other: bytes) -> bytes:
        """The secret of the private key of `own` and another public key, which was checked."""
        secret = self._waiting.pop((other, own), None)
        if secret is None:
            secret = private.exchange(check_ephemeral(other))
            if other in self._here:
                self._waiting[own, other] = secret
        return secret


class Handshake:
    """One client's side. It makes an ephemeral key for this run, which is dropped with this object.

    A key made elsewhere is used by one client in one run only: its channels' nonces repeat for the same
    messages alone. A client that is started again passes, as `ephemeral`, the private key of its log.
    Parties of one process share `secrets`. ParameterError where the roster has another key than the
    identity's.

    Attributes
    ----------
    introduction : Introduction
        To be sent.
    coin : bytes of length 32
        Its value of a coin, derived from the ephemeral key.
    """

    def __init__(
        self,
        *,
        session: Session,
        number: int,
        identity: Identity,
        rows: int,
        start: Labels | None,
        weights: Ints | None = None,
        smallest: int = 1,
        ephemeral: bytes | None = None,
        secrets: PairSecrets | None = None,
    ) -> None:
        if session.roster.keys[number - 1] != identity.public:
            raise ParameterError(f"client {number}: its identity is not the one pinned in the roster")
        self._session, self._number, self._secrets = session, number, secrets or PairSecrets()
        self._ephemeral = (
            X25519PrivateKey.generate()
            if ephemeral is None
            else X25519PrivateKey.from_private_bytes(ephemeral)
        )
        private, run = self._ephemeral.private_bytes_raw(), session.run
        self.coin = value_of(private, run=run)
        said = Introduction(
            rows=rows,
            smallest=smallest,
            start=digest_of(start),
            weights=digest_of(weights),
            ephemeral=self._ephemeral.public_key().public_bytes_raw(),
            commitment=commitment_to(self.coin, run=run, party=number),
            signature=b"",
        )
        signature = identity.sign(_statement(session, _said(number, said)))
        self.introduction = replace(said, signature=signature)
        self._secrets.join(said.ephemeral)

    def __repr__(self) -> str:
        return f"Handshake(client {self._number})"

    def __reduce__(self) -> tuple[object, ...]:
        raise SecFCError("a Handshake cannot be copied or pickled: its channels would repeat nonces")

    def channels(self, introductions: Sequence[Introduction | None]) -> Channels:
        """Channels to all other clients that introduced themselves.

        `introductions` has one entry per party, client 1 first, None for a party that did not come. All are
        verified, and the own one must be unchanged. `SealError` names the client whose introduction is not
        its own, was changed, or has an ephemeral key that shares no secret.
        """
        session = self._session
        if len(introductions) != len(session.roster.keys):
            raise MessageError(
                f"{len(introductions)} clients introduced, the roster has {len(session.roster.keys)}"
            )
        if introductions[self._number - 1] != self.introduction:
            raise SealError(f"client {self._number}: the server returned its own introduction with changes")
        transcript = verified_transcript(session, tuple(introductions))
        secrets = {
            client: self._secrets.of(self._ephemeral, self.introduction.ephemeral, one.ephemeral)
            for client, one in enumerate(introductions, 1)
            if one is not None and client != self._number
        }
        return Channels(secrets=secrets, transcript=transcript, me=self._number)


@lru_cache(maxsize=2)
def verified_transcript(session: Session, introductions: tuple[Introduction | None, ...]) -> bytes:
    """The transcript of introductions that are all verified; SealError for one that is not its client's.

    A process verifies them once, however many parties it runs. What was refused is verified again.
    """
    present = {client: one for client, one in enumerate(introductions, 1) if one is not None}
    for client, one in present.items():
        one.verify(session, client)
    return transcript_of(session, present)


COIN_BYTES = 32

_VALUE = b"secfc coin 1"
_COMMITMENT = b"secfc commitment 1"
_NUMBER = struct.Struct("<H")


def value_of(private: bytes, *, run: bytes) -> bytes:
    """A party's value, 32 bytes, from its key of one run. After a restart it is the same."""
    return HKDF(algorithm=SHA256(), length=COIN_BYTES, salt=None, info=_VALUE + run).derive(private)


def commitment_to(value: bytes, *, run: bytes, party: int) -> bytes:
    """A 32-byte commitment: it binds a party to its value and hides the value."""
    return hashlib.sha256(_COMMITMENT + run + _NUMBER.pack(party) + value).digest()
