"""Which examples an epoch has, and how large its batches and images are.

The methods that pay: exact backprop on fewer examples or on smaller images, in any training loop.
Choice, order and sizes come from the C++ engine; equal seeds give its examples.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from os import getpid
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._impl.arguments import text, whole
from ._impl.batch_tensors import map_images, norms_kept, shrunk, to_device
from ._impl.index_lists import IndexLists
from ._impl.plan_input import check_policy_read, check_read, examples_of, side_of
from ._impl.rates import Rates
from ._impl.stored_losses import StoredLosses
from ._impl.toml import settings_pairs
from ._impl.weighted import ABOUT, NAME, WeightedExamples, without
from .errors import DataError, UsageError

if TYPE_CHECKING:
    import torch


class Plan:
    """A batch sampler that chooses examples, batch sizes and image sizes.

    ``method`` is one of ``adagp.Plan.methods()`` or a plan of batches and a rule joined:
    ``"progressive+stored-loss"``. ``dataset`` has a length, or is a number of examples. Batches are
    whole: the last examples that do not fill one are left out, others in every epoch. ``side`` is
    the side of the images where the data set does not tell it. ``settings`` are keys of
    docs/configuration.md such as ``{"stored_loss.power": 2}``.

    The plan ``"weighted"``, also joined (``"progressive+weighted"``), draws ``draws`` examples an
    epoch (as many as there are) with a probability proportional to ``weights``, one number for each
    example, with or without ``replacement``.

    >>> plan = Plan("bp", 10, batch_size=4, epochs=2)
    >>> [len(batch) for batch in plan]
    [4, 4]
    """

    def __init__(
        self,
        method: str,
        dataset: Any,
        *,
        batch_size: int,
        epochs: int,
        seed: int = 0,
        side: int | None = None,
        schedule: str = "auto",
        rank: int = 0,
        world: int = 1,
        settings: Mapping[str, Any] | None = None,
        weights: Any = None,
        replacement: bool = True,
        draws: int | None = None,
    ) -> None:
        self.method, self.seed = text(method, "method"), whole(seed, "seed")
        self.epochs, self.batch_size = whole(epochs, "epochs", 1), whole(batch_size, "batch_size", 1)
        self._set_part(rank, world)
        self.auto_advance = True  # iterating again begins the next epoch; else set_epoch alone does
        self._schedule, self._settings = schedule, dict(settings or {})
        keys = {"schedule": schedule, **self._settings, "epochs": epochs}
        keys |= {"batch": batch_size, "seed": seed}
        self.examples = examples_of(dataset)
        self._side = side_of(dataset) if side is None else side
        self._drawn = self._weighted(weights, replacement, draws)
        an_epoch = self._drawn.count if self._drawn else self.examples
        self._plan = _core.RunPlan(without(method), an_epoch, self._side, settings_pairs(keys))
        if self._drawn and self._plan.by_loss:
            raise UsageError(f"method: {method!r} would draw by weights and by losses; leave out one of them")
        check_read(self._settings)
        self._losses = StoredLosses(self.examples, world) if self._plan.by_loss else None
        self._rates = Rates(an_epoch // batch_size, epochs)
        self._epoch = -1  # of the batches below; -1: none yet
        self._now: _core.EpochPlan | None = None
        self._order: np.ndarray[Any, np.dtype[np.int64]] = np.empty(0, np.int64)
        self._begins: Sequence[int] = ()
        self._counts: Sequence[int] = ()
        self._weights: torch.Tensor | None = None  # of the epoch's examples in their order
        self._start = 0  # batches of this epoch that were done before a checkpoint
        self._position = -1  # the batch in hand; -1: before the first
        self._shrunk = self._counted = False  # what was done with it
        self._losses_given = self._sides_asked = False  # of any batch of this epoch
        self._given_out = False  # the sampler gave out all batches of this epoch
        self._looked_at = False  # a whole epoch was: what its loop does, that of the last one does
        self._warn_of_one_batch()

    @staticmethod
    def methods() -> dict[str, str]:
        """Names of plans, with a line each."""
        return {name: about for name, about, _ in _core.planned_methods()} | {NAME: ABOUT}

    def _weighted(self, weights: Any, replacement: bool, draws: int | None) -> WeightedExamples | None:
        if NAME in self.method.split("+"):
            return WeightedExamples(weights, self.examples, replacement, draws, self.seed)
        if weights is None and draws is None and replacement:
            return None
        raise UsageError(
            f"weights, replacement, draws: are of the plan 'weighted', and method is {self.method!r}; "
            f'write method="{self.method}+weighted"'
        )

    @property
    def by_loss(self) -> bool:
        """Whether examples are chosen by their losses: then every batch needs ``loss``."""
        return self._losses is not None

    def _set_part(self, rank: int, world: int) -> None:
        if not 0 <= rank < world:
            raise UsageError(f"rank: {rank}, expected 0 to {world - 1} (world is {world})")
        if self.batch_size < world:
            raise UsageError(f"batch_size: {self.batch_size}, expected {world} or more: one a process")
        self.rank, self.world = rank, world

    def split(self, rank: int, world: int) -> None:
        """Says which of how many processes this is, where it was not known when the plan was made.
        Every process has its part of each batch; ``batch_size`` is that of all together."""
        if (rank, world) == (self.rank, self.world):
            return
        if self._position >= 0 or self._start > 0:
            raise UsageError("split: the plan has begun; call it before the first batch")
        self._set_part(rank, world)
        self._epoch = -1  # laid out again with tables of the right kind
        self._losses = StoredLosses(self.examples, world) if self._plan.by_loss else None

    # ------------------------------------------------------------ epochs

    def set_epoch(self, epoch: int) -> None:
        """Goes to the beginning of an epoch. Loops that run through all epochs need not call it.
        After ``load_state_dict`` the epoch of the state goes on where it was."""
        if not 0 <= epoch < self.epochs:
            raise UsageError(f"epoch: {epoch}, expected 0 to {self.epochs - 1}")
        if epoch == self._epoch and self._position < 0:
            # A loader that was made and not used may have taken all index lists.
            self._given_out = self._start >= len(self._counts)
            return
        if epoch > self._epoch >= 0:
            self._check_epoch()
        self._lay_out(epoch, self._losses.collected() if self._losses else None)

    def _forgotten(self) -> str:
        """What the loop did not do in this epoch and the plan relies on; empty: nothing."""
        if self.by_loss and not self._losses_given:
            return (
                f"plan.loss() was not called: the plan {self.method!r} chooses examples by their "
                "losses, and without them at random; "
                'give each batch to plan.loss(cross_entropy(..., reduction="none"))'
            )
        sides = {self._plan.shape(self._epoch, i)[0] for i in range(len(self._counts))} - {0}
        if sides and not self._sides_asked:
            return (
                f"its images were not made smaller: the plan {self.method!r} has images of side "
                f"{', '.join(map(str, sorted(sides)))} there, in larger batches; "
                "iterate over plan.batches(loader), or call plan.shrink(images)"
            )
        return ""

    def _check_epoch(self) -> None:
        """The loop did in this epoch what the plan relies on; else it trains something else."""
        if self.taken == self._start and not (self._given_out and self._start < len(self._counts)):
            return
        self._looked_at = True
        if forgotten := self._forgotten():
            raise UsageError(f"epoch {self._epoch} is over, and {forgotten}")

    def _check_end(self) -> None:
        """Of the last epoch, after which none begins. Workers take all index lists of an epoch before
        its last batches are trained: then `batches` alone can tell."""
        if self.finished:
            self._check_epoch()

    def _look_back(self, begun: list[int], process: int) -> None:
        """When a loop has let go of the index lists of an epoch. The beginning of the next epoch
        refuses what was forgotten; after the last one nobody would say it."""
        last = begun == [self._epoch] == [self.epochs - 1]
        if not last or not self._given_out or self._looked_at or process != getpid():
            return
        broken_off = self._start < self.taken < len(self._counts)
        if not broken_off and self._start < len(self._counts):
            if forgotten := self._forgotten():
                message = f"epoch {self._epoch}, the last one, was given out, and {forgotten}"
                warnings.warn(message, stacklevel=2)

    def _lay_out(self, epoch: int, losses: Any) -> None:
        known = np.empty(0, np.float32) if losses is None else losses
        self._now = self._plan.epoch(epoch, known)
        self._epoch, self._start, self._position = epoch, 0, -1
        self._shrunk = self._counted = self._given_out = False
        self._losses_given = self._sides_asked = False
        order = self._now.order
        self._order = self._drawn.of(epoch)[order] if self._drawn else order
        self._begins = self._now.begins.tolist()
        self._counts = self._now.counts.tolist()
        weights = self._now.weights
        self._weights = None
        if self._losses:
            self._losses.begin(self._order)
            if not np.isin(weights, (0, 1)).all():
                self._weights = self._losses.tensor(weights[self._order])

    def next_epoch(self) -> None:
        """Lays out the epoch that comes next. Iterating does it by itself; call it where the length
        of the coming epoch must be known before."""
        if self._epoch < 0:
            self.set_epoch(0)
        elif self._position < 0 and not self._given_out:
            return  # it is laid out
        elif self._epoch + 1 < self.epochs:
            self.set_epoch(self._epoch + 1)
        else:
            raise UsageError(f"the plan is of {self.epochs} epochs, and all of them are done")

    def __len__(self) -> int:
        """Batches of the epoch in progress, those before a checkpoint among them. It is the last
        epoch's until the next begins."""
        if self._epoch < 0:
            self.set_epoch(0)
        return len(self._counts)

    @property
    def taken(self) -> int:
        """Batches of this epoch that were taken."""
        return max(self._start, self._position + 1)

    @property
    def epoch_done(self) -> bool:
        """Whether all batches of this epoch were taken."""
        return self._epoch >= 0 and self.taken >= len(self._counts)

    @property
    def finished(self) -> bool:
        """Whether all batches of all epochs were taken."""
        return self._epoch + 1 == self.epochs and self.epoch_done

    def __iter__(self) -> Iterator[list[int]]:
        """The index lists of one epoch; this process's part of each batch. An epoch of which a
        batch was taken is over: iterating again begins the next one."""
        begun: list[int] = []  # the epoch, from the first list on
        return IndexLists(self._index_lists(begun), partial(self._look_back, begun, getpid()))

    def _index_lists(self, begun: list[int]) -> Iterator[list[int]]:
        if self.auto_advance or self._epoch < 0:
            self.next_epoch()
        epoch = self._epoch
        begun.append(epoch)
        for position in range(self.taken, len(self._counts)):
            begin, end = self._mine(position)
            self._given_out = position + 1 == len(self._counts)
            yield self._order[begin:end].tolist()
            if self._epoch != epoch:
                return
        self._check_end()

    def _mine(self, position: int) -> tuple[int, int]:
        begin, count = self._begins[position], self._counts[position]
        first = begin + count * self.rank // self.world
        return first, begin + count * (self.rank + 1) // self.world

    # ------------------------------------------------------------ the batch in hand

    def begin_batch(self, position: int | None = None) -> None:
        """Takes the next batch in hand, or that one. ``batches`` does it by itself."""
        if self._epoch < 0:
            self.set_epoch(0)
        at = self.taken if position is None else position
        if at >= len(self._counts):
            raise UsageError(
                f"epoch {self._epoch} has {len(self._counts)} batches, and there came one more: "
                "call loss() and shrink() once a batch, and iterate over the loader of this plan"
            )
        self._position, self._shrunk, self._counted = at, False, False

    @property
    def epoch(self) -> int:
        """The epoch of the batch in hand."""
        return max(self._epoch, 0)

    @property
    def position(self) -> int:
        """The number of the batch in hand in its epoch."""
        return max(self._position, self._start, 0)

    @property
    def loss_taken(self) -> bool:
        """Whether ``loss`` was called for the batch in hand."""
        return self._counted

    @property
    def image_side(self) -> int:
        """Of the batch in hand; 0: as the data is."""
        self._sides_asked = True
        return self._side_in_hand()

    def _side_in_hand(self) -> int:
        return self._plan.shape(self.epoch, self.position)[0]

    @property
    def rate_factor(self) -> float:
        """What the learning rate of the batch in hand is multiplied by: larger batches may take
        larger steps."""
        return self._plan.shape(self.epoch, self.position)[2]

    @property
    def progress(self) -> float:
        """Examples seen before the batch in hand as a share of the run's: what a learning-rate
        schedule should follow."""
        if self._now is None:
            return 0.0
        within = self._now.share_before(min(self.position, len(self._counts) - 1))
        return self._plan.progress(self._epoch, within)

    def shrink(self, images: torch.Tensor) -> torch.Tensor:
        """The images at this batch's size: every new pixel is the mean of those it covers."""
        if self._position < 0 or self._shrunk:
            self.begin_batch()
        self._shrunk = True
        small: torch.Tensor = shrunk(images, self.image_side)
        return small

    def loss(self, per_example: torch.Tensor) -> torch.Tensor:
        """The batch's loss from the losses of its examples, which the plan keeps on their device.

        Give it the losses before any mean: ``cross_entropy(..., reduction="none")``.
        """
        if self._position < 0 or self._counted:
            self.begin_batch()
        self._counted = self._losses_given = True
        begin, end = self._mine(self._position)
        if per_example.ndim != 1 or len(per_example) != end - begin:
            raise UsageError(
                f"loss: got a tensor of shape {tuple(per_example.shape)}, expected "
                f"({end - begin},): one loss for each example of the batch, as "
                'cross_entropy(..., reduction="none") gives; the loader must be of this plan'
            )
        if self._losses:
            self._losses.store(begin, end, per_example)
            if self.finished:  # no epoch begins that would look at them
                self._losses.check()
            if self._weights is not None:
                if self._weights.device != per_example.device:
                    self._weights = self._weights.to(per_example.device)
                per_example = per_example * self._weights[begin:end]
        if self.world == 1:
            return per_example.mean()
        # The mean over processes is then the mean over the batch, whatever its parts.
        return per_example.sum() * (self.world / self._counts[self._position])

    def norms(self, model: Any) -> AbstractContextManager[None]:
        """Around a forward pass: on small images of ``low-res`` batch norms keep their running
        statistics, which are of whole images, as evaluation is. Else it does nothing."""
        moves = self._settings.get("low_res.move_statistics", False)
        kept = "low-res" in self.method and self._side_in_hand() != 0 and not moves
        return norms_kept(model) if kept else nullcontext()

    def batches(self, loader: Any, device: Any = None) -> Iterator[Any]:
        """All batches that are left of all epochs, their images shrunk; ``loader`` has this plan as
        ``batch_sampler``."""
        if getattr(loader, "batch_sampler", None) is not self:
            raise UsageError("batches: the loader must be made with batch_sampler=plan")
        self._looked_at = True  # below, after the last batch
        while not self.finished:
            self.next_epoch()
            for batch in loader:
                self.begin_batch()
                yield map_images(to_device(batch, device), self.shrink)
        self._check_end()

    def set_rate(self, optimizer: Any, base: float | None = None, policy: str = "one-cycle", **options: Any) -> None:
        """Sets the optimizer's learning rate for the batch in hand; call it before
        ``optimizer.step()``. ``policy`` and its ``options`` are those of docs/configuration.md
        (``peak=0.3``). Without ``base`` each parameter group's first rate is its base."""
        if policy == "plateau":
            raise UsageError("policy: 'plateau' follows test losses; set_rate takes the others")
        keys = {f"policy.{key}": v for key, v in options.items()}
        check_policy_read(policy, keys)
        pairs = settings_pairs({"policy.name": policy, **keys})
        self._rates.set(optimizer, base, pairs, self.progress, self.rate_factor)

    # ------------------------------------------------------------ before the run

    def shapes(self) -> list[tuple[int, int]]:
        """(image side or 0, examples) of the batches of the run: what ``torch.compile`` meets. An
        epoch whose rule keeps fewer examples than a large batch has is one smaller batch."""
        found: dict[tuple[int, int], None] = {}
        for begin, _, examples in self._plan.stages():
            for position, count in enumerate(self._plan.counts(begin, examples)):
                side, most, _ = self._plan.shape(begin, position)
                if self.by_loss:  # how many examples the rule keeps is not known before
                    count = min(most or self.batch_size, self.examples)
                mine = count * (self.rank + 1) // self.world - count * self.rank // self.world
                found[side, mine] = None
        return list(found)

    def _warn_of_one_batch(self) -> None:
        for begin, _, examples in self._plan.stages():
            side, most, _ = self._plan.shape(begin, 0)
            if side and most >= examples:
                warnings.warn(
                    f"{self.method}: an epoch of images of side {side} is one batch of all "
                    f"{examples} examples, and so one step; give more data or a smaller batch_size",
                    stacklevel=3,
                )
                return

    def foreseen(self) -> list[tuple[int, int, int]]:
        """(image side or 0, examples, batches) of the run, as far as can be said before it."""
        found: dict[tuple[int, int], int] = {}
        for begin, end, examples in self._plan.stages():
            for position, count in enumerate(self._plan.counts(begin, examples)):
                key = self._plan.shape(begin, position)[0], count
                found[key] = found.get(key, 0) + end - begin
        return [(side, count, times) for (side, count), times in found.items()]

    # ------------------------------------------------------------ checkpoints

    def share_losses(self) -> None:
        """Gives every process the losses that the others saw. All processes must call it. The
        beginning of an epoch does it by itself; call it before ``state_dict`` in mid-epoch if one
        process saves the state for all."""
        if self._losses:
            self._losses.share()

    def state_dict(self) -> dict[str, Any]:
        """Everything the rest of the run depends on, after the batch in hand; also in mid-epoch."""
        state: dict[str, Any] = {"epoch": self._epoch, "position": self.taken, **self._identity()}
        if self._losses:
            state |= self._losses.state_dict()
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on where ``state_dict`` was called."""
        for name, value in self._identity().items():
            if state.get(name, value) != value:
                raise DataError(f"state of the plan: {name} {state[name]!r}, and this plan has {value!r}")
        if self._losses:
            self._losses.load_state_dict(state)
        if state["epoch"] < 0:
            self._epoch = self._position = -1
            self._start, self._given_out = 0, False
            return
        self._lay_out(state["epoch"], self._losses.at_begin() if self._losses else None)
        if self._losses:
            self._losses.load_state_dict(state)
        self._start = state["position"]
        self._given_out = self._start >= len(self._counts)  # the epoch was over

    def _identity(self) -> dict[str, Any]:
        own = {"method": self.method, "seed": self.seed, "epochs": self.epochs,
               "batch_size": self.batch_size}  # fmt: skip
        return own | (self._drawn.identity() if self._drawn else {})

    def __reduce__(self) -> tuple[Any, ...]:
        # The data set stays where it is: its length and side are enough.
        made: dict[str, Any] = {"batch_size": self.batch_size, "epochs": self.epochs}
        made |= {"seed": self.seed, "side": self._side, "settings": self._settings}
        made |= {"schedule": self._schedule, "rank": self.rank, "world": self.world}
        made |= self._drawn.arguments() if self._drawn else {}
        return partial(type(self), **made), (self.method, self.examples), self.state_dict()

    __setstate__ = load_state_dict

    def __repr__(self) -> str:
        return (
            f"Plan({self.method!r}, {self.examples} examples, batch_size={self.batch_size}, "
            f"epochs={self.epochs}, seed={self.seed}; epoch {self.epoch}, batch {self.position})"
        )
