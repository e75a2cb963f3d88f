"""Real copies over slowed links beside the event simulator. A busy machine is late, never early."""

import json

import pytest
from safetensors.numpy import load_file

from harness import adagp, records, sets

# 2.3 MB of gradients.
RUN = ["--data", "synthetic", "--threads", "1", "--model", "vgg11", "--batch", "8", "--epochs", "1",
       "--method", "bp", *sets(model__width_divisor=4, data__synthetic_size=32, data__synthetic_train=24,
                               data__synthetic_test=8, log_every="1ba")]
EXCHANGE = 0.2  # seconds, without latency
LATENCY = 0.01


@pytest.mark.parametrize("copies", [2, 4])
def test_a_step_takes_at_least_what_the_simulator_says_of_its_exchange(tmp_path, copies):
    adagp("train", *RUN, "--parallel", f"data,local={copies}", "-o", tmp_path / "own")
    weights = load_file(tmp_path / "own/weights.safetensors")
    size = 4 * sum(tensor.size for tensor in weights.values())  # vgg11 has no norms
    bandwidth = round(size * 2 * (copies - 1) / copies / EXCHANGE)

    costs = tmp_path / "costs.json"
    costs.write_text(json.dumps([{"name": "all", "forward": 0, "backward": 0, "weight_bytes": size}]))
    simulated = json.loads(adagp(
        "pipeline", "--costs", costs, "--stages", 1, "--micro-batches", 1, "--phases", "bp", "--copies",
        copies, "--copy-bandwidth", bandwidth, "--copy-latency", LATENCY, "--bucket-bytes", 0,
        "--json").stdout)["makespan"]
    assert simulated == pytest.approx(EXCHANGE + 2 * (copies - 1) * LATENCY, rel=1e-3)

    adagp("train", *RUN, "--parallel", f"data,local={copies},copy-bandwidth={bandwidth},"
          f"copy-latency={LATENCY}", "-o", tmp_path / "slow")
    steps = [r["seconds_per_batch"] for r in records(tmp_path / "slow") if r["kind"] == "train"]
    assert len(steps) == 3 and min(steps) > 0.99 * simulated, steps
    # The same gradients, only later.
    slow = load_file(tmp_path / "slow/weights.safetensors")
    assert all((slow[name] == weights[name]).all() for name in weights)
