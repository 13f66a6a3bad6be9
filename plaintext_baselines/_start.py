"""Starts: a random partition, the paper's 1/3 rule, given labels, given centres."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from plaintext_baselines._arrays import FloatArray, IntArray
from plaintext_baselines._base import check_choice, check_integers
from plaintext_baselines._exact import ExactRows
from plaintext_baselines._rounds import relocate

NAMED_STARTS = ("random", "separation")

# A uniform partition of m >= 10 k rows misses a cluster with probability below k e^-10, so few draws suffice.
# Only for k close to m all draws may fail. Then `random_start` gives each cluster a row.
RANDOM_DRAWS = 64


def given_centres(init: Any, n_clusters: int, n_features: int) -> FloatArray | None:
    """The first centres if the `init` argument of an estimator is an array of them, else None."""
    if not (isinstance(init, np.ndarray) and init.ndim == 2):
        return None
    if init.dtype.kind not in "buif":
        raise TypeError(f"init must hold real numbers, has dtype {init.dtype}")
    if init.shape != (n_clusters, n_features):
        raise ValueError(f"init has shape {init.shape}, centres need ({n_clusters}, {n_features})")
    centres = init.astype(np.float64)
    if not np.isfinite(centres).all():
        raise ValueError("init has nan or infinity")
    return centres


def check_init(init: Any, names: Sequence[str]) -> None:
    """Raise unless `init` is one of the names, an array, or a sequence of label arrays."""
    if isinstance(init, str):
        check_choice("init", init, names)
    elif not ((isinstance(init, np.ndarray) and init.ndim == 2) or isinstance(init, Sequence)):
        raise TypeError(
            "init must be a name, a 2-D ndarray of centres, or a list of one label array per party"
        )


def starting_sets(
    arithmetic: ExactRows, init: Any, data: Sequence[FloatArray], random_state: Any
) -> IntArray:
    """The first sets, -1 for rows in no set, if an estimator's `init` is a name or a list of label arrays."""
    check_init(init, NAMED_STARTS)
    if not isinstance(init, str):
        return given_labels(init, arithmetic.n_clusters, data, least=-1)
    sets = random_start(arithmetic.n_clusters, sum(len(rows) for rows in data), random_state)
    return separate(arithmetic, sets) if init == "separation" else sets


def given_labels(
    init: Sequence[Any], n_clusters: int, data: Sequence[FloatArray], *, least: int = 0
) -> IntArray:
    """Validate and pool one label array per party. With `least` -1, rows may be in no set."""
    labels = check_integers(init, data, name="init", arrays="label arrays", numbers="integer labels")
    for index, array in enumerate(labels):
        if ((array < least) | (array >= n_clusters)).any():
            raise ValueError(f"init of party {index} has labels outside {least}..{n_clusters - 1}")
    pooled = np.concatenate([array.astype(np.int64) for array in labels])
    sizes = np.bincount(pooled[pooled >= 0], minlength=n_clusters)
    if (sizes == 0).any():
        raise ValueError(f"init leaves cluster {int(np.argmin(sizes))} empty")
    return pooled


def random_start(n_clusters: int, n_rows: int, random_state: Any) -> IntArray:
    """Draw a uniformly random partition of the pool without empty clusters.

    If :data:`RANDOM_DRAWS` partitions all have an empty cluster, one more is drawn. In it, n_clusters rows,
    drawn without replacement, get the labels 0, 1, ...
    """
    rng = np.random.default_rng(random_state)
    for _ in range(RANDOM_DRAWS):
        labels = rng.integers(n_clusters, size=n_rows)
        if (np.bincount(labels, minlength=n_clusters) > 0).all():
            return labels
    labels = rng.integers(n_clusters, size=n_rows)
    seats = rng.permutation(n_rows)[:n_clusters]
    labels[seats] = np.arange(n_clusters)
    return labels


def separate(arithmetic: ExactRows, sets: IntArray) -> IntArray:
    """Two rounds of Lloyd from `sets`, then only the cores of the clusters: the 1/3 rule of SecFC and k-FED.

    A core row is at most 1/3 as far from its own centre as from every other. After a random partition all
    centres nearly coincide, so one more round is needed before any row is core. A cluster without a core
    keeps all its rows. All other rows get set -1.
    """
    centres = arithmetic.means(sets)
    centres = arithmetic.means(relocate(arithmetic, centres, arithmetic.assign(centres)))
    assignment = arithmetic.assign(centres)
    sets = relocate(arithmetic, centres, assignment)
    core = (sets == assignment.labels) & arithmetic.separated(centres, assignment)
    has_core = np.bincount(sets[core], minlength=arithmetic.n_clusters) > 0
    return np.where(core | ~has_core[sets], sets, -1)
