"""A user's `update` in place of `optimizer.step()`: called, and looked at whether it stepped."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ..errors import UsageError


def takes_phase(update: Callable[..., object]) -> bool:
    """Whether it wants to know "bp" or "gp": an argument named phase, or one without a default."""
    try:
        arguments = inspect.signature(update).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(
        a.name == "phase" or (a.default is a.empty and a.kind in (a.POSITIONAL_ONLY, a.POSITIONAL_OR_KEYWORD))
        for a in arguments
    )


def call_update(update: Callable[..., object], phase: str, optimizer: torch.optim.Optimizer) -> None:
    """Refuses an update that moved nothing, though it had gradients: those of the next step would
    take their place. A GradScaler leaves a step out whose gradients are not finite."""
    before = _versions(optimizer)
    with _counted_steps(optimizer) as steps:
        if takes_phase(update):
            named = "phase" in inspect.signature(update).parameters
            update(phase=phase) if named else update(phase)
        else:
            update()
    if not steps and _versions(optimizer) == before and gradients_finite(optimizer):
        raise UsageError(
            "update: it did not step the optimizer, and the gradients of this batch would be lost; "
            "call optimizer.step() in it. To gather gradients over several batches, give "
            "gp.step([closure, closure, ...]) one closure for each"
        )


def gradients_finite(optimizer: torch.optim.Optimizer) -> bool:
    """Waits for the device."""
    found = [
        torch.isfinite(p.grad).all() for group in optimizer.param_groups for p in group["params"] if p.grad is not None
    ]
    return bool(torch.stack(found).all()) if found else True


def _versions(optimizer: torch.optim.Optimizer) -> list[int]:
    return [p._version for group in optimizer.param_groups for p in group["params"]]


@contextmanager
def _counted_steps(optimizer: torch.optim.Optimizer) -> Iterator[list[int]]:
    """Calls of `optimizer.step`. A hook of the optimizer's own would keep the kernels away."""
    own, before = "step" in optimizer.__dict__, optimizer.step
    steps: list[int] = []

    @functools.wraps(before)
    def step(*args: Any, **options: Any) -> Any:
        steps.append(1)
        return before(*args, **options)

    optimizer.step = step  # type: ignore[method-assign]
    try:
        yield steps
    finally:
        if own:
            optimizer.step = before  # type: ignore[method-assign]
        else:
            del optimizer.step
