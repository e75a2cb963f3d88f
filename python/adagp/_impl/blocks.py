"""How long the blocks of a model take, for pipelines."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .. import _core
from ..errors import UsageError
from .arguments import whole
from .batch_tensors import map_tensors
from .extras import need
from .export import tensors


class BlockTimes:
    """Measured costs of a model's blocks in the order in which they run; `pipeline` takes them."""

    unit = "seconds"

    def __init__(self, items: list[dict[str, Any]]) -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._items)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return self._items[index]

    def to_pandas(self) -> Any:
        return need("pandas", "BlockTimes.to_pandas").DataFrame(self._items)

    def __repr__(self) -> str:
        forward = sum(item["forward"] for item in self._items)
        backward = sum(item["backward"] for item in self._items)
        return f"<BlockTimes of {len(self)} blocks: forward {forward:.4g} s, backward {backward:.4g} s>"


def _blocks(model: Any, torch: Any, prefix: str = "") -> list[tuple[str, Any]]:
    """Children, and in place of sequential ones theirs."""
    out: list[tuple[str, Any]] = []
    for name, child in model.named_children():
        path = prefix + name
        if isinstance(child, (torch.nn.Sequential, torch.nn.ModuleList)):
            out += _blocks(child, torch, path + ".")
        else:
            out.append((path, child))
    return out


class _Call:
    """A call of a block that the model made."""

    def __init__(self, name: str, block: Any, args: Any, keywords: Any, output: Any) -> None:
        self.name, self.block, self.args, self.keywords, self.output = (
            name, block, args, keywords, output)  # fmt: skip


def _record(model: Any, blocks: list[tuple[str, Any]], args: Any, torch: Any) -> list[_Call]:
    calls: list[_Call] = []
    uses: dict[str, int] = {}

    def hook_of(name: str) -> Callable[..., None]:
        def hook(block: Any, inputs: Any, keywords: Any, output: Any) -> None:
            uses[name] = uses.get(name, 0) + 1
            shown = name if uses[name] == 1 else f"{name}#{uses[name]}"
            calls.append(_Call(shown, block, inputs, keywords, output))

        return hook

    handles = [block.register_forward_hook(hook_of(name), with_kwargs=True) for name, block in blocks]
    try:
        with torch.no_grad():
            model(*args)
    finally:
        for handle in handles:
            handle.remove()
    return calls


def _seconds(prepare: Callable[[], Any], work: Callable[[Any], Any], wait: Callable[[], None], repeats: int) -> float:
    """The shortest of several times of `work`: whatever else runs only adds."""
    best = float("inf")
    for _ in range(repeats):
        prepared = prepare()
        wait()
        start = time.perf_counter()
        work(prepared)
        wait()
        best = min(best, time.perf_counter() - start)
    return best


def _measure(call: _Call, torch: Any, wait: Callable[[], None], repeats: int) -> dict[str, Any]:
    def leaf(tensor: Any) -> Any:
        return tensor.detach().clone().requires_grad_(tensor.is_floating_point())

    given = map_tensors((call.args, call.keywords), leaf)
    sources = [t for t in tensors(given, torch) if t.requires_grad]
    sources += [p for p in call.block.parameters() if p.requires_grad]

    def inputs() -> Any:  # a block may work in place, which leaves do not allow
        return map_tensors(given, lambda tensor: tensor.clone())

    def forward(prepared: Any) -> list[Any]:
        outputs = tensors(call.block(*prepared[0], **prepared[1]), torch)
        return [one for one in outputs if one.requires_grad]

    def backward(outputs: list[Any]) -> None:
        seeds = [torch.ones_like(one) for one in outputs]
        torch.autograd.grad(outputs, sources, seeds, allow_unused=True)

    with torch.enable_grad():
        trains = bool(forward(inputs())) and bool(sources)  # the first call also warms up
        taken = _seconds(inputs, forward, wait, repeats)
        back = _seconds(lambda: forward(inputs()), backward, wait, repeats) if trains else 0.0
    size = sum(t.numel() * t.element_size() for t in tensors(call.output, torch))
    weights = sum(p.numel() * p.element_size() for p in call.block.parameters())
    return {
        "name": call.name,
        "forward": taken,
        "backward": back,
        "output_bytes": size,
        "weight_bytes": weights,
        "kept_bytes": size,  # the next block's input, at least
    }


def time_blocks(model: Any, x: Any, *, repeats: int = 5) -> BlockTimes:
    """Times the blocks of a model: its children, and the parts of sequential ones.

    `x` is one micro-batch (a tensor, or a tuple of arguments) on the model's device. Each block is
    timed alone, forward and backward; `repeats` times, of which the shortest counts. What the model
    computes between its blocks is not timed. The model is left as it was.

    >>> import adagp, torch
    >>> net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    >>> [block["name"] for block in adagp.time_blocks(net, torch.rand(4, 8))]
    ['0', '1', '2']
    """
    torch = need("torch", "time_blocks")
    whole(repeats, "repeats", 1, 1000)
    if not isinstance(model, torch.nn.Module):
        raise UsageError(f"model is a {type(model).__name__}, expected a torch module")
    args = x if isinstance(x, tuple) else (x,)
    inputs = tensors(args, torch)
    if not inputs:
        raise UsageError(f"x is a {type(x).__name__}, expected a tensor or a tuple of tensors")
    state = {name: value.detach().clone() for name, value in model.named_buffers()}

    def wait() -> None:
        if inputs[0].device.type == "cuda":
            torch.cuda.synchronize(inputs[0].device)

    try:
        calls = _record(model, _blocks(model, torch), args, torch)
        if not calls:
            raise UsageError(f"model: {type(model).__name__} has no blocks that its forward calls")
        return BlockTimes([_measure(call, torch, wait, repeats) for call in calls])
    finally:
        with torch.no_grad():  # running means of norms moved
            for name, value in model.named_buffers():
                value.copy_(state[name])


def set_costs(options: _core.PipelineOptions, costs: Any) -> None:
    """A file, a DataFrame, a list of dicts or what `time_blocks` measured."""
    if isinstance(costs, str) or hasattr(costs, "__fspath__"):
        options.costs_file = str(costs)
        return
    if isinstance(costs, BlockTimes):
        options.items_unit = costs.unit
        costs = list(costs)
    elif hasattr(costs, "to_dict") and hasattr(costs, "columns"):
        costs = costs.to_dict("records")
    if not isinstance(costs, (list, tuple)) or not all(isinstance(c, Mapping) for c in costs):
        raise UsageError(
            f"costs is a {type(costs).__name__}, expected a file, a DataFrame, a list of dicts "
            "with forward and backward, or what adagp.time_blocks returns"
        )
    try:
        items = json.dumps([dict(one) for one in costs], allow_nan=True, default=float)
    except (TypeError, ValueError) as error:
        raise UsageError(f"costs: {error}; expected numbers and names") from error
    options.set_costs(items, "costs")
