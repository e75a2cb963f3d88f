"""The arguments of a step of `adagp.wrap`, checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from ..errors import UsageError
from .optimizer_steps import takes_phase

Closure = Callable[..., Tensor]  # (*inputs)
Update = Callable[..., object]  # (), or (phase)


def closures_of(given: Any) -> list[Closure]:
    closures = list(given) if isinstance(given, (list, tuple)) else [given]
    if not closures:
        raise UsageError("closure: got an empty list, expected one closure for each part of the batch")
    for closure in closures:
        if not callable(closure):
            raise UsageError(
                f"closure: got {type(closure).__name__}, expected a function that "
                "returns the loss, as lambda: F.cross_entropy(model(x), y)"
            )
    return closures


def check_inputs(given: Any) -> None:
    if not isinstance(given, (list, tuple)) or not all(isinstance(value, Tensor) for value in given):
        raise UsageError(f"inputs: got {type(given).__name__}, expected a list of tensors, as inputs=(x, y)")


def check_scaled(backward: object, update: Update | None) -> None:
    """With a GradScaler."""
    if backward is not None:
        raise UsageError("backward: scaler= brings its own; leave one of the two out")
    if update is not None and not takes_phase(update):
        raise UsageError(
            "update: with scaler= it must take the phase ('bp' or 'gp'): GP batches "
            "have gradients that are not scaled, and take optimizer.step()"
        )


def check_recorded(closures: Sequence[Closure], inputs: Sequence[Tensor], backward: object, scaler: object) -> None:
    """With CUDA graphs."""
    if len(closures) > 1 or backward is not None or scaler is not None or not inputs:
        raise UsageError(
            "step: graph=True takes one closure and inputs=(x, y), the batch that it is called with, and neither "
            "backward= nor scaler="
        )
    if any(value.requires_grad for value in inputs):
        raise UsageError(
            "inputs: with graph=True they take no gradients; give x.detach(), and call requires_grad_() on a copy "
            "inside the closure"
        )
