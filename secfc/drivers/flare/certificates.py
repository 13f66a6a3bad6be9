"""Certificates for FLARE's server, sites and administrator, made by FLARE's functions.

A party makes its private key and a signing request. The coordinator's authority signs. The authority takes
only the public key from a request. Names and roles come from the roster.
"""

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from nvflare.lighter import utils

from secfc.agreement.secret_files import read_private_text
from secfc.drivers.flare.kits import Role, organisation_of
from secfc.errors import AgreementError, ParameterError
from secfc.errors.codes import Code
from secfc.tables.toml_file import read_text

AUTHORITY = "rootCA.pem"  # the authority's certificate in a kit
_AUTHORITY_DAYS, _DAYS = 3650, 1095
_CLOCKS_DIFFER = timedelta(days=1)
_LEAST_BITS, _MOST_BITS = 2048, 8192


@dataclass(frozen=True)
class Authority:
    """The certificate authority of a project."""

    key: RSAPrivateKey = field(repr=False)
    certificate: x509.Certificate

    @classmethod
    def new(cls, project: str) -> "Authority":
        """A new authority with a fresh key."""
        key, public = utils.generate_keys()
        begin = datetime.now(UTC) - _CLOCKS_DIFFER
        certificate = utils.generate_cert(
            subject=utils.Identity(project),
            issuer=utils.Identity(project),
            signing_pri_key=key,
            subject_pub_key=public,
            ca=True,
            not_valid_before=begin,
            not_valid_after=begin + timedelta(days=_AUTHORITY_DAYS),
        )
        return cls(key, certificate)

    @property
    def pem(self) -> str:
        """Its certificate."""
        return as_pem(self.certificate)

    @property
    def key_pem(self) -> str:
        """Its private key. The coordinator keeps it."""
        return str(utils.serialize_pri_key(self.key).decode())

    def certify(self, public: RSAPublicKey, *, name: str, role: Role, hosts: tuple[str, ...] = ()) -> str:
        """A certificate, PEM. `hosts` are the addresses of a server."""
        admin = role == "lead"
        uses = [ExtendedKeyUsageOID.CLIENT_AUTH, *([] if admin else [ExtendedKeyUsageOID.SERVER_AUTH])]
        usage = x509.KeyUsage(
            digital_signature=True,
            content_commitment=admin,
            key_encipherment=not admin,
            data_encipherment=False,
            key_agreement=False,
            key_cert_sign=False,
            crl_sign=False,
            encipher_only=False,
            decipher_only=False,
        )
        begin = datetime.now(UTC) - _CLOCKS_DIFFER
        issuer = self.certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value
        certificate = utils.generate_cert(
            subject=utils.Identity(name, organisation_of(name, role), role),
            issuer=utils.Identity(issuer),
            signing_pri_key=self.key,
            subject_pub_key=public,
            server_default_host=hosts[0] if hosts else None,
            server_additional_hosts=list(hosts[1:]) or None,
            not_valid_before=max(begin, self.certificate.not_valid_before_utc),
            not_valid_after=begin + timedelta(days=_DAYS),
            extra_extensions=[
                (x509.BasicConstraints(ca=False, path_length=None), True),
                (usage, True),
                (x509.ExtendedKeyUsage(uses), False),
            ],
        )
        return as_pem(certificate)


def new_key() -> tuple[RSAPrivateKey, str]:
    """A private key for TLS, also as PEM. Its owner keeps it."""
    key, _ = utils.generate_keys()
    return key, utils.serialize_pri_key(key).decode()


def read_tls_key(text: str, *, name: str) -> RSAPrivateKey:
    """The private key of a PEM text. A ParameterError shows nothing of it."""
    try:
        key = load_pem_private_key(text.encode(), password=None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, RSAPrivateKey):
        raise ParameterError(f"{name}: no key for TLS, as secfc consortium request writes it")
    return key


def signing_request(key: RSAPrivateKey, name: str) -> str:
    """A request to sign this key for a party, PEM."""
    builder = x509.CertificateSigningRequestBuilder().subject_name(utils.x509_name(name))
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM).decode()


