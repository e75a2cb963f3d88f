"""A GP step holds what a forward pass holds, plus the summaries and one layer's gradient."""

import json

from harness import adagp

MODEL = ["--model", "vgg13_bn", "--batch", "64", "--repeats", "2", "--json"]


def peak(step):
    done = adagp("bench", *MODEL, "--only", step)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["peak_bytes"]


def test_gp_step_needs_the_memory_of_a_forward_pass():
    # Both processes hold the same weights, optimizer and predictor; the peak is the whole process's.
    forward, gp, bp = peak("forward"), peak("gp"), peak("bp")
    assert gp <= 1.15 * forward, (gp, forward)
    # The measure can fail: a step that keeps its activations is far above.
    assert bp > 1.3 * forward, (bp, forward)
