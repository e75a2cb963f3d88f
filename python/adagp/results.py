"""Several runs side by side: the table, the verdict and the curves, computed in C++."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import isfinite
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from . import _core
from ._impl.extras import need
from ._impl.result_text import heading, page, short_text
from ._impl.showing import finish_axes, text_or_file
from .errors import DataError, UsageError
from .run import Run, is_run_folder

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

# How the program names the metrics of its tasks for people.
_METRICS = {"top1": ("top-1", True), "map50": ("mAP", True), "accuracy": ("accuracy", True)}


def runs(folder: str | PathLike[str]) -> Runs:
    """The runs inside a folder, such as those of `adagp compare -o FOLDER`.

    >>> adagp.runs("runs/vgg13").compare()   # doctest: +SKIP
    """
    path = Path(folder)
    if not path.is_dir():
        raise DataError(f"{path}: no such folder")
    inner = sorted((at for at in path.iterdir() if at.is_dir() and is_run_folder(at)), key=lambda at: _natural(at.name))
    if not inner:
        hint = f"; it is a run itself: adagp.Run({str(path)!r})" if is_run_folder(path) else ""
        raise DataError(f"{path}: holds no run folders{hint}")
    return Runs([Run(at) for at in inner], _order_of(path / "compare.json"))


def _natural(name: str) -> list[tuple[int, str]]:
    """seed10 comes after seed9."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"([0-9]+)", name)]


def _order_of(file: Path) -> list[str]:
    """The order in which the methods were asked for, where a comparison tells it."""
    try:
        return list(json.loads(file.read_bytes())["methods"])
    except (OSError, ValueError, KeyError, TypeError):
        return []


