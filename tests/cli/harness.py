"""Starts the program as a user would, on runs of a second or two."""

import json
import os
import resource
import signal
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = os.environ.get("ADAGP_BIN", str(ROOT / "build/bin/adagp"))


def slowness(clock):
    """How many times longer than on a usual desktop machine a fixed piece of work takes here; at least
    1. By time.process_time other programs do not count, by time.perf_counter they do."""
    began = clock()
    words = {}
    for i in range(60_000):
        words[str(i * 7919 % 65_536)] = i
    usual = 0.025
    return max(1, (clock() - began) / usual, float(os.environ.get("ADAGP_TEST_SLOW", 1)))


SLOWNESS = slowness(time.perf_counter)
# Seconds before a hanging program is an error. Nothing that works takes so long.
PATIENCE = 600 * SLOWNESS


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


def processor_seconds(*command):
    """What a command and its children compute, in seconds of a usual machine: a promise about speed,
    whatever else runs beside it. Returns what it printed, too."""
    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime
    before = used()
    done = subprocess.run(list(map(str, command)), env=environment(), text=True, capture_output=True,
                          timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return (used() - before) / slowness(time.process_time), done


def start(*args, **options):
    return subprocess.Popen([BIN, *map(str, args)], env=environment(), text=True,
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


def interrupt(folder, *args, at=1, how=signal.SIGTERM, times=1):
    """Trains until a checkpoint of batch `at` or later is there, then sends a signal; `times` in a row."""
    process = start("train", *args, "-o", folder)
    reached = wait_until(lambda: newest_step(folder) >= at, process)
    assert reached, f"ended before batch {at}: {finish(process)}"
    process.send_signal(how)
    for _ in range(times - 1):
        time.sleep(0.02)
        process.send_signal(how)
    out, err = finish(process)
    return process.returncode, out, err


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
    # Whether a process was stopped for a while is the machine's affair.
    ours, theirs = ([r for r in records(run) if r["kind"] != "stopped"] for run in (folder, reference))
    assert [(r["kind"], r["step"]) for r in ours] == [(r["kind"], r["step"]) for r in theirs]
    assert list(map(timeless, ours)) == list(map(timeless, theirs))
    assert not list(Path(folder).rglob("*.tmp"))


def as_json(*args):
    return json.loads(adagp(*args, "--json").stdout)
