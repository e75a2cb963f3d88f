"""adagp paper --energy: a saving over buffer sizes and DRAM energies; the second array's columns."""

import csv
import io
import json
import xml.etree.ElementTree as ElementTree

import pytest
from harness import adagp
from simulator import run_json

# CACTI 7.0 at 45 nm for 16 bits: bytes, read, write.
SIZES = [(8192, 1.534, 1.97), (131072, 8.071, 6.516)]
RUN = ["--model", "vgg13", "--input", "cifar"]


def energy_csv(*args):
    return list(csv.DictReader(io.StringIO(adagp("paper", "--energy", *args, "--csv").stdout)))


@pytest.mark.parametrize("size,read,write", SIZES)
@pytest.mark.parametrize("value,column", [("memory", "memory_energy_ratio"), ("total", "energy_ratio")])
def test_a_point_is_the_simulation_of_that_machine(size, read, write, value, column):
    [row] = energy_csv(*RUN, "--buffer", size, "--dram", 16, "--value", value)
    leakage = {8192: 0.000256785, 131072: 0.00334055}[size]
    one = run_json(*RUN, "--designs", "max", "--products-only", "--set", f"buffer.bytes={size}",
                   "--set", f"energy.buffer_read_pj={read}", "--set", f"energy.buffer_write_pj={write}",
                   "--set", f"energy.buffer_leakage_mw={leakage}", "--set", "energy.dram_pj_per_bit=16")
    assert float(row["saved"]) == pytest.approx(1 - one["designs"]["max"][column], abs=1e-9)


def test_flags_of_paper_count_here_too():
    """A list of batch sizes gives the mean; products alone, unless the vector passes are asked for."""
    args = [*RUN, "--buffer", 8192, "--dram", 16, "--array", "8x8", "--epochs", 30]
    saved = lambda *more: float(energy_csv(*args, *more)[0]["saved"])
    alone = [saved("--batch", batch) for batch in (16, 64)]
    assert saved("--batch", "16,64") == pytest.approx(sum(alone) / 2) and alone[0] != alone[1]
    one = run_json(*RUN, "--designs", "max", "--set", "buffer.bytes=8192", "--set", "energy.buffer_read_pj=1.534",
                   "--set", "energy.buffer_write_pj=1.97", "--set", "energy.buffer_leakage_mw=0.000256785",
                   "--set", "energy.dram_pj_per_bit=16", "--array", "8x8", "--epochs", 30)
    assert saved("--vector-passes") == pytest.approx(1 - one["designs"]["max"]["memory_energy_ratio"], abs=1e-9)


def test_the_bound_is_the_saving_without_a_predictor():
    for row in energy_csv(*RUN, "--buffer", "4096,65536", "--dram", "4,64"):
        ratio = float(row["backward_over_forward"])
        share = json.loads(adagp("paper", "--energy", *RUN, "--buffer", 4096, "--dram", 4, "--json").stdout)["gp_share"]
        assert float(row["bound"]) == pytest.approx(share * ratio / (1 + ratio))
        assert float(row["saved"]) < float(row["bound"])


def test_the_text_says_where_the_claim_holds():
    args = ["--model", "vgg13_bn,resnet50", "--buffer", "2048..131072*4", "--dram", "8,64"]
    result = json.loads(adagp("paper", "--energy", *args, "--json").stdout)
    by_point = {(p["buffer_bytes"], p["dram_pj_per_bit"]): p["saved"] for p in result["points"]}
    assert len(by_point) == 4 * 2
    for place in result["holds_up_to"]:
        sizes = [size for (size, dram), saved in by_point.items()
                 if dram == place["dram_pj_per_bit"] and saved >= 0.34]
        assert place["buffer_bytes"] == (max(sizes) if sizes else None)
    # The mean of both runs, each of which is a run of its own.
    alone = [json.loads(adagp("paper", "--energy", "--model", m, *args[2:], "--json").stdout)["points"]
             for m in ("vgg13_bn", "resnet50")]
    for both, a, b in zip(result["points"], *alone):
        assert both["saved"] == pytest.approx((a["saved"] + b["saved"]) / 2)
    for run, points in zip(result["single_runs"], alone):
        assert run["most_saved"] == pytest.approx(max(p["saved"] for p in points))
    text = adagp("paper", "--energy", *args).stdout
    assert "vgg13_bn up to" in text and "f r / (1 + r)" in text


