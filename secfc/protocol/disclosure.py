"""Who learns what from coded distances: the one step that another disclosure replaces.

``"coded"`` (the paper): the server holds every responder's coded distances and decodes them itself, so it
could interpolate all of phi_{i,h}, per-segment distances included (docs/threat-model.md).
"""

from collections.abc import Mapping

import numpy as np

from secfc._arrays import Floats
from secfc.field.packing import PackedResidues
from secfc.field.primes import PRIMES
from secfc.field.residues import reduce
from secfc.lagrange.basis import decoding_weights
from secfc.lagrange.points import evaluation_points
from secfc.params import Job

# A canonical residue below 2**24 times a reduced weight, at most 2**23: 64 of them stay below 2**53.
_TERMS = 64


class Decoder:
    """Decodes scaled squared distances from the answers of any R clients.

    Parameters
    ----------
    job : Job
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._weights: dict[tuple[int, ...], list[Floats]] = {}

    def decode(self, answers: Mapping[int, PackedResidues], rows: slice, primes: tuple[int, ...]) -> Floats:
        """``d'_{i,h} = sum_j w_j phi_{i,h}(alpha_j)`` modulo each prime (docs/protocol.md, eq. 7).

        Parameters
        ----------
        answers : mapping from client to PackedResidues of shape (P, m, k)
            Exactly R of them.
        rows : slice
        primes : tuple of P ints

        Returns
        -------
        ndarray of shape (P, rows, k), float64
            Reduced residues.
        """
        responders = tuple(sorted(answers))
        weights = self._weights_of(responders)
        decoded = []
        for index, p in enumerate(primes):
            total: Floats | None = None
            for at, client in enumerate(responders):
                term = answers[client].read(index, rows)
                term *= weights[index][at]
                total = term if total is None else total + term
                if at % _TERMS == _TERMS - 1:
                    total = reduce(total, p)
            assert total is not None
            decoded.append(reduce(total, p))
        return np.stack(decoded)

    def _weights_of(self, responders: tuple[int, ...]) -> list[Floats]:
        """Weights of a responder set for every prime, computed once."""
        if responders not in self._weights:
            job = self._job
            points = [evaluation_points(prime, n=job.n, coded=job.ell + job.t) for prime in PRIMES]
            self._weights[responders] = [
                decoding_weights(
                    alpha=[point.alpha[j - 1] for j in responders], beta=point.beta[: job.ell], p=prime.p
                )
                for prime, point in zip(PRIMES, points, strict=True)
            ]
        return self._weights[responders]
