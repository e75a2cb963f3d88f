"""The loss each example had when it was last seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DataError, DivergedError, UsageError

if TYPE_CHECKING:
    import torch

UNSEEN = -1.0  # losses are never negative


class StoredLosses:
    """One table on the losses' device. It comes to the host once an epoch."""

    def __init__(self, examples: int, world: int) -> None:
        import torch

        self._table = torch.full((examples,), UNSEEN)
        self._fresh = torch.full((examples,), UNSEEN) if world > 1 else None  # of this epoch, mine
        self._order = torch.empty(0, dtype=torch.int64)  # the epoch's examples
        self._begin = np.full(examples, UNSEEN, np.float32)  # when the epoch began

    def tensor(self, values: Any) -> torch.Tensor:
        import torch

        return torch.as_tensor(np.ascontiguousarray(values)).to(self._table.device)

    def begin(self, order: Any) -> None:
        self._order = self.tensor(order)
        if self._fresh is not None:
            self._fresh.fill_(UNSEEN)

    def store(self, begin: int, end: int, losses: torch.Tensor) -> None:
        """The losses of the examples begin .. end of the epoch's order. Waits for nothing."""
        values = losses.detach()
        if values.device != self._table.device:
            self._table = self._table.to(values.device)
            self._order = self._order.to(values.device)
            if self._fresh is not None:
                self._fresh = self._fresh.to(values.device)
        values = values.to(self._table.dtype)
        self._table.index_copy_(0, self._order[begin:end], values)
        if self._fresh is not None:
            self._fresh.index_copy_(0, self._order[begin:end], values)

    def share(self) -> None:
        """Every process gets the losses that the others saw in this epoch."""
        import torch
        import torch.distributed as dist

        if self._fresh is None:
            return
        if not dist.is_initialized():
            if bool((self._fresh > UNSEEN).any()):
                raise UsageError(
                    "world is above 1, and torch.distributed is not initialized: the processes "
                    "cannot tell each other their losses"
                )
            return
        # Each example of the epoch was seen by one process; all others have UNSEEN. The largest
        # of several numbers is not defined if one is NaN; infinity counts as unknown like it.
        fresh = self._fresh.nan_to_num(nan=float("inf"), posinf=float("inf"))
        fresh = fresh.to(_reducing_device(fresh.device))
        dist.all_reduce(fresh, op=dist.ReduceOp.MAX)
        self._fresh.copy_(fresh)
        self._table = torch.where(self._fresh > UNSEEN, self._fresh, self._table)

    def collected(self) -> Any:
        """The table on the host, as it is when an epoch begins; every process gets all losses."""
        self.share()
        self._begin = self._table.cpu().numpy().copy()
        self._check(self._begin)
        return self._begin

    def check(self) -> None:
        """The losses this process knows are finite and not negative. Waits for the device."""
        self._check(self._table.cpu().numpy())

    @staticmethod
    def _check(losses: Any) -> None:
        broken = np.flatnonzero(~np.isfinite(losses))
        if len(broken):
            raise DivergedError(
                f"loss: {len(broken)} of {len(losses)} examples have a loss that is not finite "
                f"(example {broken[0]}: {losses[broken[0]]}); lower the learning rate, or look at "
                "these examples"
            )
        negative = np.flatnonzero((losses < 0) & (losses != UNSEEN))
        if len(negative):
            raise UsageError(
                f"loss: example {negative[0]} has the loss {losses[negative[0]]}; a plan that "
                "chooses examples by their losses needs losses of 0 or more"
            )

    def at_begin(self) -> Any:
        return self._begin

    def state_dict(self) -> dict[str, Any]:
        import torch

        state = {"losses": self._table.cpu().clone(), "begin": torch.from_numpy(self._begin)}
        if self._fresh is not None:
            state["fresh"] = self._fresh.cpu().clone()
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        missing = [key for key in ("losses", "begin") if key not in state]
        if missing:
            raise DataError(f"state of the plan: no {missing[0]}: it is of a plan without a rule")
        if len(state["losses"]) != len(self._table):
            raise DataError(
                f"state of the plan: {len(state['losses'])} stored losses, and the data set has "
                f"{len(self._table)} examples: it is not the one this run began with"
            )
        self._table.copy_(state["losses"])
        self._begin = state["begin"].numpy().copy()
        if self._fresh is not None and "fresh" in state:
            self._fresh.copy_(state["fresh"])


def _reducing_device(device: torch.device) -> torch.device:
    """Where the process group can reduce a tensor of this device."""
    import torch
    import torch.distributed as dist

    backend = dist.get_backend()
    if backend == "gloo":
        return torch.device("cpu")
    if backend == "nccl" and device.type == "cpu":  # no loss was stored yet
        return torch.device("cuda", torch.cuda.current_device())
    return device
