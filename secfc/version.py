"""The versions of the package and of the protocol, for modules that must not import the whole package."""

import platform
from pathlib import Path

VERSION = "0.1.0"

PROTOCOL = 4  # version, in every agreement and message; other versions are refused with a clear error
PROTOCOL_BYTES = PROTOCOL.to_bytes(2, "little")

PACKAGE = Path(__file__).resolve().parent


def versions(*libraries: str) -> dict[str, str]:
    """Versions of secfc, Python and some libraries in this process."""
    from importlib.metadata import version  # noqa: PLC0415 - takes 20 ms

    return {"secfc": VERSION, "python": platform.python_version()} | {one: version(one) for one in libraries}
