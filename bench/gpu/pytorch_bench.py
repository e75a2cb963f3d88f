#!/usr/bin/env python3
"""How fast a training step is in PyTorch, each way a user can have it; JSON on stdout.

A step is forward, cross entropy, backward and fused SGD (momentum, decay); beside it the forward
pass alone, in training mode without autograd. Batch on the device, channels-last, bf16 autocast,
cuDNN benchmark. Modes:

  eager          as written
  eager-graph    the whole step captured in one torch.cuda.CUDAGraph
  compile        torch.compile(mode="max-autotune") with its own CUDA graphs, optimizer eager
  compile-graph  torch.compile(mode="max-autotune-no-cudagraphs"), the whole step captured by hand

Every (model, mode) runs in a process of its own: a mode that fails or outlasts --time-limit is
reported with its error and leaves the others alone. Compiling takes minutes for large networks.
"""

import argparse
import json
import multiprocessing
import os
import signal
import statistics
import sys
import time
import warnings
from contextlib import suppress

import torch

MODES = ("eager", "eager-graph", "compile", "compile-graph")
MODELS = ("vgg13_bn", "resnet18", "resnet50")


def build(name, form):
    """torchvision's network, or its usual form for 32x32 images and 10 classes."""
    import torchvision  # late: the parent process and --help do without

    if name == "inception_v4":
        import timm
        return timm.create_model(name, pretrained=False)
    options = {"init_weights": False} if name.startswith("inception") else {}
    net = getattr(torchvision.models, name)(weights=None, **options)
    if form == "imagenet":
        return net
    return small_form(name, net)


def small_form(name, net):
    """torchvision's network changed to adagp's form for 32x32 images (adagp layers NAME --input cifar)."""
    def same_channels(conv, kernel, padding):
        return torch.nn.Conv2d(conv.in_channels, conv.out_channels, kernel, stride=1,
                               padding=padding, bias=False)

    if name.startswith("vgg"):
        return torch.nn.Sequential(net.features, torch.nn.AdaptiveAvgPool2d(1),
                                   torch.nn.Flatten(), torch.nn.Linear(512, 10))
    if name.startswith("resnet"):
        net.conv1 = same_channels(net.conv1, 3, 1)
        net.maxpool = torch.nn.Identity()
        net.fc = torch.nn.Linear(net.fc.in_features, 10)
    elif name.startswith("densenet"):
        net.features.conv0 = same_channels(net.features.conv0, 3, 1)
        net.features.pool0 = torch.nn.Identity()
        net.classifier = torch.nn.Linear(net.classifier.in_features, 10)
    elif name == "mobilenet_v2":  # the first two of its five strides are 1
        net.features[0][0].stride = net.features[2].conv[1][0].stride = (1, 1)
        net.classifier[1] = torch.nn.Linear(net.classifier[1].in_features, 10)
    elif name == "inception_v3":  # nothing before Mixed_6a makes the image smaller
        net.Conv2d_1a_3x3.conv.stride = (1, 1)
        for unit in (net.Conv2d_1a_3x3, net.Conv2d_2a_3x3, net.Conv2d_4a_3x3):
            unit.conv.padding = (1, 1)
        net.maxpool1 = net.maxpool2 = torch.nn.Identity()
        net.aux_logits, net.AuxLogits = False, None
        net.fc = torch.nn.Linear(net.fc.in_features, 10)
    else:
        raise RuntimeError(f"{name} has no form for small images here; use --input imagenet")
    return net


def use_tensor_cores():
    """cuDNN's search and TF32, as someone who wants speed sets them."""
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True