def requested_key(pem: str, *, party: str, name: str) -> RSAPublicKey:
    """The public key of a party's signing request, which the key has signed. ParameterError with `name`."""
    try:
        request = x509.load_pem_x509_csr(pem.encode())
        whole = request.public_bytes(Encoding.PEM).decode() == pem and request.is_signature_valid
        public, names = request.public_key(), request.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    except Exception:
        # For hostile bytes the library raises errors of many types.
        raise ParameterError(f"{name}: tls: no signing request") from None
    if not whole:
        raise ParameterError(f"{name}: tls: not one signing request that its key has signed")
    if [one.value for one in names] != [party]:
        raise ParameterError(f"{name}: tls: the signing request is not for {party}")
    if not isinstance(public, RSAPublicKey) or not _LEAST_BITS <= public.key_size <= _MOST_BITS:
        raise ParameterError(f"{name}: tls: an RSA key of {_LEAST_BITS} to {_MOST_BITS} bits is needed")
    return public


def check_certificate(pem: str, authority: str, key: RSAPrivateKey, *, party: str, name: str) -> None:
    """Raise ParameterError, with `name`, unless the authority has certified the party's own key."""
    own, issuer = (_certificate(text, name=name) for text in (pem, authority))
    if own.public_key() != key.public_key():
        raise ParameterError(f"{name}: the certificate of {party} is of another key than this party's")
    try:
        constraints = issuer.extensions.get_extension_for_class(x509.BasicConstraints).value
        issuer.verify_directly_issued_by(issuer)
        own.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
        raise ParameterError(f"{name}: the certificate of {party} is not by the authority in it") from None
    if not constraints.ca or _names(own) != [party]:
        raise ParameterError(f"{name}: the certificate is not one of {party} by an authority")
    _check_dates(own, f"{name}: the certificate of {party}")
    _check_dates(issuer, f"{name}: the certificate of the authority")


def _check_dates(certificate: x509.Certificate, what: str) -> None:
    begins, now, ends = certificate.not_valid_before_utc, datetime.now(UTC), certificate.not_valid_after_utc
    if now < begins:
        text = f"is not valid before {begins.date().isoformat()}; this machine's clock says {now.date()}"
        raise ParameterError(f"{what} {text}")
    if now > ends:
        text = f"ended on {ends.date().isoformat()}; this machine's clock says {now.date()}"
        raise AgreementError(f"{what} {text}", code=Code.EXPIRED)


def check_certified(startup: Path, *, own: str, party: str) -> date:
    """The last day of the party's certificate in a kit. `own` is FLARE's name of its files.

    Raises AgreementError if it is another party's or has ended, and ParameterError unless it is valid.
    """
    path = startup / f"{own}.crt"
    pem = read_text(path)
    certificate = _certificate(pem, name=str(path))
    names = _names(certificate)
    if names != [party]:
        raise AgreementError(f"{path}: the kit is that of {', '.join(map(str, names))}, not of {party}")
    key = startup / f"{own}.key"
    private = read_tls_key(read_private_text(key, what="a private key"), name=str(key))
    authority = read_text(startup / AUTHORITY)
    check_certificate(pem, authority, private, party=party, name=str(path))
    return certificate.not_valid_after_utc.date()


def _names(certificate: x509.Certificate) -> list[str | bytes]:
    return [one.value for one in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]


def _certificate(pem: str, *, name: str) -> x509.Certificate:
    """The certificate of a PEM text without other contents."""
    try:
        found = x509.load_pem_x509_certificate(pem.encode())
        whole = as_pem(found) == pem
        found.public_key()
        _ = found.extensions
    except Exception:
        raise ParameterError(f"{name}: a certificate cannot be read") from None
    if not whole:
        raise ParameterError(f"{name}: a certificate has more in its text")
    return found


def as_pem(certificate: x509.Certificate) -> str:
    """A certificate as PEM text."""
    return certificate.public_bytes(Encoding.PEM).decode()
