#!/usr/bin/env python3
"""Draws the picture of the README: accuracy against seconds of training.

    docs/tools/draw_accuracy.py            # docs/results/img/accuracy-seconds.csv -> accuracy-seconds.svg
    docs/tools/draw_accuracy.py IN.csv OUT.svg

Each line of the CSV is one point: network, method, epochs, seeds, top1, sd, seconds, and the page of
docs/results that has these numbers. An empty sd means one seed. Needs Python alone. The picture has a
background of its own and a dark form, so it is readable on light and on dark pages.
"""

import argparse
import csv
import sys
from pathlib import Path
from xml.sax.saxutils import escape

IMAGES = Path(__file__).resolve().parents[2] / "docs/results/img"

WIDTH, HEIGHT = 860, 470
TOP, BOTTOM, PANEL = 84, 376, 344  # of the panels; PANEL is their width
TOP1 = (85, 91)  # range of both y axes, %

# network -> title, left edge, range of the x axis, distance of its ticks
PANELS = {
    "vgg13_bn": ("VGG13 with batch norm", 62, 9, 1),
    "resnet18": ("ResNet18", 492, 20, 2),
}
# method -> CSS class, shape of the marker, are its points joined by a line
METHODS = {
    "bp": ("bp", "circle", True),
    "progressive": ("small", "square", True),
    "progressive+stored-loss": ("both", "triangle", True),
    "adagp": ("adagp", "diamond", False),
    "skip": ("skip", "cross", False),
}
# (network, method) -> the point that is labelled (epochs), offset of the label in pixels, text-anchor
LABELS = {
    ("vgg13_bn", "bp"): (20, 8, 20, "start"),
    ("vgg13_bn", "progressive"): (54, 0, -16, "end"),
    ("vgg13_bn", "progressive+stored-loss"): (32, -110, -58, "start"),
    ("vgg13_bn", "adagp"): (30, 11, 5, "start"),
    ("vgg13_bn", "skip"): (30, 11, 8, "start"),
    ("resnet18", "bp"): (30, -6, 26, "end"),
    ("resnet18", "progressive"): (50, -10, -10, "end"),
    ("resnet18", "progressive+stored-loss"): (54, -16, -12, "end"),
    ("resnet18", "adagp"): (30, 11, 5, "start"),
    ("resnet18", "skip"): (30, 11, 14, "start"),
}
TITLE = "Accuracy against training time on CIFAR-10"
HINT = "One NVIDIA H200, bf16. Mean and standard deviation of 2 or 3 seeds; adagp and skip on ResNet18: one seed."
NOTES = (
    "bp: plain backprop, batch 256 (the best of 3 sizes).  adagp: ADA-GP, predicted gradients.  "
    "skip: these batches are dropped.",
    "progressive: small images first.  stored-loss: examples with a small last loss are left out more often.  "
    "Both are exact.",
)
STYLE = """
  text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif; font-size: 13px; }
  .page { fill: #ffffff; stroke: #d0d7de; } .ink { fill: #1f2328; } .soft { fill: #57606a; }
  .grid { stroke: #d8dee4; } .axis { stroke: #57606a; }
  .line { stroke-width: 2; } .bar { stroke-width: 1.2; } .cross { fill: none; stroke-width: 2.6; }
  .bp { fill: #1f2328; stroke: #1f2328; } .small { fill: #0969da; stroke: #0969da; }
  .both { fill: #0f7b3e; stroke: #0f7b3e; } .adagp { fill: #bc2c00; stroke: #bc2c00; }
  .skip { fill: #8250df; stroke: #8250df; } .line { fill: none; }
  .name { stroke: #ffffff; stroke-width: 4px; paint-order: stroke; font-weight: 600; } .lead { stroke-dasharray: 2 3; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; stroke: #30363d; } .ink { fill: #e6edf3; } .soft { fill: #9ea7b3; }
    .grid { stroke: #262c36; } .axis { stroke: #9ea7b3; }
    .bp { fill: #e6edf3; stroke: #e6edf3; } .small { fill: #58a6ff; stroke: #58a6ff; }
    .both { fill: #4ac26b; stroke: #4ac26b; } .adagp { fill: #ff8a5c; stroke: #ff8a5c; }
    .skip { fill: #c297ff; stroke: #c297ff; } .line { fill: none; } .name { stroke: #0d1117; }
  }
"""


def text(x, y, words, css, anchor="start", more=""):
    return f'<text x="{x:g}" y="{y:g}" class="{css}" text-anchor="{anchor}"{more}>{escape(words)}</text>'


def line(x1, y1, x2, y2, css):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{css}"/>'


