#!/usr/bin/env python3
"""Runs SCALE-Sim (PyPI scalesim) and `adagp scalesim` on the same files: cycles and wall times.

    scalesim_compare.py [-c run.cfg] [-t topology.csv] [-i conv|gemm] [--adagp build/bin/adagp]

Without files it takes four small convolutions on a 16x16 array. Exit code 1 when cycles differ.
Needs the package scalesim in the Python that runs it (.venv/bin/python3 after `make test`).
"""

import argparse
import csv
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

CONFIG = """[general]
run_name = {name}

[architecture_presets]
ArrayHeight : {rows}
ArrayWidth : {columns}
IfmapSramSzkB : {ifmap_kb}
FilterSramSzkB : {filter_kb}
OfmapSramSzkB : {ofmap_kb}
IfmapOffset : 0
FilterOffset : 10000000
OfmapOffset : 20000000
Bandwidth : {bandwidth}
Dataflow : {dataflow}
ReadRequestBuffer : 512
WriteRequestBuffer : 512

[layout]
IfmapCustomLayout : False
IfmapSRAMBankBandwidth : {ifmap_bandwidth}
IfmapSRAMBankNum : 1
IfmapSRAMBankPort : 2
FilterCustomLayout : False
FilterSRAMBankBandwidth : {filter_bandwidth}
FilterSRAMBankNum : 1
FilterSRAMBankPort : 2

[sparsity]
SparsitySupport : false
SparseRep : ellpack_block
OptimizedMapping : false
BlockSize : 8
RandomNumberGeneratorSeed : 40

[run_presets]
InterfaceBandwidth : {mode}
UseRamulatorTrace : False
"""

TOPOLOGY = """Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,
conv1, 34, 34, 3, 3, 3, 32, 1,
conv2, 34, 34, 3, 3, 32, 32, 1,
conv3, 18, 18, 3, 3, 32, 64, 2,
fc, 1, 1, 1, 1, 512, 10, 1,
"""

# SCALE-Sim 3.0.0 takes the int() of a maximum that is an array of one element, which numpy 2.4
# refuses. The modules see this max instead of the builtin one.
RUNNER = """
import builtins, sys
import numpy
import scalesim.memory.double_buffered_scratchpad_mem as memory
import scalesim.memory.read_buffer as read_buffer
memory.max = read_buffer.max = lambda *values: numpy.asarray(builtins.max(*values)).item()
from scalesim.scale_sim import scalesim
config, topology, layout, kind, folder = sys.argv[1:]
scalesim(save_disk_space=True, verbose=False, config=config, topology=topology, layout=layout,
         input_type_gemm=kind == "gemm").run_scale(top_path=folder)
"""


def write_config(path, name="run", rows=16, columns=16, dataflow="ws", ifmap_kb=64, filter_kb=64,
                 ofmap_kb=64, mode="CALC", bandwidth=10, ifmap_bandwidth=10, filter_bandwidth=10):
    Path(path).write_text(CONFIG.format(**{k: v for k, v in locals().items() if k != "path"}))
    return path


def run_scalesim(config, topology, kind, folder):
    """SCALE-Sim's reports, in folder/<run name>; returns seconds."""
    layout = Path(folder) / "layout.csv"
    layout.parent.mkdir(parents=True, exist_ok=True)
    layout.write_text("Layer name,\n")
    start = time.monotonic()
    subprocess.run([sys.executable, "-c", RUNNER, str(config), str(topology), str(layout), kind,
                    str(folder)], check=True)
    return time.monotonic() - start


def run_adagp(program, config, topology, kind, folder):
    start = time.monotonic()
    subprocess.run([str(program), "-q", "scalesim", "-c", str(config), "-t", str(topology), "-i", kind,
                    "-p", str(folder)], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - start


def read_report(path):
    """Rows of a report as dictionaries of floats; a note (mode USER) is text."""
    with open(path, newline="") as file:
        rows = list(csv.reader(file, skipinitialspace=True))
    titles = rows[0][:-1]  # a comma ends every line
    return [{title: cell if title == "Note" else float(cell) for title, cell in zip(titles, row)}
            for row in rows[1:]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-c", dest="config")
    parser.add_argument("-t", dest="topology")
    parser.add_argument("-i", dest="kind", default="conv", choices=["conv", "gemm"])
    parser.add_argument("--adagp", default=ROOT / "build/bin/adagp")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        config = args.config or write_config(folder / "run.cfg")
        topology = args.topology
        if not topology:
            topology = folder / "topology.csv"
            topology.write_text(TOPOLOGY)
        theirs_s = run_scalesim(config, topology, args.kind, folder / "theirs")
        ours_s = run_adagp(args.adagp, config, topology, args.kind, folder / "ours")
        theirs = read_report(next((folder / "theirs").glob("*/COMPUTE_REPORT.csv")))
        ours = read_report(next((folder / "ours").glob("*/COMPUTE_REPORT.csv")))
    print(f"{'layer':>5}  {'SCALE-Sim (cycles)':>18}  {'adagp (cycles)':>18}")
    for row, our in zip(theirs, ours):
        print(f"{row['LayerID']:5.0f}  {row['Total Cycles']:18.0f}  {our['Total Cycles']:18.0f}")
    same = [r["Total Cycles"] for r in theirs] == [r["Total Cycles"] for r in ours]
    print(f"\ncycles {'equal' if same else 'DIFFER'}; SCALE-Sim {theirs_s:.2f} s, adagp {ours_s:.4f} s, "
          f"ratio {theirs_s / ours_s:.0f}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
