"""Arguments from Python as the texts and numbers of the program's flags."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .. import _core
from ..errors import UsageError
from .toml import toml_text

_LARGEST = 2**63 - 1


def whole(value: Any, name: str, least: int = 0, most: int = _LARGEST) -> int:
    """A whole number in a range."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise UsageError(f"{name} is {value!r}, expected a whole number")
    number = int(value.__index__())
    if not least <= number <= most:
        wanted = f"{least} or more" if most == _LARGEST else f"{least} to {most}"
        raise UsageError(f"{name} is {number}, expected {wanted}")
    return number


def optional_whole(value: Any, name: str, least: int = 1) -> int | None:
    return None if value is None else whole(value, name, least)


def number(value: Any, name: str) -> float:
    """Any number; whether it makes sense is said where it is used."""
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise UsageError(f"{name} is {value!r}, expected a number")
    return float(value)


def text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{name} is {value!r}, expected a text")
    return value


def flag(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return value
    raise UsageError(f"{name} is {value!r}, expected True or False")


def _one(value: Any, name: str) -> str:
    if isinstance(value, str):
        return value
    if hasattr(value, "__fspath__"):
        return str(value)
    if hasattr(value, "__index__") and not isinstance(value, bool):
        return str(int(value.__index__()))
    raise UsageError(f"{name} has {value!r} in it, expected texts or whole numbers")


def _pair(value: Any, name: str) -> str:
    if isinstance(value, tuple) and len(value) == 2:
        return "x".join(str(whole(side, name, 1)) for side in value)
    return _one(value, name)


def _joined(value: Any, name: str, one: Callable[[Any, str], str]) -> str:
    """Empty for None; a list of values separated by commas otherwise."""
    if value is None:
        return ""
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        return one(value, name)
    parts = [one(part, name) for part in value]
    if not parts:
        raise UsageError(f"{name} is empty, expected at least one value")
    return ",".join(parts)


def listed(value: Any, name: str) -> str:
    """A value or an iterable of values: 128, "8..64:8", range(1, 9), ["ws", "os"]."""
    return _joined(value, name, _one)


def arrays(value: Any) -> str:
    """Sizes of arrays: "12x15", (12, 15), 16 and lists of these. A tuple of two is one array."""
    if isinstance(value, tuple) and len(value) == 2 and not any(isinstance(v, str) for v in value):
        return _pair(value, "array")
    return _joined(value, "array", _pair)


def _key(name: str) -> str:
    keys = _core.accelerator_keys()
    return name if name in keys else {key.replace(".", "_"): key for key in keys}.get(name, name)


def settings(values: Any, prefix: str = "") -> list[str]:
    """{"buffer.bytes": 65536, "energy": {"mac_pj": 1.5}} as key=value; a key's dots may be
    underscores, as in keywords."""
    if values is None:
        return []
    if not isinstance(values, Mapping):
        raise UsageError(f"settings is {values!r}, expected a mapping of keys to values")
    out: list[str] = []
    for key, value in values.items():
        name = prefix + text(key, "a key of settings")
        if isinstance(value, Mapping):
            out += settings(value, name + ".")
        else:
            out.append(f"{_key(name)}={toml_text(name, value, 'settings')}")
    return out


def progress_bar(wanted: bool, unit: str) -> tuple[Callable[[int, int], None], Callable[[], None]]:
    """A callback (done, all) and what ends it: tqdm's bar, where tqdm is."""
    if not flag(wanted, "progress"):
        return (lambda done, total: None), (lambda: None)
    try:
        tqdm = importlib.import_module("tqdm.auto").tqdm
    except ImportError:
        return (lambda done, total: None), (lambda: None)
    bar = tqdm(unit=unit)

    def show(done: int, total: int) -> None:
        bar.total = total
        bar.update(done - bar.n)

    return show, bar.close
