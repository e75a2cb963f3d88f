#!/usr/bin/env python3
"""Time to the accuracy of backprop in a plain PyTorch loop, with and without a Plan.

    plan_loop.py cifar10.safetensors --modes eager,compile,graph --seeds 3

Modes: eager, compile (torch.compile), graph (torch.compile with CUDA graphs). Each mode trains
resnet18 by backprop for --epochs, by --method at each of --lengths, and by backprop without a plan for
two epochs (what a plan costs). Seconds are those of training: evaluation, compiling and the choice of
kernels are off the clock. Prints a table and, as its last line, JSON.
"""

import argparse
import json
import statistics
import sys
import time

import torch
from torch.nn import functional as F
from torch.utils.data import BatchSampler, RandomSampler

import adagp
from small_images import OnDevice, resnet18


class Loop:
    """The user's loop. One network object for all runs of a mode: it is compiled once."""

    def __init__(self, args, mode):
        self.args = args
        self.train_set = OnDevice(args.data, "train", args.device, augment=True)
        self.test_set = OnDevice(args.data, "test", args.device)
        self.net = resnet18().to(args.device, memory_format=torch.channels_last)
        self.run = self.net
        if mode != "eager":
            how = "reduce-overhead" if mode == "graph" else None
            self.run = torch.compile(self.net, dynamic=False, mode=how)

    def begin(self, seed):
        torch.manual_seed(seed)
        self.net.load_state_dict(resnet18().state_dict())
        self.net.train()
        fused = torch.device(self.args.device).type == "cuda"
        return torch.optim.SGD(self.net.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4,
                               fused=fused)

    def losses(self, x, y):
        x = x.contiguous(memory_format=torch.channels_last)
        with torch.autocast(torch.device(self.args.device).type, torch.bfloat16):
            return F.cross_entropy(self.run(x), y, reduction="none")

    def step(self, loss, optimizer):
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    def warm_up(self, shapes):
        optimizer = self.begin(0)
        for side, count in shapes:
            x = torch.randn(count, 3, side or 32, side or 32, device=self.args.device)
            for _ in range(3):
                self.step(self.losses(x, torch.zeros(count, dtype=torch.long, device=x.device)).mean(),
                          optimizer)

    def planned(self, method, epochs, seed):
        """(accuracy, seconds) of a run by a plan."""
        plan = adagp.Plan(method, self.train_set, batch_size=self.args.batch, epochs=epochs,
                          seed=seed, side=32)
        optimizer = self.begin(seed)
        loader = self.train_set.loader(batch_sampler=plan)
        start = self.clock()
        for x, y in plan.batches(loader):
            plan.set_rate(optimizer, 0.1, "triangle", peak=0.15)
            self.step(plan.loss(self.losses(x, y)), optimizer)
        return self.accuracy(self.clock() - start)

    def plain(self, epochs, seed):
        """The same without a plan: torch's own samplers and its OneCycleLR."""
        optimizer = self.begin(seed)
        sampler = BatchSampler(RandomSampler(self.train_set), self.args.batch, drop_last=True)
        loader = self.train_set.loader(batch_sampler=sampler)
        rate = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, epochs * len(sampler))
        start = self.clock()
        for _ in range(epochs):
            for x, y in loader:
                self.step(self.losses(x, y).mean(), optimizer)
                rate.step()
        return self.accuracy(self.clock() - start)

    def accuracy(self, seconds):
        self.net.eval()
        hits = torch.zeros((), device=self.args.device)
        with torch.no_grad(), torch.autocast(torch.device(self.args.device).type, torch.bfloat16):
            for x, y in self.test_set.loader(batch_size=1000):
                hits += (self.net(x.contiguous(memory_format=torch.channels_last)).argmax(1) == y).sum()
        return 100 * float(hits) / len(self.test_set), seconds

    def clock(self):
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        return time.perf_counter()


def measure(args, mode):
    torch._dynamo.reset()
    loop = Loop(args, mode)
    plan = adagp.Plan(args.method, loop.train_set, batch_size=args.batch, epochs=max(args.lengths),
                      side=32)
    start = time.perf_counter()
    loop.warm_up(plan.shapes())
    print(f"{mode}: warm after {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    runs = {("bp", args.epochs): [], **{(args.method, n): [] for n in args.lengths}}
    for seed in range(args.first_seed, args.first_seed + args.seeds):  # methods take turns
        for (method, epochs), found in runs.items():
            found.append(loop.planned(method, epochs, seed))
            print(f"{mode} {method}@{epochs} seed {seed}: {found[-1][0]:.2f} %, "
                  f"{found[-1][1]:.2f} s", file=sys.stderr, flush=True)
    pairs = [(loop.planned("bp", 2, 9)[1], loop.plain(2, 9)[1]) for _ in range(3)]
    return {"mode": mode, "plan_over_plain": statistics.median(a / b for a, b in pairs),
            "runs": [{"method": m, "epochs": n, "accuracy": [a for a, _ in found],
                      "seconds": [s for _, s in found]} for (m, n), found in runs.items()]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="packed image file, or 'random'")
    parser.add_argument("--method", default="progressive+stored-loss")
    parser.add_argument("--epochs", type=int, default=15, help="of backprop")
    parser.add_argument("--lengths", type=lambda t: [int(n) for n in t.split(",")],
                        default=[24, 28, 32], help="epochs of the method")
    parser.add_argument("--modes", default="eager,compile")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    torch.set_float32_matmul_precision("high")
    results = [measure(args, mode) for mode in args.modes.split(",")]
    print("| mode | method, epochs | top-1 % by seed | mean | seconds | bp seconds / seconds |")
    print("|---|---|---|---:|---:|---:|")
    for result in results:
        base = statistics.mean(result["runs"][0]["seconds"])
        for run in result["runs"]:
            seconds = statistics.mean(run["seconds"])
            print(f"| {result['mode']} | {run['method']}, {run['epochs']} | "
                  f"{', '.join(f'{a:.2f}' for a in run['accuracy'])} | "
                  f"{statistics.mean(run['accuracy']):.2f} | {seconds:.2f} | {base / seconds:.2f} |")
        print(f"{result['mode']}: a bp epoch by a plan takes {result['plan_over_plain']:.3f} of one "
              "by torch's samplers")
    print(json.dumps(results))


if __name__ == "__main__":
    main()
