"""Do runs of compare() keep losses, rates, probes and cosines, and show one line of progress?"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import adagp
from adagp._impl import lab_run

pytestmark = pytest.mark.usefixtures("one_thread")


def network() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 4))


def compare(folder: Path, **options: Any) -> Any:
    generator = torch.Generator().manual_seed(0)
    data = TensorDataset(torch.randn(60, 3, 8, 8, generator=generator), torch.randint(0, 4, (60,), generator=generator))
    chosen: dict[str, Any] = {
        "epochs": 3,
        "seeds": 1,
        "methods": ["adagp"],
        "equal": "epochs",
        "schedule": "1ep bp, 1:1",
        "progress": False,
        **options,
    }
    return adagp.compare(
        network, DataLoader(data, batch_size=10), DataLoader(data, batch_size=60), folder=folder, **chosen
    )


@pytest.fixture
def trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Predictions are measured on every second BP batch."""
    monkeypatch.setattr(lab_run, "PROBE_EVERY", 2)
    return compare(tmp_path)


def test_probes_and_cosines_of_adagp_are_kept(trained: Any) -> None:
    run = next(r for r in trained.runs if r.summary.method == "adagp")
    probes = run.probes
    # BP batches 2, 4, 6, 8 and 10 of the run, counted from 0. From the second epoch on every other
    # batch is a GP batch, and the first one is.
    assert list(probes["step"]) == [3, 3, 5, 5, 8, 8, 12, 12, 16, 16]
    assert list(probes["layer"]) == ["0", "3"] * 5
    assert probes["cosine"].abs().max() <= 1 and probes["cosine"].notna().all()
    assert probes["q"].notna().any() and probes["mape"].isna().all()
    assert run.summary.cosine == pytest.approx(probes["cosine"].mean())
    epochs = run.history[run.history["kind"] == "epoch"]
    assert epochs["cosine"].iloc[-1] == run.summary.cosine
    assert trained.to_pandas().set_index("method")["cosine_mean"]["adagp"] == run.summary.cosine
    assert "cosine" in trained.details()


def test_other_methods_have_no_cosine(trained: Any) -> None:
    for run in trained.runs:
        if run.summary.method != "adagp":
            assert run.summary.cosine is None and len(run.probes) == 0


def test_train_records_have_loss_and_rate(trained: Any) -> None:
    run = next(r for r in trained.runs if r.summary.method == "bp")
    train = run.history[run.history["kind"] == "train"]
    epoch = run.history[run.history["kind"] == "epoch"]
    assert list(train["step"]) == [6, 12, 18] and list(train["epoch"]) == [0, 1, 2]
    assert list(train["loss"]) == pytest.approx(list(epoch["train_loss"]))
    assert (train["lr"] > 0).all() and not any(math.isnan(rate) for rate in train["lr"])
    skip = next(r for r in trained.runs if r.summary.method == "skip")
    share = skip.history.loc[skip.history["kind"] == "train", "gp_share"]
    assert share.iloc[0] == 0 and share.iloc[-1] == pytest.approx(skip.summary.gp_share)


def test_long_epochs_have_several_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adagp._impl.lab_records.LOG_EVERY", 4)
    result = compare(tmp_path, methods=[])
    steps = [r["step"] for r in result.runs[0].records if r["kind"] == "train"]
    assert steps == [4, 6, 8, 12, 16, 18]


def test_progress_in_a_log_is_two_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the runs take less than the time between two lines, which a busy machine may need."""
    monkeypatch.setattr("adagp._impl.progress._Log.between", float("inf"))
    compare(tmp_path, progress=True, methods=["skip"])
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("run 1 of 2, bp-3ep-b10-seed0; ")
    assert lines[1].startswith("2 runs done in ") and len(lines) == 2
    compare(tmp_path, progress=True, methods=["skip"])  # nothing is left to do
    assert capsys.readouterr().err.endswith("; 2 finished before, used again\n")


def test_progress_moves_inside_an_epoch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shares = []
    monkeypatch.setattr("adagp._impl.progress.Progress.moved", lambda self, share: shares.append(share))
    compare(tmp_path, methods=[])
    assert len(shares) == 18 and shares == sorted(shares) and 0 <= shares[0] < shares[5] < 1 / 3