class Runs(Sequence[Run]):
    """A list of runs that can be compared."""

    def __init__(self, found: Iterable[Run], methods: Sequence[str] = ()) -> None:
        self._runs = list(found)
        self._methods = list(methods)

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> Runs: ...
    def __getitem__(self, index: int | slice) -> Run | Runs:
        if isinstance(index, slice):
            return Runs(self._runs[index], self._methods)
        return self._runs[index]

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    def __repr__(self) -> str:
        return f"Runs([{', '.join(run.name for run in self)}])"

    @property
    def finished(self) -> Runs:
        """Those that are finished."""
        return self.where(lambda run: run.finished)

    def where(self, wanted: Callable[[Run], bool]) -> Runs:
        """Those for which `wanted` is true: runs.where(lambda r: r.summary.seed < 3)."""
        return Runs([run for run in self if wanted(run)], self._methods)

    def compare(self, methods: Sequence[str] | None = None) -> Comparison:
        """Methods over seeds, as `adagp compare` does it. Unfinished runs are left out.

        `methods`: which ones, and in which order; all of them where it is not given.
        """
        done = self._comparable()
        found = list(dict.fromkeys(summary.method for _, summary in done))
        if methods is None:
            first = [m for m in [*self._methods, "bp"] if m in found]
            order = list(dict.fromkeys([*first, *found]))
        else:
            order = list(methods)
            for method in order:
                if method not in found:
                    raise UsageError(f"methods: no finished run of {method!r}; there are {', '.join(found)}")
        of = [(run, summary) for method in order for run, summary in done if summary.method == method]
        lengths = sorted({s.epochs for _, s in of if s.method != "equal-time"})
        if len(lengths) > 1:
            said = ", ".join(map(str, lengths[:-1])) + f" and {lengths[-1]}"
            raise UsageError(
                f"the runs are of {said} epochs; runs of several lengths are compared "
                "by cost: call .budget(), or choose one length with "
                ".where(lambda run: run.summary.epochs == ...)"
            )
        s = of[-1][1]
        epochs = "epoch" if s.epochs == 1 else "epochs"
        about = f"{_about(s)}, {s.epochs} {epochs} of batch {s.batch}"
        records = [
            _core.RunRecord(
                s.method,
                s.seed,
                s.score,
                s.train_seconds,
                s.bp_batches,
                s.gp_batches,
                s.cosine,
                _processor_seconds(run),
            )
            for run, s in of
        ]
        table = _core.compare_runs(records, _metric(s), about, s.conditions)
        return Comparison(table, Runs([run for run, _ in of], order))

    def budget(
        self, batch: int | None = None, targets: Sequence[int] = (), label: Callable[[Run], str] | None = None
    ) -> Budget:
        """Methods at several lengths against a curve through bp (`adagp compare --budget`).

        `batch`: the batch size whose bp sets the targets; `targets`: epochs of bp whose scores
        they are (by default 15 and 30, or its longest run); `label`: the name of a run's method,
        where one method was run with several settings.
        """
        done = self._comparable()
        for run, s in done:
            if s.cost_epochs is None:
                raise UsageError(f"{run.path}: its cost was not counted (cost_epochs)")
        control = [s for _, s in done if s.method == "bp" and batch in (None, s.batch)]
        if not control:
            raise UsageError(
                f"no finished run of bp{'' if batch is None else f' of {batch=}'}: a budget is measured against bp"
            )
        batch = control[0].batch
        measured = {s.epochs for s in control if s.batch == batch}
        usual = sorted(measured & {15, 30}) or [max(measured)]
        entries = [
            _core.BudgetRun(
                label(run) if label else s.method,
                s.epochs,
                s.batch,
                s.seed,
                s.score,
                s.cost_epochs or 0,
                s.train_seconds,
            )
            for run, s in done
        ]
        seeds = sorted({s.seed for _, s in done})
        s = done[-1][1]
        plural = "seed" if len(seeds) == 1 else "seeds"
        about = f"{_about(s)}, {len(seeds)} {plural} from {seeds[0]}"
        return Budget(
            _core.budget_report(entries, _metric(s), batch, list(targets) or usual, about, s.conditions),
            Runs([run for run, _ in done]),
        )

    def _comparable(self) -> list[tuple[Run, _core.Summary]]:
        """The finished runs; refused where their scores or seconds mean different things."""
        done = [(run, run.summary) for run in self if run.finished]
        if not done:
            raise DataError("no finished runs to compare; finish them first")
        first_run, first = done[0]
        for run, s in done[1:]:
            for key in ("task", "metric", "model", "data", "device", "precision"):
                if getattr(s, key) != getattr(first, key):
                    raise UsageError(
                        f"{run.path} cannot be compared with {first_run.path}: "
                        f"{key} {getattr(s, key)}, not {getattr(first, key)}; "
                        "choose runs with .where()"
                    )
            if s.conditions.to_json() != first.conditions.to_json():
                raise UsageError(
                    f"{run.path} cannot be compared with {first_run.path}: its score "
                    f"is of {s.conditions.text()}, not of {first.conditions.text()}; "
                    "choose runs with .where()"
                )
        return done


def _processor_seconds(run: Run) -> float | None:
    """Of training, where the run's last epoch tells them: those of adagp.compare do."""
    told = [r.get("processor_seconds") for r in run.records if r["kind"] == "epoch"]
    last = told[-1] if told else None
    return float(last) if isinstance(last, (int, float)) and isfinite(last) else None


def _about(s: _core.Summary) -> str:
    return f"{s.model} on {s.data}, {s.device}, {s.precision}"


def _metric(s: _core.Summary) -> _core.Metric:
    label, percent = _METRICS.get(s.metric, (s.metric, False))
    return _core.Metric(s.metric, label, percent)


