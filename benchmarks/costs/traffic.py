"""Bytes of a run compared with the least for its elements: element bits times elements.

An element is a residue (24 bits), a label (ceil(log2(k)) bits), a set or none (ceil(log2(k + 1)) bits), an
introduction (a row count, a digest, a key and a signature, 1056 bits; in a Hello one more digest), a digest
(256 bits) or a part number (32 bits). How many of each a phase needs follows from the parameters alone,
except the number of primes of a round, which is computed from its answers.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.costs.iteration import blobs
from benchmarks.costs.setting import (
    PRECISION,
    Case,
    Setting,
    most_primes,
    residues_of_rounds,
    split_evenly,
    stated,
)
from secfc.drivers.costs import MessageRecord
from secfc.drivers.in_process import run_in_process
from secfc.protocol import messages
from secfc.protocol.job.job import Job
from secfc.sharing.row_checks import largest_norm

ITERATIONS = 3
RESIDUE_BITS = 24
"""Bits of a residue below a prime between 2**23 and 2**24."""

_COUNT_BITS = 32
_DIGEST_BITS = 256
_INTRODUCTION_BITS = _COUNT_BITS + _DIGEST_BITS + 256 + 512
LARGE_PAYLOAD = 64 << 10
"""From this message size on, headers must be at most 2 %."""

CASES = (Case(m=100_000, d=100, k=16, n=11, t=4, ell=2), Case(m=20_000, d=20, k=4, n=11, t=4, ell=2))
QUICK_CASES = (Case(m=3000, d=20, k=8, n=5, t=1, ell=2),)


@dataclass(frozen=True, kw_only=True)
class BytesRow(Setting):
    """The bytes of one kind of message, or of a whole phase, in a run of a few rounds.

    Attributes
    ----------
    phase : str
    kind : str
        The type of message, or "all" for the phase.
    rounds : int
        Questions of the run.
    messages, bytes, largest : int
        The number of messages, their bytes together, and the bytes of the largest.
    element_bits : int
        0 for "all".
    elements : int
    least_bytes : float
        Elements times their bits, converted to bytes.
    ratio : float
        bytes / least_bytes.
    large : bool
        Whether the largest has 64 KiB or more.
    """

    phase: str
    kind: str
    rounds: int
    messages: int
    bytes: int
    largest: int
    element_bits: int
    elements: int
    least_bytes: float
    ratio: float
    large: bool


def measure_bytes(case: Case, *, precision: int = PRECISION, iterations: int = ITERATIONS) -> list[BytesRow]:
    """Run a few iterations in one process and add up the messages."""
    rows = blobs(case)
    job = case.job(bound=largest_norm(rows, name="rows"), precision=precision, max_iter=iterations, seed=0)
    sent = run_in_process(split_evenly(job, rows)).costs.messages
    by_kind: defaultdict[str, list[MessageRecord]] = defaultdict(list)
    for message in sent:
        by_kind[message.kind].append(message)
    asked = residues_of_rounds(sent, m=case.m)
    elements = _elements(job, case.m, asked, by_kind)
    setting = stated(job, m=case.m, residues=most_primes(asked, case.k)) | {"rounds": len(asked)}
    found: list[BytesRow] = []
    for phase in messages.PHASES:
        kinds = [kind for kind in by_kind if getattr(messages, kind).phase == phase]
        parts = []
        for kind in kinds:
            bits, count = elements[kind]
            parts.append(_row(setting, phase, kind, by_kind[kind], bits, count, bits * count / 8))
        if len(parts) > 1:
            together = [message for kind in kinds for message in by_kind[kind]]
            least = sum(part.least_bytes for part in parts)
            parts.append(
                _row(setting, phase, "all", together, 0, sum(part.elements for part in parts), least)
            )
        found += parts
    return found


def _elements(
    job: Job, m: int, residues: list[int], by_kind: dict[str, list[MessageRecord]]
) -> dict[str, tuple[int, int]]:
    """Bits of an element, and number of elements, for each kind of message."""
    n = job.n
    return {
        "Hello": (_DIGEST_BITS + _INTRODUCTION_BITS, n),
        "Plan": (_INTRODUCTION_BITS, n * n),
        "Share": (RESIDUE_BITS, job.residues(m) * job.width * m * (n - 1)),
        "Ready": (_COUNT_BITS, len(by_kind.get("Ready", ()))),
        "Continue": (_COUNT_BITS, len(by_kind.get("Continue", ()))),
        "Assignment": (job.k.bit_length(), len(residues) * m * n),
        "CodedDistances": (RESIDUE_BITS, sum(residues) * m * n),
        "Finish": (max(1, (job.k - 1).bit_length()), m * n),
        "Witness": (_DIGEST_BITS, n * (n - 1) * (1 + len(residues))),
    }


def _row(
    setting: dict[str, Any],
    phase: str,
    kind: str,
    sent: list[MessageRecord],
    bits: int,
    elements: int,
    least: float,
) -> BytesRow:
    size = sum(message.size for message in sent)
    largest = max(message.size for message in sent)
    return BytesRow(
        **setting,
        phase=phase,
        kind=kind,
        messages=len(sent),
        bytes=size,
        largest=largest,
        element_bits=bits,
        elements=elements,
        least_bytes=least,
        ratio=size / least,
        large=largest >= LARGE_PAYLOAD,
    )


def measure_cases(cases: tuple[Case, ...], *, precision: int = PRECISION) -> Iterator[BytesRow]:
    """Measure each case."""
    for case in cases:
        yield from measure_bytes(case, precision=precision)
