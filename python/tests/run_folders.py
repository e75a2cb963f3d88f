"""Run folders for tests: made by hand, by the package and by the program."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from limits import PATIENCE

from adagp.run import Run
from adagp.writer import RunWriter

ROOT = Path(__file__).resolve().parents[2]
SUMMARY: dict[str, Any] = {
    "method": "bp",
    "model": "mine",
    "data": "toy",
    "seed": 0,
    "epochs": 2,
    "batch": 8,
    "metric": "top1",
    "figures": {"top1": 50.0, "top5": 80.0},
    "loss": 1.5,
    "train_seconds": 2.0,
    "bp_batches": 20,
    "train_examples": 80,
    "test_examples": 40,
    "input": "8x8",
}
TINY = [
    "--data",
    "synthetic",
    "--threads",
    "1",
    "--model",
    "resnet8",
    "--batch",
    "20",
    "--set",
    "data.synthetic_size=8",
    "--set",
    "data.synthetic_train=200",
    "--set",
    "data.synthetic_test=50",
    "--set",
    "model.width_divisor=4",
]


def write_run(folder: Path, **changes: Any) -> Run:
    """A finished run of two epochs."""
    fields = {**SUMMARY, **changes}
    config = {"method": fields["method"], "seed": fields["seed"], "optim": {"lr": 0.1}}
    with RunWriter(folder, config) as writer:
        for epoch in range(2):
            step = 10 * (epoch + 1)
            writer.record("train", step=step, epoch=epoch, loss=2.0 - epoch, lr=0.1)
            writer.record(
                "epoch",
                step=step,
                epoch=epoch,
                test_loss=1.8 - epoch,
                test_top1=40.0 + 10 * epoch,
                train_seconds=1.0 + epoch,
            )
        return writer.finish(**fields)


def full_program() -> str:
    """A program that can train, or the test is skipped."""
    named = os.environ.get("ADAGP_PROGRAM", str(ROOT / "build/bin/adagp"))
    if not os.access(named, os.X_OK):
        pytest.skip("no full build of the program; name one with ADAGP_PROGRAM")
    if call(named, "train", "--help").returncode != 0:
        pytest.skip(f"{named} cannot train")
    return named


def call(*arguments: object) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ADAGP_")}
    for _ in range(5):
        try:
            return subprocess.run(
                [str(a) for a in arguments],
                capture_output=True,
                text=True,
                env={**environment, "OMP_NUM_THREADS": "1"},
                timeout=PATIENCE,
            )
        except OSError:  # the program is being linked just now
            time.sleep(5)
    raise AssertionError(f"{arguments[0]} cannot be started")
