"""Plans in Lightning, by either of its names (``lightning``, ``pytorch_lightning``)."""

from __future__ import annotations

import functools
import importlib.util
import sys
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._impl.batch_tensors import map_images
from .._impl.extras import need
from ..errors import UsageError
from ..plan import Plan

if TYPE_CHECKING:
    from lightning.pytorch import Callback as _Callback
else:
    _Callback = object

_PACKAGES = ("lightning.pytorch", "pytorch_lightning")
_HOOK = "on_after_batch_transfer"


def _callbacks() -> tuple[type, ...]:
    """The base class of callbacks of each Lightning that is in use."""
    used = [name for name in _PACKAGES if name in sys.modules]
    if not used:
        try:
            used = [need(_PACKAGES[0], "PlanCallback").__name__]
        except UsageError:
            if importlib.util.find_spec(_PACKAGES[1]) is None:
                raise
            used = [importlib.import_module(_PACKAGES[1]).__name__]
    return tuple(sys.modules[name].Callback for name in used)


_made: dict[tuple[type, ...], type] = {}


def _with_bases(*bases: type) -> type:
    """One class for each choice of base classes, named like the first."""
    if bases not in _made:
        names = {"__doc__": bases[0].__doc__, "__module__": bases[0].__module__}
        _made[bases] = type(bases[0].__name__, bases, names)
    return _made[bases]


