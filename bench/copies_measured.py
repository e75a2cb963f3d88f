#!/usr/bin/env python3
"""Real copies over slowed links beside the event simulator, and what compressors save there.

The simulator is told the step of the same processes over this machine's own links, and the exchange is
made to take three times as long as that step. No exchange would give a ratio of 0.3, and one that is made
twice 1.7. A machine that gets busy between two runs changes the ratio, too: let nothing else run.
"""

import argparse
import json
import statistics
import subprocess
import tempfile
from pathlib import Path

from safetensors.numpy import load_file

ROOT = Path(__file__).resolve().parents[1]
# 9.3 MB of gradients: three buckets.
RUN = ["--data", "synthetic", "--threads", "1", "--model", "vgg11", "--batch", "16", "--epochs", "1",
       "--method", "bp", "--set", "model.width_divisor=2", "--set", "data.synthetic_size=32", "--set",
       "data.synthetic_train=96", "--set", "data.synthetic_test=16", "--set", "log_every=1ba"]


def adagp(args, *words):
    return subprocess.run([args.adagp, "-q", *map(str, words)], check=True, stdout=subprocess.PIPE,
                          text=True).stdout


def seconds(args, folder, copies, link="", *more):
    """Of a step: the median without the first two."""
    adagp(args, "train", *RUN, *more, "--parallel", f"data,local={copies}{link}", "-o", folder)
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return statistics.median([r["seconds_per_batch"] for r in lines if r["kind"] == "train"][2:])


def gradient_bytes(folder):
    weights = load_file(folder / "weights.safetensors")
    return 4 * sum(tensor.size for tensor in weights.values())  # vgg11 has no norms


def beside_the_simulator(args, folder, copies):
    own = seconds(args, folder / "own", copies)
    size = gradient_bytes(folder / "own")
    bandwidth = size * 2 * (copies - 1) / copies / (2 * own)
    latency = own / (3 * 2 * (copies - 1))  # three buckets
    real = seconds(args, folder / "slow", copies,
                   f",copy-bandwidth={bandwidth:.0f},copy-latency={latency:.6f}")
    costs = folder / "costs.json"
    costs.write_text(json.dumps([{"name": "all", "forward": own / 3, "backward": own * 2 / 3,
                                  "weight_bytes": size}]))
    expected = json.loads(adagp(
        args, "pipeline", "--costs", costs, "--stages", 1, "--micro-batches", 1, "--phases", "bp",
        "--copies", copies, "--copy-bandwidth", bandwidth, "--copy-latency", latency, "--bucket-bytes",
        4 << 20, "--json"))["makespan"]
    print(f"{copies} copies: step {own:.3f} s, with the link {real:.3f} s, simulated {expected:.3f} s: "
          f"ratio {real / expected:.3f}")


def compressors(args, folder):
    """Over a link on which whole gradients take eight times the step."""
    own = seconds(args, folder / "own", 2)
    link = f",copy-bandwidth={gradient_bytes(folder / 'own') / (8 * own):.0f}"
    print(f"2 copies, own links: {own:.3f} s; slow link, whole gradients: "
          f"{seconds(args, folder / 'whole', 2, link):.3f} s")
    for kind in ("top-k", "power-sgd", "sign"):
        packed = seconds(args, folder / kind, 2, link, "--set", f"compress.kind={kind}")
        print(f"  {kind}: {packed:.3f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adagp", default=str(ROOT / "build/bin/adagp"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for copies in (2, 4):
            beside_the_simulator(args, Path(folder) / str(copies), copies)
        compressors(args, Path(folder) / "compressors")


if __name__ == "__main__":
    main()
