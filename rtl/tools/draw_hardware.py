#!/usr/bin/env python3
"""Draws a block diagram of each hardware design: docs/img/hardware-{baseline,low,efficient,max}.svg.

    rtl/tools/draw_hardware.py            # into docs/img
    rtl/tools/draw_hardware.py FOLDER
    rtl/tools/draw_hardware.py --check    # do the files in docs/img equal what this script draws?

Blocks that a design adds to the baseline, and blocks that do more in it, have other colours. Needs
Python alone. A picture has a background of its own and a dark form, so it is readable on light and on
dark pages. The script stops where a text is wider than its block.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

IMAGES = Path(__file__).resolve().parents[2] / "docs/img"
WIDTH = 900
TITLE_SIZE, LINE_SIZE = 14, 12
LETTER = 0.62  # mean width of a letter over its size in a wide font (DejaVu Sans)

STYLE = """
  text { font-family: system-ui, "Segoe UI", Helvetica, Arial, sans-serif; font-size: 12px; }
  .page { fill: #ffffff; stroke: #d0d7de; } .ink { fill: #1f2328; } .soft { fill: #57606a; }
  .block { fill: #f3f5f8; stroke: #57606a; stroke-width: 1.4; }
  .added { fill: #ffe9d6; stroke: #bc4c00; stroke-width: 2; }
  .extended { fill: #fff6d8; stroke: #9a6700; stroke-width: 2; }
  .outside { fill: none; stroke: #57606a; stroke-width: 1.4; stroke-dasharray: 5 4; }
  .frame { fill: none; stroke: #57606a; } .newframe { fill: none; stroke: #bc4c00; }
  .wire { stroke: #57606a; stroke-width: 1.6; fill: none; } .head { fill: #57606a; }
  .newwire { stroke: #bc4c00; stroke-width: 2; fill: none; } .newhead { fill: #bc4c00; }
  .control { stroke: #57606a; stroke-width: 1.1; stroke-dasharray: 2 3; fill: none; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; stroke: #30363d; } .ink { fill: #e6edf3; } .soft { fill: #9ea7b3; }
    .block { fill: #1b222c; stroke: #9ea7b3; } .added { fill: #43260f; stroke: #ff9a57; }
    .extended { fill: #362d0c; stroke: #e3b341; }
    .outside { stroke: #9ea7b3; } .wire { stroke: #9ea7b3; } .head { fill: #9ea7b3; }
    .frame { stroke: #9ea7b3; } .newframe { stroke: #ff9a57; } .newwire { stroke: #ff9a57; }
    .newhead { fill: #ff9a57; } .control { stroke: #9ea7b3; }
  }
"""


@dataclass
class Block:
    x: int
    y: int
    w: int
    h: int
    title: str
    lines: tuple = ()
    kind: str = "block"

    @property
    def right(self):
        return self.x + self.w

    @property
    def bottom(self):
        return self.y + self.h


@dataclass
class Design:
    name: str
    title: str
    caption: tuple
    predictor: bool = True  # schedule, updates from predicted gradients
    memory: bool = False    # PX beside X
    array: bool = False     # a second array with PX, PW and PY


DESIGNS = (
    Design("baseline", "Baseline: one array, backpropagation on every batch",
           ("Every batch runs forward, input gradient and weight gradient on the same array.",),
           predictor=False),
    Design("low", "ADA-GP-LOW: the main array also runs the predictor",
           ("After a layer, the DMA loads the predictor's weights into X and the main array runs the predictor.",)),
    Design("efficient", "ADA-GP-Efficient: a memory keeps the predictor's weights",
           ("After a layer, the main array runs the predictor. Its weights stay in PX: the DMA loads nothing.",),
           memory=True),
    Design("max", "ADA-GP-MAX: a second array runs the predictor",
           ("The predictor array works on a layer's output while the main array computes the next layer.",),
           array=True),
)


def text(x, y, words, kind, size=LINE_SIZE, bold=False, anchor="middle"):
    weight = ' font-weight="600"' if bold else ""
    return (f'<text class="{kind}" x="{x}" y="{y}" text-anchor="{anchor}"{weight} '
            f'style="font-size: {size}px">{escape(words)}</text>')


def must_fit(words, size, room, where):
    if len(words) * size * LETTER > room:
        raise SystemExit(f"draw_hardware: '{words}' is wider than {where} ({room} px)")


def draw_block(block):
    out = [f'<rect class="{block.kind}" x="{block.x}" y="{block.y}" width="{block.w}" '
           f'height="{block.h}" rx="6"/>']
    must_fit(block.title, TITLE_SIZE, block.w - 8, f"its block '{block.title}'")
    height = TITLE_SIZE + 17 * len(list(filter(None, block.lines)))
    if height > block.h - 8:
        raise SystemExit(f"draw_hardware: the lines of '{block.title}' are higher than its block")
    middle, y = block.x + block.w / 2, block.y + (block.h - height) / 2 + TITLE_SIZE - 2
    out.append(text(middle, y, block.title, "ink", TITLE_SIZE, True))
    for number, line in enumerate(filter(None, block.lines)):
        must_fit(line, LINE_SIZE, block.w - 8, f"its block '{block.title}'")
        out.append(text(middle, y + 17 * (number + 1), line, "soft"))
    return out


def wire(points, new=False, control=False):
    """A line with right angles and an arrow head at its end."""
    kind = "control" if control else "newwire" if new else "wire"
    path = "M" + " L".join(f"{x} {y}" for x, y in points)
    (ax, ay), (bx, by) = points[-2:]
    dx, dy = (bx > ax) - (bx < ax), (by > ay) - (by < ay)
    head = " ".join(f"{bx - 8 * dx + side * 4.5 * dy},{by - 8 * dy + side * 4.5 * dx}" for side in (1, -1))
    return [f'<path class="{kind}" d="{path}"/>',
            f'<polygon class="{"newhead" if new else "head"}" points="{bx},{by} {head}"/>']


def both_ways(x, top, bottom, new=False):
    return wire([(x - 9, top), (x - 9, bottom)], new) + wire([(x + 9, bottom), (x + 9, top)], new)


# Memories of the main array and what they hold.
MEMORIES = (("X", "activations"), ("Y", "sums"), ("W", "weights"), ("G", "dY"), ("D", "dX"), ("O", "dW"),
            ("V, P", "momentum"))
UNITS, BANKS, PREDICTOR = 146, 310, 430  # top edges of the three rows


def blocks_of(design):
    more = "extended" if design.predictor else "block"
    below = design.memory or design.array
    blocks = {
        "sequencer": Block(170, 52, 450, 54, "Sequencer, event counters",
                           ("reads descriptors, starts every unit",)),
        "array": Block(170, UNITS, 250, 104, "PE array, 12 x 15",
                       ("forward: W stays", "dX: the same W stays", "dW: the sums stay")),
        "vector": Block(440, UNITS, 222, 104, "Vector unit",
                        ("bias, ReLU, rounding", "SGD with momentum",
                         "also from predictions" if design.predictor else ""), more),
        "reorganisation": Block(682, UNITS, 188, 104, "Reorganisation",
                                ("bias gradients",) + (("batch mean, pooling", "channel = sample")
                                                       if design.predictor else ()), more),
        "dram": Block(30, UNITS, 96, 104, "Memory", ("off-chip",), "outside"),
        "dma": Block(30, BANKS, 96, 194 if below else 74, "DMA", ("valid,", "ready")),
    }
    for number, (name, what) in enumerate(MEMORIES):
        x = 170 + 98 * number + (14 if number else 0)  # a gap behind X, for the wire from PX
        blocks[name] = Block(x, BANKS - 2, 92 if number < 6 else 90, 74, name, (what,))
    if design.predictor:
        blocks["schedule"] = Block(642, 52, 228, 54, "Schedule", ("warm-up, k GP : m BP",), "added")
    if design.memory:
        blocks["PX"] = Block(170, PREDICTOR, 250, 74, "PX", ("weights of the predictor",), "added")
    if design.array:
        blocks["predictor"] = Block(170, PREDICTOR, 250, 74, "Predictor array, 8 x 10",
                                    ("runs it and trains it",), "added")
        for x, name, pair, what in ((470, "PX", "PX, PD", "weights,"), (606, "PW", "PW, PO", "inputs,"),
                                    (742, "PY", "PY, PG", "outputs,")):
            blocks[name] = Block(x, PREDICTOR, 120, 74, pair, (what, "gradients"), "added")
    return blocks


def wires_of(design, b):
    unit_bottom = b["array"].bottom
    # A frame around memories: what ends at it reaches the ones it needs.
    out = [f'<rect class="frame" x="162" y="{BANKS - 10}" width="708" height="90" rx="8"/>']
    if design.array:
        out.append(f'<rect class="newframe" x="462" y="{PREDICTOR - 8}" width="408" height="90" rx="8"/>')
    for name in ("array", "vector", "reorganisation"):
        middle = b[name].x + b[name].w // 2
        out += both_ways(330 if name == "array" else middle, unit_bottom, BANKS - 10)
        out += wire([(min(middle, 600), 106), (min(middle, 600), UNITS)] if middle < 600 else
                    [(600, 106), (600, 126), (middle, 126), (middle, UNITS)], control=True)
    new = design.name == "low"  # the predictor's weights come this way for every layer
    out += both_ways(b["dma"].x + 48, b["dram"].bottom, BANKS, new)
    out += wire([(b["dma"].right, BANKS + 28), (162, BANKS + 28)], new)
    out += wire([(162, BANKS + 46), (b["dma"].right, BANKS + 46)], new)
    if design.predictor:
        out += wire([(642, 79), (620, 79)], new=True)
    if design.memory:
        out += wire([(270, PREDICTOR), (270, unit_bottom)], new=True)
        out += wire([(b["dma"].right, PREDICTOR + 37), (170, PREDICTOR + 37)], new=True)
    if design.array:
        # The DMA's wire goes below the array to its memories.
        under = PREDICTOR + 74 + 16
        out += wire([(69, b["dma"].bottom), (69, under + 8), (548, under + 8), (548, PREDICTOR + 82)], new=True)
        out += wire([(530, PREDICTOR + 82), (530, under), (87, under), (87, b["dma"].bottom)], new=True)
        out += wire([(462, PREDICTOR + 26), (420, PREDICTOR + 26)], new=True)
        out += wire([(420, PREDICTOR + 48), (462, PREDICTOR + 48)], new=True)
        # Vector unit and reorganisation unit.
        side = b["reorganisation"].right
        out += wire([(side, 176), (890, 176), (890, PREDICTOR + 26), (870, PREDICTOR + 26)], new=True)
        out += wire([(870, PREDICTOR + 48), (882, PREDICTOR + 48), (882, 196), (side, 196)], new=True)
    return out


def picture(design):
    blocks = blocks_of(design)
    bottom = max(block.bottom for block in blocks.values()) + (26 if design.array else 0)
    height = bottom + 34 + 18 * len(design.caption)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
           f'width="{WIDTH}" height="{height}" role="img">',
           f"<title>{escape(design.title)}</title>", f"<style>{STYLE}</style>",
           f'<rect class="page" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>']
    must_fit(design.title, 16, 670, "the picture")
    out.append(text(22, 30, design.title, "ink", 16, True, "start"))
    if design.predictor:
        for x, kind, words in ((700, "added", "added"), (780, "extended", "does more")):
            out.append(f'<rect class="{kind}" x="{x}" y="18" width="16" height="14" rx="3"/>')
            out.append(text(x + 23, 30, words, "soft", anchor="start"))
    out += wires_of(design, blocks)
    for block in blocks.values():
        out += draw_block(block)
    for number, line in enumerate(design.caption):
        must_fit(line, LINE_SIZE, WIDTH - 44, "the picture")
        out.append(text(30, bottom + 32 + 18 * number, line, "soft", anchor="start"))
    return "\n".join(out + ["</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description="block diagrams of the hardware designs")
    parser.add_argument("folder", nargs="?", type=Path, default=IMAGES)
    parser.add_argument("--check", action="store_true", help="compare with the files instead of writing")
    args = parser.parse_args()
    if not args.check:
        args.folder.mkdir(parents=True, exist_ok=True)
    for design in DESIGNS:
        path = args.folder / f"hardware-{design.name}.svg"
        if not args.check:
            path.write_text(picture(design))
            print(f"draw_hardware: wrote {path}")
        elif not path.exists() or path.read_text() != picture(design):
            sys.exit(f"draw_hardware: {path} is not what this script draws; run rtl/tools/draw_hardware.py")


if __name__ == "__main__":
    main()
