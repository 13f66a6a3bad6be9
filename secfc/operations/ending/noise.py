"""Noise on opened centres: how much each client adds, so that the honest clients' noise alone is enough.

Each client with rows deals discrete Gaussian noise for every sum over a cluster, with the same masks and
proofs as rows. Holders add their shares of all noise to their shares of the sums, so only sums with all noise
are opened. Opens whose noise is in, and nothing else.
"""

from collections.abc import Generator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from math import ceil, isqrt, prod

import numpy as np

from secfc.crypto.discrete_gaussian import discrete_gaussian
from secfc.crypto.randomness import MaskSource
from secfc.errors import ParameterError, TooManyFaultsError
from secfc.field.array_types import Floats, Objects
from secfc.field.primes import primes_of
from secfc.operations.beginning.rows import SharedRows, dealers_inside
from secfc.protocol.job.job import Job
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.parties.dealing import added, dealt_by_owners
from secfc.protocol.parties.party import Party
from secfc.sharing.shared import Shared

LEAST_VARIANCE = 16
"""Least variance of one client's noise, in quantised units squared: a condition of `_SPARED`."""

_SPARED = Fraction(1, 1 << 100)
"""Taken off rho for what a sum of discrete Gaussians differs from one, and for rounded logarithms.

Of h samples of variance s >= 16 the divergence of order alpha grows by at most tau d, with
tau = 10 (h - 1) exp(-pi**2 s) < 2**-210 for h <= 4096 (Kairouz, Liu, Steinke 2021, arXiv:2102.06387,
proposition 14), so by less than 2**-170 for every d that fits in a message.
"""

_DEVIATIONS = 16
"""A sum of noise with a standard deviation of at most s is beyond 16 s with probability below 2**-183."""

_DIGITS = 50
_STEPS = 60  # of a search that shrinks an interval of length 70 by a third in each


@dataclass(frozen=True, kw_only=True)
class Noise:
    """The noise of a job on given rows. Numbers are in the units of quantised rows."""

    variance: int  # of each client's noise in each sum
    dealers: int  # fewest clients with rows that must be in when sums are opened
    reach: int  # largest magnitude of all clients' noise in a sum, but for a probability below 2**-183

    def draw(self, job: Job, masks: MaskSource) -> Objects:
        """One client's noise for k sums, (k, d), of Python integers."""
        drawn = np.empty((job.k, job.d), dtype=object)
        for at in np.ndindex(drawn.shape):
            drawn[at] = discrete_gaussian(self.variance, masks.octets)
        return drawn


def _most_lost(job: Job) -> int:
    """Most clients whose noise may be missing: R clients, and more than (n + t) / 2, must add theirs."""
    return job.n - max(job.threshold, (job.n + job.t) // 2 + 1)


def noise_of(job: Job, layout: Layout) -> Noise:
    """The noise of each client with rows, for a job that has noise.

    A row, replaced by any other with the same label, moves one sum by at most 2 r times its weight (eq. 3).
    At most `_most_lost` clients may be without noise, or the run ends (`shared_noise`). Without these and t
    colluding clients, h clients with rows are left. Each adds 1/h of the variance.
    ParameterError when h < 1, the noise does not fit in the modulus, or delta is so large that telling a row
    chosen at random would be allowed.
    """
    promised = job.opened.noise
    assert promised is not None
    if promised.delta * layout.m >= 1:
        raise ParameterError(
            f"centres_delta: less than 1 divided by the number of rows is needed, {promised.delta!r} was "
            f"given and there are {layout.m} rows"
        )
    adding, lost = sum(count > 0 for count in layout.counts), _most_lost(job)
    honest = adding - lost - job.t
    if honest < 1:
        raise ParameterError(
            f"centres_epsilon: {job.t} clients may collude and {lost} may vanish, so at least "
            f"{job.t + lost + 1} clients with rows are needed to add noise; there are {adding}"
        )
    heaviest = 1 if layout.weights is None else int(layout.weights.max())
    moved, rho = 2 * job.radius * heaviest, largest_rho(promised.epsilon, promised.delta)
    # rho-zCDP for sums that move by `moved`, with h samples: moved**2 / (2 h variance) <= rho.
    variance = max(LEAST_VARIANCE, ceil(moved**2 / (2 * honest * rho)))
    reach = _DEVIATIONS * (isqrt(job.n * variance) + 1)
    if 2 * (layout.weight * job.radius + reach) >= prod(primes_of(job.residues(layout.weight))):
        raise ParameterError(
            f"centres_epsilon: {promised.epsilon!r} with centres_delta {promised.delta!r} needs noise "
            f"that does not fit in the modulus; larger numbers are needed"
        )
    return Noise(variance=variance, dealers=adding - lost, reach=reach)


def shared_noise(me: Party, job: Job, noise: Noise, rows: SharedRows) -> Generator[None, None, Shared]:
    """[y], shape (k, width): the sum of the noise of all clients with rows that are left.

    TooManyFaultsError if these are fewer than `noise.dealers`, or too many clients lie.
    """
    size = job.k * job.width
    dealers = {j: size for j, count in enumerate(rows.layout.counts, 1) if count}
    own = _segments(me, noise.draw(job, me.masks), job.width) if me.number in dealers else None
    dealings = yield from dealt_by_owners(me, dealers, own)
    inside = dealers_inside(me, rows, dealings)
    if len(inside) < noise.dealers:
        raise TooManyFaultsError(
            f"centres: noise of {len(inside)} clients is in, that of {noise.dealers} is needed"
        )
    found = list[Floats]()
    if me.holds:  # one that refused some sends no shares
        nothing = np.zeros((len(me.code.primes), size))
        found = [dealings.shares[j].shared if j in dealings.shares else nothing for j in inside]
    return added(me, found, size).reshape(job.k, job.width)


def _segments(me: Party, drawn: Objects, width: int) -> Floats:
    """Segments, shape (P, ell, k * width), of integers, shape (k, d)."""
    k, d = drawn.shape
    padded = np.zeros((k, me.code.ell * width), dtype=object)
    padded[:, :d] = drawn
    segments = padded.reshape(k, me.code.ell, width).swapaxes(0, 1).reshape(me.code.ell, -1)
    return np.stack([(segments % p).astype(np.float64) for p in me.code.primes])


@cache
def largest_rho(epsilon: float, delta: float) -> Fraction:
    """A rho for which rho-zCDP implies (epsilon, delta)-differential privacy, near the largest one.

    For every alpha > 1, delta = exp((alpha - 1)(alpha rho - epsilon)) (1 - 1/alpha)**alpha / (alpha - 1) will
    do (Canonne, Kamath, Steinke 2020, proposition 12). Solved for rho, at the alpha that a search finds; any
    other is valid too. Decimal's logarithms are correctly rounded, so all parties find the same rho.
    """
    with localcontext(prec=_DIGITS):
        log_delta, wanted = Decimal(delta).ln(), Decimal(epsilon)

        def rho(exponent: Decimal) -> Decimal:
            above = exponent.exp()  # alpha - 1
            alpha = 1 + above
            return (wanted + (log_delta + above.ln() - alpha * (above / alpha).ln()) / above) / alpha

        low, high = Decimal(-20), Decimal(50)
        for _ in range(_STEPS):
            left, right = low + (high - low) / 3, high - (high - low) / 3
            if rho(left) < rho(right):
                low = left
            else:
                high = right
        found = Fraction(rho(low)) - _SPARED
    if found <= _SPARED:
        raise ParameterError(f"centres_epsilon: {epsilon!r} with centres_delta {delta!r} is too small")
    return found
