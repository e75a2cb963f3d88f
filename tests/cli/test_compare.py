"""adagp compare: methods x seeds, resumable, in a table and in files."""

import csv
import json
import shutil
import signal

import pytest

from harness import CHECKPOINT, TINY, adagp, contents, newest_step, sets, stopping, summary

FIELDS = {"top1_mean", "top1_sd", "n", "seconds_mean", "speedup", "bp_batches", "gp_batches",
          "cosine_mean"}
METHODS = ["bp", "adagp", "equal-time"]
COMMAND = ["compare", *TINY, "--epochs", "4", "--methods", ",".join(METHODS), "--seeds", "2"]


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare") / "out"
    return folder, adagp(*COMMAND, "-o", folder)


def test_json_has_the_promised_fields_and_the_runs_numbers(compared):
    folder, _ = compared
    result = json.loads((folder / "compare.json").read_text())
    assert set(result) == {"about", "conditions", "metric", "methods", "pairs", "verdict"}
    assert result["conditions"]["test_examples"] == 50
    assert list(result["methods"]) == METHODS
    for method, row in result["methods"].items():
        assert set(row) == FIELDS
        runs = [summary(folder / f"{method}-seed{seed}") for seed in (0, 1)]
        a, b = (run["top1"] for run in runs)
        assert row["n"] == 2
        assert row["top1_mean"] == pytest.approx((a + b) / 2)
        assert row["top1_sd"] == pytest.approx(abs(a - b) / 2**0.5)
        assert row["seconds_mean"] == pytest.approx(sum(r["train_seconds"] for r in runs) / 2)
        assert row["gp_batches"] == (runs[0]["gp_batches"] if method == "adagp" else 0)
    bp, equal = result["methods"]["bp"], result["methods"]["equal-time"]
    assert bp["speedup"] == pytest.approx(1) and bp["cosine_mean"] is None
    assert 0 < equal["bp_batches"] <= bp["bp_batches"] == 40
    assert "too few" in result["verdict"]


def test_a_dry_run_lists_what_is_to_do_and_writes_nothing(compared, tmp_path):
    plan = json.loads(adagp(*COMMAND, "--dry-run", "--json", "-o", tmp_path / "new").stdout)
    assert [run["run"] for run in plan["runs"]] == [f"{m}, seed {s}" for s in (0, 1) for m in METHODS]
    bp, predicted, equal = (run["cost_epochs"] for run in plan["runs"][:3])
    assert bp == 4 and equal == predicted
    assert predicted == pytest.approx(summary(compared[0] / "adagp-seed0")["cost_epochs"])
    assert plan["open"] == 6 and plan["cost_epochs"] == pytest.approx(2 * (bp + predicted + equal))
    assert plan["runs"][2]["as_long_as"] == "adagp, seed 0"
    assert plan["total_seconds"] == pytest.approx(plan["cost_epochs"] * plan["epoch_seconds"])
    text = adagp(*COMMAND, "--dry-run", "-o", tmp_path / "new").stdout
    assert "as long as adagp, seed 0" in text and "6 of 6 runs to do, which cost about" in text
    assert not (tmp_path / "new").exists()

    folder, _ = compared
    before = contents(folder)
    more = ["3" if word == "2" else word for word in COMMAND]
    plan = json.loads(adagp(*more, "--dry-run", "--json", "-o", folder).stdout)
    assert [run["state"] for run in plan["runs"]] == ["finished"] * 6 + ["open"] * 3
    assert plan["cost_epochs"] == pytest.approx(bp + predicted + equal)
    assert adagp(*COMMAND, "--dry-run", "-o", folder).stdout.endswith("0 of 6 runs to do\n")
    other = adagp(*COMMAND, *sets(clip=1), "--dry-run", "-o", folder, code=2)
    assert "bp-seed0: holds a run with other settings (clip)" in other.stderr
    assert contents(folder) == before


def test_dry_runs_of_budgets_and_sweeps(tmp_path):
    budget = adagp("compare", "--budget", *TINY, "--methods", "bp@1/2,skip@2", "--seeds", "1",
                   "--budget-batches", "10", "--dry-run", "--json", "-o", tmp_path / "b")
    plan = json.loads(budget.stdout)
    assert plan["runs"][0] == {"run": "bp, 1 epochs, batch 20, seed 0", "cost_epochs": 1, "state": "open"}
    assert plan["open"] == len(plan["runs"]) == 5
    # Epochs of other batch sizes have as many multiplications.
    assert plan["total_seconds"] == pytest.approx(plan["cost_epochs"] * plan["epoch_seconds"])
    sweep = adagp("sweep", *TINY, "--epochs", "2", "--method", "adagp", "--over", "predictor.channels=4,8",
                  "--seeds", "2", "--dry-run", "--json", "-o", tmp_path / "s")
    plan = json.loads(sweep.stdout)
    assert plan["open"] == len(plan["runs"]) and sum("predictor.channels" in r["run"] for r in plan["runs"]) == 4
    first = adagp("sweep", *TINY, "--epochs", "2", "--method", "adagp", "--over", "predictor.channels=4,8",
                  "--seeds", "2", "--pareto", "acc,seconds", "--dry-run", "--json", "-o", tmp_path / "s")
    assert "runs of the first seed" in first.stderr
    assert {r["run"].split(", ")[-1] for r in json.loads(first.stdout)["runs"]} == {"seed 0"}
    assert not list(tmp_path.iterdir())
    for more in (["--commands"], ["--shard", "1/2"]):
        both = adagp(*COMMAND, "--dry-run", *more, "-o", tmp_path / "c", code=2)
        assert "--dry-run" in both.stderr and more[0] in both.stderr


