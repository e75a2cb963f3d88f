"""Writes config.toml: plain values, lists of them, and tables."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from .errors import UsageError

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
            lines.append(f"{name[len(path):]} = {_value(value, name)}\n")
    return "".join(lines + tables)


def _text(value: str, key: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UsageError(f"config: {key!a}: {value!a} is no Unicode text") from None
    # JSON's escapes are TOML's; it leaves DEL alone, which TOML does not.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any, key: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise UsageError(f"config: {key}: {value} does not fit into 64 bits")
        return str(int(value))
    if isinstance(value, float):
        return repr(float(value))  # nan, inf and 1e-05 are TOML as Python writes them
    if isinstance(value, str):
        return _text(value, key)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(inner, key) for inner in value) + "]"
    raise UsageError(f"config: {key}: a {type(value).__name__}, expected text, a number, true or "
                     "false, a list or a dict of these")
