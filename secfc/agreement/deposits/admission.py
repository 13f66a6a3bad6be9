"""An owner's certificate: a committee member's signature that allows an owner to deposit rows.

::

    signed = "secfc owner 1" | agreement (32) | member (2) | number (4) | key (32) | name
    packed = member (2) | number (4) | key (32) | signature (64) | bytes of the name (1) | name
    file   = magic (4) | packed | deposit

Member j assigns the numbers from (j - 1) * most + 1 to j * most (`most` is the job's), so no member can use
another's numbers. A certificate is public and is sent with each deposit.
"""

import struct
from pathlib import Path

from pydantic import Field

from secfc.agreement.consortium import RESERVED, is_name
from secfc.agreement.job_file import Agreement
from secfc.agreement.schemas import PublicKey, SignatureBytes
from secfc.agreement.site_file import Site
from secfc.crypto.identity import KEY_BYTES, SIGNATURE_BYTES, Identity
from secfc.errors import AgreementError, MessageError, ParameterError, SealError
from secfc.protocol.messages.wire import check_magic, magic_of
from secfc.tables.toml_file import FileSchema, TomlFile, toml_text

MAGIC = magic_of("SFD")
"""What the file of a deposit begins with."""

_SIGNED = b"secfc owner 1"
_FIXED = struct.Struct(f"<HI{KEY_BYTES}s{SIGNATURE_BYTES}sB")
_NUMBERS = struct.Struct("<HI")
MOST_BYTES = len(MAGIC) + _FIXED.size + 63
"""Of a certificate that is packed, and of what is before it."""


class Certificate(FileSchema):
    """Admits one owner; `check` verifies that the certificate belongs to a job."""

    name: str
    number: int
    key: PublicKey = Field(repr=False)
    member: int  # client number of the party that admitted it
    signature: SignatureBytes = Field(repr=False)

    def check(self, agreement: Agreement) -> None:
        """Raise SealError unless a member of the job's committee admitted this owner."""
        assert agreement.owners is not None
        most = agreement.owners.most
        if not 1 <= self.member <= agreement.job.n or (self.number - 1) // most + 1 != self.member:
            raise SealError(f"certificate: member {self.member} has no owner {self.number}")
        if not is_name(self.name) or self.name.lower() in _taken(agreement):
            raise SealError(f"certificate of owner {self.number}: no name that an owner can have")
        agreement.consortium.roster.verify(
            self.member,
            self.signature,
            _statement(agreement, self.member, self.number, self.key, self.name),
            what=f"the certificate of owner {self.number}",
        )

    def packed(self) -> bytes:
        """As it travels, before a deposit."""
        name = self.name.encode()
        return MAGIC + _FIXED.pack(self.member, self.number, self.key, self.signature, len(name)) + name


def unpacked(file: bytes) -> tuple[Certificate, bytes]:
    """A certificate, not checked, and a deposit, by their file; MessageError for no such file."""
    check_magic(file[: len(MAGIC)], MAGIC)
    data = file[len(MAGIC) :]
    if len(data) < _FIXED.size:
        raise MessageError(f"a deposit of {len(data)} bytes has no certificate")
    member, number, key, signature, size = _FIXED.unpack_from(data)
    end = _FIXED.size + size
    try:
        name = data[_FIXED.size : end].decode("ascii")
    except UnicodeDecodeError:
        raise MessageError("a certificate: its name is none") from None
    return Certificate(name=name, number=number, key=key, member=member, signature=signature), data[end:]


def admit(
    agreement: Agreement, *, member: int, identity: Identity, number: int, name: str, key: bytes
) -> str:
    """The text of a certificate file. AgreementError for a name in the roster."""
    if name.lower() in _taken(agreement):
        raise AgreementError(f"{name!r} is a name in the roster; an owner of rows needs another name")
    signature = identity.sign(_statement(agreement, member, number, key, name))
    found = Certificate(name=name, number=number, key=key, member=member, signature=signature)
    found.check(agreement)
    return toml_text("# An owner of rows that a member has admitted to a secfc job.", found.model_dump())


def read_certificate(path: Path, agreement: Agreement) -> Certificate:
    """The certificate in a file; ParameterError with file and line, AgreementError unless it is the job's."""
    found = TomlFile(path).check(Certificate)
    try:
        found.check(agreement)
    except SealError as error:
        raise AgreementError(f"{path}: {error}") from None
    return found


def own_certificate(site: Site, agreement: Agreement, public: bytes) -> Certificate:
    """The certificate of a site that is an owner; AgreementError unless it has the site's name and key."""
    if site.certificate is None:
        raise ParameterError(
            f"{site.path}: certificate is needed: the file with which a member admits {site.party}"
        )
    found = read_certificate(site.certificate, agreement)
    if (found.name, found.key) != (site.party, public):
        raise AgreementError(f"{site.certificate}: not of {site.party} and the key in {site.key}")
    return found


def _statement(agreement: Agreement, member: int, number: int, key: bytes, name: str) -> bytes:
    return _SIGNED + agreement.digest + _NUMBERS.pack(member, number) + key + name.encode()


def _taken(agreement: Agreement) -> set[str]:
    """Names, in lower case, that no owner may have, so that a name in an error is unambiguous."""
    return {one.name.lower() for one in agreement.consortium.everybody} | {RESERVED}
