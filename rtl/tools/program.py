"""Programs for the Verilator models, written descriptor by descriptor."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Codes:
    """The words of rtl/machine.toml: places of fields, codes of operations, memories and kinds."""

    def __init__(self):
        table = tomllib.loads((ROOT / "rtl/machine.toml").read_text())
        self.first, at = {}, 0
        for field in table["field"]:
            self.first[field["name"]] = at
            at += field["bits"]
        self.ops = {op["name"]: op["code"] for op in table["op"]}
        self.place = {key: {one["name"]: i for i, one in enumerate(table[key])}
                      for key in ("buffer", "engine", "mode", "vec", "reorg")}
        self.address_bits = table["address_bits"]

    def descriptor(self, op, **fields):
        fields = {"op": self.ops[op], "mask": 7, **fields}
        return sum(value << self.first[name] for name, value in fields.items())


def program_text(descriptors, **machine):
    """The file: a head that names the machine, descriptors, checksum. One batch of warm-up."""
    lines = [f"{one:064x}" for one in descriptors]
    checksum = 2166136261  # FNV-1a
    for letter in "".join(lines).encode():
        checksum = (checksum ^ letter) * 16777619 & 0xFFFFFFFF
    head = ["adagp-rtl program 2", *(f"{name} {value}" for name, value in machine.items()),
            "epochs 1", "epoch_batches 1", "schedule bp", f"descriptors {len(lines)}"]
    return "\n".join([*head, *lines, f"checksum {checksum:08x}", ""])
