"""Batches as loaders give them: tensors in tuples, lists and dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any


def to_device(batch: Any, device: Any) -> Any:
    """The batch with its tensors on a device; None: where they are."""
    if device is None:
        return batch
    return map_tensors(batch, lambda tensor: tensor.to(device, non_blocking=True))


def map_images(batch: Any, change: Callable[[Any], Any]) -> Any:
    """The batch with its first tensor of four axes changed."""
    done = False

    def once(tensor: Any) -> Any:
        nonlocal done
        if done or tensor.ndim != 4:
            return tensor
        done = True
        return change(tensor)

    return map_tensors(batch, once)


def shrunk(images: Any, side: int) -> Any:
    """Images of this side, every new pixel the mean of those it covers; 0: as they are."""
    if side == 0 or (images.shape[-1] == side and images.shape[-2] == side):
        return images
    from torch.nn.functional import adaptive_avg_pool2d

    return adaptive_avg_pool2d(images, (side, side))


def map_tensors(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same nest of tuples, lists and dictionaries with every tensor changed."""
    if isinstance(value, Mapping):
        return {key: map_tensors(item, change) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(map_tensors(item, change) for item in value))
    if isinstance(value, (tuple, list)):
        return type(value)(map_tensors(item, change) for item in value)
    return change(value) if hasattr(value, "ndim") and hasattr(value, "to") else value


@contextmanager
def norms_kept(model: Any) -> Iterator[None]:
    """Inside, batch norms do not move their running statistics."""
    from torch.nn.modules.batchnorm import _BatchNorm

    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    before = [norm.momentum for norm in norms]
    for norm in norms:
        norm.momentum = 0.0
    try:
        yield
    finally:
        for norm, momentum in zip(norms, before, strict=True):
            norm.momentum = momentum
