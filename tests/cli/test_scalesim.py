"""adagp scalesim: SCALE-Sim's own files in, its reports out."""

import importlib.util
import json
import sys

import pytest
from harness import BIN, ROOT, adagp

sys.path.insert(0, str(ROOT / "bench"))
import scalesim_compare as compare  # noqa: E402

CONV = ("Layer name, a, b, c, d, e, f, g,\n"
        "conv1, 18, 18, 3, 3, 8, 20, 1,\nDPconv2, 10, 10, 3, 3, 2, 1, 1,\nfc, 1, 1, 1, 1, 64, 10, 1,\n")
GEMM = "Layer, M, N, K,\nq, 30, 40, 20,\n"


@pytest.fixture
def files(tmp_path):
    compare.write_config(tmp_path / "run.cfg", rows=8, columns=8)
    (tmp_path / "net.csv").write_text(CONV)
    return tmp_path


def run(folder, *args, code=0):
    return adagp("scalesim", "-c", folder / "run.cfg", "-t", folder / "net.csv", "-p",
                 folder / "out", *args, code=code)


@pytest.mark.skipif(importlib.util.find_spec("scalesim") is None, reason="scalesim is not installed")
@pytest.mark.parametrize("dataflow", ["ws", "is", "os"])
@pytest.mark.parametrize("kind,topology", [("conv", CONV), ("gemm", GEMM)])
def test_reports_equal_the_package_on_the_same_files(files, dataflow, kind, topology):
    compare.write_config(files / "run.cfg", rows=7, columns=9, dataflow=dataflow)
    (files / "net.csv").write_text(topology)
    compare.run_scalesim(files / "run.cfg", files / "net.csv", kind, files / "theirs")
    compare.run_adagp(BIN, files / "run.cfg", files / "net.csv", kind, files / "ours")
    for name in ("COMPUTE_REPORT.csv", "BANDWIDTH_REPORT.csv", "DETAILED_ACCESS_REPORT.csv"):
        theirs = compare.read_report(files / "theirs/run" / name)
        ours = compare.read_report(files / "ours/run" / name)
        assert len(ours) == len(theirs) > 0
        for our, their in zip(ours, theirs):
            # SCALE-Sim averages percentages over folds, we divide once.
            assert our == pytest.approx(their, rel=1e-12)


@pytest.mark.skipif(importlib.util.find_spec("scalesim") is None, reason="scalesim is not installed")
@pytest.mark.parametrize("dataflow", ["ws", "is", "os"])
def test_given_bandwidths_stall_as_in_the_package(files, dataflow):
    compare.write_config(files / "run.cfg", rows=7, columns=9, dataflow=dataflow, ofmap_kb=1, mode="USER",
                         bandwidth=2, ifmap_bandwidth=5, filter_bandwidth=3)
    compare.run_scalesim(files / "run.cfg", files / "net.csv", "conv", files / "theirs")
    compare.run_adagp(BIN, files / "run.cfg", files / "net.csv", "conv", files / "ours")
    # Where drains overlap at the end SCALE-Sim contradicts itself, and these differ.
    end = {"Total Cycles (incl. prefetch)", "Avg OFMAP DRAM BW", "DRAM OFMAP Stop Cycle"}
    stalls = 0
    for name in ("COMPUTE_REPORT.csv", "BANDWIDTH_REPORT.csv", "DETAILED_ACCESS_REPORT.csv"):
        theirs = compare.read_report(files / "theirs/run" / name)
        ours = compare.read_report(files / "ours/run" / name)
        for our, their in zip(ours, theirs, strict=True):
            note = our.pop("Note")
            assert note.startswith(("equal to SCALE-Sim", "the last results wait"))
            skipped = set() if note.startswith("equal") else end
            assert {k: v for k, v in our.items() if k not in skipped} == pytest.approx(
                {k: v for k, v in their.items() if k not in skipped}, rel=1e-12)
            stalls += our.get("Stall Cycles", 0)
    assert stalls > 0 or dataflow == "os"  # whose results come last and slowly


def test_a_layer_that_does_not_fit_says_so_and_agrees_with_itself(files):
    compare.write_config(files / "run.cfg", rows=8, columns=8, ifmap_kb=2, filter_kb=1, ofmap_kb=1,
                         mode="USER", bandwidth=1, ifmap_bandwidth=1, filter_bandwidth=1)
    out = json.loads(run(files, "--json").stdout)["layers"][0]
    compute = compare.read_report(files / "out/run/COMPUTE_REPORT.csv")[0]
    wide = compare.read_report(files / "out/run/BANDWIDTH_REPORT.csv")[0]
    access = compare.read_report(files / "out/run/DETAILED_ACCESS_REPORT.csv")[0]
    assert compute["Note"].startswith("estimate: IFMAP and filter exceed") and out["note"] == compute["Note"]
    # 256 * 72 * 20 multiplications on 64 PEs in the whole time.
    assert compute["Overall Util %"] == pytest.approx(100 * 256 * 72 * 20 / 64 / compute["Total Cycles"])
    for name, words in (("IFMAP", "Reads"), ("Filter", "Reads"), ("OFMAP", "Writes")):
        cycles = access[f"DRAM {name} Stop Cycle"] - access[f"DRAM {name} Start Cycle"] + 1
        assert wide[f"Avg {name.upper()} DRAM BW"] == pytest.approx(access[f"DRAM {name} {words}"] / cycles)
        assert wide[f"Avg {name.upper()} DRAM BW"] <= 512 / 511  # a drain may begin a cycle early


