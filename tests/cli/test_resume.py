"""A run that is stopped, in whatever way, ends as if it had not been."""

import contextlib
import os
import random
import signal

import pytest
from safetensors.numpy import load_file
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from harness import (TINY, adagp, assert_same_run, checkpoints, finish, interrupt, newest_step,
                     sets, start, stopping, wait_until)

BATCHES = 300
OFTEN = sets(checkpoint_every="3ba")


def kill_before(change, command):
    """kill -9 before the change-th change of a file."""
    adagp(*command, env=stopping(KILL_BEFORE=change), code=-signal.SIGKILL)


def test_twenty_kills_leave_no_trace(tmp_path, long_run, uninterrupted):
    folder = tmp_path / "run"
    command = ["train", *long_run, "--method", "adagp", *OFTEN, "-o", folder]
    rng = random.Random(20)
    # Some twenty changes for each checkpoint, of which a run has a hundred.
    for _ in range(20):
        kill_before(rng.randrange(1, 120), command)
    assert 0 < newest_step(folder) < BATCHES
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
    """At the first changes in a new folder and in one that holds a run: it is never stuck."""
    folder = tmp_path / "run"
    command = ["train", *long_run, "--method", "adagp", "-o", folder]
    for change in (1, 2, 3, 5, 8, 12, 17):
        kill_before(change, command)
    interrupt(folder, *command[1:-2], at=50, how=signal.SIGKILL)
    for change in (1, 2, 3, 5):
        kill_before(change, command)
    adagp(*command)
    assert_same_run(folder, uninterrupted("adagp"))


def test_a_kill_behind_the_last_checkpoint_leaves_two_of_them(tmp_path, long_run, uninterrupted):
    folder, command = tmp_path / "run", [*long_run, "--method", "adagp", *OFTEN]
    interrupt(folder, *command, at=BATCHES, how=signal.SIGKILL)
    assert len(checkpoints(folder)) == 3  # the oldest was about to go
    adagp("train", *command, "-o", folder)
    assert len(checkpoints(folder)) == 2
    assert_same_run(folder, uninterrupted("adagp"))


# What each carries from batch to batch: running means of gradients, the batch before.
@pytest.mark.parametrize("method", ["ema", "wrong-input"])
def test_kill_of_other_methods(method, tmp_path, long_run, uninterrupted):
    folder = tmp_path / "run"
    command = [*long_run, "--method", method, *OFTEN]
    interrupt(folder, *command, at=137, how=signal.SIGKILL)
    adagp("train", *command, "-o", folder)
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
@pytest.mark.parametrize("how, times, code", [(signal.SIGINT, 1, 130), (signal.SIGINT, 2, 130),
                                              (signal.SIGTERM, 2, 143)])
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


@pytest.mark.parametrize("how, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_before_the_run_begins(how, code, tmp_path):
    """While the configuration is read, which here takes until somebody writes it."""
    recipe, folder = tmp_path / "recipe.toml", tmp_path / "run"
    os.mkfifo(recipe)
    process = start("train", recipe, "-o", folder)
    writer = []

    def is_read():
        with contextlib.suppress(OSError):  # nobody reads yet
            writer.append(os.open(recipe, os.O_WRONLY | os.O_NONBLOCK))
        return bool(writer)

    assert wait_until(is_read, process), finish(process)
    process.send_signal(how)
    _, err = finish(process)
    os.close(writer[0])
    assert process.returncode == code and "interrupted" in err, err
    assert not folder.exists()


def test_the_third_signal_ends_at_once(tmp_path, long_run, uninterrupted):
    folder, command = tmp_path / "run", [*long_run, "--method", "adagp"]
    code, _, err = interrupt(folder, *command, at=100, times=3)
    assert code == 143 and "saved after batch" not in err, err
    assert newest_step(folder) == 100
    adagp("train", *command, "-o", folder)
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
