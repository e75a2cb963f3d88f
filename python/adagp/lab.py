"""Does it pay on my model? Methods beside plain backprop of equal cost, over several seeds."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, overload

from . import _core
from ._impl.arguments import whole
from ._impl.cycles import long_cycles
from ._impl.extras import need
from ._impl.lab_costs import equal_cost_epochs, planned_cost, scheduled_cost
from ._impl.lab_executor import check_executor, run_all
from ._impl.lab_job import PREDICTING, Job, Setting, make_plan, pair_of
from ._impl.lab_run import Training, train_run
from ._impl.lab_setting import Asked, make_setting, one_line, seeds_of
from ._impl.progress import Progress
from .errors import DataError, DivergedError, Error, UsageError
from .results import Budget, Comparison, runs
from .writer import RunWriter, finished_run

DEFAULT_METHODS = ("bp", "progressive", "stored-loss", "progressive+stored-loss", "skip")


if TYPE_CHECKING:
    from typing_extensions import Required, Unpack

    class _Options(TypedDict, total=False):
        """Arguments of compare() that do not change what it returns."""

        epochs: Required[int]
        seeds: int | Sequence[int]
        methods: str | Iterable[str]
        folder: str | PathLike[str]
        optimizer: Callable[[Any], Any] | None
        policy: str
        schedule: str
        loss: Callable[[Any, Any], Any] | None
        score: Callable[[Any, Any], Any] | None
        device: Any
        precision: str
        compile: bool
        settings: dict[str, Any] | None
        data: str
        overwrite: bool
        progress: bool
        executor: Any


@overload
def compare(
    model_fn: Callable[[], Any], train_loader: Any, test_loader: Any, *, dry_run: Literal[True],
    equal: str = ..., **options: Unpack[_Options],
) -> DryRun: ...  # fmt: skip
@overload
def compare(
    model_fn: Callable[[], Any], train_loader: Any, test_loader: Any, *, equal: Literal["epochs"],
    dry_run: Literal[False] = ..., **options: Unpack[_Options],
) -> Comparison: ...  # fmt: skip
@overload
def compare(
    model_fn: Callable[[], Any], train_loader: Any, test_loader: Any, *,
    equal: Literal["cost"] = ..., dry_run: Literal[False] = ..., **options: Unpack[_Options],
) -> Budget: ...  # fmt: skip
@overload
def compare(
    model_fn: Callable[[], Any], train_loader: Any, test_loader: Any, *, equal: str = ...,
    dry_run: bool = ..., **options: Unpack[_Options],
) -> Budget | Comparison | DryRun: ...  # fmt: skip
def compare(
    model_fn: Callable[[], Any],
    train_loader: Any,
    test_loader: Any,
    *,
    epochs: int,
    seeds: int | Sequence[int] = 3,
    methods: str | Iterable[str] = DEFAULT_METHODS,
    folder: str | PathLike[str] = "runs/compare",
    equal: str = "cost",
    optimizer: Callable[[Any], Any] | None = None,
    policy: str = "triangle",
    schedule: str = "auto",
    loss: Callable[[Any, Any], Any] | None = None,
    score: Callable[[Any, Any], Any] | None = None,
    device: Any = None,
    precision: str = "fp32",
    compile: bool = False,
    settings: dict[str, Any] | None = None,
    data: str = "",
    dry_run: bool = False,
    overwrite: bool = False,
    progress: bool = True,
    executor: Any = None,
) -> Budget | Comparison | DryRun:
    """Trains your network by several methods and says which of them pays.

    ``model_fn`` makes the network, ``train_loader`` and ``test_loader`` are torch's, with batches
    of (inputs, targets). With ``equal="cost"`` plain backprop runs at half, once and one and a half
    times ``epochs``, and every method at the length whose counted multiplications equal those of
    backprop's ``epochs``: the result says how many points it is above or below backprop of equal
    cost and of equal seconds. With ``equal="epochs"`` all methods run for ``epochs``. Methods that
    predict gradients (``adagp``) bring their controls along: ``skip``, which drops the same
    batches, and ``zero``, which lets momentum alone move the weights.

    ``optimizer`` makes an optimizer of parameters, or of the model where its argument is named
    ``model``; its rate is the base of ``policy`` (one of docs/configuration.md, options in
    ``settings``: ``{"policy.peak": 0.3}``). ``loss(outputs, targets)`` gives a loss for each example
    and ``score(outputs, targets)`` a number for each; cross entropy and top-1 percent by default.

    Every run is a folder in ``folder`` (docs/run-folder.md). Finished ones are used again, and
    unfinished ones go on from their last epoch: after Ctrl-C the same call goes on. A folder with
    runs of another network, data, loss, score or optimizer is refused.

    ``executor``: one of ``concurrent.futures``, or of a library that has such (submitit, Dask). Each
    seed is one task in a process of its own, here or on another machine that shares ``folder``.
    What is sent there must pickle (docs/cluster.md).

    >>> r = adagp.compare(resnet18, train, test, epochs=15)  # doctest: +SKIP
    >>> r.verdict                                            # doctest: +SKIP
    """
    _check_kinds(methods, folder, settings)
    chosen = _with_controls([methods] if isinstance(methods, str) else methods)
    epochs = whole(epochs, "epochs", 1)
    if equal not in ("cost", "epochs"):
        raise UsageError(f"equal: {equal!r}, expected 'cost' or 'epochs'")
    if executor is not None:
        check_executor(executor)
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise DataError(f"{path}: is a file; folder= names a folder for the runs")
    asked = Asked(
        model_fn, train_loader, test_loader, chosen, seeds_of(seeds), optimizer, policy, schedule,
        loss, score, device, precision, compile, settings or {}, data, methods is DEFAULT_METHODS,
    )  # fmt: skip
    setting = make_setting(asked)
    jobs = _jobs(setting, asked.methods, epochs, asked.seeds, equal)
    done = [not overwrite and finished_run(path / job.folder, setting.config(job)) for job in jobs]
    left = [job for job, over in zip(jobs, done, strict=True) if not over]
    if told := _long_cycles(setting, left):
        warnings.warn(told, stacklevel=2)
    _try_methods(setting, left)
    if dry_run:
        return _dry_run(setting, jobs, done)
    work = {(m, n): _cost(setting, m, n) for m, n in {(job.method, job.epochs) for job in jobs}}
    with Progress(progress, [work[job.method, job.epochs] for job in jobs]) as shown:
        if executor is None:
            for job in jobs:
                _run(setting, job, path, overwrite, shown)
        else:
            run_all(executor, _run, asked, jobs, path, overwrite, shown)
    wanted = [job.folder for job in jobs]
    found = runs(folder).where(lambda run: run.path.name in wanted)
    if equal == "cost":
        budget = found.budget(setting.batch, [epochs])
        budget.save(folder)
        return budget
    comparison = found.compare(asked.methods)
    comparison.save(folder)
    return comparison


def _check_kinds(methods: Any, folder: Any, settings: Any) -> None:
    for name, given, kind, expected in (
        ("methods", methods, Iterable, "a name or a list of names"),
        ("folder", folder, (str, PathLike), "a path"),
        ("settings", settings or {}, Mapping, 'a dict, as {"stored_loss.power": 2}'),
    ):
        if not isinstance(given, kind):
            raise UsageError(f"{name}: got {given!r}, expected {expected}")


def _with_controls(methods: Iterable[str]) -> list[str]:
    asked = ["bp", *methods]
    if "adagp" in asked:
        asked += ["skip", "zero"]
    return list(dict.fromkeys(asked))


def _cost(setting: Setting, method: str, epochs: int) -> float:
    plan = make_plan(setting, Job(method, epochs, 0, setting.batch))
    if method not in PREDICTING:
        return planned_cost(plan, setting.costs)
    return scheduled_cost(method, setting.schedule, plan, setting.costs)


def _jobs(setting: Setting, methods: list[str], epochs: int, seeds: list[int], equal: str) -> list[Job]:
    lengths: list[tuple[str, int]] = []
    for method in methods:
        if equal == "epochs":
            lengths.append((method, epochs))
        elif method == "bp":
            around = {max(1, epochs // 2), epochs, epochs + (epochs + 1) // 2}
            lengths += [("bp", length) for length in sorted(around)]
        else:
            length = equal_cost_epochs(partial(_cost, setting, method), epochs)
            lengths.append((method, length))
    # Methods take turns over the seeds, so that a machine that slows down slows all of them.
    return [Job(m, n, seed, setting.batch) for seed in seeds for m, n in lengths]


def _long_cycles(setting: Setting, jobs: list[Job]) -> str:
    """What is to be said of the schedule; once, whatever the number of runs."""
    texts = (long_cycles(_core.Schedule(setting.schedule, job.epochs), job.epochs,
                         len(make_plan(setting, job)))
             for job in jobs if job.method in PREDICTING)  # fmt: skip
    return next(filter(None, texts), "")


def _try_methods(setting: Setting, jobs: list[Job]) -> None:
    """One step of every method and size, and a test batch, on a few examples: what cannot be
    trained is refused before the first run."""
    eager = replace(setting, compile=False)  # compiling takes minutes, and the runs do it
    for job in {job.method: job for job in reversed(jobs)}.values():
        try:
            Training(eager, job).try_out()
        except DivergedError:
            pass  # the run says it with its name and epoch
        except Error:
            raise
        except Exception as error:  # of the user's network, loss, score, data or device
            raise UsageError(f"a trial step of method {job.method!r} failed: {one_line(error)}") from error


def _run(setting: Setting, job: Job, folder: Path, overwrite: bool, shown: Progress) -> None:
    with RunWriter(folder / job.folder, setting.config(job), overwrite=overwrite) as writer:
        shown.begin(job.folder, 1.0 if writer.finished else 0.0)
        if not writer.finished:
            train_run(setting, job, writer, shown)


class DryRun:
    """What a comparison would do and how long it would take."""

    def __init__(self, rows: list[dict[str, Any]], megabytes: float) -> None:
        self.rows, self.megabytes = rows, megabytes

    @property
    def seconds(self) -> float:
        """Of training that is left; evaluation comes on top."""
        return float(sum(row["seconds"] for row in self.rows if not row["finished"]))

    def to_pandas(self) -> Any:
        """A row for each run."""
        return need("pandas", "DryRun.to_pandas").DataFrame(self.rows)

    def __repr__(self) -> str:
        head = f"{'method':<26}{'epochs':>7}{'seed':>6}{'cost (bp epochs)':>18}{'minutes':>9}"
        lines = [
            f"{r['method']:<26}{r['epochs']:>7}{r['seed']:>6}{r['cost']:>18.2f}"
            + (f"{r['seconds'] / 60:>9.1f}" if not r["finished"] else " finished")
            for r in self.rows
        ]
        done = sum(row["finished"] for row in self.rows)
        total = (
            f"{len(self.rows)} runs{f', {done} of them finished' if done else ''}, "
            f"about {self.seconds / 60:.1f} minutes of training, "
            f"{self.megabytes:.0f} MB of run folders"
        )
        return "\n".join([head, *lines, total])


def _dry_run(setting: Setting, jobs: list[Job], done: list[bool]) -> DryRun:
    """Times plain steps; other methods take as long as their multiplications, near enough."""
    training = Training(setting, Job("bp", 1, 0, setting.batch))
    training.warm_up()
    training.model.train()
    steps, times = 0, []
    start = time.perf_counter()
    for batch in training.loader:
        inputs, targets = pair_of(batch)
        training.plan.begin_batch()
        float(training.one_batch(inputs.to(setting.device), targets.to(setting.device)))
        times.append(time.perf_counter() - start)
        start = time.perf_counter()
        steps += 1
        if steps == 10:
            break
    step = sorted(times)[len(times) // 2]
    per_epoch = training.plan.examples // setting.batch
    rows = []
    for job, finished in zip(jobs, done, strict=True):
        cost = _cost(setting, job.method, job.epochs)
        rows.append({"method": job.method, "epochs": job.epochs, "seed": job.seed, "cost": cost,
                     "seconds": cost * per_epoch * step, "finished": finished})  # fmt: skip
    weights = sum(p.numel() * p.element_size() for p in training.model.parameters()) / 1e6
    return DryRun(rows, weights * len(jobs))
