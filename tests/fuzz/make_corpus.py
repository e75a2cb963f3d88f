#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets, small valid files of each kind, into corpus/ beside it."""

import gzip
import json
import struct
import tarfile
import zipfile
from io import BytesIO
from pathlib import Path

from PIL import Image

corpus = Path(__file__).parent / "corpus"


def seed(target, name, data):
    (corpus / target).mkdir(parents=True, exist_ok=True)
    (corpus / target / name).write_bytes(data)


def safetensors(header, data=b""):
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def trace():
    """One linear layer, two examples of nine features."""
    parts = {"fc/x.bits": ("U8", [2, 1, 1, 2], b"\x0f\x01\xf0\x00"),
             "fc/dy.bits": ("U8", [2, 1, 1, 1], b"\x01\x00"),
             "fc/w.bits": ("U8", [1, 1, 1, 2], b"\xff\x01"),
             "fc/density": ("F32", [3], struct.pack("<3f", 0.5, 0.5, 1)),
             "fc/mantissa": ("U8", [3], b"\x02\x02\x04"),
             "fc/shape": ("I64", [3], struct.pack("<3q", 9, 1, 9))}
    header = {"__metadata__": {"network": "net", "input": "9", "epoch": "1", "batch": "4", "examples": "2"}}
    data = b""
    for name, (dtype, shape, content) in parts.items():
        header[name] = tensor(dtype, shape, len(data), len(data) + len(content))
        data += content
    return safetensors(header, data)


seed("trace", "one", trace())
seed("environment", "run", json.dumps({"version": "2", "threads": 2, "data": "2+1 images, 11", "run": "0a",
                                       "command": ["adagp", "train"]}).encode())
seed("checkpoint_header", "run", json.dumps({"step": 3, "tally": [0.5, 1, 1, 4], "run": {
    "id": "0a", "data": "2+1 images, 11", "config": 'seed = 2\nmethod = "bp"\n\n[optim]\nlr = 0.1\n'}}).encode())
seed("safetensors", "empty", safetensors({}))
seed("safetensors", "one", safetensors({"a": tensor("F32", [1], 0, 4)}, b"abcd"))
seed(
    "safetensors",
    "several",
    safetensors(
        {
            "__metadata__": {"step": "3", "format": "pt"},
            "w": tensor("BF16", [2, 3], 0, 12),
            "scalar": tensor("U8", [], 12, 13),
            "none": tensor("I64", [0, 4], 13, 13),
        },
        bytes(range(13)),
    ),
)
header = {
    "__metadata__": {"adagp.crc32c": f"{crc32c(b'abcd'):08x}", "adagp.crc32c.header": "0" * 8},
    "a": tensor("F32", [1], 0, 4),
}
checksum = f"{crc32c(safetensors(header)[8:]):08x}"
header["__metadata__"]["adagp.crc32c.header"] = checksum
seed("safetensors", "checksum", safetensors(header, b"abcd"))

seed("cifar", "ten", bytes([3]) + bytes(i % 256 for i in range(3072)))
seed("cifar", "hundred", bytes([19, 99]) + bytes(i % 256 for i in range(3072)))

# Every kind of coding that the two decoders of JPEG files meet, and a PNG file.
ramp = Image.frombytes("RGB", (35, 21), bytes(i * 7 % 256 for i in range(35 * 21 * 3)))
for name, options in {
    "baseline.jpg": {"subsampling": 2},
    "full.jpg": {"subsampling": 0, "restart_marker_blocks": 2},
    "progressive.jpg": {"progressive": True},
}.items():
    ramp.save(target := BytesIO(), "JPEG", **options)
    seed("image", name, target.getvalue())
for name, image in {"grey.jpg": ramp.convert("L"), "inks.jpg": ramp.convert("CMYK")}.items():
    image.save(target := BytesIO(), "JPEG")
    seed("image", name, target.getvalue())
ramp.save(target := BytesIO(), "PNG")
seed("image", "rgb.png", target.getvalue())

seed("recipe", "plain", b'model.name = "resnet18"\nepochs = 30\ndeterministic = true\n')
seed(
    "recipe",
    "tables",
    b"""# a recipe
model.name = 'vgg13_bn'
batch = 64
precision = "fast"
[data]
mean = [0.49, 0.48, 0.45]
[optim]
lr = 1e-2
[policy]
milestones = ["30ep", "500ba"]
[fast]
rule = "fixed"
mantissa = 4
""",
)
seed("recipe", "inline", b'optim = {lr = 0.1}\ndata.mean = [0.5]\nhead = "exact"\npredictor.kind = "dni"\n')

