"""What a run of adagp.compare records besides its epochs: losses, rates and probes on the way."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import _core
from .records import PROBE_FIGURES

if TYPE_CHECKING:
    from ..layer_table import LayerTable
    from ..writer import RunWriter

LOG_EVERY = 50  # batches, as log_every of the program
PROBE_EVERY = 20  # BP batches, as probe_every of the program


class TrainRecords:
    """The "train" records of an epoch. They are written after it, so that no batch waits for the
    device: every 50 batches, at every probe, and at the end."""

    def __init__(self, prediction: Any = None) -> None:
        self._prediction = prediction  # what adagp.wrap made; None: nothing is predicted
        self._measured = prediction.measured if prediction is not None else 0
        self._kept: list[tuple[int, Any, int, dict[str, float]]] = []

    def batch(self, step: int, losses: Any, examples: int, figures: dict[str, float], last: bool = False) -> None:
        """After a batch: `losses` is the epoch's sum so far over so many examples."""
        measured = self._prediction.measured if self._prediction is not None else 0
        due = step % LOG_EVERY == 0 or last or measured > self._measured
        self._measured = measured
        if due and not (self._kept and self._kept[-1][0] == step):
            self._kept.append((step, losses.clone(), examples, figures))

    def write(self, writer: RunWriter, epoch: int) -> None:
        """Waits for the device."""
        probes = _by_step(self._prediction.probes) if self._prediction is not None else {}
        for step, losses, examples, figures in self._kept:
            mean = float(losses) / examples if examples else math.nan
            found = {"probes": probes[step - 1]} if step - 1 in probes else {}
            writer.record("train", step=step, epoch=epoch, loss=mean, **figures, **found)
        self._kept.clear()


def _by_step(table: Sequence[Mapping[str, Any]]) -> dict[int, list[list[float]]]:
    """Lists of figures, one a layer, as metrics.jsonl has them; NaN for those that Python's probes
    do not measure."""
    out: dict[int, list[list[float]]] = {}
    for row in table:
        values = [float(row.get(name, math.nan)) for name in PROBE_FIGURES]
        out.setdefault(row["step"], []).append(values)
    return out


def mean_probes(prediction: Any) -> dict[str, float]:
    """Means over steps and layers of the run so far; empty where nothing was measured."""
    out = {}
    for name in ("cosine", "q"):
        values = [row[name] for row in prediction.probes] if prediction is not None else []
        finite = [value for value in values if math.isfinite(value)]
        if finite:
            out[name] = sum(finite) / len(finite)
    return out


def write_layers(writer: RunWriter, table: LayerTable, names: Sequence[str]) -> None:
    """layers.csv with the rows of the layers that probes are of, in their order. Where the table
    does not have each of them, there is no file, and run.probes gives numbers."""
    head, *rows = csv.reader(io.StringIO(table.to_csv()))
    at = head.index("name")
    by_name = {row[at]: row for row in reversed(rows)}
    if all(name in by_name for name in names):
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([head, *(by_name[name] for name in names)])
        _core.write_file(writer.path / "layers.csv", out.getvalue().encode())