def marker(shape, x, y, css):
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" class="{css}"/>'
    if shape == "cross":
        return f'<path d="M{x - 5:.1f} {y - 5:.1f}l10 10m0 -10l-10 10" class="{css} cross"/>'
    corners = {
        "square": ((-4, -4), (4, -4), (4, 4), (-4, 4)),
        "triangle": ((0, -6), (5.5, 4), (-5.5, 4)),
        "diamond": ((0, -7), (7, 0), (0, 7), (-7, 0)),
    }[shape]
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
    return f'<polygon points="{points}" class="{css}"/>'


def y_of(top1):
    return BOTTOM - (top1 - TOP1[0]) / (TOP1[1] - TOP1[0]) * (BOTTOM - TOP)


def frame(network):
    """Title, grid and axes of a panel."""
    title, left, seconds, step = PANELS[network]
    out = [text(left, TOP - 14, title, "ink", more=' font-weight="600"')]
    for top1 in range(TOP1[0], TOP1[1] + 1):
        out.append(line(left, y_of(top1), left + PANEL, y_of(top1), "grid"))
        out.append(text(left - 8, y_of(top1) + 4, str(top1), "soft", "end"))
    for tick in range(0, seconds + 1, step):
        x = left + tick / seconds * PANEL
        out.append(line(x, BOTTOM, x, BOTTOM + 5, "axis"))
        out.append(text(x, BOTTOM + 19, str(tick), "soft", "middle"))
    out.append(line(left, BOTTOM, left + PANEL, BOTTOM, "axis"))
    out.append(text(left + PANEL / 2, BOTTOM + 38, "seconds of training", "ink", "middle"))
    middle = (TOP + BOTTOM) / 2
    turn = f' transform="rotate(-90 {left - 40:g} {middle:g})"'
    return out + [text(left - 40, middle, "top-1 accuracy, %", "ink", "middle", turn)]


def curve(network, method, rows):
    """Lines, bars, markers and the label of one method in one panel."""
    _, left, seconds, _ = PANELS[network]
    css, shape, joined = METHODS[method]
    rows = sorted(rows, key=lambda row: float(row["seconds"]))
    places = [(left + float(row["seconds"]) / seconds * PANEL, y_of(float(row["top1"]))) for row in rows]
    out = []
    if joined:
        out.append(f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in places)}" class="{css} line"/>')
    for row, (x, y) in zip(rows, places):
        if row["sd"]:
            top, bottom = (y_of(float(row["top1"]) + sign * float(row["sd"])) for sign in (1, -1))
            out.append(line(x, top, x, bottom, f"{css} bar"))
        words = f'{method}, {row["epochs"]} epochs, seeds: {row["seeds"]}: {row["top1"]} % in {row["seconds"]} s'
        out.append(f"<g><title>{escape(words)}</title>{marker(shape, x, y, css)}</g>")
    epochs, dx, dy, anchor = LABELS[network, method]
    x, y = next(place for row, place in zip(rows, places) if int(row["epochs"]) == epochs)
    if abs(dy) > 30:
        out.append(line(x, y - 7, x, y + dy + 5, f"{css} bar lead"))
    return out + [text(round(x + dx, 1), round(y + dy, 1), method, f"{css} name", anchor)]


def draw(rows):
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="title hint">',
        f'<title id="title">{TITLE}</title>',
        f'<desc id="hint">{HINT}</desc>',
        f"<style>{STYLE}</style>",
        f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="6" class="page"/>',
        text(22, 27, TITLE, "ink", more=' font-weight="600" style="font-size: 16px"'),
        text(22, 46, HINT, "soft"),
    ]
    for network in PANELS:
        out += frame(network)
        for method in METHODS:
            out += curve(network, method, [r for r in rows if (r["network"], r["method"]) == (network, method)])
    out += [text(22, BOTTOM + 62 + 18 * i, note, "soft") for i, note in enumerate(NOTES)]
    return "\n".join(out) + "\n</svg>\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path, nargs="?", default=IMAGES / "accuracy-seconds.csv")
    parser.add_argument("picture", type=Path, nargs="?", default=IMAGES / "accuracy-seconds.svg")
    options = parser.parse_args()
    try:
        with options.table.open(newline="", encoding="utf-8") as file:
            picture = draw(list(csv.DictReader(file)))
    except OSError as error:
        sys.exit(f"draw_accuracy: {options.table}: {error.strerror}")
    except (KeyError, StopIteration, TypeError, ValueError) as error:
        sys.exit(f"draw_accuracy: {options.table}: a column or a labelled point is missing or no number "
                 f"({type(error).__name__} {error}): is the file cut off?")
    options.picture.write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
