"""What makes a run of adagp.compare this one: network, first weights, data, loss, score, optimizer.

Texts and short hashes for config.toml. Two that differ are two runs, and their key says in what.
"""

from __future__ import annotations

import functools
import hashlib
import random
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

_LOOKED_AT = 64  # examples of a data set, from its first to its last
_UNSTEADY = "other in every call"  # what a hash of such a thing could say is nothing


def digest(*parts: Any) -> str:
    """A short hash of nested values: numbers, texts, tensors, arrays, functions."""
    state = hashlib.sha256()
    _feed(state, parts, frozenset(), inside=True)
    return state.hexdigest()[:16]


def network_identity(make_model: Callable[[int], Any], seeds: list[int]) -> dict[int, Any]:
    """By seed: the module's text and its first weights."""
    found: dict[int, Any] = {}
    for seed in seeds:
        model = make_model(seed)
        weights = digest(model.state_dict())
        if seed == seeds[0] and weights != digest(make_model(seed).state_dict()):
            return dict.fromkeys(seeds, {"network": digest(repr(model)), "first_weights": _UNSTEADY})
        found[seed] = {"network": digest(repr(model)), "first_weights": weights}
    return found


def data_identity(loader: Any) -> str:
    """Of some examples of a loader's data set, as the loader puts them together."""
    size = len(loader.dataset)
    numbers = sorted({i * (size - 1) // (_LOOKED_AT - 1) for i in range(_LOOKED_AT)})

    def look() -> str:
        with same_random_numbers():
            return digest(loader.collate_fn([loader.dataset[i] for i in numbers]))

    found = look()
    return found if found == look() else _UNSTEADY


def groups_identity(model: Any, optimizer: Any) -> str:
    """Which parameters an optimizer moves, in which groups, with which options."""
    names = {id(p): name for name, p in model.named_parameters()}
    return digest([
        {**{key: value for key, value in group.items() if key != "params"},
         "names": [names.get(id(p), "?") for p in group["params"]]}
        for group in optimizer.param_groups
    ])  # fmt: skip


@contextmanager
def same_random_numbers(seed: int = 0) -> Iterator[None]:
    """Inside, the global generators of the CPU begin at a seed; after, they are as before."""
    import torch

    ours, theirs = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices=[]):
        random.seed(seed)
        np.random.seed(seed)
        torch.manual_seed(seed)
        try:
            yield
        finally:
            random.setstate(ours)
            np.random.set_state(theirs)


def _feed(state: Any, value: Any, seen: frozenset[int], inside: bool) -> None:
    """Adds a value. Objects that no rule knows count by their class, and with `inside` by what they
    hold; those that a function only refers to (a logger, a data set) by their class alone."""

    def text(*words: Any) -> None:
        state.update("\x1f".join(str(word) for word in words).encode() + b"\x1e")

    def nested(kind: str, items: Any, inside: bool = inside) -> None:
        text(kind)
        for item in items:
            _feed(state, item, seen, inside)
        text("end")

    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        text(type(value).__name__, repr(value))
        return
    if hasattr(value, "detach") and hasattr(value, "dtype"):
        value = value.detach().cpu()
        text("tensor", value.dtype, tuple(value.shape))
        state.update(_bytes_of(value))
        return
    if isinstance(value, np.ndarray) and value.dtype != object:
        text("array", value.dtype, value.shape)
        state.update(np.ascontiguousarray(value).tobytes())
        return
    if id(value) in seen:
        text("again")
        return
    seen = seen | {id(value)}
    if isinstance(value, Mapping):
        nested("mapping", (part for item in value.items() for part in item))
    elif isinstance(value, (set, frozenset)):
        nested("set", sorted(value, key=repr))
    elif isinstance(value, (tuple, list)):
        nested("list", value)
    elif isinstance(value, functools.partial):
        nested("partial", (value.func, value.args, value.keywords))
    elif isinstance(value, types.MethodType):
        nested("method", (value.__func__, value.__self__))
    elif isinstance(value, types.CodeType):
        nested("code", (value.co_code, value.co_names, value.co_consts, value.co_varnames))
    elif isinstance(value, types.FunctionType) and not _is_torchs(value.__module__):
        nested("function", _function_parts(value), inside=False)
    elif isinstance(value, type) or hasattr(value, "__qualname__"):
        text("named", getattr(value, "__module__", ""), value.__qualname__)
    elif isinstance(value, types.ModuleType):
        text("module", value.__name__)
    elif hasattr(value, "state_dict") and hasattr(value, "named_parameters"):
        nested("network", (repr(value), value.state_dict()))
    else:
        text("object", type(value).__module__, type(value).__qualname__)
        if inside:
            nested("call", [getattr(type(value), "__call__", None)])
            nested("holds", [getattr(value, "__dict__", None)])


def _function_parts(function: types.FunctionType) -> list[Any]:
    """Its code, defaults, the variables around it, and the globals that it names."""
    code = function.__code__
    around = [cell.cell_contents for cell in function.__closure__ or () if _filled(cell)]
    named = {name: function.__globals__[name] for name in sorted(_names_of(code))
             if name in function.__globals__}  # fmt: skip
    return [code, function.__defaults__, function.__kwdefaults__, around, named]


def _names_of(code: types.CodeType) -> set[str]:
    inner = (c for c in code.co_consts if isinstance(c, types.CodeType))
    return set(code.co_names).union(*(_names_of(c) for c in inner))


def _filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _is_torchs(module: str | None) -> bool:
    """Code of a package does not change between two calls of compare()."""
    return (module or "").split(".")[0] in ("torch", "torchvision", "numpy")


def _bytes_of(tensor: Any) -> bytes:
    import torch

    dense = tensor.to_dense() if tensor.layout != torch.strided else tensor
    found: bytes = dense.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    return found
