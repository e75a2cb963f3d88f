"""adagp simulate: sweeps, tables, files and pictures."""

import csv
import io
import json
import xml.etree.ElementTree as ElementTree

import pytest
from simulator import run_json, simulate, topology


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


def test_each_network_has_its_front_and_the_plot_draws_it(tmp_path):
    sweep = ["--input", "cifar", "--array", "4..24:10x4..24:10", "--pareto", "pes,cycles"]
    both = run_json("--model", "resnet8,vgg13_bn", *sweep, "--plot", tmp_path / "both.svg")
    assert both == run_json("--model", "resnet8", *sweep) + run_json("--model", "vgg13_bn", *sweep)
    picture = ElementTree.parse(tmp_path / "both.svg").getroot()
    texts = [node.text or "" for node in picture.iter() if node.tag.endswith("text")]
    assert {"resnet8 cifar", "vgg13_bn cifar", "PEs", "total cycles"} <= set(texts)
    tips = [node.text for node in picture.iter() if node.tag.endswith("title")]
    points = sum(len(run["designs"]) for run in both)
    assert len([tip for tip in tips if tip.startswith(("resnet8 cifar: ", "vgg13_bn cifar: "))]) == points


def test_the_second_array_follows_the_array():
    one, four = run_json("--model", "resnet8", "--input", "cifar", "--array", "12x15,48x60",
                         "--designs", "max")
    assert (one["second_array"], four["second_array"]) == ("8x10", "32x40")
    fixed = run_json("--model", "resnet8", "--input", "cifar", "--array", "48x60", "--designs", "max",
                     "--set", "predictor.rows=8", "--set", "predictor.columns=10")
    assert fixed["second_array"] == "8x10"
    assert fixed["designs"]["max"]["total_cycles"] > four["designs"]["max"]["total_cycles"]


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
    bars = [e for e in root.iter() if "bar" in e.get("class", "").split()]
    assert len(bars) >= 4


def test_all_means_the_networks_that_take_the_input():
    runs = run_json("--model", "all", "--input", "imagenet", "--inference")
    names = {run["model"] for run in runs}
    assert {"resnet50", "densenet201", "mobilenet_v2", "inception_v4"} <= names
    assert not {"resnet8", "transformer"} & names
    assert "no network" in simulate("--model", "all", "--input", "mnist", code=2).stderr


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


def test_a_front_shows_its_axes_and_its_points():
    out = simulate("--model", "resnet8", "--input", "cifar", "--array", "8x8,64x64", "--designs", "max",
                   "--pareto", "cycles,energy").stdout
    title = next(line for line in out.splitlines() if "total cycles" in line)
    for column in ("array", "design", "PEs", "energy (J)"):
        assert column in title
    assert "64x64" in out and "batch 128" in out
