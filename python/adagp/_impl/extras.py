"""Packages that are asked for when they are needed: numpy is the only one that must be there."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..errors import UsageError

# The extra of pyproject.toml that brings a package, where its name is another one.
_EXTRAS = {"matplotlib": "plot"}
# No extra: the reader installs them by their own names.
_OTHERS = ("wandb", "mlflow", "tomli")


def need(module: str, what: str) -> Any:
    """The module, or a UsageError that says how to install it. `what`: "Run.history"."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        if error.name is not None and error.name.split(".")[0] != package:
            raise  # it is there, and something of its own is missing
        extra = package if package in _OTHERS else f"'adagp[{_EXTRAS.get(package, package)}]'"
        raise UsageError(f"{what} needs {package}: pip install {extra}") from None
