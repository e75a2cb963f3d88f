"""adagp layers --to: files for other simulators. test_zigzag.py has ZigZag's numbers for them."""

import csv
import importlib.util
import json
import re
import sys
from math import prod

import pytest
from harness import ROOT, adagp
from simulator import run_json

sys.path.insert(0, str(ROOT / "bench"))
import scalesim_compare as compare  # noqa: E402

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed (scripts/setup.sh --full)")

NET = ["--model", "resnet8", "--input", "cifar"]
BATCH = 3
PASSES = ["forward", "input_gradient", "weight_gradient"]


def write(folder, form, *args, net=NET, code=0):
    return adagp("layers", *net, "--to", form, folder, "--examples", BATCH, *args, code=code)


@pytest.fixture(scope="module")
def layers():
    """name -> row of the table."""
    return {row["name"]: row for row in json.loads(adagp("layers", *NET, "--json").stdout)["layers"]}


def test_bad_input_gets_one_line(tmp_path):
    for args, words in ((["pdf"], "unknown format 'pdf'"),
                        (["zigzag", "--accelerator", "eyeriss"], "dataflow 'rs'"),
                        (["timeloop", "--accelerator", "in-place"], "dataflow 'in-place'"),
                        (["scalesim", "--accelerator", "nothing"], "unknown accelerator 'nothing'")):
        error = write(tmp_path / "out", *args, code=2).stderr
        assert words in error and error.count("\n") == 1, error
    assert not (tmp_path / "out").exists()
    assert "--to" in adagp("layers", *NET, "--examples", "2", code=2).stderr


def test_files_of_a_larger_network_are_gone(tmp_path):
    one = tmp_path / "one.csv"
    one.write_text("model,input,name,op,in_c,in_h,in_w,out_c,out_h,out_w,kernel_h,kernel_w,stride_h,stride_w,"
                   "padding_h,padding_w,groups,macs,weights,bias,input_bytes,output_bytes\n"
                   "net,x,b,linear,9,1,1,7,1,1,1,1,1,1,0,0,1,63,63,0,36,28\n")
    for form in ("timeloop", "scalesim"):
        write(tmp_path / "used", form)
        (tmp_path / "used/mine.yaml").write_text("")
        write(tmp_path / "used", form, net=["--table", one])
        write(tmp_path / "fresh", form, net=["--table", one])
        assert {p.name for p in (tmp_path / "used").iterdir()} == {p.name for p in (tmp_path / "fresh").iterdir()} | {
            "mine.yaml"}


@pytest.mark.parametrize("flags", [["--json"], ["--coverage"], ["--zoo", "z"], ["-o", "o.txt"], ["--csv"]])
def test_flags_that_would_do_nothing_are_refused(tmp_path, flags):
    error = adagp("layers", *(NET if flags[0] != "--zoo" else []), "--to", "timeloop", "out", *flags, code=2,
                  cwd=tmp_path).stderr
    assert "--to" in error and error.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_table_and_the_model_give_the_same_files(tmp_path):
    adagp("layers", *NET, "--all", "--csv", "-o", tmp_path / "net.csv")
    write(tmp_path / "a", "timeloop")
    said = write(tmp_path / "b", "timeloop", net=["--table", tmp_path / "net.csv"]).stdout
    files = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert files == sorted(path.name for path in (tmp_path / "b").iterdir())
    assert f"{len(files)} files" in said
    for name in files:
        assert (tmp_path / "a" / name).read_text() == (tmp_path / "b" / name).read_text()


def test_the_examples_of_the_page_are_what_the_program_writes(tmp_path):
    page = (ROOT / "docs/exchange.md").read_text()
    sections = re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    shown = 0
    for form, text in sections:
        adagp("layers", *NET, "--examples", "32", "--to", form.replace("-", "").lower(), tmp_path)
        for name, block in re.findall(r"`FOLDER/([^`]+)`[^\n]*\n\n```\w+\n(.*?)```", text, re.DOTALL):
            assert block in (tmp_path / name).read_text(), name
            shown += 1
    assert shown == 6


# --- Timeloop: what its front end asks for (version 0.4), checked by a schema of ours

class Loader(yaml.SafeLoader):
    """Knows the tags of an architecture."""


for tag in ("!Container", "!Component"):
    Loader.add_constructor(tag, lambda loader, node: loader.construct_mapping(node, deep=True))


def load(path):
    return yaml.load(path.read_text(), Loader)


