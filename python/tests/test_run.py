"""adagp.Run reads what is there and names what is wrong."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import pytest
from run_folders import TINY, call, full_program, write_run

from adagp.errors import DataError, UsageError
from adagp.run import Run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return write_run(tmp_path / "a")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the program with probes."""
    folder = tmp_path_factory.mktemp("program") / "run"
    done = call(
        full_program(),
        "train",
        *TINY,
        "--method",
        "adagp",
        "--epochs",
        "3",
        "--set",
        "schedule=1ep bp, 1:1",
        "--set",
        "probe_every=2ba",
        "-o",
        folder,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_reads_summary_config_and_history(run: Run) -> None:
    assert run.finished and run.name == "a"
    assert run.summary.score == 50 and run.summary.conditions.test_examples == 40
    assert run.config["origin"] == "python" and run.config["optim"] == {"lr": 0.1}
    history = run.history
    assert list(history["kind"]) == ["train", "epoch"] * 2
    assert list(history["step"]) == [10, 10, 20, 20]
    assert list(history["test_top1"].dropna()) == [40, 50]
    assert math.isnan(history["loss"][1]) and history["loss"][2] == 1
    assert "<table>" in run._repr_html_() and "50.00" in run._repr_html_()


def test_a_running_run_is_read_again_as_it_grows(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a")
    (run.path / "summary.json").unlink()
    assert not run.finished and len(run.history) == 4
    with open(run.path / "metrics.jsonl", "a") as file:
        file.write('{"kind": "train", "step": 30, "epoch": 2, "loss": 0.5}\n{"kind": "tr')
    assert list(run.history["step"]) == [10, 10, 20, 20, 30]
    assert "30 steps" in run._repr_html_()
    with pytest.raises(DataError, match="not finished"):
        run.summary


def test_a_last_line_cut_inside_a_letter_is_tolerated(run: Run) -> None:
    with open(run.path / "metrics.jsonl", "ab") as file:
        file.write('{"kind": "é'.encode()[:-1])
    assert len(run.records) == 4


@pytest.mark.parametrize(
    "line",
    ['{"kind": "train", "st', '{"kind": "train", "loss": NaN}', "[1, 2]", '{"step": 3}', "1, 2", "[" * 100_000, ""],
)
def test_a_corrupt_line_in_the_middle_is_named(run: Run, line: str) -> None:
    file = run.path / "metrics.jsonl"
    lines = file.read_text().splitlines()
    file.write_text("\n".join([lines[0], line, *lines[1:]]) + "\n")
    if not line:
        assert len(run.records) == 4  # an empty line says nothing
        return
    with pytest.raises(DataError, match=r"metrics\.jsonl:2: not"):
        run.records


def test_figures_of_odd_types_do_no_harm(run: Run) -> None:
    with open(run.path / "metrics.jsonl", "a") as file:
        for value in ("1" + "0" * 400, str(2**63), '"x"', "null", "[1]", "true"):
            file.write(f'{{"kind": "train", "odd": {value}, "step": {value}, "probes": {value}}}\n')
    assert len(run.history) == 10 and len(run.probes) == 0


def test_bytes_that_are_no_text_are_named(run: Run) -> None:
    file = run.path / "metrics.jsonl"
    file.write_bytes(b"\xff\xfe\n" + file.read_bytes())
    with pytest.raises(DataError, match=r"metrics\.jsonl: not UTF-8 at byte 0"):
        run.records


@pytest.mark.parametrize("text", ["", "{", '{"method": "bp"}', "[]", "NaN", "\xff"])
def test_a_summary_that_is_none_is_named(run: Run, text: str) -> None:
    (run.path / "summary.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(DataError, match=r"summary\.json.*delete it and give the command"):
        run.summary


@pytest.mark.parametrize("value", ["NaN", "null", '"90"'])
def test_a_summary_whose_loss_is_no_number_is_refused(run: Run, value: str) -> None:
    file = run.path / "summary.json"
    file.write_text(file.read_text().replace('"loss": 1.5', f'"loss": {value}'))
    with pytest.raises(DataError, match=r"summary\.json"):
        run.summary


def test_folders_that_are_no_runs(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="absent: no such folder"):
        Run(tmp_path / "absent")
    with pytest.raises(DataError, match="not a run folder"):
        Run(tmp_path)
    write_run(tmp_path / "inner")
    with pytest.raises(DataError, match=r"holds several runs.*adagp\.runs"):
        Run(tmp_path)


def test_a_cut_configuration_and_a_pipe_are_named(run: Run) -> None:
    (run.path / "config.toml").write_text('method = "b')
    with pytest.raises(DataError, match=r"config\.toml: not TOML"):
        run.config
    (run.path / "metrics.jsonl").unlink()
    os.mkfifo(run.path / "metrics.jsonl")
    with pytest.raises(DataError, match="no regular file"):
        run.records


def test_plot_draws_the_pairs_that_exist(run: Run) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    line = run.plot("test_top1", x="seconds").lines[0]
    assert list(line.get_xdata()) == [1, 2] and list(line.get_ydata()) == [40, 50]
    with pytest.raises(UsageError, match="never in the same record"):
        run.plot("loss", x="seconds")
    with pytest.raises(UsageError, match="'bleu' is not in the history.*test_top1"):
        run.plot("bleu")


def test_what_the_program_wrote(trained: Path) -> None:
    run = Run(trained)
    said = json.loads((trained / "summary.json").read_text())
    assert json.loads(run.summary.to_json()) == said
    assert run.config["model"]["width_divisor"] == 4 and run.environment["threads"] == 1
    epochs = run.history[run.history["kind"] == "epoch"]
    assert list(epochs["epoch"]) == [0, 1, 2]
    assert epochs["test_top1"].iloc[-1] == said["top1"]
    probes = run.probes
    layers = [line.split(",")[2] for line in (trained / "layers.csv").read_text().split()[1:]]
    assert list(dict.fromkeys(probes["layer"])) == layers
    last = [r for r in run.records if "probes" in r][-1]
    mine = probes[probes["step"] == last["step"]].iloc[0]
    assert mine["cosine"] == pytest.approx(last["probes"][0][0], nan_ok=True)
    assert mine["bias"] == pytest.approx(last["probes"][0][7], nan_ok=True)


def test_weights_are_those_of_the_file(trained: Path) -> None:
    torch = pytest.importorskip("torch")
    theirs = pytest.importorskip("safetensors.torch").load_file(trained / "weights.safetensors")
    ours = Run(trained).weights()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[k], theirs[k]) and ours[k].dtype == theirs[k].dtype for k in ours)
    assert Run(trained).weights(best=True).keys() == theirs.keys()


def test_load_names_what_does_not_fit(run: Run) -> None:
    torch = pytest.importorskip("torch")
    from adagp.weights import write_weights

    def net(out: int, bias: bool = True) -> Any:
        return torch.nn.Sequential(torch.nn.Linear(3, out, bias=bias), torch.nn.Linear(out, 2))

    with pytest.raises(DataError, match=r"weights\.safetensors: no such file"):
        run.load(net(4))
    source = net(4)
    write_weights(run.path / "weights.safetensors", source.state_dict())
    target = net(4)
    run.load(target)
    assert all(torch.equal(a, b) for a, b in zip(source.parameters(), target.parameters()))
    with pytest.raises(DataError, match="0.weight is 4x3 in the file and 5x3 in the model"):
        run.load(net(5))
    with pytest.raises(DataError, match="not in the model: 0.bias"):
        run.load(net(4, bias=False))
    with pytest.raises(DataError, match="not in the file: 1.bias, 1.weight|not in the file: 1.w"):
        write_weights(run.path / "weights.safetensors", source[:1].state_dict())
        run.load(net(4))
    with pytest.raises(UsageError, match="got a str, expected a torch.nn.Module"):
        run.load("resnet18")


def test_damaged_weights_are_named(run: Run) -> None:
    torch = pytest.importorskip("torch")
    from adagp.weights import write_weights

    file = run.path / "weights.safetensors"
    write_weights(file, {"w": torch.randn(100)})
    good = file.read_bytes()
    for damaged in (good[:-7], good[:5], b"", good[:-1] + bytes([good[-1] ^ 1])):
        file.write_bytes(damaged)
        with pytest.raises(DataError, match=r"weights\.safetensors"):
            run.weights()


@pytest.mark.parametrize(
    "name", ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"]
)
def test_all_types_travel(tmp_path: Path, name: str) -> None:
    torch = pytest.importorskip("torch")
    from adagp.weights import read_weights, write_weights

    dtype = getattr(torch, name)
    tensors = {
        "a": torch.randn(4, 5).mul(3).to(dtype).T,
        "scalar": torch.ones((), dtype=dtype),
        "empty": torch.empty((0, 3), dtype=dtype),
    }
    write_weights(tmp_path / "w.safetensors", tensors)
    back = read_weights(tmp_path / "w.safetensors")
    assert all(torch.equal(back[k], tensors[k]) and back[k].dtype == dtype for k in tensors)
    back["a"].zero_()  # it may be written


def test_a_hundred_thousand_records(run: Run) -> None:
    record = {
        "kind": "train",
        "epoch": 3,
        "gp_share": 0.5,
        "loss": 0.7392384052276611,
        "lr": 0.06470588235294118,
        "predictor_loss": 1.1464334726333618,
        "seconds_per_batch": 0.0354220222,
        "top1": 55.5,
    }
    lines = [json.dumps({**record, "step": step}) for step in range(100_000)]
    (run.path / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    history = run.history
    assert len(history) == 100_000 and history["step"].iloc[-1] == 99_999