class Comparison:
    """Methods over seeds.

    `print` shows the verdict and the table, Jupyter the picture too, `details()` the rest.
    """

    def __init__(self, table: _core.Comparison, compared: Runs) -> None:
        self._table = table
        self.runs = compared

    @property
    def table(self) -> _core.Comparison:
        """The numbers as objects: table.methods, table.pairs."""
        return self._table

    @property
    def verdict(self) -> str:
        """What the runs show and what they cannot tell."""
        return self._table.verdict()

    @property
    def plain_words(self) -> str:
        """Two sentences without statistics; empty without bp and adagp."""
        return self._table.in_plain_words()

    def to_json(self) -> str:
        """The text of compare.json."""
        return self._table.to_json()

    @overload
    def to_csv(self) -> str: ...
    @overload
    def to_csv(self, path: str | PathLike[str]) -> None: ...
    def to_csv(self, path: str | PathLike[str] | None = None) -> str | None:
        """The text of compare.csv, or with `path` that file."""
        return text_or_file(self._table.to_csv(), path)

    def to_markdown(self) -> str:
        """The text of compare.md: conditions, table, verdict."""
        return self._table.to_markdown()

    def to_svg(self) -> str:
        """The paired differences with their 95 % intervals, as SVG."""
        return self._table.to_svg()

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each method, unrounded."""
        pd = need("pandas", "Comparison.to_pandas")
        rows = json.loads(self.to_json())["methods"]
        frame: pandas.DataFrame = pd.DataFrame([{"method": method, **row} for method, row in rows.items()])
        return frame

    def pairs(self) -> pandas.DataFrame:
        """A row for each method and control: the paired difference with its 95 % interval."""
        pd = need("pandas", "Comparison.pairs")
        frame: pandas.DataFrame = pd.DataFrame(json.loads(self.to_json())["pairs"])
        return frame

    def save(self, folder: str | PathLike[str]) -> None:
        """Writes compare.md, compare.json and compare.csv, as the program does."""
        for ending, text in (("md", self.to_markdown()), ("json", self.to_json()), ("csv", self.to_csv())):
            _core.write_file(Path(folder) / f"compare.{ending}", text.encode())

    def report(self, output: str | PathLike[str] = "report.html", title: str | None = None) -> Path:
        """Writes the runs and their comparison as one HTML file (`adagp report`).

        >>> adagp.runs("runs/vgg13").compare().report("vgg13.html")   # doctest: +SKIP
        """
        from ._impl.page import write_page

        return write_page([run.path for run in self.runs], output, title)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Score against seconds of training: a point for each method, bars of one sd."""
        pyplot = need("matplotlib.pyplot", "Comparison.plot")
        axes: Axes = pyplot.subplots()[1] if ax is None else ax
        for row in self._table.methods:
            sd = row.score_sd if row.score_sd == row.score_sd else None
            axes.errorbar(row.seconds_mean, row.score_mean, yerr=sd, fmt="o", capsize=3, label=row.method)
        metric = self._table.metric
        return finish_axes(
            axes,
            self._table.about,
            "seconds of training; bars: sd of the seeds",
            metric.label + (" %" if metric.percent else ""),
        )

    def details(self) -> str:
        """All there is to read: head, table, verdict and plain words."""
        return self._table.to_console()

    def _head(self) -> str:
        return heading(self._table.heading(), self.runs)

    def __str__(self) -> str:
        return short_text(self.verdict, self._head(), self._table.rows_console())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        drawn = any(isfinite(pair.points.mean) for pair in self._table.pairs)
        return page(
            self.verdict,
            self._head(),
            self._table.rows_html("methods over their seeds"),
            self.to_svg() if drawn else "",
            "differences in score, with their intervals",
        )


