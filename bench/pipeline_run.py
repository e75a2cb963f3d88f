#!/usr/bin/env python3
"""A real pipeline beside the simulator fed with the times of its own ops.

Trains a few batches with `--parallel pipeline=...,local=N,timings=...` (one thread per process),
takes the mean time of each kind of op from these files, lets `adagp pipeline --costs` say how long a
batch should take with messages that cost nothing, and prints both and their ratio: for BP batches,
and for GP batches that stream one after another.
"""

import argparse
import json
import statistics
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def run(command):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\nexit code {done.returncode}\n"
                         f"{done.stderr}")
    return done.stdout


def events(folder):
    """(phase, batch) -> list of (kind, stage, begin, end) in seconds."""
    found = defaultdict(list)
    for file in sorted(folder.glob("ops.*.json")):
        for e in json.loads(file.read_text())["traceEvents"]:
            begin = e["ts"] / 1e6
            found[e["cat"], e["args"]["batch"]].append(
                (e["args"]["kind"], e["args"]["stage"], begin, begin + e["dur"] / 1e6))
    return found


def op_times(batches, kinds):
    times = defaultdict(list)
    for ops in batches:
        for kind, stage, begin, end in ops:
            if kind in kinds:
                times[stage, kind].append(end - begin)
    return {key: statistics.mean(values) for key, values in times.items()}


def span(batches):
    return (min(op[2] for ops in batches for op in ops), max(op[3] for ops in batches for op in ops))


def simulated(args, costs, phases, batches):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(costs, file)
        file.flush()
        out = run([args.adagp, "pipeline", "--schedule", args.schedule, "--stages", args.stages,
                   "--micro-batches", args.micro_batches, "--costs", file.name, "--phases", phases,
                   "--batches", batches, "--json"])
    return json.loads(out)["makespan"]


def stages_of(args, times, **more):
    costs = []
    for stage in range(args.stages):
        t = {kind: times.get((stage, kind), 0.0)
             for kind in ("forward", "backward", "input-gradient", "weight-gradient")}
        entry = {"name": f"stage{stage}", "forward": t["forward"],
                 "backward": t["backward"] or t["input-gradient"] + t["weight-gradient"]}
        if t["input-gradient"]:
            entry["input_gradient"] = t["input-gradient"]
            entry["weight_gradient"] = t["weight-gradient"]
        costs.append({**entry, **{key: values[stage] for key, values in more.items()}})
    return costs


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--adagp", default=ROOT / "build/bin/adagp")
    parser.add_argument("--schedule", default="gpipe")
    parser.add_argument("--stages", type=int, default=2)
    parser.add_argument("--micro-batches", type=int, default=8)
    parser.add_argument("--model", default="vgg13_bn")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--batches", type=int, default=12, help="GP batches that are timed")
    args = parser.parse_args()

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        count = args.batches + 4
        common = ["train", "--data", "synthetic", "--model", args.model, "--batch", args.batch,
                  "--epochs", "2", "--method", "adagp", "--schedule", f"1ep bp, {10 * count}:1",
                  "--threads", "1",
                  "--set", f"data.synthetic_train={count * args.batch}",
                  "--set", f"data.synthetic_test={args.batch}", "--set", "log_every=1ep",
                  "--parallel", f"pipeline={args.schedule},micro-batches={args.micro_batches},"
                  f"local={args.stages},timings={folder / 'ops'}", "-o", folder / "run"]
        run([args.adagp, "-q", *common])
        found = events(folder)

    kinds = ("forward", "backward", "input-gradient", "weight-gradient")
    bp = [found[key] for key in sorted(found) if key[0] == "BP"][2:]
    times = op_times(bp, kinds)
    real = statistics.median(end - begin for begin, end in (span([ops]) for ops in bp))
    should = simulated(args, stages_of(args, times), "bp", 1)
    print(f"{args.model}, batch {args.batch}, {args.schedule}, {args.stages} stages, "
          f"{args.micro_batches} micro-batches, one thread each")
    for stage in range(args.stages):
        print(f"  stage {stage}: " + ", ".join(
            f"{kind} {1e3 * times[stage, kind]:.2f} ms" for kind in kinds if (stage, kind) in times))
    print(f"BP batch: {1e3 * real:.1f} ms, simulated {1e3 * should:.1f} ms, "
          f"ratio {real / should:.3f} (target 1.15)")

    gp = [found[key] for key in sorted(found) if key[0] == "GP"][2:2 + args.batches]
    times = op_times(gp, ("forward",))
    # What a stage does between two batches: the prediction with its update, and the next batch.
    gaps = defaultdict(list)
    for before, after in zip(gp, gp[1:]):
        for stage in range(args.stages):
            left = max(op[3] for op in before if op[1] == stage)
            gaps[stage].append(min(op[2] for op in after if op[1] == stage) - left)
    pauses = [statistics.mean(gaps[stage]) for stage in range(args.stages)]
    begin, end = span(gp)
    should = simulated(args, stages_of(args, times, predict_update=pauses), "gp", len(gp))
    should -= pauses[-1]  # the last one ends after the last op
    print(f"{len(gp)} GP batches: {1e3 * (end - begin):.1f} ms, simulated {1e3 * should:.1f} ms, "
          f"ratio {(end - begin) / should:.3f} (target 1.15)")


if __name__ == "__main__":
    main()
