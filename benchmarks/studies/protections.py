"""What the margin in Q, the range check and the server's signatures cost an iteration and a sharing.

All variants take turns in one run, on one thread, each beside scikit-learn's iterations. "all" is what secfc
does; in each other variant one protection is switched off.
"""

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.costs.iteration import blobs, take_turns
from benchmarks.costs.machine import machine
from benchmarks.costs.setting import Case
from benchmarks.costs.sharing import share_once
from secfc.field import primes
from secfc.kmeans.in_range import RangeCheck
from secfc.params import Job
from secfc.rows import largest_norm
from secfc.sealing.handshake import Session
from secfc.sealing.identity import Identity, Roster
from secfc.sealing.proof import Proof, Signer

ITERATIONS = 8
SIZES = [("iris", 150, 4, 3), ("10,000 x 100", 10_000, 100, 16), ("100,000 x 100", 100_000, 100, 16)]
SIZES += [("60,000 x 784", 60_000, 784, 10)]


def _unsigned(self: Signer, header: bytes, body: bytes) -> Proof:
    return Proof(header=header, digest=bytes(32), signature=bytes(64))


def _nothing(*_: object, **__: object) -> None:
    return None


OFF: dict[str, list[Any]] = {
    "all": [],
    "no margin": [patch.object(primes, "MARGIN_BITS", 0)],
    "no range check": [patch.object(RangeCheck, "take", _nothing)],
    "no signatures": [patch.object(Signer, "sign", _unsigned), patch.object(Proof, "verify", _nothing)],
}


@contextmanager
def without(patches: list[Any]) -> Iterator[None]:
    """Switch protections off."""
    with ExitStack() as stack:
        for one in patches:
            stack.enter_context(one)
        yield


def count_primes() -> None:
    """Print the primes of a sharing and of a round with balanced clusters, without the margin and with it."""
    print("primes of a sharing and of a balanced round, without the margin -> with it, 32 bits")
    for name, m, d, k in SIZES:
        job = Job(n=3, k=k, t=1, ell=1, d=d, bound=1.0)
        found = []
        for rows in (m, -(-m // k)):
            with without(OFF["no margin"]):
                before = job.residues(rows)
            found.append(f"{before} -> {job.residues(rows)}")
        print(f"  {name:14} k = {k:2}: {found[0]}, {found[1]}")


def time_signatures(repeats: int = 300) -> None:
    """Print CPU microseconds of signing and of verifying a small message and an assignment."""
    identity = Identity()
    session = Session(
        run=bytes(16), agreement=bytes(32), roster=Roster((Identity().public,), identity.public)
    )
    signer = Signer(session, identity)
    for size in (4, 62_500):
        body, started = bytes(size), time.process_time()
        proofs = [signer.sign(bytes(29), body) for _ in range(repeats)]
        signed = time.process_time()
        for proof in proofs:
            proof.verify(session)
        sign, verify = signed - started, time.process_time() - signed
        each = 1e6 / repeats
        print(f"a message of {size} bytes: sign {sign * each:.0f} us, verify {verify * each:.0f} us")


def measure(case: Case, repeats: int) -> None:
    """Measure so many turns of each variant, and print."""
    print(machine()["processor"])
    count_primes()
    time_signatures()
    rows = blobs(case)
    job = case.job(bound=largest_norm(rows, name="rows"), precision=32, max_iter=ITERATIONS)
    found: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    with threadpool_limits(1):
        share_once(job, rows[:1000])  # loads compiled code
    for _ in range(repeats):
        for name, patches in OFF.items():
            with without(patches):
                turns = take_turns(job, rows, seeds=range(1))
                with threadpool_limits(1):
                    sharing = share_once(job, rows).seconds
            plain = turns.plaintext
            found[name].append(
                (
                    float(np.median(turns.client / plain)),
                    float(np.median(turns.server / plain)),
                    sharing / float(np.median(plain)),
                )
            )
    print(
        f"{case.m:,} x {case.d}, k = {case.k}, n = {case.n}, t = {case.t}, ell = {case.ell}, in iterations of"
    )
    print("scikit-learn's on the pooled rows, medians; in brackets relative to all protections")
    base = np.median(found["all"], axis=0)
    for name, values in found.items():
        median = np.median(values, axis=0)
        cells = [f"{value:6.2f} ({value / one:.3f})" for value, one in zip(median, base, strict=True)]
        print(f"  {name:16} client {cells[0]}  server {cells[1]}  sharing {cells[2]}")
