"""A run folder, finished or not, of the program or of this package (docs/run-folder.md)."""

from __future__ import annotations

import csv
import html
import io
import sys
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core
from ._impl.extras import need
from ._impl.records import Columns, Record, decode, probe_columns, read_bytes, read_records, to_columns
from ._impl.showing import finish_axes
from .errors import DataError, UsageError

if TYPE_CHECKING:
    import pandas
    import torch
    from matplotlib.axes import Axes

# Short names of plot(x=...).
_AXES = {"seconds": "train_seconds", "cost": "cost_epochs"}


def is_run_folder(path: Path) -> bool:
    """Whether a run was begun there."""
    return any((path / name).is_file() for name in ("config.toml", "summary.json"))


class Run:
    """One run folder.

    >>> run = adagp.Run("runs/a")                    # doctest: +SKIP
    >>> run.history[["epoch", "test_top1"]]          # doctest: +SKIP
    >>> run.plot("test_top1", x="seconds")           # doctest: +SKIP
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        self._read_at: tuple[int, int] | None = None
        self._records: list[Record] = []
        if not self.path.is_dir():
            raise DataError(
                f"{self.path}: no such folder; name the folder that `adagp train -o` or adagp.compare(folder=) wrote"
            )
        if is_run_folder(self.path):
            return
        if any(is_run_folder(inner) for inner in self.path.iterdir() if inner.is_dir()):
            raise DataError(f"{self.path}: holds several runs; read them with adagp.runs({str(self.path)!r})")
        raise DataError(f"{self.path}: not a run folder: it has no config.toml and no summary.json")

    @property
    def name(self) -> str:
        """The folder's own name."""
        return self.path.resolve().name

    @property
    def finished(self) -> bool:
        """summary.json is written last: where it is, the run is finished."""
        return (self.path / "summary.json").exists()

    @property
    def summary(self) -> _core.Summary:
        """The result of a finished run.

        >>> adagp.Run("runs/a").summary.figures["top1"]   # doctest: +SKIP
        """
        file = self.path / "summary.json"
        if not file.exists():
            raise DataError(
                f"{self.path}: the run is not finished (no summary.json); give the "
                "command that started it again, or read .history"
            )
        try:
            return _core.Summary.read(file)
        except DataError as error:
            raise DataError(
                f"{error}; the file is cut off or of another version: delete it and "
                "give the command that started the run again"
            ) from None

    @property
    def config(self) -> dict[str, Any]:
        """config.toml as a dict: ``run.config["optim"]["lr"]``."""
        file = self.path / "config.toml"
        toml = need("tomllib" if sys.version_info >= (3, 11) else "tomli", "Run.config")
        try:
            found: dict[str, Any] = toml.loads(decode(read_bytes(file), file))
        except toml.TOMLDecodeError as error:
            raise DataError(f"{file}: not TOML: {error}; copy the file again") from None
        return found

    @property
    def environment(self) -> dict[str, Any]:
        """environment.json: device, threads, versions; empty where the file is not there."""
        file = self.path / "environment.json"
        return _json_object(file) if file.exists() else {}

    @property
    def records(self) -> list[Record]:
        """All records of metrics.jsonl as dicts, also those of a run that still goes on."""
        file = self.path / "metrics.jsonl"
        if not file.exists():
            return []
        now = file.stat()
        if self._read_at != (now.st_mtime_ns, now.st_size):
            self._records = read_records(file)
            self._read_at = (now.st_mtime_ns, now.st_size)
        return self._records

    @property
    def history(self) -> pandas.DataFrame:
        """The figures of the "train" and "epoch" records, a row each; NaN where one has none."""
        frame: pandas.DataFrame = need("pandas", "Run.history").DataFrame(self.columns())
        return frame

    def columns(self) -> Columns:
        """As `history`, as numpy arrays by name; needs no pandas."""
        return to_columns(self.records)

    @property
    def probes(self) -> pandas.DataFrame:
        """How good predicted gradients were: a row for each step and layer."""
        found = probe_columns(self.records, self._layer_names(), self.path / "metrics.jsonl")
        frame: pandas.DataFrame = need("pandas", "Run.probes").DataFrame(found)
        return frame

    def _layer_names(self) -> list[str]:
        file = self.path / "layers.csv"
        if not file.exists():
            return []
        rows = csv.DictReader(io.StringIO(decode(read_bytes(file), file)))
        return [row.get("name") or "" for row in rows]

    def plot(self, y: str = "test_loss", x: str = "epoch", ax: Axes | None = None, **style: Any) -> Axes:
        """Draws a figure of the history against x: "epoch", "step", "seconds" or "cost".

        >>> adagp.Run("runs/a").plot("test_top1", x="seconds")   # doctest: +SKIP
        """
        columns = self.columns()
        key = _AXES.get(x, x)
        for argument, name in (("y", y), ("x", key)):
            if name not in columns or columns[name].dtype == object:
                known = [k for k, v in columns.items() if v.dtype != object]
                raise UsageError(
                    f"{argument}: {name!r} is not in the history of {self.path}; there are {', '.join(known)}"
                )
        both = (columns[y] == columns[y]) & (columns[key] == columns[key])  # neither is NaN
        if not both.any():
            raise UsageError(
                f"{y!r} and {x!r} are never in the same record of {self.path}; choose x='step' or x='epoch'"
            )
        pyplot = need("matplotlib.pyplot", "Run.plot")
        axes: Axes = pyplot.subplots()[1] if ax is None else ax
        axes.plot(columns[key][both], columns[y][both], **{"label": self.name, **style})
        return finish_axes(axes, self.name, x, y, legend=False)

    def report(self, output: str | PathLike[str] = "report.html", title: str | None = None) -> Path:
        """Writes the run as one HTML file to look at and to share (`adagp report`).

        >>> adagp.Run("runs/a").report("a.html")   # doctest: +SKIP
        """
        from ._impl.page import write_page

        return write_page([self.path], output, title)

    def weights(self, best: bool = False) -> dict[str, torch.Tensor]:
        """The final weights, or those of the best evaluation, as a state dict.

        >>> state = adagp.Run("runs/a").weights(best=True)   # doctest: +SKIP
        """
        from .weights import read_weights

        file = self.path / ("best.safetensors" if best else "weights.safetensors")
        if not file.exists():
            reason = "" if self.finished else "; the run is not finished"
            raise DataError(f"{file}: no such file{reason}")
        return read_weights(file)

    def load(self, model: Any, best: bool = False) -> None:
        """Loads the weights into a torch.nn.Module with the same names and shapes.

        >>> adagp.Run("runs/a").load(model)   # doctest: +SKIP
        """
        from .weights import load_into

        load_into(model, self.weights(best), str(self.path))

    def to_wandb(self, project: str, mode: str = "offline", **options: Any) -> str:
        """Sends a finished run to Weights & Biases; see adagp.export.to_wandb."""
        from .export import to_wandb

        return to_wandb(self, project, mode, **options)

    def to_mlflow(self, tracking_uri: str, experiment: str = "adagp", **options: Any) -> str:
        """Sends a finished run to MLflow; see adagp.export.to_mlflow."""
        from .export import to_mlflow

        return to_mlflow(self, tracking_uri, experiment, **options)

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r}, {'finished' if self.finished else 'not finished'})"

    def _repr_html_(self) -> str:
        rows = {"run": str(self.path)}
        if self.finished:
            s = self.summary
            rows |= {
                "method": s.method,
                "model": s.model,
                "data": s.data,
                "epochs": f"{s.epochs} of batch {s.batch}, seed {s.seed}",
                s.metric: f"{s.score:.2f} (best {s.best:.2f})",
                "training": f"{s.train_seconds:.1f} s",
                "batches": f"{s.bp_batches} BP, {s.gp_batches} GP",
            }
        else:
            last = self.records[-1] if self.records else {}
            rows["state"] = f"not finished; {last.get('step', 0)} steps recorded"
        cells = "".join(
            f"<tr><th>{html.escape(key)}</th><td>{html.escape(value)}</td></tr>" for key, value in rows.items()
        )
        return f"<table>{cells}</table>"


def _json_object(file: Path) -> dict[str, Any]:
    from ._impl.records import parse_json

    try:
        found = parse_json(decode(read_bytes(file), file))
    except ValueError as error:
        raise DataError(f"{file}: not JSON: {error}; copy the file again") from None
    if not isinstance(found, dict):
        raise DataError(f"{file}: a {type(found).__name__}, expected a JSON object")
    return found