config = (Path(__file__).parents[1] / "golden/fixtures/scalesim/ws/run.cfg").read_bytes()
seed("scalesim_config", "version3", config)
seed("scalesim_config", "version2", config.split(b"[layout]")[0] + b"[run_presets]\nInterfaceBandwidth: USER\n")
titles = b"Layer name, IFMAP h, IFMAP w, Filter h, Filter w, Channels, Filters, Stride,\n"
seed("topology", "conv", b"\0" + titles + b"conv1, 18, 18, 3, 3, 8, 20, 2,\nDP2, 9, 9, 3, 3, 4, 1, 1, 1:2,\n")
seed("topology", "windows", b"\0\xef\xbb\xbf" + titles.replace(b"\n", b"\r\n") + b"fc,1,1,1,1,64,10,1\r\n")
seed("topology", "gemm", b"\1Layer, M, N, K,\na, 64, 40, 96,\nb, 1, 10, 33\n")
seed("schedule_csv", "v", b"0F0,0F1,0F2,3F0,3I0,3W0,3F1,0I0,0W0,3B1,3F2,0B1,3B2,0B2\n"
     b"1F0,2F0,1F1,2F1,2B0,1B0,1F2,2F2,2I1,1I1,2I2,1I2,2W1,1W1,2W2,1W2\n")
seed("schedule_csv", "torch", b"0F0,,(0F1;0B0)OVERLAP_F_B,0B1,0REDUCE_GRAD\r\n,1F0,1B0,1F1,1B1\r\n")
seed("schedule_csv", "deadlock", b"0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n")
for preset in sorted((Path(__file__).parents[2] / "configs/accelerators").glob("*.toml")):
    seed("accelerator", preset.stem, preset.read_bytes())

table = (Path(__file__).parents[2] / "configs/layers/resnet8-cifar.csv").read_bytes()
seed("layer_table", "resnet8", table)
seed("layer_table", "windows", b"\xef\xbb\xbf" + table.replace(b"\n", b"\r\n"))


def program(sizes, signature, *nodes):
    """models/model.json of torch.export.save, as far as it is read."""
    values = {name: {"sizes": [{"as_int": n} for n in shape]} for name, shape in sizes.items()}
    graph = {"tensor_values": values, "nodes": nodes}
    specs = [{"parameter": {"arg": {"name": name}, "parameter_name": path}} if path else
             {"user_input": {"arg": {"as_tensor": {"name": name}}}} for name, path in signature.items()]
    return json.dumps({"graph_module": {"graph": graph, "signature": {"input_specs": specs}}}).encode()


def node(target, output, **arguments):
    def given(value):
        return {"as_tensor": {"name": value}} if isinstance(value, str) else {"as_ints": value}

    return {"target": f"torch.ops.aten.{target}", "outputs": [{"as_tensor": {"name": output}}],
            "inputs": [{"name": name, "arg": given(value)} for name, value in arguments.items()]}


seed("pt2", "conv", program(
    {"x": (2, 3, 8, 8), "w": (4, 3, 3, 3), "y": (2, 4, 8, 8), "z": (2, 4, 8, 8)}, {"w": "c.weight", "x": ""},
    node("conv2d.default", "y", input="x", weight="w", padding=[1, 1]), node("relu.default", "z", self="y")))
seed("pt2", "attention", program(
    {"q": (2, 4, 5, 8), "w": (8, 8), "t": (8, 8), "a": (2, 4, 5, 8), "y": (2, 4, 5, 8)}, {"w": "l.weight", "q": ""},
    node("scaled_dot_product_attention.default", "a", query="q", key="q", value="q"),
    node("t.default", "t", self="w"), node("matmul.default", "y", self="a", other="t")))



def field(number, value):
    """One field of a protobuf message: an integer, or bytes with their length."""
    def varint(n):
        out = b""
        while n >= 0x80:
            out, n = out + bytes([n & 0x7F | 0x80]), n >> 7
        return out + bytes([n])

    if isinstance(value, int):
        return varint(number << 3) + varint(value % 2**64)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def onnx_shape(name, *sizes):
    dims = b"".join(field(1, field(1 if isinstance(size, int) else 2, size)) for size in sizes)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, dims)))


