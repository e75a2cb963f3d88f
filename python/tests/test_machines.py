"""simulate(machine=...): against the program, and what it does with bad arguments."""

import json
import struct
import subprocess

import pytest

import adagp
from adagp._impl.program import program
from adagp.errors import DataError, UsageError
from adagp.machine_sim import MachineSimulation

CASES = {
    "tensordash": ({"sparsity": {"x": 0.5, "dy": 0.25}}, ["--sparsity", "x=0.5,dy=0.25"]),
    "fast": ({"bits": {"w": 2, "a": 2, "g": 4}}, ["--bits", "w=2,a=2,g=4"]),
    "procrustes": ({"sparsity": "x=0.5,w=0.9"}, ["--sparsity", "x=0.5,w=0.9"]),
    "camel": ({}, []),
    "in-place": ({"settings": {"transpose": "unit"}}, ["--set", "transpose=unit"]),
}


def from_program(*flags):
    out = subprocess.run([program(), "simulate", *flags, "--json"], capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    return json.loads(out.stdout)


@pytest.mark.parametrize("machine", CASES)
def test_equals_the_program(machine):
    assert machine in adagp.machines()
    given, flags = CASES[machine]
    ours = adagp.simulate("vgg13_bn", input="cifar", batch=32, machine=machine, **given)
    assert isinstance(ours, MachineSimulation)
    theirs = from_program("--machine", machine, "--model", "vgg13_bn", "--input", "cifar",
                          "--batch", "32", *flags)  # fmt: skip
    assert ours.speedup == theirs["machine_speedup"]
    assert ours.energy_ratio == pytest.approx(theirs["machine_energy_ratio"], rel=1e-12)
    assert ours.passes["forward"]["cycles"] == theirs["passes"]["forward"]["cycles"]
    assert ours.designs["efficient"]["speedup"] == theirs["designs"]["efficient"]["speedup"]
    assert ours.guesses == theirs["guesses"]
    assert ours.details()["layers"] and "layers" not in json.loads(ours.json())
    assert machine in repr(ours) and "<svg" in ours.svg()


def test_zeros_and_few_bits_make_it_faster():
    few = adagp.simulate("resnet18", "cifar", machine="fast", bits={"w": 2, "a": 2, "g": 2})
    assert few.speedup > 3
    zeros = [adagp.simulate("resnet18", "cifar", machine="tensordash", sparsity={"x": x}).speedup
             for x in (0, 0.4, 0.8)]  # fmt: skip
    assert zeros[0] == 1 and zeros[0] < zeros[1] < zeros[2]


def write_trace(run, zeros):
    """One linear layer of 32 features, with its layer table; of X a share is zero."""
    bits = bytes(0xFF if byte >= 4 * zeros else 0 for byte in range(4))
    tensors = {
        "fc/x.bits": ("U8", [1, 1, 1, 4], bits),
        "fc/dy.bits": ("U8", [1, 1, 1, 4], b"\xff" * 4),
        "fc/w.bits": ("U8", [32, 1, 1, 4], b"\xff" * 128),
        "fc/density": ("F32", [3], struct.pack("<3f", 1 - zeros, 1, 1)),
        "fc/shape": ("I64", [3], struct.pack("<3q", 32, 32, 32)),
    }
    metadata = {"network": "tiny", "input": "one", "epoch": "1", "batch": "1", "examples": "1"}
    header, data = {"__metadata__": metadata}, b""
    for name, (dtype, shape, content) in tensors.items():
        place = [len(data), len(data) + len(content)]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": place}
        data += content
    words = json.dumps(header).encode()
    (run / "trace").mkdir(parents=True)
    (run / "trace/e001.safetensors").write_bytes(struct.pack("<Q", len(words)) + words + data)
    columns = (
        "model,input,name,op,in_c,in_h,in_w,out_c,out_h,out_w,kernel_h,kernel_w,stride_h,stride_w,"
        "padding_h,padding_w,groups,macs,weights,bias,input_bytes,output_bytes"
    )
    row = "tiny,one,fc,linear,32,1,1,32,1,1,1,1,1,1,0,0,1,1024,1024,0,128,128"
    (run / "layers.csv").write_text(columns + "\n" + row + "\n")


def test_the_trace_of_a_run_knows_its_network(tmp_path):
    write_trace(tmp_path / "a", zeros=0.75)
    ours = adagp.simulate(machine="tensordash", trace=tmp_path / "a", examples=100)
    theirs = from_program("--machine", "tensordash", "--trace", str(tmp_path / "a"),
                          "--examples", "100")  # fmt: skip
    assert ours.details()["model"] == "tiny"
    assert ours.passes == theirs["passes"]
    # Two lines of 16 lanes, the first one empty, the second half full.
    assert ours.passes["forward"]["cycles"] == ours.passes["forward"]["base_cycles"] / 2


def test_a_table_of_ones_own():
    table = adagp.layers("vgg11", "cifar")
    ours = adagp.simulate(table, machine="camel", batch=8)
    assert ours.speedup == adagp.simulate("vgg11", "cifar", 8, machine="camel").speedup


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"machine": "tensordsh", "sparsity": {"x": 0.5}}, "did you mean 'tensordash'"),
        ({"machine": "tensordash"}, "sparsity="),
        ({"machine": "tensordash", "sparsity": {"x": 1.5}}, "expected 0 to 1"),
        ({"machine": "tensordash", "sparsity": {}}, "sparsity is empty"),
        ({"machine": "tensordash", "sparsity": 0.5}, "sparsity is 0.5"),
        ({"machine": "fast", "bits": {"w": 2.5}}, "whole number"),
        ({"machine": "fast", "trace": 3}, "trace is 3"),
        ({"machine": "camel", "dataflow": "ws"}, "own dataflow"),
        ({"machine": "camel", "inference": True}, "inference="),
        ({"machine": "camel", "batch": [8, 16]}, "one run"),
        ({"sparsity": {"x": 0.5}}, "machine="),
    ],
)
def test_bad_arguments(arguments, words):
    with pytest.raises(UsageError, match=words):
        adagp.simulate("vgg13", "cifar", **arguments)


def test_no_network_and_no_trace(tmp_path):
    with pytest.raises(UsageError, match="model is not given"):
        adagp.simulate(machine="camel")
    with pytest.raises(DataError, match="has no traces"):
        adagp.simulate(machine="tensordash", trace=tmp_path)
