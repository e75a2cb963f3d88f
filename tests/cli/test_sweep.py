"""adagp sweep: points and their controls, resumable, in a table and in files."""

import csv
import json
import os
import random
import signal

import pytest

from harness import (TINY, adagp, assert_trains_nothing, finish, newest_step, records, start, summary,
                     wait_until)

OVER = "schedule=1ep bp, 1:1;1ep bp, 2:1|predictor.channels=4,8"
COMMAND = ["sweep", *TINY, "--epochs", "3", "--over", OVER, "--seeds", "2", "--pareto", "acc,cost"]


def timeless_points(folder):
    """sweep.json without what the clock decides."""
    points = json.loads((folder / "sweep.json").read_text())["points"]
    for point in points:
        for part in (point, point["bp"], point["skip"]):
            part.pop("seconds_mean")
    return points


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep") / "out"
    return folder, adagp(*COMMAND, "-o", folder)


def test_every_point_stands_beside_its_controls(swept):
    folder, done = swept
    result = json.loads((folder / "sweep.json").read_text())
    assert len(result["points"]) == 4 and result["axes"] == ["score", "cost"]
    assert result["runs_done"] == result["runs_planned"]
    for point in result["points"]:
        schedule, channels = point["values"]["schedule"], point["values"]["predictor.channels"]
        runs = [summary(path.parent) for path in folder.glob("schedule_*/summary.json")
                if f"schedule_{schedule.replace(' ', '_').replace(',_', '_').replace(':', '_')}"
                in path.parent.name and f"channels_{channels}-" in path.parent.name]
        assert len(runs) == point["n"]
        assert point["top1_mean"] == pytest.approx(sum(r["top1"] for r in runs) / len(runs))
        assert point["gp_share"] == pytest.approx(runs[0]["gp_batches"] / 30)
        # Equal cost: never more than the point, and less than a batch below it.
        assert point["cost_mean"] - 0.1 < point["bp"]["cost_mean"] <= point["cost_mean"] + 1e-9
        assert point["skip"]["cost_mean"] < point["cost_mean"]
        assert point["speedup"] > 0
    rows = list(csv.DictReader((folder / "sweep.csv").read_text().splitlines()))
    assert [float(row["top1_mean"]) for row in rows] == [p["top1_mean"] for p in result["points"]]
    assert "<svg" in (folder / "sweep.svg").read_text()
    assert result["verdict"] in done.stdout and result["verdict"] in (folder / "sweep.md").read_text()


def test_points_share_controls_that_do_not_read_their_keys(swept):
    folder, _ = swept
    # skip reads the schedule and not the predictor: two schedules, the same for both sizes.
    skips = {path.name.rsplit("-seed", 1)[0] for path in folder.glob("skip_*")}
    assert len(skips) == 2 and not any("channels" in name for name in skips)


def test_more_seeds_go_to_the_best_two_layers_of_the_front(swept):
    folder, _ = swept
    points = json.loads((folder / "sweep.json").read_text())["points"]
    firsts = []
    for path in sorted(folder.glob("schedule_*-seed0/summary.json")):
        one = summary(path.parent)
        firsts.append((path.parent.name, one["top1"], one["cost_epochs"]))
    def dominated(a, among):
        return any(b[1] >= a[1] and b[2] <= a[2] and (b[1] > a[1] or b[2] < a[2]) for b in among)
    front = [a for a in firsts if not dominated(a, firsts)]
    rest = [a for a in firsts if a not in front]
    second = [a for a in rest if not dominated(a, rest)]
    expected = {name.replace("-seed0", "-seed1") for name, *_ in front + second}
    assert {path.name for path in folder.glob("schedule_*-seed1")} == expected
    assert sum(point["n"] for point in points) == 4 + len(expected)


def test_same_command_again_trains_nothing(swept):
    assert_trains_nothing(swept[0], "sweep.json", *COMMAND)


