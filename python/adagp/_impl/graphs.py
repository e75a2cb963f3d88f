"""The passes of a network as CUDA graphs: recorded by torch once for each shape, then replayed.

Recorded is what the closure and its backward pass queue on the GPU. What follows (the predictor, the
optimizer, the user's `update`) is queued as always, while the GPU still works on the replay.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import Error, UsageError
from .taps import Taps

# cuDNN chooses its algorithms in the first step, lazily made buffers are all there after the second.
WARM_UPS = 2
MOST = 64  # recordings


class Graph:
    """What `work` queues on the GPU. Only replaying runs it."""

    def __init__(self, work: Callable[[], Tensor], pool: Any) -> None:
        self._graph = torch.cuda.CUDAGraph()
        # The outer one brings the stream back where the recording cannot be ended.
        with torch.cuda.stream(torch.cuda.current_stream()):
            with torch.cuda.graph(self._graph, pool=pool, capture_error_mode="thread_local"):
                self.result = work()

    def replay(self) -> None:
        self._graph.replay()


@dataclass
class Recording:
    graph: Graph
    around: tuple[object, ...]  # the closure and the rows; kept, so that nothing else gets their places in memory
    inputs: list[Tensor]  # the recording's own
    gradients: list[tuple[nn.Parameter, Tensor]]
    uses: list[int]  # of the layers


class Graphs:
    """The recordings of one model, found by what a recording has fixed."""

    def __init__(self, model: nn.Module, taps: Taps, optimizer: torch.optim.Optimizer) -> None:
        _refuse_distributed(model.modules())  # also inside torch.compile
        self._taps, self._optimizer = taps, optimizer
        self._seen: dict[Hashable, int] = {}
        self._recordings: dict[Hashable, Recording] = {}
        self._pool: Any = None  # they run one after the other, and each leaves its memory to the next
        self._told = False

    def __len__(self) -> int:
        return len(self._recordings)

    def run(
        self,
        kind: Hashable,
        closure: Callable[..., Tensor],
        inputs: Sequence[Tensor],
        work: Callable[[Sequence[Tensor]], Tensor],
    ) -> Tensor:
        """`work(inputs)`, which returns the loss; from the third time on as a replay. A CPU has no graphs."""
        if not records_on(self._taps.rows.device):
            return work(inputs)
        if torch.is_autocast_enabled(self._taps.rows.device.type):
            raise UsageError("closure: with graph=True torch.autocast belongs inside it, not around step()")
        around = (*_around(closure), self._taps.rows)  # with the rows all moves that hooks write to
        modules = _modules((self._taps.model, *around))
        tensors = (*self._parameters(), *(value for value in around if isinstance(value, Tensor)))
        key = (kind, *map(id, around), *map(_form, inputs), *_places(modules, tensors))
        known = self._recordings.get(key)
        if known is None:
            _refuse_distributed(modules)
            self._check_owned()
            if not self._is_warm(key):
                return work(inputs)
            known = self._recordings[key] = self._record(around, inputs, work)
        for own, value in zip(known.inputs, inputs):
            # The loop may write its next batch into pinned memory as soon as this returns.
            own.copy_(value, non_blocking=value.is_cuda)
        known.graph.replay()
        self._taps.set_uses(known.uses)
        for parameter, gradient in known.gradients:
            parameter.grad = gradient
        return known.graph.result.clone()

    def _is_warm(self, key: Hashable) -> bool:
        """Counts the step. Only so many kinds of steps are counted, and so recorded."""
        if key in self._seen or len(self._seen) < MOST:
            self._seen[key] = self._seen.get(key, 0) + 1
            return self._seen[key] > WARM_UPS
        if not self._told:
            self._told = True
            warnings.warn(
                f"adagp.wrap: the first {MOST} shapes of batches and kinds of closures are recorded as CUDA graphs, "
                "others are not. What changes from batch to batch belongs into inputs=",
                stacklevel=6,
            )
        return False

    def _record(
        self, around: tuple[object, ...], inputs: Sequence[Tensor], work: Callable[[Sequence[Tensor]], Tensor]
    ) -> Recording:
        own = [value.to(self._taps.rows.device, copy=True) for value in inputs]
        if self._pool is None:
            self._pool = torch.cuda.graph_pool_handle()
        try:
            graph = Graph(lambda: work(own), self._pool)
        except (Error, torch.cuda.OutOfMemoryError):
            raise
        except RuntimeError as error:
            # Of the two errors, that of the closure and that of ending the recording, the first says more.
            said = error.__context__ or error
            first = (str(said).splitlines() or [type(said).__name__])[0]
            raise UsageError(
                f"closure: it cannot be recorded as a CUDA graph ({first}); it must not wait for the GPU, as .item() "
                "and .cpu() do, nor make tensors from numbers. Start Python again, without graph=True or with another "
                "closure: after a broken recording torch draws no random numbers on this GPU"
            ) from error
        gradients = [(p, p.grad) for p in self._parameters() if p.grad is not None]
        return Recording(graph, around, own, gradients, list(self._taps.uses))

    def _parameters(self) -> Iterator[nn.Parameter]:
        for group in self._optimizer.param_groups:
            yield from group["params"]

    def _check_owned(self) -> None:
        """A recording gives gradients to the optimizer's parameters alone."""
        owned = set(map(id, self._parameters()))
        for name, parameter in self._taps.model.named_parameters():
            if parameter.requires_grad and id(parameter) not in owned:
                raise UsageError(
                    f"graph: the optimizer does not own '{name}', and a replay gives it no gradient; give it to the "
                    "optimizer, or call requires_grad_(False) on it"
                )