class Work:
    """One network with its batch: step() trains on it, forward() only runs it."""

    def __init__(self, name, mode, args):
        torch.manual_seed(0)
        self.device = torch.device(args.device)
        self.graph = mode.endswith("-graph")
        self.own_graphs = mode == "compile"
        if self.graph and self.device.type != "cuda":
            raise RuntimeError(f"{mode} needs a GPU")
        large = 299 if name.startswith("inception") else 224
        size, classes = (large, 1000) if args.input == "imagenet" else (32, 10)
        channels_last = torch.channels_last
        self.net = build(name, args.input).to(self.device, memory_format=channels_last).train()
        self.x = torch.randn(args.batch, 3, size, size, device=self.device)
        self.x = self.x.contiguous(memory_format=channels_last)
        self.y = torch.randint(classes, (args.batch,), device=self.device)
        # A captured step reads its learning rate from memory, or no schedule could change it.
        lr = torch.tensor(0.01, device=self.device) if self.graph else 0.01
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=lr, momentum=0.9,
                                         weight_decay=5e-4, nesterov=False, fused=True)
        self.loss_of, self.logits_of = self._loss, self._logits
        if mode.startswith("compile"):
            tuning = "max-autotune" if self.own_graphs else "max-autotune-no-cudagraphs"
            self.loss_of = torch.compile(self._loss, mode=tuning)
            self.logits_of = torch.compile(self._logits, mode=tuning)

    def _autocast(self):
        # The cache of weight casts must not outlive a captured step; a weight is used once anyway.
        return torch.autocast(self.device.type, torch.bfloat16, cache_enabled=not self.graph)

    def _logits(self, x):
        with self._autocast():
            out = self.net(x)
            return out[0] if isinstance(out, tuple) else out

    def _loss(self, x, y):
        loss = torch.nn.functional.cross_entropy
        with self._autocast():
            out = self.net(x)
            if isinstance(out, tuple):  # Inception: logits and those of the auxiliary head
                return loss(out[0], y) + 0.4 * loss(out[1], y)
            return loss(out, y)

    def _begin(self):
        if self.own_graphs:
            torch.compiler.cudagraph_mark_step_begin()

    def step(self):
        self._begin()
        loss = self.loss_of(self.x, self.y)
        loss.backward()
        self.optimizer.step()
        # To None: every captured or compiled step then has gradients of its own, in its own pool.
        self.optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    @torch.no_grad()
    def forward(self):
        self._begin()
        return self.logits_of(self.x)


