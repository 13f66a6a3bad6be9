"""Array types that the annotations share."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
"""float64; in the field layers every value is an integer below 2**53 in magnitude."""

Shares = NDArray[np.float32]  # float32 residues: exact, because every residue lies within 2**24
Ints = NDArray[np.int64]
Labels = NDArray[np.int32]  # cluster indices, or -1 for a row that is in no set
Bools = NDArray[np.bool_]
Objects = NDArray[Any]  # dtype object holding Python integers

Data = bytes | bytearray | memoryview
"""The payload of a message."""
