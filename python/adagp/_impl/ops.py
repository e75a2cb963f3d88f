"""The kernels as torch operators, where the library is there; otherwise why it is not.

`libadagp_ops.so` goes through torch's stable ABI and needs torch >= 2.11. Without it `reference`
does the same in plain torch.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from collections.abc import Callable

import torch
from torch import Tensor

from .reference import FEATURES, RMS_DECAY

OLDEST = (2, 11)
KINDS = (torch.float32, torch.bfloat16)  # of outputs and gradients


@cache
def why_not() -> str:
    """Loads the operators; '' if that worked, or the reason in one line."""
    if os.environ.get("ADAGP_NO_OPS"):
        return "ADAGP_NO_OPS is set"
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if version < OLDEST:
        return f"torch {torch.__version__} is here, the operators need {OLDEST[0]}.{OLDEST[1]}"
    path = Path(__file__).parents[1] / "libadagp_ops.so"
    if not path.is_file():
        return "the package was built without them (-C cmake.define.ADAGP_OPS=ON builds them)"
    load: Callable[[str], object] = torch.ops.load_library
    try:
        load(str(path))
    except OSError as error:
        return f"{path.name} does not load: {error}"
    _register_fakes()
    return ""


@cache
def why_not_cuda() -> str:
    """Why the kernels do not serve a GPU; '' if they do."""
    if why_not():
        return why_not()
    if not torch._C._dispatch_has_kernel_for_dispatch_key("adagp::summarise_", "CUDA"):
        return "the operators were built without nvcc: they have no CUDA kernels"
    return ""


def serves(tensor: Tensor) -> bool:
    """Whether the operators are to be used for this tensor.

    On a CPU they are the references: right and slow. There plain torch is used.
    """
    return tensor.is_cuda and tensor.dtype in KINDS and not why_not_cuda()


def summary_workspace(rows: Tensor, channels: int) -> Tensor:
    """What `summarise_` needs for layers of at most so many channels."""
    out: Tensor = torch.ops.adagp.summary_workspace.default(rows, channels)
    return out


def summarise() -> Callable[[Tensor, Tensor, Tensor, int, bool, int], None]:
    """(output, rows, workspace, first, convolution, use): puts the summary of a layer's output into
    its rows, or into the mean of its uses. The operator itself: hooks call it for every layer."""
    operator: Callable[[Tensor, Tensor, Tensor, int, bool, int], None]
    operator = torch.ops.adagp.summarise_.default
    return operator


def features(rows: Tensor, conv_weight: Tensor, conv_bias: Tensor) -> Tensor:
    """The inputs of the predictor's FC, in bf16."""
    out: Tensor = torch.ops.adagp.features.default(rows, conv_weight, conv_bias)
    return out


def learn_(
    rows: Tensor,
    inputs: Tensor,
    first_rows: list[int],
    gradients: list[Tensor],
    net: list[Tensor],
    moments: list[list[Tensor]],
    rate: Tensor,
) -> None:
    """One Adam step of the predictor on the true gradients of all layers."""
    torch.ops.adagp.predictor_learn_.default(rows, inputs, first_rows, gradients, net, *moments, rate, RMS_DECAY)


def predict_update_(*arguments: object) -> None:
    """One optimizer step of weights with predicted gradients (python/ops/ops.cpp: arguments)."""
    torch.ops.adagp.predict_update_.default(*arguments)


def _register_fakes() -> None:
    def empty_features(rows: Tensor, conv_weight: Tensor, conv_bias: Tensor) -> Tensor:
        return rows.new_empty((rows.shape[0], FEATURES), dtype=torch.bfloat16)

    torch.library.register_fake("adagp::features", empty_features)
    torch.library.register_fake("adagp::summary_workspace", lambda rows, _: rows.new_empty(0, dtype=torch.uint8))
    # The others write into what they are given.
    for name in ("summarise_", "predict_update_", "predictor_learn_"):
        torch.library.register_fake(f"adagp::{name}", lambda *_: None)
