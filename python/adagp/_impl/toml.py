"""Python values as TOML: config.toml as a whole, and keys of recipes one by one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ..errors import UsageError

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def to_toml(config: Mapping[str, Any], path: str = "") -> str:
    """Values first, then tables. None is left out: TOML has nothing for it.

    >>> print(to_toml({"seed": 0, "optim": {"lr": 0.1}}), end="")
    seed = 0
    <BLANKLINE>
    [optim]
    lr = 0.1
    """
    lines: list[str] = []
    tables: list[str] = []
    for key, value in config.items():
        if not isinstance(key, str):
            raise UsageError(f"config: the key {key!r} is a {type(key).__name__}, expected text")
        name = path + (key if _BARE.fullmatch(key) else _text(key, key))
        if isinstance(value, Mapping):
            tables.append(f"\n[{name}]\n" + to_toml(value, name + "."))
        elif value is not None:
            lines.append(f"{name[len(path) :]} = {toml_text(name, value)}\n")
    return "".join(lines + tables)


def _text(value: str, key: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UsageError(f"config: {key!a}: {value!a} is no Unicode text") from None
    # JSON's escapes are TOML's; it leaves DEL alone, which TOML does not.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_text(key: str, value: Any, where: str = "config") -> str:
    """One value. ``where`` begins the message of an error.

    >>> toml_text("low_res.sizes", [16, 24, 32])
    '[16, 24, 32]'
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value, key)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml_text(key, inner, where) for inner in value) + "]"
    if hasattr(value, "__index__"):  # also numpy's numbers
        number = int(value.__index__())
        if not -(2**63) <= number < 2**63:
            raise UsageError(f"{where}: {key}: {number} does not fit into 64 bits")
        return str(number)
    if hasattr(value, "__float__"):
        return repr(float(value))  # nan, inf and 1e-05 are TOML as Python writes them
    raise UsageError(
        f"{where}: {key} is a {type(value).__name__}, expected text, a number, True or False, or a list of these"
    )


def settings_pairs(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Keys of docs/configuration.md with their values, as the bindings take them."""
    return [(key, toml_text(key, value, "settings")) for key, value in settings.items()]


def flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """{"optim": {"lr": 0.1}} as {"optim.lr": 0.1}, as it is read back from a file."""
    out: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            out |= flat(value, f"{prefix}{key}.")
        elif value is not None:
            out[prefix + key] = list(value) if isinstance(value, tuple) else value
    return out
