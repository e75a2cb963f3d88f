"""One training run of adagp.compare: the package's only training loop."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from .. import _core
from ..errors import DivergedError, UsageError
from ..writer import RunWriter
from .batch_tensors import map_images, shrunk, to_device
from .lab_costs import epoch_examples
from .lab_job import (
    PREDICTING,
    Job,
    Setting,
    WithoutPredicted,
    first_examples,
    first_model,
    make_plan,
    pair_of,
    plan_loader,
    seed_all,
)
from .lab_records import PROBE_EVERY, TrainRecords, mean_probes, write_layers
from .lab_setting import LOSS_LIMIT, TRIED
from .progress import Progress

if TYPE_CHECKING:
    import torch


class Training:
    """A network, its optimizer and what a method needs, at a place in the run."""

    def __init__(self, setting: Setting, job: Job) -> None:
        import torch

        self.setting, self.job = setting, job
        self.model = first_model(setting, job.seed).to(setting.device)
        self.optimizer = setting.make_optimizer(self.model)
        self.plan = make_plan(setting, job)
        self.epoch = self.step = self.bp_batches = self.gp_batches = 0
        self.seconds = self.eval_seconds = self.cost = 0.0
        # Of this process in training. Beside them the seconds of a busy machine show.
        self.processor_seconds = 0.0
        self.examples: float = 0  # that steps have seen; NaN: not counted
        self.best = -math.inf
        self.first_loss = 1.0  # of the untrained network, from warm_up
        self.prediction: Any = None
        sampler: Any = self.plan
        self._schedule = _core.Schedule(setting.schedule if job.method in PREDICTING else "bp", job.epochs)
        if job.method == "skip":
            sampler = WithoutPredicted(self.plan, self._schedule)
        elif job.method == "adagp" or job.method == "zero":
            from ..predict import Prediction

            kind: Any = job.method
            self.prediction = Prediction(
                self.model, self.optimizer, self._schedule, job.epochs, len(self.plan), kind,
                skip=(), seed=job.seed, probe_every=PROBE_EVERY, process_group=None,
            )  # fmt: skip
        self.loader = plan_loader(setting.train_loader, sampler)
        if setting.compile:
            torch._dynamo.reset()  # or the runs' networks together pass its limit of compilations
        # Hooks come first: a compiled network keeps those it was compiled with.
        self._forward = torch.compile(self.model) if setting.compile else self.model
        self._cuda = torch.device(setting.device).type == "cuda"

    def _outputs(self, inputs: Any) -> Any:
        import torch

        if self.setting.precision == "fp32":
            return self._forward(inputs)
        with torch.autocast(torch.device(self.setting.device).type, torch.bfloat16):
            return self._forward(inputs)

    def _batch_loss(self, inputs: Any, targets: Any) -> torch.Tensor:
        losses = self.setting.loss(self._outputs(inputs), targets)
        return self.plan.loss(losses.float() if losses.is_floating_point() else losses)

    def _mean_loss(self, inputs: Any, targets: Any, means: list[torch.Tensor]) -> torch.Tensor:
        """Also added to `means`."""
        losses = self.setting.loss(self._outputs(inputs), targets)
        _check_one_each("loss", losses, len(targets))
        means.append(losses.detach().mean())
        mean: torch.Tensor = losses.mean()
        return mean

    def one_batch(self, inputs: Any, targets: Any) -> torch.Tensor:
        """One step on a batch as the network sees it; the loss, on its device."""
        if self.prediction is not None:
            found: torch.Tensor = self.prediction.step(lambda: self._batch_loss(inputs, targets))
            return found
        with self.plan.norms(self.model):
            loss = self._batch_loss(inputs, targets)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        return loss.detach()

    def _count(self, side: int, examples: int, predicted: bool) -> None:
        self.gp_batches += predicted
        self.bp_batches += not predicted
        work = self.setting.costs.batch(self.job.method, predicted, side, examples)
        self.cost += work / epoch_examples(self.plan)

    def train_epoch(self, records: TrainRecords, moved: Callable[[float], None]) -> float:
        """The mean training loss of the epoch. `moved` hears which share of the run is done."""
        import torch

        seed_all(self.job.seed, self.epoch + 1)
        self.model.train()
        total = torch.zeros((), device=self.setting.device)
        self.synchronize()
        probing = self._probe_seconds()
        start, worked = time.perf_counter(), time.process_time()
        position, seen = -1, 0
        for batch in self.loader:
            position = self._next_position(position)
            self.plan.begin_batch(position)
            inputs, targets = pair_of(to_device(batch, self.setting.device))
            inputs = map_images(inputs, self.plan.shrink)
            if self.setting.policy != "constant" or self.setting.policy_options:  # a warm-up
                self.plan.set_rate(self.optimizer, policy=self.setting.policy, **self.setting.policy_options)
            examples = len(targets)
            predicted = self._schedule.predicted(self.epoch, position)
            loss = self.one_batch(inputs, targets)
            self._count(self.plan.image_side, examples, predicted)
            if not (predicted and self.job.method == "zero"):  # which computes no loss
                total += loss * examples
                seen += examples
            self.step += 1
            records.batch(self.step, total, seen, self._figures())
            moved(self.plan.progress)
        self._pass_over(position)
        self.synchronize()
        self.seconds += time.perf_counter() - start - (self._probe_seconds() - probing)
        self.processor_seconds += time.process_time() - worked
        records.batch(self.step, total, seen, self._figures(), last=True)
        self.examples += seen
        self.epoch += 1
        mean = float(total) / max(seen, 1)
        # As the engine's loss_limit, and not below the scale of a loss such as squared dollars.
        limit = LOSS_LIMIT * max(1.0, abs(self.first_loss))
        if not abs(mean) <= limit:
            raise DivergedError(
                f"{self.job.folder}: the training loss of epoch {self.epoch} is {mean:g}, and more "
                f"than {limit:g} is divergence; lower the learning rate (optimizer=)"
            )
        return mean

    def _probe_seconds(self) -> float:
        return self.prediction.probe_seconds if self.prediction is not None else 0.0

    def _figures(self) -> dict[str, float]:
        """Of a "train" record, besides its loss."""
        batches = max(self.bp_batches + self.gp_batches, 1)
        rate = float(self.optimizer.param_groups[0]["lr"])
        return {"lr": rate, "gp_share": self.gp_batches / batches}

    def _next_position(self, position: int) -> int:
        position += 1
        if self.job.method == "skip":
            while self._schedule.predicted(self.epoch, position):
                self.gp_batches += 1
                position += 1
        return position

    def _pass_over(self, position: int) -> None:
        """The batches that were dropped after the last one that was not."""
        last = len(self.plan) - 1
        self.gp_batches += last - position
        if position < last:
            self.plan.begin_batch(last)

    def evaluate(self) -> tuple[float, float]:
        """(loss, score) on the test data."""
        import torch

        self.model.eval()
        start = time.perf_counter()
        sums = torch.zeros(2, dtype=torch.float64, device=self.setting.device)
        examples = 0
        for batch in self.setting.test_loader:
            figures, count = self._test_batch(batch)
            sums += figures
            examples += count
        if examples == 0:
            raise UsageError("test_loader: it gives no batch")
        loss, score = (sums / examples).tolist()
        self.eval_seconds += time.perf_counter() - start
        return loss, score

    def _test_batch(self, batch: Any) -> tuple[torch.Tensor, int]:
        """(sums of losses and of scores, examples)."""
        import torch

        inputs, targets = pair_of(to_device(batch, self.setting.device))
        examples = len(targets)
        found = []
        with torch.no_grad():
            outputs = self._outputs(inputs)
            for name in ("loss", "score"):
                values = getattr(self.setting, name)(outputs, targets)
                _check_one_each(name, values, examples)
                found.append(values.double().sum())
        return torch.stack(found), examples

    def synchronize(self) -> None:
        import torch

        if self._cuda:
            torch.cuda.synchronize(self.setting.device)

    def warm_up(self, most: int | None = None) -> None:
        """One step of every size before the clock: kernels are chosen, networks compiled. Leaves
        everything as it was. ``most``: so many examples at most."""
        shapes = self.plan.shapes()
        examples = min(max(count for _, count in shapes), self.plan.examples, most or math.inf)
        first = first_examples(self.setting.train_loader, int(examples))
        inputs, targets = pair_of(to_device(first, self.setting.device))
        weights = copy.deepcopy(self.model.state_dict())
        optimizer = copy.deepcopy(self.optimizer.state_dict())
        self.model.train()
        losses: list[torch.Tensor] = []
        for side, count in shapes:
            part = map_images(inputs[:count], partial(shrunk, side=side))
            forward = partial(self._mean_loss, part, targets[:count], losses)
            if self.prediction is not None:
                self.prediction.warm_up(forward)
            else:
                forward().backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
        self.first_loss = float(losses[0])
        self.optimizer.load_state_dict(optimizer)
        self.model.load_state_dict(weights)

    def try_out(self) -> None:
        """A step of every size and a test batch on a few examples, or the error of the first part
        that cannot be done."""
        self.warm_up(TRIED)
        self.model.eval()
        loader = self.setting.test_loader  # whose images may differ in size: its batch is of one
        self._test_batch(first_examples(loader, min(TRIED, loader.batch_size or TRIED)))

    def state(self) -> dict[str, Any]:
        names = ("epoch", "step", "bp_batches", "gp_batches", "examples", "seconds",
                 "eval_seconds", "processor_seconds", "cost", "best")  # fmt: skip
        state = {name: getattr(self, name) for name in names}
        state |= {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
        state["plan"] = self.plan.state_dict()
        if self.prediction is not None:
            state["prediction"] = self.prediction.state_dict()
        return state

    def load(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state.pop("model"))
        self.optimizer.load_state_dict(state.pop("optimizer"))
        self.plan.load_state_dict(state.pop("plan"))
        if self.prediction is not None:
            self.prediction.load_state_dict(state.pop("prediction"))
        self.examples = self.processor_seconds = math.nan  # earlier versions do not tell
        for name, value in state.items():
            setattr(self, name, value)


def _check_one_each(name: str, values: Any, examples: int) -> None:
    """A mean over the batch would be summed as if it were one example's."""
    shape = getattr(values, "shape", None)
    if shape is None or tuple(shape) != (examples,):
        got = f"a {type(values).__name__}" if shape is None else f"a tensor of shape {tuple(shape)}"
        raise UsageError(
            f"{name}: it gave {got}, expected ({examples},): one number for each example of the "
            'batch, before any mean (reduction="none")'
        )


