"""Does `pip install .` compile every torch-free folder, each in one of a few merged files?"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_torch_free_folder_is_merged_once() -> None:
    folders = (ROOT / "src/adagp/CMakeLists.txt").read_text()
    # Torch-free folders are declared outside of if(ADAGP_TORCH), whose lines are indented.
    calls = re.findall(r"^adagp_folder\(\w+/(\w+)(?: NAME (\w+))?", folders, re.M)
    declared = {name or folder for folder, name in calls}
    merges = re.findall(r"^ +adagp_merged\(\w+ -O\d ([\w ]+)\)", (ROOT / "python/CMakeLists.txt").read_text(), re.M)
    assert 1 < len(merges) <= 4  # more files parse more headers; one would use one core alone
    merged = [name for line in merges for name in line.split()]
    assert sorted(merged) == sorted(declared)