def onnx_tensor(name, sizes, numbers=None):
    data = b"" if numbers is None else field(9, struct.pack(f"<{len(numbers)}q", *numbers))
    return b"".join(field(1, size) for size in sizes) + field(2, 1 if numbers is None else 7) + field(8, name) + data


def onnx_node(op, inputs, outputs, domain="", **attributes):
    def given(value):
        if isinstance(value, list):
            return b"".join(field(8, one) for one in value)
        return field(3 if isinstance(value, int) else 6 if isinstance(value, bytes) else 4, value)

    named = b"".join(field(5, field(1, name) + given(value)) for name, value in attributes.items())
    return (b"".join(field(1, name) for name in inputs) + b"".join(field(2, name) for name in outputs)
            + field(4, op) + field(7, domain) + named)


def onnx(inputs, constants, nodes, functions=()):
    graph = (b"".join(field(11, one) for one in inputs) + b"".join(field(5, one) for one in constants)
             + b"".join(field(1, one) for one in nodes))
    return field(1, 8) + field(7, graph) + b"".join(field(25, one) for one in functions)


seed("onnx", "conv", onnx(
    [onnx_shape("x", "batch", 6, 9, 9)],
    [onnx_tensor("c.weight", (4, 3, 3, 3)), onnx_tensor("rest", (2,), (0, -1)), onnx_tensor("fc.weight", (5, 144))],
    [onnx_node("Conv", ["x", "c.weight"], ["c"], strides=[2, 1], pads=[0, 2, 1, 2], dilations=[1, 2], group=2),
     onnx_node("MaxPool", ["c"], ["p"], kernel_shape=[1, 1], ceil_mode=1),
     onnx_node("Reshape", ["p", "rest"], ["f"]), onnx_node("Gemm", ["f", "fc.weight"], ["y"], transB=1)]))
seed("onnx", "sizes", onnx(
    [onnx_shape("x", 2, 7, 8)],
    [onnx_tensor("zero", (1,), (0,)), onnx_tensor("two", (1,), (2,)), onnx_tensor("q.weight", (8, 8))],
    [onnx_node("Shape", ["x"], ["s"]), onnx_node("Slice", ["s", "zero", "two"], ["bt"]),
     onnx_node("Concat", ["bt", "two", "two", "two"], ["to"], axis=0), onnx_node("Reshape", ["x", "to"], ["h"]),
     onnx_node("Einsum", ["h", "h"], ["e"], equation="bthij,bshij->bts"), onnx_node("Softmax", ["e"], ["p"]),
     onnx_node("MatMul", ["p", "x"], ["m"]), onnx_node("MatMul", ["m", "q.weight"], ["y"])]))
seed("onnx", "parts", onnx(
    [onnx_shape("x", 5, 2, 3)],
    [onnx_tensor("W", (1, 16, 3)), onnx_tensor("R", (1, 16, 4)), onnx_tensor("yes", (1,), (1,))],
    [onnx_node("LSTM", ["x", "W", "R"], ["y", "", "c"], hidden_size=4), onnx_node("F", ["c"], ["f"], domain="d", to=1),
     onnx_node("If", ["yes"], ["z"], then_branch=field(1, onnx_node("Relu", ["f"], ["t"])) + field(12, field(1, "t")),
               else_branch=field(1, onnx_node("Det", ["f"], ["e"])) + field(12, field(1, "e")))],
    [field(1, "F") + field(10, "d") + field(4, "a") + field(5, "b") + field(7, onnx_node("Tanh", ["a"], ["b"]))]))

with tarfile.open(fileobj=(target := BytesIO()), mode="w", format=tarfile.USTAR_FORMAT) as out:
    item = tarfile.TarInfo("train/cat/1.png")
    item.size = 5
    out.addfile(item, BytesIO(b"bytes"))
    for name, kind, to in (("hard", tarfile.LNKTYPE, "train/cat/1.png"), ("train/soft", tarfile.SYMTYPE, "cat/1.png")):
        item = tarfile.TarInfo(name)
        item.type, item.linkname = kind, to
        out.addfile(item)
