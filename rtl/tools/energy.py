#!/usr/bin/env python3
"""pJ of each event of the machine, from the toggles of its cells while a program runs.

    rtl/tools/energy.py [--formats fixed,bf16] [--liberty FILE] [-o FOLDER] [--copy FILE.csv]

A small machine of design MAX (2 x 3 PEs, predictor array 1 x 2, 256 rows of each memory) is mapped to a cell library
and runs a program in Icarus Verilog in which one unit works at a time: each step of a layer's training, on normal
random numbers (gate_netlist.py). The memory outside must then be that of the RTL. Toggles times the library's energies
(switching.py) are what a step takes; what it takes beyond as many cycles of the stopped machine is its events' energy.
It runs twice: with the gates' delays, so that wires glitch, and without. Memory banks are no cells and are left out.
Exit code 2: wrong option; 3: a file or a tool is missing, or the memories differ.
"""

import argparse
import json
import random
import struct
import subprocess
import sys
from collections import Counter
from pathlib import Path

import gate_netlist
from liberty import CellLibrary
from program import Codes, program_text
from liberty import BadInput
from switching import delays, picojoules, toggle_energies, toggles
from synth import FORMATS, LIBRARIES, parse_list, write_csv

ROOT = Path(__file__).resolve().parents[2]
ROWS, COLS, PROWS, PCOLS, BITS, DESCRIPTOR_BITS = 2, 3, 1, 2, 8, 7
N = 120  # rows of each step
LOADS = 24  # tiles of one row, for what loading weights costs
MACHINE = {"DESIGN": 3, "ROWS": ROWS, "COLS": COLS, "PROWS": PROWS, "PCOLS": PCOLS, "PMODES": 1, "LX": BITS,
           "LY": BITS, "LW": BITS, "LP": BITS, "LD": DESCRIPTOR_BITS}
LANES = max(ROWS, COLS, PROWS, PCOLS)
# Memory -> (place outside in units of N rows, standard deviation of its numbers, none below 0).
OUTSIDE = {"x": (0, 1, True), "w": (1, 0.5, False), "p": (2, 0.5, False), "v": (3, 0.1, False), "o": (4, 1, False),
           "px": (5, 0.5, False), "pw": (6, 1, True)}
SCALE_ROW, FRACTION = (1 << BITS) - 1, 256  # the scale's row of P; one, in fixed point
# What works in a step -> its events: (name, units that pay, events in a step, what one of them is)
EVENTS = [
    ("forward", ["PE"], N * ROWS * COLS, "MAC, forward"),
    ("input gradient", ["PE"], N * ROWS * COLS, "MAC, input gradient"),
    ("weight gradient", ["PE"], N * ROWS * COLS, "MAC, weight gradient"),
    ("forward", ["array's control", "memory ports"], N, "row of the main array beside its PEs"),
    ("act", ["vector unit"], N * ROWS, "vector unit, lane: ReLU and rounding"),
    ("back", ["vector unit"], 2 * N * ROWS, "vector unit, lane: mask"),
    ("update", ["vector unit"], N * ROWS, "vector unit, lane: update"),
    ("predicted update", ["vector unit"], N * ROWS, "vector unit, lane: predicted update"),
    ("error", ["vector unit"], N * ROWS, "vector unit, lane: error"),
    ("slope", ["vector unit"], N * ROWS, "vector unit, lane: slope"),
    ("window sums", ["reorganisation unit"], N * ROWS, "reorganisation unit, lane"),
    ("load", ["DMA", "memory ports"], N * LANES, "word loaded by the DMA"),
    ("store", ["DMA", "memory ports"], N * LANES, "word stored by the DMA"),
]


def unit_of(path):
    if path.startswith("g_pred.pred.cells"):
        return "predictor PE"
    if path.startswith("main.cells"):
        return "PE"
    if ".mem_" in path or path.startswith("mem_"):
        return "memory ports"
    starts = {"g_pred.pred": "predictor array's control", "main": "array's control", "vec": "vector unit",
              "reorg": "reorganisation unit", "dma": "DMA", "events_seen": "event counters"}
    return next((unit for start, unit in starts.items() if path.startswith(start)), "sequencer and choice of rows")


