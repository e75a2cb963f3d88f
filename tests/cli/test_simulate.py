"""adagp simulate: cycles against published counts and formulas written down here a second time."""

import csv
import json
import math

import pytest
from harness import ROOT, adagp
from simulator import run_json, simulate, topology, write_table


GOLDEN = ROOT / "tests/golden"


def products(run):
    """The layers that are matrix products; the others are vector passes."""
    return [layer for layer in run["layers"] if "m" in layer]


def golden(name):
    with open(GOLDEN / name, newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("array", ["12x15", "16x16", "32x32"])
@pytest.mark.parametrize("dataflow", ["ws", "is", "os"])
def test_topology_cycles_are_scalesims(tmp_path, array, dataflow):
    rows = [row for row in golden("scalesim.csv")
            if f"{row['array_h']}x{row['array_w']}" == array and row["dataflow"] == dataflow]
    assert len(rows) == 18
    file = topology(tmp_path / "net.csv", [
        [row[key] for key in ("layer", "ifmap_h", "ifmap_w", "filter_h", "filter_w", "channels",
                              "num_filters", "stride")] for row in rows])
    run = run_json("--topology", file, "--array", array, "--dataflow", dataflow, "--inference",
                   "--per-layer")
    pes = math.prod(map(int, array.split("x")))
    for row, layer in zip(rows, run["layers"], strict=True):
        assert layer["name"] == row["layer"]
        assert layer["cycles"] == int(row["demand_lines"])
        assert layer["sram_ifmap_words"] == int(row["sram_ifmap_reads"])
        assert layer["sram_filter_words"] == int(row["sram_filter_reads"])
        # SCALE-Sim divides by one cycle less.
        theirs = float(row["utilization"]) / 100 * int(row["compute_cycles"]) / layer["cycles"]
        assert layer["utilisation"] == pytest.approx(theirs, abs=1e-6)
        # Six digits of a percentage were printed: half a unit of the last, of all PEs.
        assert layer["active_pes"] == pytest.approx(float(row["mapping_efficiency"]) / 100 * pes,
                                                    abs=0.51e-8 * pes)
    assert run["total"]["cycles"] == sum(int(row["demand_lines"]) for row in rows)


def test_row_stationary_cycles_are_nn_dataflows(tmp_path):
    rows = golden("row_stationary.csv")
    for array in sorted({f"{row['array_h']}x{row['array_w']}" for row in rows}):
        for batch in sorted({row["batch"] for row in rows}):
            some = [row for row in rows if f"{row['array_h']}x{row['array_w']}" == array
                    and row["batch"] == batch]
            if not some:
                continue
            layers = []
            for i, row in enumerate(some):
                stride = int(row["stride"])
                layers.append([f"{row['layer']}_{i}",
                               (int(row["E"]) - 1) * stride + int(row["R"]),
                               (int(row["F"]) - 1) * stride + int(row["S"]),
                               row["R"], row["S"], row["C"], row["M"], stride])
            run = run_json("--topology", topology(tmp_path / "net.csv", layers), "--array", array,
                           "--dataflow", "rs", "--batch", batch, "--inference", "--per-layer")
            assert [layer["cycles"] for layer in run["layers"]] == [int(r["cycles"]) for r in some]


@pytest.mark.parametrize("dataflow,cycles", [("ws", 6_349_260), ("is", 6_620_640),
                                             ("os", 5_198_904)])
def test_resnet50_forward_pass_on_32x32(dataflow, cycles):
    run = run_json("--model", "resnet50", "--array", "32x32", "--dataflow", dataflow, "--inference",
                   "--per-layer")
    assert len(products(run)) == 54
    assert run["total"]["cycles"] == cycles


def weight_stationary(m, k, n, rows, columns):
    return math.ceil(k / rows) * math.ceil(n / columns) * (m + 2 * rows + columns - 2)


def test_a_training_run_is_the_sum_of_its_products(tmp_path):
    batch, rows, columns, size = 4, 6, 5, 8
    layers = [("a", 3, size, 10), ("b", 10, size, 7)]
    run = run_json("--table", write_table(tmp_path / "t.csv", layers), "--batch", batch, "--array",
                   f"{rows}x{columns}", "--dataflow", "ws", "--designs", "baseline,efficient",
                   "--epochs", 3, "--examples", 40, "--schedule", "1ep bp, 1:1", "--products-only")
    expected = 0
    for i, (_, c, _, filters) in enumerate(layers):
        m, k, n = batch * size * size, 9 * c, filters
        expected += weight_stationary(m, k, n, rows, columns)
        expected += weight_stationary(k, m, n, rows, columns)  # weight gradient
        if i > 0:  # nobody asks for the gradient of the images
            expected += weight_stationary(m, n, k, rows, columns)
    baseline = run["designs"]["baseline"]
    assert baseline["cycles"] == 3 * 10 * expected
    assert baseline["speedup"] == 1
    phases = run["designs"]["efficient"]["phases"]
    assert [phases[p]["batches"] for p in ("warm_up", "bp", "gp")] == [10, 10, 10]
    forward = sum(weight_stationary(batch * size * size, 9 * c, n, rows, columns)
                  for _, c, _, n in layers)
    assert phases["gp"]["cycles"] > 10 * forward  # the predictor is not free


def test_speedups_stay_below_the_papers_formula():
    """(1+r) / (1 + r(1-f)) with r = BW/FW and f the share of GP batches: alpha is not negative."""
    run = run_json("--model", "resnet50", "--input", "imagenet", "--array", "12x15", "--dataflow",
                   "ws", "--products-only")
    phases = run["designs"]["max"]["phases"]
    batches = {name: phase["batches"] for name, phase in phases.items()}
    share = batches["gp"] / sum(batches.values())
    assert share == pytest.approx(0.4763, abs=5e-4)
    r = run["backward_over_forward"]
    assert r == pytest.approx(2.04, abs=0.01)
    bound = (1 + r) / (1 + r * (1 - share))
    speedups = [run["designs"][d]["speedup"] for d in ("baseline", "low", "efficient", "max")]
    assert speedups == sorted(speedups)
    assert speedups[-1] < bound


def test_cifar100_differs_from_cifar10_in_the_classifier_alone():
    ten, hundred = (run_json("--model", "vgg13_bn", "--input", name, "--inference", "--per-layer")
                    for name in ("cifar", "cifar100"))
    different = [a["name"] for a, b in zip(ten["layers"], hundred["layers"], strict=True) if a != b]
    assert different == [products(ten)[-1]["name"]]
    assert (products(ten)[-1]["n"], products(hundred)[-1]["n"]) == (10, 100)


def test_a_topology_without_titles_loses_no_layer(tmp_path):
    path = tmp_path / "net.csv"
    path.write_text("a, 8, 8, 3, 3, 4, 8, 1,\nb, 6, 6, 3, 3, 8, 8, 1,\n")
    assert "net.csv:1: a layer where the line of titles belongs" in simulate(
        "--topology", path, code=3).stderr


def test_gradients_of_a_product_cost_what_the_product_costs(tmp_path):
    """64x64x64 written as a GEMM: its three products have equal sizes.

    Row-stationary fills the array with them unequally, by a factor of two at most; taken for a
    convolution with a filter of 1x64, the input gradient alone would be 64 times the product.
    """
    path = tmp_path / "net.csv"
    path.write_text("Layer, M, N, K,\na, 64, 64, 64,\nb, 64, 64, 64,\n")
    common = ("--topology", path, "--topology-kind", "gemm", "--dataflow", "rs", "--batch", 1)
    forward = run_json(*common, "--inference")["total"]["cycles"]
    training = run_json(*common, "--designs", "baseline", "--epochs", 1, "--examples", 1,
                        "--schedule", "bp")["designs"]["baseline"]["cycles"]
    # The first layer has no input gradient: five products instead of two.
    assert forward / 2 * 5 <= training <= forward / 2 * 10


def test_accelerator_settings_reach_the_simulation(tmp_path):
    base = ["--model", "resnet8", "--input", "cifar", "--inference"]
    free, bound = run_json(*base), run_json(*base, "--set", "dram.bytes_per_cycle=0.5")
    assert free["total"]["stall_cycles"] == 0
    assert bound["total"]["stall_cycles"] > 0
    assert free["total"]["cycles"] == bound["total"]["cycles"]
    file = tmp_path / "mine.toml"
    file.write_bytes(b"\xef\xbb\xbfname = \"mine\"\r\n[array]\r\nrows = 7\r\ncolumns = 9\r\n")
    assert run_json(*base, "--accelerator", file)["array"] == "7x9"


@pytest.mark.parametrize("given, flags, words", [
    ("imagenet", [], 1080 * 36 * 1024 // 16), ("imagenet", ["--set", "word_bytes=4"], 1080 * 36 * 1024 // 32),
    ("cifar", ["--set", "predictor.memory_bytes=1000000"], 500_000)])
def test_predictor_weights_beyond_the_memory_are_loaded_each_time(given, flags, words):
    model = ["--model", "vgg13", "--input", given, *flags]
    table = json.loads(adagp("layers", "--model", "vgg13", "--input", given, "--json").stdout)["layers"]
    width = {row["name"]: row["input"][0] * math.prod(row["kernel"]) for row in table
             if row["op"] in ("conv2d", "linear")}
    beyond = {name: max(0, 9 * 16 + 256 * columns - words) for name, columns in width.items()}
    assert any(beyond.values()) and not all(beyond.values())
    ceil = lambda count: -(-count // 15)
    for schedule, moved in (("bp", lambda w: ceil(w) + ceil(2 * w)), ("gp", ceil)):
        done = simulate(*model, "--epochs", 1, "--examples", 128, "--schedule", schedule, "--json")
        designs = json.loads(done.stdout)["designs"]
        assert designs["efficient"]["swap_cycles"] == sum(map(moved, beyond.values()))
        assert f"{9 * 16 + 256 * max(width.values())} weights, and {words} fit" in done.stderr
        free = simulate(*model, "--epochs", 1, "--examples", 128, "--schedule", schedule, "--set",
                        "predictor.memory_bytes=0", "--json")
        assert not free.stderr
        before = json.loads(free.stdout)["designs"]
        assert before["low"] == designs["low"] and before["baseline"] == designs["baseline"]
        assert before["max"]["total_cycles"] <= designs["max"]["total_cycles"]
        assert before["efficient"]["total_cycles"] == (designs["efficient"]["total_cycles"]
                                                       - designs["efficient"]["swap_cycles"])
        assert not simulate(*model, "--designs", "baseline,low").stderr
    widest = max(beyond, key=beyond.get)
    assert f"and {beyond[widest]} predictor weights loaded" in simulate(*model, "--explain", widest).stdout
    text = simulate(*model, "--machine", "camel").stdout
    assert "predictor.memory_bytes" in text
