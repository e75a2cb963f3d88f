"""Keys of recipes (docs/configuration.md) given as Python values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .errors import UsageError


def toml_text(key: str, value: Any) -> str:
    """The value as TOML.

    >>> toml_text("low_res.sizes", [16, 24, 32])
    '[16, 24, 32]'
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml_text(key, item) for item in value) + "]"
    raise UsageError(
        f"settings: {key} is a {type(value).__name__}, expected a number, a text, "
        "True or False, or a list of them"
    )


def pairs(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What the bindings take."""
    return [(key, toml_text(key, value)) for key, value in settings.items()]
