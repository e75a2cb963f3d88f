"""adagp simulate: cycles against published counts and formulas written down here a second time."""

import csv
import io
import json
import math
import xml.etree.ElementTree as ElementTree

import pytest
from harness import ROOT, adagp

GOLDEN = ROOT / "tests/golden"


def simulate(*args, code=0):
    return adagp("simulate", *args, code=code)


def run_json(*args):
    return json.loads(simulate(*args, "--json").stdout)


def products(run):
    """The layers that are matrix products; the others are vector passes."""
    return [layer for layer in run["layers"] if "m" in layer]


def golden(name):
    with open(GOLDEN / name, newline="") as file:
        return list(csv.DictReader(file))


def topology(path, layers):
    """layers: name, ifmap h, w, filter h, w, channels, filters, stride"""
    lines = ["Layer name, IFMAP h, IFMAP w, Filter h, Filter w, Channels, Filters, Stride,"]
    path.write_text("\n".join(lines + [", ".join(map(str, layer)) + "," for layer in layers]) + "\n")
    return path


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


# ---------------------------------------------------------------- training, by hand


def weight_stationary(m, k, n, rows, columns):
    return math.ceil(k / rows) * math.ceil(n / columns) * (m + 2 * rows + columns - 2)


TABLE_HEADER = ("model,input,name,op,in_c,in_h,in_w,out_c,out_h,out_w,kernel_h,kernel_w,stride_h,"
                "stride_w,padding_h,padding_w,groups,macs,weights,bias,input_bytes,output_bytes")


def write_table(path, convolutions):
    """convolutions: name, in_c, size, out_c; 3x3, padding 1, stride 1."""
    lines = [TABLE_HEADER]
    for name, c, size, m in convolutions:
        weights = m * c * 9
        lines.append(f"tiny,{size}x{size},{name},conv2d,{c},{size},{size},{m},{size},{size},3,3,1,1,1,1,1,"
                     f"{weights * size * size},{weights},0,{4 * c * size * size},{4 * m * size * size}")
    path.write_text("\n".join(lines) + "\n")
    return path


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


# ---------------------------------------------------------------- sweeps and output


def test_lists_and_ranges_make_a_sweep():
    runs = run_json("--model", "resnet8,vgg8s", "--input", "cifar", "--array", "4..8:4x4,16",
                    "--dataflow", "ws,os", "--batch", "8..32*2", "--designs", "max")
    assert len(runs) == 2 * 3 * 2 * 3
    seen = {(r["model"], r["array"], r["dataflow"], r["batch"]) for r in runs}
    assert len(seen) == len(runs)
    assert {r["array"] for r in runs} == {"4x4", "8x4", "16x16"}
    assert {r["batch"] for r in runs} == {8, 16, 32}


def test_a_run_of_a_sweep_equals_the_run_alone():
    runs = run_json("--model", "resnet8", "--input", "cifar", "--array", "8x8,12x15")
    for one in runs:
        alone = run_json("--model", "resnet8", "--input", "cifar", "--array", one["array"])
        for design, values in one["designs"].items():
            assert alone["designs"][design].pop("phases") == values.pop("phases")
            for key, value in values.items():
                assert alone["designs"][design][key] == pytest.approx(value), key


def test_pareto_is_what_nothing_beats():
    sweep = ["--model", "resnet8", "--input", "cifar", "--array", "4..24:4x4..24:4", "--designs",
             "baseline,max"]
    points = [(d["total_cycles"], d["energy_j"], run["array"], name)
              for run in run_json(*sweep) for name, d in run["designs"].items()]
    best = [p for p in points if not any(q[0] <= p[0] and q[1] <= p[1] and q[:2] != p[:2]
                                         for q in points)]
    got = [(d["total_cycles"], d["energy_j"], run["array"], name)
           for run in run_json(*sweep, "--pareto", "cycles,energy")
           for name, d in run["designs"].items()]
    assert 0 < len(got) < len(points)
    assert {p[:2] for p in got} == {p[:2] for p in best}
    assert got == sorted(got)


def test_csv_has_the_numbers_of_the_json():
    flags = ["--model", "resnet8", "--input", "cifar", "--dataflow", "ws,rs"]
    rows = list(csv.DictReader(io.StringIO(simulate(*flags, "--csv").stdout)))
    runs = run_json(*flags)
    assert len(rows) == 8
    for row in rows:
        run = next(r for r in runs if r["dataflow"] == row["dataflow"])
        design = run["designs"][row["design"]]
        assert int(row["total_cycles"]) == design["total_cycles"]
        assert float(row["energy_j"]) == pytest.approx(design["energy_j"])
        parts = [float(v) for k, v in row.items() if k.startswith("energy_") and k.endswith("_j")
                 and k != "energy_j"]
        assert sum(parts) == pytest.approx(float(row["energy_j"]))


