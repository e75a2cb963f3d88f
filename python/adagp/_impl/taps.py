"""Hooks that summarise each layer's output while the forward pass runs, and what they cover."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch import Tensor, _dynamo, nn

from ..errors import UsageError
from . import ops, reference
from .small_table import Records
from .reference import Place


def unwrapped(model: nn.Module) -> nn.Module:
    """The user's own module, inside torch.compile and DistributedDataParallel."""
    while True:
        inner = model._modules.get("_orig_mod")
        if inner is None and isinstance(model, nn.parallel.DistributedDataParallel):
            inner = model.module
        if inner is None:
            return model
        model = inner


@dataclass
class Layer:
    """A Conv2d or Linear whose weight gradient is predicted."""

    place: Place
    weight: nn.Parameter
    modules: list[nn.Module]  # several where they share the weight


class Hook:
    """One layer's forward hook. A copy of the model keeps none, and it can be pickled."""

    def __init__(self, taps: Taps, module: nn.Module, layer: int) -> None:
        self.taps, self.module, self.layer = taps, module, layer
        self.convolution = isinstance(module, nn.Conv2d)

    def __call__(self, module: nn.Module, inputs: Any, output: Tensor) -> None:
        if self.taps.active and module is self.module:
            self.taps.take(self.layer, output, self.convolution)

    def __deepcopy__(self, memo: Any) -> NoHook:
        return NoHook()

    def __reduce__(self) -> tuple[type[NoHook], tuple[()]]:
        return NoHook, ()


class NoHook:
    """What stands for a hook in a copied or loaded model."""

    def __call__(self, module: nn.Module, inputs: Any, output: Any) -> None:
        return None