def test_a_claim_above_the_share_of_gp_batches_is_impossible():
    text = adagp("paper", "--energy", *RUN, "--buffer", 8192, "--dram", 8, "--target", 60).stdout
    assert "No machine saves 60.0 %" in text


def test_the_picture_has_a_line_for_each_dram_energy_and_the_claim(tmp_path):
    path = tmp_path / "e.svg"
    adagp("paper", "--energy", *RUN, "--buffer", "8192..131072*2", "--dram", "4,8,16", "--plot", path)
    root = ElementTree.parse(path).getroot()
    text = "".join(root.itertext())
    for name in ("DRAM 4 pJ/bit", "DRAM 16 pJ/bit", "claimed: 34.0 %"):
        assert name in text
    points = [len(e.get("points").split()) for e in root.iter() if e.tag.endswith("polyline")]
    assert points.count(5) == 3


@pytest.mark.parametrize("args,words", [
    (["--buffer", 256], ["256 bytes", "512 to 2097152"]),
    (["--dram", "x"], ["--dram", "'x'"]),
    (["--design", "baseline"], ["'baseline'", "max"]),
    (["--design", "low,max"], ["'low,max'", "max"]),
    (["--value", "all"], ["'all'", "memory or total"]),
    (["--target", 0], ["--target 0", "0 and 100"]),
    (["--accelerator", "rtl-180"], ["rtl"]),
    (["--model", "vgg31"], ["vgg31", "did you mean"]),
    (["--dram", "1..40", "--plot", "x.svg"], ["--plot", "40 lines"]),
    (["--buffer", "512..2097152", "--dram", 8], ["2096641 values"]),
    (["--csv", "--json"], ["--csv", "--json"]),
    (["--runs", "."], ["--energy shows no accuracies", "--runs"]),
])
def test_bad_input_is_a_usage_error(args, words):
    done = adagp("paper", "--energy", *args, code=2)
    for word in words:
        assert word in done.stderr
    assert done.stdout == ""


def test_columns_of_the_second_array():
    args = [*RUN, "--designs", "efficient,max"]
    rows = list(csv.DictReader(io.StringIO(adagp("simulate", *args, "--csv").stdout)))
    names = ["second_busy", "second_utilisation", "second_sram_words", "second_dram_words",
             "second_energy_j"]
    assert [rows[0][n] for n in names] == [""] * 5
    second = run_json(*args)["designs"]["max"]
    busy = second["second_array"]["busy_cycles"] / second["total_cycles"]
    assert float(rows[1]["second_busy"]) == pytest.approx(busy)
    # 8x10 PEs beside 12x15, and never more MACs than PEs have cycles.
    used = second["second_array"]["macs"] / (80 * second["total_cycles"])
    assert float(rows[1]["second_utilisation"]) == pytest.approx(used)
    assert 0 < used < busy < 1
    assert f"idle {100 * (1 - busy):.1f} %" in adagp("simulate", *args).stdout


def test_idle_shares_of_layers_add_up():
    result = run_json(*RUN, "--designs", "max", "--per-layer")
    idle = [layer["designs"]["max"]["bp_second_idle_share"] for layer in result["layers"]]
    products = [layer for layer in result["layers"] if layer["op"] in ("conv2d", "linear")]
    assert len([share for share in idle if share is not None]) == len(products)
    assert all(0 <= share <= 1 for share in idle if share is not None)
    table = adagp("simulate", *RUN, "--designs", "max", "--per-layer").stdout
    assert "second array idle, BP (%)" in table
