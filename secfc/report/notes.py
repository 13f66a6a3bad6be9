"""What a reader should look at first, from numbers that are on the page anyway."""

from collections.abc import Sequence

FEW_ROWS = 10
"""A cluster of fewer rows says little; it is also the smallest for which spreads are ever opened."""
MOST_OF_CLUSTER, MOST_OF_ROWS = 0.9, 0.75
"""From which share of a cluster on it is one party's, if the party has at most that share of all rows."""


def notes(
    *,
    sizes: Sequence[int] | None,
    by_party: Sequence[Sequence[int] | None],
    names: Sequence[str],
    titles: Sequence[str],
    stopped_at: int | None,
) -> list[str]:
    """A sentence for each thing that may make the clusters mean less than they seem to.

    `sizes` are rows of each cluster, whose names are `titles`; `by_party` those of each party; None where
    the reader does not know them. `stopped_at` are the iterations of a run that had not converged.
    """
    found = []
    if stopped_at is not None:
        found.append(f"Labels still changed when the run stopped after {stopped_at} iterations.")
    if sizes is None:
        return found
    few = [f"cluster {titles[h]} has {size}" for h, size in enumerate(sizes) if size < FEW_ROWS]
    if few:
        found.append(f"Fewer than {FEW_ROWS} rows: {', '.join(few)}.")
    rows = sum(sizes)
    for name, own in zip(names, by_party, strict=True):
        if own is None or sum(own) > MOST_OF_ROWS * rows:
            continue
        most = [
            titles[h] for h, size in enumerate(sizes) if size >= FEW_ROWS and own[h] >= MOST_OF_CLUSTER * size
        ]
        if most:
            found.append(
                f"At least {100 * MOST_OF_CLUSTER:.0f} % of the rows of cluster {', '.join(most)} are of "
                f"{name}: this may show how that party measures, and not a kind of row."
            )
    return found
