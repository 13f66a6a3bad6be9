"""Small unions for tests."""

from collections.abc import Sequence
from random import Random

import numpy as np

from secfc.psu.plan import UnionPlan
from secfc.psu.prime import Elements, P
from secfc.psu.tokens import Tokens
from secfc.tables.ids import row_ids

KEY = bytes(range(32))
SALT = bytes(range(100, 116))

Parties = Sequence[Sequence[object]]


def random_elements(shape: tuple[int, ...], seed: int) -> Elements:
    """Nonzero elements of the field."""
    random = Random(seed)
    values = [random.randrange(1, P) for _ in range(int(np.prod(shape)))]
    return np.array(values, dtype=np.uint64).reshape(shape)


def plan_for(parties: Parties, *, t: int = 1, ell: int = 1, salt: bytes = SALT, **options) -> UnionPlan:
    """A plan whose cap equals the number of these IDs."""
    options.setdefault("cap", max(1, sum(map(len, parties))))
    return UnionPlan(n=len(parties), t=t, ell=ell, salt=salt, **options)


def tokens_of(parties: Parties, salt: bytes = SALT) -> list[Tokens]:
    return [row_ids(ids, key=KEY, name=f"party {j}").tokens(salt) for j, ids in enumerate(parties, 1)]