def captured(work, stream):
    """Replays `work`, which has run before, as one CUDA graph."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        result = work()

    def replay():
        graph.replay()
        return result

    return replay


def prepared(work, graph, warm_up):
    """(callable, first result): compiled, warm and, with `graph`, captured."""
    if not graph:
        first = float(work().float().mean())
        for _ in range(warm_up - 1):
            work()
        return work, first
    # Warm-up and capture share one side stream: backward runs where forward ran, and work on the
    # default stream cannot be captured.
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        first = float(work().float().mean())
        for _ in range(warm_up - 1):
            work()
    torch.cuda.current_stream().wait_stream(stream)
    replay = captured(work, stream)
    for _ in range(warm_up):
        replay()
    return replay, first


def milliseconds(work, steps, device):
    """Of every single step. On a GPU nothing waits between the steps, as in training."""
    if device.type != "cuda":
        times = []
        for _ in range(steps):
            start = time.perf_counter()
            work()
            times.append(1e3 * (time.perf_counter() - start))
        return times
    events = [torch.cuda.Event(enable_timing=True) for _ in range(2 * steps)]
    torch.cuda.synchronize()
    for start, end in zip(events[::2], events[1::2]):
        start.record()
        work()
        end.record()
    torch.cuda.synchronize()
    return [start.elapsed_time(end) for start, end in zip(events[::2], events[1::2])]


def spread(prefix, times):
    """{"bp_ms": median, "bp_p10": ..., "bp_p90": ...}"""
    ordered = sorted(times)
    at = lambda share: ordered[round(share * (len(ordered) - 1))]  # noqa: E731
    values = {"ms": statistics.median(ordered), "p10": at(0.1), "p90": at(0.9)}
    return {f"{prefix}_{key}": round(value, 4) for key, value in values.items()}


def measure(name, mode, args, report):
    """Calls report() with each part of the result as it is known."""
    start = time.perf_counter()
    use_tensor_cores()
    work = Work(name, mode, args)
    if work.device.type == "cuda":
        report({"gpu": torch.cuda.get_device_name(work.device)})
    step, first_loss = prepared(work.step, work.graph, args.warm_up)
    # All modes begin with the same weights: a loss that differs shows a mode that does other work.
    report({"loss_first": first_loss, "bp_setup_s": round(time.perf_counter() - start, 1)})
    report(spread("bp", milliseconds(step, args.steps, work.device)))
    report({"loss_last": float(step())})
    if work.own_graphs:  # parts that torch.compile left out of its graphs run as single kernels
        from torch._dynamo.utils import counters
        report({"cudagraph_skips": counters["inductor"]["cudagraph_skips"]})
    if args.no_forward:
        return
    start = time.perf_counter()
    forward, _ = prepared(work.forward, work.graph, args.warm_up)
    report({"fw_setup_s": round(time.perf_counter() - start, 1)})
    report(spread("fw", milliseconds(forward, args.steps, work.device)))


def child(name, mode, args, pipe):
    os.setsid()  # with the compiler's own workers it can be ended as one group
    os.dup2(2, 1)  # autotuning prints tables; stdout is for the JSON
    try:
        measure(name, mode, args, pipe.send)
    except BaseException as error:  # reported, not hidden
        text = str(error).strip() or "(no message)"
        pipe.send({"error": f"{type(error).__name__}: {text[:600]}"})
    os._exit(0)  # destructors of a failed capture may hang or abort


def in_own_process(name, mode, args):
    """The result of one mode, whatever happens to its process."""
    context = multiprocessing.get_context("fork")  # torch is loaded once; CUDA is not, until then
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=child, args=(name, mode, args, theirs))
    process.start()
    theirs.close()
    result, until = {}, time.monotonic() + args.time_limit
    try:
        while ours.poll(max(0.0, until - time.monotonic())):
            result.update(ours.recv())
        result["error"] = f"not done after {args.time_limit:g} s (--time-limit)"
    except EOFError:
        process.join()
        if process.exitcode != 0:
            result["error"] = f"the process died with exit code {process.exitcode}"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.join()
    return result


def one_line(result):
    kinds = (("BP", "bp_ms"), ("forward", "fw_ms"))
    parts = [f"{label} {result[key]:.3f} ms" for label, key in kinds if key in result]
    if "error" in result:
        parts.append("FAILED: " + result["error"].splitlines()[0][:200])
    return f"pytorch: {result['model']} b{result['batch']} {result['mode']}: {', '.join(parts)}"


def arguments(argv=None):
    words = lambda text: [word for word in text.split(",") if word]  # noqa: E731
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=words, default=list(MODELS), help=",".join(MODELS))
    parser.add_argument("--modes", type=words, default=list(MODES), help=",".join(MODES))
    parser.add_argument("--input", choices=("cifar", "imagenet"), default="cifar")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=100, help="timed steps of each kind")
    parser.add_argument("--warm-up", type=int, default=5,
                        help="steps before; the first compiles and lets cuDNN choose")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--time-limit", type=float, default=600,
                        help="seconds for one mode of one model")
    parser.add_argument("--no-forward", action="store_true", help="leave the forward pass out")
    parser.add_argument("--json", metavar="FILE", help="also into this file, after every mode")
    args = parser.parse_args(argv)
    for mode in args.modes:
        if mode not in MODES:
            parser.error(f"unknown mode '{mode}'; there are {', '.join(MODES)}")
    return args


def main():
    args = arguments()
    # The libraries' idle threads of this process do not matter to the children.
    warnings.filterwarnings("ignore", message=".*multi-threaded, use of fork.*")
    report = {"torch": torch.__version__, "gpu": None, "results": []}
    for mode in args.modes:  # outside: the quick modes are done for all models before any compiling
        for name in args.models:
            result = {"model": name, "input": args.input, "batch": args.batch, "mode": mode}
            result.update(in_own_process(name, mode, args))
            report["gpu"] = result.pop("gpu", report["gpu"])
            report["results"].append(result)
            print(one_line(result), file=sys.stderr, flush=True)
            if args.json:
                with open(args.json, "w", encoding="utf-8") as file:
                    json.dump(report, file, indent=2)
    print(json.dumps(report, indent=2))
    return 0 if any("bp_ms" in result for result in report["results"]) else 1


if __name__ == "__main__":
    sys.exit(main())
