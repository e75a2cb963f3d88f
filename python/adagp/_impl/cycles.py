"""What a schedule of BP and GP batches comes to in a run of so many epochs and steps."""

from __future__ import annotations

import re

from .._core import Schedule


def last_predicted(schedule: Schedule, epochs: int, steps: int) -> int:
    """The number of the run's last GP batch; -1: it has none."""
    if schedule.predicted_share(epochs, steps) == 0:
        return -1
    for number in reversed(range(epochs * steps)):
        if schedule.predicted(*divmod(number, steps)):
            return number
    return -1


def long_cycles(schedule: Schedule, epochs: int, steps: int) -> str:
    """A warning, or ''. A cycle restarts with each epoch: a ratio with more GP batches than an epoch
    has steps never comes to its BP batches."""
    longest = max((int(k) for k in re.findall(r"(\d+):\d+", str(schedule))), default=0)
    if longest < steps:
        return ""
    predicted = [sum(schedule.predicted(epoch, i) for i in range(steps)) for epoch in range(epochs)]
    without = predicted.count(steps)
    if not without:
        return ""
    return (
        f"schedule '{schedule}': {sum(predicted)} of {epochs * steps} batches are GP, and "
        f"{without} of {epochs} epochs have no BP batch: a cycle begins again with each epoch, "
        f"and steps_per_epoch is {steps}; give ratios with fewer GP batches"
    )
