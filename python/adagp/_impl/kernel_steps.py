"""Learning, and predicting with updating, by the CUDA kernels: a few launches for all layers.

The kernels work on the tensors of the shared predictor and of the user's optimizer. So a step of
`reference` and a step of the kernels can follow each other in any order.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim import optimizer as optimizer_module

from . import ops, reference
from .taps import Taps

MOST_LAYERS = 256  # that the learning kernel takes
RULES = {torch.optim.SGD: 0, torch.optim.Adam: 1, torch.optim.AdamW: 2}


class KernelSteps:
    """The two steps of the predictor as kernels. Each says False where plain torch must do it."""

    def __init__(self, predictor: reference.SharedPredictor, taps: Taps, optimizer: torch.optim.Optimizer) -> None:
        self._predictor, self._taps, self._optimizer = predictor, taps, optimizer
        self._version = -1  # of the predictor, at which the tensors below were read
        self._group_of = {id(p): index for index, group in enumerate(optimizer.param_groups) for p in group["params"]}
        self._rates: dict[int, tuple[float, Tensor]] = {}
        self._firsts = [place.first for place in predictor.places]
        self._space: Tensor | None = None  # of the learning kernels
        self._told = False

    # Learning.

    def learn(self, rows: Tensor, gradients: dict[int, Tensor]) -> bool:
        """As `SharedPredictor.learn`; a gradient may also be shaped as its weight is, with its numbers
        in the same order in memory. The kernel knows a step of all layers alone."""
        predictor = self._predictor
        count = len(predictor.places)
        some = any(predictor.seen)
        if (
            len(gradients) < count
            or count > MOST_LAYERS
            or some != all(predictor.seen)
            or any(gradient.dtype not in ops.KINDS for gradient in gradients.values())
        ):
            return False
        self._read()
        if self._space is None:
            places = predictor.places
            shapes = [place.filters for place in places], [place.cols for place in places]
            self._space = ops.learn_workspace(rows, *shapes, self._values[3].numel())
        ordered = [gradients[index] for index in range(count)]
        inputs = self._features(rows)
        ops.learn_(rows, inputs, self._firsts, ordered, self._net, self._moments, self._space, self._rate)
        predictor.seen = [True] * count
        predictor.steps += 1
        predictor.version += 1
        self._version = predictor.version
        return True

    def _read(self) -> None:
        """The predictor's tensors, and the bf16 copy of the FC that the kernels read."""
        predictor = self._predictor
        if self._version == predictor.version:
            return
        states = predictor.adam_states()
        self._values = [value.detach() for value in predictor.params.values()]
        self._low = self._values[2].bfloat16()
        self._moments = [[state[key] for state in states] for key in ("exp_avg", "exp_avg_sq", "step")]
        seen = torch.full((1,), any(predictor.seen), dtype=torch.uint8, device=self._low.device)
        self._net = [
            *self._values, self._low, predictor.mean_square, predictor.scale, seen, self._values[3].new_zeros(1)
        ]  # fmt: skip
        self._rate = self._values[3].new_full((1,), reference.RATE)
        self._version = predictor.version

    def _features(self, rows: Tensor) -> Tensor:
        return ops.features(rows, self._values[0], self._values[1])

    # Predicting and updating.

    def update(self, rows: Tensor, layers: Sequence[int]) -> bool:
        """The user's optimizer step with predicted gradients, which are never written."""
        groups = self._groups(layers)
        if isinstance(groups, str):
            if not self._told:
                warnings.warn(f"adagp.wrap: GP batches go without the update kernel: {groups}", stacklevel=4)
                self._told = True
            return False
        self._read()
        features = self._features(rows)
        for index, members in groups.items():
            group = self._optimizer.param_groups[index]
            first, second, steps = self._states(members, group)
            ops.predict_update_(
                features,
                self._low,
                self._values[3],
                self._predictor.scale,
                members,
                [self._firsts[layer] for layer in members],
                [self._taps.layers[layer].weight for layer in members],
                first,
                second,
                steps,
                self._rate_of(index, group["lr"]),
                [float(group["weight_decay"])] * len(members),
                *self._rule(group),
            )
        return True

    def _groups(self, layers: Sequence[int]) -> dict[int, list[int]] | str:
        """The layers by parameter group of the optimizer; or why its step is not the kernel's."""
        kind = type(self._optimizer)
        if kind not in RULES:
            return f"they know SGD, Adam and AdamW of torch.optim, and this is {kind.__name__}"
        if any(
            (
                self._optimizer._optimizer_step_pre_hooks,
                self._optimizer._optimizer_step_post_hooks,
                optimizer_module._global_optimizer_pre_hooks,
                optimizer_module._global_optimizer_post_hooks,
            )
        ):
            return "the optimizer has step hooks"
        out: dict[int, list[int]] = {}
        for layer in layers:
            out.setdefault(self._group_of[id(self._taps.layers[layer].weight)], []).append(layer)
        for index, members in out.items():
            group = self._optimizer.param_groups[index]
            for option in ("maximize", "amsgrad", "dampening", "differentiable"):
                if group.get(option):
                    return f"they do not know {option}={group[option]}"
            for layer in members:
                weight = self._taps.layers[layer].weight
                if weight.dtype != torch.float32 or not _dense(weight):
                    return f"layer '{self._predictor.places[layer].name}' is not a dense float32 weight"
                if kind is not torch.optim.SGD:
                    step = self._optimizer.state.get(weight, {}).get("step")
                    if step is None:
                        return "the optimizer has not stepped yet"
                    if step.device != weight.device:
                        return "this optimizer counts its steps on the CPU; make it with fused=True"
        return out

    def _states(self, layers: Sequence[int], group: dict[str, Any]) -> tuple[list[Tensor], ...]:
        if type(self._optimizer) is torch.optim.SGD:
            if not group["momentum"]:
                return [], [], []
            return [self._state(layer, "momentum_buffer") for layer in layers], [], []
        steps = [self._optimizer.state[self._taps.layers[layer].weight]["step"] for layer in layers]
        return (
            [self._state(layer, "exp_avg") for layer in layers],
            [self._state(layer, "exp_avg_sq") for layer in layers],
            steps,
        )

    def _state(self, layer: int, key: str) -> Tensor:
        """The optimizer's own tensor, laid out as the weight is."""
        weight = self._taps.layers[layer].weight
        state = self._optimizer.state[weight]
        value: Tensor | None = state.get(key)
        if value is None:  # a momentum of 0 moves on as one that is not there yet
            value = torch.zeros_like(weight, memory_format=torch.preserve_format)
        elif value.stride() != weight.stride():
            value = torch.empty_like(weight, memory_format=torch.preserve_format).copy_(value)
        else:
            return value
        state[key] = value = value.detach()
        return value

    def _rule(self, group: dict[str, Any]) -> tuple[int, list[float]]:
        kind = RULES[type(self._optimizer)]
        if kind == 0:
            return kind, [float(group["momentum"]), float(group["nesterov"]), 0.0]
        if group.get("decoupled_weight_decay"):  # Adam with this option is AdamW
            kind = 2
        return kind, [*map(float, group["betas"]), float(group["eps"])]

    def _rate_of(self, index: int, rate: float | Tensor) -> Tensor:
        """On the device; written there only when it changes."""
        if isinstance(rate, Tensor) and rate.device == self._low.device:
            return rate.detach().float().reshape(1)
        value = float(rate)
        known = self._rates.get(index)
        if known is None:
            known = (value, self._low.new_full((1,), value, dtype=torch.float32))
        elif known[0] != value:
            known = (value, known[1].fill_(value))
        self._rates[index] = known
        return known[1]


def _dense(weight: Tensor) -> bool:
    return weight.is_contiguous() or reference.stored_channels_last(weight)
