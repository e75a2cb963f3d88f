"""Does skipping backward passes pay on your model?

The names below are loaded when they are first used, so that ``import adagp`` takes no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import errors
from ._core import Schedule, __version__
from .errors import DataError, DivergedError, Error, UsageError

if TYPE_CHECKING:
    from ._doctor import doctor as doctor
    from .lab import compare as compare
    from .plan import Plan as Plan
    from .results import runs as runs
    from .run import Run as Run

_LAZY = {
    "Plan": "plan",
    "Run": "run",
    "compare": "lab",
    "doctor": "_doctor",
    "runs": "results",
}

__all__ = [
    "DataError",
    "DivergedError",
    "Error",
    "Schedule",
    "UsageError",
    "__version__",
    "errors",
    *_LAZY,
]


def __getattr__(name: str) -> Any:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'adagp' has no attribute {name!r}")
    return getattr(importlib.import_module(f".{module}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
