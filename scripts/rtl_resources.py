"""Counts of a synthesised design: Yosys' `stat -json` and a cell library in, resources out.

A design's total is the sum over its tree of modules. Every module is counted as it was mapped the
first time it was met, in whatever design: the mapper's results change by some percent when unrelated
names change, and 180 times the noise of a PE would hide what a design adds.
"""

import re
from collections import Counter
from pathlib import Path

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


class BadInput(Exception):
    """One sentence for the user."""


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
        try:
            text = Path(path).read_text(errors="replace")
        except OSError as error:
            raise BadInput(f"{path}: cannot be read ({error.strerror})") from error
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        parts = re.split(r"^\s*cell\s*\(\s*\"?([\w.]+)\"?\s*\)", text, flags=re.M)
        self.area, self.sequential = {}, set()
        for name, body in zip(parts[1::2], parts[2::2]):
            area = re.search(r"^\s*area\s*:\s*([0-9.eE+-]+)", body, flags=re.M)
            if not area:
                continue
            self.area[name] = float(area.group(1))
            if re.search(r"^\s*(ff|latch)(_bank)?\s*\(", body, flags=re.M):
                self.sequential.add(name)
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
    """Modules of one target, each kept as first mapped."""

    def __init__(self, to_resources, top):
        self.to_resources = to_resources
        self.top = top
        self.modules = {}

    def learn(self, stat):
        for name, module in stat.items():
            cells = {cell.lstrip("\\"): number for cell, number in module["num_cells_by_type"].items()}
            if name == self.top:
                self.modules[name] = cells  # the same name in every design, but not the same module
            else:
                self.modules.setdefault(name, cells)

    def own(self, module):
        cells = self.modules[module]
        return self.to_resources({n: c for n, c in cells.items() if n not in self.modules})

    def instances(self):
        """How often each module stands in the tree below the top module."""
        out = Counter()

        def walk(module, times):
            out[module] += times
            for name, number in self.modules[module].items():
                if name in self.modules:
                    walk(name, times * number)

        if self.top not in self.modules:
            raise BadInput(f"the synthesised design has no module '{self.top}'")
        walk(self.top, 1)
        return out

    def total(self):
        out = Counter()
        for module, times in self.instances().items():
            for name, number in self.own(module).items():
                out[name] += times * number
        return out

    def by_source(self):
        """source module -> (instances, resources of all of them, without what is inside them)."""
        out = {}
        for module, times in self.instances().items():
            count, sums = out.setdefault(source_name(module), [0, Counter()])
            for name, number in self.own(module).items():
                sums[name] += times * number
            out[source_name(module)][0] = count + times
        return out


def increment(value, base):
    """Percent over the baseline, or None where the baseline has none of it."""
    return 100 * (value / base - 1) if base else None
