"""Labels of all parties as one DataFrame."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from secfc.tables.printed import pandas


def frame_of(
    labels: Sequence[Any],
    parties: Sequence[str],
    names: Sequence[str],
    *,
    ids: Sequence[Sequence[Any]] | None = None,
) -> Any:
    """A pandas DataFrame with a line for each label: party, row or id, label, and name where there are names.

    `labels` has an array or Series for each party, -1 where there is none. Without `parties` they are called
    "party 1" and so on.
    """
    pd, parts = pandas(), []
    for j, of_party in enumerate(labels):
        own = np.asarray(of_party)
        rows = {"row": getattr(of_party, "index", np.arange(len(own)))} if ids is None else {"id": ids[j]}
        part = pd.DataFrame({"party": parties[j] if parties else f"party {j + 1}", **rows, "label": own})
        if names:
            part["name"] = [names[h] if h >= 0 else None for h in own]
        parts.append(part)
    return pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
