"""Sweeps: against the program, and what they do with anything they are given."""

import csv
import json
import random
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from limits import PATIENCE

from adagp._impl.program import program
from adagp.errors import DataError, Error, UsageError, in_arguments
from adagp.layer_table import layers, networks
from adagp.sim import MissingMacsWarning, accelerators, simulate


def program_text(*args, fails=False):
    ran = subprocess.run([program(), *map(str, args)], capture_output=True, text=True)
    assert (ran.returncode != 0) == fails, ran.stderr
    return ran.stderr if fails else ran.stdout


def random_case(seed):
    """Arguments for Python, and the same as flags."""
    rng = random.Random(seed)
    # GPT's tables have no data set, so their epochs no length.
    pairs = [(n, i) for n, inputs in networks().items() for i in inputs
             if n != "inception_v4" and not i.startswith("tokens")]  # fmt: skip
    name, form = rng.choice(pairs)
    arguments, flags = {"input": form}, ["--model", name, "--input", form]

    def add(keyword, flag, value, text=None):
        arguments[keyword] = value
        flags.extend([flag, text if text is not None else str(value)])

    if rng.random() < 0.7:
        sizes = [(rng.randint(1, 64), rng.randint(1, 64)) for _ in range(rng.randint(1, 3))]
        sizes = list(dict.fromkeys(sizes))
        add("array", "--array", sizes, ",".join(f"{h}x{w}" for h, w in sizes))
    if rng.random() < 0.7:
        flows = rng.sample(["ws", "is", "os", "rs", "in-place"], rng.randint(1, 3))
        add("dataflow", "--dataflow", flows, ",".join(flows))
    if rng.random() < 0.6:
        add("batch", "--batch", rng.randint(1, 256))
    # The machine in rtl/ has memories for small networks alone.
    formulas = [name for name in accelerators() if not name.startswith("rtl")]
    add("accelerator", "--accelerator", rng.choice(formulas))
    if rng.random() < 0.3:
        arguments["inference"] = True
        flags.append("--inference")
    else:
        add("designs", "--designs", rng.choice(["all", "max", "baseline,low"]))
        add("epochs", "--epochs", rng.randint(1, 200))
        add("schedule", "--schedule", rng.choice(["auto", "paper", "bp", "2ep bp, 3:2"]))
        if rng.random() < 0.5:
            add("examples", "--examples", rng.randint(1, 10**6))
        if rng.random() < 0.3:
            add("predictor", "--predictor", "remap")
        if rng.random() < 0.4:
            add("predictor_channels", "--predictor-channels", [8, 24], "8,24")
    if rng.random() < 0.5:
        size = rng.choice([0, 4096, 1 << 20])
        arguments["settings"] = {
            "buffer_bytes": size, "dram_bytes_per_cycle": 8.5, "buffer.double_buffered": False,
            "energy": {"mac_pj": 1.25},
        }  # fmt: skip
        flags += ["--set", f"buffer.bytes={size}", "--set", "dram.bytes_per_cycle=8.5",
                  "--set", "buffer.double_buffered=false",
                  "--set", "energy.mac_pj=1.25"]  # fmt: skip
    return name, arguments, flags


@pytest.mark.parametrize("seed", range(20))
def test_equals_the_program(seed):
    name, arguments, flags = random_case(seed)
    sim = simulate(name, **arguments)
    assert sim.json() == program_text("simulate", *flags, "--json")
    lines = list(csv.DictReader(program_text("simulate", *flags, "--csv").splitlines()))
    assert len(lines) == len(sim)
    for column in lines[0]:
        got, texts = sim[column], [line[column] for line in lines]
        # An empty cell is what a design does not have; NaN equals NaN here.
        wanted = texts if got.dtype == object else [got.dtype.type(t or "nan") for t in texts]
        np.testing.assert_array_equal(got, wanted)


def test_columns_and_frame():
    sim = simulate("resnet18", "cifar", array=["12x15", "32x32"], batch=[32, 64], designs="all")
    frame = sim.to_pandas()
    assert list(frame.columns) == sim.columns and len(frame) == len(sim) == 16
    assert sim.runs == 4
    for name in sim.columns:
        np.testing.assert_array_equal(np.asarray(frame[name]), sim[name])
    assert set(frame[frame.array == "32x32"].array_rows) == {32}
    best = frame[frame.design == "max"]
    assert (best.pes > best.array_rows * best.array_columns).all()
    with pytest.raises(KeyError, match="no column 'cycle'"):
        sim["cycle"]


def test_pareto_front_by_another_way():
    sim = simulate("resnet18", "cifar", array="4..64:4x4..64:4", dataflow=["ws", "os"])
    front = sim.pareto("cycles", "energy")
    points = {*zip(sim["total_cycles"], sim["energy_j"])}
    expected = {p for p in points if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in points)}
    assert {*zip(front["total_cycles"], front["energy_j"])} == expected
    assert (np.diff(front["total_cycles"]) >= 0).all()
    flags = ["--model", "resnet18", "--input", "cifar", "--array", "4..64:4x4..64:4"]
    flags += ["--dataflow", "ws,os", "--pareto", "cycles,energy", "--json"]
    assert front.json() == program_text("simulate", *flags)
    with pytest.raises(UsageError, match="unknown value"):
        sim.pareto("cycles", "weight")


