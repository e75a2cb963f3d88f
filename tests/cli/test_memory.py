"""A GP step holds what a forward pass holds, plus the summaries and one layer's gradient."""

import json

from harness import adagp

WEIGHTS = 9_413_066 * 4 / 2**20  # MiB of vgg13_bn in CIFAR form


def test_gp_step_needs_the_memory_of_a_forward_pass():
    done = adagp("bench", "--model", "vgg13_bn", "--batch", "64", "--repeats", "1", "--json")
    # Each measured in a process of its own, which holds weights, optimizer and predictor.
    peak = json.loads(done.stdout)["peak_mib"]
    assert peak["gp"] <= 1.15 * peak["fw"], peak
    # The update touches the momentum for the first time (one times the weights); all predicted
    # gradients together would be a second time.
    assert peak["gp"] - peak["fw"] <= 1.6 * WEIGHTS, peak
    # The measure can fail: a step that keeps its activations is far above.
    assert peak["bp"] > 1.3 * peak["fw"], peak
