"""The predictor in plain torch: definition, fallback where there are no kernels, and test oracle.

One small network serves all layers (docs/method.md). Every filter of every layer is one row:

    row [8, 8] -> conv 3x3 to 16 channels -> ReLU -> average-pool to 4x4 -> FC to the widest filter

A layer with n weights per filter uses the first n outputs of the FC. The names in `state_dict()`
are those of the C++ engine, so that each can read the other's predictor.
"""

from __future__ import annotations

from dataclasses import dataclass
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from ..errors import DataError

SUMMARY = 8  # side of the pooled activation
CHANNELS = 16
POOLED = 4
FEATURES = CHANNELS * POOLED * POOLED
RATE = 1e-4  # of the predictor's Adam
RMS_DECAY = 0.95
TINY = 1e-30  # a layer without gradient keeps a finite scale


def batch_mean(x: Tensor) -> Tensor:
    """The mean over the first axis, in fp32 (fp64 for fp64)."""
    last = x.dim() == 4 and not x.is_contiguous()
    flat = (x.permute(0, 2, 3, 1) if last else x).reshape(x.shape[0], -1)
    plain = x.device.type == "cpu" and x.dtype == torch.float32
    if plain and not torch.is_autocast_enabled("cpu"):
        # A product with a vector reads memory in order; ATen's mean over the outermost axis does
        # not, and is many times slower on a CPU.
        mean = torch.mv(flat.t(), x.new_full((x.shape[0],), 1.0 / x.shape[0]))
    else:
        mean = flat.mean(0, dtype=torch.float64 if x.dtype == torch.float64 else torch.float32)
    if last:
        return mean.view(x.shape[2], x.shape[3], x.shape[1]).permute(2, 0, 1)
    return mean.view(x.shape[1:])


def summarise(output: Tensor, convolution: bool, size: int = SUMMARY) -> Tensor:
    """What the predictor sees of a layer's output: [filters, size * size].

    A map [B, C, H, W] is averaged over the batch and pooled. Tokens [B, T, C] are a map of T x 1,
    features [B, C] a map of 1 x 1: pooling repeats a pixel where a map is smaller than `size`.
    """
    if output.dim() == (3 if convolution else 1):
        output = output.unsqueeze(0)  # one example without a batch axis
    mean = batch_mean(output)
    if convolution:
        planes = mean.unsqueeze(1)
    elif mean.dim() == 1:
        return mean.unsqueeze(1).expand(-1, size * size)
    else:
        tokens = mean.reshape(-1, mean.shape[-1])
        planes = tokens.t().reshape(tokens.shape[1], 1, tokens.shape[0], 1)
    return F.adaptive_avg_pool2d(planes, size).flatten(1)