def test_a_dry_run_knows_what_diverged(tmp_path):
    sweep = ["sweep", *TINY, "--epochs", "1", "--over", "optim.lr=0.05,1e30", "--seeds", "1", "--controls", "none",
             "-o", tmp_path / "s"]
    adagp(*sweep)
    plan = json.loads(adagp(*sweep, "--dry-run", "--json").stdout)
    assert sorted(run["state"] for run in plan["runs"]) == ["diverged", "finished"]
    assert plan["open"] == 0 and plan["total_seconds"] is None


def test_table_on_stdout_and_the_rest_on_stderr(compared):
    folder, done = compared
    lines = done.stdout.splitlines()
    assert lines[0].startswith("resnet8 on synthetic, cpu") and "50 test examples" in lines[0]
    assert lines[2].split()[0] == "method"
    first_words = [line.split()[0] for line in lines if line]
    assert [word for word in first_words if word in METHODS] == METHODS
    assert "epoch 1" not in done.stdout and "run 1 of 6" not in done.stdout
    assert "run 1 of 6: bp, seed 0" in done.stderr and "epoch 1/4 done" in done.stderr
    assert "already finished" not in done.stderr
    verdict = json.loads((folder / "compare.json").read_text())["verdict"]
    assert verdict in done.stdout and verdict in (folder / "compare.md").read_text()
    rows = list(csv.DictReader((folder / "compare.csv").read_text().splitlines()))
    assert [row["method"] for row in rows] == METHODS
    assert set(rows[0]) == FIELDS | {"method", "train_examples", "test_examples"}


def test_same_command_again_trains_nothing(compared):
    folder, _ = compared
    before = (folder / "compare.json").read_text()
    again = adagp(*COMMAND, "-o", folder, "--json")
    assert json.loads(again.stdout) == json.loads(before)
    assert (folder / "compare.json").read_text() == before
    assert "epoch 1/4" not in again.stderr
    assert again.stderr.count("already finished") == 6
    assert "run 6 of 6: equal-time, seed 1: already finished" in again.stderr


def test_more_seeds_keep_the_runs_that_are_there(compared):
    folder, _ = compared
    weights = folder / "bp-seed0/weights.safetensors"
    before = weights.stat().st_mtime_ns
    adagp(*COMMAND[:-1], "3", "-o", folder)
    assert weights.stat().st_mtime_ns == before
    assert json.loads((folder / "compare.json").read_text())["methods"]["bp"]["n"] == 3


def test_a_run_made_again_takes_along_only_what_depends_on_it(compared, tmp_path):
    folder = shutil.copytree(compared[0], tmp_path / "out")
    shutil.rmtree(folder / "bp-seed0")
    adagp(*COMMAND, "-o", folder)

    # As if adagp had been run again and had taken other seconds.
    fast, bp = summary(folder / "adagp-seed0"), summary(folder / "bp-seed0")
    budget = 10 if summary(folder / "equal-time-seed0")["bp_batches"] != 10 else 20
    fast["train_seconds"] = bp["train_seconds"] * budget / bp["bp_batches"]
    (folder / "adagp-seed0/summary.json").write_text(json.dumps(fast))
    before = {p: v for p, v in contents(folder).items() if "-seed" in str(p)}
    again = adagp(*COMMAND, "-o", folder)
    assert again.stderr.count("already finished") == 5
    assert f"now it has {budget}" in again.stderr
    assert summary(folder / "equal-time-seed0")["bp_batches"] == budget
    after = contents(folder)
    assert all(after[p] == v for p, v in before.items() if "equal-time-seed0" not in str(p))


@pytest.fixture(scope="module")
def uninterrupted_compare(tmp_path_factory):
    command = ["compare", *TINY, "--epochs", "12", "--methods", "bp,adagp", "--seeds", "1"]
    folder = tmp_path_factory.mktemp("uninterrupted") / "whole"
    adagp(*command, "-o", folder)
    return folder, command


@pytest.mark.parametrize("how, code", [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_interrupted_compare_goes_on(how, code, uninterrupted_compare, tmp_path):
    whole, command = uninterrupted_compare
    folder = tmp_path / "out"
    place = stopping(f"*/adagp-seed0{CHECKPOINT[1:]}", how, STOP_AT=20)
    out = adagp(*command, "-o", folder, env=place, code=code).stdout
    assert 20 <= newest_step(folder / "adagp-seed0") < 120
    assert out == "" and not (folder / "compare.json").exists()
    first = (folder / "bp-seed0/weights.safetensors").stat().st_mtime_ns

    again = adagp(*command, "-o", folder)
    assert "resumed after batch" in again.stderr
    assert (folder / "bp-seed0/weights.safetensors").stat().st_mtime_ns == first
    for run in ("bp-seed0", "adagp-seed0"):
        ours = (folder / run / "weights.safetensors").read_bytes()
        assert ours == (whole / run / "weights.safetensors").read_bytes()