def steps(codes):
    """[(label, descriptor)]: one unit at a time."""
    place, every = codes.place, {"wait": 31}
    rows = {"n0": N, "n1": 1, "n2": 1, "s0": 1, **every}

    def tile(label, op="tile", mode="forward", **more):
        return label, codes.descriptor(op, mode=place["mode"][mode], **{**rows, **more})

    def vec(label, kind, **more):
        return label, codes.descriptor("vec", kind=place["vec"][kind], **rows, **more)

    def dma(label, buffer, **more):
        return label, codes.descriptor("dma", kind=place["buffer"][buffer], n0=N, addr=OUTSIDE[buffer][0] * N,
                                       **every, **more)

    shift = {"shift_a": FRACTION.bit_length() - 1}
    moves = {"shift_a": 3, "shift_b": 4, "rot": 0}
    windows = {**every, "n0": 4, "n1": 1, "n2": 1, "s0": 1, "xb": 4, "shift_a": 2, "addr": N // 4 | 1 << 16}
    scale = {"kind": place["buffer"]["p"], "n0": 1, "xb": SCALE_ROW, "addr": len(OUTSIDE) * N, **every}
    return [dma("load", buffer) for buffer in OUTSIDE] + [
        ("scale", codes.descriptor("dma", **scale)),
        tile("forward", load_w=1),
        vec("out", "out", **shift),
        tile("input gradient", mode="dx"),
        vec("back", "back", relu=1, gs=N // 2 + 8, **shift),
        vec("act", "act", relu=1, xb=N, gs=1, **shift),
        tile("weight gradient", mode="dw", clear=1),
        vec("update", "sgd", **moves),
        ("window sums", codes.descriptor("reorg", kind=place["reorg"]["y_to_w"], wb=N, **windows)),
        vec("predicted update", "sgd_pred", **moves),
        vec("error", "error", bias=1, wb=SCALE_ROW, **shift, rot=ROWS),
        vec("slope", "slope", **shift),
        tile("predictor forward", op="ptile", load_w=1),
        vec("gradient", "gradient"),
        *[tile("weights", load_w=1, n0=1, wb=COLS * i) for i in range(LOADS)],
        *[dma("store", buffer, store=1) for buffer in ("p", "v", "o")],
        ("end", codes.descriptor("end"))]


def word(number_format, value):
    """32 bits whose low half is the number in 16 bits; the whole is the same number in 32 bits, or near it."""
    if number_format == "fixed":
        return round(value * FRACTION) & 0xFFFFFFFF
    high = struct.unpack("<I", struct.pack("<f", value))[0] >> 16
    return high << 16 | high


def outside_rows(number_format):
    """The memory outside: rows of LANES words. The last row, the predictor's scale, is 0."""
    draw = random.Random(1)
    rows = []
    for _, deviation, positive in OUTSIDE.values():
        for _ in range(N):
            values = [draw.gauss(0, deviation) for _ in range(LANES)]
            rows.append([word(number_format, max(value, 0) if positive else value) for value in values])
    return [*rows, [0] * LANES]


def rtl_memory(number_format, folder, descriptors, rows):
    """What the program leaves outside on the RTL, by the Verilator model."""
    (folder / "steps.hex").write_text(program_text(
        descriptors, design="max", format=number_format, array=f"{ROWS}x{COLS}", predictor_array=f"{PROWS}x{PCOLS}",
        predictor_modes=3, x_bits=BITS, y_bits=BITS, w_bits=BITS, predictor_bits=BITS,
        descriptor_bits=DESCRIPTOR_BITS))
    (folder / "memory").write_bytes(struct.pack(f"<{len(rows) * LANES}I", *(word for row in rows for word in row)))
    model = output_of(ROOT / "rtl/tools/model.sh", "max", f"{ROWS}x{COLS}", number_format, "--predictor",
                      f"{PROWS}x{PCOLS}", "--predictor-modes", 3, "--bits", BITS, "--descriptor-bits", DESCRIPTOR_BITS,
                      "--build", folder.parent / "models").strip()
    run = output_of(model, folder / "steps.hex", "--memory", folder / "memory", "--dump", folder / "after")
    if not json.loads(run)["equal"]:
        raise BadInput(f"{model}: its counters are not those of the cycle model")
    after = (folder / "after").read_bytes()
    words = struct.unpack(f"<{len(after) // 4}I", after)
    return [words[i:i + LANES] for i in range(0, len(words), LANES)]


def output_of(*words):
    done = subprocess.run([str(word) for word in words], text=True, capture_output=True)
    if done.returncode != 0:
        raise BadInput(f"{words[0]}: {(done.stderr.strip().splitlines() or ['it failed'])[-1]}")
    return done.stdout


def hex_lines(rows):
    return "".join("".join(f"{word:08x}" for word in reversed(row)) + "\n" for row in rows)


def measure(number_format, liberty, folder):
    """With delays of the gates and without: ({step: {unit: pJ}}, {step: cycles})."""
    folder.mkdir(parents=True, exist_ok=True)
    labelled, rows = steps(Codes()), outside_rows(number_format)
    descriptors = [one for _, one in labelled]
    library = CellLibrary(liberty)
    values = {**MACHINE, "FORMAT": FORMATS.index(number_format)}
    netlist = gate_netlist.run_yosys(folder, gate_netlist.yosys_script(ROOT / "rtl", values, liberty))
    (folder / "descriptors.hex").write_text("".join(f"{one:064x}\n" for one in descriptors))
    (folder / "outside.hex").write_text(hex_lines(rows))
    expected = rtl_memory(number_format, folder, descriptors, rows)
    energies = toggle_energies(netlist, library, unit_of)

    def step(values):
        if values["seq_state"] == 0:
            return "stopped"
        return "issue" if values["seq_idle"] == 31 else labelled[max(values["seq_pc"] - 1, 0)][0]

    out = []
    for late in (delays(netlist, library), None):
        gate_netlist.simulate(folder, gate_netlist.model(netlist, library, late), LANES=LANES, LD=DESCRIPTOR_BITS,
                              DESCRIPTORS=len(descriptors), BEATS=len(rows))
        after = [line for line in (folder / "cells.hex").read_text().split("\n") if line and line[0] != "/"]
        if after != hex_lines(expected).split():
            raise BadInput(f"{folder}: the cells leave another memory than the RTL")
        with open(folder / "cells.vcd") as lines:
            counts, cycles, wires = toggles(lines, ("seq_state", "seq_idle", "seq_pc"), step)
        out.append(({name: picojoules(seen, wires, energies) for name, seen in counts.items()}, cycles))
    return out


def events(energies, cycles):
    """[(event, pJ)]: beyond what as many cycles take in which the machine is stopped."""
    rest = Counter({unit: energy / cycles["stopped"] for unit, energy in energies["stopped"].items()})

    def beyond(step, units):
        return sum(energies[step].get(unit, 0) - rest[unit] * cycles[step] for unit in units)

    out = [(what, beyond(step, units) / count) for step, units, count, what in EVENTS]
    mac = out[0][1]
    loads = beyond("weights", ["PE"]) / LOADS - ROWS * COLS * mac
    out.append(("hop: a weight to the next PE", loads / (ROWS * COLS * COLS)))
    shares = {"PE": ROWS * COLS, "predictor PE": PROWS * PCOLS, "vector unit": ROWS, "reorganisation unit": ROWS}
    for unit, energy in sorted(rest.items()):
        out.append((f"stopped, a cycle: {unit}" + (", each" if unit in shares else ""),
                    energy / shares.get(unit, 1)))
    return out


def arguments():
    parser = argparse.ArgumentParser(description="pJ of each event of the machine", allow_abbrev=False)
    parser.add_argument("--formats", type=parse_list(FORMATS), default=list(FORMATS))
    parser.add_argument("--liberty", type=Path, default=LIBRARIES["osu035"], help="the cell library")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "build/rtl-energy")
    parser.add_argument("--copy", type=Path, help="also write energy.csv there")
    return parser.parse_args()


def main():
    args = arguments()
    rows = []
    try:
        for number_format in args.formats:
            found = measure(number_format, args.liberty.resolve(), args.output.resolve() / number_format)
            for (name, energy), (_, least) in zip(*(events(*one) for one in found)):
                rows.append((number_format, name, f"{energy:.4g}", f"{least:.4g}"))
    except FileNotFoundError as error:
        print(f"rtl-energy: {error.filename} is missing; scripts/setup.sh --sim --synth installs what is needed",
              file=sys.stderr)
        return 3
    except BadInput as error:
        print(f"rtl-energy: {error}", file=sys.stderr)
        return 3
    for path in [args.output / "energy.csv"] + ([args.copy] if args.copy else []):
        write_csv(path, ("format", "event", "pJ", "pJ without glitches"), rows)
    for number_format, name, energy, least in rows:
        print(f"{number_format:<8}{name:<55}{energy:>10}{least:>10}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
