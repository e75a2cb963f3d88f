#!/usr/bin/env python3
"""Synthesises the RTL with Yosys and writes what each design needs.

    rtl/tools/synth.py [--array 12x15] [--pred-array 8x10] [--designs low,max] [--liberty FILE] ...

Targets: Xilinx 7-series (LUT, FF, DSP48E1, RAMB36, RAMB18) and standard cells (area; the memory banks
are left out as black boxes). Results: resources.csv (totals) and modules.csv (per source module) in
the output folder, and a table on the console. Exit code 2: wrong option; 3: a file is missing or not
what it should be, or Yosys refused the RTL.
"""

import argparse
import csv
import json
import os
import re
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from resources import CELL_NAMES, XILINX_NAMES, BadInput, Library, Mapped, increment, xilinx_resources

ROOT = Path(__file__).resolve().parents[2]
TOP = "adagp_top"
BANK = "bank.sv"  # the one source with memory in it: a black box for standard cells
DESIGNS = ("baseline", "low", "efficient", "max")
FORMATS = ("fixed", "bf16")  # their places are the values of FORMAT
# Other forms of MAX: what the predictor's PEs can do decides what the second array costs.
VARIANTS = {
    "max-three-modes": {"PMODES": 1},
}
QFLOW = Path("/usr/share/qflow/tech")
# osu018 beside it would say nothing new: the area of every cell is a quarter.
LIBRARIES = {"osu035": QFLOW / "osu035/osu035_stdcells.lib"}


def parse_array(words):
    match = re.fullmatch(r"([0-9]{1,3})x([0-9]{1,3})", words)
    if not match or "0" in match.groups():
        raise argparse.ArgumentTypeError(f"'{words}' is no array; expected rows x columns, as 12x15")
    return int(match.group(1)), int(match.group(2))


def parse_list(known):
    def parse(words):
        names = words.split(",")
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f"'{name}' is unknown; expected some of {','.join(known)}")
        return names
    return parse


def arguments():
    parser = argparse.ArgumentParser(description="resources of the RTL by Yosys", allow_abbrev=False)
    parser.add_argument("--rtl", type=Path, default=ROOT / "rtl", help="folder with the sources")
    parser.add_argument("--array", type=parse_array, default=(12, 15), help="main array (12x15)")
    parser.add_argument("--pred-array", type=parse_array, default=(8, 10), help="predictor array (8x10)")
    parser.add_argument("--designs", type=parse_list(DESIGNS), default=list(DESIGNS))
    parser.add_argument("--formats", type=parse_list(FORMATS), default=list(FORMATS))
    parser.add_argument("--targets", type=parse_list(("xc7", "cells")), default=["xc7", "cells"])
    parser.add_argument("--liberty", type=Path, action="append", default=[],
                        help="one more cell library (Liberty file); may be given several times")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=NUMBER",
                        help="a parameter of the top module")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "build/rtl-synth")
    parser.add_argument("--copy", type=Path, help="also write resources.csv there")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    for word in args.set:
        if not re.fullmatch(r"[A-Z_][A-Z0-9_]*=[0-9]+", word):
            parser.error(f"--set '{word}': expected NAME=NUMBER")
    if args.jobs < 1:
        parser.error("--jobs: expected 1 or more")
    if "baseline" not in args.designs:
        args.designs.insert(0, "baseline")  # every increment is over it
    args.designs.sort(key=DESIGNS.index)
    return args


def sources(folder):
    """The files of the list beside them, in its order: the package comes first."""
    names = (folder / "files.txt").read_text().split()
    if BANK not in names:
        raise BadInput(f"{folder / 'files.txt'}: no {BANK} in it; expected the list of the RTL's files")
    for name in names:
        if not (folder / name).is_file():
            raise BadInput(f"{folder / name} is missing; {folder / 'files.txt'} names it")
    return [folder / name for name in names]


