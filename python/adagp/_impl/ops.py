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

from .reference import FEATURES, RMS_DECAY, SUMMARY

OLDEST = (2, 11)
KINDS = (torch.float32, torch.bfloat16)  # of outputs and gradients
CELLS = (2 * SUMMARY - 1) ** 2  # the most pieces into which the windows' edges cut a map
WRITING = ("summarise_", "pool_", "predict_update_", "predictor_learn_")  # into what they are given
_library: torch.library.Library | None = None  # what it registered lives as long as it does


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
    _leave_autograd_out()
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


def summarise() -> Callable[[Tensor, Tensor, Tensor, Tensor, int, bool, int], None]:
    """(output, rows, cells, workspace, first, convolution, use): the first use of a layer leaves sums
    by cell for `pool_`, a later one goes into the mean of its uses in the rows. The operator itself:
    hooks call it for every layer."""
    operator: Callable[[Tensor, Tensor, Tensor, Tensor, int, bool, int], None]
    operator = torch.ops.adagp.summarise_.default
    return operator


def pool_(cells: Tensor, rows: Tensor, first_rows: list[int], maps: list[int]) -> None:
    """The rows of these layers from their cells, in one launch. maps: batch, height, width and
    channels of each layer."""
    torch.ops.adagp.pool_.default(cells, rows, first_rows, maps)


def features(rows: Tensor, conv_weight: Tensor, conv_bias: Tensor) -> Tensor:
    """The inputs of the predictor's FC, in bf16."""
    out: Tensor = torch.ops.adagp.features.default(rows, conv_weight, conv_bias)
    return out


def learn_workspace(rows: Tensor, filters: list[int], cols: list[int], widest: int) -> Tensor:
    """What `learn_` needs for layers of these shapes."""
    out: Tensor = torch.ops.adagp.learn_workspace.default(rows, filters, cols, widest)
    return out


def learn_(
    rows: Tensor,
    inputs: Tensor,
    first_rows: list[int],
    gradients: list[Tensor],
    net: list[Tensor],
    moments: list[list[Tensor]],
    workspace: Tensor,
    rate: Tensor,
) -> None:
    """One Adam step of the predictor on the true gradients of all layers."""
    torch.ops.adagp.predictor_learn_.default(
        rows, inputs, first_rows, gradients, net, *moments, workspace, rate, RMS_DECAY
    )


def predict_update_(*arguments: object) -> None:
    """One optimizer step of weights with predicted gradients (python/ops/ops.cpp: arguments)."""
    torch.ops.adagp.predict_update_.default(*arguments)


def _register_fakes() -> None:
    def empty_features(rows: Tensor, conv_weight: Tensor, conv_bias: Tensor) -> Tensor:
        return rows.new_empty((rows.shape[0], FEATURES), dtype=torch.bfloat16)

    torch.library.register_fake("adagp::features", empty_features)
    for name in ("summary_workspace", "learn_workspace"):
        torch.library.register_fake(f"adagp::{name}", lambda rows, *_: rows.new_empty(0, dtype=torch.uint8))
    for name in WRITING:
        torch.library.register_fake(f"adagp::{name}", lambda *_: None)


def _leave_autograd_out() -> None:
    """What only writes into its arguments has no gradient: no node, and no detach() before a call."""
    global _library
    _library = torch.library.Library("adagp", "IMPL")  # type: ignore[no-untyped-call]
    for name in WRITING:
        _library.impl(name, torch.library.fallthrough_kernel, "Autograd")  # type: ignore[no-untyped-call]
