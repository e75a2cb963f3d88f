"""Does it pay on my model? Methods beside plain backprop of equal cost, over several seeds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from . import _core
from ._extras import need
from ._lab_costs import Costs, equal_cost_epochs, planned_cost, scheduled_cost
from ._lab_job import PREDICTING, Job, Setting, make_plan, pair_of
from ._lab_run import Training, train_run
from ._toml import settings_pairs
from .errors import UsageError
from .plan import Plan
from .results import Budget, Comparison, runs
from .writer import RunWriter

DEFAULT_METHODS = ("bp", "progressive", "stored-loss", "progressive+stored-loss", "skip")


def _cross_entropy(outputs: Any, targets: Any) -> Any:
    from torch.nn.functional import cross_entropy

    return cross_entropy(outputs, targets, reduction="none")


def _top1(outputs: Any, targets: Any) -> Any:
    return (outputs.argmax(1) == targets) * 100.0


def _sgd(parameters: Any) -> Any:
    from torch.optim import SGD

    return SGD(parameters, lr=0.1, momentum=0.9, weight_decay=5e-4, nesterov=True)


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
) -> Budget | Comparison | DryRun:
    """Trains your network by several methods and says which of them pays.

    ``model_fn`` makes the network, ``train_loader`` and ``test_loader`` are torch's, with batches
    of (inputs, targets). With ``equal="cost"`` plain backprop runs at half, once and one and a half
    times ``epochs``, and every method at the length whose counted multiplications equal those of
    backprop's ``epochs``: the result says how many points it is above or below backprop of equal
    cost and of equal seconds. With ``equal="epochs"`` all methods run for ``epochs``. Methods that
    predict gradients (``adagp``) bring their controls along: ``skip``, which drops the same
    batches, and ``zero``, which lets momentum alone move the weights.

    ``optimizer`` makes an optimizer of parameters; its rate is the base of ``policy`` (one of
    docs/configuration.md, options in ``settings``: ``{"policy.peak": 0.3}``). ``loss(outputs, targets)`` gives a loss for each example
    and ``score(outputs, targets)`` a number for each; cross entropy and top-1 percent by default.

    Every run is a folder in ``folder`` (docs/run-folder.md). Finished ones are used again, and
    unfinished ones go on from their last epoch: after Ctrl-C the same call goes on.

    >>> r = adagp.compare(resnet18, train, test, epochs=15)  # doctest: +SKIP
    >>> r.verdict                                            # doctest: +SKIP
    """
    names = _with_controls([methods] if isinstance(methods, str) else methods)
    setting = _setting(
        model_fn, train_loader, test_loader, optimizer or _sgd, policy, schedule, loss, score,
        device, precision, compile, settings or {}, data, names,
    )  # fmt: skip
    if epochs < 1:
        raise UsageError(f"epochs: {epochs}, expected 1 or more")
    if equal not in ("cost", "epochs"):
        raise UsageError(f"equal: {equal!r}, expected 'cost' or 'epochs'")
    jobs = _jobs(setting, names, epochs, _seeds(seeds), equal)
    if dry_run:
        return _dry_run(setting, jobs)
    wanted = [_run(setting, job, Path(folder), overwrite, progress, i, len(jobs))
              for i, job in enumerate(jobs)]  # fmt: skip
    found = runs(folder).where(lambda run: run.path.name in wanted)
    if equal == "cost":
        budget = found.budget(setting.batch, [epochs])
        budget.save(folder)
        return budget
    comparison = found.compare(names)
    comparison.save(folder)
    return comparison


def _setting(
    model_fn: Any, train_loader: Any, test_loader: Any, optimizer: Any, policy: str, schedule: str,
    loss: Any, score: Any, device: Any, precision: str, compile: bool, settings: dict[str, Any],
    data: str, methods: list[str],
) -> Setting:  # fmt: skip
    torch = need("torch", "adagp.compare")
    for name, loader in (("train_loader", train_loader), ("test_loader", test_loader)):
        if not isinstance(loader, torch.utils.data.DataLoader):
            raise UsageError(
                f"{name}: a {type(loader).__name__}, expected a torch.utils.data.DataLoader"
            )
        if isinstance(loader.dataset, torch.utils.data.IterableDataset):
            raise UsageError(
                f"{name}: its data set {type(loader.dataset).__name__} is an iterable one; methods "
                "choose examples by their numbers: give a data set with __len__ and __getitem__"
            )
    if precision not in ("fp32", "bf16"):
        raise UsageError(f"precision: {precision!r}, expected 'fp32' or 'bf16'")
    batch = train_loader.batch_size or getattr(train_loader.batch_sampler, "batch_size", None)
    if not batch:
        raise UsageError("train_loader: its batch size is not known; make it with batch_size=")
    model = model_fn()
    if not isinstance(model, torch.nn.Module):
        raise UsageError(f"model_fn: it returned a {type(model).__name__}, expected a nn.Module")
    made = optimizer(model.parameters())
    if policy == "plateau":
        raise UsageError("policy: 'plateau' follows test losses; compare() takes the others")
    options = {k.removeprefix("policy."): v for k, v in settings.items() if k.startswith("policy.")}
    keys = {"policy.name": policy, **{k: v for k, v in settings.items() if k.startswith("policy.")}}
    _core.make_policy(settings_pairs(keys), 0.1, 10, 5)  # or refused
    settings = {k: v for k, v in settings.items() if k not in keys}
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    example, _ = pair_of(train_loader.collate_fn([train_loader.dataset[0]]))
    square = example.ndim == 4 and example.shape[-1] == example.shape[-2]
    side = int(example.shape[-1]) if square else None
    plans = [name for name in methods if name not in PREDICTING]
    for name in plans if side is None else []:
        if "progressive" in name or "low-res" in name:
            raise UsageError(
                f"methods: {name!r} changes the size of square images, and the inputs are of shape "
                f"{tuple(example.shape[1:])}; leave it out"
            )
    sides = {s for name in plans for s in _sides(name, train_loader, batch, side, settings)}
    costs = Costs(model, example[0], sides)
    if "adagp" in methods:
        costs.add_predictor(_predictor_macs(model, made))
    names = {
        "model": type(model).__name__,
        "data": data or type(train_loader.dataset).__name__,
        "optimizer": f"{type(made).__name__} {sorted(made.defaults.items(), key=str)}",
        "loss": getattr(loss, "__qualname__", "") or ("own" if loss else "cross entropy"),
        "score": getattr(score, "__qualname__", "") or ("own" if score else "top1"),
        "train_examples": str(len(train_loader.dataset)),
        "test_examples": str(len(test_loader.dataset)),
        "parameters": str(sum(p.numel() for p in model.parameters())),
    }
    return Setting(
        model_fn, optimizer, train_loader, test_loader, loss or _cross_entropy, score or _top1,
        "top1" if score is None else "score", int(batch), policy, schedule, device, precision,
        compile, settings, costs, options, names, side,
    )  # fmt: skip


def _sides(
    name: str, loader: Any, batch: int, side: int | None, settings: dict[str, Any]
) -> list[int]:
    plan = Plan(name, loader.dataset, batch_size=batch, epochs=10, side=side or 0,
                settings=settings)  # fmt: skip
    return [small for small, _ in plan.shapes() if small]


def _predictor_macs(model: Any, optimizer: Any) -> float:
    from .predict import wrap

    prediction = wrap(model, optimizer, "bp", epochs=1, steps_per_epoch=1, probe_every=0)
    prediction.remove()
    return prediction.macs


def _seeds(seeds: int | Sequence[int]) -> list[int]:
    found = list(range(seeds)) if isinstance(seeds, int) else [int(seed) for seed in seeds]
    if not found or len(set(found)) != len(found):
        raise UsageError(f"seeds: {seeds!r}, expected a number from 1 on, or different seeds")
    return found


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


def _jobs(
    setting: Setting, methods: list[str], epochs: int, seeds: list[int], equal: str
) -> list[Job]:
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


def _run(
    setting: Setting, job: Job, folder: Path, overwrite: bool, progress: bool, number: int,
    jobs: int,
) -> str:  # fmt: skip
    config = {
        "method": job.method, "seed": job.seed, "epochs": job.epochs, "batch": job.batch,
        "device": str(setting.device), "precision": setting.precision, "compile": setting.compile,
        "schedule": setting.schedule, "policy": setting.policy, **setting.names,
        "settings": {key.replace(".", "_"): v for key, v in setting.settings.items()},
    }  # fmt: skip

    def told(text: str) -> None:
        if progress:
            line = f"run {number + 1} of {jobs}, {job.folder}: {text}"
            end = "\r" if sys.stderr.isatty() else "\n"
            print(f"{line:<100}", end=end, file=sys.stderr, flush=True)

    with RunWriter(folder / job.folder, config, overwrite=overwrite) as writer:
        if not writer.finished:
            told("begins")
            train_run(setting, job, writer, told)
    return job.folder


class DryRun:
    """What a comparison would do and how long it would take."""

    def __init__(self, rows: list[dict[str, Any]], megabytes: float) -> None:
        self.rows, self.megabytes = rows, megabytes

    @property
    def seconds(self) -> float:
        """Of training; evaluation comes on top."""
        return float(sum(row["seconds"] for row in self.rows))

    def to_pandas(self) -> Any:
        """A row for each run."""
        return need("pandas", "DryRun.to_pandas").DataFrame(self.rows)

    def __repr__(self) -> str:
        head = f"{'method':<26}{'epochs':>7}{'seed':>6}{'cost (bp epochs)':>18}{'minutes':>9}"
        lines = [
            f"{r['method']:<26}{r['epochs']:>7}{r['seed']:>6}{r['cost']:>18.2f}"
            f"{r['seconds'] / 60:>9.1f}"
            for r in self.rows
        ]
        total = (
            f"{len(self.rows)} runs, about {self.seconds / 60:.1f} minutes of training, "
            f"{self.megabytes:.0f} MB of run folders"
        )
        return "\n".join([head, *lines, total])


def _dry_run(setting: Setting, jobs: list[Job]) -> DryRun:
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
    for job in jobs:
        cost = _cost(setting, job.method, job.epochs)
        rows.append({"method": job.method, "epochs": job.epochs, "seed": job.seed, "cost": cost,
                     "seconds": cost * per_epoch * step})  # fmt: skip
    weights = sum(p.numel() * p.element_size() for p in training.model.parameters()) / 1e6
    return DryRun(rows, weights * len(jobs))
