"""Writes run folders of the documented format from Python (docs/run-folder.md)."""

from __future__ import annotations

import io
import json
import math
import os
import platform
import time
import weakref
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _core
from ._impl.extras import need
from ._impl.records import Record, read_records
from ._impl.toml import flat, to_toml
from .errors import DataError, UsageError
from .run import Run

if TYPE_CHECKING:
    import torch

# What belongs to a run; other files in the folder are never touched.
_FILES = (
    "summary.json",
    "config.toml",
    "metrics.jsonl",
    "layers.csv",
    "environment.json",
    "convolutions.json",
    "weights.safetensors",
    "best.safetensors",
    "checkpoint/python.pt",
)
_NEEDED = ("method", "model", "data", "seed", "epochs", "batch", "metric", "figures", "loss")
_CONDITIONS = ("data_limit", "data_test_limit", "train_examples", "test_examples", "input", "from_weights", "settings")

_writers: weakref.WeakSet[RunWriter] = weakref.WeakSet()


def _let_go() -> None:
    for writer in list(_writers):
        writer._lock.release()


# A worker of a DataLoader must not keep the lock of a process that was killed.
os.register_at_fork(after_in_child=_let_go)


def make_summary(**fields: Any) -> _core.Summary:
    """A summary from its fields; those of the conditions stand among them.

    >>> make_summary(method="bp", model="mine", data="cifar10", seed=0, epochs=15, batch=128,
    ...              metric="top1", figures={"top1": 90.5}, loss=0.3).score
    90.5
    """
    missing = [name for name in _NEEDED if name not in fields]
    if missing:
        raise UsageError(f"a summary needs {', '.join(missing)}")
    defaults = {"task": "classification", "device": "cpu", "precision": "fp32"}
    summary, conditions = _core.Summary(), _core.Conditions()
    for name, value in {**defaults, **fields}.items():
        target = conditions if name in _CONDITIONS else summary
        if name.startswith("_") or not hasattr(type(target), name):
            raise UsageError(f"a summary has no field {name!r}")
        try:
            setattr(target, name, value)
        except (TypeError, AttributeError):
            raise UsageError(
                f"{name}: got {value!r}, a {type(value).__name__}, which a summary cannot hold there"
            ) from None
    summary.conditions = conditions
    if "best" not in fields:
        summary.best = summary.score
    figures = {
        **summary.figures,
        "loss": summary.loss,
        "best": summary.best,
        "score": summary.score,
        "train_seconds": summary.train_seconds,
    }
    for name, number in figures.items():
        if not math.isfinite(number):
            raise UsageError(f"{name}: {number}; a run without a finite score has no summary")
    return summary


def write_summary(folder: str | PathLike[str], **fields: Any) -> _core.Summary:
    """Writes summary.json, which makes the run in the folder a finished one."""
    summary = make_summary(**fields)
    _core.write_file(Path(folder) / "summary.json", summary.to_json().encode())
    return summary


def finished_run(folder: Path, config: Mapping[str, Any]) -> bool:
    """Whether a folder holds the finished run of a configuration; one of another is refused."""
    if not folder.is_dir():
        return False
    _check_existing(folder, {"origin": "python", **config})
    return (folder / "summary.json").exists()


def _check_existing(folder: Path, config: Mapping[str, Any]) -> None:
    if not (folder / "config.toml").exists():
        if (folder / "summary.json").exists() or (folder / "checkpoint").exists():
            raise DataError(
                f"{folder}: has a run's files but no config.toml; choose "
                "another folder, or start anew with overwrite=True"
            )
        return
    stored = Run(folder).config
    if stored.get("origin") != "python":
        raise UsageError(
            f"{folder}: holds a run of the program; go on with it by `adagp "
            "train -o`, choose another folder, or start anew with overwrite=True"
        )
    ours, theirs = flat(config), flat(stored)
    keys = sorted(key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key))
    if keys:
        raise UsageError(
            f"{folder}: holds a run with another configuration "
            f"({', '.join(keys)}); choose another folder, or start anew with "
            "overwrite=True"
        )


