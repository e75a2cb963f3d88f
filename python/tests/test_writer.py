"""Run folders written from Python: whole, locked, resumable, readable for the program."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from limits import PATIENCE
from run_folders import SUMMARY, TINY, call, full_program, write_run

from adagp.errors import DataError, UsageError
from adagp.run import Run
from adagp.writer import RunWriter, make_summary

CONFIG: dict[str, Any] = {
    "method": "bp",
    "seed": 0,
    "optim": {"lr": 0.1},
    "sides": [8, 16],
    "note": 'quote " \\ é\n\x7f',
    "absent": None,
    "tuple": (1.5, 1e-7),
}


def test_the_configuration_comes_back(tmp_path: Path) -> None:
    RunWriter(tmp_path / "a", CONFIG).close()
    expected = {**CONFIG, "origin": "python", "tuple": [1.5, 1e-7]}
    del expected["absent"]
    assert Run(tmp_path / "a").config == expected
    assert (tmp_path / "a/config.toml").read_text().startswith('origin = "python"\n')


def test_an_interrupted_run_goes_on_after_its_last_save(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    with RunWriter(tmp_path / "a", CONFIG) as writer:
        assert writer.resume() is None and writer.last_epoch is None
        writer.record("epoch", step=10, epoch=0, test_top1=1.0)
        writer.save({"epoch": 1, "weight": torch.ones(2)}, step=10)
        writer.record("train", step=15, epoch=1, loss=float("nan"))
    with open(tmp_path / "a/metrics.jsonl", "a") as file:
        file.write('{"kind": "tra')
    (tmp_path / "a/summary.json.3f0a91c2.tmp").write_text("{")
    assert [r["step"] for r in Run(tmp_path / "a").records] == [10, 15]
    assert Run(tmp_path / "a").records[1]["loss"] is None
    with RunWriter(tmp_path / "a", CONFIG) as writer:
        state = writer.resume()
        assert state is not None and state["epoch"] == 1 and state["weight"].sum() == 2
        assert writer.last_epoch == {"kind": "epoch", "step": 10, "epoch": 0, "test_top1": 1.0}
        assert [r["step"] for r in Run(tmp_path / "a").records] == [10]
        run = writer.finish(**SUMMARY)
    assert run.finished and run.summary.best == 50
    assert not list(tmp_path.glob("a/*.tmp")) and not list(tmp_path.glob("a/checkpoint/*"))
    with RunWriter(tmp_path / "a", CONFIG) as writer:
        assert writer.finished
        with pytest.raises(UsageError, match="the run is finished"):
            writer.record("train", step=1)


def test_a_run_without_a_save_begins_anew(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "a", CONFIG) as writer:
        writer.record("epoch", step=10, epoch=0)
    with RunWriter(tmp_path / "a", CONFIG) as writer:
        assert writer.resume() is None
    assert Run(tmp_path / "a").records == []


def test_another_configuration_is_refused_and_overwritten_on_demand(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a")
    (run.path / "mine.txt").write_text("kept")
    with pytest.raises(UsageError, match=r"another configuration \(optim.lr\)"):
        RunWriter(run.path, {"method": "bp", "seed": 0, "optim": {"lr": 0.2}})
    assert run.finished
    with RunWriter(run.path, {"method": "bp"}, overwrite=True) as writer:
        writer.record("epoch", step=1, epoch=0)
        assert not writer.finished
        writer.finish(**{**SUMMARY, "figures": {"top1": 99.0}})
    assert run.summary.score == 99 and (run.path / "mine.txt").exists()
    assert run.config == {"origin": "python", "method": "bp"}
    with pytest.raises(DataError, match="no config.toml"):
        (run.path / "config.toml").rename(run.path / "other.toml")
        (run.path / "summary.json").write_text("{}")
        RunWriter(run.path, {})


def program_run(folder: Path) -> dict[str, str]:
    """Files such as the program writes; the writer looks at their names alone."""
    files = {
        "config.toml": 'method = "bp"\n',
        "tb/events.1": "1",
        "trace/e000.safetensors": "2",
        "checkpoint/step-0000000010.safetensors": "3",
        "layers.csv": "4",
        "mine.txt": "5",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return files


def files_of(folder: Path) -> dict[str, str]:
    return {
        str(at.relative_to(folder)): at.read_text() for at in folder.rglob("*") if at.is_file() and at.name != ".lock"
    }


def test_a_replaced_run_of_the_program_leaves_nothing(tmp_path: Path) -> None:
    program_run(tmp_path)
    with RunWriter(tmp_path, CONFIG, overwrite=True) as writer:
        writer.record("epoch", step=1, epoch=0)
        writer.finish(**SUMMARY)
    assert files_of(tmp_path).keys() == {"config.toml", "mine.txt", "metrics.jsonl", "summary.json", "environment.json"}


@pytest.mark.parametrize("killed", [False, True])
def test_an_old_run_is_there_again_if_nothing_was_saved(tmp_path: Path, killed: bool) -> None:
    files = program_run(tmp_path)
    writer = RunWriter(tmp_path, CONFIG, overwrite=True)
    writer.record("epoch", step=1, epoch=0)
    if killed:
        writer._lock.release()  # as the end of a process does; the next writer ends the rest
        with pytest.raises(UsageError, match="holds a run of the program"):
            RunWriter(tmp_path, CONFIG)
    else:
        writer.close()
    assert files_of(tmp_path) == files


def test_a_saved_run_has_replaced_the_old_one(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    program_run(tmp_path)
    writer = RunWriter(tmp_path, CONFIG, overwrite=True)
    writer.save({"epoch": 1}, step=10)
    writer._lock.release()
    with RunWriter(tmp_path, CONFIG) as again:
        assert again.resume() == {"epoch": 1}
    assert not (tmp_path / "trace").exists() and not (tmp_path / ".old-run").exists()


def test_a_process_killed_after_its_first_save_has_replaced_the_old_run(tmp_path: Path) -> None:
    """Before it removed the old run: what a kill between the two leaves."""
    pytest.importorskip("torch")
    with RunWriter(tmp_path, CONFIG) as writer:
        writer.save({"epoch": 1}, step=10)
    program_run(tmp_path / ".old-run")
    with RunWriter(tmp_path, CONFIG) as again:
        assert again.resume() == {"epoch": 1}
    assert not (tmp_path / ".old-run").exists()


def test_a_damaged_checkpoint_is_named(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    with RunWriter(tmp_path / "a", CONFIG) as writer:
        writer.save({"epoch": 1}, step=10)
        file = tmp_path / "a/checkpoint/python.pt"
        for damaged in (file.read_bytes()[:100], b""):
            file.write_bytes(damaged)
            with pytest.raises(DataError, match=r"python\.pt: cannot be read.*delete it"):
                writer.resume()


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"loss": float("nan")}, "loss: nan"),
        ({"figures": {"top5": 1.0}}, "'top1' is not among the figures"),
        ({"figures": {"top1": float("inf")}}, "top1: inf"),
        ({"seed": "zero"}, "seed: got 'zero', a str"),
        ({"figures": None}, "figures: got None"),
        ({"best_loss": 1}, "no field 'best_loss'"),
        ({"score": 1}, "score: got 1"),
    ],
)
def test_bad_summaries_are_refused(tmp_path: Path, changes: dict[str, Any], what: str) -> None:
    with RunWriter(tmp_path / "a", CONFIG) as writer:
        with pytest.raises(UsageError, match=what):
            writer.finish(**{**SUMMARY, **changes})
    assert not (tmp_path / "a/summary.json").exists()


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a summary needs method, model"):
        make_summary()
    with pytest.raises(UsageError, match="config: optim.lr is a object"):
        RunWriter(tmp_path / "a", {"optim": {"lr": object()}})
    assert not (tmp_path / "a").exists()
    with RunWriter(tmp_path / "a", CONFIG) as writer:
        with pytest.raises(UsageError, match="'train' record cannot be written"):
            writer.record("train", step=1, loss=object())


def test_a_second_writer_is_refused_and_a_killed_one_leaves_no_lock(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "a", CONFIG):
        with pytest.raises(UsageError, match="another process is working in it"):
            RunWriter(tmp_path / "a", CONFIG)
    # The killed process leaves a child, as a DataLoader's worker would be.
    code = (
        "import os, sys, time\nfrom adagp.writer import RunWriter\n"
        "w = RunWriter(sys.argv[1], {'method': 'bp'})\n"
        "pid = os.fork()\n"
        "if pid: print(pid, flush=True)\n"
        f"time.sleep({PATIENCE})\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, tmp_path / "b"], text=True, stdout=subprocess.PIPE)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    try:
        with pytest.raises(UsageError, match="another process"):
            RunWriter(tmp_path / "b", {"method": "bp"})
        process.kill()
        process.wait()
        deadline = time.monotonic() + PATIENCE  # until the child has closed its copy
        while True:
            try:
                RunWriter(tmp_path / "b", {"method": "bp"}).close()
                break
            except UsageError:
                assert time.monotonic() < deadline, "the child keeps the lock"
                time.sleep(0.05)
    finally:
        process.kill()
        os.kill(child, signal.SIGKILL)


def test_the_program_and_the_package_respect_each_other(tmp_path: Path) -> None:
    program = full_program()
    with RunWriter(tmp_path / "a", CONFIG):
        busy = call(program, "train", *TINY, "--epochs", "1", "-o", tmp_path / "a")
    assert busy.returncode == 2 and "another process is working in it" in busy.stderr
    run = write_run(tmp_path / "b")
    before = {file.name: file.read_bytes() for file in run.path.iterdir() if file.is_file()}
    refused = call(program, "train", *TINY, "--epochs", "1", "-o", run.path)
    lines = [line for line in refused.stderr.splitlines() if line.strip()]
    assert refused.returncode in (2, 3) and len(lines) == 1 and "config.toml" in lines[0]
    assert {file.name: file.read_bytes() for file in run.path.iterdir() if file.is_file()} == before
    done = call(program, "train", *TINY, "--epochs", "1", "-o", tmp_path / "c")
    assert done.returncode == 0, done.stderr
    with pytest.raises(UsageError, match="holds a run of the program"):
        RunWriter(tmp_path / "c", CONFIG)


def test_the_program_reads_a_summary_of_ours(tmp_path: Path) -> None:
    """equal-time takes its seconds from another run's summary.json."""
    program = full_program()
    write_run(tmp_path / "ours", train_seconds=0.2, batch=20, model="resnet8", data="synthetic", method="adagp")
    done = call(
        program,
        "train",
        *TINY,
        "--epochs",
        "2",
        "--method",
        "equal-time",
        "--set",
        f"equal_time.reference={tmp_path / 'ours'}",
        "-o",
        tmp_path / "a",
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "a/summary.json").read_text())["method"] == "equal-time"
