"""What a run costs, counted in multiplications, in epochs of plain backprop."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from . import _core
from .plan import Plan

if TYPE_CHECKING:
    import torch


class Costs:
    """Multiplications of one example by the side of its images, from the layer table."""

    def __init__(self, model: Any, example: torch.Tensor, sides: Iterable[int]) -> None:
        self._forward: dict[int, float] = {}
        self._backprop: dict[int, float] = {}
        full = int(example.shape[-1])
        for side in {0, *sides}:
            shape = (*example.shape[:-2], side, side) if side else tuple(example.shape)
            try:
                macs = _products(model, shape, example.dtype)
            except Exception as error:  # export has many ways to refuse a network
                warnings.warn(
                    f"the network's multiplications cannot be counted ({error}); costs are "
                    "counted by pixels",
                    stacklevel=2,
                )
                macs = [((side or full) / full) ** 2] if example.ndim == 3 else [1.0]
                self._forward[side], self._backprop[side] = macs[0], 3 * macs[0]
                continue
            self._forward[side] = sum(macs)
            # The gradient of the network's input is not needed.
            self._backprop[side] = 3 * sum(macs) - macs[0]

    def forward(self, side: int = 0) -> float:
        """A forward pass as a share of a backprop step on whole images."""
        return self._forward[side] / self._backprop[0]

    def backprop(self, side: int = 0) -> float:
        """A backprop step on such images as a share of one on whole images."""
        return self._backprop[side] / self._backprop[0]


def _products(model: Any, shape: tuple[int, ...], dtype: Any) -> list[float]:
    import torch

    from .layer_table import layers

    table = layers(model, torch.empty((1, *shape), dtype=dtype))
    return [float(row.macs) for row in table if row.macs > 0]


def planned_cost(plan: Plan, costs: Costs) -> float:
    """The cost of a plan's whole run, as far as can be said before it."""
    work = sum(count * times * costs.backprop(side) for side, count, times in plan.foreseen())
    return work / _epoch(plan.examples, plan.batch_size)


def scheduled_cost(
    schedule: str, epochs: int, per_epoch: int, gp_batch: float
) -> float:
    """The cost of a run whose GP batches cost a share of a BP batch."""
    share = _core.Schedule(schedule, epochs).predicted_share(epochs, per_epoch)
    return epochs * (1 - share + share * gp_batch)


def equal_cost_epochs(cost: Callable[[int], float], budget: float) -> int:
    """The length whose cost is nearest to the budget; costs grow with the length."""
    low, high = 1, 2
    while cost(high) < budget and high < 1 << 20:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if cost(middle) < budget else (low, middle)
    return low if abs(cost(low) - budget) <= abs(cost(high) - budget) else high


def _epoch(examples: int, batch: int) -> int:
    """Examples of an epoch of plain backprop: whole batches."""
    return examples // batch * batch
