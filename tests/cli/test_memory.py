"""A GP step holds what a forward pass holds, plus the summaries and one layer's gradient."""

import json
import re
import resource

from harness import DATA, adagp, sets

WEIGHTS = 9_413_066 * 4 / 2**20  # MiB of vgg13_bn in CIFAR form


def peaks():
    """MiB of forward, GP and BP, each in a process that also holds weights, optimizer, predictor."""
    done = adagp("bench", "--model", "vgg13_bn", "--batch", "32", "--repeats", "1", "--threads", "1",
                 "--json")
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


def test_a_process_of_a_pipeline_never_holds_the_other_stages(tmp_path):
    """Also not at its start, when it draws the first values."""
    run = ["--model", "vgg13_bn", "--data", "synthetic", "--method", "bp", "--threads", "1", "--batch", "4",
           "--epochs", "1", *sets(model__form="imagenet", model__width_divisor=2, data__synthetic_size=64,
                                  data__synthetic_train=8, data__synthetic_test=4)]
    done = adagp("train", *run, "--parallel", "pipeline=gpipe,micro-batches=4,local=4", "-o", tmp_path / "run")
    units = {"KiB": 2**-10, "MiB": 1, "GiB": 2**10}
    found = re.findall(r"([\d.]+) (.iB) \(([\d.]+) (.iB) before the first batch\)", done.stderr)
    peak, begin = ([float(one[i]) * units[one[i + 1]] for one in found] for i in (0, 2))
    assert len(peak) == 4, done.stderr
    weights = (tmp_path / "run/weights.safetensors").stat().st_size / 2**20
    # The first process evaluates with all weights; the last has most of them.
    for process in (1, 2):
        assert peak[process] - begin[process] < weights / 2, done.stderr
    assert peak[0] - begin[0] > weights, done.stderr


def test_too_little_memory_is_one_sentence(tmp_path):
    """What to lower, and no trace of the library's insides."""
    def limit():
        resource.setrlimit(resource.RLIMIT_DATA, (3 * 2**29, 3 * 2**29))

    # The first layer's output of the batch alone is 2 GiB.
    huge = ["--model", "vgg11", "--batch", "8192", "--device", "cpu", *DATA,
            *sets(data__synthetic_train=8192, data__synthetic_test=10, data__synthetic_size=32)]
    err = adagp("train", *huge, "--epochs", "1", "--method", "bp", "-o", tmp_path / "run", code=1,
                preexec_fn=limit).stderr
    assert "frame #" not in err and "enforce fail" not in err, err
    assert len(err.splitlines()[-1]) < 400
    for word in ("out of memory", "BP step", "batch 8192", "--batch 4096", "accumulate=2"):
        assert word in err, f"'{word}' is not in: {err}"
