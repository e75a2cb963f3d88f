"""Whether losses stay finite, without a wait in each step."""

from __future__ import annotations

import math
from collections.abc import Callable

from torch import Tensor

from ..errors import DivergedError


class LossWatch:
    """On a CPU a loss is looked at at once; another device is asked now and then, for all since."""

    def __init__(self, first_broken: Callable[[], str]) -> None:
        self._first_broken = first_broken  # names a layer
        self._seen: Tensor | None = None  # NaN after a loss that was not finite

    def see(self, loss: Tensor, step: int, phase: str) -> None:
        if loss.device.type != "cpu":
            if self._seen is None:
                self._seen = loss.new_zeros(())
            # At once, as a compiled network may write its next loss over this one. 0 times what is not finite is NaN.
            self._seen.add_(loss.reshape(()), alpha=0)
        elif not math.isfinite(loss.item()):
            raise DivergedError(
                f"loss: {loss.item()} in step {step} ({phase} batch); {self._first_broken()}; lower the learning rate"
            )

    def ask(self, step: int) -> None:
        """Waits for the device."""
        seen, self._seen = self._seen, None
        if seen is not None and not math.isfinite(seen.item()):
            raise DivergedError(f"loss: not finite before step {step}; {self._first_broken()}; lower the learning rate")
