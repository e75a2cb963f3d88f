"""Several processes train what one process would train."""

import functools
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from harness import (BIN, CHECKPOINT, PATIENCE, adagp, checkpoints, environment, finish, interrupt,
                     newest_step, sets, start, stopping, summary, wait_until)
from parting import distance, losses, nudge

LOCAL = "--local-addr=127.0.0.1"  # the machine's own name need not be known to it

DATA = ["--data", "synthetic", "--threads", "1",
        *sets(data__synthetic_size=8, data__synthetic_train=120, data__synthetic_test=40)]
# Five batches of BP, then GP and BP in turn.
RUN = ["--batch", "24", "--epochs", "2", "--schedule", "1ep bp, 1:1", *sets(log_every="1ba")]
NORMS = [*DATA, "--model", "resnet8", *sets(model__width_divisor=4), *RUN]
PLAIN = ["--data", "synthetic", "--threads", "1", *sets(
    data__synthetic_size=32, data__synthetic_train=120, data__synthetic_test=40),
    "--model", "vgg11", *sets(model__width_divisor=16), *RUN]


def longer(run, epochs):
    at = run.index("--epochs") + 1
    return [*run[:at], str(epochs), *run[at + 1:]]


def torchrun(processes, *args, code=0, env=None):
    command = [sys.executable, "-m", "torch.distributed.run", "--no-python", LOCAL,
               f"--nproc-per-node={processes}", "--standalone", BIN, *map(str, args)]
    done = subprocess.run(command, env=environment(**(env or {})), text=True, capture_output=True,
                          timeout=PATIENCE)
    assert (done.returncode == 0) == (code == 0), done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """(arguments) -> folder of the same run by one process, made once."""
    made = {}

    def folder(*args):
        key = tuple(map(str, args))
        if key not in made:
            made[key] = tmp_path_factory.mktemp("alone") / "run"
            adagp("train", *args, "-o", made[key])
        return made[key]

    return folder


def beginnings(run, folder):
    """Two files of weights that are a rounding error apart, for runs like `run`."""
    adagp("train", *run, "--method", "bp", "-o", folder / "begin")
    plain = folder / "begin/weights.safetensors"
    return plain, nudge(plain, folder / "nudged.safetensors")


@functools.cache
def ten_batches():
    """How far another order of additions may lead in ten batches (parting.py); about 1e-5."""
    def apart(run, folder):
        folders = [folder / "a", folder / "b"]
        for weights, made in zip(beginnings(run, folder), folders):
            adagp("train", *run, "--method", "adagp", "--weights", weights, "-o", made)
        return distance(*folders)

    with tempfile.TemporaryDirectory() as top:
        return 10 * max(apart(run, Path(top) / str(i)) for i, run in enumerate((NORMS, PLAIN)))


def assert_alike(folder, reference, tolerance=None, buffers=True):
    """The same losses and weights, up to the order of additions in fp32."""
    assert distance(folder, reference, buffers) <= (tolerance or ten_batches())
    one, two = summary(folder), summary(reference)
    assert (one["bp_batches"], one["gp_batches"]) == (two["bp_batches"], two["gp_batches"])


# The runs of adagp have batches of both kinds.
EACH = ["gpipe", "dapple", "chimera", "zero-bubble"]
SCHEDULES = [(2, schedule, method) for schedule in (*EACH, "interleaved,chunks=2")
             for method in ("bp", "adagp")] + [(4, schedule, "adagp") for schedule in EACH]


@pytest.mark.parametrize("processes,schedule,method", SCHEDULES)
def test_a_pipeline_is_one_process(tmp_path, alone, processes, schedule, method):
    folder = tmp_path / "run"
    adagp("train", *NORMS, "--method", method, "--parallel",
          f"pipeline={schedule},micro-batches=4,local={processes}", "-o", folder)
    # Norms work per micro-batch, in the pipeline as in a process that accumulates. Chimera's two
    # replicas keep running means of their own, which become the mean of both.
    reference = alone(*NORMS, "--method", method, *sets(accumulate=4))
    assert_alike(folder, reference, buffers="chimera" not in schedule)


