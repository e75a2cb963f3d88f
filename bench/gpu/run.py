#!/usr/bin/env python3
"""Measures adagp and PyTorch on this machine's GPU and writes docs/results/<date>-<device>.md
(<date>-<device>-imagenet-b<batch>.md with --input=imagenet).

The raw JSON goes to --raw, and the page is written again after every part: a run cut short leaves
what it had, and --resume measures what is missing or failed, with the same settings and program.
--only measures one side (of some --models, in some --modes) and takes what else there is from
--raw; --only none makes the page alone. --only all adds the roofline of all networks and mobilenet_v2's depthwise convolutions by
cuDNN and by our kernels. --models targets measures PyTorch on the networks that have a target
against it. Needs adagp built with CUDA (make bench-gpu does that) and a python3 with torch and
torchvision.
"""

import argparse
import datetime
import importlib.util
import itertools
import json
import os
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))
import report  # noqa: E402

MODELS = "vgg13_bn,resnet18,resnet50"
ZOO = ("vgg11_bn,vgg13_bn,vgg16_bn,vgg19_bn,resnet18,resnet34,resnet50,resnet101,resnet152,"
       "densenet121,densenet161,densenet169,densenet201,mobilenet_v2,inception_v3,inception_v4")
ADAGP_LIMIT = 300  # seconds for the bench of one network
# Measured a second time with this key: columns of their own, "NAME KEY".
VARIANTS = {"mobilenet_v2": "depthwise_kernels=false"}
PARTS = ("adagp", "pytorch", "roofline", "depthwise")
MODES = ("eager", "eager-graph", "compile", "compile-graph")  # pytorch_bench.py says what they are


def said(*command):
    """The command's stdout, or '' when it cannot be had."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=ROOT)
        return done.stdout.strip() if done.returncode == 0 else ""
    except (OSError, subprocess.SubprocessError):
        return ""


def commit():
    name = said("git", "rev-parse", "--short", "HEAD")
    # Pages do not count: this script writes them.
    changed = said("git", "status", "--porcelain", "--untracked-files=no", "--", ".",
                   ":!docs/results")
    return (name + (" with local changes" if changed else "")) if name else "unknown"


def torch_version():
    """Of the package this Python would import; importing it takes seconds."""
    found = importlib.util.find_spec("torch")
    try:
        return runpy.run_path(str(Path(found.origin).with_name("version.py")))["__version__"]
    except (AttributeError, KeyError, OSError):
        return ""


def machine(args, before):
    """What the numbers belong to: date, device, versions. `before`: that of the part before, of a
    run in several parts."""
    first = said("nvidia-smi", "--query-gpu=name,driver_version,uuid",
                 "--format=csv,noheader").partition("\n")[0]
    name, driver, uuid = (*first.split(", "), "", "", "")[:3]
    gpus = sorted({*before.get("gpus", []), uuid} - {""})
    nvcc = said("nvcc", "--version") or said("/usr/local/cuda/bin/nvcc", "--version")
    release = [line for line in nvcc.splitlines() if "release" in line]
    torch = torch_version()
    return {
        "date": args.resume and before.get("date") or datetime.date.today().isoformat(),
        "device": name,
        "gpus": gpus,
        "settings": {key: getattr(args, key) for key in ("input", "batch", "steps")},
        "versions": {
            "GPU": (name or "unknown") + (f", {len(gpus)} different ones" if len(gpus) > 1 else ""),
            "driver": driver or "unknown",
            "torch": torch or "unknown",
            "nvcc": release[0].partition("release ")[2] if release else "unknown",
            "adagp": said(args.adagp, "--version") or "unknown",
            "commit": args.commit or commit(),
        },
    }


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
    before = (usable(load(args.raw / "roofline.json")) or []) if args.resume else []
    models = [model for model in args.models if model not in {one["model"] for one in before}]
    if not models:
        return before
    command = [args.adagp, "bench", "--roofline", "--models", ",".join(models), *common(args),
               "--repeats", "20"]
    found = printed_json(command, ADAGP_LIMIT * len(models))
    return found if isinstance(found, dict) else before + found


def run_depthwise(args):
    if args.resume and (before := usable(load(args.raw / "depthwise.json"))):
        return before
    command = [args.adagp, "bench", "--depthwise", "--model", "mobilenet_v2", *common(args),
               "--repeats", "50"]
    return printed_json(command, ADAGP_LIMIT)


def columns_of(models):
    """The networks, those of VARIANTS twice."""
    return [column for model in models
            for column in (model, *([f"{model} {VARIANTS[model]}"] if model in VARIANTS else []))]


def raw_file(args, column):
    return args.raw / f"adagp-{column.replace(' ', '-')}.json"


def pytorch_command(args, mode, models):
    words = ["--models", ",".join(models), "--batch", str(args.batch), "--steps", str(args.steps),
              "--time-limit", str(args.time_limit)]
    if args.tuned and mode == "compile-graph":
        return ["pytorch_tuned.py", *words, "--cache", str(args.raw / "tuned")]
    return ["pytorch_bench.py", *words, "--input", args.input, "--modes", mode]


def pytorch_commands(args, measured):
    """One for each mode, the quick ones first; `measured`: results there are already."""
    done = {(result["model"], result["mode"]) for result in of_this_kind(args, measured)
            if "bp_ms" in result and "error" not in result}
    for mode in args.mode_list:
        models = [model for model in args.pytorch_models if (model, mode) not in done]
        if models:
            yield pytorch_command(args, mode, models)


def run_pytorch(args):
    """Each mode into a file of its own: those measured before stay."""
    measured = load_pytorch(args.raw).get("results", []) if args.resume else []
    for script, *words in pytorch_commands(args, measured):
        file = args.raw / f"pytorch-{len(list(args.raw.glob('pytorch-*.json'))) + 1:03}.json"
        # It writes `file` after every network; its exit code says no more than that.
        subprocess.run([sys.executable, str(HERE / script), *words, "--json", str(file)],
                       stdout=subprocess.DEVNULL, check=False)
        write_page(args)


def load(file):
    """{}: not there, or cut short by a kill."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}