def test_one_run_in_full():
    sim = simulate("resnet18", "cifar")
    flags = ["simulate", "--model", "resnet18", "--input", "cifar"]
    assert sim.explain("layer1.0.conv2") == program_text(*flags, "--explain", "layer1.0.conv2")
    assert sim.details() == json.loads(program_text(*flags, "--per-layer", "--json"))
    with pytest.raises(UsageError, match="no layer 'layer1.0.conv3'"):
        sim.explain("layer1.0.conv3")
    with pytest.raises(UsageError, match="run is 1, expected 0 to 0"):
        sim.explain("conv1", run=1)


def test_tables_files_and_frames_agree(tmp_path):
    table = layers("vgg13", "cifar")
    path = tmp_path / "vgg.csv"
    table.to_csv(path)
    expected = program_text("simulate", "--table", path, "--json")
    for source in (table, path, str(path), table.to_pandas()):
        assert simulate(source).json() == expected
    both = simulate([table, layers("resnet8", "cifar")], designs="max")
    assert list(both["model"]) == ["vgg13", "resnet8"]


def test_topologies_round_as_scalesim(tmp_path):
    path = tmp_path / "net.csv"
    path.write_text("Layer name, IFMAP Height, ...,\nconv1, 8, 8, 3, 3, 4, 5, 2,\n")
    sim = simulate(path, inference=True)
    assert sim.json() == program_text("simulate", "--topology", path, "--inference", "--json")
    gemm = tmp_path / "gemm.csv"
    gemm.write_text("Layer, M, N, K,\na, 5, 6, 7,\n")
    sim = simulate(layers(gemm, topology="gemm"), inference=True)
    flags = ["--topology", gemm, "--topology-kind", "gemm", "--inference", "--json"]
    assert sim.json() == program_text("simulate", *flags)


def test_a_module():
    torch = pytest.importorskip("torch")
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(),
                              torch.nn.Linear(8 * 30 * 30, 10))  # fmt: skip
    sim = simulate(net, input=(3, 32, 32), batch=16, examples=1000)
    assert sim.details()["batches_per_epoch"] == 63
    assert "50,000" in simulate(net, input=(3, 32, 32)).note
    with pytest.raises(UsageError, match="examples="):
        simulate(torch.nn.Linear(4, 4), input=(4,))


def test_missing_macs_are_told(uncounted_net):
    with pytest.warns(MissingMacsWarning, match="missing"):
        sim = simulate(uncounted_net, input=(4, 4), inference=True)
    assert "missing" in sim.note and sim["missing_unknown"][0] > 0


@pytest.mark.parametrize(
    "arguments, flags",
    [
        ({"array": "12x"}, ["--array", "12x"]),
        ({"dataflow": "wx"}, ["--dataflow", "wx"]),
        ({"designs": "maxi"}, ["--designs", "maxi"]),
        ({"batch": 2**40}, ["--batch", 2**40]),
        ({"accelerator": "none"}, ["--accelerator", "none"]),
        ({"schedule": "4:x"}, ["--schedule", "4:x"]),
        ({"settings": {"bufer_bytes": 3}}, ["--set", "bufer_bytes=3"]),
        ({"settings": {"word_bytes": 99}}, ["--set", "word_bytes=99"]),
        ({"array": "1..2000x1..2000"}, ["--array", "1..2000x1..2000"]),
    ],
)
def test_errors_are_the_programs(arguments, flags):
    with pytest.raises(Error) as error:
        simulate("resnet18", "cifar", **arguments)
    text = program_text("simulate", "--model", "resnet18", "--input", "cifar", *flags, fails=True)
    assert str(error.value) in in_arguments(text) and "--" not in str(error.value)


def test_errors_speak_of_arguments():
    for arguments, text in (({"epochs": 0}, "^epochs is 0"), ({"array": "12x"}, "^array: '12x'"),
                            ({"settings": {"x": 1}}, "^settings: x: unknown key"),
                            ({"machine": "fast"}, "one of trace=RUN or bits=w=2")):  # fmt: skip
        with pytest.raises(UsageError, match=text):
            simulate("resnet18", "cifar", **arguments)


@pytest.mark.parametrize(
    "arguments",
    [{"threads": -1}, {"epochs": "many"}, {"array": object()}, {"batch": []}, {"settings": 3},
     {"settings": {3: 4}}, {"settings": {"name": None}}, {"inference": "no"}, {"schedule": 3},
     {"examples": 1.5}, {"designs": [None]}, {"progress": 1}],
)  # fmt: skip
def test_bad_arguments_are_named(arguments):
    with pytest.raises(UsageError, match=next(iter(arguments))):
        simulate("resnet18", "cifar", **arguments)


def test_no_network():
    with pytest.raises(UsageError, match="model is not given"):
        simulate(None)
    with pytest.raises(UsageError, match="empty"):
        simulate([])
    with pytest.raises(DataError):
        simulate("no/such/file.csv")


