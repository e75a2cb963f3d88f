"""Copies of a network on one GPU, over gloo: steps that are recorded train what the steps themselves train."""

import subprocess

import pytest

from harness import ROOT, adagp, sets

pytestmark = pytest.mark.skipif(
    subprocess.run([ROOT / "scripts/have_gpu.sh"], capture_output=True).returncode != 0, reason="no GPU here")

RUN = ["--data", "synthetic", "--model", "vgg13_bn", "--batch", "32", "--epochs", "3", "--device", "cuda",
       *sets(data__synthetic_size=32, data__synthetic_train=320, data__synthetic_test=100, precision="bf16",
             model__width_divisor=4, model__form="cifar", deterministic="true", log_every="7ba")]


@pytest.mark.parametrize("spec", ["data", "data,predict=gradients"])
@pytest.mark.parametrize("method", ["bp", "adagp", "progressive"])
def test_two_copies_are_recorded(tmp_path, method, spec):
    if method != "adagp" and spec != "data":
        pytest.skip("it predicts nothing")
    weights = []
    for graphs in ("true", "false"):
        folder = tmp_path / graphs
        done = adagp("train", *RUN, "--method", method, "--schedule", "1ep bp, 2:1", *sets(graphs=graphs),
                     "--parallel", f"{spec},backend=gloo,local=2", "-o", folder)
        assert "without CUDA graph" not in done.stderr and "without a CUDA graph" not in done.stderr
        assert ("steps run as CUDA graphs" in done.stderr) == (graphs == "true"), done.stderr
        weights.append((folder / "weights.safetensors").read_bytes())
    assert weights[0] == weights[1]
