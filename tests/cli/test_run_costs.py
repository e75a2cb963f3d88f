"""What a run records of its batches, and adagp simulate's plan of the same run beside it."""

import csv
import json
import math

import pytest
from harness import DATA, NET, adagp, interrupt, sets, summary

EPOCHS, EXAMPLES, BATCH = 8, 200, 20
TRAIN = [*DATA, "--model", "resnet8", "--batch", BATCH, "--epochs", EPOCHS, "--schedule",
         "2ep bp, 2:1", *sets(data__synthetic_size=16)]
PLAN = ["--model", "resnet8", "--batch", BATCH, "--epochs", EPOCHS, "--examples", EXAMPLES,
        "--schedule", "2ep bp, 2:1", "--optimizer", "momentum"]


def simulated(*args):
    return json.loads(adagp("simulate", *args, "--designs", "max", "--json").stdout)


def full_table(tmp_path):
    adagp("layers", "--model", "resnet8", "--input", "16x16", "--all", "--csv", "-o",
          tmp_path / "resnet8.csv")
    return tmp_path / "resnet8.csv"


@pytest.mark.parametrize("method", ["bp", "skip", "adagp", "progressive", "low-res", "freeze"])
def test_a_plan_is_what_the_run_does(tmp_path, method):
    adagp("train", *TRAIN, "--method", method, "-o", tmp_path / "run")
    run, = simulated("--run", tmp_path / "run")
    plan, = simulated(*PLAN[2:], "--table", full_table(tmp_path), "--method", method)
    assert run["score"] == summary(tmp_path / "run")["top1"]
    for key in ("groups", "total_cycles", "dram_bytes", "energy_j", "batches", "design"):
        assert run[key] == plan[key], key


def test_frozen_rows_are_those_of_the_first_blocks(tmp_path):
    adagp("train", *TRAIN, "--method", "freeze", "-o", tmp_path)
    with open(tmp_path / "operations/full.csv", newline="") as file:
        names = [row["name"] for row in csv.DictReader(file)]
    assert names[0] == "conv1"
    starts = [next(i for i, name in enumerate(names) if name.startswith(f"layer{block}."))
              for block in (1, 2)]
    # The first two blocks stop after a half and three quarters of the epochs.
    assert [(g["frozen_rows"], g["batches"]) for g in summary(tmp_path)["batches"]] == [
        (0, 40), (starts[0], 20), (starts[1], 20)]


def test_a_norm_before_its_convolution_learns_with_it():
    """DenseNet: the first block is a convolution with its norm, and the next begins with a norm that
    still learns, so that its first convolution makes the gradient of its input."""
    rows, columns, batch = 6, 5, 4
    run, = simulated("--model", "densenet121", "--input", "cifar", "--method", "freeze", "--batch", batch,
                     "--epochs", 4, "--examples", 8, "--array", f"{rows}x{columns}", "--dataflow", "ws",
                     "--products-only")
    whole, one, _ = run["groups"]
    assert (whole["frozen_rows"], one["frozen_rows"]) == (0, 3)
    # What is saved is the weight gradient of conv0 (3 to 64 channels): a product of 27 rows.
    folds = math.ceil(batch * 32 * 32 / rows) * math.ceil(64 / columns)
    saved = folds * (27 + 2 * rows + columns - 2)
    assert whole["total_cycles"] - one["total_cycles"] == saved


def test_a_run_keeps_the_table_of_each_size(tmp_path):
    adagp("train", *TRAIN, "--method", "progressive", "-o", tmp_path)
    for side in (8, 12, 16):
        table = adagp("layers", "--model", "resnet8", "--input", f"{side}x{side}", "--all", "--csv").stdout
        assert (tmp_path / f"operations/{'full' if side == 16 else side}.csv").read_text() == table
    products = adagp("layers", "--model", "resnet8", "--input", "16x16", "--csv").stdout
    assert (tmp_path / "layers.csv").read_text() == products


@pytest.mark.parametrize("method", ["stored-loss", "progressive+stored-loss"])
def test_a_rule_leaves_out_as_many_as_planned(tmp_path, method):
    adagp("train", *TRAIN, "--method", method, "-o", tmp_path / "run")
    run, = simulated("--run", tmp_path / "run")
    plan, = simulated(*PLAN[2:], "--table", full_table(tmp_path), "--method", method)

    def examples(row):
        return sum(g["examples"] * g["batches"] for g in row["groups"])

    # An example of rank r of N stays with probability r/N: a variance of N/6 in each of the six
    # epochs that leave some out. The plan repeats one such draw: a deviation of 6 sqrt(N/6) beside
    # sqrt(6) sqrt(N/6). Five deviations of both, and a batch at most is cut off in each epoch.
    largest = max(g["examples"] for g in run["groups"] + plan["groups"])
    allowed = 5 * math.sqrt(6**2 + 6) * math.sqrt(EXAMPLES / 6) + EPOCHS * largest
    assert abs(examples(run) - examples(plan)) <= allowed
    assert examples(run) < 0.9 * EPOCHS * EXAMPLES
    kinds = [{(g["work"], g["image_side"]) for g in row["groups"]} for row in (run, plan)]
    assert kinds[0] == kinds[1]


def test_a_resumed_run_has_all_its_batches(tmp_path):
    for method in ("progressive", "adagp"):
        whole, parts = tmp_path / f"{method}-whole", tmp_path / f"{method}-parts"
        command = [*DATA, *NET, "--batch", BATCH, "--epochs", 3, "--method", method, "--schedule",
                   "1ep bp, 2:1", *sets(data__synthetic_size=16, checkpoint_every="3ba")]
        adagp("train", *command, "-o", whole)
        interrupt(parts, *command, at=9)
        adagp("train", *command, "-o", parts)
        assert summary(parts)["batches"] == summary(whole)["batches"]
        counted = sum(group["batches"] for group in summary(whole)["batches"])
        assert counted == summary(whole)["bp_batches"] + summary(whole)["gp_batches"]


def test_thirty_epochs_are_a_few_simulated_batches():
    """Equal batches are simulated once: the time does not grow with the run."""
    for epochs in (30, 300):
        run, = simulated("--model", "vgg13_bn", "--input", "cifar", "--epochs", epochs, "--method",
                         "progressive")
        assert [(g["image_side"], g["examples"]) for g in run["groups"]] == [(0, 128), (16, 512),
                                                                             (24, 224)]
        assert run["batches"] > 5000 * epochs / 30


def test_methods_that_the_simulator_does_not_know_are_refused(tmp_path):
    adagp("train", *TRAIN, "--method", "small-batch", "-o", tmp_path / "run")
    assert "method small-batch: the simulator has no cost for its batches" in adagp(
        "simulate", "--run", tmp_path / "run", code=2).stderr


def test_heads_that_the_simulator_does_not_know_are_named(tmp_path):
    adagp("train", *TRAIN, "--method", "adagp", *sets(head="exact"), "-o", tmp_path / "run")
    assert "method adagp with head = exact: the simulator has no cost" in adagp(
        "simulate", "--run", tmp_path / "run", code=2).stderr


def test_networks_without_a_size_are_refused(tmp_path):
    table = tmp_path / "t.csv"
    adagp("layers", "--model", "resnet8", "--input", "16x16", "--csv", "-o", table)  # products
    error = adagp("simulate", "--table", table, "--examples", 100, "--method", "progressive",
                  code=2).stderr
    assert "the table is not that of resnet8" in error