def test_killed_again_and_again_it_ends_like_the_uninterrupted_one(swept, tmp_path):
    whole, _ = swept
    folder = tmp_path / "out"
    chance = random.Random(7)
    for _ in range(6):
        process = start(*COMMAND, "-o", folder)
        # Some way into a run that is not finished yet, or between two runs.
        finished = len(list(folder.glob("*/summary.json")))
        more = chance.randrange(3)
        wait_until(lambda: len(list(folder.glob("*/summary.json"))) >= finished + more
                   and any(newest_step(path) > 0 for path in folder.glob("*-seed*")), process)
        process.send_signal(chance.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
        finish(process)
    adagp(*COMMAND, "-o", folder)
    assert timeless_points(folder) == timeless_points(whole)
    for path in whole.glob("*/weights.safetensors"):
        assert (folder / path.parent.name / path.name).read_bytes() == path.read_bytes(), path


def test_a_budget_of_seconds_ends_the_call_and_the_next_one_goes_on(swept, tmp_path):
    whole, _ = swept
    folder = tmp_path / "out"
    done = adagp(*COMMAND, "-o", folder, "--budget", "0.001")
    assert "runs are left; the same command goes on" in done.stderr
    first = json.loads((folder / "sweep.json").read_text())
    assert first["runs_done"] < first["runs_planned"]
    assert "runs are not done yet" in (folder / "sweep.md").read_text()
    adagp(*COMMAND, "-o", folder)
    assert timeless_points(folder) == timeless_points(whole)


def test_a_point_that_diverges_is_a_result_and_not_tried_again(tmp_path):
    folder = tmp_path / "out"
    command = ["sweep", *TINY, "--epochs", "2", "--method", "bp", "--over", "optim.lr=0.05,1e20",
               "--seeds", "1", "-o", folder]
    adagp(*command)
    good, bad = json.loads((folder / "sweep.json").read_text())["points"]
    assert (good["diverged"], bad["diverged"]) == (0, 1)
    assert good["top1_mean"] > 0 and bad["top1_mean"] is None and not bad["front"]
    assert "diverged before" in adagp(*command).stderr
    note, = folder.rglob("diverged.txt")
    note.unlink()
    os.mkfifo(note)
    assert f"{note}: is a pipe, expected a file" in adagp(*command, code=3).stderr


def test_cheap_points_run_first(tmp_path):
    folder = tmp_path / "out"
    done = adagp("sweep", *TINY, "--method", "bp", "--over", "epochs=3,1,2", "--seeds", "1",
                 "-o", folder)
    order = [line for line in done.stderr.splitlines() if "run 1 of" in line or "of 3: epochs" in line]
    assert [line.split("epochs=")[1][0] for line in order if "epochs=" in line] == ["1", "2", "3"]
    assert [p["values"]["epochs"] for p in json.loads((folder / "sweep.json").read_text())["points"]] \
        == ["3", "1", "2"]
    assert all(records(path) for path in folder.glob("epochs_*"))


@pytest.mark.parametrize("words, says", [
    (["--over", "optim.l=1"], "did you mean"),
    (["--over", "seed=1,2"], "use --seeds"),
    (["--over", "log_every=1ba,2ba"], "it changes nothing"),
    (["--over", "optim.lr=-1"], "expected 0"),
    (["--over", "schedule=10ep bq"], "bq"),
    (["--over", "method=adagp,nosuch"], "nosuch"),
    ([], "expected --over"),
    (["--study", "schedule"], "did you mean 'schedules'"),
    (["--study", "schedules", "--epochs", "3"], "expected at least 6"),
    (["--study", "schedules", "--over", "optim.lr=1"], "one of them"),
    (["--over", "optim.lr=0.1", "--budget", "0"], "--budget"),
    (["--over", "optim.lr=0.1", "--pareto", "acc"], "two or more axes"),
    (["--over", "optim.lr=0.1", "--controls", "zero"], "expected bp, skip"),
    (["--over", "optim.lr=0.1", "--random", "0"], "--random"),
    (["--over", "optim.lr=0.1", "--grid", "--random", "3"], "excludes"),
])
def test_what_cannot_be_is_refused_before_anything_runs(words, says, tmp_path):
    done = adagp("sweep", *TINY, *words, "-o", tmp_path / "out", code=2)
    assert says in done.stderr
    assert not list(tmp_path.rglob("config.toml"))


def test_study_schedules_has_its_points_and_the_accelerators_speed(tmp_path):
    folder = tmp_path / "out"
    adagp("sweep", *TINY, "--epochs", "6", "--study", "schedules", "--seeds", "1", "--controls",
          "none", "-o", folder)
    points = {p["name"]: p for p in json.loads((folder / "sweep.json").read_text())["points"]}
    assert {"published", "rising", "early", "late", "fixed 1:1", "fixed 4:1"} <= set(points)
    # The accelerator saves the more, the more batches are predicted.
    assert points["fixed 4:1"]["speedup"] > points["fixed 1:1"]["speedup"] \
        > points["fixed 1:2"]["speedup"]
