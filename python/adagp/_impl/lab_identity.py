"""What makes a run of adagp.compare this one: network, first weights, data, loss, score, optimizer.

Texts and short hashes for config.toml. Two that differ are two runs, and their key says in what.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import random
import re
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from .lab_job import pair_of

_LOOKED_AT = 64  # examples of a data set, from its first to its last
_UNSTEADY = "other in every call"  # what a hash of such a thing could say is nothing

# How far a hash looks into a value. A level of its own has the code of networks: lists and tables
# that such code refers to are often caches, which fill while it runs.
_CODE = 0  # functions, classes, numbers, texts; all else by its class
_VALUES = 1  # also lists, tables and tensors: what a loss refers to (class weights)
_ALL = 2  # also what objects hold: a loss that is an object


def digest(*parts: Any, level: int = _ALL) -> str:
    """A short hash of nested values: numbers, texts, tensors, arrays, functions."""
    state = hashlib.sha256()
    _Feeder().feed(state, parts, frozenset(), level)
    return state.hexdigest()[:16]


def steady_text(value: Any) -> str:
    """Its repr without addresses, which are others in every process."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))


def network_identity(make_model: Callable[[int], Any], seeds: list[int]) -> dict[int, Any]:
    """By seed: the network (text, code of its classes, attributes), its first weights."""
    found = {seed: _of_network(make_model(seed)) for seed in seeds}
    again = _of_network(make_model(seeds[0]))
    unsteady = {key: _UNSTEADY for key in again if again[key] != found[seeds[0]][key]}
    return {seed: {**texts, **unsteady} for seed, texts in found.items()}


def _of_network(model: Any) -> dict[str, str]:
    classes, attributes = _module_parts(model)
    network = digest(steady_text(model), digest(classes, level=_CODE), digest(attributes, level=_VALUES))
    return {"network": network, "first_weights": digest(model.state_dict())}


