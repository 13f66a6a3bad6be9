"""The state of a run and its connections: FLARE's processes write files in the kit, commands read them."""

import json
import re
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
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
_CONNECTION = re.compile(
    r"^(\S+ [\d:]+),\d+ - conn_manager - INFO - Connection \[(CN\d+) ([^\]]*)\] is (created|closed):? "
    r"PID: (\d+)$",
    re.MULTILINE,
)
_SECURE = " SSL "  # stands before the name of the other side; connections inside a machine have none


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


@dataclass(frozen=True)
class Contact:
    """Whether another side is connected, and since when, by this machine's clock."""

    connected: bool
    since: str


def contacts(said: str) -> dict[str, Contact]:
    """The other sides that were connected, by name, from the output of FLARE's process."""
    found: dict[str, Contact] = {}
    names: dict[tuple[str, str], str] = {}  # of connections that are open, by FLARE's number and process
    for at, number, ends, what, process in _CONNECTION.findall(said):
        if what == "created" and _SECURE in ends:
            name = names[number, process] = ends.rpartition(_SECURE)[2]
            if not found.get(name, Contact(False, at)).connected:
                found[name] = Contact(True, at)
        elif what == "closed" and (number, process) in names:
            name = names.pop((number, process))
            if name not in names.values():
                found[name] = Contact(False, at)
    return found


class Awaited:
    """Since when parties are waited for. A new phase or round begins to wait anew."""

    def __init__(self) -> None:
        self._place, self._since = ("", 0), dict[str, str]()

    def __call__(self, standing: Progress, names: Sequence[str]) -> list[str]:
        """The names of parties, each with the time."""
        now, place = datetime.now(UTC).strftime("%H:%M:%S"), (standing.phase, standing.round)
        before = self._since if place == self._place else {}
        self._place, self._since = place, {name: before.get(name, now) for name in names}
        return [f"{name} since {at} UTC" for name, at in self._since.items()]


def at_the_coordinator(standing: Progress, awaited: Sequence[str]) -> str:
    """Phase, iteration, rows moved, bytes that all parties have sent, and who is waited for."""
    if standing.phase == "iterate":
        said = f"iterate: {iteration_text(standing)}"
    else:
        said = f"{standing.phase}: {bytes_text(standing.sent_bytes)}"
    return f"{said} sent; waiting for {', '.join(awaited)}" if awaited else f"{said} sent"
