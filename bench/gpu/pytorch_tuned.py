#!/usr/bin/env python3
"""pytorch_bench.py's mode compile-graph, with the search for the best kernels shared out to processes.

torch.compile with max-autotune spends most of its time on coordinate descent: it compiles and times
every pointwise and reduction kernel in many forms, one after the other. densenet121 has 650 of them.
Here each network goes through three kinds of processes, which meet in inductor's caches on disk:

  tune     one: everything but coordinate descent
  share    several: coordinate descent, each of some of the kernels; only one measures at a time
  measure  one: the step as pytorch_bench.py times it; every choice comes from the caches

The search is inductor's own. JSON like pytorch_bench.py's on stdout, with the
seconds of each kind. A run that was cut short goes on where it stopped when --cache is the same
folder. Uses inner parts of inductor (torch 2.11) and says so when they are not there.
"""

import argparse
import fcntl
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
KINDS = ("tune", "share", "measure")
NOT_IN_CACHE = 7  # exit status


def owner(source, processes):
    """Which process tunes this kernel; None: nobody, as matrix products are chosen before."""
    if "triton_heuristics.template" in source:
        return None
    return int(hashlib.md5(source.encode()).hexdigest(), 16) % processes


def say(text):
    print(text, file=sys.stderr, flush=True)


class Inductor:
    """The inner parts of inductor that are changed here."""

    def __init__(self):
        try:
            from torch._inductor import async_compile, compile_fx, select_algorithm
            from torch._inductor.runtime import triton_heuristics
            self.compiler = async_compile.AsyncCompile
            self.compile_fx = compile_fx
            self.choices = select_algorithm.AlgorithmSelectorCache
            self.tuner = triton_heuristics.CachingAutotuner
            for owner_of, name in ((self.compiler, "use_process_pool"), (self.compiler, "wait"),
                                   (self.compiler, "triton"), (self.tuner, "bench"),
                                   (self.choices, "make_precompile_fn"),
                                   (self.tuner, "coordinate_descent_tuning"),
                                   (self.compile_fx, "fx_codegen_and_compile")):
                getattr(owner_of, name)
        except (ImportError, AttributeError) as error:
            raise SystemExit(f"pytorch_tuned: this torch has another inductor ({error}); "
                             "use pytorch_bench.py --modes compile-graph")

    def compile_choices_in_threads(self):
        """Worker processes compile them under other cache keys than the main one, which then
        compiles all of them again, one by one."""
        plain, compiler = self.choices.make_precompile_fn, self.compiler

        def in_threads(chooser, *args, **kwargs):
            kept = compiler.__dict__["use_process_pool"]
            compiler.use_process_pool = classmethod(lambda cls: False)
            try:
                return plain(chooser, *args, **kwargs)
            finally:
                compiler.use_process_pool = kept

        self.choices.make_precompile_fn = in_threads

    def skip_descent(self):
        self.tuner.coordinate_descent_tuning = lambda tuner, launcher, *args, **kwargs: launcher

    def measure_alone(self, lock):
        bench = self.tuner.bench

        def alone(tuner, *args, **kwargs):
            import torch
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                out = bench(tuner, *args, **kwargs)
                torch.cuda.synchronize()
                return out
            finally:
                fcntl.flock(lock, fcntl.LOCK_UN)

        self.tuner.bench = alone

    def take_share(self, process, processes):
        """Other processes' kernels do nothing: times do not depend on the numbers."""
        triton, wait = self.compiler.triton, self.compiler.wait

        class Nothing:
            def run(self, *args, **kwargs):
                pass

        def mine(compiler, kernel_name, source_code, device_str="cuda"):
            if owner(source_code, processes) != process:
                return Nothing()
            return triton(compiler, kernel_name, source_code, device_str)

        def without_search(compiler, scope):
            import torch
            wait(compiler, scope)
            torch.backends.cudnn.benchmark = False  # cuDNN's search would disturb the others

        self.compiler.triton = mine
        self.compiler.use_process_pool = classmethod(lambda cls: False)
        self.compiler.wait = without_search

    def insist_on_cache(self):
        def missing(*args, **kwargs):
            say("pytorch_tuned: the graph is not in the cache")
            os._exit(NOT_IN_CACHE)

        self.compile_fx.fx_codegen_and_compile = missing


