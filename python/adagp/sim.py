"""Training runs and forward passes on accelerators: one, or a sweep of them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from os import PathLike
from typing import Any, overload

import numpy as np

from . import _core
from ._impl.arguments import (
    arrays,
    flag,
    listed,
    optional_whole,
    progress_bar,
    settings as setting_texts,
    text,
    whole,
)
from ._impl.extras import need
from ._impl.showing import finish_axes, text_or_file
from .errors import UsageError
from .layer_table import LayerTable, is_path, layers
from .machine_sim import MachineSimulation, run_machine

# Inputs of the usual data sets, whose number of examples is known.
_USUAL_SHAPES = {"3x224x224": "imagenet", "3x32x32": "cifar"}


class MissingMacsWarning(UserWarning):
    """The figures leave out a part of the network."""


class Simulation:
    """The results of `simulate`: a row for each run and design, in columns.

    `sim["cycles"]` is a numpy array; `sim.columns` names what there is. A Pareto front is a
    Simulation too, with fewer rows.
    """

    def __init__(self, sweep: _core.Sweep, note: str = "") -> None:
        self._sweep = sweep
        self._data: dict[str, Any] | None = None
        self.note = note

    def _columns(self) -> dict[str, Any]:
        if self._data is None:
            self._data = self._sweep.columns()
        return self._data

    @property
    def columns(self) -> list[str]:
        return list(self._columns())

    @property
    def runs(self) -> int:
        """Combinations that were simulated; each has a row for every design."""
        return self._sweep.runs

    def __len__(self) -> int:
        return len(self._sweep)

    def __getitem__(self, column: str) -> np.ndarray[Any, Any]:
        """A column: numbers, or texts as an array of str."""
        data = self._columns()
        if column not in data:
            raise KeyError(f"no column '{column}'; there are {', '.join(data)}")
        value = data[column]
        if isinstance(value, tuple):
            texts, codes = value
            return np.asarray(np.array(texts, dtype=object)[codes])
        return np.asarray(value)

    def to_pandas(self) -> Any:
        """A DataFrame. Columns of texts are categories."""
        pandas = need("pandas", "Simulation.to_pandas")
        made = {}
        for name, value in self._columns().items():
            if isinstance(value, tuple):
                texts, codes = value
                value = pandas.Categorical.from_codes(codes, categories=texts, validate=False)
            made[name] = value
        return pandas.DataFrame(made, copy=False)

    def pareto(self, x: str = "cycles", y: str = "energy") -> Simulation:
        """Of each network the rows that no other beats in both: cycles, energy, time, pes."""
        front = self._sweep.pareto(f"{text(x, 'x')},{text(y, 'y')}")
        return Simulation(front, self.note)

    def explain(self, layer: str, run: int = 0) -> str:
        """The formulas of a layer with their numbers, on the array of a run."""
        return self._sweep.explain(text(layer, "layer"), whole(run, "run"))

    def details(self, run: int = 0) -> dict[str, Any]:
        """One run in full, layer by layer, as `--per-layer --json` of the program."""
        out: dict[str, Any] = json.loads(self._sweep.details(whole(run, "run")))
        return out

    def json(self) -> str:
        """The JSON that the program writes."""
        return self._sweep.json()

    @overload
    def to_csv(self) -> str: ...
    @overload
    def to_csv(self, path: str | PathLike[str]) -> None: ...
    def to_csv(self, path: str | PathLike[str] | None = None) -> str | None:
        """The CSV that the program writes, or with `path` a file of it."""
        return text_or_file(self._sweep.csv(), path)

    def svg(self) -> str:
        """The picture that the program draws: layers of one run, speed-ups of several."""
        return self._sweep.svg()

    def plot(self, y: str = "total_cycles", x: str | None = None, ax: Any = None) -> Any:
        """A matplotlib chart of a column, a colour for each design, over another or the runs.

        Points are not joined: what lies between two arrays was not simulated.
        """
        pyplot = need("matplotlib.pyplot", "Simulation.plot")
        axes = pyplot.subplots(figsize=(8, 4), layout="constrained")[1] if ax is None else ax
        heights = self[{"energy": "energy_j", "time": "time_s"}.get(y, y)]
        designs = self["design"]
        whole_sweep = x is None and len(self) == self.runs * len(set(designs))
        labels = self._sweep.labels() if whole_sweep else None
        for design in dict.fromkeys(designs):
            chosen = designs == design
            places = np.arange(chosen.sum()) if x is None else self[x][chosen]
            axes.plot(places, heights[chosen], "o", label=design, markersize=4)
        if labels is not None and len(labels) <= 24:
            axes.set_xticks(range(len(labels)), labels, rotation=40, ha="right")
        return finish_axes(axes, self._sweep.places(), x or "run", y)

    def __repr__(self) -> str:
        if len(self) > 100:
            return f"<Simulation of {self.runs} runs, {len(self)} rows: {self._sweep.places()}>"
        return "\n".join(part for part in (self.note, self._sweep.console()) if part)

    def _repr_html_(self) -> str:
        from ._impl.html import table_html

        keep = ["model", "batch", "array", "dataflow", "design", "total_cycles", "time_s"]
        keep += ["energy_j", "speedup", "energy_ratio"]
        note = "; ".join(part for part in (self._sweep.places(), self.note) if part)
        return table_html({name: self[name] for name in keep}, heading=note)


def accelerators() -> list[str]:
    """Accelerators that are known by name."""
    return _core.zoo_accelerators()


def _is_one(model: Any) -> bool:
    return not isinstance(model, (list, tuple))


def set_network(options: _core.SimulateOptions, model: Any, input: Any) -> list[LayerTable]:
    """Puts networks into `options`: names as names, the rest as tables, which are returned."""
    models = [model] if _is_one(model) else list(model)
    if not models:
        raise UsageError("model is an empty list, expected at least one network")
    if all(isinstance(one, str) and not is_path(one) for one in models):
        options.models = ",".join(models)
        if input is not None:
            if isinstance(input, tuple) and all(isinstance(size, int) for size in input):
                layers(models[0], input)  # says that a name takes a name
            options.inputs = listed(input, "input")
        return []
    tables = [layers(one, input) for one in models]
    if len({table._topology for table in tables}) > 1:
        raise UsageError("model mixes topologies of SCALE-Sim with other networks; simulate each")
    options.set_tables([table._table for table in tables], tables[0]._topology)
    return tables


def set_machine(options: _core.SimulateOptions, accelerator: Any, array: Any, dataflow: Any,
                batch: Any, settings: Any, products_only: bool) -> None:  # fmt: skip
    """Puts what `simulate` and `pipeline` say about the machine into `options`."""
    options.accelerators = listed(accelerator, "accelerator")
    options.arrays = arrays(array)
    options.dataflows = listed(dataflow, "dataflow")
    options.batches = listed(batch, "batch")
    options.settings = setting_texts(settings)
    options.products_only = flag(products_only, "products_only")


def usual_examples(tables: list[LayerTable]) -> int | None:
    """Examples of the data set whose images have the tables' shape."""
    names = {_USUAL_SHAPES.get(table.input, table.input) for table in tables}
    if len(names) != 1 or names.isdisjoint({*_USUAL_SHAPES.values()}):
        return None
    return _core.examples_of(names.pop())


