#!/usr/bin/env python3
"""Measures adagp and PyTorch on this machine's GPU and writes docs/results/<date>-<device>.md
(<date>-<device>-imagenet-b<batch>.md with --input=imagenet), and beside this page a .json file of the
same name with all measurements.

The raw JSON goes to --raw, and the page is written again after every part: a run cut short leaves
what it had, and --resume measures what is missing or failed, with the same settings and program.
--only measures one side (of some --models, in some --modes) and takes what else there is from
--raw; --only none makes the page alone. --only all adds the roofline of all networks. --models
targets measures PyTorch on the networks that have a target against it. Needs adagp built with CUDA
(make bench-gpu does that) and a python3 with torch and torchvision.
"""

import argparse
import itertools
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))
import machine  # noqa: E402
import raw  # noqa: E402
import report  # noqa: E402

MODELS = "vgg13_bn,resnet18,resnet50"
ZOO = ("vgg11_bn,vgg13_bn,vgg16_bn,vgg19_bn,resnet18,resnet34,resnet50,resnet101,resnet152,"
       "densenet121,densenet161,densenet169,densenet201,mobilenet_v2,inception_v3,inception_v4")
ADAGP_LIMIT = 300  # seconds for the bench of one network
# Measured a second time with this key: columns of their own, "NAME KEY".
VARIANTS = {"mobilenet_v2": "own_kernels=false"}
PARTS = ("adagp", "pytorch", "roofline")
MODES = ("eager", "eager-graph", "compile", "compile-graph")  # pytorch_bench.py says what they are


def printed_json(command, limit):
    """What the command prints as JSON, or {"error": text}."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
        if done.returncode != 0:
            return {"error": f"exit code {done.returncode}: {done.stderr.strip()[-600:]}"}
        return json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        return {"error": f"{type(error).__name__}: {error}"}


def common(args):
    return ["--input", args.input, "--batch", str(args.batch), "--epochs", "90", "--device", "cuda",
            "--precision", "bf16", "--json"]


def run_adagp(column, args):
    """The JSON of `adagp bench`, or {"error": text}."""
    model, _, key = column.partition(" ")
    command = [args.adagp, "bench", "--model", model, *common(args), "--repeats", str(args.steps)]
    return printed_json(command + (["--set", key] if key else []), ADAGP_LIMIT)


def run_roofline(args):
    """Networks in one process: the machine's limits are measured once."""
    before = (raw.usable(raw.load(args.raw / "roofline.json")) or []) if args.resume else []
    models = [model for model in args.models if model not in {one["model"] for one in before}]
    if not models:
        return before
    command = [args.adagp, "bench", "--roofline", "--models", ",".join(models), *common(args),
               "--repeats", "20"]
    found = printed_json(command, ADAGP_LIMIT * len(models))
    return found if isinstance(found, dict) else before + found


def columns_of(models):
    """The networks, those of VARIANTS twice."""
    return [column for model in models
            for column in (model, *([f"{model} {VARIANTS[model]}"] if model in VARIANTS else []))]


def raw_file(args, column):
    return args.raw / f"adagp-{column.replace(' ', '-')}.json"


def pytorch_command(args, mode, models):
    return ["--models", ",".join(models), "--batch", str(args.batch), "--steps", str(args.steps),
            "--time-limit", str(args.time_limit), "--input", args.input, "--modes", mode]


def pytorch_commands(args, measured):
    """One for each mode, the quick ones first; `measured`: results there are already."""
    done = {(result["model"], result["mode"]) for result in raw.of_this_kind(args, measured)
            if "bp_ms" in result and "error" not in result}
    for mode in args.mode_list:
        models = [model for model in args.pytorch_models if (model, mode) not in done]
        if models:
            yield pytorch_command(args, mode, models)


def run_pytorch(args):
    """Each mode into a file of its own: those measured before stay."""
    measured = raw.load_pytorch(args.raw).get("results", []) if args.resume else []
    for words in pytorch_commands(args, measured):
        file = args.raw / f"pytorch-{len(list(args.raw.glob('pytorch-*.json'))) + 1:03}.json"
        # It writes `file` after every network; its exit code says no more than that.
        subprocess.run([sys.executable, str(HERE / "pytorch_bench.py"), *words, "--json",
                        str(file)], stdout=subprocess.DEVNULL, check=False)
        write_page(args)


def page_path(folder, name):
    """Not that of a page which somebody has edited."""
    for number in itertools.count(1):
        page = folder / (name + (f"-{number}" if number > 1 else "") + ".md")
        if not page.exists() or report.MADE_BY in page.read_text(encoding="utf-8"):
            return page


def write_page(args):
    """From what is in the raw folder; returns the page's path and the networks that failed."""
    about = raw.load(args.raw / "machine.json")
    ours = {column: raw.load(raw_file(args, column)) for column in columns_of(args.models)}
    ours = {model: result for model, result in ours.items() if result}
    pytorch = raw.load_pytorch(args.raw)
    if pytorch:
        pytorch["results"] = raw.of_this_kind(args, pytorch["results"])
    device = (about.get("device") or pytorch.get("gpu")
              or next((o["device"] for o in ours.values() if o.get("device")), "unknown device"))
    run = {"date": about.get("date", ""), "device": device, "batch": args.batch,
           "input": args.input, "command": args.command, "versions": about.get("versions", {}),
           "adagp": ours, "pytorch": pytorch,
           "roofline": raw.usable(raw.load(args.raw / "roofline.json"))}
    apart = "" if args.input == "cifar" else f"-{args.input}-b{args.batch}"
    page = page_path(args.results, f"{about.get('date', 'undated')}-{report.slug(device)}{apart}")
    page.parent.mkdir(parents=True, exist_ok=True)
    numbers = page.with_suffix(".json")
    numbers.write_text(report.raw_numbers(run), encoding="utf-8")
    page.write_text(report.page(run, numbers.name), encoding="utf-8")
    return page, [model for model, result in ours.items() if "error" in result]


