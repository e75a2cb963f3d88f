"""What a plan is given: a data set, and keys of recipes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .. import _core
from ..errors import UsageError


def examples_of(dataset: Any) -> int:
    if isinstance(dataset, int):
        return dataset
    try:
        return len(dataset)
    except TypeError:
        raise UsageError(
            f"dataset: {type(dataset).__name__} has no length; a plan chooses examples by their "
            "numbers, so it needs a data set with __len__ and __getitem__, not an iterable one"
        ) from None


def side_of(dataset: Any) -> int:
    """The side of the square images of a data set; 0: they are none."""
    if isinstance(dataset, int):
        return 0
    first = dataset[0]
    while isinstance(first, (tuple, list, Mapping)):
        first = next(iter(first.values() if isinstance(first, Mapping) else first))
    shape: tuple[int, ...] = getattr(first, "shape", ())
    return int(shape[-1]) if len(shape) == 3 and shape[-1] == shape[-2] else 0


def check_read(settings: Mapping[str, Any]) -> None:
    """Keys that no plan reads would change nothing, without a word."""
    read = {part for *_, reads in _core.planned_methods() for part in reads.split()}
    for key in settings:
        if key not in read and not any(p.endswith(".") and key.startswith(p) for p in read):
            raise UsageError(
                f"settings: no plan reads {key}; plans read {', '.join(sorted(read))} "
                "('.' at the end: all keys that begin so)"
            )


def check_policy_read(policy: str, keys: Iterable[str]) -> None:
    """The same of a learning-rate policy and its options."""
    readers = dict(_core.policy_keys())
    for key in keys:
        of = readers.get(key, [])
        if of and policy not in of:
            own = [name for name, by in readers.items() if policy in by]
            plural = "policies" if len(of) > 1 else "policy"
            raise UsageError(
                f"settings: policy {policy!r} does not read {key}, which is of the {plural} "
                f"{', '.join(of)}; it reads {', '.join(own) or 'none'}"
            )
