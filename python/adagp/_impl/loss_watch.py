"""Whether losses stay finite, without a wait in each step."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from ..errors import DivergedError


class LossWatch:
    """On a CPU a loss is looked at at once; another device is asked now and then, for all since."""

    def __init__(self, first_broken: Callable[[], str]) -> None:
        self._first_broken = first_broken  # names a layer
        self._waiting: list[Tensor] = []

    def see(self, loss: Tensor, step: int, phase: str) -> None:
        if loss.device.type != "cpu":
            self._waiting.append(loss)
        elif not math.isfinite(loss.item()):
            raise DivergedError(
                f"loss: {loss.item()} in step {step} ({phase} batch); {self._first_broken()}; lower the learning rate"
            )

    def ask(self, step: int) -> None:
        """Waits for the device."""
        waiting, self._waiting = self._waiting, []
        if waiting and not bool(torch.stack([loss.reshape(()).float() for loss in waiting]).isfinite().all()):
            raise DivergedError(f"loss: not finite before step {step}; {self._first_broken()}; lower the learning rate")
