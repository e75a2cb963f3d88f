"""torchrun starts a run again when a rank or a machine is gone: it goes on from the newest checkpoint."""

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from harness import (BIN, CHECKPOINT, PATIENCE, adagp, assert_same_run, environment, newest_step, sets, stopping,
                     summary, wait_until)
from parting import distance
from test_parallel import LOCAL, NORMS, beginnings, children, longer

KILLS = int(os.environ.get("ADAGP_KILLS", 4))  # `make nightly NIGHTLY=kills`: 10


def torchrun(*words, env=None):
    """Started, not waited for; what it says is in `said`, line by line."""
    process = subprocess.Popen([sys.executable, "-m", "torch.distributed.run", "--no-python", *map(str, words)],
                               env=environment(**(env or {})), text=True, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    process.said = []
    process.reader = threading.Thread(target=lambda: process.said.extend(process.stderr), daemon=True)
    process.reader.start()
    return process


def end_of(process):
    """Its exit code, when all is read that it said."""
    try:
        process.wait(timeout=PATIENCE)
        process.reader.join()
        return process.returncode
    finally:
        kill_all(process)


def ranks(process):
    """The processes that train; torchrun has others."""
    def trains(pid):
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes().startswith(os.fsencode(BIN) + b"\0")
        except OSError:
            return False
    return [pid for pid in children(process) if trains(pid)]


def kill_all(process):
    """As if the machine had lost its power."""
    if process.poll() is None:
        process.send_signal(signal.SIGSTOP)  # it must start no others
        for pid in [*ranks(process), process.pid]:
            os.kill(pid, signal.SIGKILL)
    process.wait(timeout=PATIENCE)


def kill_one(process, among, chance):
    try:
        os.kill(chance.choice(among), signal.SIGKILL)
    except ProcessLookupError:  # it had ended by itself
        return False
    return True


def kill_at_random(process, folder, world, batches, chance):
    """So many times in a run: while it trains, and every third time while the processes start."""
    former, kills = set(), 0
    while kills < KILLS:
        goal = batches * kills // (KILLS + 2)
        starting = kills % 3 == 2

        def due():
            now = ranks(process)
            return len(now) == world and not former & set(now) and (starting or newest_step(folder) > goal)

        assert wait_until(due, process), "".join(process.said)
        time.sleep(chance.uniform(0, 1 if starting else 0.05))
        now = ranks(process)
        if now and kill_one(process, now, chance):
            kills += 1
        former = set(now)


@pytest.mark.parametrize("world,how", [(3, "data"), (2, "pipeline=dapple,micro-batches=4")])
def test_kills_at_random_moments_change_no_bit(tmp_path, world, how):
    run = ["train", *longer(NORMS, 80), "--method", "adagp", *sets(checkpoint_every="3ba")]
    whole, folder, chance = tmp_path / "whole", tmp_path / "run", random.Random(43)
    adagp(*run, "--parallel", f"{how},local={world}", "-o", whole)
    process = torchrun(LOCAL, f"--nproc-per-node={world}", "--standalone", f"--max-restarts={3 * KILLS}", BIN, *run,
                       "--parallel", how, "-o", folder)
    try:
        kill_at_random(process, folder, world, 400, chance)
    except BaseException:
        kill_all(process)
        raise
    assert end_of(process) == 0, "".join(process.said)
    assert sum("resumed after batch" in line for line in process.said) >= KILLS // 2, "".join(process.said)
    assert_same_run(folder, whole)


def stands_still(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def is_told_to_end(pid):
    """SIGTERM waits for a process that stands still."""
    status = Path(f"/proc/{pid}/status").read_text()
    pending = int(status.partition("ShdPnd:")[2].split()[0], 16)
    return bool(pending >> (signal.SIGTERM - 1) & 1)


def test_a_machine_goes_and_another_comes(tmp_path):
    """Two torchruns as two machines. The one with the leader is lost, the other goes on alone, then with a new
    one. Places where a process stands still take the part of the right moment."""
    run = [*longer(NORMS, 12), "--method", "adagp", *sets(checkpoint_every="3ba", optim__lr=0.02)]
    plain, nudged = ([*run, "--weights", file] for file in beginnings(NORMS, tmp_path))
    for name, words in (("alone", plain), ("nudged", nudged)):
        adagp("train", *words, "-o", tmp_path / name)
    folder = tmp_path / "run"
    with socket.socket() as free:
        free.bind(("127.0.0.2", 0))
        endpoint = f"127.0.0.2:{free.getsockname()[1]}"

    def machine(address, stop_at):
        """Rank 0 is on the one with the least address; the meeting place is on the other."""
        patience = "last_call_timeout=1,keep_alive_interval=1,keep_alive_max_attempt=3"
        return torchrun(
            "--nnodes=1:2", "--nproc-per-node=1", "--max-restarts=3", "--rdzv-backend=c10d", "--rdzv-id=run",
            f"--rdzv-endpoint={endpoint}", f"--rdzv-conf=is_host={int(address in endpoint)},{patience}",
            f"--local-addr={address}", BIN, "train", *plain, "--parallel", f"data,sync-norm,timeout={PATIENCE}",
            "-o", folder, env={"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
                               **stopping(CHECKPOINT, signal.SIGSTOP, STOP_AT=stop_at)})

    def stands_at(process, step):
        return lambda: (newest_step(folder) >= step and len(ranks(process)) == 1
                        and stands_still(ranks(process)[0]))

    stays, goes = machine("127.0.0.2", 30), machine("127.0.0.1", 9)
    comes = None
    try:
        assert wait_until(stands_at(goes, 9), goes), "".join(goes.said)
        kill_all(goes)
        assert wait_until(stands_at(stays, 30), stays), "".join(stays.said)
        assert any("1 process (gloo)" in line for line in stays.said), "".join(stays.said)
        alone = ranks(stays)[0]
        comes = machine("127.0.0.1", 1000)
        assert wait_until(lambda: is_told_to_end(alone), comes), "".join(comes.said)
        os.kill(alone, signal.SIGCONT)
        for process in (comes, stays):
            assert end_of(process) == 0, "".join(process.said)
    finally:
        for process in (stays, goes, comes):
            if process:
                kill_all(process)
    assert any("resumed after batch 9 " in line for line in stays.said), "".join(stays.said)
    assert any("2 processes (gloo)" in line for line in comes.said), "".join(comes.said)
    # Another order of additions from the first batch on (parting.py).
    assert distance(folder, tmp_path / "alone") <= 60 * distance(tmp_path / "nudged", tmp_path / "alone")
    assert summary(folder)["bp_batches"] == summary(tmp_path / "alone")["bp_batches"]