def parameters(args, configuration, number_format):
    rows, cols = args.array
    pred_rows, pred_cols = args.pred_array
    design = configuration.split("-")[0]
    values = {"DESIGN": DESIGNS.index(design), "ROWS": rows, "COLS": cols, "PROWS": pred_rows,
              "PCOLS": pred_cols, "FORMAT": FORMATS.index(number_format)}
    values.update(VARIANTS.get(configuration, {}))
    values.update((name, int(number)) for name, number in (word.split("=") for word in args.set))
    return values


def wrapper(args, configurations):
    """One module for each design and format around the top module, and one around all of these.

    Yosys then makes every distinct module once and maps it once, for all designs together. The
    mapper's results change by some percent with unrelated names; 180 times the noise of a PE would
    hide what a design adds.
    """
    lines, names = [], [wrapped(c, f) for f in args.formats for c in configurations]
    for number_format in args.formats:
        for configuration in configurations:
            values = parameters(args, configuration, number_format)
            given = ", ".join(f".{name}({value})" for name, value in values.items())
            name = wrapped(configuration, number_format)
            lines.append(f"module {name}; (* keep *) {TOP} #({given}) u (); endmodule")
    lines += ["module all_designs;", *(f"  (* keep *) {name} u_{name} ();" for name in names), "endmodule", ""]
    return "\n".join(lines)


def wrapped(configuration, number_format):
    return f"only_{configuration}_{number_format}".replace("-", "_")


def yosys_script(args, target, libraries):
    lines = []
    for path in sources(args.rtl):
        library = "-lib " if target == "cells" and path.name == BANK else ""
        lines.append(f"read_verilog -sv {library}{path}")
    lines += ["read_verilog -sv all_designs.sv", "hierarchy -check -top all_designs"]
    if target == "xc7":
        # Without -nowidelut Yosys 0.23 counted 18 to 41 % more LUTs in a trial.
        lines += ["tee -q -o rtl.json stat -json",
                  "synth_xilinx -family xc7 -nowidelut -noiopad -noclkbuf -top all_designs",
                  "tee -q -o xc7.json stat -json"]
    else:
        lines += ["synth -top all_designs", "design -save generic"]
        for name, path in libraries.items():
            lines += ["design -load generic", f"dfflibmap -liberty {path}", f"abc -liberty {path}",
                      "opt_clean", f"tee -q -o {name}.json stat -json"]
    return "\n".join(lines) + "\n"


def run_yosys(args, target, libraries):
    script, log = args.output / f"{target}.ys", args.output / f"{target}.log"
    script.write_text(yosys_script(args, target, libraries))
    began = time.monotonic()
    with open(log, "w") as out:
        done = subprocess.run(["yosys", "-Q", script.name], cwd=args.output, stdout=out, stderr=out)
    if done.returncode != 0:
        errors = [line for line in log.read_text(errors="replace").splitlines() if "ERROR" in line]
        raise BadInput(f"Yosys, target {target}: {(errors or ['it failed'])[0]} (log: {log})")
    print(f"rtl-synth: {target}: {time.monotonic() - began:.0f} s", file=sys.stderr)


def read_stat(path):
    """Yosys 0.23 prints the tree as plain text into its JSON, behind the modules: cut there."""
    text = path.read_text()
    end = text.find("\n   },\n")
    if end < 0:
        raise BadInput(f"{path}: no list of modules in it; expected the output of Yosys' stat -json")
    modules = json.loads(text[:end] + "\n   }\n}")["modules"]
    return {name.lstrip("\\"): module for name, module in modules.items()}


