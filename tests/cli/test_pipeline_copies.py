"""adagp pipeline --copies: the all-reduce against its closed form, sweeps, networks of GPT's size."""

import csv
import io
import json
import xml.etree.ElementTree as ElementTree

import pytest
from harness import adagp


def run_json(*args):
    return json.loads(adagp("pipeline", *args, "--json").stdout)


def run_csv(*args):
    return list(csv.DictReader(io.StringIO(adagp("pipeline", *args, "--csv").stdout)))


ONE = ["--stages", 1, "--micro-batches", 4, "--weight-bytes", 4096, "--summary-bytes", 64,
       "--bandwidth", 512]
WHOLE = ["--latency", 0.125, "--bucket-bytes", 0]


def ring(copies, size):
    return 2 * (copies - 1) / copies * size / 512 + 2 * (copies - 1) * 0.125


@pytest.mark.parametrize("copies", [1, 2, 3, 64, 1024])
def test_a_batch_ends_with_a_ring_all_reduce(copies):
    """One device, F = 1, B = 2, four micro-batches: 12 steps of BP or 4 of GP, then the exchange."""
    exact = run_json(*ONE, *WHOLE, "--copies", copies)
    assert exact["makespan"] == pytest.approx(12 + ring(copies, 4096), rel=1e-12)
    assert exact["copies"]["exchange_wait"] == pytest.approx([ring(copies, 4096)])
    both = run_json(*ONE, *WHOLE, "--copies", copies, "--phases", "gp-bp")
    assert both["makespan"] == pytest.approx(16 + ring(copies, 4096) + ring(copies, 64), rel=1e-12)
    speeds = exact["copies"]
    assert speeds["bp_speed"] == pytest.approx(12 / (12 + ring(copies, 4096)))
    assert speeds["accumulated_speed"] == pytest.approx(24 / (24 + ring(copies, 4096)))
    assert speeds["mixed_speed"] == pytest.approx(24 / (16 + ring(copies, 4096) + ring(copies, 64)))


def test_buckets_hide_the_exchange_behind_the_backward_pass():
    whole = run_json(*ONE, "--copies", 8, "--bucket-bytes", 0)
    pieces = run_json(*ONE, "--copies", 8, "--bucket-bytes", 64)
    time = 2 * 7 / 8 * 8
    assert whole["makespan"] == pytest.approx(12 + time)
    # 64 buckets: only the first has to wait for a part of the last backward pass, 2 / 64 of a step.
    assert pieces["makespan"] == pytest.approx(10 + 2 / 64 + time)


def test_halving_sends_fewer_messages():
    args = ["--stages", 1, "--micro-batches", 1, "--latency", 1, "--bucket-bytes", 0]
    assert run_json(*args, "--copies", 1024)["makespan"] == 3 + 2 * 1023
    assert run_json(*args, "--copies", 1024, "--all-reduce", "halving")["makespan"] == 3 + 2 * 10


