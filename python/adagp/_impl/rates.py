"""Learning rates of an optimizer by the C++ engine's policies."""

from __future__ import annotations

from typing import Any

from .. import _core


class Rates:
    def __init__(self, per_epoch: int, epochs: int) -> None:
        self._per_epoch = max(1, per_epoch)
        self._total = self._per_epoch * epochs
        self._policies: dict[tuple[Any, ...], _core.Policy] = {}

    def lr(self, base: float, keys: list[tuple[str, str]], progress: float) -> float:
        found = self._policies.get((base, *keys))
        if found is None:
            found = _core.make_policy(keys, base, self._total, self._per_epoch)
            self._policies[(base, *keys)] = found
        return found.lr(_core.nominal_step(progress, self._total))

    def set(
        self,
        optimizer: Any,
        base: float | None,
        keys: list[tuple[str, str]],
        progress: float,
        factor: float,
    ) -> None:
        for group in optimizer.param_groups:
            first = group.setdefault("initial_lr", float(group["lr"]))
            rate = self.lr(first if base is None else base, keys, progress) * factor
            if hasattr(group["lr"], "fill_"):  # a tensor, for compiled optimizers
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate
