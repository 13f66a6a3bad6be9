"""Lloyd iterations in CrypTen (additive sharing over 2^64 with a trusted dealer), 3 parties as processes.

Usage: python crypten_lloyd.py FOLDER OUT.json SIZE...

Hand-written: one matrix product for the distances, a secure argmin, one product for the sums and a secure
division. Nothing is opened between iterations.
"""

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import numpy as np

from benchmarks.peers.data import ITERATIONS, PeerRow, load, row

# CrypTen imports its reader of ONNX models, which needs a module that newer PyTorch no longer has. Nothing
# here reads such a model.
_ONNX = "torch.onnx._internal.registration"
sys.modules[_ONNX] = ModuleType(_ONNX)
sys.modules[_ONNX].registry = None  # type: ignore[attr-defined]

import crypten  # noqa: E402
import crypten.communicator as comm  # noqa: E402
import torch  # noqa: E402
from crypten import mpc  # noqa: E402

PARTIES = 3
LABELS = "crypten.npy"


@mpc.run_multiprocess(world_size=PARTIES)  # type: ignore[untyped-decorator]
def iterations(folder: str, size: str) -> list[float]:
    """Seconds of each iteration. The first party writes the labels after them to `LABELS` in the folder.

    What is returned must be small: CrypTen waits for the processes before it reads their results.
    """
    torch.set_num_threads(1)
    crypten.cfg.functions.reciprocal_all_pos = True
    rows, start, _, k = load(Path(folder), size)
    shared = crypten.cryptensor(torch.from_numpy(rows), src=0)
    belongs = crypten.cryptensor(torch.from_numpy(np.eye(k)[start]), src=0)
    zero = crypten.cryptensor(torch.zeros(k), src=0)
    seconds = []
    for _ in range(ITERATIONS + 1):
        comm.get().barrier()
        before = time.perf_counter()
        # Memberships are integers from the second iteration on; adding zero gives the counts fractional bits.
        # Counts and sums are divided by m: the reciprocal's Newton iteration converges for numbers up to 1.
        counts = (belongs.sum(0) + zero).div(len(rows))
        centres = belongs.t().matmul(shared).div(len(rows)) * counts.reciprocal().unsqueeze(1)
        distances = (centres * centres).sum(1) - 2 * shared.matmul(centres.t())
        belongs = distances.argmin(dim=1, one_hot=True)
        seconds.append(time.perf_counter() - before)
    labels = belongs.get_plain_text().argmax(1).numpy()
    if comm.get().get_rank() == 0:
        np.save(Path(folder) / LABELS, labels)
    return seconds


def run(folder: str, size: str) -> PeerRow:
    """Time a size."""
    _, _, expected, _ = load(Path(folder), size)
    parties = iterations(folder, size)
    if parties is None:
        raise RuntimeError("a party of CrypTen failed")
    return row(
        size,
        parties[0][1:],
        np.load(Path(folder) / LABELS),
        expected,
        system=f"CrypTen {version('crypten')}",
        parties="3 and a trusted dealer",
        model="semi-honest, any 2 of 3; nobody colludes with the dealer; no dropouts",
        reveals="nothing but the result",
        sent_bytes=None,
    )


if __name__ == "__main__":
    data, out, *sizes = sys.argv[1:]
    Path(out).write_text(json.dumps([run(data, size) for size in sizes]), encoding="utf-8")