def train_run(setting: Setting, job: Job, writer: RunWriter, shown: Progress) -> None:
    """Trains to the end, from the folder's checkpoint if it has one."""
    training = Training(setting, job)
    state = writer.resume()
    training.warm_up()
    if state is not None:
        training.load(state)
        shown.found(training.epoch / job.epochs)
    records = TrainRecords(training.prediction)
    if job.method == "adagp" and setting.costs.table is not None:
        write_layers(writer, setting.costs.table, training.prediction.layers)
    loss = score = math.nan
    while training.epoch < job.epochs:
        mean = training.train_epoch(records, shown.moved)
        loss, score = training.evaluate()
        training.best = max(training.best, score)
        records.write(writer, training.epoch - 1)
        writer.record(
            "epoch", step=training.step, epoch=training.epoch - 1, train_loss=mean, test_loss=loss,
            train_seconds=training.seconds, processor_seconds=training.processor_seconds,
            cost_epochs=training.cost, examples=training.examples,
            **{f"test_{setting.metric}": score}, **mean_probes(training.prediction),
        )  # fmt: skip
        writer.save(training.state(), step=training.step)
        shown.epoch(training.epoch, job.epochs, f"{setting.metric} {score:.2f}")
    if math.isnan(score):  # the last epoch was done, and the summary was not written
        loss, score = training.evaluate()
    writer.save_weights(training.model.state_dict())
    first = pair_of(next(iter(setting.test_loader)))[0]
    side = "x".join(str(n) for n in first.shape[-2:]) if first.ndim == 4 else ""
    writer.finish(
        method=job.method, seed=job.seed, epochs=job.epochs, batch=job.batch, metric=setting.metric,
        figures={setting.metric: score}, loss=loss, best=training.best, device=str(setting.device),
        precision=setting.precision, train_seconds=training.seconds,
        eval_seconds=training.eval_seconds, bp_batches=training.bp_batches,
        gp_batches=training.gp_batches, cost_epochs=training.cost, input=side,
        train_examples=training.plan.examples, test_examples=len(setting.test_loader.dataset),
        model=setting.names["model"], data=setting.names["data"],
        **mean_probes(training.prediction),
    )  # fmt: skip
