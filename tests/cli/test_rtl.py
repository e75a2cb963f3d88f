"""adagp rtl: program files, the accelerator rtl-180, and what they refuse. make test WHAT=rtl runs the RTL."""

import json
import re

import pytest

from harness import adagp
from simulator import run_json

DESIGNS = ("baseline", "low", "efficient", "max")


def cycles(text):
    """(BP, GP) of what `rtl program` prints."""
    found = re.search(r"a BP batch takes ([\d ]+) cycles(?:, a GP batch ([\d ]+))?", text)
    return tuple(int(part.replace(" ", "")) for part in found.groups() if part)


@pytest.mark.parametrize("design", DESIGNS)
def test_the_accelerator_has_the_cycles_of_the_program(design, tmp_path):
    length = ("--epochs", "2", "--examples", "10", "--schedule", "1ep bp, 1:1")
    out = adagp("rtl", "program", "--model", "vgg8s", "--design", design, *length, "-o", tmp_path / "p.hex")
    run = run_json("--model", "vgg8s", "--input", "cifar", "--batch", "1", "--accelerator", "rtl-180",
                   "--designs", design, *length)
    found = run["designs"][design]
    printed = cycles(out.stdout)
    assert out.stdout.splitlines()[1].endswith(f": {found['total_cycles']:,} cycles".replace(",", " "))
    if design == "baseline":
        assert found["total_cycles"] == 20 * printed[0]
    else:
        assert found["total_cycles"] == 15 * printed[0] + 5 * printed[1]


def test_layers_stand_beside_the_formulas():
    text = adagp("rtl", "layers", "--model", "vgg8s").stdout
    assert "features.22" in text and "formula" in text


def test_json_has_the_numbers_of_the_text(tmp_path):
    network = ("--model", "vgg8s", "--design", "low")
    made = json.loads(adagp("rtl", "program", *network, "--json", "-o", tmp_path / "p.hex").stdout)
    text = adagp("rtl", "program", *network, "-o", tmp_path / "p.hex").stdout
    assert (made["bp_cycles"], made["gp_cycles"]) == cycles(text)
    # Two batches of warm-up, then one of each phase.
    assert (made["batches"], made["schedule"]) == (4, "1ep bp, 1:1")
    assert made["run_cycles"] == 3 * made["bp_cycles"] + made["gp_cycles"]
    lines = (tmp_path / "p.hex").read_text().splitlines()
    assert made["descriptors"] == sum(len(line) == 64 for line in lines)
    layers = json.loads(adagp("rtl", "layers", *network, "--json").stdout)["layers"]
    assert sum(layer["forward"] + layer["backward"] for layer in layers) == made["bp_cycles"]


@pytest.mark.parametrize("design, schedule, warned", [
    ("max", "1:1", True), ("max", "1ep bp, 1:1", False), ("baseline", "1:1", False)])
def test_a_run_that_begins_with_gp_is_warned_of(design, schedule, warned, tmp_path):
    done = adagp("rtl", "program", "--model", "vgg8s", "--design", design, "--schedule", schedule, "-o",
                 tmp_path / "p.hex")
    assert ("begins with a GP batch" in done.stderr) == warned
    assert len(done.stderr.splitlines()) == warned