def features(rows: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Inputs of the FC: [rows, 256]."""
    # One channel may be called channels-last, in which pooling is several times as fast.
    x = rows.view(-1, SUMMARY, SUMMARY, 1).permute(0, 3, 1, 2)
    x = torch.relu(F.conv2d(x, weight, bias, padding=1))
    return F.avg_pool2d(x, SUMMARY // POOLED).flatten(1)


def stored_channels_last(weight: Tensor) -> bool:
    return weight.dim() == 4 and not weight.is_contiguous() and weight.is_contiguous(memory_format=torch.channels_last)


def as_rows(gradient: Tensor, weight: Tensor) -> Tensor:
    """A gradient as [filters, n], in the order in which its *weight* lies in memory."""
    if stored_channels_last(weight):
        gradient = gradient.permute(0, 2, 3, 1)
    return gradient.reshape(weight.shape[0], -1)


def in_order(gradient: Tensor, weight: Tensor) -> Tensor:
    """A gradient whose numbers lie in memory as those of its *weight* do, in any shape."""
    dense = weight.is_contiguous() or weight.is_contiguous(memory_format=torch.channels_last)
    if dense and gradient.stride() == weight.stride():
        return gradient
    return as_rows(gradient, weight).contiguous()


def like_weight(rows: Tensor, weight: Tensor) -> Tensor:
    """The inverse: [filters, n] seen in the shape and memory layout of the weight."""
    if not stored_channels_last(weight):
        return rows.view(weight.shape)
    filters, channels, height, width = weight.shape
    return rows.view(filters, height, width, channels).permute(0, 3, 1, 2)


@dataclass(frozen=True)
class Place:
    """Where a layer's filters are among the rows, and how long they are."""

    name: str
    first: int
    filters: int
    cols: int

    def of(self, rows: Tensor) -> Tensor:
        return rows[self.first : self.first + self.filters]


class SharedPredictor:
    """The network, its Adam, and the running RMS of each layer's true gradient."""

    def __init__(self, places: Sequence[Place], seed: int, device: torch.device, dtype: torch.dtype) -> None:
        self.places = list(places)
        widest = max(place.cols for place in places)
        generator = torch.Generator().manual_seed(seed)

        def draw(bound: float, *shape: int) -> Tensor:
            # On the CPU in fp32: every device and precision starts from the same numbers.
            value = torch.empty(shape).uniform_(-bound, bound, generator=generator)
            return value.to(device, dtype)

        fc_bound = FEATURES**-0.5
        self.params = {
            "conv.weight": draw(1 / 3, CHANNELS, 1, 3, 3).requires_grad_(),
            "conv.bias": draw(1 / 3, CHANNELS).requires_grad_(),
            "fc.weight": draw(fc_bound, widest, FEATURES).requires_grad_(),
            "fc.bias": draw(fc_bound, widest).requires_grad_(),
        }
        self._make_adam()
        count = len(self.places)
        self.mean_square = torch.zeros(count, device=device, dtype=dtype)
        self.scale = torch.ones(count, device=device, dtype=dtype)
        self.seen = [False] * count
        self.steps = 0
        self.version = 0  # changes with every tensor above

    def macs(self) -> float:
        """Multiplications of a prediction, whatever the batch; learning takes three times as many."""
        convolution = CHANNELS * 9 * SUMMARY * SUMMARY
        return float(sum(p.filters * (convolution + FEATURES * p.cols) for p in self.places))

    def _make_adam(self) -> None:
        fused = self.params["fc.weight"].device.type in ("cpu", "cuda")
        self._adam = torch.optim.Adam(list(self.params.values()), lr=RATE, fused=fused)

    def adam_states(self) -> list[dict[str, Tensor]]:
        """Adam's own tensors of each parameter; zeros before the first step."""
        out = []
        for value in self.params.values():
            state = self._adam.state[value]
            if not state:
                on_device = value.device.type == "cuda"  # where the fused Adam counts
                state.update(
                    step=torch.zeros((), device=value.device if on_device else "cpu"),
                    exp_avg=torch.zeros_like(value),
                    exp_avg_sq=torch.zeros_like(value),
                )
            out.append(state)
        return out

    def to(self, device: torch.device) -> None:
        """Moves everything to another device."""
        state = self.state_dict()
        for name, value in self.params.items():
            self.params[name] = value.detach().to(device).requires_grad_()
        self.mean_square, self.scale = self.mean_square.to(device), self.scale.to(device)
        self._make_adam()
        self.load_state_dict(state)

    @torch.no_grad()
    def predict(self, rows: Tensor, layers: Sequence[int]) -> list[Tensor]:
        """The predicted gradients of these layers, each [filters, n]: h = s (F V^T + b)."""
        weight, bias = self.params["fc.weight"], self.params["fc.bias"]
        inputs = features(rows, self.params["conv.weight"], self.params["conv.bias"])
        out = []
        for layer in layers:
            place, scale = self.places[layer], self.scale[layer]
            # The scale goes into the small factors, so that the large product is written once.
            out.append(torch.addmm(bias[: place.cols] * scale, place.of(inputs) * scale, weight[: place.cols].t()))
        return out

    @torch.no_grad()
    def learn(self, rows: Tensor, gradients: dict[int, Tensor]) -> Tensor:
        """One Adam step on mean over layers of mean((P - g / s)^2); returns this loss.

        `gradients`: [filters, n] by layer. The FC's gradient is written by hand: autograd would
        build full-width matrices for layers that use only their first columns.
        """
        weight, bias = self.params["fc.weight"], self.params["fc.bias"]
        with torch.enable_grad():
            graph = features(rows, self.params["conv.weight"], self.params["conv.bias"])
        inputs = graph.detach()
        input_gradient = torch.zeros_like(inputs)
        weight_gradient, bias_gradient = torch.zeros_like(weight), torch.zeros_like(bias)
        loss = inputs.new_zeros(())
        for layer, gradient in gradients.items():
            place = self.places[layer]
            target = gradient.to(weight.dtype)
            self._move_scale(layer, target)
            used, given = weight[: place.cols], place.of(inputs)
            error = torch.addmm(bias[: place.cols], given, used.t())
            error.addcdiv_(target, self.scale[layer], value=-1)
            share = 2.0 / (len(gradients) * error.numel())
            flat = error.view(-1)
            loss.add_(torch.dot(flat, flat), alpha=share / 2)
            weight_gradient[: place.cols].addmm_(error.t(), given, alpha=share)
            bias_gradient[: place.cols].add_(error.sum(0), alpha=share)
            torch.addmm(given, error, used, beta=0, alpha=share, out=place.of(input_gradient))
        with torch.enable_grad():
            torch.autograd.backward(graph, input_gradient)
        weight.grad, bias.grad = weight_gradient, bias_gradient
        self._adam.step()
        self._adam.zero_grad(set_to_none=True)
        self.steps += 1
        self.version += 1
        return loss

    def _move_scale(self, layer: int, gradient: Tensor) -> None:
        """s^2 <- 0.95 s^2 + 0.05 mean(g^2); the first gradient sets it."""
        flat = gradient.reshape(-1)
        now = torch.dot(flat, flat) / flat.numel()
        average = self.mean_square[layer]
        if self.seen[layer]:
            average.mul_(RMS_DECAY).add_(now, alpha=1 - RMS_DECAY)
        else:
            average.copy_(now)
            self.seen[layer] = True
        self.scale[layer] = (average + TINY).sqrt()

    def state_dict(self) -> dict[str, Tensor]:
        """Everything a checkpoint needs, by the names of the C++ engine."""
        out: dict[str, Tensor] = {"steps": torch.tensor([self.steps])}
        moments = dict(zip(self.params, self.adam_states()))
        for name, value in self.params.items():
            out[f"param.{name}"] = value.detach().clone()
            for ours, theirs in _MOMENTS:
                out[f"optimizer.{ours}.{name}"] = moments[name][theirs].detach().clone()
        squares, scales = self.mean_square.cpu(), self.scale.cpu()
        for layer, place in enumerate(self.places):
            seen = squares.new_tensor(float(self.seen[layer]))
            out[f"rms.{place.name}"] = torch.stack([squares[layer], scales[layer], seen])
        return out

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The inverse. Raises DataError for a name that is missing or of another shape."""

        def saved(name: str, shape: Sequence[int]) -> Tensor:
            value = state.get(name)
            if not isinstance(value, Tensor) or tuple(value.shape) != tuple(shape):
                got = tuple(value.shape) if isinstance(value, Tensor) else "nothing"
                raise DataError(
                    f"predictor state: '{name}' is {got}, expected {tuple(shape)}: "
                    "was it saved for another model or another skip=?"
                )
            return value

        # All names are read before the first tensor changes.
        params = {name: saved(f"param.{name}", value.shape) for name, value in self.params.items()}
        moments = {
            name: {
                theirs: saved(f"optimizer.{ours}.{name}", () if ours == "step" else value.shape)
                for ours, theirs in _MOMENTS
            }
            for name, value in self.params.items()
        }
        rms = [saved(f"rms.{place.name}", (3,)) for place in self.places]
        steps = int(saved("steps", (1,)).item())
        with torch.no_grad():
            for name, value in self.params.items():
                value.copy_(params[name])
                fresh = {
                    key: moment.detach().clone().to(value.device, value.dtype)
                    for key, moment in moments[name].items()
                    if key != "step"
                }
                step = moments[name]["step"].detach().clone().float()
                on_device = value.device.type == "cuda"  # where the fused Adam counts
                self._adam.state[value] = {"step": step.to(value.device) if on_device else step, **fresh}
            for layer, numbers in enumerate(rms):
                self.mean_square[layer] = numbers[0]
                self.scale[layer] = numbers[1]
                self.seen[layer] = bool(numbers[2])
        self.steps = steps
        self.version += 1


_MOMENTS = (("mean", "exp_avg"), ("square", "exp_avg_sq"), ("step", "step"))
