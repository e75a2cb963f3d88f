"""What is installed, and what of the package works here."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path

from .. import __version__
from ..errors import Error
from .program import program

# Packages and what they are for.
_PACKAGES = {
    "numpy": "needed",
    "torch": "compare, Plan, wrap, layers of a module, weights",
    "pandas": "tables: history, to_pandas()",
    "matplotlib": "plots",
    "tqdm": "progress bars",
    "lightning": "adagp.integrations.lightning",
    "accelerate": "adagp.integrations.accelerate",
    "wandb": "Run.to_wandb",
    "mlflow": "Run.to_mlflow",
}


def findings() -> dict[str, str]:
    """Each thing that was looked at, and what was found."""
    out = {
        "adagp": f"{__version__} in {Path(__file__).parents[1]}",
        "Python": f"{platform.python_version()} on {platform.platform()}",
    }
    for package, purpose in _PACKAGES.items():
        try:
            out[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            out[package] = f"not installed ({purpose})"
    out["kernels"] = _kernels()
    try:
        out["program"] = program()
    except Error as error:
        out["program"] = str(error)
    return out


def _kernels() -> str:
    try:
        from .ops import why_not_cuda
    except ImportError:
        return "need torch"
    return why_not_cuda() or "libadagp_ops.so loads, with CUDA"


def doctor() -> None:
    """Prints versions, which extras are there, whether the kernels load, and the program's path.

    >>> adagp.doctor()   # doctest: +SKIP
    """
    for name, found in findings().items():
        print(f"{name:<11} {found}")
    if not os.environ.get("ADAGP_PROGRAM"):
        print(
            "training    in Python: adagp.compare, adagp.Plan, adagp.wrap; the program's train and "
            "doctor need a full build: ADAGP_PROGRAM=build/bin/adagp"
        )
