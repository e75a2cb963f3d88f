"""Plans in loops of Hugging Face accelerate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import UsageError
from ..plan import Plan


class _SharedState:
    """The plan as ``accelerator.save_state`` sees it, which writes one file for all processes."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def state_dict(self) -> dict[str, Any]:
        self._plan.share_losses()
        return self._plan.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._plan.load_state_dict(state)


def plan(accelerator: Any, method: str, dataset: Any, *, batch_size: int, epochs: int, **options: Any) -> Plan:
    """A plan that knows the processes of an ``Accelerator``; ``options`` are those of
    ``adagp.Plan``.

    ``batch_size`` is that of all processes together. The loader is made with ``batch_sampler=plan``
    and is not given to ``accelerator.prepare``, which would split its batches once more.
    ``accelerator.save_state`` and ``load_state`` save and load the plan too, also in mid-epoch. ::

        plan = adagp.integrations.accelerate.plan(accelerator, "stored-loss", train_set,
                                                  batch_size=128, epochs=15)
        loader = DataLoader(train_set, batch_sampler=plan)
        model, optimizer = accelerator.prepare(model, optimizer)
        for x, y in plan.batches(loader, accelerator.device):
            loss = plan.loss(cross_entropy(model(x), y, reduction="none"))
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
    """
    for name in ("process_index", "num_processes", "register_for_checkpointing"):
        if not hasattr(accelerator, name):
            raise UsageError(
                f"accelerator: got a {type(accelerator).__name__}, expected an "
                "accelerate.Accelerator (the first argument)"
            )
    for name in ("rank", "world"):
        if name in options:
            raise UsageError(f"{name}: the accelerator knows it; leave it out, or use adagp.Plan")
    made = Plan(
        method,
        dataset,
        batch_size=batch_size,
        epochs=epochs,
        rank=accelerator.process_index,
        world=accelerator.num_processes,
        **options,
    )
    accelerator.register_for_checkpointing(_SharedState(made))
    return made
