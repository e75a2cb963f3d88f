"""Counts of a synthesised design: Yosys' `stat -json` and a cell library in, resources out."""

import re
from collections import Counter

from liberty import BadInput, read

# Cells of synth_xilinx -> the resource that a table shows. Inverters are left out: they disappear
# into the LUT or flip-flop behind them.
XILINX = [
    (re.compile(r"LUT[1-6]$"), "LUT"),
    (re.compile(r"(RAM\d+X\d+[SD]|RAM\d+M(16)?|SRL16E|SRLC32E)$"), "LUT as memory"),
    (re.compile(r"FD[RSCP]E$"), "FF"),
    (re.compile(r"CARRY4$"), "CARRY4"),
    (re.compile(r"DSP48E1$"), "DSP48E1"),
    (re.compile(r"RAMB36E1$"), "RAMB36"),
    (re.compile(r"RAMB18E1$"), "RAMB18"),
]
XILINX_NAMES = ["LUT", "FF", "DSP48E1", "RAMB36", "RAMB18", "LUT as memory", "CARRY4"]
CELL_NAMES = ["combinational area", "sequential area", "cell area", "flip-flops"]


def source_name(module):
    """'$paramod$1f2e\\pe' and '$paramod\\pe\\FORMAT=...' are both made from the source module 'pe'."""
    match = re.match(r"\$paramod(?:\$[0-9a-f]+)?\\([^\\]+)", module)
    return match.group(1) if match else module


def xilinx_resources(cells):
    out = Counter()
    for name, number in cells.items():
        for pattern, resource in XILINX:
            if pattern.match(name):
                out[resource] += number
    return out


class Library:
    """Area of every cell of a Liberty file, and whether it is a flip-flop or latch."""

    def __init__(self, path):
        self.area, self.sequential = {}, set()
        for cell in (cell for library in read(path) for cell in library.all("cell")):
            if "area" not in cell.values:
                continue
            self.area[cell.arguments[0]] = float(cell.values["area"])
            if cell.all("ff", "ff_bank", "latch", "latch_bank"):
                self.sequential.add(cell.arguments[0])
        if not self.area or not self.sequential:
            raise BadInput(f"{path}: {len(self.area)} cells with an area and {len(self.sequential)} "
                           "flip-flops found; expected a Liberty file with both")

    def resources(self, cells):
        out = Counter()
        for name, number in cells.items():
            if name in self.area:
                kind = "sequential area" if name in self.sequential else "combinational area"
                out[kind] += number * self.area[name]
                out["cell area"] += number * self.area[name]
                out["flip-flops"] += number if name in self.sequential else 0
        return out


class Mapped:
    """The modules of one synthesis: a design's total is the sum over the tree below its top."""

    def __init__(self, stat, to_resources):
        self.to_resources = to_resources
        self.modules = {name: {cell.lstrip("\\"): number for cell, number in module["num_cells_by_type"].items()}
                        for name, module in stat.items()}

    def own(self, module):
        """What a module needs without the modules inside it."""
        cells = self.modules[module]
        return self.to_resources({n: c for n, c in cells.items() if n not in self.modules})

    def instances(self, top):
        """How often each module stands in the tree below `top`."""
        out = Counter()

        def walk(module, times):
            out[module] += times
            for name, number in self.modules[module].items():
                if name in self.modules:
                    walk(name, times * number)

        if top not in self.modules:
            raise BadInput(f"the synthesised design has no module '{top}'")
        walk(top, 1)
        return out

    def total(self, top, own=None):
        out = Counter()
        for module, times in self.instances(top).items():
            for name, number in (own[module] if own else self.own(module)).items():
                out[name] += times * number
        return out

    def by_source(self, top):
        """source module -> [instances, resources of all of them, without what is inside them]."""
        out = {}
        for module, times in self.instances(top).items():
            entry = out.setdefault(source_name(module), [0, Counter()])
            entry[0] += times
            for name, number in self.own(module).items():
                entry[1][name] += times * number
        return out


def increment(value, base):
    """Percent over the baseline, or None where the baseline has none of it."""
    return 100 * (value / base - 1) if base else None