def check_problem(problem):
    """Shape and instance; returns the sizes of the dimensions."""
    assert problem.keys() == {"version", "shape", "instance"} and problem["version"] == 0.4
    shape, instance = problem["shape"], problem["instance"]
    assert shape.keys() == {"name", "dimensions", "coefficients", "data_spaces"}
    dimensions = shape["dimensions"]
    assert all(len(name) == 1 for name in dimensions)  # it joins them in permutations
    assert len(set(dimensions)) == len(dimensions)
    coefficients = {one["name"]: one["default"] for one in shape["coefficients"]}
    assert instance.keys() == {*dimensions, *coefficients}
    assert all(type(value) is int and value >= 1 for value in instance.values())
    used = set()
    for space in shape["data_spaces"]:
        assert {"name", "projection"} <= space.keys() <= {"name", "projection", "read_write"}
        for index in space["projection"]:
            for term in index:  # a dimension, or a dimension and its coefficient
                assert term[0] in dimensions and all(name in coefficients for name in term[1:]) and len(term) <= 2
                used.add(term[0])
    assert used == set(dimensions)
    assert {space["name"] for space in shape["data_spaces"]} == {"Inputs", "Weights", "Outputs"}
    written = [space["name"] for space in shape["data_spaces"] if space.get("read_write")]
    assert written == [{"forward": "Outputs", "input_gradient": "Inputs", "weight_gradient": "Weights"}[shape["name"]]]
    return {name: instance[name] for name in dimensions}


def check_constraints(constraints, dimensions, spaces, names):
    assert constraints.keys() == {"version", "targets"} and constraints["version"] == 0.4
    for target in constraints["targets"]:
        assert target["target"] in names
        if target["type"] == "dataspace":
            assert {*target["keep"], *target.get("bypass", [])} <= set(spaces)
        else:
            assert sorted(target["permutation"]) == sorted(dimensions)
            assert all(re.fullmatch(r"[A-Z]=1", factor) and factor[0] in dimensions for factor in target["factors"])


def extents(space, instance):
    """Of a tensor's indices, as the front end sees them: the span of each sum."""
    return [1 + sum((instance[term[0]] - 1) * prod(instance[name] for name in term[1:]) for term in index)
            for index in space["projection"]]


@pytest.mark.parametrize("dataflow", ["ws", "is", "os"])
def test_timeloop_files_follow_its_schema(tmp_path, layers, dataflow):
    machine = tmp_path / "machine.toml"
    machine.write_text(f'dataflow = "{dataflow}"\n[array]\nrows = 6\ncolumns = 9\n[buffer]\nbytes = 4096\n')
    write(tmp_path / "out", "timeloop", "--accelerator", machine)
    architecture = load(tmp_path / "out/architecture.yaml")["architecture"]
    assert architecture["version"] == 0.4
    nodes = {node["name"]: node for node in architecture["nodes"]}
    assert list(nodes) == ["system", "dram", "buffer", "pe", "pe_register", "mac"]
    assert nodes["pe"]["spatial"] == {"meshX": 9, "meshY": 6}
    assert nodes["buffer"]["attributes"] == {"datawidth": 16, "width": 16, "depth": 2048}
    for name in ("dram", "buffer", "pe_register", "mac"):
        assert {"class", "attributes"} <= nodes[name].keys()
    found = {}
    for path in sorted((tmp_path / "out").glob("[0-9]*.yaml")):
        both = load(path)
        assert both.keys() == {"problem", "constraints"}
        sizes = check_problem(both["problem"])
        spaces = {space["name"]: space for space in both["problem"]["shape"]["data_spaces"]}
        check_constraints(both["constraints"], sizes, spaces, nodes)
        layer, _, name = path.name.removesuffix(".yaml").partition(".")[2].rpartition(".")
        row = layers[layer]
        assert prod(sizes.values()) == row["macs"] * BATCH
        assert prod(extents(spaces["Weights"], both["problem"]["instance"])) == row["weights"]
        assert prod(extents(spaces["Outputs"], both["problem"]["instance"])) == prod(row["output"]) * BATCH
        found.setdefault(layer, []).append(name)
        kept = next(t for t in both["constraints"]["targets"] if t["target"] == "pe_register" and "keep" in t)
        operands = {"forward": ("Inputs", "Weights", "Outputs"), "input_gradient": ("Outputs", "Weights", "Inputs"),
                    "weight_gradient": ("Inputs", "Outputs", "Weights")}[name]
        assert kept["keep"] == [operands[{"is": 0, "ws": 1, "os": 2}[dataflow]]]
    first = next(iter(layers))
    assert found == {name: [p for p in PASSES if name != first or p != "input_gradient"] for name in layers}


