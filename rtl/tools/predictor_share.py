#!/usr/bin/env python3
"""How far the speed-ups of Figs. 17 to 19 move when the predictor takes the RTL's cycles.

    rtl/tools/predictor_share.py ADAGP [--networks vgg13,resnet50] [--inputs cifar] [--dataflows ws]

The simulator's predictor is replaced layer by layer by the array's cycles on the RTL (the tile law of
docs/hardware.md, without transfers), of an array of 12 x 15 for design efficient and of 8 x 10 for the second
array of max; at the end of each exact batch comes the predictor's step, with its transfers. In exact batches the
RTL's max runs the predictor's forward and backward pass beside the backward pass of the next layer. Runs are those
of `adagp paper`: products alone, batch 128, 90 epochs of the published schedule, but with a memory that holds all
of the predictor's weights. R and B are the cycles of the forward and the backward pass over those of the simulator,
of a whole network; speed-ups are means over the networks. As a check, the same sums with the simulator's own
predictor must give the simulator's totals.
"""

import argparse
import json
import math
import subprocess

MAIN, SECOND = (12, 15), (8, 10)
NETWORKS = ("resnet50,resnet101,resnet152,inception_v4,inception_v3,vgg13,vgg16,vgg19,densenet121,densenet161,"
            "densenet169,densenet201,mobilenet_v2")


def pieces(a, b):
    return -(-a // b)


def blocks(weights):
    """Of the dense layer's outputs, 1024 at most."""
    return [min(1024, weights - first) for first in range(0, weights, 1024)]


def channel_tiles(layer, array):
    """The second array takes whole tiles of the main array, in blocks that are whole tiles of both."""
    tiles = layer["groups"] * pieces(layer["n"], MAIN[0])
    block = math.lcm(MAIN[0], array[0])
    full, rest = divmod(tiles * MAIN[0], block)
    return full * (block // array[0]) + pieces(rest, array[0])


def array_cycles(layer, array):
    """Of the predictor's tiles for a layer, forward and backward: the convolution and the dense layer. Backward,
    the dense layer has a product for its features, drained after all blocks, and one for its weights."""
    rows, cols = array
    flush = rows + cols + 2
    channels = channel_tiles(layer, array)
    convolution = 8 * pieces(27, cols) * (cols + 128 + flush)
    dense = sum(cols + block + flush for block in blocks(layer["k"]))
    features = sum(block + flush for block in blocks(layer["k"])) + cols
    tiles = pieces(257, cols)
    return channels * (convolution + tiles * dense), channels * (convolution + tiles * (features + dense))


def step_cycles(layers, array):
    """Of the dense layer's step, one row after the other through one unit at a time: see docs/hardware.md. The rows
    are those of the main array, with the weights of the array's columns."""
    cols = array[1]
    widest, groups = max(layer["k"] for layer in layers), pieces(cols, MAIN[0])
    return pieces(257, cols) * sum((9 * groups + 2) * block + groups + 13 for block in blocks(widest))


def simulate(program, model, size, dataflow, array):
    """The result of `adagp simulate`, and of it the layers that have a prediction."""
    words = [program, "simulate", "--model", model, "--input", size, "--batch", "128", "--accelerator", "adagp-180",
             "--array", "{}x{}".format(*array), "--dataflow", dataflow, "--designs", "baseline,efficient,max",
             "--epochs", "90", "--schedule", "paper", "--products-only", "--set", "predictor.memory_bytes=0",
             "--per-layer", "--json"]
    run = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    return run, [layer for layer in run["layers"] if layer["predictor_forward_cycles"]]


def efficient_pass(layers, predictor):
    return sum(layers) + sum(predictor)


def max_pass(layers, predictor):
    """The predictor of a layer runs beside the next one, the last alone."""
    return layers[0] + sum(max(pair) for pair in zip(layers[1:] + [0], predictor, strict=True))


def run_cycles(run, design, one_pass, layers, forward, backward, step=None):
    """Of all batches, with these cycles of the predictor for each layer. With the cycles of a step in each exact
    batch they are the RTL's, whose second array then has nothing to do in the forward pass."""
    own_forward = [layer["forward_cycles"] for layer in layers]
    own_backward = [layer["input_gradient_cycles"] + layer["weight_gradient_cycles"] for layer in layers]
    gp = one_pass(own_forward, forward)
    if step is not None and design == "max":
        both = [one + other for one, other in zip(forward, backward, strict=True)]
        bp = sum(own_forward) + one_pass(own_backward[::-1], both[::-1]) + step
    else:
        bp = gp + one_pass(own_backward[::-1], backward[::-1]) + (step or 0)
    batches = {name: phase["batches"] for name, phase in run["designs"][design]["phases"].items()}
    return batches["gp"] * gp + (batches["warm_up"] + batches["bp"]) * bp


def compare(run, design, one_pass, layers, formulas, array):
    """R, B, the simulator's speed-up and the one with the RTL's predictor."""
    forward = [layer["predictor_forward_cycles"] for layer in formulas]
    backward = [layer["predictor_backward_cycles"] for layer in formulas]
    total = run["designs"][design]["total_cycles"]
    assert run_cycles(run, design, one_pass, layers, forward, backward) == total, (run["model"], design)
    rtl, rtl_backward = zip(*(array_cycles(layer, array) for layer in layers), strict=True)
    baseline = run["designs"]["baseline"]["total_cycles"]
    changed = run_cycles(run, design, one_pass, layers, rtl, rtl_backward, step_cycles(layers, array))
    return sum(rtl) / sum(forward), sum(rtl_backward) / sum(backward), baseline / total, baseline / changed


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
            found = {"efficient": [], "max": []}
            for model in networks:
                run, layers = simulate(args.program, model, size, dataflow, MAIN)
                _, second = simulate(args.program, model, size, dataflow, SECOND)
                found["efficient"].append(compare(run, "efficient", efficient_pass, layers, layers, MAIN))
                found["max"].append(compare(run, "max", max_pass, layers, second, SECOND))
            words = []
            for design, rows in found.items():
                ratios, back, old, new = zip(*rows, strict=True)
                words.append(f"{design} R {min(ratios):.2f} to {max(ratios):.2f}, "
                             f"B {min(back):.2f} to {max(back):.2f}, "
                             f"{sum(old) / len(old):.3f} -> {sum(new) / len(new):.3f}")
            print(f"{size} {dataflow}: {'; '.join(words)}", flush=True)


if __name__ == "__main__":
    main()