def test_tables_carry_units():
    out = simulate("--model", "resnet8", "--input", "cifar").stdout
    for title in ("cycles", "stall cycles", "time (s)", "energy (J)", "speed-up"):
        assert title in out
    out = simulate("--model", "resnet8", "--input", "cifar", "--per-layer").stdout
    assert "utilisation (%)" in out and "SRAM (words)" in out


def test_explain_shows_the_formula_with_its_numbers():
    out = simulate("--model", "resnet50", "--input", "imagenet", "--batch", 1, "--array", "32x32",
                   "--dataflow", "ws", "--explain", "layer1.0.conv2").stdout
    # M = 56*56, K = 9*64, N = 64 on 32x32: 18 * 2 folds of 3136 + 94 cycles.
    assert "3136" in out and "576" in out
    assert str(36 * (3136 + 2 * 32 + 32 - 2)) in out.replace(" ", "").replace(",", "")


@pytest.mark.parametrize("flags", [["--model", "vgg13_bn", "--input", "cifar"],
                                   ["--model", "vgg13_bn,resnet50", "--input", "cifar"],
                                   ["--model", "vgg13_bn", "--inference"]])
def test_plots_are_pictures(tmp_path, flags):
    simulate(*flags, "--plot", tmp_path / "a.svg")
    root = ElementTree.parse(tmp_path / "a.svg").getroot()
    bars = [e for e in root.iter() if e.get("class") == "bar"]
    assert len(bars) >= 4


def test_accelerator_settings_reach_the_simulation(tmp_path):
    base = ["--model", "resnet8", "--input", "cifar", "--inference"]
    free, bound = run_json(*base), run_json(*base, "--set", "dram.bytes_per_cycle=0.5")
    assert free["total"]["stall_cycles"] == 0
    assert bound["total"]["stall_cycles"] > 0
    assert free["total"]["cycles"] == bound["total"]["cycles"]
    file = tmp_path / "mine.toml"
    file.write_bytes(b"\xef\xbb\xbfname = \"mine\"\r\n[array]\r\nrows = 7\r\ncolumns = 9\r\n")
    assert run_json(*base, "--accelerator", file)["array"] == "7x9"


# ---------------------------------------------------------------- bad input


def refused(*args, code, words):
    err = simulate(*args, code=code).stderr
    for word in words:
        assert word in err, err


@pytest.mark.parametrize("args,words", [
    ([], ["--model", "--table", "--topology"]),
    (["--model", "resnet5"], ["did you mean 'resnet50'"]),
    (["--model", "resnet50", "--input", "cifar10"], ["imagenet", "cifar"]),
    (["--model", "resnet50", "--array", "0x4"], ["--array", "0x4"]),
    (["--model", "resnet50", "--array", "12by15"], ["--array", "12by15"]),
    (["--model", "resnet50", "--batch", "8..4"], ["--batch", "8..4"]),
    (["--model", "resnet50", "--batch", "-1"], ["--batch"]),
    (["--model", "resnet50", "--dataflow", "wss"], ["wss", "ws"]),
    (["--model", "resnet50", "--designs", "maxx"], ["did you mean 'max'"]),
    (["--model", "resnet50", "--epochs", "0"], ["--epochs"]),
    (["--model", "resnet50", "--accelerator", "eyeris"], ["did you mean 'eyeriss'"]),
    (["--model", "resnet50", "--set", "clock=1"], ["clock"]),
    (["--model", "resnet50", "--explain", "layer1.0.conv9"], ["layer1.0.conv"]),
    (["--model", "resnet50,vgg13_bn", "--per-layer"], ["--per-layer"]),
    (["--model", "resnet50", "--pareto", "cycles"], ["--pareto"]),
    (["--model", "resnet50", "--pareto", "cycles,enrgy"], ["did you mean 'energy'"]),
    (["--model", "resnet50", "--schedule", "4:x"], ["4:x"]),
])
def test_wrong_flags_are_usage_errors(args, words):
    refused(*args, code=2, words=words)


def test_an_input_without_a_known_size_needs_examples(tmp_path):
    table = write_table(tmp_path / "t.csv", [("a", 3, 8, 4)])
    refused("--table", table, code=2, words=["--examples"])
    simulate("--table", table, "--examples", 100)


