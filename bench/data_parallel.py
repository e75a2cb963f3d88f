#!/usr/bin/env python3
"""A data-parallel step beside what it is made of.

Three measurements, each with two processes of one thread:
  compute        two runs side by side, each alone with half of the batch
  communication  gloo's all-reduce of as many floats as the network has gradients (Python's torch)
  together       `--parallel data,local=2` with the whole batch
and the ratio of the last to the larger of the others: 1 when all-reduce hides behind backward.
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def command(args, folder, batch, parallel):
    images = batch * args.steps
    words = [args.adagp, "-q", "train", "--data", "synthetic", "--model", args.model, "--batch",
             batch, "--epochs", "2", "--method", "bp", "--threads", "1", "--device", "cpu",
             "--set", f"data.synthetic_train={images}", "--set", "data.synthetic_test=50",
             "--set", "log_every=1ba", "-o", folder]
    return [str(word) for word in words + (["--parallel", parallel] if parallel else [])]


def seconds(folder):
    """Median of a step, without the first ones."""
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return statistics.median(
        [r["seconds_per_batch"] for r in lines if r["kind"] == "train"][2:])


def environment():
    return {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}


def all_reduce(rank, port, floats, repeats):
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    tensor = torch.zeros(floats)
    times = []
    for _ in range(repeats):
        dist.barrier()
        begin = time.perf_counter()
        dist.all_reduce(tensor)
        times.append(time.perf_counter() - begin)
    if rank == 0:
        print(statistics.median(times[1:]))
    dist.destroy_process_group()


def measure_communication(floats):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    processes = [subprocess.Popen([sys.executable, __file__, "--all-reduce", str(rank), str(port),
                                   str(floats)], env=environment(), stdout=subprocess.PIPE,
                                  text=True) for rank in (0, 1)]
    out = [process.communicate()[0] for process in processes]
    return float(out[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--adagp", default=ROOT / "build/bin/adagp")
    parser.add_argument("--model", default="vgg13_bn")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--all-reduce", nargs=3, type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.all_reduce:
        all_reduce(*args.all_reduce, repeats=12)
        return

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        halves = [subprocess.Popen(command(args, folder / f"half{i}", args.batch // 2, ""),
                                   env=environment(), stdout=subprocess.DEVNULL) for i in (0, 1)]
        assert all(process.wait() == 0 for process in halves)
        compute = max(seconds(folder / f"half{i}") for i in (0, 1))
        subprocess.run(command(args, folder / "both", args.batch, "data,local=2"), check=True,
                       env=environment(), stdout=subprocess.DEVNULL)
        together = seconds(folder / "both")
        table = json.loads(subprocess.run(
            [str(args.adagp), "layers", "--model", args.model, "--input", "cifar", "--json"],
            check=True, text=True, capture_output=True).stdout)
    floats = sum(row["weights"] + row["bias"] for row in table["layers"])
    communication = measure_communication(floats)
    slower = max(compute, communication)
    print(f"{args.model}, batch {args.batch} over two processes of one thread, "
          f"{4e-6 * floats:.1f} MB of gradients")
    print(f"compute {1e3 * compute:.1f} ms, communication {1e3 * communication:.1f} ms, "
          f"together {1e3 * together:.1f} ms: ratio {together / slower:.3f} (target 1.10)")


if __name__ == "__main__":
    main()
