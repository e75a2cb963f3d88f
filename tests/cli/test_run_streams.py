"""What reaches stdout and stderr of the commands that train: full disks, closed streams."""

import pytest
from harness import TINY, adagp, closed, onto_a_full_disk


@pytest.mark.parametrize("args", [
    ["data", "info", "--train", "20", "--test", "10", "--size", "8"],
    ["train", *TINY, "--epochs", "1", "--dry-run"],
    ["doctor"],
    ["layers", "--model", "resnet50", "--json"],
    ["--help"],
], ids=lambda args: " ".join(args[:2]))
def test_a_full_disk_under_stdout_is_an_error(args):
    onto_a_full_disk(*args)


def test_a_run_is_finished_though_its_line_cannot_be_printed(tmp_path):
    onto_a_full_disk("train", *TINY, "--epochs", "1", "-o", tmp_path / "run")
    assert (tmp_path / "run/summary.json").exists()


def test_the_first_line_says_what_is_trained(tmp_path):
    done = adagp("train", *TINY, "--epochs", "1", "-o", tmp_path / "run")
    first = done.stderr.splitlines()[0]
    assert first.startswith("I training ") and " on synthetic by " in first and ", 1 epoch, seed 0" in first
    assert first.endswith(f"run folder {tmp_path / 'run'}")


def test_a_run_without_streams_writes_its_records_alone(tmp_path):
    args = ["train", *TINY, "--epochs", "2", "--set", "log_every=1ba"]
    adagp(*args, "-o", tmp_path / "plain")
    assert closed([*args, "-o", tmp_path / "deaf"], "<&- >&- 2>&-").returncode == 0
    lines = {name: (tmp_path / name / "metrics.jsonl").read_text().splitlines()
             for name in ("plain", "deaf")}
    assert len(lines["deaf"]) == len(lines["plain"])
    assert all(line.startswith("{") for line in lines["deaf"])