def records_on(device: torch.device) -> bool:
    return device.type == "cuda"


def _around(closure: Callable[..., Tensor]) -> tuple[object, ...]:
    """What a function is made of: its text and the objects it refers to, but for those of its module."""
    if isinstance(closure, functools.partial):
        return *_around(closure.func), *closure.args, *closure.keywords, *closure.keywords.values()
    code = getattr(closure, "__code__", None)
    if code is None:
        return (closure,)
    cells = [_contents(cell) for cell in getattr(closure, "__closure__", None) or ()]
    defaults = getattr(closure, "__defaults__", None) or ()
    by_name = getattr(closure, "__kwdefaults__", None) or {}
    return code, getattr(closure, "__self__", None), *defaults, *by_name.values(), *cells


def _contents(cell: Any) -> object:
    """None for a name that has no value yet, or no longer."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _modules(roots: Iterable[object]) -> list[nn.Module]:
    """Those among the roots and inside them, each once."""
    seen = set[nn.Module]()
    return [inner for root in roots if isinstance(root, nn.Module) for _, inner in root.named_modules(seen)]


def _refuse_distributed(modules: Iterable[nn.Module]) -> None:
    if any(isinstance(module, nn.parallel.DistributedDataParallel) for module in modules):
        raise UsageError("graph: a model in DistributedDataParallel is not recorded; leave graph=True out")


def _places(modules: Iterable[nn.Module], tensors: Iterable[Tensor]) -> Iterator[int]:
    """The mode of each module, where its numbers and these tensors are, and which of them learn."""
    for module in modules:
        yield module.training
        for tensor in (*module._parameters.values(), *module._buffers.values()):
            if tensor is not None:
                yield _place(tensor)
    yield from map(_place, tensors)


def _place(tensor: Tensor) -> int:
    """Where it is, and in the last bit, which no address of numbers that can learn uses, whether it learns."""
    # A sparse tensor has no address.
    return (tensor.data_ptr() if tensor.layout == torch.strided else id(tensor)) | tensor.requires_grad


def _form(value: Tensor) -> Hashable:
    return value.shape, value.stride(), value.dtype, value.device
