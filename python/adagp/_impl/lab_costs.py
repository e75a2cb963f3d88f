"""What a run costs, counted in multiplications, in epochs of plain backprop."""

from __future__ import annotations

import io
import logging
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, Any

from .. import _core
from ..plan import Plan

if TYPE_CHECKING:
    import torch

    from ..layer_table import LayerTable


class Costs:
    """Multiplications of one example by the side of its images, from the layer table."""

    def __init__(self, model: Any, example: torch.Tensor, sides: Iterable[int]) -> None:
        # A prediction, in backprop steps of one example; the same for every batch.
        self.prediction = 0.0
        self._counted = True
        self.table: LayerTable | None = None  # of whole images
        self._forward: dict[int, float] = {}
        self._backprop: dict[int, float] = {}
        full = int(example.shape[-1])
        try:
            for side in {0, *sides}:
                shape = (*example.shape[:-2], side, side) if side else tuple(example.shape)
                with _quietly():
                    table = _layer_table(model, shape, example.dtype)
                self.table = self.table if side else table
                macs = [float(row.macs) for row in table]
                self._forward[side] = sum(macs)
                # As the engine counts: the gradient of what the first row was given is not needed.
                self._backprop[side] = 3 * sum(macs) - macs[0]
        except Exception as error:  # export has many ways to refuse a network
            line = next(iter(str(error).strip().splitlines()), type(error).__name__)
            warnings.warn(
                f"the network's multiplications cannot be counted ({line}); costs are counted by pixels",
                stacklevel=2,
            )
            self._counted = False
            for side in {0, *sides}:
                share = ((side or full) / full) ** 2 if example.ndim == 3 else 1.0
                self._forward[side], self._backprop[side] = share, 3 * share

    def forward(self, side: int = 0) -> float:
        """A forward pass as a share of a backprop step on whole images."""
        return self._forward[side] / self._backprop[0]

    def backprop(self, side: int = 0) -> float:
        """A backprop step on such images as a share of one on whole images."""
        return self._backprop[side] / self._backprop[0]

    def add_predictor(self, macs: float) -> None:
        """The multiplications of a prediction, for the costs of adagp."""
        if self._counted:
            self.prediction = macs / self._backprop[0]

    def batch(self, method: str, predicted: bool, side: int, examples: int) -> float:
        """A batch, in backprop steps of one example on whole images."""
        work = examples * self.backprop(side)
        if predicted:
            work = examples * self.forward() if method == "adagp" else 0.0
        if method == "adagp":  # learning takes three times as many multiplications
            work += self.prediction * (1 if predicted else 3)
        return work


@contextmanager
def _quietly() -> Iterator[None]:
    """torch.export writes pages about a network that it cannot read; one warning is enough. What
    is written of one that it can read (warnings) comes out after."""
    before, kept = logging.root.manager.disable, io.StringIO()
    logging.disable(logging.CRITICAL)
    try:
        with redirect_stdout(kept), redirect_stderr(kept):
            yield
    finally:
        logging.disable(before)
    sys.stderr.write(kept.getvalue())


def _layer_table(model: Any, shape: tuple[int, ...], dtype: Any) -> LayerTable:
    import torch

    from ..layer_table import layers

    return layers(model, torch.empty((1, *shape), dtype=dtype))


def planned_cost(plan: Plan, costs: Costs) -> float:
    """The cost of a plan's whole run, as far as can be said before it."""
    work = sum(count * times * costs.backprop(side) for side, count, times in plan.foreseen())
    return work / epoch_examples(plan)


def scheduled_cost(method: str, schedule: str, plan: Plan, costs: Costs) -> float:
    """The cost of a run in which a schedule says which batches are predicted or dropped."""
    epochs, examples = plan.epochs, plan.batch_size
    share = _core.Schedule(schedule, epochs).predicted_share(epochs, len(plan))
    exact, cheap = (costs.batch(method, predicted, 0, examples) for predicted in (False, True))
    return epochs * ((1 - share) * exact + share * cheap) / examples


def equal_cost_epochs(cost: Callable[[int], float], budget: float) -> int:
    """The length whose cost is nearest to the budget; costs grow with the length."""
    low, high = 1, 2
    while cost(high) < budget and high < 1 << 20:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if cost(middle) < budget else (low, middle)
    return low if abs(cost(low) - budget) <= abs(cost(high) - budget) else high


def epoch_examples(plan: Plan) -> int:
    """Examples of an epoch of plain backprop: whole batches."""
    return plan.examples // plan.batch_size * plan.batch_size
