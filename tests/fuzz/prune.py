"""Copy from a folder to tests/corpus/ inputs that reach lines or endings that no smaller one does (`run`)."""

import hashlib
import sys
from collections.abc import Hashable
from pathlib import Path
from types import FrameType
from typing import Any

from fuzz.harness import SCENARIOS, Harness

TESTS = Path(__file__).resolve().parents[1]
_TRACED = tuple(str(TESTS.parent / "secfc" / part) for part in ("protocol", "psu", "sealing", "field"))


def reached(harness: Harness, data: bytes) -> set[Hashable]:
    """Steps from line to line of secfc's code that an input takes, and how it ends."""
    found: set[Hashable] = set()

    def local(frame: FrameType, event: str, argument: Any) -> Any:
        found.add((frame.f_code.co_filename, frame.f_lineno, event))
        return local

    def called(frame: FrameType, event: str, argument: Any) -> Any:
        return local if frame.f_code.co_filename.startswith(_TRACED) else None

    harness.prepare(data)
    sys.settrace(called)
    try:
        ended = harness.run(data)
    finally:
        sys.settrace(None)
    return found | {(data[0] % len(SCENARIOS), ended)}


def main() -> None:
    """Add to the corpus, the smallest inputs first."""
    harness, seen, corpus = Harness(), set[Hashable](), TESTS / "corpus"
    inputs = {path.read_bytes() for folder in (corpus, Path(sys.argv[1])) for path in folder.iterdir()}
    for data in sorted((one for one in inputs if len(one) >= 4), key=lambda one: (len(one), one)):
        new = reached(harness, data) - seen
        seen |= new
        if new:
            (corpus / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)


if __name__ == "__main__":
    main()
