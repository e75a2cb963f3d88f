"""Starts the program as a user would, on runs of a second or two."""

import atexit
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = os.environ.get("ADAGP_BIN", str(ROOT / "build/bin/adagp"))


# Seconds before a hanging program is an error: of many times what a slow and busy machine takes, and the
# only limit in seconds that a test may have. Less than the 900 of ctest, so that a hang says which program.
PATIENCE = 800


def sets(**values):
    """sets(data__limit=3) -> ["--set", "data.limit=3"]"""
    return [word for key, value in values.items()
            for word in ("--set", f"{key.replace('__', '.')}={value}")]


DATA = ["--data", "synthetic", "--threads", "1",
        *sets(data__synthetic_size=8, data__synthetic_train=200, data__synthetic_test=50)]
NET = ["--model", "resnet8", *sets(model__width_divisor=4)]
TINY = [*DATA, *NET, "--batch", "20"]  # 10 batches an epoch, some milliseconds each


def environment(**extra):
    """This process's environment without what would configure a run, and one thread per program."""
    kept = {k: v for k, v in os.environ.items()
            if not k.startswith("ADAGP_") and k not in ("NO_COLOR", "CLICOLOR_FORCE")}
    return {**kept, "OMP_NUM_THREADS": "1", **extra}


def adagp(*args, code=0, env=None, **options):
    """Runs the program to its end; its exit code must be `code`."""
    done = subprocess.run([BIN, *map(str, args)], env=environment(**(env or {})), text=True,
                          capture_output=True, timeout=PATIENCE, **options)
    assert done.returncode == code, (
        f"{' '.join(map(str, args))}\nexit code {done.returncode}, expected {code}\n"
        f"stdout: {done.stdout}\nstderr: {done.stderr}")
    return done


def commands(*path, program=BIN):
    """group -> names of its commands, as `--help` shows them: the first words of the lines below a heading."""
    text = subprocess.run([program, *path, "--help"], env=environment(), text=True, capture_output=True,
                          check=True, timeout=PATIENCE).stdout
    groups = re.findall(r"^(\w+):\n((?:  .*\n|\n(?=  ))+)", text, re.MULTILINE)
    return {group: re.findall(r"^  ([a-z]+)\b", lines, re.MULTILINE) for group, lines in groups
            if group.lower() not in ("options", "positionals", "examples")}


def onto_a_full_disk(*args):
    """The program must say that its output did not arrive."""
    with open("/dev/full", "w") as full:
        done = subprocess.run([BIN, *map(str, args)], stdout=full, stderr=subprocess.PIPE, text=True,
                              env=environment(), timeout=PATIENCE)
    assert done.returncode == 1, done.stderr
    assert "stdout: writing failed" in done.stderr and "No space left" in done.stderr


def closed(args, streams, **options):
    """The program without these streams."""
    return subprocess.run(["sh", "-c", f'exec "$@" {streams}', "sh", BIN, *map(str, args)],
                          env=environment(), timeout=PATIENCE, **options)


def start(*args, env=None, **options):
    return subprocess.Popen([BIN, *map(str, args)], env=environment(**(env or {})), text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def finish(process):
    """stdout and stderr of a started program that is about to end."""
    try:
        return process.communicate(timeout=PATIENCE)
    finally:
        process.kill()


def wait_until(condition, process):
    """False when the process ended first."""
    until = time.monotonic() + PATIENCE
    while not condition():
        if process.poll() is not None:
            return False
        assert time.monotonic() < until, "nothing happened"
        time.sleep(0.002)
    return True


@cache
def stopper():
    """stop_at.c, compiled."""
    folder = tempfile.mkdtemp(prefix="adagp-stop-at-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    compiler = os.environ.get("CC") or shutil.which("cc") or "gcc"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", f"{folder}/stop_at.so",
                    Path(__file__).with_name("stop_at.c"), "-ldl"], check=True, timeout=PATIENCE)
    return f"{folder}/stop_at.so"


CHECKPOINT = "*/checkpoint/step-*.safetensors"


def stopping(file=None, how=signal.SIGTERM, **places):
    """Variables for a program that stop_at.c stops: by the signal `how` when it has written `file` (a
    pattern), or at KILL_BEFORE=3."""
    usual = {"STOP_BY": int(how), "STOP_TIMES": 1, "STOP_WHOM": "self", **({"STOP_FILE": file} if file else {})}
    sanitizer = f"{os.environ.get('ASAN_OPTIONS', '')}:verify_asan_link_order=0"
    return {"LD_PRELOAD": stopper(), "ASAN_OPTIONS": sanitizer,
            **{name: str(value) for name, value in {**usual, **places}.items()}}


def interrupt(folder, *args, at=1, how=signal.SIGTERM, times=1, whom="self"):
    """Trains until the checkpoint of batch `at` or a later one is there; at this place the signal
    comes, `times` in a row, to the process that saves or to its parent or sibling."""
    env = stopping(CHECKPOINT, how, STOP_AT=at, STOP_TIMES=times, STOP_WHOM=whom)
    done = subprocess.run([BIN, "train", *map(str, args), "-o", str(folder)], env=environment(**env),
                          text=True, capture_output=True, timeout=PATIENCE)
    assert newest_step(folder) >= at and done.returncode != 0, f"not stopped: {done}"
    return done.returncode, done.stdout, done.stderr


def start_and_stop(*args, at=1):
    """A program that stands still (SIGSTOP) since its checkpoint of batch `at` or a later one."""
    process = start(*args, env=stopping(CHECKPOINT, signal.SIGSTOP, STOP_AT=at))
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    assert process.poll() is None, finish(process)
    return process


def checkpoints(folder):
    """Oldest first."""
    return sorted(Path(folder).glob("checkpoint/step-*.safetensors"))


def newest_step(folder):
    """Of the newest checkpoint, 0 before the first. Quick: it is asked while a run computes."""
    try:
        names = os.listdir(f"{folder}/checkpoint")
    except FileNotFoundError:
        return 0
    return max((int(name[5:-12]) for name in names if name.endswith(".safetensors")), default=0)


def contents(folder):
    """Every file with its bytes and time of change."""
    return {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.rglob("*") if p.is_file()}


def assert_trains_nothing(folder, report, *command):
    """The same command on a finished folder prints its report (JSON) and touches no run."""
    def runs():
        return {path: seen for path, seen in contents(folder).items() if "-seed" in str(path)}
    before = runs()
    assert before
    again = adagp(*command, "-o", folder, "--json")
    assert json.loads(again.stdout) == json.loads((folder / report).read_text())
    assert runs() == before


def summary(folder):
    return json.loads((Path(folder) / "summary.json").read_text())


def records(folder):
    return [json.loads(line) for line in (Path(folder) / "metrics.jsonl").read_text().splitlines()]


def timeless(record):
    """Without what the clock decides."""
    return {key: value for key, value in record.items() if "seconds" not in key}


def assert_same_run(folder, reference):
    """Equal in every byte of the weights and in everything but times."""
    for name in ("weights.safetensors", "best.safetensors"):
        assert (Path(folder) / name).read_bytes() == (Path(reference) / name).read_bytes(), name
    assert timeless(summary(folder)) == timeless(summary(reference))
    ours, theirs = records(folder), records(reference)
    assert [(r["kind"], r["step"]) for r in ours] == [(r["kind"], r["step"]) for r in theirs]
    assert list(map(timeless, ours)) == list(map(timeless, theirs))
    assert not list(Path(folder).rglob("*.tmp"))


def as_json(*args):
    return json.loads(adagp(*args, "--json").stdout)
