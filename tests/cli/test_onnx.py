"""Networks in ONNX files: multiply-accumulates against torch's own counter, exactly, and rows against those of
.pt2 files of the same network."""

import copy
import json
import os
import subprocess
import sys
import warnings

import pytest

from harness import BIN, adagp, environment
from simulator import run_json

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
onnx = pytest.importorskip("onnx")

from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from networks import NETWORKS  # noqa: E402
from networks_onnx import MORE, Decoder  # noqa: E402

# The older exporter, which takes a second for each, cannot write LSTMs that project, and the newer one writes
# files that ONNX's own checker refuses.
KNOWN = {name: build for name, build in {**NETWORKS, **MORE}.items()
         if not name.endswith("_decomposed") and name != "lstm_projected"}
# The newer one takes some ten seconds: here a few, at night all.
FEW = ["vit", "lstm"]
# With a fixed batch exporters compute what a first state of zeros gives, and leave the product out.
FREE_BATCH = ["lstm", "gru", "rnn"]
BY_NEWER = list(KNOWN) if os.environ.get("ADAGP_ALL_EXPORTS") else FEW


def counted(model, shapes):
    """MACs by torch's counter, without memory."""
    inputs = tuple(torch.empty(shape, device="meta") for shape in shapes)
    # Training mode keeps torch from its fused operations, which its counter does not know.
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        copy.deepcopy(model).to("meta").train()(*inputs)
    return counter.get_total_flops() // 2


def export(file, model, shapes, newer, **options):
    """Writes the network as a user would."""
    if newer:
        pytest.importorskip("onnxscript")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model.eval(), tuple(torch.rand(shape) for shape in shapes), str(file),
                          dynamo=newer, **options)


def free_sizes(axes, newer):
    """Options of the exporter that leave sizes of the input free."""
    return {"dynamic_shapes": (axes,)} if newer else {"dynamic_axes": {"x": axes}, "input_names": ["x"]}


def check(folder, name, newer):
    model, shapes, options = KNOWN[name]()
    macs = counted(model, shapes)
    free = free_sizes({0: "batch"}, newer) if name in FREE_BATCH else {}
    export(folder / "net.onnx", model, shapes, newer, **free)
    source = ["--onnx", folder / "net.onnx"]
    examples = options.get("batch", shapes[0][0])
    if "batch" in options:  # simulate has a --batch of its own, and takes the table instead
        adagp("layers", *source, "--batch", examples, "--all", "--csv", "-o", folder / "table.csv")
        source = ["--table", folder / "table.csv"]
    # As often as the counter says, the array multiplies.
    run = run_json(*source, "--inference", "--batch", examples)
    assert run["total"]["macs"] == macs
    assert run["missing"] == {"share": 0, "macs": 0, "unknown_operations": 0}


@pytest.mark.parametrize("name", KNOWN)
def test_macs_are_those_of_torchs_counter(tmp_path, name):
    check(tmp_path, name, newer=False)


@pytest.mark.parametrize("name", BY_NEWER)
def test_macs_of_the_newer_exporter(tmp_path, name):
    check(tmp_path, name, newer=True)


def products(*source):
    """What every product of a table is, without its name. Exporters give norms to the bias."""
    rows = json.loads(adagp("layers", *source, "--json").stdout)["layers"]
    return [{key: value for key, value in row.items() if key not in ("name", "bias")} for row in rows]


@pytest.mark.parametrize("name", ["resnet18", "shufflenet", "vit", "waves", "maps", "frames", "attention"])
def test_products_are_those_of_the_pt2_file(tmp_path, name):
    model, shapes, _ = KNOWN[name]()
    export(tmp_path / "net.onnx", model, shapes, newer=False)
    inputs = tuple(torch.rand(shape) for shape in shapes)
    torch.export.save(torch.export.export(model.eval(), inputs), str(tmp_path / "net.pt2"))
    assert products("--onnx", tmp_path / "net.onnx") == products("--pt2", tmp_path / "net.pt2")


@pytest.mark.parametrize("newer", [False, True])
def test_free_sizes(tmp_path, newer):
    file = tmp_path / "net.onnx"
    export(file, Decoder(), [(2, 9, 24)], newer, **free_sizes({0: "batch", 1: "words"}, newer))
    err = adagp("layers", "--onnx", file, code=2).stderr
    assert "batchxwordsx24" in err and "--input" in err
    for words in (5, 9):
        for flags in ([], ["--batch", 3]):
            table = json.loads(adagp("layers", "--onnx", file, "--input", f"{words}x24", *flags, "--json").stdout)
            assert sum(row["macs"] for row in table["layers"]) == counted(Decoder(), [(1, words, 24)])


def test_weights_outside_the_file_are_not_needed(tmp_path):
    file = tmp_path / "net.onnx"
    export(file, torch.nn.Linear(64, 48), [(2, 64)], newer=False)
    expected = adagp("layers", "--onnx", file, "--json").stdout
    onnx.save(onnx.load(file), file, save_as_external_data=True, location="w.data", size_threshold=0)
    (tmp_path / "w.data").unlink()
    assert adagp("layers", "--onnx", file, "--json").stdout == expected


def test_what_is_no_onnx_file(tmp_path):
    file = tmp_path / "no.onnx"
    file.write_text("no network")
    for command in (["layers"], ["simulate"], ["pipeline", "--stages", 2]):
        err = adagp(*command, "--onnx", file, code=3).stderr
        assert "no.onnx" in err and len(err.strip().splitlines()) == 1
    adagp("layers", "--onnx", tmp_path / "none.onnx", code=3)
    assert "--pt2, --onnx or --table" in adagp("layers", code=2).stderr
    assert "--onnx" in adagp("layers", "--model", "resnet18", "--batch", 2, code=2).stderr
    assert "3x224x224" in adagp("layers", "--onnx", file, "--input", "imagenet", code=2).stderr


# Starts a program from a process that is small itself: the peak counts what it was before, too.
PEAK = """import os, sys
pid = os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss)"""


def field(number, count):
    """The start of a protobuf field of `count` bytes."""
    out = bytes([number << 3 | 2])
    while count >= 0x80:
        out, count = out + bytes([count & 0x7F | 0x80]), count >> 7
    return out + bytes([count])


def test_a_large_file_takes_little_memory(tmp_path):
    """500 MB of weights, as a hole in the file: they are jumped over."""
    file, count = tmp_path / "large.onnx", 125_000_000
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], "g",
        [helper.make_tensor_value_info("x", kind, (1, 12500))], [helper.make_tensor_value_info("y", kind, None)],
    ).SerializeToString()
    tensor = onnx.TensorProto(dims=[12500, count // 12500], data_type=kind, name="w").SerializeToString()
    tensor += field(9, 4 * count)
    weight = field(5, len(tensor) + 4 * count) + tensor
    with file.open("wb") as out:
        out.write(field(7, len(graph) + len(weight) + 4 * count) + graph + weight)
        out.truncate(out.tell() + 4 * count)
    done = subprocess.run([sys.executable, "-S", "-c", PEAK, BIN, "layers", "--onnx", str(file), "--json", "-o",
                           str(tmp_path / "out")], env=environment(), capture_output=True, text=True, check=True)
    code, peak = map(int, done.stdout.split())
    assert code == 0 and peak < 100_000  # KiB
    assert json.loads((tmp_path / "out").read_text())["layers"][0]["macs"] == count