class PlanCallback(_Callback):
    """Runs a plan in a Lightning trainer.

    The loader is made with ``batch_sampler=plan``, and ``training_step`` returns ``plan.loss(...)``
    of the losses of its examples. The callback lays out each epoch before Lightning asks for its
    length, shrinks the images, and keeps the plan's state in checkpoints, also in mid-epoch. ::

        plan = adagp.Plan("progressive+stored-loss", train_set, batch_size=128, epochs=15)
        loader = DataLoader(train_set, batch_sampler=plan, num_workers=4)
        trainer = Trainer(max_epochs=15, callbacks=[PlanCallback(plan)],
                          use_distributed_sampler=False)
        trainer.fit(module, loader)

    With several devices every process gets its part of each batch by itself; ``batch_size`` is that
    of all together.
    """

    def __new__(cls, plan: Plan) -> PlanCallback:
        made: PlanCallback = object.__new__(_with_bases(cls, *_callbacks()))
        return made

    def __init__(self, plan: Plan) -> None:
        if not isinstance(plan, Plan):
            raise UsageError(f"plan: got a {type(plan).__name__}, expected an adagp.Plan")
        self.plan = plan
        self._undo: list[Callable[[], None]] = []

    def __reduce__(self) -> tuple[Any, ...]:
        return PlanCallback, (self.plan,)

    # ------------------------------------------------------------ before and after the run

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        if stage != "fit":
            return
        self._end()
        self._check(trainer)
        self.plan.split(trainer.global_rank, trainer.world_size)
        # Lightning makes two iterators for an epoch, so the epoch cannot follow from iterating.
        self._set(self.plan, "auto_advance", False)
        # It asks for the length of an epoch only when it reloads the loader.
        self._set(trainer, "reload_dataloaders_every_n_epochs", 1)
        for owner in (pl_module, getattr(trainer, "datamodule", None)):
            if owner is not None:
                self._shrink_in(owner, trainer)
        # With epochs of several lengths Lightning takes every checkpoint for one of mid-epoch, and
        # it does not know that the callback restores the position.
        warnings.filterwarnings("ignore", message=".*your dataloader is not resumable.*")

    def _check(self, trainer: Any) -> None:
        plan, epochs = self.plan, trainer.max_epochs
        if epochs != plan.epochs and not trainer.fast_dev_run:
            raise UsageError(
                f"max_epochs: the trainer has {epochs}, and the plan is of {plan.epochs} epochs: "
                f"sizes, choice and rates depend on it; give Trainer(max_epochs={plan.epochs}) "
                f"or Plan(..., epochs={epochs})"
            )
        connector = getattr(trainer, "_accelerator_connector", None)
        if trainer.world_size > 1 and getattr(connector, "use_distributed_sampler", False):
            raise UsageError(
                f"use_distributed_sampler: the trainer has {trainer.world_size} processes and "
                "would replace the plan by a sampler of its own; the plan gives each process its part: "
                "give Trainer(use_distributed_sampler=False)"
            )
        if trainer.overfit_batches:
            raise UsageError(
                f"overfit_batches: {trainer.overfit_batches} replaces the plan by a sampler of "
                "Lightning; leave it out, or leave PlanCallback out"
            )
        if trainer.reload_dataloaders_every_n_epochs > 1:
            raise UsageError(
                "reload_dataloaders_every_n_epochs: "
                f"{trainer.reload_dataloaders_every_n_epochs}, but each epoch of a plan has its "
                "own length; leave it out"
            )

    def _set(self, owner: Any, name: str, value: Any) -> None:
        before = getattr(owner, name)
        self._undo.append(lambda: setattr(owner, name, before))
        setattr(owner, name, value)

    def _shrink_in(self, owner: Any, trainer: Any) -> None:
        """A callback cannot change a batch; this hook of the module or the data module can."""
        hook = getattr(owner, _HOOK)

        @functools.wraps(hook)  # Lightning looks through it when it asks whether it is overridden
        def shrunk(batch: Any, dataloader_idx: int) -> Any:
            batch = hook(batch, dataloader_idx)
            if not trainer.training:
                return batch
            self.plan.begin_batch()
            return map_images(batch, self.plan.shrink)

        setattr(owner, _HOOK, shrunk)
        self._undo.append(lambda: delattr(owner, _HOOK))

    def _end(self) -> None:
        while self._undo:
            self._undo.pop()()

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        self._end()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._end()

    # ------------------------------------------------------------ epochs

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        plan, epoch = self.plan, trainer.current_epoch
        if plan.epoch_done and epoch == plan.epoch + 1:  # from a checkpoint after the last batch
            plan.set_epoch(epoch)
            loop = trainer.fit_loop.epoch_loop
            if loop.restarted_on_train_batch_end:
                # Lightning sees that an epoch is over from its number of batches, and would
                # compare the last epoch's with the length of this one.
                progress = loop.batch_progress.current
                progress.completed = max(progress.completed, len(plan))
        if plan.epoch != epoch:
            raise UsageError(
                f"the trainer begins with epoch {epoch}, and the plan is at epoch {plan.epoch}: "
                "a new run needs a new Plan, and a checkpoint must be one with PlanCallback in it"
            )

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        loader = trainer.train_dataloader
        if getattr(loader, "batch_sampler", None) is not self.plan:
            raise UsageError(
                f"train_dataloader: got {_described(loader)}, expected one loader of this plan: "
                "DataLoader(train_set, batch_sampler=plan)"
            )

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        if self.plan.taken == 0:
            raise UsageError(f"epoch {trainer.current_epoch} ended, and no batch of it was trained")
        if trainer.current_epoch + 1 < self.plan.epochs:
            self.plan.set_epoch(trainer.current_epoch + 1)

    # ------------------------------------------------------------ batches

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        if self.plan.position != batch_idx:
            raise UsageError(
                f"batch {batch_idx} of epoch {trainer.current_epoch} begins, and the plan is at "
                f"batch {self.plan.position}: training_step must call plan.loss() once a batch, "
                "must not call plan.shrink() (the callback does), and must take a batch, not an "
                "iterator"
            )

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if self.plan.by_loss and not self.plan.loss_taken:
            raise UsageError(
                f"training_step did not call plan.loss(): the plan {self.plan.method!r} chooses "
                'examples by their losses; return plan.loss(cross_entropy(..., reduction="none"))'
            )

    # ------------------------------------------------------------ checkpoints

    def state_dict(self) -> dict[str, Any]:
        self.plan.share_losses()  # Lightning writes the state of one process for all
        return self.plan.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        if self._undo:  # a run begins; a test does not need it
            self.plan.load_state_dict(state_dict)


def _described(loader: Any) -> str:
    sampler = getattr(loader, "batch_sampler", None)
    if sampler is None:
        return f"a {type(loader).__name__}"
    if isinstance(sampler, Plan):
        return "a loader of another plan"
    return f"a loader with the batch sampler {type(sampler).__name__}"
