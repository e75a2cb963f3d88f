"""safetensors_both_ways.py OURS THEIRS: checks OURS (written by adagp), writes THEIRS for it to read."""

import sys

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

ours, theirs = sys.argv[1:]
numbers = torch.arange(6, dtype=torch.float64).reshape(2, 3)
quarters = numbers / 4 - 0.5
expected = {
    "f64": quarters,
    "f32": quarters.float(),
    "f16": quarters.half(),
    "bf16": quarters.bfloat16(),
    "f8_e4m3": quarters.to(torch.float8_e4m3fn),
    "i64": numbers.long() * 1_000_000_007 - 5,
    "i32": numbers.int() - 5,
    "i16": numbers.short() - 5,
    "i8": numbers.to(torch.int8) - 5,
    "u8": numbers.to(torch.uint8) + 250,
    "bool": numbers % 2 == 1,
    "scalar": torch.tensor(2.5),
    "empty": torch.empty(3, 0, 2),
    "odd.bytes": torch.arange(3, dtype=torch.uint8),
}

loaded = load_file(ours)
assert loaded.keys() == expected.keys(), loaded.keys()
for name, tensor in expected.items():
    assert loaded[name].dtype == tensor.dtype, name
    assert loaded[name].shape == tensor.shape, name
    assert torch.equal(loaded[name].double(), tensor.double()), name
with safe_open(ours, framework="pt") as file:
    assert file.metadata()["origin"] == "adagp", file.metadata()

save_file(expected, theirs, metadata={"origin": "python"})