def warn_of_missing(lines: str) -> str:
    lines = lines.strip()
    if lines:
        warnings.warn(lines, MissingMacsWarning, stacklevel=3)
    return lines


@overload
def simulate(
    model: Any,
    input: Any = None,
    batch: Any = None,
    *,
    array: Any = None,
    dataflow: Any = None,
    designs: Any = ...,
    accelerator: Any = None,
    settings: Mapping[str, Any] | None = None,
    epochs: int = 90,
    examples: int | None = None,
    schedule: str = ...,
    predictor: str = ...,
    predictor_channels: Any = None,
    predictor_pooled: Any = None,
    predictor_summary: Any = None,
    inference: bool = False,
    products_only: bool = False,
    threads: int = 0,
    progress: bool = False,
    machine: None = None,
) -> Simulation: ...


@overload
def simulate(
    model: Any = None,
    input: Any = None,
    batch: Any = None,
    *,
    machine: str,
    trace: Any = None,
    sparsity: Mapping[str, float] | str | None = None,
    bits: Mapping[str, int] | str | None = None,
    array: Any = None,
    designs: Any = ...,
    accelerator: Any = None,
    settings: Mapping[str, Any] | None = None,
    epochs: int = 90,
    examples: int | None = None,
    schedule: str = ...,
    predictor: str = ...,
    predictor_channels: Any = None,
    predictor_pooled: Any = None,
    predictor_summary: Any = None,
    products_only: bool = False,
) -> MachineSimulation: ...


