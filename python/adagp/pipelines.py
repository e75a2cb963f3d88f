"""Pipelines over several devices: who does what when, and what predicted batches save."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from . import _core
from ._impl.arguments import (
    flag,
    listed,
    number,
    optional_whole,
    progress_bar,
    text,
    whole,
)
from ._impl.extras import need
from ._impl.blocks import BlockTimes, set_costs, time_blocks
from .errors import UsageError
from .sim import set_machine, set_network, usual_examples, warn_of_missing

__all__ = ["BlockTimes", "Gantt", "Pipelines", "pipeline", "time_blocks"]


class Gantt:
    """A picture of one pipeline: lanes are devices, boxes are passes of micro-batches."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: Any) -> None:
        """Writes the picture as an SVG file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)

    def __repr__(self) -> str:
        return f"<Gantt chart, {len(self.svg)} bytes of SVG>"


class Pipelines:
    """The results of `pipeline`: one or several schedules, stages and micro-batches."""

    def __init__(self, study: _core.PipelineStudy, note: str = "") -> None:
        self._study = study
        self.note = note
        parsed = json.loads(study.json())
        self._runs: list[dict[str, Any]] = parsed if isinstance(parsed, list) else [parsed]

    @property
    def unit(self) -> str:
        """Of times: steps, cycles, seconds."""
        return self._study.unit

    @property
    def skipped(self) -> list[str]:
        """Of several: what a schedule cannot do, and why."""
        return self._study.skipped

    def __len__(self) -> int:
        return len(self._runs)

    def __getitem__(self, index: int) -> dict[str, Any]:
        """One run, as the program's JSON has it."""
        return self._runs[whole(index, "index", -(2**62))]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._runs)

    def to_pandas(self) -> Any:
        """A DataFrame with a line for each run; utilisation is the mean of the devices."""
        pandas = need("pandas", "Pipelines.to_pandas")
        rows = []
        for run in self._runs:
            used = run["utilisation"]
            rows.append(
                {
                    "schedule": run["schedule"],
                    "stages": run["stages"],
                    "micro_batches": run["micro_batches"],
                    "chunks": run["chunks"],
                    "phases": run["phases"],
                    "batches": run["batches"],
                    "makespan": run["makespan"],
                    "unit": run["unit"],
                    "utilisation": sum(used) / len(used),
                    "peak_stash": max(run["peak_stash"]),
                    "synchronisations": run["synchronisations"],
                    "messages": run["messages"],
                    "steady_speedup": run["steady_speedup"],
                    "training_speedup": run["training"]["speedup"],
                    "copies": run["copies"]["count"],
                    "bp_speed": run["copies"]["bp_speed"],
                    "accumulated_speed": run["copies"]["accumulated_speed"],
                    "mixed_speed": run["copies"]["mixed_speed"],
                }
            )
        return pandas.DataFrame(rows)

    def _find(self, schedule: Any, stages: int | None, micro_batches: int | None) -> int:
        wanted = {"schedule": schedule, "stages": stages, "micro_batches": micro_batches}
        wanted = {key: value for key, value in wanted.items() if value is not None}
        found = [
            place for place, run in enumerate(self._runs) if all(run[key] == value for key, value in wanted.items())
        ]
        if len(found) == 1:
            return found[0]
        asked = ", ".join(f"{key} {value!r}" for key, value in wanted.items()) or "nothing named"
        there = ", ".join(f"{run['schedule']} {run['stages']}x{run['micro_batches']}" for run in self._runs[:8])
        raise UsageError(
            f"{asked}: {len(found)} runs of {len(self)} fit, expected one; name schedule, stages "
            f"and micro_batches. There are {there}{', ...' if len(self) > 8 else ''}"
        )

    def gantt(
        self, schedule: str | None = None, stages: int | None = None,
        micro_batches: int | None = None,
    ) -> Gantt:  # fmt: skip
        """The picture of one run, which Jupyter shows."""
        return Gantt(self._study.svg(self._find(schedule, stages, micro_batches)))

    def scaling(self) -> Gantt:
        """Speed of a device over the numbers of copies, as a picture."""
        return Gantt(self._study.scaling_svg())

    def ops(
        self, schedule: str | None = None, stages: int | None = None,
        micro_batches: int | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """The op lists of all devices, in their order, as columns: device, kind, phase, batch,
        micro_batch, stage, replica, peer (-1: none). `pandas.DataFrame(p.ops("chimera"))`."""
        return self._study.ops(self._find(schedule, stages, micro_batches))

    def events(
        self, schedule: str | None = None, stages: int | None = None,
        micro_batches: int | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """What ran when, as columns with start and end."""
        return self._study.events(self._find(schedule, stages, micro_batches))

    def chakra(
        self, folder: Any, schedule: str | None = None, stages: int | None = None,
        micro_batches: int | None = None,
    ) -> None:  # fmt: skip
        """Writes a trace (MLCommons Chakra) for each device and copy of one run into `folder`:
        pipeline.0.et, ... for simulators of networks."""
        self._study.save_chakra(self._find(schedule, stages, micro_batches), str(folder))

    def chrome(
        self, file: Any, schedule: str | None = None, stages: int | None = None,
        micro_batches: int | None = None,
    ) -> None:  # fmt: skip
        """Writes what the devices of one run do when, for chrome://tracing and Perfetto."""
        self._study.save_chrome(self._find(schedule, stages, micro_batches), str(file))

    def save_schedule(
        self, file: Any, schedule: str | None = None, stages: int | None = None,
        micro_batches: int | None = None,
    ) -> None:  # fmt: skip
        """Writes the order of a BP batch as PyTorch's CSV, for `pipeline(schedule_file=...)`, too."""
        self._study.save_schedule(self._find(schedule, stages, micro_batches), str(file))

    def json(self) -> str:
        """The JSON that the program writes."""
        return self._study.json()

    def __repr__(self) -> str:
        return self._study.text()

    def _repr_html_(self) -> str:
        from ._impl.html import table_html

        names = ["schedule", "stages", "micro_batches", "phases", "makespan", "steady_speedup"]
        columns = {name: [run[name] for run in self._runs] for name in names}
        columns["training_speedup"] = [run["training"]["speedup"] for run in self._runs]
        heading = f"times in {self.unit}" + (f"; {self.note}" if self.note else "")
        return table_html(columns, heading=heading)


def pipeline(
    model: Any = None,
    input: Any = None,
    batch: Any = None,
    *,
    stages: Any = None,
    micro_batches: Any = None,
    schedule: Any = "gpipe",
    schedule_file: Any = None,
    phases: str = "bp",
    batches: int | None = None,
    chunks: int = 0,
    overlap: bool = True,
    gp_share: float = 1,
    low_share: float = 0.25,
    costs: Any = None,
    forward: float = 1,
    backward: float = 2,
    summary: float = 0,
    predictor: float = 0,
    optimizer: float = 0,
    predictor_step: float = 0,
    latency: float = 0,
    bandwidth: float = 0,
    output_bytes: float = 0,
    weight_bytes: float = 0,
    summary_bytes: float = 0,
    copies: Any = 1,
    copy_latency: float | None = None,
    copy_bandwidth: float | None = None,
    all_reduce: str = "ring",
    bucket_bytes: float = 4 * 2**20,
    split_batch: bool = False,
    memory: float = 0,
    accelerator: Any = "adagp-180",
    array: Any = None,
    dataflow: Any = None,
    settings: Mapping[str, Any] | None = None,
    products_only: bool = False,
    free_predictor: bool = False,
    examples: int | None = None,
    training: str = "auto",
    epochs: int = 90,
    batches_per_epoch: int | None = None,
    progress: bool = False,
) -> Pipelines:
    """Simulates pipelines: schedules x stages x micro-batches x batch sizes x copies.

    Without a model every stage takes `forward` and `backward` steps. With a model (as in
    `adagp.layers`) the stages take its cycles on an accelerator; with `costs` (a file, a DataFrame,
    a list of dicts, or what `adagp.time_blocks` measured) what they say. Schedules: gpipe, dapple,
    chimera, zero-bubble, zb-v, dualpipe-v, interleaved, decoupled, filled, filled-gpipe, or "all"; or
    `schedule_file`, PyTorch's CSV of a schedule (compute_only), which has its own stages and
    micro-batches (else 4 each). `phases` is "bp", "gp", "gp-bp", "low-bp" (low: BP
    with smaller images) or counts as in "gp*4-bp". `gp_share` is the part of `forward` that a GP
    batch takes, `low_share` the part of all passes in a low-resolution batch. `copies` of the
    pipeline train on different examples (data parallel). `memory` is in GiB for a stage.

    >>> import adagp
    >>> p = adagp.pipeline(stages=4, micro_batches=4, schedule=["gpipe", "chimera"], phases="gp-bp")
    >>> [run["makespan"] for run in p]
    [25.0, 20.0]
    """
    options = _core.PipelineOptions()
    options.schedules = listed(schedule, "schedule")
    if schedule_file is not None:
        if schedule != "gpipe":
            raise UsageError(f"schedule {schedule!r} and a schedule_file; expected one of them")
        options.schedule_file = str(schedule_file)
    if stages is not None:
        options.stages = listed(stages, "stages")
    if micro_batches is not None:
        options.micro_batches = listed(micro_batches, "micro_batches")
    options.phases = text(phases, "phases")
    options.batches = optional_whole(batches, "batches", -(2**62))
    options.chunks = whole(chunks, "chunks", 0, 2**31 - 1)
    options.overlap = flag(overlap, "overlap")
    for name, value in {
        "gp_share": gp_share, "low_share": low_share, "forward": forward, "backward": backward, "summary": summary,
        "predictor": predictor, "optimizer": optimizer, "predictor_step": predictor_step, "latency": latency,
        "bandwidth": bandwidth, "output_bytes": output_bytes, "weight_bytes": weight_bytes,
        "summary_bytes": summary_bytes,
    }.items():  # fmt: skip
        setattr(options, name, number(value, name))
    options.copies = listed(copies, "copies")
    for name, given in {"copy_latency": copy_latency, "copy_bandwidth": copy_bandwidth}.items():
        if given is not None:
            setattr(options, name, number(given, name))
    options.all_reduce = text(all_reduce, "all_reduce")
    options.bucket_bytes = number(bucket_bytes, "bucket_bytes")
    options.split_batch = flag(split_batch, "split_batch")
    options.memory_limit = number(memory, "memory") * 2**30
    options.free_predictor = flag(free_predictor, "free_predictor")
    options.training = text(training, "training")
    options.epochs = whole(epochs, "epochs", -(2**62))
    options.batches_per_epoch = optional_whole(batches_per_epoch, "batches_per_epoch", -(2**62))
    if costs is not None:
        set_costs(options, costs)
    if model is not None:
        machine = _core.SimulateOptions()
        tables = set_network(machine, model, input)
        set_machine(machine, accelerator, array, dataflow, batch, settings, products_only)
        machine.examples = optional_whole(examples, "examples", -(2**62))
        if tables and examples is None:
            machine.examples = usual_examples(tables)
            if machine.examples is None:  # an epoch then has 1000 batches, as without a network
                machine.examples = 1
                if batches_per_epoch is None:
                    options.batches_per_epoch = 1000
        options.accelerator = machine
    show, close = progress_bar(progress, "run")
    try:
        study = _core.run_pipelines(options, show if progress else None)
    finally:
        close()
    return Pipelines(study, warn_of_missing(study.missing))
