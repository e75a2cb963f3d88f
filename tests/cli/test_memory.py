"""A GP step holds what a forward pass holds, plus the summaries and one layer's gradient."""

import json

from harness import adagp

WEIGHTS = 9_413_066 * 4 / 2**20  # MiB of vgg13_bn in CIFAR form


def peaks():
    """MiB of forward, GP and BP, each in a process that also holds weights, optimizer, predictor."""
    done = adagp("bench", "--model", "vgg13_bn", "--batch", "64", "--repeats", "1", "--json")
    return json.loads(done.stdout)["peak_mib"]


def test_gp_step_needs_the_memory_of_a_forward_pass():
    # The allocator now and then keeps a freed block of 20 MiB: the lesser of two runs.
    first, second = peaks(), peaks()
    peak = {step: min(first[step], second[step]) for step in first}
    # What GP adds does not depend on the batch. The update touches the momentum for the first time
    # (one times the weights) and holds one layer's gradient (a quarter); the allocator may keep
    # another block of that size. All predicted gradients together would be a second time the weights.
    assert peak["gp"] - peak["fw"] <= 1.6 * WEIGHTS, peak
    # The measure can fail: a step that keeps its activations is far above.
    assert peak["bp"] > 1.3 * peak["fw"], peak
