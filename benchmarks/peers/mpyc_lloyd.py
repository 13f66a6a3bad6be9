"""Lloyd iterations in MPyC (Shamir sharing, 3 parties, t = 1) that open what SecFC's server sees: distances.

Usage: python mpyc_lloyd.py -M3 FOLDER OUT.json SIZE...   (MPyC starts the three processes itself)

The rows, as integers, are shared in a prime field. Each iteration sums the shares of the public sets and does
one secure matrix product. It opens the m k scaled squared distances |S_h|^2 d^2 to everybody and compares
them.
"""

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
from mpyc.runtime import mpc

from benchmarks.peers.data import ITERATIONS, PeerRow, load, row

PRECISION = 32
FIELD_BITS = 100
"""Squared distances of 10,000 rows of 32 bits, times |S_h|^2, need 95 bits."""


async def run(folder: Path, size: str) -> PeerRow:
    """Time the iterations of a size."""
    rows, start, expected, k = load(folder, size)
    kind = mpc.SecFld(min_order=2**FIELD_BITS)
    scale = 2.0 ** (PRECISION - np.ceil(np.log2(np.linalg.norm(rows, axis=1).max())))
    integers = np.rint(rows * scale).astype(np.int64).astype(object)
    shared = []
    for party, own in enumerate(np.array_split(integers, len(mpc.parties))):
        given = own if mpc.pid == party else np.zeros_like(own)
        shared.append(mpc.input(kind.array(kind.field.array(given)), senders=party))
    x = mpc.np_concatenate(tuple(shared))
    norms = mpc.np_sum(mpc.np_multiply(x, x), axis=1)
    await mpc.gather(norms)
    labels, seconds, sent = start, [], 0
    for _ in range(ITERATIONS + 1):
        await mpc.barrier()
        before, sent_before = time.perf_counter(), _sent()
        belongs = np.eye(k, dtype=np.int64)[labels]
        sizes = belongs.sum(axis=0)
        sums = kind.field.array(belongs.T.astype(object)) @ x
        cross = mpc.np_matmul(sums, x.T)
        own = mpc.np_sum(mpc.np_multiply(sums, sums), axis=1)
        column = kind.field.array(sizes.astype(object)[:, None])
        square = kind.field.array((sizes.astype(object) ** 2)[:, None])
        distances = own.reshape(k, 1) - (cross + cross) * column + norms.reshape(1, len(rows)) * square
        opened = await mpc.output(distances)
        values = np.array(opened.value, dtype=np.float64) / (sizes.astype(np.float64) ** 2)[:, None]
        labels = values.argmin(axis=0)
        seconds.append(time.perf_counter() - before)
        sent = _sent() - sent_before
    return row(
        size,
        seconds[1:],
        labels,
        expected,
        system=f"MPyC {version('mpyc')}",
        parties="3, t = 1",
        model="semi-honest, honest majority; no dropouts",
        reveals="labels of all rows and all m k distances, to every party",
        sent_bytes=sent or None,
    )


def _sent() -> int:
    """Bytes that this party has sent so far."""
    return sum(getattr(peer.protocol, "nbytes_sent", 0) for peer in mpc.parties if peer.pid != mpc.pid)


async def main() -> None:
    """Run every size; the first party writes the results."""
    folder, out, *sizes = sys.argv[1:]
    await mpc.start()
    rows = [await run(Path(folder), size) for size in sizes]
    if mpc.pid == 0:
        Path(out).write_text(json.dumps(rows), encoding="utf-8")
    await mpc.shutdown()


if __name__ == "__main__":
    mpc.run(main())