class Taps:
    """The layers of a model, their hooks, and one preallocated tensor of summaries."""

    def __init__(self, model: nn.Module, optimizer: torch.optim.Optimizer, skip: Sequence[str]) -> None:
        self.model = unwrapped(model)
        _check_new(self.model)
        self._frozen: dict[str, str] = {}  # why, by name of the parameter
        self.layers = _find_layers(self.model, skip, self._frozen)
        if not self.layers:
            raise UsageError(
                f"model: {type(self.model).__name__} has no nn.Conv2d or nn.Linear whose weight "
                "can be predicted; leave some layers out of skip=, or train it with a Plan"
            )
        _check_owned(self.layers, optimizer)
        owned = {id(p) for group in optimizer.param_groups for p in group["params"]}
        self._unowned = {id(p) for p in self.model.parameters()} - owned
        devices = {layer.weight.device for layer in self.layers}
        if len(devices) > 1:
            names = ", ".join(sorted(str(device) for device in devices))
            raise UsageError(
                f"model: its layers are on several devices ({names}); "
                "move it to one, or name those of the others in skip="
            )
        weight = self.layers[0].weight
        double = weight.dtype == torch.float64
        self.rows = torch.zeros(
            sum(layer.place.filters for layer in self.layers),
            reference.SUMMARY**2,
            device=weight.device,
            dtype=torch.float64 if double else torch.float32,
        )
        self._firsts = [layer.place.first for layer in self.layers]
        self._shapes: list[torch.Size | None] = [None] * len(self.layers)  # of outputs that left cells
        self.use_kernels(ops.serves(self.rows))
        _guard_hooks()
        self.active = False
        self.uses = [0] * len(self.layers)
        self.ever_used = [False] * len(self.layers)
        self._handles = [
            module.register_forward_hook(Hook(self, module, index))
            for index, layer in enumerate(self.layers)
            for module in layer.modules
        ]

    def use_kernels(self, wanted: bool) -> None:
        """Whether the operators write the summaries, or plain torch."""
        self.kernels = wanted
        if not wanted:
            return
        most = max(layer.place.filters for layer in self.layers)
        self._workspace = ops.summary_workspace(self.rows, most)
        self._cells = self.rows.new_zeros(self.rows.shape[0] * ops.CELLS)
        self._summarise = ops.summarise()
        for written in (self.rows, self._cells, self._workspace):
            # It stays where it is: compiled networks may write to it in recorded CUDA graphs.
            _dynamo.mark_static_address(written)

    def begin(self, again: bool = False) -> None:
        """Starts a forward pass; again: one more of the same step."""
        if not again:
            self.rest()
        self.active = True

    def rest(self) -> None:
        """No forward pass of this step is looked at yet."""
        self.set_uses([0] * len(self.uses))
        self._shapes[:] = [None] * len(self._shapes)

    def set_uses(self, uses: Sequence[int]) -> None:
        """How often this step's forward pass went through each layer."""
        self.uses[:] = uses  # the list stays the same one: compiled code knows it

    def end(self) -> None:
        """After a forward pass that came to its end: the rows are complete."""
        self.active = False
        self._pool()
        self.ever_used = [ever or use > 0 for ever, use in zip(self.ever_used, self.uses)]

    def take(self, layer: int, output: Tensor, convolution: bool) -> None:
        """Summarises at once: nothing outlives its layer."""
        self.uses[layer] = use = self.uses[layer] + 1
        fits = output.dtype in ops.KINDS and output.dim() > (3 if convolution else 1)
        if use > 1:
            self._pool()  # the mean of the uses before
        if self.kernels and fits:
            if use == 1:
                self._shapes[layer] = output.shape
            first = self._firsts[layer]
            self._summarise(output, self.rows, self._cells, self._workspace, first, convolution, use)
            return
        with torch.no_grad():
            rows = self.layers[layer].place.of(self.rows)
            summary = reference.summarise(output.detach(), convolution)
            if self.uses[layer] == 1:
                rows.copy_(summary)
            else:  # used several times in one step: the mean of the uses
                rows.add_((summary - rows) / self.uses[layer])

    def _pool(self) -> None:
        """Makes the rows of all layers that left cells."""
        firsts: list[int] = []
        maps: list[int] = []
        for layer, shape in enumerate(self._shapes):
            if shape is None:
                continue
            firsts.append(self._firsts[layer])
            if isinstance(self.layers[layer].modules[0], nn.Conv2d):
                maps += (shape[0], shape[2], shape[3], shape[1])
            else:
                maps += (shape[0], shape[1:-1].numel(), 1, shape[-1])
            self._shapes[layer] = None
        if firsts:
            ops.pool_(self._cells, self.rows, firsts, maps)

    def used(self) -> list[int]:
        """The layers that the latest forward pass went through."""
        return [index for index, use in enumerate(self.uses) if use > 0]

    def follow(self) -> bool:
        """Goes where the model went; whether that was elsewhere."""
        device = self.layers[0].weight.device
        if device == self.rows.device:
            return False
        self.rows = self.rows.to(device)
        self.use_kernels(ops.serves(self.rows))
        return True

    def first_broken(self) -> str:
        """Names the first layer whose output or weight is not finite."""
        for index, layer in enumerate(self.layers):
            if not bool(torch.isfinite(layer.weight.detach()).all()):
                return f"layer '{layer.place.name}': weights not finite"
            if self.uses[index] and not bool(torch.isfinite(layer.place.of(self.rows)).all()):
                return f"layer '{layer.place.name}': output not finite"
        what = "outputs" if self.used() else "weights"
        return f"the {what} of all hooked layers are finite"

    def coverage(self, learned: Sequence[bool], method: str) -> Records:
        """One record for each parameter: its name, shape, what GP batches do to it, and why."""
        hooked = {id(layer.weight): index for index, layer in enumerate(self.layers)}
        out = Records(("parameter", "shape", "weights", "in_gp", "why"))
        for name, parameter in self.model.named_parameters():
            state, why = "frozen", self._frozen.get(name, "not the weight of a Conv2d or Linear")
            index = hooked.get(id(parameter))
            if index is not None:
                state, why = self._hooked_state(index, learned)
            elif not parameter.requires_grad:
                why = "requires_grad is False"
            elif id(parameter) in self._unowned:
                why = "the optimizer does not own it"
            if method != "adagp" and state == "predicted":
                state = {"zero": "gradient 0", "skip": "frozen"}[method]
                why = f"method '{method}'"
            out.add(name, tuple(parameter.shape), parameter.numel(), state, why)
        return out

    def _hooked_state(self, index: int, learned: Sequence[bool]) -> tuple[str, str]:
        if learned[index]:
            return "predicted", ""
        if any(self.ever_used) and not self.ever_used[index]:
            return "frozen", "its module is not called: the weight is used some other way"
        return "predicted", "after its first true gradient"

    def remove(self) -> None:
        self.active = False
        for handle in self._handles:
            handle.remove()