def collect(args, configurations, libraries):
    """[(design, format, target, resource, count)] and the same per source module."""
    targets = {}
    if "xc7" in args.targets:
        targets["xc7"] = (xilinx_resources, XILINX_NAMES)
        memories = read_stat(args.output / "rtl.json")
        bits = {name: {"memory bits": module["num_memory_bits"]} for name, module in memories.items()}
    if "cells" in args.targets:
        for name, path in libraries.items():
            targets[name] = (Library(path).resources, CELL_NAMES)
    mapped = {name: Mapped(read_stat(args.output / f"{name}.json"), convert)
              for name, (convert, _) in targets.items()}
    rows, modules = [], []
    for number_format in args.formats:
        for configuration in configurations:
            top, key = wrapped(configuration, number_format), (configuration, number_format)
            for target, (_, names) in targets.items():
                total = mapped[target].total(top)
                rows += [(*key, target, name, total[name]) for name in names]
                for source, (count, sums) in sorted(mapped[target].by_source(top).items()):
                    modules += [(*key, target, source, count, name, sums[name]) for name in names if sums[name]]
            if "xc7" in args.targets:
                total = Mapped(memories, lambda cells: {}).total(top, bits)
                rows.append((*key, "rtl", "memory bits", total["memory bits"]))
    return rows, modules


def write_csv(path, titles, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(titles)
        writer.writerows(rows)


def with_increments(rows):
    base = {row[1:4]: row[4] for row in rows if row[0] == "baseline"}
    out = []
    for row in rows:
        change = increment(row[4], base[row[1:4]])
        out.append((*row[:4], f"{row[4]:.10g}", "" if change is None else f"{change:.2f}"))
    return out


def print_table(rows, configurations):
    """As docs/hardware.md has it: counts, and percent over the baseline."""
    cells = {row[:4]: row for row in rows}
    print(f"| format | target | resource | {' | '.join(configurations)} |")
    print("|---" * (3 + len(configurations)) + "|")
    for number_format, target, name in dict.fromkeys(row[1:4] for row in rows):
        line = [number_format, target, name]
        for configuration in configurations:
            row = cells[configuration, number_format, target, name]
            change = f" ({float(row[5]):+.1f} %)" if row[5] else " (-)"
            line.append(f"{float(row[4]):,.0f}".replace(",", " ") + (change if configuration != "baseline" else ""))
        print(f"| {' | '.join(line)} |")


def main():
    args = arguments()
    began = time.monotonic()
    args.output, args.rtl = args.output.resolve(), args.rtl.resolve()
    libraries = dict(LIBRARIES)
    for path in args.liberty:
        libraries[path.stem] = path.resolve()
    configurations = args.designs + (list(VARIANTS) if "max" in args.designs else [])
    try:
        if "cells" in args.targets:
            for path in libraries.values():
                Library(path)  # before the first minute is spent
        args.output.mkdir(parents=True, exist_ok=True)
        (args.output / "all_designs.sv").write_text(wrapper(args, configurations))
        with ThreadPoolExecutor(args.jobs) as pool:
            list(pool.map(lambda target: run_yosys(args, target, libraries), args.targets))
        rows, modules = collect(args, configurations, libraries)
    except FileNotFoundError as error:
        how = "; scripts/setup.sh --sim --synth installs it" if error.filename == "yosys" else ""
        print(f"rtl-synth: {error.filename} is missing{how}", file=sys.stderr)
        return 3
    except BadInput as error:
        print(f"rtl-synth: {error}", file=sys.stderr)
        return 3
    rows = with_increments(rows)
    titles = ("design", "format", "target", "resource", "count", "percent_over_baseline")
    for path in [args.output / "resources.csv"] + ([args.copy] if args.copy else []):
        write_csv(path, titles, rows)
    write_csv(args.output / "modules.csv",
              ("design", "format", "target", "module", "instances", "resource", "count"), modules)
    print_table(rows, configurations)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"\nrtl-synth: {time.monotonic() - began:.0f} s in all, {used.ru_utime + used.ru_stime:.0f} of a processor, "
          f"{args.jobs} at a time, largest process {used.ru_maxrss / 1e6:.2f} GB; {args.output / 'resources.csv'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
