#!/usr/bin/env python3
"""What adagp.wrap costs: a BP step against a plain one, a GP step against a forward pass.

    wrap_ratios.py --models resnet18,vgg13_bn --modes bf16,graph [--batch 256] [--json FILE]

Modes: fp32, bf16 (autocast), compile (bf16, torch.compile), graph (bf16; the passes of all four kinds
of step are CUDA graphs: wrap's by graph=True, the plain ones by torch.cuda.graph). The kinds take
turns; a time is the median of --steps steps. Also the calls of operators in a step, its memory, and
whether it waits for the device. With --trace the kernels of a step and their times are in the JSON.
With ADAGP_NO_OPS=1 in the environment plain torch takes the place of the kernels.
"""

import argparse
import json
import statistics
import time

import torch
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

import adagp
from adagp._impl import ops
from small_images import resnet18

TURN = 20  # most steps of a kind in a row; the one before them is not timed
GOALS = {"bf16": {"GP / forward": 1.20, "BP / plain": 1.12}, "graph": {"GP / forward": 1.12, "BP / plain": 1.06}}
BASES = {"GP": "forward", "BP": "plain"}


def network(name):
    if name == "resnet18":
        return resnet18()
    import torchvision

    if name.startswith("vgg"):
        features = getattr(torchvision.models, name)(weights=None).features
        return torch.nn.Sequential(features, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
                                   torch.nn.Linear(512, 10))
    return getattr(torchvision.models, name)(num_classes=10)


class Recorded:
    """A forward pass, with a backward pass or without, as a CUDA graph by hand."""

    def __init__(self, work, inputs):
        self.inputs = [value.clone() for value in inputs]
        for _ in range(3):
            work(*self.inputs)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            work(*self.inputs)

    def __call__(self, *inputs):
        for own, value in zip(self.inputs, inputs):
            own.copy_(value)
        self.graph.replay()


class Kind:
    """One kind of step on a network of its own."""

    def __init__(self, kind, name, mode, x, y):
        torch.manual_seed(0)
        layout = torch.channels_last if x.is_cuda else torch.contiguous_format
        self.kind, self.batch = kind, (x.contiguous(memory_format=layout), y)
        self.low, graph = mode != "fp32", mode == "graph" and x.is_cuda
        model = network(name).to(x.device, memory_format=layout).train()
        # The rate is tiny because one batch is learned for many hundred steps.
        self.optimizer = torch.optim.SGD(model.parameters(), lr=1e-7, momentum=0.9,
                                         weight_decay=5e-4, fused=True)
        if kind in BASES:
            self.gp = adagp.wrap(model, self.optimizer, "2ep bp, gp" if kind == "GP" else "900000ep bp, gp",
                                 epochs=10**6, steps_per_epoch=1, graph=mode == "graph")
        self.model = torch.compile(model, dynamic=False) if mode == "compile" else model
        if kind not in BASES:
            work = self.forward if kind == "forward" else self.both_passes
            self.passes = Recorded(work, self.batch) if graph else work

    def loss(self, x, y):
        with torch.autocast(x.device.type, torch.bfloat16, enabled=self.low):
            return F.cross_entropy(self.model(x), y)

    def forward(self, x, y):
        with torch.no_grad():
            return self.loss(x, y)

    def both_passes(self, x, y):
        self.optimizer.zero_grad(set_to_none=True)
        self.loss(x, y).backward()

    def go_to_long_epochs(self):
        """From here on as in training: the losses are looked at every 50 steps, and not in each."""
        epoch = 3 if self.kind == "GP" else 1
        self.gp.steps_per_epoch, self.gp.steps = 10**6, epoch * 10**6 + 1

    def step(self):
        if self.kind in BASES:
            self.gp.step(self.loss, inputs=self.batch)
            return
        self.passes(*self.batch)
        if self.kind == "plain":
            self.optimizer.step()


def turn(kind, device, count):
    """Milliseconds of each of so many steps: on a GPU from the end of one to that of the next."""
    if device.type != "cuda":
        kind.step()
        times = [time.perf_counter()]
        for _ in range(count):
            kind.step()
            times.append(time.perf_counter())
        return [1e3 * (b - a) for a, b in zip(times, times[1:])]
    torch.cuda.synchronize()
    events = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
    for event in events:
        kind.step()
        event.record()
    torch.cuda.synchronize()
    return [a.elapsed_time(b) for a, b in zip(events, events[1:])]


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