def write(file, data):
    part = file.with_suffix(".part")
    part.write_text(json.dumps(data), encoding="utf-8")
    part.replace(file)


def of_this_kind(args, results):
    return [result for result in results if result.get("input", args.input) == args.input
            and result.get("batch") == args.batch]


def load_pytorch(raw):
    """All files as one; of a mode that was measured twice, the later."""
    merged, results = {}, {}
    for file in sorted(raw.glob("pytorch-*.json")):
        one = load(file)
        merged.update(one)
        for result in one.get("results", []):
            key = tuple(result.get(name) for name in ("model", "input", "batch", "mode"))
            results[key] = result
    return {**merged, "results": list(results.values())} if merged else {}


def usable(result):
    """None for what is not there or has failed; that was told when it was measured."""
    return None if not result or "error" in result else result


def page_path(folder, name):
    """Not that of a page which somebody has edited."""
    for number in itertools.count(1):
        page = folder / (name + (f"-{number}" if number > 1 else "") + ".md")
        if not page.exists() or report.MADE_BY in page.read_text(encoding="utf-8"):
            return page


def write_page(args):
    """From what is in the raw folder; returns the page's path and the networks that failed."""
    about = load(args.raw / "machine.json")
    ours = {column: load(raw_file(args, column)) for column in columns_of(args.models)}
    ours = {model: result for model, result in ours.items() if result}
    pytorch = load_pytorch(args.raw)
    if pytorch:
        pytorch["results"] = of_this_kind(args, pytorch["results"])
    device = (about.get("device") or pytorch.get("gpu")
              or next((o["device"] for o in ours.values() if o.get("device")), "unknown device"))
    text = report.page({"date": about.get("date", ""), "device": device, "batch": args.batch,
                        "input": args.input, "command": args.command,
                        "versions": about.get("versions", {}), "adagp": ours, "pytorch": pytorch,
                        **{part: usable(load(args.raw / f"{part}.json"))
                           for part in ("roofline", "depthwise")}})
    apart = "" if args.input == "cifar" else f"-{args.input}-b{args.batch}"
    page = page_path(args.results, f"{about.get('date', 'undated')}-{report.slug(device)}{apart}")
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text, encoding="utf-8")
    return page, [model for model, result in ours.items() if "error" in result]