def again(parser, args):
    """The command that measures the same, wherever this one put its files."""
    keys = ("models", "input", "batch", "steps", "modes", "time_limit", "only")
    words = [f"--{key.replace('_', '-')}={getattr(args, key)}" for key in keys
             if getattr(args, key) not in (parser.get_default(key), "none")]
    return "make bench-gpu" + (f" BENCH_ARGS={shlex.quote(shlex.join(words))}" if words else "")


def arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adagp", default=str(ROOT / "build/cuda/bin/adagp"), help="the program")
    parser.add_argument("--models", default=MODELS,
                        help=f"default {MODELS}; targets = {', '.join(report.TARGET_MODELS)}; "
                             f"zoo = {ZOO.replace(',', ', ')}")
    parser.add_argument("--input", choices=("cifar", "imagenet"), default="cifar")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=100, help="timed steps of each kind")
    parser.add_argument("--modes", default="", help="of pytorch_bench.py; all of them by default")
    parser.add_argument("--time-limit", type=float, default=600,
                        help="seconds for one PyTorch mode of one model")
    parser.add_argument("--resume", action="store_true",
                        help="measure only what --raw has not, or what failed")
    parser.add_argument("--only", default="adagp,pytorch",
                        help="some of adagp, pytorch and roofline (default adagp,pytorch), all or "
                             "none")
    parser.add_argument("--raw", type=Path, default=ROOT / "build/cuda/bench-gpu")
    parser.add_argument("--results", type=Path, default=ROOT / "docs/results")
    parser.add_argument("--commit", default="", help="for a copy of the sources without .git")
    args = parser.parse_args(argv)
    args.command = again(parser, args)
    names = {"zoo": ZOO, "targets": ",".join(report.TARGET_MODELS)}.get(args.models, args.models)
    of_targets = args.models == "targets"
    args.models = [model for model in names.split(",") if model]
    if unknown := [model for model in args.models if model not in ZOO.split(",")]:
        parser.error(f"--models: unknown network '{unknown[0]}'; there are {ZOO}")
    args.pytorch_models = [model for model in args.models
                           if not of_targets or model in report.TARGETS["pytorch"][1]]
    args.mode_list = [mode for mode in args.modes.split(",") if mode] or list(MODES)
    if unknown := set(args.mode_list) - set(MODES):
        parser.error(f"--modes: unknown mode '{unknown.pop()}'; there are {', '.join(MODES)}")
    wanted = ",".join(PARTS) if args.only == "all" else args.only
    args.only = [part for part in wanted.split(",") if part not in ("", "none")]
    if unknown := set(args.only) - set(PARTS):
        parser.error(f"--only: unknown part '{unknown.pop()}'; there are {', '.join(PARTS)}")
    return args


def main(argv):
    args = arguments(argv)
    if set(args.only) - {"pytorch"} and not os.access(args.adagp, os.X_OK):
        print(f"run.py: {args.adagp}: no such program; make bench-gpu builds it, or pass --adagp",
              file=sys.stderr)
        return 1
    args.raw.mkdir(parents=True, exist_ok=True)
    about = args.raw / "machine.json"
    before = raw.load(about)
    # A whole run: no number on the page is older.
    if {"adagp", "pytorch"} <= set(args.only) and not args.resume:
        before = {}
        for ours in ("adagp-*.json", "pytorch-*.json", "roofline.json"):
            for file in args.raw.glob(ours):
                file.unlink()
    if args.only:
        now = machine.describe(args, before)
        if args.resume and (wrong := raw.refusal(now, before)):
            print(f"run.py: {wrong}", file=sys.stderr)
            return 1
        raw.write(about, now)
    for column in columns_of(args.models) if "adagp" in args.only else ():
        if args.resume and raw.usable(raw.load(raw_file(args, column))):
            continue
        result = run_adagp(column, args)
        raw.write(raw_file(args, column), result)
        print(f"adagp: {column}: {result.get('error') or 'measured'}", file=sys.stderr, flush=True)
        write_page(args)
    error = None
    if "roofline" in args.only:
        result, file = run_roofline(args), args.raw / "roofline.json"
        error = result.get("error") if isinstance(result, dict) else None
        if not (error and args.resume and raw.usable(raw.load(file))):  # some networks are there
            raw.write(file, result)
        print(f"roofline: {error or 'measured'}", file=sys.stderr, flush=True)
        write_page(args)
    if "pytorch" in args.only:
        run_pytorch(args)
    page, failed = write_page(args)
    print(os.path.relpath(page))
    return 1 if failed or error else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        print("run.py: interrupted; --resume goes on from here", file=sys.stderr)
        sys.exit(130)
    except OSError as error:  # no room, no permission
        sys.exit(f"run.py: {error}")
