"""The first bytes of a format: its name and the version of the protocol."""

from secfc.errors import MessageError
from secfc.version import PROTOCOL


def magic_of(name: str) -> bytes:
    """The first bytes of a format's messages: three letters and the version of the protocol."""
    return f"{name}{PROTOCOL}".encode()


def check_magic(found: bytes, magic: bytes) -> None:
    """Raise MessageError for another format, or for another version, with both versions in the text."""
    if found == magic:
        return
    version = bytes(found[len(magic) - 1 :])
    if found[: len(magic) - 1] == magic[:-1] and version.isdigit():
        raise MessageError(
            f"a message of version {version.decode()} of the protocol; this party has version {PROTOCOL}"
        )
    raise MessageError("not a secfc message, or not where it belongs")
