#!/usr/bin/env python3
"""pytorch_bench.py's mode compile-graph, its search for the best kernels shared out to processes.

torch.compile with max-autotune spends most of its time on coordinate descent: it compiles and times
every pointwise and reduction kernel in many forms, one after the other. densenet121 has about 650.
Here each network goes through three kinds of processes, which meet in inductor's caches on disk:

  tune     one: everything but coordinate descent
  share    several: coordinate descent, each of some of the kernels; only one measures at a time
  measure  one: the step as pytorch_bench.py times it; every choice comes from the caches

The search is inductor's own. Prints JSON like pytorch_bench.py, and how many seconds each kind
took. With --cache, a run that was cut short goes on where it stopped. Uses inner parts of inductor
(torch 2.11) and says so when they are not there.
"""

import argparse
import fcntl
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
KINDS = ("tune", "share", "measure")
NOT_IN_CACHE = 7  # exit status
MOST_PROCESSES = 12  # each has a whole training step on the GPU


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
            for owning, name in ((self.compiler, "use_process_pool"), (self.compiler, "wait"),
                                 (self.compiler, "triton"), (self.tuner, "bench"),
                                 (self.choices, "make_precompile_fn"),
                                 (self.tuner, "coordinate_descent_tuning"),
                                 (self.compile_fx, "fx_codegen_and_compile")):
                getattr(owning, name)
        except (ImportError, AttributeError) as error:
            raise SystemExit(f"pytorch_tuned: this torch has another inductor ({error}); "
                             "use pytorch_bench.py --modes compile-graph") from error

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
    if args.kind != "tune":
        inductor.insist_on_cache()
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
    pytorch_bench.use_tensor_cores()
    step = pytorch_bench.Work(args.model, mode, options).step
    with torch.cuda.stream(torch.cuda.Stream()):
        step()
    torch.cuda.synchronize()
    os._exit(0)


def log_of(args, model, kind, process):
    return args.cache / f"{model}-{kind}-{process}.txt"


def start(args, model, kind, to, process=0):
    command = [sys.executable, str(HERE / "pytorch_tuned.py"), "--kind", kind, "--model", model,
               "--to", str(to), "--process", str(process), "--processes", str(args.processes),
               "--batch", str(args.batch), "--steps", str(args.steps)]
    with open(log_of(args, model, kind, process), "w", encoding="utf-8") as log:
        # With the compiler's own workers it can be ended as one group.
        return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)


def what_went_wrong(args, model, kind, process, code):
    if code == NOT_IN_CACHE:
        return f"{kind}: the graph is not in the cache {args.cache}; use an empty folder"
    text = ""
    with suppress(OSError):
        lines = log_of(args, model, kind, process).read_text(errors="replace").split("\n")
        text = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f"{kind} ended with exit code {code}: {text[:300] or '(no message)'}"


def run_kind(args, model, kind, to, until):
    """'' or what went wrong."""
    jobs = []
    try:
        for process in range(args.processes if kind == "share" else 1):
            jobs.append(start(args, model, kind, to, process))
        while True:
            codes = [job.poll() for job in jobs]
            for process, code in enumerate(codes):
                if code:
                    return what_went_wrong(args, model, kind, process, code)
            if all(code == 0 for code in codes):
                return ""
            if time.monotonic() > until:
                return f"not done after {args.time_limit:g} s (--time-limit), in {kind}"
            time.sleep(0.1)
    finally:
        for job in jobs:
            with suppress(ProcessLookupError):
                os.killpg(job.pid, signal.SIGKILL)
            job.wait()


def tuned(args, model, version=""):
    result = {"model": model, "input": "cifar", "batch": args.batch, "mode": "compile-graph",
              "processes": args.processes}
    to = args.cache / f"{model}.json"
    until = time.monotonic() + args.time_limit
    for kind in KINDS:
        done = args.cache / f"{model}-b{args.batch}-torch{version}.{kind}-done"
        if done.exists():
            continue
        begin = time.monotonic()
        if wrong := run_kind(args, model, kind, to, until):
            return {**result, "error": wrong}
        result[f"{kind}_s"] = round(time.monotonic() - begin, 1)
        say(f"pytorch_tuned: {model} {kind}: {result[f'{kind}_s']} s")
        if kind != "measure":  # which is quick, and the reason for the call
            done.touch()
    return {**result, **json.loads(to.read_text(encoding="utf-8"))}


def arguments(argv=None):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    words = lambda text: [word for word in text.split(",") if word]  # noqa: E731
    many = min(MOST_PROCESSES, max(1, (os.cpu_count() or 4) * 3 // 4))
    parser.add_argument("--models", type=words, default=["densenet121"])
    parser.add_argument("--processes", type=int, default=many,
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


def refusal(args):
    """Why the run cannot begin; '': it can. Better now than after minutes of tuning."""
    import torch

    import pytorch_bench
    if not torch.cuda.is_available():
        return "no GPU that torch can use"
    for model in args.models:
        try:
            pytorch_bench.build(model, "cifar")
        except Exception as error:  # torchvision's own text says most
            return f"{model}: {error}"
    try:
        args.cache.mkdir(parents=True, exist_ok=True)
        for folder in [args.cache] + ([Path(args.json).resolve().parent] if args.json else []):
            tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        return f"cannot be written: {error}"
    return ""


def measure_all(args):
    import torch
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(args.cache / "inductor")
    os.environ["TRITON_CACHE_DIR"] = str(args.cache / "triton")
    # Kernels are found in triton's own cache; in the graphs they would be stored twice.
    os.environ["TORCHINDUCTOR_BUNDLE_TRITON_INTO_FX_GRAPH_CACHE"] = "0"
    report = {"torch": torch.__version__, "gpu": torch.cuda.get_device_name(), "results": []}
    try:
        for model in args.models:
            result = tuned(args, model, torch.__version__)
            result.pop("gpu", None)
            report["results"].append(result)
            say(f"pytorch_tuned: {model}: "
                + (f"FAILED: {result['error']}" if "error" in result else f"{result['bp_ms']} ms"))
            if args.json:
                Path(args.json).write_text(json.dumps(report, indent=2), encoding="utf-8")
    finally:  # after Ctrl-C, too: what was measured
        print(json.dumps(report, indent=2), flush=True)
    return 0 if all("bp_ms" in result for result in report["results"]) else 1


def main():
    args = arguments()
    if args.kind:
        return work(args)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # through `finally`
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        args.cache = (args.cache or Path(temporary)).resolve()
        if wrong := refusal(args):
            say(f"pytorch_tuned: {wrong}")
            return 1
        try:
            return measure_all(args)
        except KeyboardInterrupt:
            return 128 + signal.SIGINT


if __name__ == "__main__":
    sys.exit(main())
