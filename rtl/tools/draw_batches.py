#!/usr/bin/env python3
"""Draws three batches of design MAX over time, as the RTL runs them: docs/img/hardware-batches.svg.

    rtl/tools/draw_batches.py ADAGP [OUT.svg]

The program is that of vgg8s (CIFAR, batch 1) by `adagp rtl program`: a warm-up, a GP and a BP batch. The
Verilator model counts in which cycles each unit is busy (--activity); the script stops where the sums are
not the event counters. A column of the picture is 1/240 of the run; the darker, the more of it the unit
was busy.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from draw_hardware import STYLE, text

ROOT = Path(__file__).resolve().parents[2]
COLUMNS, LEFT, WIDE, HIGH = 240, 150, 3, 34
UNITS = (("main", "main array"), ("pred", "predictor array"), ("dma", "DMA"), ("vec", "vector unit"),
         ("reorg", "reorganisation"))
MORE_STYLE = """
  .busy { fill: #0969da; } .room { fill: #f3f5f8; } .border { stroke: #57606a; stroke-dasharray: 3 3; }
  @media (prefers-color-scheme: dark) {
    .busy { fill: #58a6ff; } .room { fill: #1b222c; } .border { stroke: #9ea7b3; }
  }
"""


def output_of(*words):
    return subprocess.run(words, check=True, text=True, stdout=subprocess.PIPE).stdout


def simulate(adagp, folder):
    hex_file = folder / "batches.hex"
    made = json.loads(output_of(adagp, "rtl", "program", "--model", "vgg8s", "--design", "max", "--schedule",
                                "1ep bp, 1ep gp, bp", "--epochs", "3", "--examples", "1", "--json", "-o", hex_file))
    head = dict(line.split(" ", 1) for line in hex_file.read_text().splitlines()[1:14])
    bits = ",".join(head[f"{name}_bits"] for name in ("x", "y", "w", "predictor"))
    model = output_of(ROOT / "rtl/tools/model.sh", "max", head["array"], head["format"], "--predictor",
                      head["predictor_array"], "--predictor-modes", head["predictor_modes"], "--bits", bits,
                      "--descriptor-bits", head["descriptor_bits"]).strip()
    every = -(-made["run_cycles"] // COLUMNS)
    run = json.loads(output_of(model, hex_file, "--activity", str(every)))
    for i, (name, _) in enumerate(UNITS):
        if sum(part[i] for part in run["activity"]) != run["events"][f"busy_{name}"]:
            sys.exit(f"draw_batches: the parts of {name} do not add up to its counter")
    if not run["equal"]:
        sys.exit("draw_batches: the RTL and the simulator differ")
    return run, every


def grouped(number):
    return f"{number:,}".replace(",", " ")


def picture(run, every):
    parts, events = run["activity"], run["events"]
    width, bottom = LEFT + WIDE * COLUMNS + 90, 92 + HIGH * len(UNITS)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {bottom + 46}" width="{width}" '
           f'height="{bottom + 46}" role="img">', "<title>Three batches of ADA-GP-MAX</title>",
           f"<style>{STYLE}{MORE_STYLE}</style>",
           f'<rect class="page" x="0.5" y="0.5" width="{width - 1}" height="{bottom + 45}" rx="8"/>',
           text(22, 30, "vgg8s, batch 1, on ADA-GP-MAX: which unit is busy", "ink", 16, True, "start"),
           text(LEFT + WIDE * COLUMNS + 45, 78, "busy", "soft")]
    for number, (name, label) in enumerate(UNITS):
        y = 84 + HIGH * number
        out.append(text(LEFT - 12, y + 21, label, "ink", anchor="end"))
        out.append(f'<rect class="room" x="{LEFT}" y="{y + 2}" width="{WIDE * COLUMNS}" height="{HIGH - 4}"/>')
        for i, part in enumerate(parts):
            share = part[number] / sum(part[len(UNITS):])
            if share > 0:
                out.append(f'<rect class="busy" x="{LEFT + WIDE * i}" y="{y + 2}" width="{WIDE}" '
                           f'height="{HIGH - 4}" fill-opacity="{share:.2f}"/>')
        share = events[f"busy_{name}"] / events["cycles"]
        out.append(text(LEFT + WIDE * COLUMNS + 45, y + 21, f"{100 * share:.0f} %", "soft"))
    begin = 0
    for phase, cycles in (("warm-up", events["warm_cycles"]), ("GP", events["gp_cycles"]),
                          ("BP", events["bp_cycles"])):
        end = begin + cycles
        middle = LEFT + WIDE * (begin + end) / 2 / every
        out.append(text(round(middle), 62, phase, "ink", bold=True))
        out.append(text(round(middle), 78, f"{grouped(cycles)} cycles", "soft"))
        if begin:
            x = LEFT + WIDE * begin / every
            out.append(f'<path class="border" d="M{x:.1f} 54 L{x:.1f} {bottom}"/>')
        begin = end
    out.append(text(LEFT, bottom + 22, f"0 to {grouped(events['cycles'])} cycles; a column is {grouped(every)}",
                    "soft", anchor="start"))
    return "\n".join(out + ["</svg>", ""])


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__.split("\n\n")[1])
    path = Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "docs/img/hardware-batches.svg"
    with tempfile.TemporaryDirectory() as folder:
        path.write_text(picture(*simulate(sys.argv[1], Path(folder))))
    print(f"draw_batches: wrote {path}")


if __name__ == "__main__":
    main()