def data_identity(loader: Any) -> tuple[str, list[Any]]:
    """Of some examples of a loader's data set, as its collate_fn makes them; and their targets.

    Each is given to collate_fn twice over: examples may differ in size, and some functions
    (mixup) take no batch of one.
    """
    size = len(loader.dataset)
    numbers = sorted({i * (size - 1) // (_LOOKED_AT - 1) for i in range(_LOOKED_AT)})

    def look() -> tuple[str, list[Any]]:
        hashes, targets = [], []
        with same_random_numbers():
            for number in numbers:
                batch = loader.collate_fn([loader.dataset[number]] * 2)
                hashes.append(digest(batch))
                targets.append(pair_of(batch)[1])
        return digest(hashes), targets

    found, targets = look()
    return found if found == look()[0] else _UNSTEADY, targets


def function_identity(function: Any, *arguments: Any) -> str:
    """Of a loss or a score. One that a call changes (it keeps a list of losses) is not known again.
    What is wrong with it the trial step says."""
    found = digest(function)
    with suppress(Exception):
        function(*arguments)
    return found if found == digest(function) else _UNSTEADY


def groups_identity(model: Any, optimizer: Any) -> str:
    """Which optimizer moves which parameters, in which groups, with which options."""
    names = {id(p): name for name, p in model.named_parameters()}
    return digest(type(optimizer), [
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


class _Feeder:
    """Adds values to a hash. Functions and classes that are met again are hashed once."""

    def __init__(self) -> None:
        # (id, level) -> the value, so that no other gets its id, and its hash
        self._known: dict[tuple[int, int], tuple[Any, bytes]] = {}

    def feed(self, state: Any, value: Any, seen: frozenset[int], level: int) -> None:
        def text(*words: Any) -> None:
            state.update("\x1f".join(str(word) for word in words).encode() + b"\x1e")

        def nested(kind: str, items: Any, level: int = level) -> None:
            text(kind)
            for item in items:
                self.feed(state, item, seen, level)
            text("end")

        if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            text(type(value).__name__, repr(value))
            return
        if id(value) in seen:
            text("again")
            return
        seen = seen | {id(value)}
        if isinstance(value, (type, types.FunctionType)):
            text("code of")
            state.update(self._code_of(value, seen, min(level, _VALUES)))
        elif isinstance(value, tuple):
            nested("list", value)
        elif isinstance(value, functools.partial):
            nested("partial", (value.func, value.args, tuple(value.keywords.items())))
        elif isinstance(value, types.MethodType):
            nested("method", (value.__func__, value.__self__))
        elif isinstance(value, types.CodeType):
            nested("code", (value.co_code, value.co_names, value.co_consts, value.co_varnames))
        elif isinstance(value, frozenset):
            nested("set", sorted(value, key=repr))
        elif hasattr(value, "__qualname__"):
            text("named", getattr(value, "__module__", ""), value.__qualname__)
        elif isinstance(value, types.ModuleType):
            text("module", value.__name__)
        elif level == _CODE:
            text("object", type(value).__module__, type(value).__qualname__)
        elif hasattr(value, "detach") and hasattr(value, "dtype"):
            value = value.detach().cpu()
            text("tensor", value.dtype, tuple(value.shape))
            state.update(_bytes_of(value))
        elif isinstance(value, np.ndarray) and value.dtype != object:
            text("array", value.dtype, value.shape)
            state.update(np.ascontiguousarray(value).tobytes())
        elif isinstance(value, Mapping):
            nested("mapping", (part for item in value.items() for part in item))
        elif isinstance(value, set):
            nested("set", sorted(value, key=repr))
        elif isinstance(value, list):
            nested("list", value)
        elif hasattr(value, "state_dict") and hasattr(value, "named_parameters"):
            nested("network", (steady_text(value), *_module_parts(value), value.state_dict()))
        elif level == _ALL:
            nested("object", (type(value), getattr(value, "__dict__", None)))
        else:
            text("object", type(value).__module__, type(value).__qualname__)

    def _code_of(self, value: Any, seen: frozenset[int], level: int) -> bytes:
        """The hash of a user's function or class. A package's is known by its name."""
        if _of_a_package(value.__module__):
            return f"{value.__module__}.{value.__qualname__}".encode()
        key = id(value), level
        if key not in self._known:
            state = hashlib.sha256()
            is_class = isinstance(value, type)
            parts = _class_parts(value) if is_class else _function_parts(value)
            self.feed(state, tuple(parts), seen, level)
            self._known[key] = value, state.digest()
        return self._known[key][1]


def _module_parts(model: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The classes of a network's modules, and their attributes that are no parameters, buffers or
    modules. A text of the network does not show them all."""
    import torch

    torchs, modules = vars(torch.nn.Module()), list(model.modules())
    attributes = (tuple((name, value) for name, value in sorted(vars(module).items())
                        if name not in torchs) for module in modules)  # fmt: skip
    return tuple(type(module) for module in modules), tuple(attributes)


def _class_parts(made: type) -> list[Any]:
    kinds = (types.FunctionType, staticmethod, classmethod, property)
    members = sorted(item for item in vars(made).items() if isinstance(item[1], kinds))
    functions = [(name, getattr(member, "__func__", getattr(member, "fget", member)))
                 for name, member in members]  # fmt: skip
    return [*made.__bases__, *functions]


def _function_parts(function: types.FunctionType) -> list[Any]:
    """Its code, defaults, the variables around it, and the globals that it names."""
    around = [cell.cell_contents for cell in function.__closure__ or () if _filled(cell)]
    named = [(name, function.__globals__[name]) for name in sorted(_globals_of(function.__code__))
             if name in function.__globals__]  # fmt: skip
    options = tuple((function.__kwdefaults__ or {}).items())
    return [function.__code__, function.__defaults__, options, *around, *named]


def _globals_of(code: types.CodeType) -> set[str]:
    """co_names has attributes, too: o.size names no global `size`."""
    inner = (c for c in code.co_consts if isinstance(c, types.CodeType))
    loads = {step.argval for step in dis.get_instructions(code)
             if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}  # fmt: skip
    return loads.union(*(_globals_of(c) for c in inner))


def _filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


@functools.lru_cache(maxsize=1024)
def _of_a_package(module: str | None) -> bool:
    """Code that is installed does not change between two calls of compare()."""
    top = (module or "").split(".")[0]
    if top in sys.stdlib_module_names or top in ("torch", "torchvision", "numpy"):
        return True
    if top == "__main__":  # its file may be a package's: python -m pytest
        return False
    file = getattr(sys.modules.get(module or ""), "__file__", None)
    return bool({"site-packages", "dist-packages"} & set(Path(file or "").parts))


def _bytes_of(tensor: Any) -> bytes:
    import torch

    dense = tensor.to_dense() if tensor.layout != torch.strided else tensor
    found: bytes = dense.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    return found
