"""Examples drawn by weights that the user gives."""

from __future__ import annotations

from typing import Any
from zlib import crc32

import numpy as np

from .. import _core
from ..errors import UsageError
from .arguments import whole

NAME = "weighted"
ABOUT = "examples drawn by the weights that you give: weights=, replacement=, draws="


def without(method: str) -> str:
    """The plan of the batches of "weighted" and of "progressive+weighted"."""
    return "+".join(part for part in method.split("+") if part != NAME) or "bp"


class WeightedExamples:
    """Which examples an epoch draws: a function of seed and epoch, so of no process and no state."""

    def __init__(self, weights: Any, examples: int, replacement: bool, draws: int | None, seed: int) -> None:
        if weights is None:
            raise UsageError("weights: the plan 'weighted' draws by them; give one number for each example")
        tensor = weights.detach().cpu() if hasattr(weights, "detach") else weights
        try:
            self.weights = np.ascontiguousarray(tensor, np.float64)
        except (TypeError, ValueError) as error:
            raise UsageError(f"weights: expected numbers, one for each example ({error})") from None
        if self.weights.shape != (examples,):
            raise UsageError(f"weights: shape {self.weights.shape}, expected ({examples},): one for each example")
        self.replacement, self.seed = bool(replacement), seed
        self.count = examples if draws is None else whole(draws, "draws", 1)
        self.of(0)  # refuses weights that cannot be drawn by

    def of(self, epoch: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        drawn: np.ndarray[Any, np.dtype[np.int64]] = _core.weighted_examples(
            self.weights, self.count, self.replacement, self.seed, epoch
        )
        return drawn

    def identity(self) -> dict[str, Any]:
        return {"weights": f"{crc32(self.weights.tobytes()):08x}", "draws": self.count,
                "replacement": self.replacement}  # fmt: skip

    def arguments(self) -> dict[str, Any]:
        return {"weights": self.weights, "draws": self.count, "replacement": self.replacement}
