"""The parent/child notebook on the Iowa Gambling Task: its two SSEs."""

from collections.abc import Iterator

import numpy as np
import sklearn
from sklearn.cluster import KMeans

from benchmarks.reproduce import data
from benchmarks.reproduce.common import Context, FigureRow, Secure, judged, secure_run
from benchmarks.reproduce.parts import one_part
from plaintext_baselines import ParentChildKMeans
from plaintext_baselines.metrics import k_means_score

CLUSTERS, SEED = 3, 42
FEDERATED, CENTRAL = 1498.28, 1362.196

TOLERANCE = 0.5
"""Of a sum near 1400. Another scikit-learn version draws other starts and differs by more."""


@one_part
def sums_of_squares(context: Context) -> Iterator[FigureRow]:
    """Federated and central SSE. n_init = 10 was the notebook's default; the default today is 1 ("auto")."""
    parties = data.igt_studies(context.folder)
    pool = np.concatenate(parties)
    secure = Secure.over(
        [secure_run(parties, CLUSTERS, seed=0, starts=10)],
        lambda run: k_means_score(parties, run.centres) * len(pool),
    )
    for n_init in (10, 1):
        federated = ParentChildKMeans(CLUSTERS, n_init=n_init, random_state=SEED).fit(parties)
        central = KMeans(CLUSTERS, n_init=n_init, random_state=SEED).fit(pool)
        for name, paper, ours in (
            ("federated", FEDERATED, federated.inertia_),
            ("central", CENTRAL, float(central.inertia_)),
        ):
            yield judged(
                name=name,
                setting=f"igt 2d, k = {CLUSTERS}, seed {SEED}, n_init = {n_init}",
                measure="SSE",
                paper=paper,
                ours=ours,
                tolerance=TOLERANCE,
                otherwise=(
                    f"The notebook ran scikit-learn 0.24, this is {sklearn.__version__}: one seed draws "
                    "other starts from 1.3 on. We believe ours for this version: the notebook itself gives "
                    "1526.753 and 1362.176 there with n_init = 10, 1515.618 and 1362.470 with one start."
                ),
                secure=secure,
                decimals=3,
            )
