"""adagp pipeline: published step counts, costs of networks and files, bad input."""

import csv
import io
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest
from harness import BIN, PATIENCE, ROOT, adagp, environment

KEYS = ["schedule", "stages", "micro_batches", "phases", "makespan", "utilisation", "peak_stash",
        "synchronisations"]


def run_json(*args):
    return json.loads(adagp("pipeline", *args, "--json").stdout)


@pytest.mark.parametrize("schedule,bp,both,limit", [("gpipe", 21, 25, 42 / 25),
                                                    ("dapple", 21, 25, 42 / 25),
                                                    ("chimera", 16, 20, 32 / 20)])
def test_published_steps(schedule, bp, both, limit):
    one = run_json("--schedule", schedule)
    assert list(one)[:8] == KEYS
    assert (one["schedule"], one["stages"], one["micro_batches"], one["phases"]) == (schedule, 4, 4, "bp")
    assert one["makespan"] == bp
    assert one["utilisation"] == pytest.approx([12 / bp] * 4)  # 4 micro-batches of 1 + 2
    two = run_json("--schedule", schedule, "--phases", "gp-bp")
    assert two["makespan"] == both
    assert two["steady_speedup"] == pytest.approx(limit)
    # Replicas exchange gradients and, after the GP batch, summaries: each of 4 stages twice.
    assert two["synchronisations"] == (8 if schedule == "chimera" else 0)


@pytest.mark.parametrize("schedule,bp", [("gpipe", 21), ("chimera", 16)])
def test_ninety_epochs(schedule, bp):
    """10 epochs BP, 4 each of 4:1, 3:1, 2:1, 68 of 1:1, each a pipeline that fills once.

    60 batches an epoch are whole cycles of all of them; k GP batches cost 4 steps each more.
    """
    def epoch(k):
        return 60 // (k + 1) * (bp + 4 * k)
    ours = 10 * epoch(0) + 4 * (epoch(4) + epoch(3) + epoch(2)) + 68 * epoch(1)
    run = run_json("--schedule", schedule, "--epochs", 90, "--batches-per-epoch", 60)
    assert run["training"]["speedup"] == pytest.approx(90 * epoch(0) / ours, rel=1e-12)


def test_gantt_shows_every_micro_batch():
    text = adagp("pipeline", "--schedule", "dapple", "--gantt").stdout
    lanes = [line.split()[2:] for line in text.splitlines() if re.match(r"device \d  ", line)]
    assert len(lanes) == 4 and all(len(lane) <= 21 for lane in lanes)
    for lane in lanes:
        for m in range(4):
            assert lane.count(f"F{m}") == 1 and lane.count(f"B{m}") == 2
    assert lanes[3][:6] == ["..", "..", "..", "F0", "B0", "B0"]


def test_picture_has_three_colours(tmp_path):
    path = tmp_path / "g.svg"
    adagp("pipeline", "--phases", "gp-bp", "--predictor", 1, "--plot", path)
    root = ElementTree.parse(path).getroot()
    boxes = [e for e in root.iter() if "box" in e.get("class", "").split()]
    # A GP forward, a BP forward and backward of each micro-batch, a predict-update per stage.
    assert len(boxes) == 4 * (4 + 4 + 4 + 1)
    assert len({e.get("class") for e in boxes}) == 3


def test_sweep_leaves_out_what_a_schedule_cannot_do():
    rows = list(csv.DictReader(io.StringIO(adagp(
        "pipeline", "--schedule", "all", "--stages", "2..4", "--micro-batches", "4,6", "--csv").stdout)))
    chimera = {(int(r["stages"]), int(r["micro-batches"])) for r in rows if r["schedule"] == "chimera"}
    assert chimera == {(2, 4), (2, 6), (4, 4)}
    for r in rows:
        if r["schedule"] in ("gpipe", "dapple"):
            assert float(r["makespan"]) == 3 * (int(r["stages"]) + int(r["micro-batches"]) - 1)
    text = adagp("pipeline", "--schedule", "chimera", "--stages", "3,4").stdout
    assert "left out, 1 in all" in text and "3 stages" in text
    assert len(json.loads(adagp("pipeline", "--sweep", "--json").stdout)) == 4 * 5


