"""compare, sweep and reproduce by several processes in one folder: claims, shards, and what is refused."""

import json
import os
import shlex
import signal
import subprocess

import pytest

from harness import (BIN, PATIENCE, TINY, adagp, environment, finish, interrupt, newest_step, sets, start_and_stop,
                     stopping, summary)
from kill_everywhere import assert_same, timeless_report
from shared_kills import rounds

COMMAND = ["compare", *TINY, "--epochs", "1", "--methods", "bp,skip", "--seeds", "3", *sets(checkpoint_every="2ba")]
HOUR = 3600
REPORTS = ("compare.json", "compare.csv", "compare.md")


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone") / "out"
    adagp(*COMMAND, "-o", folder)
    return folder


def assert_same_reports(folder, whole):
    for name in REPORTS:
        assert timeless_report(folder / name) == timeless_report(whole / name), name
    assert not (folder / ".claims").exists()


def claim(folder, text=None, seconds_old=0, unit="unit-seed0"):
    """The claim of a process on another machine, or one with this text."""
    file = folder / ".claims" / unit
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text if text is not None else json.dumps(
        {"host": "elsewhere", "boot": "0", "space": "1", "pid": 7, "started": 8, "claim": "12ab", "about": {}}))
    now = file.stat().st_mtime
    os.utime(file, (now - seconds_old, now - seconds_old))
    return file


def seeds_done(folder):
    return sorted({path.parent.name.rsplit("seed", 1)[1] for path in folder.glob("*/summary.json")})


def test_a_second_process_takes_what_the_first_has_not_and_says_who_has_the_rest(alone, tmp_path):
    folder = tmp_path / "out"
    first = start_and_stop(*COMMAND, "-o", folder)
    done = adagp(*COMMAND, "-o", folder)
    assert f"process {first.pid} on" in done.stderr and "2 runs are left" in done.stderr
    assert seeds_done(folder) == ["1", "2"]
    first.send_signal(signal.SIGCONT)
    _, errors = finish(first)
    assert first.returncode == 0, errors
    assert_same_reports(folder, alone)


def test_another_list_or_overwrite_is_refused_while_somebody_works(tmp_path):
    folder = tmp_path / "out"
    first = start_and_stop(*COMMAND, "-o", folder)
    other = adagp(*COMMAND, *sets(optim__lr=0.03), "-o", folder, code=2).stderr
    assert f"process {first.pid} on" in other and "optim.lr" in other and "here" in other and "0.03" in other
    more = adagp(*COMMAND[:-3], "4", *COMMAND[-2:], "-o", folder, code=2).stderr  # seeds
    assert "6 runs" in more and "8 runs" in more
    assert "--overwrite needs it alone" in adagp(*COMMAND, "--overwrite", "-o", folder, code=2).stderr
    first.kill()
    finish(first)
    # Nobody works there now: another list of runs is what it always was.
    assert "another configuration" in adagp(*COMMAND, *sets(optim__lr=0.03), "-o", folder, code=2).stderr
    adagp(*COMMAND, "--overwrite", "-o", folder)


@pytest.mark.parametrize("text", [None, "", "no JSON", "[]"])
def test_a_claim_of_elsewhere_and_garbage_count_until_they_are_old(alone, tmp_path, text):
    folder = tmp_path / "out"
    file = claim(folder, text)
    done = adagp(*COMMAND, "-o", folder)
    assert "seed0: " in done.stderr and "works on it" in done.stderr and "2 runs are left" in done.stderr
    assert seeds_done(folder) == ["1", "2"] and file.exists()
    # A clock that was ahead does no harm; only the file system's clock counts.
    claim(folder, text, seconds_old=-HOUR)
    assert "2 runs are left" in adagp(*COMMAND, "-o", folder).stderr
    claim(folder, text, seconds_old=HOUR)
    adagp(*COMMAND, "-o", folder)
    assert_same_reports(folder, alone)


def test_the_time_after_which_a_claim_is_old_is_the_users(tmp_path):
    folder = tmp_path / "out"
    claim(folder, seconds_old=HOUR)
    assert "2 runs are left" in adagp(*COMMAND, "-o", folder, "--claim-timeout", 2 * HOUR).stderr
    assert "expected a number from 1" in adagp(*COMMAND, "-o", folder, "--claim-timeout", 0, code=2).stderr


def test_shards_do_their_part_and_the_last_one_writes_the_table(alone, tmp_path):
    folder = tmp_path / "out"
    assert "4 runs are left" in adagp(*COMMAND, "-o", folder, "--shard", "3/3").stderr
    assert seeds_done(folder) == ["2"]
    array = {"SLURM_ARRAY_TASK_COUNT": "3", "SLURM_ARRAY_TASK_MIN": "10", "SLURM_ARRAY_TASK_STEP": "5"}
    done = adagp(*COMMAND, "-o", folder, env={**array, "SLURM_ARRAY_TASK_ID": "10"})
    assert "shard 1/3" in done.stderr and "2 runs are left" in done.stderr
    assert seeds_done(folder) == ["0", "2"]
    adagp(*COMMAND, "-o", folder, env={**array, "SLURM_ARRAY_TASK_ID": "15"})
    assert_same_reports(folder, alone)


