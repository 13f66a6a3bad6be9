"""The measures of the papers, each named after its definition.

By what they need: :mod:`~plaintext_baselines.metrics.truth` compares labels with known classes,
:mod:`~plaintext_baselines.metrics.shape` judges a clustering by the rows alone, and
:mod:`~plaintext_baselines.metrics.gap` compares centres with known centres.
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
