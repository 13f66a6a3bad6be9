"""The mark of a site's rows in a run: it shows later whether labels are of the same rows."""

import base64
import secrets
from typing import Any

import numpy as np

from secfc.agreement.rows import SiteRows
from secfc.array_types import Ints, Labels
from secfc.journal.beginning import keyed_digest

_KEY_BYTES = 32


def mark_of(rows: SiteRows) -> dict[str, Any]:
    """Number of rows, and a digest of all the site's data under a fresh key, as JSON values."""
    key = secrets.token_bytes(_KEY_BYTES)
    return {
        "count": rows.table.rows.shape[0],
        "key": key.hex(),
        "rows": keyed_digest(rows.content(), key),
    }


def is_marked(mark: dict[str, Any], rows: SiteRows) -> bool:
    """Whether a mark is of these rows."""
    return str(mark["rows"]) == keyed_digest(rows.content(), bytes.fromhex(mark["key"]))


def union_mark(union_rows: Ints) -> str:
    """Numbers of the own rows in the union, encoded for a mark."""
    return base64.b64encode(union_rows.astype("<u4").tobytes()).decode()


def own_of(mark: dict[str, Any], labels: Labels) -> Labels | None:
    """Labels of the marked rows. `labels` are of these rows or, with membership privacy, of the union.

    None if they cannot be labels of these rows.
    """
    if "union" not in mark:
        return labels if labels.size == mark["count"] else None
    at = np.frombuffer(base64.b64decode(mark["union"]), dtype="<u4")
    return labels[at] if at.size == mark["count"] and at.max(initial=0) < labels.size else None