def _check_new(model: nn.Module) -> None:
    for name, module in model.named_modules():
        if any(isinstance(hook, Hook) for hook in module._forward_hooks.values()):
            raise UsageError(
                f"model: adagp.wrap was called on it before (layer '{name}' has its hook), and two "
                "controllers would each step the optimizer; call remove() of the first, or make the "
                "model anew"
            )
    for name, parameter in model.named_parameters():
        if parameter.is_meta:
            raise UsageError(
                f"model: '{name}' is on the meta device and has no values; call "
                "model.to_empty(device=...) and load or initialise its weights first"
            )


def _guard_hooks() -> None:
    """Without this, compiled code of a network without hooks is used for another one of its class
    that has them, and the other way round."""
    _dynamo.config.skip_nnmodule_hook_guards = False


def _find_layers(model: nn.Module, skip: Sequence[str], frozen: dict[str, str]) -> list[Layer]:
    matched = set[str]()
    layers: list[Layer] = []
    by_weight: dict[int, Layer] = {}
    first = 0
    for name, module, kind in _weight_modules(model):
        pattern = next((p for p in skip if fnmatchcase(name, p) or name.startswith(p + ".")), None)
        weight = module._parameters.get("weight")
        if pattern is not None:
            matched.add(pattern)
            frozen[_join(name, "weight")] = f"skip='{pattern}'"
        elif weight is None:
            for own, _ in module.named_parameters(recurse=True):
                frozen[_join(name, own)] = f"the weight of this {kind} is computed from others"
        elif isinstance(weight, nn.parameter.UninitializedParameter):
            raise UsageError(
                f"model: layer '{name}' ({type(module).__name__}) has no weight yet; "
                "send one batch through the model before adagp.wrap"
            )
        elif id(weight) in by_weight:
            by_weight[id(weight)].modules.append(module)
        elif weight.requires_grad:
            filters = weight.shape[0]
            place = Place(name or type(model).__name__, first, filters, weight.numel() // filters)
            layers.append(Layer(place, weight, [module]))
            by_weight[id(weight)] = layers[-1]
            first += filters
    _check_skip(skip, matched, model)
    return layers


def _weight_modules(model: nn.Module) -> Iterator[tuple[str, nn.Module, str]]:
    for name, module in model.named_modules():
        if isinstance(module, nn.Conv2d):
            yield name, module, "Conv2d"
        elif isinstance(module, nn.Linear):
            yield name, module, "Linear"


def _join(module: str, parameter: str) -> str:
    return f"{module}.{parameter}" if module else parameter


def _check_skip(skip: Sequence[str], matched: set[str], model: nn.Module) -> None:
    unused = [pattern for pattern in skip if pattern not in matched]
    if unused:
        names = [name for name, _, _ in _weight_modules(model)]
        shown = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
        raise UsageError(f"skip: '{unused[0]}' is no Conv2d or Linear of the model; there are {shown}")


def _check_owned(layers: Sequence[Layer], optimizer: torch.optim.Optimizer) -> None:
    owned = {id(p) for group in optimizer.param_groups for p in group["params"]}
    lost = [layer for layer in layers if id(layer.weight) not in owned]
    if lost:
        name = lost[0].place.name
        more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
        raise UsageError(
            f"optimizer: it does not own the weight of layer '{name}'{more}; give it to the "
            f"optimizer, call requires_grad_(False) on it, or name it: skip=('{name}',)"
        )