@pytest.mark.parametrize("args, code, words", [
    (["program", "--model", "vgg8s", "--design", "medium"], 2, ["medium", "efficient"]),
    (["program", "--model", "vgg8s", "--array", "0x15"], 2, ["0"]),
    (["program", "--model", "vgg8s", "--array", "300x15"], 2, ["300", "255"]),
    (["program", "--model", "vgg8s", "--batch", "1,2"], 2, ["one network"]),
    (["program", "--model", "vgg8s", "--batch", "64", "--design", "low"], 2, ["smaller batch"]),
    (["program", "--model", "vgg13_bn", "--design", "max"], 2, ["program memory", "rtl.descriptor_bits"]),
    (["program", "--model", "vgg8s", "--schedule", "0:0"], 2, ["0:0", "no batches"]),
    (["program", "--model", "vgg8s", "--schedule", "256:1"], 2, ["256:1", "255"]),
    (["program", "--model", "vgg8s", "--schedule", "70000ep bp, 1:1"], 2, ["70000", "65535"]),
    (["program", "--model", "vgg8s", "--schedule", "1ep 1:1, " * 16 + "bp"], 2, ["17 stretches", "16"]),
    (["program", "--model", "vgg8s", "--epochs", "0"], 2, ["--epochs"]),
    (["program", "--model", "vgg8s", "--epochs", "65536", "--examples", "65536"], 2, ["65536", "4294967295"]),
    (["program"], 2, ["--model"]),
    (["program", "--model", "vgg8s", "--accelerator", "adagp-180"], 2, ["machine"]),
    (["program", "--model", "transformer", "--input", "multi30k"], 2, ["activations"]),
])
def test_what_cannot_be_is_refused(args, code, words, tmp_path):
    done = adagp("rtl", *args, "-o", tmp_path / "p.hex", code=code)
    for word in words:
        assert word in done.stderr
    assert not (tmp_path / "p.hex").exists()


def test_a_cut_off_or_changed_program_is_refused(tmp_path):
    file = tmp_path / "p.hex"
    adagp("rtl", "program", "--model", "vgg8s", "-o", file)
    lines = file.read_text().splitlines(keepends=True)
    (tmp_path / "cut.hex").write_text("".join(lines[:-5]))
    changed = next(i for i, line in enumerate(lines) if len(line) > 60)
    lines[changed] = ("1" if lines[changed][0] == "0" else "0") + lines[changed][1:]
    (tmp_path / "changed.hex").write_text("".join(lines))
    for name in ("cut.hex", "changed.hex"):
        done = adagp("rtl", "run", tmp_path / name, code=3)
        assert name in done.stderr
    done = adagp("rtl", "run", tmp_path / "missing.hex", code=3)
    assert "missing.hex" in done.stderr


def test_a_program_that_is_no_model_is_refused(tmp_path):
    file = tmp_path / "p.hex"
    adagp("rtl", "program", "--model", "vgg8s", "-o", file)
    done = adagp("rtl", "run", file, "--model", "/bin/echo", code=3)
    assert "no counters" in done.stderr
    adagp("rtl", "run", file, "--model", "/bin/false", code=1)
    done = adagp("rtl", "run", file, "--model", tmp_path / "nothing", code=2)
    assert "no executable file" in done.stderr


def test_nothing_of_the_present_folder_is_run_by_its_name(tmp_path):
    file = tmp_path / "p.hex"
    adagp("rtl", "program", "--model", "vgg8s", "-o", file)
    for name in ("rtl/tools/model.sh", "model"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"#!/bin/sh\n: > '{tmp_path}/was-run'\n")
        (tmp_path / name).chmod(0o755)
    # The script of the sources finds no bash: it is not to build a model here.
    adagp("rtl", "run", file, code=1, cwd=tmp_path, env={"PATH": str(tmp_path)})
    done = adagp("rtl", "run", file, "--model", "model", code=2, cwd=tmp_path, env={"PATH": str(tmp_path)})
    assert "./model" in done.stderr
    assert not (tmp_path / "was-run").exists()
    adagp("rtl", "run", file, "--model", "./model", code=3, cwd=tmp_path)
    assert (tmp_path / "was-run").exists()


def test_another_dataflow_is_refused():
    done = adagp("simulate", "--model", "vgg8s", "--input", "cifar", "--batch", "1", "--accelerator",
                 "rtl-180", "--dataflow", "os,in-place", code=2)
    assert "'in-place' alone" in done.stderr


@pytest.mark.parametrize("args", [["--per-layer"], ["--explain", "features.0"], ["--inference"]])
def test_simulate_says_where_the_layers_are(args):
    done = adagp("simulate", "--model", "vgg8s", "--input", "cifar", "--batch", "1", "--accelerator",
                 "rtl-180", *args, code=2)
    assert "adagp rtl layers" in done.stderr


def test_a_pipeline_of_it_is_refused():
    done = adagp("pipeline", "--model", "vgg8s", "--input", "cifar", "--accelerator", "rtl-180", "--batch",
                 "8", code=2)
    assert "rtl-180" in done.stderr
