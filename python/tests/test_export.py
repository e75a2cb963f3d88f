"""Finished runs in Weights & Biases and MLflow, with the real packages and without a server."""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from limits import PATIENCE
from run_folders import write_run

from adagp.errors import DataError, UsageError
from adagp.export import figures_of


def test_names_are_those_of_the_programs_tensorboard_files() -> None:
    assert figures_of(
        {"kind": "train", "step": 1, "epoch": 0, "loss": 2.0, "predictor_loss": 1.0, "probes": [[1]], "top1": None}
    ) == {"train/loss": 2, "predictor/loss": 1}
    assert figures_of({"kind": "epoch", "step": 1, "epoch": 3, "test_top1": 2.0, "q": 0.5}) == {
        "test/top1": 2,
        "epoch/q": 0.5,
        "epoch/epoch": 3,
    }


def wandb_records(file: Path) -> Iterator[bytes]:
    """Records of W&B's offline file: LevelDB's log format after a header of seven bytes."""
    data, at, parts = file.read_bytes(), 7, b""
    while at + 7 <= len(data):
        if 32768 - at % 32768 < 7:  # no record begins in a block's last bytes
            at += 32768 - at % 32768
            continue
        _, length, kind = struct.unpack_from("<IHB", data, at)
        parts += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # a whole record, or the last part of one
            yield parts
            parts = b""


def test_wandb_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    from wandb.proto import wandb_internal_pb2

    monkeypatch.setenv("WANDB_SILENT", "true")
    run = write_run(tmp_path / "a")
    folder = Path(run.to_wandb(project="test", dir=tmp_path))
    logged: list[dict[str, float]] = []
    summary, config = {}, {}
    records: list[wandb_internal_pb2.Record] = []
    until = time.monotonic() + PATIENCE  # a process of W&B writes it, on a busy machine after finish
    while time.monotonic() < until and not any(record.HasField("exit") for record in records):
        records = [wandb_internal_pb2.Record.FromString(data) for data in wandb_records(next(folder.glob("*.wandb")))]
        time.sleep(0.1)
    for record in records:
        for item in record.summary.update:
            summary[item.key or item.nested_key[0]] = json.loads(item.value_json)
        for item in record.run.config.update:
            config[item.key or item.nested_key[0]] = json.loads(item.value_json)
        if record.HasField("history"):
            logged.append({item.key or item.nested_key[0]: json.loads(item.value_json) for item in record.history.item})
    assert [(row["_step"], row["test/top1"], row["train/loss"]) for row in logged] == [(10, 40.0, 2.0), (20, 50.0, 1.0)]
    assert summary["top1"] == 50 and summary["train_seconds"] == 2
    assert config["optim"] == {"lr": 0.1}
    with pytest.raises(UsageError, match="mode: got 'later'"):
        run.to_wandb(project="test", mode="later")


@pytest.mark.slow
def test_mlflow_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.chdir(tmp_path)  # artifacts go to ./mlruns
    run = write_run(tmp_path / "a")
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    first, second = run.to_mlflow(uri), run.to_mlflow(uri)
    assert first != second
    client = mlflow.MlflowClient(tracking_uri=uri)
    there = client.get_run(first)
    assert there.info.status == "FINISHED" and there.info.run_name == "a"
    assert there.data.params["optim.lr"] == "0.1" and there.data.params["origin"] == "python"
    assert there.data.metrics["summary/top1"] == 50
    history = client.get_metric_history(first, "test/top1")
    assert [(m.step, m.value) for m in history] == [(10, 40.0), (20, 50.0)]
    names = {artifact.path for artifact in client.list_artifacts(first)}
    assert names == {"config.toml", "summary.json"}


def test_an_unfinished_run_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a")
    (run.path / "summary.json").unlink()
    with pytest.raises(DataError, match="not finished"):
        run.to_wandb(project="test", dir=tmp_path)
    with pytest.raises(DataError, match="not finished"):
        run.to_mlflow(f"sqlite:///{tmp_path}/mlflow.db")
    assert {at.name for at in tmp_path.iterdir()} == {"a"}
