#!/usr/bin/env python3
"""Draws the waveform of one tile, as the RTL runs it: docs/img/hardware-tile.svg.

    rtl/tools/draw_tile.py [OUT.svg]

A forward tile of two rows on a 2 x 2 array with X = [[1, 4], [5, 2]] and W = [[2, 3], [0, 1]]: the result
must be Y = [[2, 7], [10, 17]], or the script stops. It builds the Verilator model (rtl/tools/model.sh
--trace), writes a program, runs it with --vcd and reads the signals back.
"""

import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from draw_hardware import STYLE, text
from program import Codes, program_text

ROOT = Path(__file__).resolve().parents[2]
X, W, Y = [[1, 4], [5, 2]], [[2, 3], [0, 1]], [[2, 7], [10, 17]]
STEPS = ["", "load W", "stream", "flush", "drain", "end"]  # the states of tile_control
MORE_STYLE = """
  .cell { fill: #f3f5f8; stroke: #d0d7de; } .w { fill: #ffe9d6; stroke: #bc4c00; }
  .x { fill: #ddf4ff; stroke: #0969da; } .y { fill: #dafbe1; stroke: #1a7f37; }
  @media (prefers-color-scheme: dark) {
    .cell { fill: #1b222c; stroke: #30363d; } .w { fill: #43260f; stroke: #ff9a57; }
    .x { fill: #0c2d4d; stroke: #58a6ff; } .y { fill: #12361e; stroke: #4ac26b; }
  }
"""


def program():
    codes = Codes()
    memory, make = codes.place["buffer"], codes.descriptor
    return program_text(
        [make("dma", kind=memory["x"], n0=2, addr=0), make("dma", kind=memory["w"], n0=2, addr=2),
         make("tile", wait=1 << codes.place["engine"]["dma"], mode=codes.place["mode"]["forward"], load_w=1, n0=2,
              n1=1, n2=1, s0=1),
         make("end")],
        design="baseline", format="fixed", array="2x2", predictor_array="1x1", predictor_modes=1, x_bits=4, y_bits=4,
        w_bits=4, predictor_bits=4, descriptor_bits=codes.address_bits["descriptor"])


def signals_of(vcd, wanted):
    """[{name: value}], one entry per cycle: what the signals are just before the next rising edge."""
    names, scope, now, cycles, high = {}, [], {}, [], None
    lines = iter(vcd.splitlines())
    for line in lines:
        words = line.split()
        if words[:1] == ["$scope"]:
            scope.append(words[2])
        elif words[:1] == ["$upscope"]:
            scope.pop()
        elif words[:1] == ["$var"]:
            names.setdefault(words[3], []).append(".".join([*scope[1:], words[4]]))
        elif words[:1] == ["$enddefinitions"]:
            break
    for line in lines:
        if line.startswith("b"):
            value, code = line[1:].split()
        elif line and line[0] in "01":
            value, code = line[0], line[1:]
        else:
            continue
        for name in names.get(code, ()):
            if name == "clk":
                if value == "1" and high is False:
                    cycles.append({one: int(now.get(one, "0"), 2) for one in wanted})
                high = value == "1"
            now[name] = value
    return cycles


def simulate(folder):
    model = subprocess.run([ROOT / "rtl/tools/model.sh", "baseline", "2x2", "fixed", "--predictor", "1x1", "--bits",
                            "4", "--trace"], check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
    (folder / "tile.hex").write_text(program())
    (folder / "memory").write_bytes(struct.pack("<8I", *(word for row in X + W for word in row)))
    done = subprocess.run([model, folder / "tile.hex", "--memory", folder / "memory", "--vcd", folder / "tile.vcd"],
                          check=True, text=True, stdout=subprocess.PIPE)
    main = "adagp_top.main."
    wanted = [main + name for name in ("control.state", "left_is_w", "left", "bottom", "right", "col_now", "row_out")]
    cycles = [{name.removeprefix(main): value for name, value in cycle.items()}
              for cycle in signals_of((folder / "tile.vcd").read_text(), wanted)]
    busy = [i for i, cycle in enumerate(cycles) if cycle["control.state"]]
    if len(busy) != json.loads(done.stdout)["events"]["busy_main"]:
        sys.exit("draw_tile: the waveform's cycles are not those of the counter")
    return cycles[busy[0]:busy[-1] + 1]


def lane(cycle, name, k):
    value = cycle[name] >> 32 * k & 0xFFFFFFFF
    return value - (value >> 31 << 32)


def rows_of(cycles):
    """[(label, [(class, text) or None per cycle])]"""
    rows = [("step", [("cell", STEPS[cycle["control.state"]]) for cycle in cycles])]
    for k in (0, 1):
        rows.append((f"into row {k}, from the left",
                     [("w", f"w {lane(c, 'left', k)}") if c["left_is_w"] else None for c in cycles]))
    for k in (0, 1):
        rows.append((f"into column {k}, from below",
                     [("x", f"x {lane(c, 'bottom', k)}") if c["col_now"] >> k & 1 else None for c in cycles]))
    for k in (0, 1):
        rows.append((f"out of row {k}, into Y",
                     [("y", f"y {lane(c, 'right', k)}") if c["row_out"] >> k & 1 else None for c in cycles]))
    return rows


def check(rows):
    seen = [[int(cell[1][2:]) for cell in cells if cell] for _, cells in rows[-2:]]
    expected = [[row[k] for row in Y] for k in (0, 1)]
    if seen != expected:
        sys.exit(f"draw_tile: the rows of the array gave {seen}, expected {expected}")


def picture(rows):
    left, cell, height = 204, 62, 30
    count = len(rows[0][1])
    width, bottom = left + cell * count + 20, 82 + height * len(rows)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {bottom + 16}" width="{width}" '
           f'height="{bottom + 16}" role="img">', "<title>One forward tile on a 2 x 2 array</title>",
           f"<style>{STYLE}{MORE_STYLE}</style>",
           f'<rect class="page" x="0.5" y="0.5" width="{width - 1}" height="{bottom + 15}" rx="8"/>',
           text(22, 30, "One forward tile of two rows on a 2 x 2 array, cycle by cycle", "ink", 16, True, "start"),
           text(left - 14, 68, "cycle", "soft", anchor="end")]
    out += [text(left + cell * (i + 0.5), 68, str(i + 1), "soft") for i in range(count)]
    for number, (label, cells) in enumerate(rows):
        y = 78 + height * number
        out.append(text(left - 14, y + 19, label, "ink", anchor="end"))
        for i, one in enumerate(cells):
            kind, words = one or ("cell", "")
            out.append(f'<rect class="{kind}" x="{left + cell * i + 2}" y="{y + 2}" width="{cell - 4}" '
                       f'height="{height - 4}" rx="3"/>')
            out.append(text(left + cell * (i + 0.5), y + 19, words, "ink"))
    return "\n".join(out + ["</svg>", ""])


def main():
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs/img/hardware-tile.svg"
    with tempfile.TemporaryDirectory() as folder:
        rows = rows_of(simulate(Path(folder)))
    check(rows)
    path.write_text(picture(rows))
    print(f"draw_tile: wrote {path}")


if __name__ == "__main__":
    main()