@pytest.mark.parametrize("edit,words", [
    (lambda t: t.replace(",3,8,8,10,", ",0,8,8,10,"), ["in_c", "0"]),
    (lambda t: t.replace(",3,8,8,10,", ",-3,8,8,10,"), ["in_c", "-3"]),
    (lambda t: t.replace(",3,8,8,10,", ",three,8,8,10,"), ["in_c", "three"]),
    (lambda t: t.replace(",1,1,1,1,1,", ",1,1,1,1,2,", 1), ["groups"]),
    (lambda t: t.replace(",b,", ",a,"), ["a"]),
    (lambda t: t.replace(",in_w", ""), [":1"]),
    (lambda t: "", ["t.csv"]),
    (lambda t: t.splitlines()[0] + "\n", ["t.csv"]),
    (lambda t: t.replace(",3,8,8,10,", ",3037000500,3037000500,8,10,"), [":2"]),
    (lambda t: t.replace(",3,3,1,1,1,1,1,", ",30,30,1,1,1,1,1,", 1), [":2"]),
])
def test_bad_tables_are_data_errors_with_their_place(tmp_path, edit, words):
    path = write_table(tmp_path / "t.csv", [("a", 3, 8, 10), ("b", 10, 8, 7)])
    simulate("--table", path, "--examples", 10)
    path.write_text(edit(path.read_text()))
    refused("--table", path, "--examples", 10, code=3, words=["t.csv", *words])


def test_missing_files_are_named(tmp_path):
    refused("--table", tmp_path / "none.csv", code=3, words=["none.csv"])
    refused("--topology", tmp_path / "none.csv", code=3, words=["none.csv"])


def test_all_means_the_networks_that_take_the_input():
    runs = run_json("--model", "all", "--input", "imagenet", "--inference")
    names = {run["model"] for run in runs}
    assert {"resnet50", "densenet201", "mobilenet_v2", "inception_v4"} <= names
    assert not {"resnet8", "transformer"} & names
    assert "no network" in simulate("--model", "all", "--input", "mnist", code=2).stderr


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


# ---------------------------------------------------------------- names, lists and pictures


def test_names_that_are_no_utf8_are_refused_with_their_place(tmp_path):
    table = write_table(tmp_path / "t.csv", [("a", 3, 8, 10), ("b", 10, 8, 7)])
    table.write_bytes(table.read_bytes().replace(b",b,conv2d", b",Convoluci\xf3n,conv2d"))
    refused("--table", table, "--examples", 10, "--json", code=3,
            words=["t.csv:3: column 3 (name)", "byte 10", "UTF-8"])
    net = topology(tmp_path / "net.csv", [["conv", 8, 8, 3, 3, 4, 8, 1]])
    net.write_bytes(net.read_bytes().replace(b"conv,", b"co\xffnv,"))
    refused("--topology", net, "--inference", code=3, words=["net.csv:2:3:", "UTF-8"])


def test_odd_names_come_through_json_and_pictures(tmp_path):
    names = ['a<b>&"c"', "Schicht_\u00fc", "\u5c42"]
    net = topology(tmp_path / "net.csv", [[name, 8, 8, 3, 3, 4, 8, 1] for name in names])
    run = run_json("--topology", net, "--inference", "--per-layer", "--plot", tmp_path / "a.svg")
    assert [layer["name"] for layer in run["layers"]] == names
    texts = [e.text for e in ElementTree.parse(tmp_path / "a.svg").getroot().iter()]
    assert set(names) <= set(texts)
    # A file's name becomes the model's; it may be any bytes.
    other = net.rename(tmp_path / "n\udcffet.csv")
    json.loads(simulate("--topology", other, "--inference", "--json").stdout)


def test_large_ranges_are_refused_at_once():
    for flags in (["--batch", "1..1000000"], ["--array", "1..65536x1..65536"],
                  ["--array", "1..1000x1..1000", "--dataflow", "ws,os"]):
        refused("--model", "resnet50", *flags, code=2, words=["1000000"])


def test_a_front_shows_its_axes_and_its_points():
    out = simulate("--model", "resnet8", "--input", "cifar", "--array", "8x8,64x64", "--designs", "max",
                   "--pareto", "cycles,energy").stdout
    title = next(line for line in out.splitlines() if "total cycles" in line)
    for column in ("array", "design", "PEs", "energy (J)"):
        assert column in title
    assert "64x64" in out and "batch 128" in out


def test_explain_says_that_it_prints_text():
    for flag in (["--json"], ["--csv"], ["--per-layer"]):
        refused("--model", "resnet8", "--input", "cifar", "--explain", "conv1", *flag, code=2,
                words=["--explain", "--per-layer"])


def test_too_many_runs_for_a_picture(tmp_path):
    sweep = ["--model", "resnet8", "--input", "cifar", "--array", "1..15x1..15", "--plot",
             tmp_path / "a.svg"]
    refused(*sweep, code=2, words=["--plot", "200"])
    simulate(*sweep, "--pareto", "cycles,pes")
    assert (tmp_path / "a.svg").exists()


def test_too_many_epochs_are_named():
    refused("--model", "resnet8", "--input", "cifar", "--epochs", 2**63 - 1, code=2,
            words=["--epochs", "1 to 1000000"])
