"""The measures of the papers, each named after its definition.

:mod:`~plaintext_baselines.metrics.truth` compares labels with known classes,
:mod:`~plaintext_baselines.metrics.shape` measures a clustering by the rows alone, and
:mod:`~plaintext_baselines.metrics.gap` compares centres with known centres. Parties are sequences of
array-likes of shape (n_rows_of_the_party, n_features), or (n_rows_of_the_party,) for labels. Centres have
shape (n_clusters, n_features). A centre of nan counts as missing.

References
----------
- SecFC: S. Li et al., *Secure federated clustering*.
- FKM: S. Garst and M. Reinders, *Federated k-means clustering*.
- DWF: P. Holzer et al., *Dynamically weighted federated k-means*.
- FFCM: M. Stallmann and A. Wilbik, *Towards federated clustering*.
"""

from plaintext_baselines.metrics.gap import (
    matched_knowledge_gap,
    nearest_knowledge_gap,
    normalised_knowledge_gap,
)
from plaintext_baselines.metrics.shape import (
    client_mean_score,
    k_means_score,
    outside_sse,
    silhouette,
    simplified_silhouette,
    within_sse,
)
from plaintext_baselines.metrics.truth import (
    client_weighted_ari,
    hungarian_accuracy,
    majority_accuracy,
    pooled_ari,
    v_measure,
)

__all__ = [
    "client_mean_score",
    "client_weighted_ari",
    "hungarian_accuracy",
    "k_means_score",
    "majority_accuracy",
    "matched_knowledge_gap",
    "nearest_knowledge_gap",
    "normalised_knowledge_gap",
    "outside_sse",
    "pooled_ari",
    "silhouette",
    "simplified_silhouette",
    "v_measure",
    "within_sse",
]
