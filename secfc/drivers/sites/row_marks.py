"""The mark of a site's rows in a run: it shows later whether labels are of the same rows."""

import secrets
from typing import Any

from secfc.agreement.logs.beginning import keyed_digest
from secfc.agreement.rows import SiteRows

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
