"""Where the operators can be tested here: always on the CPU, on a GPU with their CUDA kernels."""

from __future__ import annotations

import pytest
import torch

from adagp._impl import ops

if ops.why_not():
    pytest.skip(ops.why_not(), allow_module_level=True)
DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() and not ops.why_not_cuda() else [])
needs_cuda = pytest.mark.skipif("cuda" not in DEVICES, reason="needs a GPU and operators with CUDA")


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> torch.device:
    return torch.device(request.param)