@pytest.mark.parametrize("method", ["bp", "adagp"])
def test_two_copies_are_one_process_with_the_whole_batch(tmp_path, alone, method):
    folder = tmp_path / "run"
    adagp("train", *PLAIN, "--method", method, "--parallel", "data,local=2", "-o", folder)
    reference = alone(*PLAIN, "--method", method)
    assert_alike(folder, reference)
    # The cost is that of both copies.
    assert summary(folder)["cost_epochs"] == pytest.approx(summary(reference)["cost_epochs"])


def test_copies_may_share_the_statistics_of_their_norms(tmp_path, alone):
    folder = tmp_path / "run"
    adagp("train", *NORMS, "--method", "adagp", "--parallel", "data,sync-norm,local=2", "-o", folder)
    assert_alike(folder, alone(*NORMS, "--method", "adagp"))


@pytest.mark.parametrize("how", ["data", "pipeline=dapple"])
def test_an_exact_head(tmp_path, alone, how):
    folder = tmp_path / "run"
    run = [*PLAIN, "--method", "adagp", *sets(head="exact", accumulate=2)]
    adagp("train", *run, "--parallel", f"{how},local=2", "-o", folder)
    assert_alike(folder, alone(*run))


def test_one_process_of_a_launcher_and_local_do_not_mix(tmp_path):
    env = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1",
           "MASTER_PORT": "29999"}
    done = adagp("train", *NORMS, "--parallel", "data,local=4", "-o", tmp_path / "run", code=2,
                 env=env)
    assert "4" in done.stderr and "WORLD_SIZE" in done.stderr


def test_a_finished_run_is_told_at_once(tmp_path):
    command = ["train", *NORMS, "--method", "bp", "--parallel", "data,local=2", "-o", tmp_path / "r"]
    first, again = adagp(*command), adagp(*command)
    assert first.stdout == again.stdout


def test_divergence_stops_all_with_its_code(tmp_path):
    done = adagp("train", *NORMS, "--method", "bp", *sets(optim__lr="1e6"), "--parallel",
                 "pipeline=gpipe,micro-batches=2,local=2", "-o", tmp_path / "run", code=4)
    assert "diverged" in done.stderr


@pytest.mark.parametrize("control", ["skip", "zero", "ema", "wrong-input"])
def test_controls_run_in_pipelines_too(tmp_path, alone, control):
    folder = tmp_path / "run"
    adagp("train", *NORMS, "--method", control, "--parallel",
          "pipeline=dapple,micro-batches=2,local=2", "-o", folder)
    assert_alike(folder, alone(*NORMS, "--method", control, *sets(accumulate=2)))


@pytest.mark.parametrize("schedule", ["gpipe", "zero-bubble", "chimera"])
def test_copies_of_pipelines(tmp_path, alone, schedule):
    folder = tmp_path / "run"
    adagp("train", *PLAIN, "--method", "adagp", "--parallel",
          f"data,pipeline={schedule},stages=2,micro-batches=2,local=4", "-o", folder)
    assert_alike(folder, alone(*PLAIN, "--method", "adagp"))


def test_copies_may_average_the_predicted_gradients(tmp_path):
    folder = tmp_path / "run"
    for name, spec in (("gradients", "data,predict=gradients,local=2"), ("summaries", "data,local=2")):
        adagp("train", *PLAIN, "--method", "adagp", "--parallel", spec, "-o", folder / name)
    ours, theirs = (dict(losses(folder / name)) for name in ("gradients", "summaries"))
    bp = range(1, 6)
    np.testing.assert_allclose([ours[s] for s in bp], [theirs[s] for s in bp], rtol=ten_batches())
    # The mean of two predictions is not the prediction of the mean, but near it.
    a, b = (load_file(folder / name / "weights.safetensors") for name in ("gradients", "summaries"))
    assert any((a[name] != b[name]).any() for name in a)
    for name in a:
        np.testing.assert_allclose(a[name], b[name], atol=0.05 * max(1e-3, np.abs(b[name]).max()))


def test_clipping_acts_on_the_whole_network(tmp_path, alone):
    folder = tmp_path / "run"
    clipped = [*NORMS, "--method", "bp", *sets(clip=0.5)]
    adagp("train", *clipped, "--parallel", "pipeline=gpipe,micro-batches=2,local=2", "-o", folder)
    assert_alike(folder, alone(*clipped, *sets(accumulate=2)))


