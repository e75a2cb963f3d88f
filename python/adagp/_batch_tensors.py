"""Batches as loaders give them: tensors in tuples, lists and dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def to_device(batch: Any, device: Any) -> Any:
    """The batch with its tensors on a device; None: where they are."""
    if device is None:
        return batch
    return _map(batch, lambda tensor: tensor.to(device, non_blocking=True))


def map_images(batch: Any, change: Callable[[Any], Any]) -> Any:
    """The batch with its first tensor of four axes changed."""
    done = False

    def once(tensor: Any) -> Any:
        nonlocal done
        if done or tensor.ndim != 4:
            return tensor
        done = True
        return change(tensor)

    return _map(batch, once)


def _map(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, Mapping):
        return {key: _map(item, change) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_map(item, change) for item in value))
    if isinstance(value, (tuple, list)):
        return type(value)(_map(item, change) for item in value)
    return change(value) if hasattr(value, "ndim") and hasattr(value, "to") else value