seed("archive", "links.tar", target.getvalue()[:4096])  # its end mark is the last 1,024 bytes
seed("archive", "links.tar.gz", gzip.compress(target.getvalue(), mtime=0))
with zipfile.ZipFile(target := BytesIO(), "w", zipfile.ZIP_DEFLATED) as out:
    for name in ("a.txt", "folder/b.txt"):
        out.writestr(zipfile.ZipInfo(name), b"bytes " * 9, zipfile.ZIP_DEFLATED)
seed("archive", "two.zip", target.getvalue())

OBJECT = ("<object><name>{}</name><difficult>1</difficult><bndbox><xmin>{}</xmin><ymin>2</ymin><xmax>9.5</xmax>"
          "<ymax>20</ymax></bndbox></object>")
seed("voc", "boxes", ("<annotation><filename>1.jpg</filename><size><width>64</width><height>48</height></size>"
                      + OBJECT.format("cat", 1) + OBJECT.format("dog", "nan") + "</annotation>").encode())
seed("voc", "no-size", ("<annotation>" + OBJECT.format("dog", "-1e300") + "</annotation>").encode())
seed("text", "sentences", "\ufeffa b\r\n\ufeffein Wört\n".encode())
seed("text", "classes", b"cat\ndog\n../x\n")

# Files of a run folder, in the order of run_folder_fuzz.cpp.
SCORE = {"method": "bp", "model": "net", "data": "toy", "device": "cpu", "precision": "fp32", "seed": 0, "epochs": 2,
         "batch": 8, "task": "classification", "metric": "top1", "figures": {"top1": 50.5}, "loss": 1, "best_top1": 51,
         "train_seconds": 3, "eval_seconds": 1, "bp_batches": 4, "gp_batches": 2, "cosine": 0.5, "q": None}
RECORDS = [{"kind": "train", "step": 1, "loss": 2.5, "probes": [[0.5, 1, 1, 0, 0, 9, 0.25, 0.5], None]},
           {"kind": "epoch", "epoch": 0, "step": 2, "test_top1": 40, "test_loss": 2, "train_seconds": 1.5,
            "cost_epochs": 1},
           {"kind": "decision", "step": 3, "what": "adopt", "candidate": "skip", "tried": 2, "used_k": 2, "rate": 1,
            "bp_rate": 0.5, "low": 0.1, "pairs": 3}]
BUDGET = {"about": "", "conditions": {}, "metric": "top1", "notes": [], "rows": [{"method": "bp", "batch": 8,
          "epochs": 2, "top1_mean": 50}], "targets": [{"target": "bp 2 ep", "score": 50}],
          "runs": [{"method": m, "batch": 8, "epochs": e, "seed": 0, "top1": 25 * e, "cost": e, "seconds": e}
                   for m, e in (("bp", 2), ("bp", 3), ("skip", 2))]}
SIMULATED = {"model": "net", "dataflow": "ws", "designs": {"max": {"total_cycles": 9, "energy_j": 1, "speedup": 2}},
             "roof": {"macs_per_cycle": 4, "dram_words_per_cycle": 0.5}, "layers": [
                 {"name": "a", "passes": {"forward": {"macs": 8, "cycles": 4, "dram_words": 2}}}]}
PIPELINE = {"schedule": "gpipe", "stages": 2, "makespan": 3, "utilisation": [1, 0.5],
            "events": [[0, 0, 1, "0", "forward"], [1, 1, 3.5, "0", "backward"]]}
CONFIG = 'method = "bp"\nepochs = 2\nbatch = 8\n[model]\nname = "<img>"\n'
LINES = "\n".join(json.dumps(record) for record in RECORDS) + "\n"
for name, files in {
    "run": [CONFIG, LINES, json.dumps(SCORE), '{"device": "cpu", "argv": ["a"]}'],
    "unfinished": [CONFIG, LINES + '{"kind":'],
    "budget": [CONFIG, LINES, json.dumps(SCORE), "", "", json.dumps(BUDGET)],
    "simulation": ["", "", "", "", "", "", json.dumps(SIMULATED)],
    "pipeline": ["", "", "", "", "", "", json.dumps([PIPELINE])],
}.items():
    seed("run_folder", name, "\n%%\n".join(files).encode())

# Seeds of rtl_program are what the program writes for a network of one linear layer:
#   (head -1 T; tail -1 T) > one.csv, T = configs/layers/resnet8-cifar.csv
#   adagp rtl program --table one.csv --design D -o corpus/rtl_program/D, D = baseline, low, efficient, max
