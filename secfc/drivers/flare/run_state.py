"""The state of a run in a file in the kit: the process of a FLARE job writes it, the commands read it."""

import json
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from secfc.drivers.watch import iteration_text
from secfc.errors import ParameterError
from secfc.protocol.progress import Progress
from secfc.tables.number_texts import bytes_text
from secfc.tables.outputs import replace_text

STANDING = "standing.json"  # in the kit
_SECONDS = 1.0  # between two looks at the state
_MOST_BYTES = 10_000


class StandingFile:
    """Writes the state of a run, as `said` returns it, into a file, every second if it has changed."""

    def __init__(self, path: Path, said: Callable[[], str]) -> None:
        self._path, self._said, self._last = path, said, ""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="secfc-standing", daemon=True)

    def __enter__(self) -> Self:
        self._write()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._write()

    def _watch(self) -> None:
        while not self._ended.wait(_SECONDS):
            self._write()

    def _write(self) -> None:
        said = self._said()
        if said == self._last:
            return
        self._last = said
        at = datetime.now(UTC).isoformat(timespec="seconds")
        with suppress(ParameterError):
            replace_text(self._path, json.dumps({"at": at, "said": said}) + "\n")


def read_standing(kit: Path) -> tuple[str, str] | None:
    """When and what was last reported of a run in a kit. None without a file, or with an invalid one."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        told = json.loads((kit / STANDING).read_bytes()[:_MOST_BYTES])
        at, said = told["at"], told["said"]
        if isinstance(at, str) and isinstance(said, str):
            return at, said
    return None


def at_the_coordinator(standing: Progress, awaited: Sequence[str]) -> str:
    """Phase, iteration, rows moved, bytes that all parties have sent, and the parties that are waited for."""
    if standing.phase == "iterate":
        said = f"iterate: {iteration_text(standing)}"
    else:
        said = f"{standing.phase}: {bytes_text(standing.sent_bytes)}"
    return f"{said} sent; waiting for {', '.join(awaited)}" if awaited else f"{said} sent"