def test_costs_of_a_network_are_cut_in_balance():
    args = ["--model", "resnet50", "--input", "imagenet", "--batch", 128, "--array", "12x15",
            "--dataflow", "ws"]
    run = run_json(*args, "--phases", "bp")
    layers = json.loads(adagp("simulate", *args, "--designs", "baseline", "--per-layer", "--json").stdout)
    assert run["unit"] == "cycles"
    assert sum(p["layers"] for p in run["parts"]) == len(layers["layers"])
    costs = [p["forward"] + p["backward"] for p in run["parts"]]
    # Cut by hand at any place the largest stage is not smaller than the mean, and no row is large.
    assert max(costs) < 1.1 * sum(costs) / 4
    # A GPipe batch takes at least what its largest stage does, and its fill.
    assert run["makespan"] >= 4 * max(costs) + sum(costs) - max(costs)
    assert run["training"]["batches_per_epoch"] == -(-1281167 // 128)
    free = run_json(*args, "--free-predictor")
    assert free["training"]["speedup"] > run["training"]["speedup"]


def test_measured_costs_of_a_file(tmp_path):
    table = tmp_path / "costs.csv"
    table.write_text("name,forward,backward,output_bytes\na,1,2,8\nb,1,2,8\nc,2,4,8\n")
    run = run_json("--costs", table, "--stages", 2, "--micro-batches", 2)
    assert [(p["first"], p["last"], p["forward"]) for p in run["parts"]] == [("a", "b", 2), ("c", "c", 2)]
    assert run["makespan"] == (2 + 2 - 1) * (2 + 4)
    as_json = tmp_path / "costs.json"
    as_json.write_text(json.dumps([{"name": n, "forward": f, "backward": 2 * f, "output_bytes": 8}
                                   for n, f in (("a", 1), ("b", 1), ("c", 2))]))
    assert run_json("--costs", as_json, "--stages", 2, "--micro-batches", 2)["makespan"] == 18
    for file in (table, as_json):  # an editor's byte order mark
        file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
        assert run_json("--costs", file, "--stages", 2, "--micro-batches", 2)["makespan"] == 18
    # Forward 2, 8 bytes at 4 per step and 1 of latency, forward 2.
    slow = run_json("--costs", table, "--stages", 2, "--micro-batches", 1, "--phases", "gp",
                    "--latency", 1, "--bandwidth", 4)
    assert slow["makespan"] == 2 + (2 + 1) + 2


def test_memory_counts_the_low_resolution_batch_in_the_bubbles(tmp_path):
    """1F1B on 2 stages keeps 2 micro-batches of a BP batch; 4 of a quarter of the size come on top: 3 in all."""
    table = tmp_path / "costs.csv"
    table.write_text(f"name,forward,backward,kept_bytes\na,1,2,{2**30}\nb,1,2,{2**30}\n")
    args = ["--costs", table, "--stages", 2, "--micro-batches", 4, "--schedule"]
    pair = ["filled", "--phases", "low-bp", "--memory"]
    error = adagp("pipeline", *args, *pair, 2.9, code=2).stderr
    assert "'a' alone needs 3.0 GiB, over the limit of 2.9 GiB per stage" in error
    assert len(run_json(*args, *pair, 3)["parts"]) == 2
    # Where a BP batch runs alone, or beside a GP batch, which keeps nothing, 2 GiB are enough.
    for alone in (["filled"], ["filled", "--phases", "gp-bp"], ["filled", "--phases", "bp-low"],
                  ["filled", "--phases", "low-bp", "--batch-by-batch"], ["dapple", "--phases", "low-bp"]):
        assert len(run_json(*args, *alone, "--memory", 2)["parts"]) == 2
        assert "alone needs 2.0 GiB" in adagp("pipeline", *args, *alone, "--memory", 1.9, code=2).stderr


def test_the_page_shows_what_the_program_prints():
    page = (ROOT / "docs/pipelines.md").read_text()
    shown = re.findall(r"```\n\$ adagp (.*)\n([^`]*)```", page)
    assert len(shown) == 10
    for command, lines in shown:
        printed = adagp(*command.split()).stdout.splitlines()
        for line in lines.splitlines():
            assert line in printed, command


@pytest.mark.parametrize("args,words", [
    (["--schedule", "chimera", "--stages", 5], ["5 stages", "even"]),
    (["--schedule", "chimera", "--micro-batches", 6], ["6 micro-batches", "4 stages"]),
    (["--schedule", "interleaved", "--micro-batches", 6], ["6 micro-batches", "4 devices"]),
    (["--schedule", "gpip"], ["did you mean 'gpipe'"]),
    (["--stages", 0], ["--stages", "1 to 4096"]),
    (["--micro-batches", "x"], ["--micro-batches", "'x'"]),
    (["--phases", "bp-xp"], ["'xp'", "gp-bp"]),
    (["--batches", 0], ["--batches", "0"]),
    (["--chunks", 2], ["gpipe", "2 chunks"]),
    (["--fw", -1], ["--fw", "-1"]),
    (["--fw", "nan"], ["--fw"]),
    (["--model", "resnet50", "--batch", 30], ["4 micro-batches", "batch of 30"]),
    (["--model", "vgg11", "--input", "cifar", "--stages", 200], ["layers for 200 stages"]),
    (["--model", "resnet50", "--memory", 0.001], ["alone needs", "per stage"]),
    (["--model", "resnet50,resnet18"], ["one network", "2 combinations"]),
    (["--gantt", "--batches", 100000], ["boxes", "fewer batches"]),
    (["--gantt", "--stages", "2,4"], ["--gantt is for one run, got 2"]),
    (["--gantts"], ["did you mean '--gantt'"]),
])
def test_bad_input_is_a_usage_error_with_the_numbers(args, words):
    done = adagp("pipeline", *args, code=2)
    for word in words:
        assert word in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("text,words", [
    ("forward,backward\n1,2\n1\n", ["line 3", "1 cells, expected 2"]),
    ("forward,backwrd\n1,2\n", ["line 2", "backward"]),
    ("forward,backward\n1,-2\n", ["line 2", "'-2'"]),
    ("forward\n1\n", ["forward and backward"]),
    ("", ["no costs"]),
    ("[1, 2", ["JSON array"]),
    ('[{"forward": "x", "backward": 1}]', ["item 0", "'x'"]),
])
def test_a_broken_costs_file_is_a_data_error(tmp_path, text, words):
    path = tmp_path / "costs"
    path.write_text(text)
    done = adagp("pipeline", "--costs", path, code=3)
    for word in [str(path), *words]:
        assert word in done.stderr


@pytest.mark.parametrize("schedule", ["gpipe", "dapple", "chimera", "zero-bubble", "interleaved"])
def test_a_thousand_batches_of_64_stages_take_little_memory(schedule):
    """Under 200 MB for the sequence; the program also counts the limit and 90 epochs."""
    # A child's largest memory counts its parent's before exec, so a small program stands between.
    watch = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
             "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)")
    done = subprocess.run(
        [sys.executable, "-c", watch, BIN, "pipeline", "--schedule", schedule, "--stages", "64",
         "--micro-batches", "512", "--phases", "gp-bp", "--batches", "1000", "--epochs", "1",
         "--batches-per-epoch", "1", "--json"], text=True, capture_output=True, env=environment(),
        timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert int(done.stderr.split()[-1]) < 200 * 1024  # KiB
    out = done.stdout
    run = json.loads(out)
    if schedule in ("gpipe", "dapple"):
        assert run["makespan"] == 500 * (512 + 3 * (512 + 63))
