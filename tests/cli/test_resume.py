"""A run that is stopped, in whatever way, ends as if it had not been."""

import random
import signal
import time

import pytest
from safetensors.numpy import load_file
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from harness import (TINY, adagp, assert_same_run, checkpoints, finish, interrupt, newest_step,
                     records, sets, start, summary, wait_until)

BATCHES = 300
OFTEN = sets(checkpoint_every="3ba")


def kill_at(folder, command, step, delay):
    """Kills a run `delay` seconds after a checkpoint of `step` or later; False if it had ended."""
    process = start(*command)
    running = wait_until(lambda: newest_step(folder) >= step, process)
    if running:
        time.sleep(delay)
    process.kill()
    finish(process)
    return process.returncode == -signal.SIGKILL


def test_twenty_kills_leave_no_trace(tmp_path, long_run, uninterrupted):
    folder = tmp_path / "run"
    command = ["train", *long_run, "--method", "adagp", *OFTEN, "-o", folder]
    rng = random.Random(20)
    # Moments spread over the whole run; within each, anywhere from a checkpoint to some batches on.
    kills = 0
    for step in sorted(rng.randrange(BATCHES - 60) for _ in range(20)):
        if not kill_at(folder, command, step, rng.uniform(0, 0.03)):
            break  # on a busy machine this process may sleep through the last of it
        kills += 1
    assert kills > 0
    adagp(*command)
    assert_same_run(folder, uninterrupted("adagp"))
    assert scalars(folder) == scalars(uninterrupted("adagp"))


def scalars(folder):
    """(tag, step, value) of everything TensorBoard shows."""
    events = EventAccumulator(str(folder / "tb"), size_guidance={"scalars": 0})
    events.Reload()
    return [(tag, e.step, e.value) for tag in sorted(events.Tags()["scalars"])
            for e in events.Scalars(tag)]


def test_kills_while_starting(tmp_path, long_run, uninterrupted):
    """Before the first checkpoint and while one is being loaded: the folder is never stuck."""
    folder = tmp_path / "run"
    command = ["train", *long_run, "--method", "adagp", "-o", folder]
    for delay in (0.05, 0.2, 0.35, 0.45, 0.6):
        process = start(*command)
        time.sleep(delay)
        process.kill()
        finish(process)
    adagp(*command)
    assert_same_run(folder, uninterrupted("adagp"))


# What each carries from batch to batch: running means of gradients, the batch before.
@pytest.mark.parametrize("method", ["ema", "wrong-input"])
def test_kill_of_other_methods(method, tmp_path, long_run, uninterrupted):
    folder = tmp_path / "run"
    command = ["train", *long_run, "--method", method, *OFTEN, "-o", folder]
    assert kill_at(folder, command, 137, 0.01)
    adagp(*command)
    assert_same_run(folder, uninterrupted(method))


@pytest.mark.parametrize("options", [
    sets(optim__name="adam", optim__lr=0.001, policy__name="plateau", policy__patience=0),
    sets(predictor__kind="remap", predictor__remap_channels=4, predictor__remap_outputs=64,
         head="exact"),
    sets(accumulate=2, clip=0.5, augment__workers=0),
], ids=["adam-plateau", "remap-exact", "accumulate-clip"])
def test_stop_with_other_options(options, tmp_path):
    command = [*TINY, "--epochs", "12", "--method", "adagp", *options]
    adagp("train", *command, "-o", tmp_path / "whole")
    code, _, err = interrupt(tmp_path / "run", *command, *OFTEN, at=50)
    assert code == 143, err
    adagp("train", *command, "-o", tmp_path / "run")
    assert_same_run(tmp_path / "run", tmp_path / "whole")


# Twice: wrappers send a signal to the process and to its group.
@pytest.mark.parametrize("how, times, code", [(signal.SIGINT, 1, 130), (signal.SIGINT, 2, 130), (signal.SIGTERM, 2, 143)])
def test_signal_saves_and_the_same_command_goes_on(how, times, code, tmp_path, long_run, uninterrupted):
    folder = tmp_path / "run"
    command = [*long_run, "--method", "adagp"]  # a checkpoint per epoch: the signal makes one more
    got, out, err = interrupt(folder, *command, at=100, how=how, times=times)
    assert got == code, err
    saved = newest_step(folder)
    (folder / "checkpoint/step-0000000099.safetensors.0123abcd.tmp").touch()  # of a process killed before
    assert f"saved after batch {saved} of {BATCHES}" in err and str(folder) in err
    assert "the same command goes on" in err
    assert out == "" and not (folder / "summary.json").exists()

    again = adagp("train", *command, "-o", folder)
    assert f"resumed after batch {saved}" in again.stderr
    assert_same_run(folder, uninterrupted("adagp"))


def cut_off(file):
    file.write_bytes(file.read_bytes()[:-1000])


def flip_a_bit(file):
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


@pytest.mark.parametrize("damage", [cut_off, flip_a_bit])
def test_corrupt_newest_checkpoint_falls_back(damage, tmp_path, long_run, uninterrupted):
    folder = tmp_path / "run"
    command = [*long_run, "--method", "adagp", *OFTEN]
    interrupt(folder, *command, at=100)
    older, newest = checkpoints(folder)
    damage(newest)
    again = adagp("train", *command, "-o", folder)
    assert newest.name in again.stderr and "checkpoint before" in again.stderr
    assert "download" not in again.stderr
    step = int(older.stem.split("-")[1])
    assert f"resumed after batch {step} " in again.stderr
    assert_same_run(folder, uninterrupted("adagp"))


def test_no_readable_checkpoint_is_an_error_not_a_new_start(tmp_path, long_run, uninterrupted):
    folder = tmp_path / "run"
    command = [*long_run, "--method", "adagp", *OFTEN]
    interrupt(folder, *command, at=30)
    for file in checkpoints(folder):
        cut_off(file)
    err = adagp("train", *command, "-o", folder, code=3).stderr
    assert all(file.name in err for file in checkpoints(folder)) and "--overwrite" in err
    adagp("train", *command, "-o", folder, "--overwrite")
    assert_same_run(folder, uninterrupted("adagp"))


def test_two_checkpoints_are_kept_and_python_reads_them(tmp_path, long_run):
    folder = tmp_path / "run"
    interrupt(folder, *long_run, "--method", "adagp", *OFTEN, at=30)
    assert len(checkpoints(folder)) == 2
    names = load_file(checkpoints(folder)[-1]).keys()
    for part in ("net.", "optimizer.", "predictor.", "random."):
        assert any(name.startswith(part) for name in names), part


def test_time_in_which_the_process_is_stopped_is_not_training_time(tmp_path, long_run):
    folder, stop = tmp_path / "run", 3
    began = time.monotonic()
    process = start("train", *long_run, "--method", "bp", "-o", folder)
    assert wait_until(lambda: newest_step(folder) >= 20, process), finish(process)
    process.send_signal(signal.SIGSTOP)
    time.sleep(stop)
    process.send_signal(signal.SIGCONT)
    _, err = finish(process)
    whole = time.monotonic() - began
    told = summary(folder)
    assert told["stopped_seconds"] >= stop - 0.5  # it looks ten times a second
    assert told["train_seconds"] + told["eval_seconds"] + told["stopped_seconds"] <= whole
    assert "stood still for" in err
    assert sum(r["seconds"] for r in records(folder) if r["kind"] == "stopped") == pytest.approx(
        told["stopped_seconds"])
