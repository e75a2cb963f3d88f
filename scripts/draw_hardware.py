#!/usr/bin/env python3
"""Draws a block diagram of each hardware design: docs/img/hardware-{baseline,low,efficient,max}.svg.

    scripts/draw_hardware.py            # into docs/img
    scripts/draw_hardware.py FOLDER
    scripts/draw_hardware.py --check    # do the files in docs/img equal what this script draws?

Blocks that a design adds to the baseline have another colour. Needs Python alone. A picture has a
background of its own and a dark form, so it is readable on light and on dark pages. The script stops
where a text is wider than its block.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

IMAGES = Path(__file__).resolve().parent.parent / "docs/img"
WIDTH = 900
TITLE_SIZE, LINE_SIZE = 14, 12
LETTER = 0.62  # mean width of a letter over its size in a wide font (DejaVu Sans)

STYLE = """
  text { font-family: system-ui, "Segoe UI", Helvetica, Arial, sans-serif; font-size: 12px; }
  .page { fill: #ffffff; stroke: #d0d7de; } .ink { fill: #1f2328; } .soft { fill: #57606a; }
  .block { fill: #f3f5f8; stroke: #57606a; stroke-width: 1.4; }
  .added { fill: #ffe9d6; stroke: #bc4c00; stroke-width: 2; }
  .outside { fill: none; stroke: #57606a; stroke-width: 1.4; stroke-dasharray: 5 4; }
  .wire { stroke: #57606a; stroke-width: 1.6; fill: none; } .head { fill: #57606a; }
  .newwire { stroke: #bc4c00; stroke-width: 2; fill: none; } .newhead { fill: #bc4c00; }
  .control { stroke: #57606a; stroke-width: 1.1; stroke-dasharray: 2 3; fill: none; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; stroke: #30363d; } .ink { fill: #e6edf3; } .soft { fill: #9ea7b3; }
    .block { fill: #1b222c; stroke: #9ea7b3; } .added { fill: #43260f; stroke: #ff9a57; }
    .outside { stroke: #9ea7b3; } .wire { stroke: #9ea7b3; } .head { fill: #9ea7b3; }
    .newwire { stroke: #ff9a57; } .newhead { fill: #ff9a57; } .control { stroke: #9ea7b3; }
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
    reorganisation: bool = True
    memory: bool = True
    array: bool = True


DESIGNS = (
    Design("baseline", "Baseline: one array, backpropagation on every batch",
           ("Every batch runs forward, input gradient and weight gradient on the same array.",),
           False, False, False),
    Design("low", "ADA-GP-LOW: the main array also runs the predictor",
           ("A layer costs: the layer, then loading the predictor's weights through the DMA, then the predictor,",
            "then storing what it displaced."), True, False, False),
    Design("efficient", "ADA-GP-Efficient: a memory keeps the predictor's weights",
           ("A layer costs: the layer, then the predictor. Nothing is loaded in between.",),
           True, True, False),
    Design("max", "ADA-GP-MAX: a second array runs the predictor",
           ("The predictor of a layer runs while the main array computes the next layer; a barrier ends",
            "both, so a step takes the longer of the two.")),
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
    height = TITLE_SIZE + 17 * len(block.lines)
    if height > block.h - 8:
        raise SystemExit(f"draw_hardware: the lines of '{block.title}' are higher than its block")
    middle, y = block.x + block.w / 2, block.y + (block.h - height) / 2 + TITLE_SIZE - 2
    out.append(text(middle, y, block.title, "ink", TITLE_SIZE, True))
    for number, line in enumerate(block.lines):
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
    return wire([(x - 14, top), (x - 14, bottom)], new) + wire([(x + 14, bottom), (x + 14, top)], new)


def blocks_of(design):
    new = "added" if design.reorganisation else "block"
    blocks = {
        "sequencer": Block(170, 52, 450, 54, "Sequencer and event counters",
                           ("reads descriptors, starts tiles, ends layers",)),
        "array": Block(170, 146, 330, 104, "PE array, 12 x 15",
                       ("forward: weights stay", "input gradient: the same weights stay",
                        "weight gradient: sums stay")),
        "vector": Block(550, 146, 310, 104, "Vector unit",
                        ("bias, ReLU and its mask, rounding", "SGD with momentum:",
                         "new weights from gradients")),
        "activations": Block(170, 304, 220, 50, "Activation banks"),
        "weights": Block(424, 304, 204, 50, "Weight banks"),
        "results": Block(638, 304, 222, 50, "Sum and gradient banks"),
        "dma": Block(30, 304, 96, 50, "DMA"),
        "dram": Block(30, 400, 96, 74, "Memory", ("off-chip",), "outside"),
    }
    if design.reorganisation:
        blocks["schedule"] = Block(636, 52, 224, 54, "Schedule", ("warm-up, k GP : m BP",), new)
        blocks["reorganisation"] = Block(170, 400, 200, 74, "Reorganisation unit",
                                         ("batch mean, pooling,", "channel = sample, mask"), new)
    if design.memory:
        blocks["memory"] = Block(398, 400, 196, 74, "Predictor memory", ("weights of the", "predictor"), new)
    if design.array:
        blocks["predictor"] = Block(632, 400, 228, 74, "Predictor array, 8 x 10",
                                    ("own size, own kind of PE",), new)
    return blocks


def wires_of(design, b):
    bank_top, bank_bottom = b["weights"].y, b["weights"].bottom
    out = both_ways(280, b["array"].bottom, bank_top)
    out += wire([(462, bank_top), (462, b["array"].bottom)])  # weights go into the array
    out += both_ways(740, b["vector"].bottom, bank_top)
    out += wire([(590, b["vector"].bottom), (590, bank_top)])  # updated weights
    middle = b["dma"].x + b["dma"].w / 2
    out += wire([(b["dma"].right, 320), (170, 320)]) + wire([(170, 338), (b["dma"].right, 338)])
    out += both_ways(middle, b["dma"].bottom, b["dram"].y)
    out += wire([(300, 106), (300, 146)], control=True) + wire([(590, 106), (590, 146)], control=True)
    out += wire([(170, 79), (78, 79), (78, 304)], control=True)
    if design.reorganisation:
        out += wire([(636, 79), (620, 79)], new=True)
        out += both_ways(250, bank_bottom, b["reorganisation"].y, new=True)
    if design.memory and not design.array:
        out += wire([(407, 400), (407, b["array"].bottom)], new=True)
    if design.memory:
        # Loaded once, and written when the predictor was trained.
        out += wire([(540, bank_bottom), (540, 400)], new=True)
    if design.array:
        out += wire([(594, 437), (632, 437)], new=True)
        out += both_ways(746, bank_bottom, 400, new=True)
    return out


def picture(design):
    blocks = blocks_of(design)
    bottom = max(block.bottom for block in blocks.values())
    height = bottom + 34 + 18 * len(design.caption)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
           f'width="{WIDTH}" height="{height}" role="img">',
           f"<title>{escape(design.title)}</title>", f"<style>{STYLE}</style>",
           f'<rect class="page" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>']
    must_fit(design.title, 16, 560, "the picture")
    out.append(text(22, 30, design.title, "ink", 16, True, "start"))
    if design.reorganisation:
        out.append('<rect class="added" x="640" y="18" width="16" height="14" rx="3"/>')
        out.append(text(664, 30, "added to the baseline", "soft", anchor="start"))
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
            sys.exit(f"draw_hardware: {path} is not what this script draws; run scripts/draw_hardware.py")


if __name__ == "__main__":
    main()