def test_under_torchrun(tmp_path, alone):
    folder = tmp_path / "run"
    torchrun(2, "train", *NORMS, "--method", "adagp", "--parallel",
             "pipeline=gpipe,micro-batches=4", "-o", folder)
    assert_alike(folder, alone(*NORMS, "--method", "adagp", *sets(accumulate=4)))


@pytest.fixture(scope="module")
def sixty_batches(alone, tmp_path_factory):
    """A run long enough to be stopped, what one process makes of it, and how far another order of
    additions may lead away from that (parting.py)."""
    # At the default rate of 0.1 a rounding error grows to a third of a weight on some CPUs.
    run = [*longer(NORMS, 12), "--method", "adagp",
           *sets(checkpoint_every="3ba", accumulate=4, optim__lr=0.02)]
    plain, nudged = ([*run, "--weights", weights]
                     for weights in beginnings(NORMS, tmp_path_factory.mktemp("beginnings")))
    reference = alone(*plain)
    allowed = 60 * distance(alone(*nudged), reference)
    # The bound tells something: a run that sees other batches is much farther away.
    assert 10 * allowed < distance(alone(*plain, "--seed", "1"), reference)
    return plain, reference, allowed


@pytest.mark.parametrize("then", [1, 2])
def test_a_checkpoint_of_four_stages_resumes_on_fewer(tmp_path, sixty_batches, then):
    folder = tmp_path / "run"
    run, reference, allowed = sixty_batches
    code, _, err = interrupt(folder, *run, "--parallel", "pipeline=gpipe,local=4", at=3, whom="parent")
    assert code == 128 + signal.SIGTERM, err
    how = [] if then == 1 else ["--parallel", f"pipeline=gpipe,local={then}"]
    done = adagp("train", *run, *how, "-o", folder)
    assert "resumed after batch" in done.stderr
    assert_alike(folder, reference, allowed)