def test_copies_of_a_network_share_an_epoch():
    args = ["--model", "resnet50", "--batch", 128, "--bandwidth", 64, "--copies", "1,8"]
    own = run_csv(*args)
    assert [(r["copies"], r["batch"]) for r in own] == [("1", "128"), ("8", "1024")]
    assert [r["batches"] for r in own] == ["1", "1"]
    for copies, run in zip((1, 8), json.loads(adagp("pipeline", *args, "--json").stdout)):
        assert run["training"]["batches_per_epoch"] == -(-1281167 // (128 * copies))
    split = run_csv(*args, "--split-batch")
    assert [r["batch"] for r in split] == ["128", "128"]
    assert float(split[0]["bp_speed"]) == 1
    # Smaller parts of a batch do not use the array better, and the exchange comes on top.
    assert float(split[1]["bp_speed"]) < float(own[1]["bp_speed"]) <= 1
    assert float(split[1]["makespan"]) < float(own[1]["makespan"])


def test_a_picture_of_a_shared_batch_has_three_lines(tmp_path):
    path = tmp_path / "split.svg"
    adagp("pipeline", "--model", "vgg13", "--input", "cifar", "--batch", 256, "--split-batch", "--bandwidth",
          8, "--copies", "1..16*2", "--plot", path)
    lines = [e.get("points").split() for e in ElementTree.parse(path).getroot().iter()
             if e.tag.endswith("polyline")]
    assert [len(points) for points in lines].count(5) == 3  # the others are of the legend


def test_batch_sizes_make_a_sweep():
    rows = run_csv("--model", "vgg13", "--input", "cifar", "--batch", "64,128", "--copies", "1,2")
    assert [(r["copies"], r["batch"]) for r in rows] == [
        ("1", "64"), ("2", "128"), ("1", "128"), ("2", "256")]


def test_a_sweep_to_1024_copies_of_gpt3_is_a_picture(tmp_path):
    path = tmp_path / "scale.svg"
    rows = run_csv("--model", "gpt3", "--input", "tokens2048", "--accelerator", "tpu-128", "--batch", 64,
                   "--stages", 16, "--micro-batches", 16, "--schedule", "dapple", "--bandwidth", 50,
                   "--latency", 2000, "--copies", "1..1024*2", "--plot", path)
    assert [int(r["copies"]) for r in rows] == [2**i for i in range(11)]
    for name in ("bp_speed", "accumulated_speed", "mixed_speed"):
        speeds = [float(r[name]) for r in rows]
        assert speeds == sorted(speeds, reverse=True) and speeds[0] > speeds[-1]
    for row in rows:
        assert float(row["bp_speed"]) < float(row["accumulated_speed"]) < float(row["mixed_speed"])
    text = "".join(ElementTree.parse(path).getroot().itertext())
    assert "two batches per exchange" in text and "copies" in text


def test_plain_backprop_trains_no_predictor():
    """GPipe, 4 x 4: 21 steps of BP; GP and then BP 25, and one more for the predictor's step."""
    assert run_json("--predictor-step", 1)["makespan"] == 21
    both = run_json("--predictor-step", 1, "--phases", "gp-bp")
    assert both["makespan"] == 26
    assert both["steady_speedup"] == pytest.approx(42 / 26)
    # Warm-up is BP that trains the predictor: 21 + 1 steps each of 10 batches, against 21.
    warm = run_json("--predictor-step", 1, "--training", "bp", "--epochs", 1, "--batches-per-epoch", 10)
    assert warm["training"]["speedup"] == pytest.approx(21 / 22)


@pytest.mark.parametrize("args,words", [
    (["--copies", 0], ["--copies", "1 to 65536"]),
    (["--copies", "many"], ["--copies", "'many'"]),
    (["--copy-bandwidth", -1], ["--copy-bandwidth", "-1"]),
    (["--bucket-bytes", "nan"], ["--bucket-bytes"]),
    (["--copies", 2, "--all-reduce", "tree"], ["'tree'", "ring or halving"]),
    (["--copies", 2, "--split-batch"], ["--split-batch", "--model"]),
    (["--batch", 64], ["--batch", "--model"]),
    (["--model", "resnet50", "--copies", 3, "--split-batch"], ["3 copies", "batch of 128"]),
    (["--copies", "1,2", "--schedule", "all", "--stages", "2,4", "--plot", "x.svg"], ["--plot", "lines"]),
])
def test_bad_copies_are_usage_errors(args, words):
    done = adagp("pipeline", *args, code=2)
    for word in words:
        assert word in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("schedule", ["gpipe", "dapple", "chimera", "zero-bubble", "interleaved"])
def test_a_thousand_copies_are_possible(schedule):
    """1024 copies x 64 stages x 512 micro-batches x 1000 batches: event by event it would take hours."""
    done = adagp(
        "pipeline", "--schedule", schedule, "--copies", "1024", "--stages", "64", "--micro-batches",
        "512", "--phases", "gp-bp", "--batches", "1000", "--weight-bytes", "1e6", "--summary-bytes",
        "1e3", "--bandwidth", "1e5", "--latency", "0.01", "--json")
    assert json.loads(done.stdout)["copies"]["count"] == 1024
