#!/usr/bin/env python3
"""Writes fixtures/scalesim/<case>/: inputs of ours and the reports SCALE-Sim 3.0.0 made of them."""

import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "bench"))
from scalesim_compare import run_scalesim, write_config  # noqa: E402

# Full and partial folds, strides, a depthwise layer, a product.
CONV = """Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,
conv1, 18, 18, 3, 3, 8, 20, 1,
conv2, 15, 15, 3, 3, 20, 32, 2,
conv3, 11, 12, 2, 3, 5, 7, 3,
DPconv4, 10, 10, 3, 3, 3, 1, 1,
fc, 1, 1, 1, 1, 128, 10, 1,
"""
# A stride that does not divide: SCALE-Sim rounds the output up, and windows reach beyond the IFMAP.
ROUNDED = """Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,
stem, 20, 21, 7, 7, 3, 16, 2,
gaps, 12, 10, 2, 3, 5, 7, 3,
"""
GEMM = """Layer, M, N, K,
a, 64, 40, 96,
b, 1, 10, 33,
c, 50, 7, 5,
"""
# Results and weights that do not fit: the small buffers drain and refill during the computation.
SMALL = dict(filter_kb=1, ofmap_kb=2)
USER = dict(mode="USER", bandwidth=3, ifmap_bandwidth=7, filter_bandwidth=5)
CASES = {
    "ws": ("conv", CONV, dict(dataflow="ws")),
    "is": ("conv", CONV, dict(dataflow="is")),
    "os": ("conv", CONV, dict(dataflow="os")),
    "ws-small": ("conv", CONV, dict(dataflow="ws", **SMALL)),
    "is-drain": ("conv", CONV, dict(dataflow="is", ofmap_kb=1)),
    "os-drain": ("conv", CONV, dict(dataflow="os", ofmap_kb=1)),
    "rounded-ws": ("conv", ROUNDED, dict(dataflow="ws")),
    "rounded-os": ("conv", ROUNDED, dict(dataflow="os")),
    "gemm-ws": ("gemm", GEMM, dict(dataflow="ws", rows=8, columns=9)),
    "gemm-os": ("gemm", GEMM, dict(dataflow="os", rows=9, columns=8)),
    # Given bandwidths: the array waits for the drains of its results.
    "user-ws": ("conv", CONV, dict(dataflow="ws", ofmap_kb=1, **USER)),
    "user-is": ("conv", CONV, dict(dataflow="is", ofmap_kb=1, **USER)),
    "user-os": ("conv", CONV, dict(dataflow="os", ofmap_kb=1, **USER)),
    "user-gemm": ("gemm", GEMM, dict(dataflow="ws", rows=8, columns=9, ofmap_kb=2, **USER)),
}


def main():
    """All of them, or those named on the command line."""
    for name in sys.argv[1:] or CASES:
        kind, topology, machine = CASES[name]
        folder = HERE / "fixtures" / "scalesim" / name
        folder.mkdir(parents=True, exist_ok=True)
        write_config(folder / "run.cfg", name="run", **{"rows": 12, "columns": 15, **machine})
        (folder / "topology.csv").write_text(topology)
        with tempfile.TemporaryDirectory() as made:
            run_scalesim(folder / "run.cfg", folder / "topology.csv", kind, made)
            for report in Path(made, "run").glob("*_REPORT.csv"):
                shutil.copy(report, folder / report.name)


if __name__ == "__main__":
    main()
