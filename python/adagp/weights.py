"""Weights files (safetensors) and torch's state dicts. The C++ library reads and writes them."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core
from ._impl.extras import need
from .errors import DataError, UsageError

if TYPE_CHECKING:
    import torch

_DTYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U8": "uint8",
    "BOOL": "bool",
}
_SHOWN = 5  # names in a message


def read_weights(file: str | PathLike[str]) -> dict[str, torch.Tensor]:
    """The tensors of a safetensors file, by name, on the CPU. Stored checksums are verified.

    >>> state = adagp.weights.read_weights("runs/a/weights.safetensors")   # doctest: +SKIP
    """
    torch = need("torch", "reading weights")
    found = _core.SafeTensors.read(Path(file))
    data, out = found.data, {}
    for entry in found.entries:
        name = _DTYPES.get(entry.dtype)
        if name is None:
            raise DataError(
                f"{file}: tensor '{entry.name}' has the type {entry.dtype}, expected one of {', '.join(_DTYPES)}"
            )
        dtype = getattr(torch, name)
        # A copy of its own: the file's bytes are let go, and the tensor may be written.
        own = bytearray(data[entry.begin : entry.end])
        flat = torch.frombuffer(own, dtype=dtype) if own else torch.empty(0, dtype=dtype)
        out[entry.name] = flat.reshape(entry.shape)
    return out


def write_weights(
    file: str | PathLike[str], tensors: Mapping[str, torch.Tensor], metadata: Mapping[str, str] | None = None
) -> None:
    """Writes a state dict with checksums. The file is whole or as it was before.

    >>> adagp.weights.write_weights("a.safetensors", model.state_dict())   # doctest: +SKIP
    """
    torch = need("torch", "writing weights")
    names = {getattr(torch, name): key for key, name in _DTYPES.items()}
    entries = []
    for name, tensor in tensors.items():
        if not isinstance(tensor, torch.Tensor):
            raise UsageError(f"{file}: '{name}' is a {type(tensor).__name__}, expected a tensor")
        if tensor.dtype not in names:
            raise UsageError(
                f"{file}: '{name}' has the type {tensor.dtype}, which the format "
                "does not have; convert it with .to(torch.float32)"
            )
        plain = tensor.detach().to("cpu").contiguous()
        data = plain.reshape(-1).view(torch.uint8).numpy()
        entries.append((name, names[tensor.dtype], list(plain.shape), data))
    _core.write_safetensors(Path(file), entries, dict(metadata or {}))


def load_into(model: Any, state: Mapping[str, torch.Tensor], source: str) -> None:
    """Loads a state dict whose names and shapes must be those of the model."""
    torch = need("torch", "loading weights")
    if not isinstance(model, torch.nn.Module):
        raise UsageError(f"model: got a {type(model).__name__}, expected a torch.nn.Module")
    own = model.state_dict()
    shapes = [
        f"{name} is {_shape(state[name])} in the file and {_shape(own[name])} in the model"
        for name in own
        if name in state and state[name].shape != own[name].shape
    ]
    problems = [
        _listed("not in the file", [name for name in own if name not in state]),
        _listed("not in the model", [name for name in state if name not in own]),
        _listed("of another shape", shapes),
    ]
    told = [problem for problem in problems if problem]
    if told:
        raise DataError(
            f"{source}: does not fit the {type(model).__name__}: {'; '.join(told)}; "
            "build the model as the run did (run.config['model'])"
        )
    model.load_state_dict(dict(state))


def _shape(tensor: torch.Tensor) -> str:
    return "x".join(map(str, tensor.shape)) or "a single number"


def _listed(what: str, names: list[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{what}: {', '.join(names[:_SHOWN])}{more}"
