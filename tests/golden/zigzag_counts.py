#!/usr/bin/env python3
"""Writes zigzag.csv: what ZigZag 3.9.1 counts for our files of twenty layers (cli/zigzag_oracle.py).

    ADAGP_BIN=build/bin/adagp python3 tests/golden/zigzag_counts.py
"""

import csv
import logging
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cli"))
import zigzag_oracle as oracle  # noqa: E402


def main():
    logging.disable(logging.WARNING)
    with open(HERE / "zigzag.csv", "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["rows", "columns", "dataflow", "product", *oracle.NUMBERS])
        for array in oracle.ARRAYS:
            for dataflow in oracle.DATAFLOWS:
                with tempfile.TemporaryDirectory() as folder:
                    found = oracle.run_zigzag(oracle.write_files(Path(folder), array, dataflow))
                for product, numbers in found.items():
                    out.writerow([*array, dataflow, product, *(f"{numbers[name]:.10g}" for name in oracle.NUMBERS)])


main()
