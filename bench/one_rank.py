#!/usr/bin/env python3
"""What training in parallel costs before anybody is waited for: steps of one process alone, and as the one
member of `--parallel data` (over nccl on a GPU): gradients are packed, reduced and handed out as for many.

For each network and kind of step a table row: the median step alone, in the group, and their ratio.
Rounds alternate, so that a clock that falls hits both.
  BP            bp
  BP + learn    adagp whose predictor learns in every batch
  GP            adagp whose batches are all GP after the first epoch
  progressive   progressive: the mean over the sizes of their medians
"""

import argparse
import json
import statistics
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KINDS = {
    "BP": ["--method", "bp"],
    "BP + learn": ["--method", "adagp", "--schedule", "bp"],
    "GP": ["--method", "adagp", "--schedule", "1ep bp, gp"],
    "progressive": ["--method", "progressive"],
}
EPOCHS = 4  # the first one warms up and records; progressive has a size more than once


def command(args, model, kind, parallel, folder):
    settings = {"data.synthetic_train": args.batch * args.steps, "data.synthetic_test": args.batch,
                "data.synthetic_size": 32, "model.form": "cifar", "log_every": f"{args.steps // 5}ba",
                "probe_every": "1000ep", "precision": args.precision,
                "graphs": str(not args.eager).lower()}
    words = [args.adagp, "-q", "train", "--data", "synthetic", "--model", model, "--batch", args.batch,
             "--epochs", EPOCHS, "--device", args.device, *KINDS[kind], "-o", folder]
    for key, value in settings.items():
        words += ["--set", f"{key}={value}"]
    if parallel:
        words += ["--parallel", f"data,local=1,backend={args.backend}"]
    return [str(word) for word in words]


def seconds(folder):
    """The mean over the epochs but the first of the median of their intervals."""
    epochs = defaultdict(list)
    for line in (folder / "metrics.jsonl").read_text().splitlines():
        record = json.loads(line)
        if record["kind"] == "train" and record["epoch"] > 0:
            epochs[record["epoch"]].append(record["seconds_per_batch"])
    return statistics.mean(statistics.median(times) for times in epochs.values())


def measure(args, model, kind):
    times = {False: [], True: []}
    for _ in range(args.rounds):
        for parallel, found in times.items():
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name) / "run"
                subprocess.run(command(args, model, kind, parallel, folder), check=True,
                               stdout=subprocess.DEVNULL)
                found.append(1e3 * seconds(folder))
    return [statistics.median(times[parallel]) for parallel in (False, True)]


def main():
    def names(text):
        return text.split(",")

    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--adagp", default=ROOT / "build/bin/adagp")
    parser.add_argument("--models", type=names, default=["vgg13_bn", "resnet18", "resnet50"])
    parser.add_argument("--kinds", type=names, default=list(KINDS))
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=100, help="of an epoch, at least 5")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--backend", default="nccl")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--eager", action="store_true", help="without CUDA graphs")
    args = parser.parse_args()

    print(f"batch {args.batch}, {args.precision}, {args.device}; ms, medians of {args.rounds} rounds\n")
    print("| network | step | alone | one rank | ratio |\n|---|---|---:|---:|---:|", flush=True)
    for model in args.models:
        for kind in args.kinds:
            alone, group = measure(args, model, kind)
            print(f"| {model} | {kind} | {alone:.3f} | {group:.3f} | {group / alone:.3f} |", flush=True)


if __name__ == "__main__":
    main()
