"""A torch module as the JSON of its exported graph. Shapes are enough: no weight is copied."""

from __future__ import annotations

import copy
import functools
import io
import warnings
import zipfile
from collections.abc import Mapping
from typing import Any

from ..errors import DataError, UsageError
from .arguments import whole
from .extras import need

# What torch.export.save calls the graph; the second name up to torch 2.7.
_GRAPHS = ("models/model.json", "serialized_exported_program.json")


def graph_json(archive: Any, name: str) -> str:
    """The graph inside a file that torch.export.save wrote."""
    try:
        with zipfile.ZipFile(archive) as members:
            for member in members.namelist():
                if any(member == graph or member.endswith("/" + graph) for graph in _GRAPHS):
                    return members.read(member).decode("utf-8", errors="replace")
    except (zipfile.BadZipFile, NotImplementedError, EOFError, OSError) as error:
        raise DataError(f"{name}: {error}; expected what torch.export.save writes") from error
    raise DataError(
        f"{name}: has no models/model.json; expected what torch.export.save writes: "
        "torch.export.save(torch.export.export(model, (x,)), 'model.pt2')"
    )


def _on_meta(module: Any, torch: Any) -> Any:
    """A copy whose tensors have shapes and no memory."""
    memo: dict[int, Any] = {}
    kept = []  # a memo keeps no reference, and an id may be used again
    for part in module.modules():
        for value in [*part._parameters.values(), *part._buffers.values(), *vars(part).values()]:
            if not isinstance(value, torch.Tensor) or id(value) in memo:
                continue
            if isinstance(value, torch.nn.parameter.UninitializedTensorMixin):
                raise UsageError(
                    f"model: {type(part).__name__} has not seen an input yet (a lazy module); call the model once first"
                )
            empty = torch.empty_like(value, device="meta")
            if isinstance(value, torch.nn.Parameter):
                empty = torch.nn.Parameter(empty, requires_grad=value.requires_grad)
            memo[id(value)] = empty
            kept.append(value)
    return copy.deepcopy(module, memo)


def _with_plain_outputs(network: Any, torch: Any) -> Any:
    """The network with its outputs as a tuple of tensors: a file knows no other classes."""
    forward = network.forward

    @functools.wraps(forward)
    def flat(*args: Any, **keywords: Any) -> tuple[Any, ...]:
        return tuple(tensors(forward(*args, **keywords), torch))

    network.forward = flat
    return network


def tensors(value: Any, torch: Any) -> list[Any]:
    """All tensors in a nest of lists, tuples and dicts."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [one for part in value for one in tensors(part, torch)]
    return []


def _inputs(given: Any, batch: int, torch: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Example inputs on the meta device, as arguments and keywords."""

    def meta(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return torch.empty_like(value, device="meta")
        if isinstance(value, (list, tuple)):
            return type(value)(meta(one) for one in value)
        return value

    if isinstance(given, torch.Tensor):
        return (meta(given),), {}
    if isinstance(given, Mapping):
        return (), {str(name): meta(value) for name, value in given.items()}
    if isinstance(given, (tuple, list)) and given:
        if any(isinstance(one, torch.Tensor) for one in given):
            return tuple(meta(one) for one in given), {}
        shape = [whole(size, "input", 1) for size in given]
        return (torch.empty(batch, *shape, device="meta"),), {}
    raise UsageError(
        f"input is {given!r}, expected the shape of one example such as (3, 224, 224), a tensor, "
        "or a tuple or dict of tensors"
    )


def export_module(module: Any, given: Any, batch: int, train: bool) -> str:
    """The JSON of the exported graph of `module`."""
    torch = need("torch", "a table of a module")
    args, keywords = _inputs(given, whole(batch, "batch", 1), torch)
    try:
        network = _with_plain_outputs(_on_meta(module, torch).train(train), torch)
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(
            f"model: {type(module).__name__} cannot be copied ({error}); export it yourself: "
            "torch.export.save(torch.export.export(model, (x,)), 'model.pt2')"
        ) from error
    try:
        with warnings.catch_warnings(), torch.device("meta"), torch.no_grad():
            warnings.simplefilter("ignore")
            program = torch.export.export(network, args, keywords, strict=False)
            buffer = io.BytesIO()
            torch.export.save(program, buffer)
    except Exception as error:
        shapes = ", ".join(str(tuple(x.shape)) for x in args if hasattr(x, "shape"))
        raise UsageError(
            f"model: torch.export cannot read {type(module).__name__} with input {shapes}: {error}"
        ) from error
    buffer.seek(0)
    return graph_json(buffer, type(module).__name__)