def children(process):
    """From /proc, as a bare system has no pgrep; the command's name may hold spaces and brackets."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = stat.read_text(errors="replace").rpartition(")")[2].split()[1]
        except OSError:  # it has ended
            continue
        if int(parent) == process.pid:
            found.append(int(stat.parent.name))
    return sorted(found)


def waited(text):
    """The seconds of "(waited 1.5 s" in an error of a rank."""
    return float(re.search(r"\(waited ([0-9.]+) s", text)[1])


def test_a_killed_rank_stops_the_others_and_the_run_goes_on(tmp_path, sixty_batches):
    folder = tmp_path / "run"
    run, reference, allowed = sixty_batches
    command = [*run, "--parallel", f"pipeline=dapple,local=2,timeout={PATIENCE}"]
    code, _, err = interrupt(folder, *command, at=3, how=signal.SIGKILL, whom="sibling")
    assert code == 1
    assert re.search(r"rank 0 of 2: .*rank 1 \(pid", err), err
    assert waited(err) < PATIENCE / 2, err  # at once, not after the timeout
    assert checkpoints(folder)
    adagp("train", *command, "-o", folder)
    assert_alike(folder, reference, allowed)


def test_torchrun_restarts_and_the_run_resumes(tmp_path, sixty_batches):
    folder = tmp_path / "run"
    run, reference, allowed = sixty_batches
    command = [sys.executable, "-m", "torch.distributed.run", "--no-python", LOCAL,
               "--nproc-per-node=2", "--standalone", "--max-restarts=2", BIN, "train",
               *map(str, run), "--parallel", f"pipeline=gpipe,timeout={PATIENCE}", "-o", str(folder)]
    place = stopping(CHECKPOINT, signal.SIGKILL, STOP_AT=3, STOP_WHOM="sibling",
                     STOP_ONCE=tmp_path / "killed")
    done = subprocess.run(command, env=environment(**place), text=True, capture_output=True,
                          timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "killed").exists() and "resumed after batch" in done.stderr
    assert_alike(folder, reference, allowed)


def test_a_rank_that_hangs_is_named(tmp_path):
    """Stopped by the other one, whose launcher ends it in the end. A busy machine may need more than a
    short timeout for the processes to find each other."""
    run = [*longer(NORMS, 12), "--method", "bp"]
    timeout, err = 5, ""
    while timeout < PATIENCE and not re.search(r"rank 1.*stopped", err):
        folder = tmp_path / str(timeout)
        done = subprocess.run(
            [BIN, "train", *map(str, run), "--parallel", f"pipeline=gpipe,local=2,timeout={timeout}", "-o",
             str(folder)], text=True, capture_output=True, timeout=PATIENCE,
            env=environment(**stopping(CHECKPOINT, signal.SIGSTOP, STOP_WHOM="sibling")))
        assert done.returncode == 1, done.stderr
        err, timeout = done.stderr, 2 * timeout
    assert re.search(r"rank 1.*stopped", err), err
    assert waited(err) > 0.9 * timeout / 2, err


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_run_whose_ranks_are_stopped(tmp_path, how):
    run = [*longer(NORMS, 4000), "--method", "bp", *sets(log_every="1000ba")]
    process = start("train", *run, "--parallel", f"pipeline=gpipe,local=2,timeout={PATIENCE}",
                    "-o", tmp_path / "run")
    assert wait_until(lambda: newest_step(tmp_path / "run") > 0 and len(children(process)) == 2,
                      process)
    ranks = children(process)
    for rank in ranks:
        os.kill(rank, signal.SIGSTOP)
    process.send_signal(how)
    _, err = finish(process)
    assert process.returncode == 128 + how, err
    assert "saved after batch" in err
    assert not [rank for rank in ranks if os.path.exists(f"/proc/{rank}")]


@pytest.mark.parametrize("times", [1, 2])  # twice: as `timeout` sends it
def test_ctrl_c_saves_once_for_all(tmp_path, sixty_batches, times):
    folder = tmp_path / "run"
    run, reference, allowed = sixty_batches
    command = [*run, *sets(checkpoint_every="1ep"), "--parallel", "pipeline=gpipe,local=2"]
    code, _, err = interrupt(folder, *command, at=5, how=signal.SIGINT, times=times, whom="parent")
    assert code == 130, err
    assert "saved after batch" in err
    adagp("train", *command, "-o", folder)
    assert_alike(folder, reference, allowed)


@pytest.mark.parametrize("spec,message", [
    ("pipeline=gpip,local=2", "gpipe"),
    ("pipeline=gpipe,micro-batches=5,local=2", "24"),
    ("pipeline=chimera,local=3,micro-batches=3", "even"),
    ("pipeline=gpipe,local=7,micro-batches=2", "7 stages"),
    ("data,local=5", "24"),
    ("data,pipeline=gpipe,stages=3,local=4", "4"),
])
def test_what_cannot_be_is_refused_with_the_numbers(tmp_path, spec, message):
    done = adagp("train", *NORMS, "--parallel", spec, "-o", tmp_path / "run", code=2)
    assert message in done.stderr, done.stderr
    if message == "24":  # the batch: refused before any process begins
        assert done.stderr.count("E ") == 1 and not (tmp_path / "run").exists()


def test_without_a_launcher_it_is_said_how(tmp_path):
    done = adagp("train", *NORMS, "--parallel", "data", "-o", tmp_path / "run", code=2)
    assert "torchrun" in done.stderr and "RANK" in done.stderr and "local=" in done.stderr


def test_an_unreachable_master_is_named(tmp_path):
    env = {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "MASTER_ADDR": "127.0.0.1",
           "MASTER_PORT": "9"}
    done = adagp("train", *NORMS, "--parallel", "data,timeout=2", "-o", tmp_path / "run", code=1,
                 env=env)
    assert "127.0.0.1:9" in done.stderr and "nobody answers there" in done.stderr, done.stderr
    assert "something listens" not in done.stderr


def test_other_options_on_one_rank_are_refused(tmp_path):
    """Two processes by hand, the second with another learning rate."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    def one(rank, *extra):
        env = environment(RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK=str(rank),
                          MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        return subprocess.Popen([BIN, "train", *map(str, NORMS), *extra, "--parallel",
                                 f"data,timeout={PATIENCE}", "-o", str(tmp_path / "run")], env=env,
                                text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    processes = [one(0), one(1, "--set", "optim.lr=0.7")]
    for process in processes:
        _, err = finish(process)
        assert process.returncode == 2, err
        assert "optim.lr" in err and "rank 1" in err, err