class Budget:
    """Methods against backprop of equal cost and equal time.

    `print` shows the verdict and the first table, Jupyter the picture too, `details()` the rest.
    """

    def __init__(self, table: _core.BudgetReport, compared: Runs) -> None:
        self._table = table
        self.runs = compared

    @property
    def table(self) -> _core.BudgetReport:
        """The numbers as objects."""
        return self._table

    @property
    def verdict(self) -> str:
        """What is above backprop of equal seconds, what below, what cannot be told."""
        return self._table.verdict()

    def to_json(self) -> str:
        """The text of budget.json."""
        return self._table.to_json()

    @overload
    def to_csv(self) -> str: ...
    @overload
    def to_csv(self, path: str | PathLike[str]) -> None: ...
    def to_csv(self, path: str | PathLike[str] | None = None) -> str | None:
        """The text of budget.csv, or with `path` that file."""
        return text_or_file(self._table.to_csv(), path)

    def to_markdown(self) -> str:
        """The text of budget.md."""
        return self._table.to_markdown()

    def to_svg(self) -> str:
        """Score against seconds, as SVG."""
        return self._table.to_svg()

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each method, batch size and length."""
        pd = need("pandas", "Budget.to_pandas")
        rows: list[dict[str, Any]] = json.loads(self.to_json())["rows"]
        frame: pandas.DataFrame = pd.json_normalize(rows)
        return frame

    def save(self, folder: str | PathLike[str]) -> None:
        """Writes budget.md, budget.json, budget.csv and budget.svg, as the program does."""
        for ending, text in (
            ("md", self.to_markdown()),
            ("json", self.to_json()),
            ("csv", self.to_csv()),
            ("svg", self.to_svg()),
        ):
            _core.write_file(Path(folder) / f"budget.{ending}", text.encode())

    def report(self, output: str | PathLike[str] = "report.html", title: str | None = None) -> Path:
        """Writes runs and budget as one HTML file (`adagp report`). The runs' folder must have the
        file budget.json of them, as `adagp compare --budget` and .save(folder) write it."""
        from ._impl.page import write_page

        folders = {run.path.resolve().parent for run in self.runs}
        if len(folders) != 1 or not (next(iter(folders)) / "budget.json").is_file():
            raise UsageError(
                "report: no budget.json beside the runs; call .save() with the folder that holds them first"
            )
        return write_page(list(folders), output, title)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Score against seconds of training, as to_svg() draws it: bars of one sd, bp's fit dashed.

        Points of a method are joined, where it was run at several lengths.
        """
        pyplot = need("matplotlib.pyplot", "Budget.plot")
        axes: Axes = pyplot.subplots()[1] if ax is None else ax
        for line in self._table.control_lines():
            seconds, fit = zip(*line, strict=True)
            axes.plot(seconds, fit, "--", color="C0")
        kinds = dict.fromkeys((row.method, row.batch) for row in self._table.rows)
        methods = list(dict.fromkeys(method for method, _ in kinds))
        for method, batch in kinds:
            of = [
                row
                for row in self._table.rows
                if (row.method, row.batch) == (method, batch) and isfinite(row.score_mean)
            ]
            axes.errorbar(
                [row.seconds_mean for row in of],
                [row.score_mean for row in of],
                yerr=[row.score_sd if isfinite(row.score_sd) else 0 for row in of],
                fmt="o" if method == "bp" else "o-",
                capsize=3,
                color=f"C{methods.index(method)}",
                label=f"{method}, batch {batch}",
            )
        axes.set_xscale("log")
        ticker = need("matplotlib.ticker", "Budget.plot")
        axes.xaxis.set_major_formatter(ticker.LogFormatter())  # 20, not 2 x 10^1
        axes.xaxis.set_minor_formatter(ticker.LogFormatter())
        metric = self._table.metric
        return finish_axes(
            axes,
            self._table.about,
            "seconds of training; dashed: fit through bp",
            metric.label + (" %" if metric.percent else ""),
        )

    def details(self) -> str:
        """All there is to read: also seconds to a score, the controls and the notes."""
        return self._table.to_console()

    def _head(self) -> str:
        return heading(self._table.heading(), self.runs)

    def __str__(self) -> str:
        return short_text(self.verdict, self._head(), self._table.rows_console())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        drawn = any(isfinite(row.score_mean) for row in self._table.rows)
        return page(
            self.verdict,
            self._head(),
            self._table.rows_html("d: points above backprop of equal cost or seconds"),
            self.to_svg() if drawn else "",
        )