# --- ZigZag

def test_zigzag_files_agree_with_each_other(tmp_path, layers):
    write(tmp_path / "out", "zigzag")
    workload = load(tmp_path / "out/workload.yaml")
    mapping = {one["name"]: one for one in load(tmp_path / "out/mapping.yaml")}
    accelerator = load(tmp_path / "out/accelerator.yaml")
    assert accelerator["operational_array"]["sizes"] == [12, 15]
    assert mapping.keys() == {"default", *(layer["name"] for layer in workload)}
    for layer in workload:
        sizes = dict(zip(layer["loop_dims"], layer["loop_sizes"], strict=True))
        assert prod(sizes.values()) == layers[layer["name"].rpartition(".")[0]]["macs"] * BATCH
        dims = {dim.lower() for dim in [*sizes, *layer["pr_loop_dims"]]}
        used = set(re.findall(r"\[(\w+)\]", layer["equation"]))
        related = {dim for line in layer["dimension_relations"] for dim in re.findall(r"[a-z]+", line)}
        assert used | related == dims
        one = mapping[layer["name"]]
        in_array = {}
        for side, length in (("D1", 12), ("D2", 15)):
            factors = [text.split(", ") for text in one["spatial_mapping"][side]]
            assert prod(int(size) for _, size in factors) <= length
            in_array.update({dim: int(size) for dim, size in factors})
        in_time = dict(map(tuple, one["temporal_ordering"]))
        for dim, size in sizes.items():
            assert in_time.get(dim, 1) == -(-size // in_array.get(dim, 1))


# --- SCALE-Sim

@pytest.mark.parametrize("dataflow", ["ws", "is", "os"])
def test_scalesim_on_our_files_takes_the_cycles_of_the_simulator(tmp_path, dataflow):
    machine = tmp_path / "machine.toml"
    machine.write_text(f'dataflow = "{dataflow}"\n[array]\nrows = 8\ncolumns = 8\n')
    write(tmp_path / "out", "scalesim", "--accelerator", machine)
    expected = run_json(*NET, "--accelerator", machine, "--batch", BATCH, "--products-only", "--per-layer")["layers"]
    for name in PASSES:
        done = adagp("scalesim", "-c", tmp_path / "out/scalesim.cfg", "-t", tmp_path / f"out/{name}.csv", "-p",
                     tmp_path / "reports", "--json")
        assert done.stdout
        with open(tmp_path / "reports/scalesim/COMPUTE_REPORT.csv", newline="") as file:
            rows = list(csv.DictReader(file, skipinitialspace=True))
        column = next(title for title in rows[0] if title and title.startswith("Total Cycles") and "(" not in title)
        cycles = sum(int(float(row[column])) + 1 for row in rows)  # it counts one less for each line
        assert cycles == sum(layer[f"{name}_cycles"] for layer in expected), name


@pytest.mark.skipif(importlib.util.find_spec("scalesim") is None, reason="scalesim is not installed")
def test_the_package_reads_our_files(tmp_path):
    (tmp_path / "net.csv").write_text(
        "model,input,name,op,in_c,in_h,in_w,out_c,out_h,out_w,kernel_h,kernel_w,stride_h,stride_w,padding_h,padding_w,"
        "groups,macs,weights,bias,input_bytes,output_bytes\n"
        "net,x,a,conv2d,4,6,6,5,6,6,3,3,1,1,1,1,1,6480,180,0,576,720\n"
        "net,x,b,linear,9,1,1,7,1,1,1,1,1,1,0,0,1,63,63,0,36,28\n")
    adagp("layers", "--table", tmp_path / "net.csv", "--to", "scalesim", tmp_path / "out")
    for name in PASSES:
        files = tmp_path / "out/scalesim.cfg", tmp_path / f"out/{name}.csv", "conv"
        compare.run_scalesim(*files, tmp_path / "theirs")
        adagp("scalesim", "-c", files[0], "-t", files[1], "-i", "conv", "-p", tmp_path / "ours")
        report = "scalesim/COMPUTE_REPORT.csv"
        ours, theirs = (compare.read_report(tmp_path / who / report) for who in ("ours", "theirs"))
        assert ours == [pytest.approx(row, rel=1e-12) for row in theirs]
