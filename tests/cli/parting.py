"""How far two runs may be apart that compute the same but add in another order.

Training is chaotic: a difference in the last digit grows from batch to batch, on some machines faster
than on others. So the bound is measured where the test runs. A second run begins with every weight
moved to a neighbouring float, which is a rounding error everywhere at once and as early as can be. Another
order of additions makes errors of that size in each batch, and none of them has longer to grow: after n
batches the distance is at most about n times that of the two."""

import numpy as np
from safetensors.numpy import load_file, save_file

from harness import records


def losses(folder):
    return [(r["step"], np.nan if r["loss"] is None else r["loss"]) for r in records(folder)
            if r["kind"] == "train"]


def distance(folder, reference, buffers=True):
    """The largest difference of a loss, and of a weight to the largest of its tensor."""
    ours, theirs = losses(folder), losses(reference)
    assert [step for step, _ in ours] == [step for step, _ in theirs]
    a, b = (np.array([loss for _, loss in each]) for each in (ours, theirs))
    assert (np.isnan(a) == np.isnan(b)).all()
    largest = np.nanmax(np.abs(a - b) / np.abs(b))
    ours, theirs = (load_file(f / "weights.safetensors") for f in (folder, reference))
    assert ours.keys() == theirs.keys()
    for name, b in theirs.items():
        if not buffers and ("running" in name or "batches" in name):
            continue
        size = max(1e-3, float(np.abs(b).max()))
        largest = max(largest, float(np.abs(ours[name].astype(float) - b).max()) / size)
    return float(largest)


def nudge(source, target):
    """The weights of `source`, each moved to the float above or below it."""
    rng = np.random.default_rng(1)
    moved = {}
    for name, tensor in load_file(source).items():
        if tensor.dtype == np.float32:
            towards = np.where(rng.random(tensor.shape) < 0.5, -np.inf, np.inf).astype(np.float32)
            tensor = np.nextafter(tensor, towards)
        moved[name] = tensor
    save_file(moved, target)
    return target
