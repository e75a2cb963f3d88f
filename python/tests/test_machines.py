"""simulate(machine=...): against the program, and what it does with bad arguments."""

import json
import subprocess

import pytest

import adagp
from adagp._program import program
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
    assert machine in repr(ours) and ours.svg().startswith("<svg")


def test_zeros_and_few_bits_make_it_faster():
    few = adagp.simulate("resnet18", "cifar", machine="fast", bits={"w": 2, "a": 2, "g": 2})
    assert few.speedup > 3
    zeros = [adagp.simulate("resnet18", "cifar", machine="tensordash", sparsity={"x": x}).speedup
             for x in (0, 0.4, 0.8)]  # fmt: skip
    assert zeros[0] == 1 and zeros[0] < zeros[1] < zeros[2]


def test_a_table_of_ones_own():
    table = adagp.layers("vgg11", "cifar")
    ours = adagp.simulate(table, machine="camel", batch=8)
    assert ours.speedup == adagp.simulate("vgg11", "cifar", 8, machine="camel").speedup


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"machine": "tensordsh", "sparsity": {"x": 0.5}}, "did you mean 'tensordash'"),
        ({"machine": "tensordash"}, "--sparsity"),
        ({"machine": "tensordash", "sparsity": {"x": 1.5}}, "expected 0 to 1"),
        ({"machine": "tensordash", "sparsity": {}}, "sparsity is empty"),
        ({"machine": "tensordash", "sparsity": 0.5}, "sparsity is 0.5"),
        ({"machine": "fast", "bits": {"w": 2.5}}, "whole number"),
        ({"machine": "fast", "trace": 3}, "trace is 3"),
        ({"machine": "camel", "dataflow": "ws"}, "own dataflow"),
        ({"machine": "camel", "inference": True}, "--inference"),
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
