"""ADA-GP as published, in an existing training loop: `adagp.wrap`."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal

from ._core import Schedule
from .errors import DataError, UsageError

try:
    import torch
except ImportError:
    raise UsageError("adagp.wrap needs torch: pip install 'adagp[torch]'") from None
from torch import Tensor, nn

from ._impl import reference
from ._impl.cycles import last_predicted, long_cycles
from ._impl.graphs import Graphs
from ._impl.kernel_steps import KernelSteps
from ._impl.loss_watch import LossWatch
from ._impl.optimizer_steps import call_update, gradients_finite
from ._impl.probes import Probes
from ._impl.small_table import Records
from ._impl.step_arguments import Closure, Update, check_inputs, check_recorded, check_scaled, closures_of
from ._impl.taps import Taps

Method = Literal["adagp", "skip", "zero"]
METHODS = ("adagp", "skip", "zero")
PROBE_EVERY = 20
CHECK_EVERY = 50  # steps after which a device other than the CPU is asked whether losses are finite


class Prediction:
    """A controller beside the model: decides which batch is BP and which GP, and does it.

    Made by `adagp.wrap`. The model and the optimizer stay as they are.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        schedule: Schedule,
        epochs: int,
        steps_per_epoch: int,
        method: Method,
        skip: Sequence[str],
        seed: int,
        probe_every: int | None,
        process_group: Any,
        graph: bool = False,
    ) -> None:
        if isinstance(optimizer, torch.optim.LBFGS):
            raise UsageError("optimizer: LBFGS runs the closure several times in a step; use another")
        self.model, self.optimizer, self.schedule = model, optimizer, schedule
        self.steps_per_epoch, self.method = steps_per_epoch, method
        self.steps = 0  # batches done, BP and GP
        self._exact_steps = 0
        self._group = process_group
        self._taps = Taps(model, optimizer, skip)
        layers = self._taps.layers
        self._names = [layer.place.name for layer in layers]
        self._predictor: reference.SharedPredictor | None = None
        if method == "adagp":
            rows = self._taps.rows
            self._predictor = reference.SharedPredictor(
                [layer.place for layer in layers], seed, rows.device, rows.dtype
            )
        self._kernels = self._kernel_steps()
        self._graphs = Graphs(model, self._taps, optimizer) if graph else None
        self._probes = Probes(PROBE_EVERY if probe_every is None else probe_every)
        # The predictor learns for the GP batches to come, and for probes that were asked for.
        self._asked_probes = bool(probe_every)
        self._planned = epochs * steps_per_epoch
        self._last_gp = last_predicted(schedule, epochs, steps_per_epoch)
        self.probe_seconds = 0.0  # on a CPU; elsewhere they are not measured, because that would wait
        self._last = torch.tensor(float("nan"))
        self._losses = LossWatch(self._taps.first_broken)
        self._clean = False  # whether no gradient of an earlier BP batch takes memory
        self._removed = False

    # Where the run is.

    @property
    def macs(self) -> float:
        """Multiplications of a prediction, whatever the batch; learning takes three times as many."""
        return self._predictor.macs() if self._predictor is not None else 0.0

    @property
    def epoch(self) -> int:
        """The epoch of the coming step, from 0."""
        return self.steps // self.steps_per_epoch

    @property
    def phase(self) -> Literal["bp", "gp"]:
        """Of the coming step; inside `closure`, `backward` and `update`: of this one."""
        predicted = self.schedule.predicted(self.epoch, self.steps % self.steps_per_epoch)
        return "gp" if predicted else "bp"

    @property
    def coverage(self) -> Records:
        """What GP batches do to each parameter (predicted or frozen), and why.

        `gp.coverage.to_pandas()` is a DataFrame. Complete after the first BP batch.
        """
        seen = self._predictor.seen if self._predictor else [True] * len(self._names)
        return self._taps.coverage(seen, self.method)

    @property
    def probes(self) -> Records:
        """By step and layer: cosine, relative error, norm ratio and q of predicted gradients."""
        return self._probes.table()

    @property
    def measured(self) -> int:
        """BP batches on which predictions were measured, of this object."""
        return self._probes.count

    @property
    def layers(self) -> list[str]:
        """The names of the layers whose gradients are predicted, in the order of the probes."""
        return list(self._names)

    def __repr__(self) -> str:
        moved = [row["in_gp"] for row in self.coverage]
        return (
            f"<Prediction: method {self.method}, schedule {self.schedule}, {self.steps} steps "
            f"done ({self._exact_steps} BP), next {self.phase.upper()}; "
            f"{moved.count('predicted')} of {len(moved)} parameters predicted>"
        )

    def _kernel_steps(self) -> KernelSteps | None:
        """Where the model is on a GPU, and the kernels are there."""
        if self._predictor is None or not self._taps.kernels:
            return None
        return KernelSteps(self._predictor, self._taps, self.optimizer)

    # One batch.

    def step(
        self,
        closure: Closure | Sequence[Closure],
        backward: Callable[[Tensor], object] | None = None,
        update: Update | None = None,
        *,
        scaler: Any = None,
        inputs: Sequence[Tensor] = (),
    ) -> Tensor:
        """One batch, BP or GP. Returns its loss, detached.

        closure: the forward pass; returns the loss and calls no backward(). A list of closures is
            one batch in parts: the gradients and the loss are the mean of theirs.
        inputs: tensors with which closure is called. With graph=True all that changes from batch to
            batch must come this way: `gp.step(lambda x, y: loss(model(x), y), inputs=(x, y))`.
        backward: in place of `loss.backward()` on BP batches, as `accelerator.backward`. It must
            leave true gradients; for a GradScaler give `scaler`.
        update: in place of `optimizer.step()`, on BP and on GP batches: clipping, averages of
            weights, a scheduler. `update(phase)` is told "bp" or "gp" if it takes an argument.
        scaler: a torch.amp.GradScaler. Scales the loss, unscales the gradients before the predictor
            learns from them, and steps on BP batches. On GP batches nothing is scaled. `update`
            then needs the phase: `scaler.step(optimizer); scaler.update()` on BP,
            `optimizer.step()` on GP.

        A GP batch of method "skip" or "zero" needs no forward pass: closure is not called, and the
        loss of the last batch that had one is returned.
        """
        if self._removed:
            raise UsageError("step: remove() was called; call adagp.wrap again")
        closures = closures_of(closure)
        check_inputs(inputs)
        if scaler is not None:
            check_scaled(backward, update)
        if self._graphs is not None:
            check_recorded(closures, inputs, backward, scaler)
        if self.phase == "bp":
            self._last = self._exact_step(closures, inputs, backward, update, scaler)
        elif self.method == "adagp":
            self._last = self._predicted_step(closures, inputs, update)
        elif self.method == "zero":
            self._apply(
                {index: torch.zeros_like(layer.weight) for index, layer in enumerate(self._taps.layers)}, update
            )
        self.steps += 1
        if self.steps % CHECK_EVERY == 0 or self.steps % self.steps_per_epoch == 0:
            self._losses.ask(self.steps)
        return self._last

    def warm_up(self, closure: Callable[[], Tensor]) -> None:
        """Runs the forward pass of both kinds of batch and a backward pass, so that compiling and the
        choice of kernels are over. Leaves gradients; takes no step."""
        self._forward(closure).backward()  # type: ignore[no-untyped-call]
        with torch.no_grad():
            self._forward(closure)

    def _exact_step(
        self,
        closures: Sequence[Closure],
        inputs: Sequence[Tensor],
        backward: Callable[[Tensor], object] | None,
        update: Update | None,
        scaler: Any,
    ) -> Tensor:
        self.optimizer.zero_grad(set_to_none=True)
        self._clean = False

        def both_passes(loss: Tensor) -> None:
            if not loss.requires_grad:
                raise UsageError(
                    "closure: the loss of a BP batch has no graph; return it without "
                    "detach() and without torch.no_grad()"
                )
            loss = loss / len(closures) if len(closures) > 1 else loss
            (backward or torch.Tensor.backward)(loss if scaler is None else scaler.scale(loss))

        loss = self._passes(closures, inputs, both_passes)
        if scaler is not None:
            scaler.unscale_(self.optimizer)
        # Gradients that a scaler's step leaves out teach nothing.
        if self._learns() and (scaler is None or gradients_finite(self.optimizer)):
            assert self._predictor is not None
            self._learn(self._predictor)
        if update is not None:
            call_update(update, "bp", self.optimizer)
        elif scaler is not None:
            scaler.step(self.optimizer)
            scaler.update()
        else:
            self.optimizer.step()
        self._exact_steps += 1
        return loss

    def _learns(self) -> bool:
        """Whether the predictor learns from this BP batch."""
        if self._predictor is None:
            return False
        beyond = self.steps >= self._planned and self._last_gp >= 0
        return self._asked_probes or self.steps < self._last_gp or beyond

    def _learn(self, predictor: reference.SharedPredictor) -> None:
        weights = {index: self._taps.layers[index].weight for index in self._taps.used()}

        def gradients(form: Callable[[Tensor, Tensor], Tensor]) -> dict[int, Tensor]:
            return {index: form(weight.grad, weight) for index, weight in weights.items() if weight.grad is not None}

        true = gradients(reference.in_order)
        if not true:
            raise UsageError(
                "backward: it left no gradient in any hooked layer; it must call "
                "loss.backward() and not clear the gradients"
            )
        self._gather()
        rows = self._taps.rows
        start = time.perf_counter()
        measures, keeps = self._probes.measures(self._exact_steps), self._probes.keeps(self._exact_steps)
        with torch.no_grad():
            if measures:
                predicted = predictor.predict(rows, list(true))
                self._probes.measure(self.steps, self._names, gradients(reference.as_rows), predicted)
            if keeps:
                self._probes.keep(gradients(reference.as_rows))
            if rows.device.type == "cpu":
                self.probe_seconds += time.perf_counter() - start
            if self._kernels is not None and self._kernels.learn(rows, true):
                return
        predictor.learn(rows, gradients(reference.as_rows))

    def _predicted_step(self, closures: Sequence[Closure], inputs: Sequence[Tensor], update: Update | None) -> Tensor:
        assert self._predictor is not None
        predictor = self._predictor
        if not self._clean:
            self.optimizer.zero_grad(set_to_none=True)
            self._clean = True
        with torch.no_grad():
            loss = self._passes(closures, inputs)
            self._gather()
            # A layer that never had a true gradient has no scale yet: it stays.
            wanted = [index for index in self._taps.used() if predictor.seen[index]]
            if update is None and self._kernels is not None and self._kernels.update(self._taps.rows, wanted):
                return loss
            predicted = predictor.predict(self._taps.rows, wanted)
            weights = [self._taps.layers[index].weight for index in wanted]
            gradients = {
                index: reference.like_weight(rows, weight).to(weight.dtype)
                for index, rows, weight in zip(wanted, predicted, weights)
            }
        self._apply(gradients, update)
        return loss

    def _apply(self, gradients: dict[int, Tensor], update: Update | None) -> None:
        """The user's optimizer moves these weights; all others have no gradient and stay."""
        self.optimizer.zero_grad(set_to_none=True)
        for index, gradient in gradients.items():
            self._taps.layers[index].weight.grad = gradient
        if update is None:
            self.optimizer.step()
        else:
            call_update(update, "gp", self.optimizer)
        self.optimizer.zero_grad(set_to_none=True)

    def _passes(
        self,
        closures: Sequence[Closure],
        inputs: Sequence[Tensor],
        backward: Callable[[Tensor], None] = lambda loss: None,
    ) -> Tensor:
        """The forward pass of each closure and, of its loss, `backward`; returns the mean loss, detached."""
        losses: list[Tensor] = []
        for number, closure in enumerate(closures):

            def passes(given: Sequence[Tensor]) -> Tensor:
                loss = self._forward(lambda: closure(*given), again=number > 0)
                backward(loss)
                return loss.detach()

            if self._graphs is None:
                loss = passes(inputs)
            else:
                loss = self._graphs.run((self.phase, self._looks()), closure, inputs, passes)
            self._losses.see(loss, self.steps, self.phase)
            losses.append(loss)
        return _mean(losses)

    def _looks(self) -> bool:
        """Whether the predictor looks at the outputs of this batch."""
        return self._predictor is not None and (self.phase == "gp" or self._learns())

    def _forward(self, closure: Callable[[], Tensor], again: bool = False) -> Tensor:
        taps = self._taps
        looks = self._looks()
        if looks:
            assert self._predictor is not None
            if taps.follow():
                self._predictor.to(taps.rows.device)
                self._kernels = self._kernel_steps()
            taps.begin(again)
        else:
            taps.rest()
        try:
            loss = closure()
        finally:
            taps.active = False
        taps.end()
        if not isinstance(loss, Tensor) or loss.numel() != 1:
            got = f"a tensor of shape {tuple(loss.shape)}" if isinstance(loss, Tensor) else type(loss).__name__
            raise UsageError(
                f"closure: returned {got}, expected the loss as a tensor with one element (reduction='mean')"
            )
        looked_at = loss.requires_grad or not torch.is_grad_enabled()
        if looks and looked_at and not taps.used():
            raise UsageError(
                "closure: no layer of the model ran as adagp.wrap left it. It must call this model. "
                "If it does: code compiled before adagp.wrap has no hooks; call torch._dynamo.reset() "
                "after adagp.wrap"
            )
        return loss

    def _gather(self) -> None:
        """All processes see the mean of their summaries, as they see the mean of gradients."""
        dist = torch.distributed
        if not (dist.is_available() and dist.is_initialized()):
            return
        world = dist.get_world_size(self._group)
        if world > 1:
            dist.all_reduce(self._taps.rows, group=self._group)
            self._taps.rows /= world

    # Around the loop.

    def state_dict(self) -> dict[str, Any]:
        """Predictor, position and probes; `torch.load(..., weights_only=True)` reads it."""
        self._losses.ask(self.steps)
        return {
            "method": self.method,
            "steps": self.steps,
            "exact_steps": self._exact_steps,
            "last_loss": self._last.detach().clone(),
            "predictor": self._predictor.state_dict() if self._predictor else {},
            "probes": self._probes.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on where `state_dict()` was called, with this controller's schedule."""
        wanted = ("method", "steps", "exact_steps", "last_loss", "predictor", "probes")
        missing = [key for key in wanted if not isinstance(state, dict) or key not in state]
        if missing:
            raise DataError(f"state: '{missing[0]}' is missing; expected what state_dict() gives")
        if state["method"] != self.method:
            raise DataError(f"state: saved with method='{state['method']}', this controller has method='{self.method}'")
        if self._predictor is not None:
            self._predictor.load_state_dict(state["predictor"])
        self._probes.load_state_dict(state["probes"])
        self.steps, self._exact_steps = int(state["steps"]), int(state["exact_steps"])
        self._last = state["last_loss"].clone()

    def remove(self) -> None:
        """Takes the hooks off the model. No step can follow."""
        self._taps.remove()
        self._removed = True


def wrap(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    schedule: str = "auto",
    *,
    epochs: int,
    steps_per_epoch: int,
    method: Method = "adagp",
    skip: Sequence[str] = (),
    seed: int = 0,
    probe_every: int | None = None,
    process_group: Any = None,
    graph: bool = False,
) -> Prediction:
    """ADA-GP beside a model: some batches skip the backward pass and take predicted gradients.

    >>> import torch, adagp
    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    >>> gp = adagp.wrap(model, optimizer, "1ep bp, 1:1", epochs=2, steps_per_epoch=2)
    >>> x, y = torch.randn(16, 4), torch.arange(16) % 2
    >>> phases = []
    >>> for _ in range(4):
    ...     phases.append(gp.phase)
    ...     loss = gp.step(lambda: torch.nn.functional.cross_entropy(model(x), y))
    >>> phases
    ['bp', 'bp', 'gp', 'bp']

    Call it before the first forward pass of a compiled model.

    schedule: "auto" (the published proportions), "paper", "bp", or "10ep bp, 4ep 4:1, 1:1".
    method: "adagp", or its controls on the same schedule: "skip" drops GP batches, "zero" gives
        the optimizer the gradient 0 there. If they do as well, prediction does not help.
    skip: names of layers that are not predicted, also as patterns: ("classifier.*",).
    seed: of the predictor's first weights.
    probe_every: distance in BP batches at which predictions are measured; 0 = never. By default 20
        as long as GP batches are to come; after the last one the predictor does not learn any more.
    process_group: of the processes that share each batch (DDP); None = all there are.
    graph: on a GPU, record the passes of the network as CUDA graphs, one for each shape of a batch.
        Then `step` needs `inputs`; what the closure does beside queueing work is done while
        recording only.
    """
    if not isinstance(model, nn.Module):
        raise UsageError(f"model: got {type(model).__name__}, expected a torch.nn.Module")
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise UsageError(f"optimizer: got {type(optimizer).__name__}, expected a torch.optim optimizer")
    if not isinstance(schedule, str):
        raise UsageError(f"schedule: got {schedule!r}, expected text as '10ep bp, 1:1'")
    if method not in METHODS:
        raise UsageError(f"method: got {method!r}, expected one of {', '.join(METHODS)}")
    for name, value, least in (
        ("epochs", epochs, 1),
        ("steps_per_epoch", steps_per_epoch, 1),
        ("probe_every", 0 if probe_every is None else probe_every, 0),
    ):
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise UsageError(f"{name}: got {value!r}, expected a whole number from {least}")
    names = (skip,) if isinstance(skip, str) else tuple(skip)
    stretches = Schedule(schedule, epochs)
    if told := long_cycles(stretches, epochs, steps_per_epoch):
        warnings.warn(told, stacklevel=2)
    return Prediction(
        model, optimizer, stretches, epochs, steps_per_epoch, method, names, seed, probe_every, process_group, graph
    )


def _mean(losses: Sequence[Tensor]) -> Tensor:
    return losses[0] if len(losses) == 1 else torch.stack([loss.reshape(()) for loss in losses]).mean()
