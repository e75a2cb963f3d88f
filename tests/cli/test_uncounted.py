"""What a layer table could not count is told by everything made from it."""

import csv
import io
import json
import os
import zipfile

import pytest

from harness import BIN, adagp, environment
from simulator import TABLE_HEADER, run_json, simulate, write_table


@pytest.fixture
def table(tmp_path):
    """Two convolutions, and as many MACs again without a row."""
    file = write_table(tmp_path / "t.csv", [("a", 3, 8, 10), ("b", 10, 8, 7)])
    macs = sum(int(row["macs"]) for row in csv.DictReader(file.open()))
    lines = file.read_text().splitlines()
    empty = "," * 13
    file.write_text("\n".join(
        [f"{TABLE_HEADER},times,operator", *(f"{line},1," for line in lines[1:]),
         f"tiny,8x8,head/odd,uncounted{empty},{macs},,,,,2,torch.ops.my.odd",
         f"tiny,8x8,head/mul,uncounted{empty},0,,,,,5,torch.ops.aten.mul.Tensor"]) + "\n")
    return file


def test_simulate_says_which_share_is_missing(table):
    flags = ["--table", table, "--examples", 100, "--epochs", 2]
    text = simulate(*flags).stdout
    assert "50.0 % of the network's MACs are missing: head/odd" in text
    run = run_json(*flags)
    assert run["missing"]["share"] == 0.5 and run["missing"]["unknown_operations"] == 0
    assert [one["name"] for one in run["uncounted"]] == ["head/odd", "head/mul"]
    done = simulate(*flags, "--csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {row["missing_share"] for row in rows} == {"0.5"}
    assert "50.0 %" in done.stderr
    sweep = json.loads(simulate(*flags, "--array", "4x4,8x8", "--json").stdout)
    assert [run["missing"]["share"] for run in sweep] == [0.5, 0.5]
    assert "50.0 %" in simulate(*flags, "--array", "4x4,8x8").stdout
    assert "not simulated: torch.ops.my.odd" in simulate(*flags, "--per-layer", "--csv").stdout
    assert "50.0 %" in simulate(*flags, "--explain", "a").stderr


def test_unknown_macs_are_told_as_such(table):
    text = table.read_text()
    macs = text.split("head/odd,uncounted,,,,,,,,,,,,,,")[1].split(",")[0]
    table.write_text(text.replace(f",,,,{macs},,,,,2,", ",,,,,,,,,2,"))
    flags = ["--table", table, "--inference"]
    assert "an unknown share of the network's MACs" in simulate(*flags).stdout
    row = next(csv.DictReader(io.StringIO(simulate(*flags, "--csv").stdout)))
    assert row["missing_share"] == "0" and row["missing_unknown"] == "2"


def test_pipelines_say_it_too(table):
    flags = ["pipeline", "--table", table, "--examples", 100, "--stages", 2]
    assert "50.0 % of the network's MACs are missing" in adagp(*flags).stdout
    assert json.loads(adagp(*flags, "--json").stdout)["missing"]["share"] == 0.5
    row = next(csv.DictReader(io.StringIO(adagp(*flags, "--csv").stdout)))
    assert row["missing_share"] == "0.5"


def test_an_exported_network_is_simulated_directly(tmp_path):
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.one = torch.nn.Conv2d(3, 4, 3, padding=2, dilation=2)
            self.two = torch.nn.ConvTranspose2d(4, 2, 2, stride=2)

        def forward(self, x):
            return torch.fft.fft2(self.two(self.one(x))).real

    file = tmp_path / "net.pt2"
    torch.export.save(torch.export.export(Net(), (torch.zeros(2, 3, 8, 8),)), str(file))
    flags = ["--examples", 100, "--batch", 4, "--json"]
    direct = json.loads(simulate("--pt2", file, *flags).stdout)
    assert "a batch of 2" in direct.pop("batch_note")
    adagp("layers", "--pt2", file, "--all", "--csv", "-o", tmp_path / "net.csv")
    assert direct == json.loads(simulate("--table", tmp_path / "net.csv", *flags).stdout)
    assert direct["missing"]["unknown_operations"] == 1
    assert "fft_fft2" in direct["uncounted"][0]["name"]
    told = json.loads(simulate("--pt2", file, "--inference", "--per-layer", "--json").stdout)
    macs = {layer["name"]: layer["macs"] for layer in told["layers"]}
    assert macs["one"] == 64 * 3 * 4 * 9 and macs["two"] == 64 * 4 * 2 * 4
    assert "exported with a batch of 2" in adagp("layers", "--pt2", file, "--batch", 5, code=2).stderr
    text = adagp("layers", "--pt2", file).stdout
    assert "3x3 dilated 2x2" in text and "an unknown share" in text


def test_a_small_archive_does_not_take_all_memory(tmp_path):
    file = tmp_path / "bomb.pt2"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("models/model.json", '{"a": [' + "[[],[]]," * 20_000_000 + "1]}")
    assert file.stat().st_size < 2e6
    pid = os.spawnve(os.P_NOWAIT, BIN, [BIN, "layers", "--pt2", str(file), "-o",
                                        str(tmp_path / "out")], environment())
    _, status, usage = os.wait4(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 3
    assert usage.ru_maxrss < 1.5e6  # KiB; the whole of it would take 10 GB
