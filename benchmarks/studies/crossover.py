"""From which size encoding and decoding weights are faster by transform than by matrix."""

import time
from collections.abc import Callable
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from secfc.field.primes import PRIMES
from secfc.kernels.compiled import CompiledKernels
from secfc.kernels.vectorised import VectorisedKernels
from secfc.lagrange.basis import decoding_weights, lagrange_basis
from secfc.lagrange.fast import encoding_transform, fast_decoding_weights
from secfc.lagrange.points import evaluation_points

COLUMNS = 512


def milliseconds(work: Callable[[], object]) -> float:
    """Least CPU time of three runs."""
    times = []
    for _ in range(3):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return 1e3 * min(times)


def figures(n: int) -> list[float]:
    """Milliseconds of encoding by compiled matrix, transform, NumPy matrix, transform; weights, both ways."""
    prime, coded, ell = PRIMES[0], n // 2, n // 4
    p = prime.p
    points = evaluation_points(prime, n=n, coded=coded)
    basis = lagrange_basis(points.beta, points.alpha, p)
    transform = encoding_transform(prime, n=n, coded=coded)
    values = np.random.default_rng(0).integers(-(p // 2), p // 2, size=(coded, 1, COLUMNS)).astype(float)
    out = np.empty((n, 1, 3 * COLUMNS), dtype=np.uint8)
    found = []
    for kernels in (CompiledKernels(), VectorisedKernels()):
        found.append(milliseconds(partial(kernels.encode, values, basis, p, out)))
        found.append(milliseconds(partial(kernels.encode_by_transform, values, transform, p, out)))
    alpha, beta = points.alpha[: 2 * coded - 1], points.beta[:ell]
    responders = range(1, 2 * coded)
    found.append(milliseconds(partial(decoding_weights, alpha=alpha, beta=beta, p=p)))
    fast = partial(fast_decoding_weights, prime, n=n, coded=coded, ell=ell, responders=responders)
    return [*found, milliseconds(fast)]


def measure() -> None:
    """Print a line per number of clients: ell + t = n / 2, 512 columns, R = 2(ell + t) - 1."""
    print("milliseconds: encode by compiled matrix, transform, NumPy matrix, transform; weights, both ways")
    with threadpool_limits(1):
        for n in (16, 64, 128, 256, 512, 1024, 2048, 4096):
            print(f"{n:4}" + "".join(f"{figure:12.2f}" for figure in figures(n)), flush=True)