def test_pictures():
    pytest.importorskip("matplotlib").use("agg")
    sim = simulate("resnet18", "cifar", array=[8, 16, 32])
    axes = sim.plot("total_cycles")
    assert len(axes.lines) == 4 and axes.get_ylabel() == "total_cycles"
    assert len(sim.plot("energy", x="pes").lines) == 4
    assert "<svg" in sim.svg()[:100]
    assert "<table>" in sim._repr_html_() and "speed-up" in repr(sim)


LONG = """
    import functools, operator, signal, sys, threading, time
    from adagp import _core
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
    options, seen = _core.SimulateOptions(), {}
    options.models, options.inputs = "densenet201", "imagenet"
    options.arrays, options.dataflows = "1..300x1..300", "ws,rs"  # takes minutes
    def tell():
        while len(seen) < int(sys.argv[1]):
            time.sleep(0.01)
        print("on its way", flush=True)
    try:
        threading.Thread(target=tell, daemon=True).start()
        # Nothing of this is Python, which would look for signals, too.
        _core.simulate(options, functools.partial(operator.setitem, seen))
    except KeyboardInterrupt:
        print("interrupted", all(done < total for done, total in seen.items()), flush=True)
        sys.exit(7)
"""


@pytest.mark.parametrize("at", [0, 2])  # at its start, and when it has told twice how far it is
def test_ctrl_c_ends_a_sweep(at):
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(LONG), str(at)], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "on its way\n"
    child.send_signal(signal.SIGINT)
    assert child.stdout.readline() == "interrupted True\n"
    assert child.wait(timeout=PATIENCE) == 7


def test_progress_is_told_and_may_fail():
    from adagp import _core

    options = _core.SimulateOptions()
    options.models, options.inputs, options.arrays = "resnet18", "cifar", "1..40x1..40"
    seen = []
    _core.simulate(options, lambda done, total: seen.append((done, total)))
    assert seen[-1] == (1600, 1600)

    def fail(done, total):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        _core.simulate(options, fail)


FUZZ = """
    import random, sys
    from adagp import _core
    from adagp.errors import Error

    rng = random.Random(int(sys.argv[1]))
    class Odd:
        def __index__(self): raise RuntimeError("no index")
        def __fspath__(self): return 7
    def thing(depth=0):
        make = [lambda: None, lambda: rng.randint(-2**70, 2**70), lambda: rng.random() * 1e300,
                lambda: float("nan"), lambda: "", lambda: "\\0\\ud800", lambda: b"\\xff",
                lambda: "resnet18", lambda: "8..64:8", lambda: "x" * 1000, lambda: True, Odd,
                lambda: object(), lambda: _core.SimulateOptions(), lambda: _core.PipelineOptions(),
                lambda: 3, lambda: "conv,1,2", lambda: "{}", lambda: "[]", lambda: "[{}]"]
        if depth < 2:
            make += [lambda: [thing(depth + 1) for _ in range(rng.randint(0, 3))],
                     lambda: {"a": thing(depth + 1)}, lambda: (thing(depth + 1),) * 2]
        return rng.choice(make)()
    names = ["table_from_csv", "table_from_export", "table_from_onnx", "table_from_topology",
             "zoo_table", "zoo_inputs", "simulate", "examples_of", "run_pipelines"]
    table = _core.zoo_table("resnet8", "cifar")
    options = _core.SimulateOptions(); options.models = "resnet8"; options.inputs = "cifar"
    sweep = _core.simulate(options, None)
    pipes = _core.run_pipelines(_core.PipelineOptions(), None)
    targets = [getattr(_core, name) for name in names]
    for one in (table, sweep, pipes):
        targets += [getattr(one, name) for name in dir(one)
                    if not name.startswith("_") and callable(getattr(one, name))]
        targets.append(one.__getitem__ if hasattr(one, "__getitem__") else one.__len__)
    kinds = (Error, TypeError, ValueError, OverflowError, IndexError, RuntimeError, KeyError,
             AttributeError)
    for _ in range(3000):
        target = rng.choice(targets)
        try:
            target(*[thing() for _ in range(rng.randint(0, 3))])
        except kinds:
            pass
    for kind in (_core.SimulateOptions, _core.PipelineOptions):
        for _ in range(600):
            one = kind()
            fields = [f for f in dir(one) if not f.startswith("_") and not f.startswith("set_")]
            for field in rng.sample(fields, 5):
                try:
                    setattr(one, field, thing())
                except kinds:
                    pass
            if kind is _core.SimulateOptions and not one.models:
                one.models, one.inputs = "resnet8", "cifar"
            try:
                call = _core.simulate if kind is _core.SimulateOptions else _core.run_pipelines
                call(one, None)
            except kinds:
                pass
    print("alive")
"""


@pytest.mark.parametrize("seed", range(3))
def test_random_objects_never_crash(seed):
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(FUZZ), str(seed)],
                         capture_output=True, text=True, timeout=PATIENCE)  # fmt: skip
    assert ran.returncode == 0 and ran.stdout == "alive\n", ran.stderr[-2000:]