@pytest.mark.parametrize("words, env, says", [
    (["--shard", "5/3"], {}, "got '5/3', expected I/N"),
    (["--shard", "0/3"], {}, "got '0/3', expected I/N"),
    (["--shard", "1/3/5"], {}, "expected I/N"),
    (["--shard", "a\x1bb"], {}, r"got 'a\x1bb', expected I/N"),
    (["--shard", "1/2", "--commands"], {}, "leave --shard out"),
    ([], {"SLURM_ARRAY_TASK_ID": "x", "SLURM_ARRAY_TASK_COUNT": "3"}, "SLURM_ARRAY_TASK_ID=x: expected"),
    (["--shard", "1/2", "--overwrite"], {}, "--overwrite: needs the list alone"),
    (["--commands", "--overwrite"], {}, "--overwrite: needs the list alone"),
])
def test_what_is_no_shard_is_refused_before_anything_runs(words, env, says, tmp_path):
    assert says in adagp(*COMMAND, *words, "-o", tmp_path / "out", env=env, code=2).stderr
    assert not list(tmp_path.rglob("config.toml"))


def test_an_array_with_gaps_has_no_shards(alone, tmp_path):
    folder = tmp_path / "out"
    done = adagp(*COMMAND, "-o", folder, env={"SLURM_ARRAY_TASK_ID": "9", "SLURM_ARRAY_TASK_COUNT": "3"})
    assert "the numbers have gaps" in done.stderr
    assert_same_reports(folder, alone)


def test_a_run_that_another_shard_made_otherwise_is_refused(tmp_path):
    folder = tmp_path / "out"
    adagp(*COMMAND, "-o", folder, "--shard", "1/3")
    other = adagp(*COMMAND, "--set", "optim.lr=0.01", "-o", folder, "--shard", "2/3", code=2).stderr
    assert "bp-seed0: holds a run with another configuration (optim.lr)" in other


def test_a_run_that_diverged_in_another_process_is_known(tmp_path):
    wild = [*COMMAND, *sets(**{"optim.lr": "1e30"}), "-o", tmp_path / "out"]
    for shard in ("1/3", "2/3"):
        assert "left" in adagp(*wild, "--shard", shard, code=4).stderr
    assert "left" not in adagp(*wild, "--shard", "3/3", code=4).stderr


def test_a_list_that_is_chosen_on_the_way_has_no_shards(tmp_path):
    sweep = ["sweep", *TINY, "--over", "optim.lr=0.1,0.2", "--pareto", "acc,cost", "-o", tmp_path / "out"]
    for words in (["--shard", "1/2"], ["--commands"]):
        assert "the list has no shards" in adagp(*sweep, *words, code=2).stderr


def test_the_commands_are_the_list(alone, tmp_path):
    folder = tmp_path / "a folder's"
    lines = adagp(*COMMAND, "-o", folder, "--commands").stdout.splitlines()
    assert len(lines) == 3 and not folder.exists()
    assert shlex.split(lines[0]) == [BIN, *COMMAND, "-o", str(folder), "--shard", "1/3"]
    for line in lines:
        subprocess.run(["sh", "-c", line], env=environment(), check=True, capture_output=True, timeout=PATIENCE)
    assert_same_reports(folder, alone)


@pytest.mark.parametrize("target, count", [("paper-table1", 4), ("paper-figures", 2), ("term-project", 4)])
def test_a_unit_of_reproduce_is_a_network_with_a_seed(target, count):
    networks = "vgg13,resnet50" if target != "term-project" else "vgg11,mobilenet_v2"
    done = adagp("reproduce", target, "--networks", networks, "--seeds", "2", "--commands")
    assert len(done.stdout.splitlines()) == count


def test_sigusr1_saves_and_asks_to_be_started_again(alone, tmp_path):
    run = ["--method", "bp", *TINY, "--epochs", "1", *sets(checkpoint_every="2ba")]
    code, _, errors = interrupt(tmp_path / "run", *run, how=signal.SIGUSR1)
    assert code == 85 and "saved after batch" in errors, errors
    assert newest_step(tmp_path / "run") > 0
    adagp("train", *run, "-o", tmp_path / "run")
    assert summary(tmp_path / "run")["bp_batches"] == 10
    done = adagp(*COMMAND, "-o", tmp_path / "list", code=85,
                 env=stopping("*/checkpoint/step-*.safetensors", signal.SIGUSR1))
    assert "the same command goes on from there" in done.stderr
    adagp(*COMMAND, "-o", tmp_path / "list")
    assert_same_reports(tmp_path / "list", alone)


def test_a_folder_that_cannot_be_written_is_named():
    assert "/proc/adagp-list" in adagp(*COMMAND, "-o", "/proc/adagp-list", code=1).stderr


def test_four_processes_killed_again_and_again_end_as_one(tmp_path):
    rounds(3, tmp_path, assert_same)
