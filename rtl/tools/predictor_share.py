#!/usr/bin/env python3
"""How far the speed-ups of Figs. 17 to 19 move when the predictor takes the RTL's cycles.

    rtl/tools/predictor_share.py ADAGP [--networks vgg13,resnet50] [--inputs cifar] [--dataflows ws]

For each network, R is the array's cycles of the predictor's forward pass on the RTL (12 x 15; the tile
law of docs/hardware.md, without transfers) over those of `adagp simulate`. The predictor's cycles in a
run of 90 epochs at batch 128 are then multiplied by R; those of its backward pass, which the RTL does not
have, too. Printed are means over the networks.
"""

import argparse
import csv
import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROWS, COLS = 12, 15
NETWORKS = ("resnet50,resnet101,resnet152,inception_v4,inception_v3,vgg13,vgg16,vgg19,densenet121,densenet161,"
            "densenet169,densenet201,mobilenet_v2")


def pieces(a, b):
    return -(-a // b)


def tile(rows):
    return COLS + rows + (ROWS + COLS + 1) + 1


def array_cycles(model, size):
    """Of the predictor's tiles in a GP batch: the convolution, then the dense layer, 1024 rows at most."""
    cycles = 0
    for row in csv.DictReader((ROOT / f"configs/layers/{model}-{size}.csv").open()):
        if row["op"] not in ("conv2d", "linear"):
            continue
        groups, outputs = int(row["groups"]), int(row["out_c"])
        weights = int(row["in_c"]) // groups * int(row["kernel_h"]) * int(row["kernel_w"])
        dense = sum(tile(min(1024, weights - first)) for first in range(0, weights, 1024))
        channels = groups * pieces(outputs // groups, ROWS)
        cycles += channels * (8 * pieces(27, COLS) * tile(128) + pieces(257, COLS) * dense)
    return cycles


def designs(program, model, size, dataflow, *run):
    words = [program, "simulate", "--model", model, "--input", size, "--batch", "128", "--accelerator", "adagp-180",
             "--array", f"{ROWS}x{COLS}", "--dataflow", dataflow, "--designs", "baseline,efficient,max", "--json", *run]
    return json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)["designs"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("program", help="adagp")
    parser.add_argument("--networks", default=NETWORKS)
    parser.add_argument("--inputs", default="cifar,imagenet")
    parser.add_argument("--dataflows", default="ws,rs,is")
    args = parser.parse_args()
    networks = args.networks.split(",")
    for size in args.inputs.split(","):
        for dataflow in args.dataflows.split(","):
            ratios, speed = [], {"efficient": [0, 0], "max": [0, 0]}
            for model in networks:
                one = designs(args.program, model, size, dataflow, "--epochs", "1", "--examples", "128",
                              "--schedule", "gp")
                ratios.append(array_cycles(model, size) / one["efficient"]["predictor_cycles"])
                run = designs(args.program, model, size, dataflow, "--epochs", "90", "--schedule", "paper")
                for name, sums in speed.items():
                    total, own = run[name]["total_cycles"], run[name]["predictor_cycles"]
                    for i, more in enumerate((0, (ratios[-1] - 1) * own)):
                        sums[i] += run["baseline"]["total_cycles"] / (total + more) / len(networks)
            words = ", ".join(f"{name} {a:.3f} -> {b:.3f}" for name, (a, b) in speed.items())
            print(f"{size} {dataflow}: R {min(ratios):.2f} to {max(ratios):.2f}; {words}", flush=True)


main()