def test_reports_are_named_after_the_run(files):
    out = run(files)
    assert sorted(p.name for p in (files / "out/run").iterdir()) == [
        "BANDWIDTH_REPORT.csv", "COMPUTE_REPORT.csv", "DETAILED_ACCESS_REPORT.csv"]
    rows = compare.read_report(files / "out/run/COMPUTE_REPORT.csv")
    # conv1: K = 72, N = 20, M = 256 on 8x8: 9 * 3 folds of 256 + 22 cycles, one less reported.
    assert rows[0]["Total Cycles"] == 27 * (256 + 2 * 8 + 8 - 2) - 1
    assert len(rows) == 4  # two channels of the depthwise layer
    assert "conv1" in out.stdout


def test_windows_lines_and_byte_order_mark(files):
    run(files)
    plain = (files / "out/run/COMPUTE_REPORT.csv").read_text()
    for name in ("run.cfg", "net.csv"):
        text = (files / name).read_bytes().replace(b"\n", b"\r\n")
        (files / name).write_bytes(b"\xef\xbb\xbf" + text)
    run(files)
    assert (files / "out/run/COMPUTE_REPORT.csv").read_text() == plain


@pytest.mark.parametrize("name,old,new,words", [
    ("run.cfg", "Dataflow : ws", "Dataflow : ww", ["run.cfg:", "Dataflow", "'ww'", "ws, is or os"]),
    ("run.cfg", "ArrayHeight : 8", "ArrayHeight : eight", ["run.cfg:", "ArrayHeight", "'eight'"]),
    ("run.cfg", "ArrayWidth : 8", "ArrayWidth : -8", ["run.cfg:", "ArrayWidth", "-8"]),
    ("run.cfg", "ArrayWidth : 8\n", "", ["run.cfg", "ArrayWidth"]),
    ("net.csv", "conv1, 18,", "conv1, x,", ["net.csv:2:8", "'x'"]),
    ("net.csv", "conv1, 18,", "conv1, 2,", ["net.csv:2", "larger"]),
    ("net.csv", "8, 20, 1,", "8, 20,", ["net.csv:2", "columns"]),
    ("net.csv", "fc,", "conv1,", ["net.csv:4", "conv1"]),
    ("net.csv", "8, 20, 1,", "8000000000000, 2000000000000, 1,", ["net.csv:2", "range"]),
    ("net.csv", CONV, "", ["net.csv", "no layers"]),
])
def test_bad_files_name_place_value_and_rule(files, name, old, new, words):
    text = (files / name).read_text()
    assert old in text
    (files / name).write_text(text.replace(old, new, 1))
    err = run(files, code=3).stderr
    for word in words:
        assert word in err, err
    assert not (files / "out").exists()


def test_unknown_kind_and_missing_files(files):
    assert "mnk" in run(files, "-i", "mnk", code=2).stderr
    assert "none.cfg" in adagp("scalesim", "-c", files / "none.cfg", code=3).stderr
    adagp("scalesim", "-t", files / "net.csv", code=2)


def test_a_layout_is_accepted_and_said_to_be_ignored(files):
    assert "not modelled" in run(files, "-l", "layout.csv").stderr


def test_json_has_the_numbers_of_the_reports(files):
    out = json.loads(run(files, "--json").stdout)
    rows = compare.read_report(files / "out/run/COMPUTE_REPORT.csv")
    access = compare.read_report(files / "out/run/DETAILED_ACCESS_REPORT.csv")
    assert [layer["name"] for layer in out["layers"]] == [
        "conv1", "DPconv2Channel_0", "DPconv2Channel_1", "fc"]
    for layer, row, words in zip(out["layers"], rows, access, strict=True):
        assert layer["total_cycles"] == row["Total Cycles"]
        assert layer["total_cycles_with_prefetch"] == row["Total Cycles (incl. prefetch)"]
        assert layer["utilisation"] == pytest.approx(row["Overall Util %"] / 100)
        assert layer["sram_ifmap_words"] == words["SRAM IFMAP Reads"]
        assert layer["dram_ofmap_words"] == words["DRAM OFMAP Writes"]
    assert out["total"]["total_cycles"] == sum(row["Total Cycles"] for row in rows)
