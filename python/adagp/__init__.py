"""Does skipping backward passes pay on your model?

What you want to do, and what does it:

    know whether a method pays on my model      compare(make_model, train_loader, test_loader, epochs=15)
    see first what would run, and how long      compare(..., dry_run=True)
    use the methods that pay, in my own loop    Plan("progressive+stored-loss", train_set, ...)
    use them in Lightning or accelerate         adagp.integrations.lightning, adagp.integrations.accelerate
    predict gradients in my own loop (ADA-GP)   wrap(model, optimizer, epochs=..., steps_per_epoch=...)
    simulate training on an accelerator         simulate(model, input=(3, 224, 224), batch=128, array="32x32")
    simulate pipelines over several devices     pipeline(model, ..., stages=4); time_blocks(model, x)
    list the layers of a network                layers(model, input=(3, 224, 224))
    read a run folder, compare several          Run("runs/a"), runs("runs").compare(), runs("runs").budget()
    write run folders from my own loop          RunWriter("runs/mine", config)
    send a run to W&B or MLflow                 Run(...).to_wandb(...), Run(...).to_mlflow(...)
    see what is installed                       doctor()

``help(adagp.compare)`` and so on say more; docs/python.md says it all. Names are loaded when they are first
used, so that ``import adagp`` takes no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import errors
from ._core import VERSION as __version__
from ._core import Schedule
from .errors import DataError, DivergedError, Error, UsageError

if TYPE_CHECKING:
    from ._impl.doctor import doctor as doctor
    from .lab import DryRun as DryRun
    from .lab import compare as compare
    from .layer_table import LayerTable as LayerTable
    from .layer_table import layers as layers
    from .layer_table import networks as networks
    from .machine_sim import MachineSimulation as MachineSimulation
    from .machine_sim import machines as machines
    from .pipelines import Pipelines as Pipelines
    from .pipelines import pipeline as pipeline
    from .pipelines import time_blocks as time_blocks
    from .plan import Plan as Plan
    from .predict import Prediction as Prediction
    from .predict import wrap as wrap
    from .results import Budget as Budget
    from .results import Comparison as Comparison
    from .results import Runs as Runs
    from .results import runs as runs
    from .run import Run as Run
    from .sim import MissingMacsWarning as MissingMacsWarning
    from .sim import Simulation as Simulation
    from .sim import accelerators as accelerators
    from .sim import simulate as simulate
    from .writer import RunWriter as RunWriter

# Where each name is. No module has the name of a function: importing it would hide the function.
_LAZY = {
    "Budget": "results",
    "Comparison": "results",
    "DryRun": "lab",
    "LayerTable": "layer_table",
    "MachineSimulation": "machine_sim",
    "MissingMacsWarning": "sim",
    "Pipelines": "pipelines",
    "Plan": "plan",
    "Prediction": "predict",
    "Run": "run",
    "RunWriter": "writer",
    "Runs": "results",
    "Simulation": "sim",
    "accelerators": "sim",
    "compare": "lab",
    "doctor": "_impl.doctor",
    "layers": "layer_table",
    "machines": "machine_sim",
    "networks": "layer_table",
    "pipeline": "pipelines",
    "runs": "results",
    "simulate": "sim",
    "time_blocks": "pipelines",
    "wrap": "predict",
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


class _NotThere(UsageError, AttributeError):
    """A name whose package is not installed: help() and hasattr() pass it over."""


def __getattr__(name: str) -> Any:
    module = _LAZY.get(name)
    if name in ("export", "integrations", "stats", "weights", "writer"):
        return importlib.import_module(f".{name}", __name__)
    if module is None:
        raise AttributeError(f"module 'adagp' has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(f".{module}", __name__), name)
    except UsageError as error:
        raise _NotThere(str(error)) from None


def __dir__() -> list[str]:
    return sorted(__all__)
