"""Both kernels."""

import pytest

from secfc.psu.compiled import CompiledUnionKernels
from secfc.psu.kernels import UnionKernels


@pytest.fixture(params=[UnionKernels, CompiledUnionKernels], ids=["numpy", "compiled"])
def kernels(request: pytest.FixtureRequest) -> UnionKernels:
    return request.param()
