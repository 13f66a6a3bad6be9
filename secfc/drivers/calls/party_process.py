"""The program of one party's process: it reads calls on standard input, and answers on standard output."""

import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from secfc.agreement.public_errors import PublicError
from secfc.drivers import simulated
from secfc.drivers.calls import framing
from secfc.drivers.calls.callee import Callee
from secfc.drivers.calls.failures import as_error, detail
from secfc.drivers.simulated import SimulatedParty

if TYPE_CHECKING:  # simulations have no site files
    from secfc.drivers.sites.site_files import SiteFiles


def main() -> int:
    """Run one party to its end. Return the exit status.

    A simulated party's errors are reported with their text, those of a site without (`_files`).
    """
    try:
        with (
            os.fdopen(os.dup(sys.stdin.fileno()), "rb", buffering=1 << 16) as inbox,
            os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=1 << 16) as outbox,
        ):
            # Output that a library prints must not get between frames.
            os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
            try:
                _run(inbox, outbox)
            except (EOFError, BrokenPipeError):
                raise
            except Exception as error:
                told = as_error(error)
                framing.write_json(outbox, PublicError.of(told).to_json() | {"text": str(told)})
                return 1
    except (EOFError, BrokenPipeError):
        return 1  # the driver has ended
    return 0


def _run(inbox: BinaryIO, outbox: BinaryIO) -> None:
    given = framing.read_json(inbox)
    party = None if "site" in given else simulated.taken(inbox, given)
    source = _files(given) if party is None else party
    if party is not None:  # the caller gets its errors, and says itself how kernels were chosen
        for name in (Callee.__module__, "secfc.kernels"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
    callee = Callee(lambda: source)
    framing.write_json(outbox, {"ready": True})
    try:
        while (frame := framing.read_frame(inbox, kinds=(framing.CALL,))) is not None:
            answer = callee.answer(frame[1])
            if callee.closed and party is not None:
                _give(outbox, party)
            framing.write_frame(outbox, framing.ANSWER, answer or b"")
    finally:
        callee.end()


def _give(outbox: BinaryIO, party: SimulatedParty) -> None:
    told, arrays = party.result()
    framing.write_json(outbox, told)
    for array in arrays:
        framing.write_array(outbox, array)


def _files(given: dict[str, Any]) -> "SiteFiles":
    """A party from its site file. Its own log gets its errors, the driver only their codes."""
    from secfc.drivers.sites.site_files import SiteFiles, SiteLog  # noqa: PLC0415

    file = Path(given["site"])
    log = logging.getLogger("secfc")
    log.addHandler(SiteLog(file))
    try:
        return SiteFiles(name=given["name"], file=file)
    except Exception as error:
        own = as_error(error)
        log.error("%s", detail(own))
        told = PublicError.of(own)
        raise told.error(told.code.meaning) from None


if __name__ == "__main__":
    sys.exit(main())
