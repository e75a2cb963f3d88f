"""How good are the predicted gradients? Measured on BP batches, where the true ones exist too."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .small_table import Records

COLUMNS = ("step", "layer", "cosine", "relative_error", "norm_ratio", "q")


class Probes:
    """Every `every` BP batches, for each layer: h predicted, g true, G true of the BP batch before.

    cosine = <h, g> / (|h| |g|); relative_error = |h - g| / |g|; norm_ratio = |h| / |g|;
    q = <h, G> / <g, G>: the progress of h on other data, relative to that of g.
    """

    def __init__(self, every: int) -> None:
        self._every = every
        self.count = 0  # measurements so far
        self._before: dict[int, Tensor] = {}
        self._waiting: list[tuple[int, list[str], Tensor]] = []
        self._table = Records(COLUMNS)

    def measures(self, batch: int) -> bool:
        """Whether BP batch number `batch` (from 0) is measured."""
        return self._every > 0 and batch > 0 and batch % self._every == 0

    def keeps(self, batch: int) -> bool:
        """Whether its gradients are the G of the next one."""
        return self._every > 0 and (batch + 1) % self._every == 0

    def keep(self, gradients: dict[int, Tensor]) -> None:
        self._before = {layer: gradient.flatten().clone() for layer, gradient in gradients.items()}

    def measure(
        self, step: int, names: Sequence[str], gradients: dict[int, Tensor], predicted: Sequence[Tensor]
    ) -> None:
        """Takes inner products on the device; nobody waits for them here."""
        sums = []
        for (layer, true), guess in zip(gradients.items(), predicted):
            h, g = guess.flatten(), true.flatten().to(guess.dtype)
            other = self._before.get(layer)
            nothing = h.new_full((), math.nan)
            before = nothing, nothing
            if other is not None:
                other = other.to(h)
                before = torch.dot(h, other), torch.dot(g, other)
            sums.append(torch.stack([torch.dot(h, g), torch.dot(h, h), torch.dot(g, g), *before]))
        self._before = {}
        self.count += 1
        if sums:
            self._waiting.append((step, [names[layer] for layer in gradients], torch.stack(sums)))

    def table(self) -> Records:
        """Waits for the device and returns everything measured so far."""
        for step, names, sums in self._waiting:
            for name, (hg, hh, gg, h_before, g_before) in zip(names, sums.tolist()):
                self._table.add(
                    step,
                    name,
                    _ratio(hg, _root(hh) * _root(gg)),
                    _ratio(_root(hh - 2 * hg + gg), _root(gg)),
                    _ratio(_root(hh), _root(gg)),
                    _ratio(h_before, g_before),
                )
        self._waiting.clear()
        return self._table

    def state_dict(self) -> dict[str, Any]:
        return {
            "table": [list(row.values()) for row in self.table()],
            "before": {layer: value.clone() for layer, value in self._before.items()},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._waiting.clear()
        self._table = Records(COLUMNS)
        for row in state["table"]:
            self._table.add(*row)
        self._before = {layer: value.clone() for layer, value in state["before"].items()}


def _ratio(above: float, below: float) -> float:
    return above / below if below != 0 else math.nan


def _root(square: float) -> float:
    return math.sqrt(square) if square > 0 else 0.0
