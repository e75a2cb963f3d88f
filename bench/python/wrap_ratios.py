#!/usr/bin/env python3
"""What adagp.wrap costs: a BP step against a plain one, a GP step against a forward pass.

    wrap_ratios.py --models resnet18,vgg11_bn --modes fp32,bf16,compile [--batch 256]

The four kinds of step take turns in rounds of --steps; ratios are medians over the rounds. Also the
memory of a GP step against that of a forward pass, and whether a step waits for the device.
With ADAGP_NO_OPS=1 in the environment plain torch takes the place of the kernels.
"""

import argparse
import json
import statistics
import time

import torch
from torch.nn import functional as F

import adagp
from adagp._impl import ops
from small_images import resnet18


def network(name):
    if name == "resnet18":
        return resnet18()
    import torchvision

    if name.startswith("vgg"):
        features = getattr(torchvision.models, name)(weights=None).features
        return torch.nn.Sequential(features, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
                                   torch.nn.Linear(512, 10))
    return getattr(torchvision.models, name)(num_classes=10)


class Kind:
    """One kind of step on a network of its own."""

    def __init__(self, kind, name, mode, x, y):
        torch.manual_seed(0)
        layout = torch.channels_last if x.is_cuda else torch.contiguous_format
        self.kind, self.x, self.y = kind, x.contiguous(memory_format=layout), y
        self.low = mode != "fp32"
        model = network(name).to(x.device, memory_format=layout).train()
        self.optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9,
                                         weight_decay=5e-4, fused=x.is_cuda)
        if kind in ("BP", "GP"):
            self.gp = adagp.wrap(model, self.optimizer, "bp" if kind == "BP" else "2ep bp, gp",
                                 epochs=10**6, steps_per_epoch=1, probe_every=20)
        self.model = torch.compile(model, dynamic=False) if mode == "compile" else model

    def loss(self):
        with torch.autocast(self.x.device.type, torch.bfloat16, enabled=self.low):
            return F.cross_entropy(self.model(self.x), self.y)

    def go_to_long_epochs(self):
        """From here on as in training: the losses are looked at every 50 steps, and not in each."""
        self.gp.steps_per_epoch, self.gp.steps = 10**6, 2 * 10**6 + 1

    def step(self):
        if self.kind in ("BP", "GP"):
            self.gp.step(self.loss)
        elif self.kind == "forward":
            with torch.no_grad():
                self.loss()
        else:
            self.optimizer.zero_grad(set_to_none=True)
            self.loss().backward()
            self.optimizer.step()


def clock(device):
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def wait_of(kind):
    """Where a step waits for the device; '' if it does not."""
    kind.step()  # the next one takes no probe
    torch.cuda.set_sync_debug_mode("error")
    try:
        kind.step()
        return ""
    except RuntimeError as error:
        return f"{kind.kind}: {error}".splitlines()[0]
    finally:
        torch.cuda.set_sync_debug_mode("default")


def peak(kind):
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    kind.step()
    torch.cuda.synchronize()
    return (torch.cuda.max_memory_allocated() - before) / 2**20


def measure(name, mode, args):
    device = torch.device(args.device)
    torch._dynamo.reset()
    x = torch.randn(args.batch, 3, args.side, args.side, device=device)
    y = torch.randint(10, (args.batch,), device=device)
    kinds = {kind: Kind(kind, name, mode, x, y) for kind in ("plain", "forward", "BP", "GP")}
    for kind in kinds.values():
        for _ in range(5):
            kind.step()
    result = {"model": name, "mode": mode, "batch": args.batch,
              "kernels": ops.why_not_cuda() or "yes", "torch": torch.__version__}
    for label in ("BP", "GP"):
        kinds[label].go_to_long_epochs()
    if device.type == "cuda":
        result["waits"] = [why for label in ("BP", "GP") if (why := wait_of(kinds[label]))]
        result["memory_mb"] = {k: round(peak(kinds[k]), 1) for k in ("forward", "GP")}
    times = {kind: [] for kind in kinds}
    for _ in range(args.rounds):
        for label, kind in kinds.items():
            start = clock(device)
            for _ in range(args.steps):
                kind.step()
            times[label].append(1e3 * (clock(device) - start) / args.steps)
    result["ms"] = {kind: statistics.median(t) for kind, t in times.items()}
    for label, base in (("BP", "plain"), ("GP", "forward")):
        result[f"{label} / {base}"] = statistics.median(
            a / b for a, b in zip(times[label], times[base]))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default="resnet18")
    parser.add_argument("--modes", default="fp32", help="of fp32, bf16 (autocast), compile (bf16)")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--side", type=int, default=32)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    torch.set_float32_matmul_precision("high")
    print("| network, batch | mode | plain | BP | ratio | forward | GP | ratio | kernels |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---|")
    results = []
    for name in args.models.split(","):
        for mode in args.modes.split(","):
            r = measure(name, mode, args)
            ms = r["ms"]
            print(f"| {name}, {args.batch} | {mode} | {ms['plain']:.2f} | {ms['BP']:.2f} | "
                  f"{r['BP / plain']:.3f} | {ms['forward']:.2f} | {ms['GP']:.2f} | "
                  f"{r['GP / forward']:.3f} | {r['kernels']} |", flush=True)
            results.append(r)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