def calls(kind):
    """Operators that a step calls; those of a replay are not called."""
    count = 0

    class Count(TorchDispatchMode):
        def __torch_dispatch__(self, operator, types, args=(), options=None):
            nonlocal count
            count += 1
            return operator(*args, **(options or {}))

    with Count():
        kind.step()
    return count


def kernels(kind, steps=10):
    """Microseconds on the GPU in a step, in all and by the names of the kernels; their number."""
    from torch.profiler import ProfilerActivity, profile

    kind.step()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as trace:
        for _ in range(steps):
            kind.step()
        torch.cuda.synchronize()
    found = [e for e in trace.key_averages() if e.self_device_time_total > 0]
    rows = sorted(((e.key[:100], e.count / steps, e.self_device_time_total / steps) for e in found),
                  key=lambda row: -row[2])
    return {"number": sum(row[1] for row in rows), "us": sum(row[2] for row in rows), "by_name": rows}


def measure(name, mode, args):
    device = torch.device(args.device)
    torch._dynamo.reset()
    x = torch.randn(args.batch, 3, args.side, args.side, device=device)
    y = torch.randint(10, (args.batch,), device=device)
    made = {kind: Kind(kind, name, mode, x, y) for kind in ("plain", "forward", "BP", "GP")}
    for label in BASES:
        for _ in range(2):  # the predictor learns before it predicts
            made[label].step()
        made[label].go_to_long_epochs()
    for kind in made.values():
        for _ in range(5):
            kind.step()
    result = {"model": name, "mode": mode, "batch": args.batch, "steps": args.steps,
              "kernels": ops.why_not_cuda() or "yes", "torch": torch.__version__}
    if device.type == "cuda":
        result["device"] = torch.cuda.get_device_name()
        result["waits"] = [why for label in BASES if (why := wait_of(made[label]))]
        result["memory_mb"] = {k: round(peak(made[k]), 1) for k in ("forward", "GP", "plain", "BP")}
    if mode != "compile":
        result["calls"] = {label: calls(kind) for label, kind in made.items()}
    times = {label: [] for label in made}
    while len(times["plain"]) < args.steps:
        for label, kind in made.items():
            times[label] += turn(kind, device, min(TURN, args.steps))
    ms = result["ms"] = {label: statistics.median(t) for label, t in times.items()}
    result["ms_quarters"] = {label: statistics.quantiles(t, n=4)[::2] for label, t in times.items()}
    for label, base in BASES.items():
        result[f"{label} / {base}"] = ms[label] / ms[base]
    if args.trace and device.type == "cuda":
        result["trace"] = {label: kernels(kind) for label, kind in made.items()}
    return result


def row_of(r):
    def ratio(name):
        goal = GOALS.get(r["mode"], {}).get(name)
        met = "" if goal is None else f" (<= {goal}: {'met' if r[name] <= goal else 'MISSED'})"
        return f"{r[name]:.3f}{met}"

    ms = r["ms"]
    return (f"| {r['model']}, {r['batch']} | {r['mode']} | {ms['plain']:.3f} | {ms['BP']:.3f} | "
            f"{ratio('BP / plain')} | {ms['forward']:.3f} | {ms['GP']:.3f} | {ratio('GP / forward')} | "
            f"{r['kernels']} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default="resnet18")
    parser.add_argument("--modes", default="fp32", help="of fp32, bf16 (autocast), compile (bf16), graph (bf16)")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--side", type=int, default=32)
    parser.add_argument("--steps", type=int, default=200, help="timed, of each kind")
    parser.add_argument("--trace", action="store_true", help="kernels and their times")
    parser.add_argument("--json", help="a file for the numbers; else they are printed")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    torch.set_float32_matmul_precision("high")
    print("| network, batch | mode | plain ms | BP | ratio | forward ms | GP | ratio | kernels |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---|")
    results = []
    for name in args.models.split(","):
        for mode in args.modes.split(","):
            results.append(measure(name, mode, args))
            print(row_of(results[-1]), flush=True)
            if args.json:
                with open(args.json, "w") as file:
                    json.dump(results, file, indent=1)
    for r in results:
        print(f"{r['model']}, {r['mode']}: operator calls {r.get('calls')}; MB {r.get('memory_mb')}; "
              f"waits {r.get('waits')}")
        for label, trace in r.get("trace", {}).items():
            print(f"  {label}: {trace['number']:.0f} kernels, {trace['us']:.0f} us")
    if not args.json:
        print(json.dumps(results))


if __name__ == "__main__":
    main()
