"""Reversible networks: resumed, with every kind of batch, with traces."""

import pytest
from safetensors import safe_open

from harness import DATA, adagp, assert_same_run, interrupt, sets

NET = [*DATA, "--model", "revnet18s", "--batch", "20", "--epochs", "4",
       *sets(model__width_divisor=2, checkpoint_every="3ba", log_every="5ba")]


@pytest.mark.parametrize("method", ["bp", "adagp"])
def test_a_run_stopped_on_the_way_ends_the_same(method, tmp_path):
    run = [*NET, "--method", method, *(["--schedule", "1ep bp, 1:1"] if method == "adagp" else [])]
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    adagp("train", *run, "-o", whole)
    code, _, err = interrupt(cut, *run, at=12)
    assert code == 143, err
    adagp("train", *run, "-o", cut)
    assert_same_run(cut, whole)


def test_traces_and_freezing_see_reversible_blocks(tmp_path):
    run = [*NET, "--method", "freeze", *sets(trace__every="4ep")]
    adagp("train", *run, "-o", tmp_path / "run")
    rows = (tmp_path / "run/layers.csv").read_text().splitlines()[1:]
    with safe_open(tmp_path / "run/trace/e004.safetensors", "np") as trace:
        names = {name.rsplit("/", 1)[0] for name in trace.keys()}
    assert "layer2.1.f1.conv1" in names and len(names) == len([row for row in rows if row.strip()])