def simulate(
    model: Any = None,
    input: Any = None,
    batch: Any = None,
    *,
    array: Any = None,
    dataflow: Any = None,
    designs: Any = "baseline,low,efficient,max",
    accelerator: Any = None,
    settings: Mapping[str, Any] | None = None,
    epochs: int = 90,
    examples: int | None = None,
    schedule: str = "auto",
    predictor: str = "shared",
    predictor_channels: Any = None,
    predictor_pooled: Any = None,
    predictor_summary: Any = None,
    inference: bool = False,
    products_only: bool = False,
    threads: int = 0,
    progress: bool = False,
    machine: str | None = None,
    trace: Any = None,
    sparsity: Mapping[str, float] | str | None = None,
    bits: Mapping[str, int] | str | None = None,
) -> Simulation | MachineSimulation:
    """Simulates training (or with `inference` the forward pass) of networks on accelerators.

    `model` and `input` are as in `adagp.layers`; `model` may also be a list. Lists (or texts such
    as "8..64:8") of arrays, dataflows, batches, accelerators and predictor sizes make a sweep over
    all combinations. An array is "12x15", (12, 15) or 16. `settings` are keys of accelerator files,
    as {"buffer.bytes": 2**17} or {"buffer_bytes": 2**17}. `examples` of an epoch are the data
    set's, where the input is known.

    `machine` is another training accelerator (`adagp.machines()`), compared with itself without its
    trick; the result is a `MachineSimulation`. Its operands are `trace`, a run folder with traces
    (then `model` can be left out), or the same in all layers: `sparsity` as {"x": 0.5, "w": 0.9} in
    shares of zeros, or `bits` as {"w": 2, "a": 2, "g": 4}.

    >>> import adagp
    >>> sim = adagp.simulate("resnet18", input="cifar", batch=64, array=["12x15", "32x32"])
    >>> len(sim)
    8
    >>> bool((sim["speedup"] >= 1).all())
    True
    >>> adagp.simulate("vgg13_bn", machine="fast", bits={"w": 2, "a": 2, "g": 2}).speedup > 3
    True
    """
    options = _core.SimulateOptions()
    if machine is None and (trace is not None or sparsity is not None or bits is not None):
        raise UsageError("trace, sparsity and bits are for machine=, which is not given")
    if model is None and trace is None:
        raise UsageError("model is not given: name a network, or with machine= give trace=")
    tables = set_network(options, model, input) if model is not None else []
    if accelerator is None:
        accelerator = "adagp-180" if machine is None else ""  # a machine has its own preset
    set_machine(options, accelerator, array, dataflow, batch, settings, products_only)
    options.designs = listed(designs, "designs")
    options.epochs = whole(epochs, "epochs", -(2**62))
    options.examples = optional_whole(examples, "examples", -(2**62))
    options.schedule = text(schedule, "schedule")
    options.predictor_kind = text(predictor, "predictor")
    options.predictor_channels = listed(predictor_channels, "predictor_channels")
    options.predictor_pooled = listed(predictor_pooled, "predictor_pooled")
    options.predictor_summary = listed(predictor_summary, "predictor_summary")
    options.inference = flag(inference, "inference")
    options.threads = whole(threads, "threads", 0, 1024)
    notes = []
    if tables and examples is None and not inference:
        options.examples = usual_examples(tables)
        if options.examples is not None:
            notes.append(f"an epoch has {options.examples:,} examples, as examples= was not given")
    if machine is not None:
        return run_machine(options, machine, trace, sparsity, bits, "\n".join(notes))
    show, close = progress_bar(progress, "run")
    try:
        sweep = _core.simulate(options, show if progress else None)
    finally:
        close()
    notes.append(warn_of_missing(sweep.missing()))
    return Simulation(sweep, "\n".join(note for note in notes if note))
