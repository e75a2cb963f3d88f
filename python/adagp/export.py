"""Finished runs for Weights & Biases and MLflow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._impl.extras import need
from ._impl.records import Record, parse_json
from ._impl.toml import flat
from .errors import UsageError

if TYPE_CHECKING:
    from .run import Run

_NOT_FIGURES = ("kind", "step", "epoch", "probes")
_MODES = ("offline", "online", "disabled")
_PARAMETERS_A_CALL, _METRICS_A_CALL = 100, 1000  # limits of MLflow's log_batch
_LONGEST_PARAMETER = 6000


def figures_of(record: Record) -> dict[str, float]:
    """A record's figures under the names of the program's TensorBoard files: "train/loss"."""
    out: dict[str, float] = {}
    for name, value in record.items():
        if name in _NOT_FIGURES or isinstance(value, bool) or not isinstance(value, (int, float)):
            continue
        if name.startswith("test_"):
            out["test/" + name[5:]] = value
        elif name == "predictor_loss":
            out["predictor/loss"] = value
        elif record["kind"] == "train":
            out["train/" + name] = value
        else:
            out["epoch/" + name] = value
    if record["kind"] == "epoch":
        out["epoch/epoch"] = record["epoch"]
    return out


def _steps(run: Run) -> dict[int, dict[str, float]]:
    """All figures by step, as both services want them."""
    out: dict[int, dict[str, float]] = {}
    for record in run.records:
        if record["kind"] in ("train", "epoch"):
            out.setdefault(record["step"], {}).update(figures_of(record))
    return dict(sorted(out.items()))


def _result(run: Run) -> dict[str, Any]:
    """summary.json as a dict. DataError where the run is not finished."""
    found: dict[str, Any] = parse_json(run.summary.to_json())
    return found


def to_wandb(run: Run, project: str, mode: str = "offline", **options: Any) -> str:
    """Sends a finished run to Weights & Biases and returns the folder of its files.

    `mode="offline"` writes files only (`wandb sync FOLDER` sends them later); "online" sends them
    now. `options` go to wandb.init: name, dir, group, tags.

    >>> adagp.Run("runs/a").to_wandb(project="mine")   # doctest: +SKIP
    """
    if mode not in _MODES:
        raise UsageError(f"mode: got {mode!r}, expected one of {', '.join(_MODES)}")
    result = _result(run)
    steps = _steps(run)
    wandb = need("wandb", "to_wandb")
    told = {"name": run.name, "config": run.config, **options}
    sent = wandb.init(project=project, mode=mode, reinit="create_new", **told)
    try:
        folder = str(sent.dir)
        for step, figures in steps.items():
            sent.log(figures, step=step)
        sent.summary.update(result)
    finally:
        sent.finish()
    return folder.removesuffix("/files")


def to_mlflow(run: Run, tracking_uri: str, experiment: str = "adagp", weights: bool = False) -> str:
    """Sends a finished run to MLflow and returns the id of the run there.

    `tracking_uri`: a server or a file, as "http://host:5000" or "sqlite:///mlflow.db". With
    `weights` the file weights.safetensors goes along with config.toml and summary.json.

    >>> adagp.Run("runs/a").to_mlflow("sqlite:///mlflow.db")   # doctest: +SKIP
    """
    result = _result(run)
    steps = _steps(run)
    client = need("mlflow", "to_mlflow").MlflowClient(tracking_uri=tracking_uri)
    entities = need("mlflow.entities", "to_mlflow")
    found = client.get_experiment_by_name(experiment)
    into = found.experiment_id if found else client.create_experiment(experiment)
    started = client.create_run(into, run_name=run.name)
    here: str = started.info.run_id
    ended = "FAILED"
    try:
        parameters = [entities.Param(key, str(value)[:_LONGEST_PARAMETER]) for key, value in flat(run.config).items()]
        for i in range(0, len(parameters), _PARAMETERS_A_CALL):
            client.log_batch(here, params=parameters[i : i + _PARAMETERS_A_CALL])
        now = started.info.start_time
        last = max(steps, default=0)
        metrics = [
            entities.Metric(key, float(value), now, step)
            for step, figures in steps.items()
            for key, value in figures.items()
        ]
        metrics += [
            entities.Metric("summary/" + key, float(value), now, last)
            for key, value in result.items()
            if isinstance(value, (int, float)) and not isinstance(value, bool)
        ]
        for i in range(0, len(metrics), _METRICS_A_CALL):
            client.log_batch(here, metrics=metrics[i : i + _METRICS_A_CALL])
        names = ["config.toml", "summary.json"] + ["weights.safetensors"] * weights
        for name in names:
            if (run.path / name).exists():
                client.log_artifact(here, str(run.path / name))
        ended = "FINISHED"
    finally:
        client.set_terminated(here, ended)
    return here
