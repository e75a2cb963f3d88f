#!/usr/bin/env python3
"""kill -9 of train, compare and sweep in many places, then the same command again: the results are those of an
undisturbed run, byte for byte but for seconds: weights, checkpoints, metrics, and reports as JSON, CSV, Markdown and
SVG. Also a sweep that four processes share and each is killed. Part of `make nightly` (kills), not of `make test`.

A process that is killed leaves nothing but its files. So the places are before changes of a file (stop_at.c
counts them), spread over the whole command: whatever else it does between two changes leaves the same.
"""

import argparse
import csv
import json
import re
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import numpy as np
from safetensors import safe_open

import shared_kills
from harness import TINY, adagp, assert_same_run, sets, stopping

OFTEN = sets(checkpoint_every="4ba", log_every="3ba")
COMMANDS = {
    "train": ["train", *TINY, "--epochs", "3", "--method", "adagp", "--schedule", "1ep bp, 1:1", *OFTEN],
    "compare": ["compare", *TINY, "--epochs", "2", "--methods", "bp,adagp,skip", "--seeds", "1", *OFTEN],
    # Which points are best must not depend on seconds.
    "sweep": ["sweep", *TINY, "--epochs", "2", "--over", "schedule=1ep bp, 1:1;1ep bp, 2:1", "--seeds", "1",
              "--pareto", "acc,cost", *OFTEN],
}
MEASURED = ("seconds", "speedup", "speed-up", "time")  # parts of names whose values the clock decides
REPORTS = (".json", ".csv", ".md", ".svg")


def timeless(value):
    if isinstance(value, dict):
        return {key: timeless(one) for key, one in value.items()
                if not any(word in key for word in MEASURED)}
    return [timeless(one) for one in value] if isinstance(value, list) else value


def timeless_table(rows):
    """Without the columns of the clock."""
    kept = [i for i, title in enumerate(rows[0]) if not any(word in title for word in MEASURED)]
    assert kept, rows[0]
    return [[row[i] for i in kept] for row in rows]


# "bp: a run takes 0.10 to 0.17 s. The machine was busy ...", with the line ends of text or of JSON before it.
CLOCK_NOTE = re.compile(r"(\\n|\n)*[^\n\"\\]* takes [\d.]+ to [\d.]+ s\. The machine was busy.*?said of seconds\.")


def timeless_report(file):
    """What the clock does not decide in a report: of a picture over seconds, what its points say besides."""
    text = CLOCK_NOTE.sub("", file.read_text())
    if file.suffix == ".json":
        return timeless(json.loads(text))
    if file.suffix == ".csv":
        return timeless_table(list(csv.reader(text.splitlines())))
    if file.suffix == ".svg":
        said = re.findall(r"<title>([^<]*: )[^:,<]+, ([^<]*)</title>", text)
        assert said, file
        return sorted(said)
    lines = text.splitlines()
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    # "adagp took 53 % of the time of plain backprop"
    prose = [re.sub(r"took \S+ % of the time", "", line) for line in lines if not line.startswith("|")]
    return (timeless_table(table) if table else []), prose


def assert_same_checkpoint(ours, theirs):
    """Everything that the rest of the run depends on. Each run has an identity of its own."""
    with safe_open(ours, "np") as a, safe_open(theirs, "np") as b:
        states = []
        for one in (a, b):
            states.append(timeless(json.loads(one.metadata()["adagp.checkpoint"])))
            assert states[-1]["run"].pop("id")
        assert states[0] == states[1], ours.name
        assert sorted(a.keys()) == sorted(b.keys()), ours.name
        for name in a.keys():
            one, other = a.get_tensor(name), b.get_tensor(name)
            assert one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f"), name


def run_folders(folder):
    return [file.parent.relative_to(folder) for file in sorted(folder.rglob("config.toml"))]


def names(folder):
    """Of all files; those of TensorBoard have the time in their names. A half-written report of compare and
    sweep stays beside the whole one (docs/run-folder.md); in a run folder none may stay."""
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*")
                  if file.is_file() and "tfevents" not in file.name
                  and not (file.suffix == ".tmp" and file.parent == folder
                           and not (folder / "config.toml").exists()))


def assert_same(folder, whole):
    assert names(folder) == names(whole), set(names(folder)) ^ set(names(whole))
    assert run_folders(folder) == run_folders(whole)
    for run in run_folders(whole):
        assert_same_run(folder / run, whole / run)
        for name in ("config.toml", "layers.csv"):
            files = [place / run / name for place in (folder, whole)]
            if files[1].exists():
                assert files[0].read_bytes() == files[1].read_bytes(), f"{run}/{name}"
        for checkpoint in (whole / run / "checkpoint").glob("*.safetensors"):
            assert_same_checkpoint(folder / run / "checkpoint" / checkpoint.name, checkpoint)
    for report in whole.iterdir():
        if report.suffix not in REPORTS or report.name == "environment.json":  # who made the run, and when
            continue
        assert timeless_report(folder / report.name) == timeless_report(report), report.name


def places(changes, count):
    """Spread over 1 ... changes, the first and the last among them."""
    count = min(count, changes)
    return sorted({1 + i * (changes - 1) // max(1, count - 1) for i in range(count)})


def kill_in_places(name, count, scratch):
    command, whole, cut = COMMANDS[name], scratch / "whole", scratch / "cut"
    adagp(*command, "-o", whole, env=stopping(COUNT_CHANGES=scratch / "changes"))
    changes, wrong = int((scratch / "changes").read_text()), []
    chosen = places(changes, count)
    for place in chosen:
        shutil.rmtree(cut, ignore_errors=True)
        try:
            adagp(*command, "-o", cut, env=stopping(KILL_BEFORE=place), code=-signal.SIGKILL)
            adagp(*command, "-o", cut)
            assert_same(cut, whole)
        except AssertionError as error:
            wrong.append(place)
            print(f"{name}: killed before change {place} of {changes}: {error}", file=sys.stderr, flush=True)
    print(f"{name}: killed in {len(chosen)} places, before changes 1 to {changes}: "
          f"{len(chosen) - len(wrong)} end as the undisturbed one, {len(wrong)} do not", flush=True)
    return not wrong


def kill_those_who_share(count, scratch):
    try:
        shared_kills.rounds(count, scratch, assert_same)
    except AssertionError as error:
        print(f"shared: {error}", file=sys.stderr, flush=True)
        return False
    print(f"shared: {count} rounds of four processes, each killed again and again: all end as one", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commands", nargs="*", default=[*COMMANDS, "shared"],
                        help="of train, compare, sweep, shared")
    parser.add_argument("--places", type=int, default=100, help="for each command (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=20, help="of shared (default %(default)s)")
    args = parser.parse_args()
    known = [*COMMANDS, "shared"]
    if unknown := set(args.commands) - set(known):
        parser.error(f"no command {', '.join(unknown)}: choose from {', '.join(known)}")
    good = True
    for name in args.commands:
        with tempfile.TemporaryDirectory(prefix="adagp-kills-") as scratch:
            ended = (kill_those_who_share(args.rounds, Path(scratch)) if name == "shared"
                     else kill_in_places(name, args.places, Path(scratch)))
            good = ended and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