class RunWriter:
    """A run folder that this process writes, and no other one meanwhile.

    >>> import tempfile
    >>> with RunWriter(tempfile.mkdtemp(), {"method": "bp", "seed": 0}) as writer:
    ...     state = writer.resume()            # what save() was given; None: begin anew
    ...     writer.record("epoch", step=10, epoch=0, test_top1=50.0)
    ...     run = writer.finish(method="bp", model="mine", data="toy", seed=0, epochs=1, batch=8,
    ...                         metric="top1", figures={"top1": 50.0}, loss=1.2)
    >>> run.finished, run.summary.score
    (True, 50.0)

    `config` becomes config.toml, with origin = "python". A folder with another configuration is
    refused, and so is one that another process works in. `overwrite=True` sets the run that is there
    aside; the first save() or finish() removes it, and close() before that puts it back.
    """

    def __init__(self, folder: str | PathLike[str], config: Mapping[str, Any], *, overwrite: bool = False) -> None:
        self.path = Path(folder)
        self._config = {"origin": "python", **config}
        text = to_toml(self._config)  # before anything is made
        self._records: _core.RecordWriter | None = None
        self._old_aside = False
        _core.make_folder(self.path)
        self._lock = _core.FolderLock(self.path)
        _writers.add(self)
        try:
            _core.settle_old_run(self.path)
            if not overwrite:
                _check_existing(self.path, self._config)
            elif _core.has_run(self.path):
                _core.set_old_run_aside(self.path)
                self._old_aside = True
            for name in _FILES:
                _core.remove_temporaries((self.path / name).parent, Path(name).name)
            if not (self.path / "config.toml").exists():
                _core.write_file(self.path / "config.toml", text.encode())
        except BaseException:
            self.close()
            raise

    def _replaced(self) -> None:
        """The new run counts from here on."""
        if self._old_aside:
            self._old_aside = False
            _core.remove_old_run(self.path)

    @property
    def finished(self) -> bool:
        """Whether summary.json is there: nothing is left to do."""
        return (self.path / "summary.json").exists()

    @property
    def last_epoch(self) -> Record | None:
        """The record of the last complete epoch, or None."""
        file = self.path / "metrics.jsonl"
        records = read_records(file) if file.exists() else []
        return next((r for r in reversed(records) if r["kind"] == "epoch"), None)

    def resume(self) -> dict[str, Any] | None:
        """What the last save() was given, and drops the records after it; None: begin anew."""
        file = self.path / "checkpoint" / "python.pt"
        if not file.exists():
            self._open(-1)
            return None
        torch = need("torch", "RunWriter.resume")
        try:
            found = torch.load(file, map_location="cpu", weights_only=True)
            step, state = int(found["step"]), dict(found["state"])
        except Exception as error:  # zip, pickle and torch each have their own
            raise DataError(
                f"{file}: cannot be read: {(str(error) or repr(error)).splitlines()[0]}"
                "; delete it to begin the run anew"
            ) from None
        self._open(step)
        return state

    def _open(self, keep_until_step: int) -> _core.RecordWriter:
        if self.finished:
            raise UsageError(f"{self.path}: the run is finished; start anew with overwrite=True")
        if self._records is not None:
            self._records.close()
        environment = {
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "python": platform.python_version(),
            "adagp": _core.VERSION,
            "cores": os.cpu_count(),
            "machine": platform.machine(),
        }
        text = json.dumps(environment, indent=2) + "\n"
        _core.write_file(self.path / "environment.json", text.encode())
        self._records = _core.RecordWriter(self.path / "metrics.jsonl", keep_until_step)
        return self._records

    def record(self, kind: str, *, step: int, **figures: Any) -> None:
        """Appends a record: "train" or "epoch" with its figures. NaN is written as null."""
        records = self._records or self._open(-1)
        entry = {"kind": kind, "step": step, **figures}
        try:
            text = json.dumps(_without_nan(entry), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise UsageError(f"{self.path}: a {kind!r} record cannot be written: {error}") from None
        records.write(text)

    def save(self, state: Mapping[str, Any], *, step: int) -> None:
        """Keeps what resume() is to return: tensors, numbers, texts, lists and dicts of them."""
        torch = need("torch", "RunWriter.save")
        buffer = io.BytesIO()
        torch.save({"step": step, "state": dict(state)}, buffer)
        _core.make_folder(self.path / "checkpoint")
        _core.write_file(self.path / "checkpoint" / "python.pt", buffer.getvalue())
        self._replaced()

    def save_weights(self, tensors: Mapping[str, torch.Tensor], best: bool = False) -> None:
        """weights.safetensors, or best.safetensors."""
        from .weights import write_weights

        name = "best.safetensors" if best else "weights.safetensors"
        write_weights(self.path / name, tensors, {"model": str(self._config.get("model", ""))})

    def finish(self, **fields: Any) -> Run:
        """Writes summary.json and lets the folder go. The checkpoint is removed."""
        write_summary(self.path, **fields)
        self._replaced()
        (self.path / "checkpoint" / "python.pt").unlink(missing_ok=True)
        self.close()
        return Run(self.path)

    def close(self) -> None:
        """Lets the folder go; the run can be resumed. A run that was to be replaced is there again
        if nothing was saved."""
        if self._records is not None:
            self._records.close()
            self._records = None
        if self._old_aside:
            self._old_aside = False
            _core.put_old_run_back(self.path)
        self._lock.release()

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _without_nan(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _without_nan(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(inner) for inner in value]
    return value