def again(parser, args):
    """The command that measures the same, wherever this one put its files."""
    keys = ("models", "input", "batch", "steps", "modes", "time_limit", "only")
    words = [f"--{key.replace('_', '-')}={getattr(args, key)}" for key in keys
             if getattr(args, key) not in (parser.get_default(key), "none")]
    words += ["--tuned"] * args.tuned
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
    parser.add_argument("--tuned", action="store_true",
                        help="PyTorch's compile-graph by pytorch_tuned.py: several processes share "
                             "the search for kernels")
    parser.add_argument("--resume", action="store_true",
                        help="measure only what --raw has not, or what failed")
    parser.add_argument("--only", default="adagp,pytorch",
                        help="some of adagp, pytorch, roofline and depthwise (default "
                             "adagp,pytorch), all or none")
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
    if args.tuned and (args.input != "cifar" or "compile-graph" not in args.mode_list):
        parser.error("--tuned: it needs --input=cifar, and compile-graph among --modes")
    wanted = ",".join(PARTS) if args.only == "all" else args.only
    args.only = [part for part in wanted.split(",") if part not in ("", "none")]
    if unknown := set(args.only) - set(PARTS):
        parser.error(f"--only: unknown part '{unknown.pop()}'; there are {', '.join(PARTS)}")
    return args


def refusal(about, before):
    """Why --resume cannot go on with what was measured before; '': it can."""
    def kept(one):
        versions = one.get("versions", {})
        return {**one.get("settings", {}), **{key: versions.get(key) for key in
                                              ("torch", "adagp", "commit")}}

    now, then = kept(about), kept(before)
    other = [f"{key} was {then.get(key)} and is {now[key]} now" for key in now
             if now[key] != then.get(key)]
    return (f"--resume: {', '.join(other)}; without --resume all is measured anew"
            if before and other else "")


def main(argv):
    args = arguments(argv)
    if set(args.only) - {"pytorch"} and not os.access(args.adagp, os.X_OK):
        print(f"run.py: {args.adagp}: no such program; make bench-gpu builds it, or pass --adagp",
              file=sys.stderr)
        return 1
    args.raw.mkdir(parents=True, exist_ok=True)
    about = args.raw / "machine.json"
    before = load(about)
    # A whole run: no number on the page is older.
    if {"adagp", "pytorch"} <= set(args.only) and not args.resume:
        before = {}
        for ours in ("adagp-*.json", "pytorch-*.json", "roofline.json", "depthwise.json"):
            for file in args.raw.glob(ours):
                file.unlink()
    if args.only:
        now = machine(args, before)
        if args.resume and (wrong := refusal(now, before)):
            print(f"run.py: {wrong}", file=sys.stderr)
            return 1
        write(about, now)
    for column in columns_of(args.models) if "adagp" in args.only else ():
        if args.resume and usable(load(raw_file(args, column))):
            continue
        result = run_adagp(column, args)
        write(raw_file(args, column), result)
        print(f"adagp: {column}: {result.get('error') or 'measured'}", file=sys.stderr, flush=True)
        write_page(args)
    extra_failed = []
    for part, measure in (("depthwise", run_depthwise), ("roofline", run_roofline)):
        if part not in args.only:
            continue
        result = measure(args)
        write(args.raw / f"{part}.json", result)
        error = result.get("error") if isinstance(result, dict) else None
        print(f"{part}: {error or 'measured'}", file=sys.stderr, flush=True)
        extra_failed += [part] if error else []
        write_page(args)
    if "pytorch" in args.only:
        run_pytorch(args)
    page, failed = write_page(args)
    print(os.path.relpath(page))
    return 1 if failed or extra_failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