def work(args):
    """One process of one kind."""
    import torch

    import pytorch_bench
    inductor = Inductor()
    inductor.compile_choices_in_threads()
    mode = "compile-graph"
    options = pytorch_bench.arguments(["--models", args.model, "--modes", mode, "--batch",
                                       str(args.batch), "--steps", str(args.steps), "--no-forward"])
    if args.kind == "measure":
        result = {"model": args.model, "input": "cifar", "batch": args.batch, "mode": mode}
        pytorch_bench.measure(args.model, mode, options, result.update)
        Path(args.to).write_text(json.dumps(result), encoding="utf-8")
        os._exit(0)
    if args.kind == "tune":
        inductor.skip_descent()
    else:
        with open(args.to + ".lock", "a", encoding="utf-8") as lock:
            inductor.measure_alone(os.dup(lock.fileno()))
        inductor.take_share(args.process, args.processes)
        inductor.insist_on_cache()
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    step = pytorch_bench.Work(args.model, mode, options).step
    with torch.cuda.stream(torch.cuda.Stream()):
        step()
    torch.cuda.synchronize()
    os._exit(0)


def start(args, model, kind, to, process=0):
    command = [sys.executable, str(HERE / "pytorch_tuned.py"), "--kind", kind, "--model", model,
               "--to", str(to), "--process", str(process), "--processes", str(args.processes),
               "--batch", str(args.batch), "--steps", str(args.steps)]
    log = open(args.cache / f"{model}-{kind}-{process}.txt", "w", encoding="utf-8")
    with log:
        return subprocess.Popen(command, stdout=log, stderr=log)


def run_kind(args, model, kind, to, until):
    """'' or what went wrong."""
    count = args.processes if kind == "share" else 1
    jobs = [start(args, model, kind, to, process) for process in range(count)]
    try:
        for process, job in enumerate(jobs):
            if job.wait(max(0.1, until - time.monotonic())) != 0:
                return (f"{kind} ended with exit code {job.returncode}, see "
                        f"{args.cache / f'{model}-{kind}-{process}.txt'}")
    except subprocess.TimeoutExpired:
        return f"not done after {args.time_limit:g} s (--time-limit), in {kind}"
    finally:
        for job in jobs:
            if job.poll() is None:
                job.kill()
                job.wait()
    return ""


def tuned(args, model):
    result = {"model": model, "input": "cifar", "batch": args.batch, "mode": "compile-graph"}
    to = args.cache / f"{model}.json"
    until = time.monotonic() + args.time_limit
    for kind in KINDS:
        done = args.cache / f"{model}.{kind}-done"
        if kind != "measure" and done.exists():
            continue
        begin = time.monotonic()
        if wrong := run_kind(args, model, kind, to, until):
            return {**result, "error": wrong}
        result[f"{kind}_s"] = round(time.monotonic() - begin, 1)
        say(f"pytorch_tuned: {model} {kind}: {result[f'{kind}_s']} s")
        done.touch()
    return {**result, **json.loads(to.read_text(encoding="utf-8"))}


def arguments(argv=None):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=lambda text: text.split(","), default=["densenet121"])
    parser.add_argument("--processes", type=int, default=max(1, (os.cpu_count() or 4) * 3 // 4),
                        help="that share coordinate descent (default %(default)s)")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=100, help="timed steps")
    parser.add_argument("--time-limit", type=float, default=3600, help="seconds for one network")
    parser.add_argument("--cache", type=Path, help="kept folder (default: a temporary one)")
    parser.add_argument("--json", metavar="FILE", help="also into this file, after every network")
    for name in ("--kind", "--model", "--to"):  # of the processes that this one starts
        parser.add_argument(name, help=argparse.SUPPRESS)
    parser.add_argument("--process", type=int, default=0, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.processes < 1:
        parser.error("--processes: at least 1")
    return args


def main():
    args = arguments()
    if args.kind:
        return work(args)
    import torch
    if not torch.cuda.is_available():
        say("pytorch_tuned: no GPU that torch can use")
        return 1
    with tempfile.TemporaryDirectory() as temporary:
        args.cache = (args.cache or Path(temporary)).resolve()
        args.cache.mkdir(parents=True, exist_ok=True)
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(args.cache / "inductor")
        os.environ["TRITON_CACHE_DIR"] = str(args.cache / "triton")
        # Kernels are found in triton's own cache; in the graphs they would be stored twice.
        os.environ["TORCHINDUCTOR_BUNDLE_TRITON_INTO_FX_GRAPH_CACHE"] = "0"
        report = {"torch": torch.__version__, "gpu": torch.cuda.get_device_name(), "results": []}
        for model in args.models:
            result = tuned(args, model)
            result.pop("gpu", None)
            report["results"].append(result)
            say(f"pytorch_tuned: {model}: "
                + (f"FAILED: {result['error']}" if "error" in result else f"{result['bp_ms']} ms"))
            if args.json:
                Path(args.json).write_text(json.dumps(report, indent=2), encoding="utf-8")
    print(json.dumps(report, indent=2))
    return 0 if all("bp_ms" in result for result in report["results"]) else 1


if __name__ == "__main__":
    sys.exit(main())
