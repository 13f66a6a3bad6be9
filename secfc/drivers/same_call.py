"""What a run was called with, as digests: another call may go on with it only if all of them are the same.

Digests are keyed, so that nothing of rows, IDs or a bound that follows from them can be read off without the
key. It lies beside them, as the parties' secrets do.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from secfc.drivers.setup import Setup
from secfc.journal.beginning import as_bytes, keyed_digest
from secfc.journal.disk import Buffer

KEY_BYTES = 32


def digests(setup: Setup, key: bytes) -> dict[str, Any]:
    """Digests of everything that a run's messages depend on, by name.

    Names of parties and the deadline are none of it.
    """

    def of(*pieces: Buffer) -> str:
        return keyed_digest(pieces, key)

    def of_array(array: np.ndarray[Any, Any]) -> str:
        whole = np.ascontiguousarray(array)
        return of(as_bytes([whole.shape, whole.dtype.str]), whole.tobytes())

    parties = range(1, setup.job.parties + 1)
    ids, starts = setup.ids or [], setup.starts or []
    return {
        "job": {name: of(as_bytes(value)) for name, value in asdict(setup.job).items()}
        | {"salt": of(setup.salt or b"")},
        "rows": [of_array(rows) for rows in setup.rows],
        "row IDs": [of(one.digests.tobytes(), one.key) for one in ids],
        "start labels": [of_array(one) for one in starts],
        "limits": [of(as_bytes(asdict(setup.limits_of(j)))) for j in parties],
    }


def differences(begun: dict[str, Any], called: dict[str, Any], names: Sequence[str]) -> list[str]:
    """What two calls differ in, without a value; `names` are of the parties of the second."""
    if begun["job"].get("n") != called["job"]["n"]:
        return ["the number of parties"]
    found = []
    for what in ("rows", "row IDs", "start labels", "limits"):
        if len(begun[what]) != len(called[what]):
            found.append(what)
            continue
        pairs = zip(names, begun[what], called[what], strict=False)  # helpers have no rows
        found += [f"{what} of {name}" for name, one, other in pairs if one != other]
    fields = sorted(begun["job"].keys() | called["job"].keys())
    return found + [name for name in fields if begun["job"].get(name) != called["job"].get(name)]
