"""Signatures of a job: each party's detached Ed25519 signature of its digest, in a file beside the job.

::

    signed = "secfc job signature 2" | digest (32) | protocol (2) | version of secfc
"""

from pathlib import Path

from pydantic import Field

from secfc.agreement.job_file import Agreement
from secfc.agreement.schemas import MADE_HERE, Hex32, SignatureBytes, Versioned
from secfc.crypto.identity import SIGNATURE_BYTES, Identity
from secfc.errors import AgreementError, SealError
from secfc.errors.codes import Code
from secfc.protocol.job.thresholds import MAX_CLIENTS
from secfc.tables.outputs import replace_text
from secfc.tables.toml_file import FileSchema, ListOf, TomlFile, toml_text

_SIGNED = b"secfc job signature 2"


class Signature(Versioned):
    """A party's signature. `standing` verifies it."""

    party: str
    digest: Hex32
    signature: SignatureBytes

    @property
    def signed(self) -> bytes:
        """The signed bytes."""
        protocol = self.protocol.to_bytes(2, "little")
        return _SIGNED + bytes.fromhex(self.digest) + protocol + self.secfc.encode()

    def to_toml(self) -> str:
        """Its entry in a file."""
        return toml_text("\n[[signature]]", self.model_dump())


class SignaturesSchema(FileSchema):
    """A file of signatures."""

    signature: ListOf[Signature] = Field(default=[], max_length=4 * MAX_CLIENTS)


def signatures_path(job: Path) -> Path:
    """The signatures file beside a job file."""
    return job.with_suffix(".signatures")


def sign_job(agreement: Agreement, party: str, identity: Identity) -> Signature:
    """A party's signature of a job."""
    draft = Signature(
        party=party, digest=agreement.digest.hex(), signature=bytes(SIGNATURE_BYTES), **MADE_HERE
    )
    return draft.model_copy(update={"signature": identity.sign(draft.signed)})


def standing(agreement: Agreement, signatures: list[Signature]) -> dict[str, str]:
    """For each party "signed", or what is wrong. One valid signature is enough."""
    found = {}
    for name in agreement.names:
        states = [_state(agreement, one) for one in signatures if one.party == name]
        found[name] = "signed" if "signed" in states else states[-1] if states else "not signed"
    return found


def _state(agreement: Agreement, signature: Signature) -> str:
    if signature.party not in agreement.names:
        return "no party of the job"
    if signature.other_version is not None:
        return f"its signature was {signature.other_version}"
    if signature.digest != agreement.digest.hex():
        return f"signed another job, {signature.digest[:16]}"
    try:
        number = agreement.names.index(signature.party) + 1
        agreement.consortium.roster.verify(number, signature.signature, signature.signed)
    except SealError:
        return "wrong signature: not by the key in the roster"
    return "signed"


def check_signed(agreement: Agreement, path: Path) -> None:
    """Raise AgreementError, with the parties' names, unless all have signed the job in this file."""
    found = standing(agreement, read_signatures(path))
    wrong = [f"{name} ({state})" for name, state in found.items() if state != "signed"]
    if wrong:
        raise AgreementError(
            f"{path}: not all parties have signed the job {agreement.digest.hex()[:16]}: {', '.join(wrong)}",
            code=Code.NOT_SIGNED,
        )


def read_signatures(path: Path, text: str | None = None) -> list[Signature]:
    """The signatures in a file, none if there is no file. `text` replaces its content, if given."""
    if text is None and not path.exists():
        return []
    return TomlFile(path, text).check(SignaturesSchema).signature


def collect(agreement: Agreement, path: Path, added: list[Signature]) -> dict[str, str]:
    """Add signatures to a job's file and remove useless ones; return the new standing of each party.

    AgreementError, and an unchanged file, if an added signature is from no party, for another job, or wrong.
    """
    for one in added:
        if one.party not in agreement.names:
            raise AgreementError(f"{one.party!r} has signed, but is no party ({', '.join(agreement.names)})")
        state = _state(agreement, one)
        if state != "signed":
            raise AgreementError(f"{one.party}: {state}; the job is {agreement.digest.hex()[:16]}")
    found = [*read_signatures(path), *added]
    kept = {one.party: one for one in found if _state(agreement, one) == "signed"}
    ordered = [kept[name] for name in agreement.names if name in kept]
    replace_text(path, "# Signatures of a secfc job.\n" + "".join(one.to_toml() for one in ordered))
    return standing(agreement, ordered)
