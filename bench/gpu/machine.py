"""What the numbers of run.py belong to: date, device, versions."""

import datetime
import importlib.util
import runpy
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


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


def describe(args, before):
    """`before`: that of the part before, of a run in several parts."""
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
