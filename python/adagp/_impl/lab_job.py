"""What adagp.compare trains: the settings all runs share, one run's job, its plan and its loader."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import _core
from ..errors import UsageError
from ..plan import Plan
from .lab_costs import Costs

PREDICTING = ("adagp", "skip", "zero")  # what adagp.wrap does; all others are plans


@dataclass
class Setting:
    """What all runs of a comparison share."""

    make_model: Callable[[], Any]
    make_optimizer: Callable[[Any], Any]  # of a model
    train_loader: Any
    test_loader: Any
    loss: Callable[[Any, Any], Any]  # (outputs, targets) -> a loss for each example
    score: Callable[[Any, Any], Any]  # (outputs, targets) -> a number for each example
    metric: str
    batch: int
    policy: str
    schedule: str
    device: Any
    precision: str
    compile: bool
    settings: dict[str, Any]
    costs: Costs
    policy_options: dict[str, Any] = field(default_factory=dict)  # of settings: "policy.peak"
    names: dict[str, str] = field(default_factory=dict)  # model, data, optimizer
    side: int | None = None  # of the square images; None: they are none
    first_networks: dict[int, dict[str, str]] = field(default_factory=dict)  # identity, by seed

    def config(self, job: Job) -> dict[str, Any]:
        """config.toml of a run: all that a finished one must agree in to be used again."""
        return {
            "method": job.method, "seed": job.seed, "epochs": job.epochs, "batch": job.batch,
            "device": str(self.device), "precision": self.precision, "compile": self.compile,
            "schedule": self.schedule, "policy": self.policy, **self.names,
            **self.first_networks.get(job.seed, {}),
            "settings": {key.replace(".", "_"): v for key, v in self.settings.items()},
            "policy_options": dict(self.policy_options),
        }  # fmt: skip


@dataclass(frozen=True)
class Job:
    method: str
    epochs: int
    seed: int
    batch: int

    @property
    def folder(self) -> str:
        return f"{self.method}-{self.epochs}ep-b{self.batch}-seed{self.seed}"


def seed_all(seed: int, epoch: int) -> None:
    """Every epoch has its own random numbers, so that a resumed run has those of one that was not
    interrupted."""
    import torch

    number = (seed * 1_000_003 + epoch) % (1 << 31)
    random.seed(number)
    np.random.seed(number)
    torch.manual_seed(number)


def first_model(setting: Setting, seed: int) -> Any:
    """The network that the runs of a seed begin with."""
    seed_all(seed, 0)
    return setting.make_model()


def make_plan(setting: Setting, job: Job) -> Plan:
    method = "bp" if job.method in PREDICTING else job.method
    return Plan(
        method,
        setting.train_loader.dataset,
        batch_size=setting.batch,
        epochs=job.epochs,
        seed=job.seed,
        schedule=setting.schedule,
        side=setting.side or 0,
        settings=setting.settings,
    )


class WithoutPredicted:
    """Index lists of the BP batches alone: a batch that is dropped is not loaded."""

    def __init__(self, plan: Plan, schedule: _core.Schedule) -> None:
        self._plan, self._schedule = plan, schedule

    def __iter__(self) -> Iterator[list[int]]:
        for position, batch in enumerate(self._plan):
            if not self._schedule.predicted(self._plan.epoch, position):
                yield batch

    def __len__(self) -> int:
        wanted = (not self._schedule.predicted(self._plan.epoch, i) for i in range(len(self._plan)))
        return sum(wanted)


def plan_loader(loader: Any, sampler: Any) -> Any:
    """The user's loader with another batch sampler. Its workers are new in every epoch: others
    would keep the random numbers of the epoch in which they began, also after a resume."""
    from torch.utils.data import DataLoader

    same = {
        name: getattr(loader, name)
        for name in ("num_workers", "collate_fn", "pin_memory", "timeout", "worker_init_fn",
                     "multiprocessing_context", "prefetch_factor")
    }  # fmt: skip
    return DataLoader(loader.dataset, batch_sampler=sampler, **same)


def first_examples(loader: Any, most: int) -> Any:
    """A batch of the first examples, as the loader puts them together."""
    count = min(most, len(loader.dataset))
    return loader.collate_fn([loader.dataset[i] for i in range(count)])


def pair_of(batch: Any) -> tuple[Any, Any]:
    if isinstance(batch, (tuple, list)) and len(batch) == 2:
        return batch[0], batch[1]
    kind = f"a {type(batch).__name__}"
    kind += f" of {len(batch)}" if isinstance(batch, (tuple, list)) else ""
    raise UsageError(
        f"a loader gave {kind} instead of (inputs, targets); give compare() a loader whose "
        "collate_fn returns such pairs"
    )
