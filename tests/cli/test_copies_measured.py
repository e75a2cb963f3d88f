"""Real copies over slowed links beside the event simulator, and what compressors save there."""

import json
import statistics

import pytest

from harness import SLOWNESS, adagp, records, sets

# 9.3 MB of gradients in three buckets; the exchange takes longer than the rest.
BANDWIDTH = 2e7
RUN = ["--data", "synthetic", "--threads", "1", "--model", "vgg11", "--batch", "16",
       "--epochs", "1", "--method", "bp", *sets(
           model__width_divisor=2, data__synthetic_size=32, data__synthetic_train=96,
           data__synthetic_test=16, log_every="1ba")]


def seconds(folder, copies, link="", *more):
    """Of a step, the median without the first two; and the bytes that a copy sent in one."""
    done = adagp("train", *RUN, *more, "--parallel", f"data,local={copies}{link}", "-o", folder)
    steps = [r["seconds_per_batch"] for r in records(folder) if r["kind"] == "train"]
    assert len(steps) == 6 and "of gradients" in done.stderr
    return statistics.median(steps[2:])


def parameters(folder):
    from safetensors.numpy import load_file
    return sum(v.size for k, v in load_file(folder / "weights.safetensors").items()
               if "running" not in k and "batches" not in k)


def simulated(tmp_path, step, size, copies, latency):
    costs = tmp_path / "costs.json"
    costs.write_text(json.dumps([{"name": "all", "forward": step / 3, "backward": step * 2 / 3,
                                  "weight_bytes": size}]))
    done = adagp("pipeline", "--costs", costs, "--stages", 1, "--micro-batches", 1, "--phases",
                 "bp", "--copies", copies, "--copy-bandwidth", BANDWIDTH, "--copy-latency",
                 latency, "--bucket-bytes", 4 << 20, "--json")
    return json.loads(done.stdout)["makespan"]


@pytest.mark.parametrize("copies", [2, 4])
def test_copies_take_the_time_that_the_simulator_says(tmp_path, copies):
    """The simulator is told the step of the same processes over this machine's own links. A busy
    machine makes steps longer, so the bounds are wide; without the exchange the ratio would be
    far below them."""
    own = seconds(tmp_path / "own", copies)
    size = 4 * parameters(tmp_path / "own")
    latency = 0.01
    real = seconds(tmp_path / "slow", copies, f",copy-bandwidth={BANDWIDTH},copy-latency={latency}")
    expected = simulated(tmp_path, own, size, copies, latency)
    assert expected > 1.5 * own / SLOWNESS  # the exchange shows
    assert 0.7 < real / expected < 1.5 * SLOWNESS, (real, expected, own)


def test_compressors_are_faster_over_a_slow_link(tmp_path):
    link = f",copy-bandwidth={BANDWIDTH / 4}"
    whole = seconds(tmp_path / "whole", 2, link)
    for kind in ("top-k", "power-sgd", "sign"):
        packed = seconds(tmp_path / kind, 2, link, *sets(compress__kind=kind))
        assert packed < 0.7 * whole, kind
