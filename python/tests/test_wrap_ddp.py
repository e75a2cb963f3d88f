"""Two processes that share each batch: summaries are averaged, and both stay equal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from limits import PATIENCE

torch = pytest.importorskip("torch")
if not (torch.distributed.is_available() and torch.distributed.is_gloo_available()):
    pytest.skip("needs gloo", allow_module_level=True)

SCRIPT = """
import sys, torch
from torch import nn
from torch.nn import functional as F
from adagp.predict import wrap

rank, world, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
torch.set_num_threads(1)
if world > 1:
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank,
                                         world_size=world)
torch.manual_seed(0)
# No norm: its statistics would be those of half a batch.
model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3, stride=2), nn.ReLU(),
                      nn.Flatten(), nn.Linear(72, 4))
shared = nn.parallel.DistributedDataParallel(model) if world > 1 else model
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3)
gp = wrap(shared, optimizer, "1ep bp, 2:1", epochs=3, steps_per_epoch=4)
generator = torch.Generator().manual_seed(1)
phases = []
for _ in range(12):
    x = torch.randn(8, 3, 10, 10, generator=generator)
    y = torch.randint(0, 4, (8,), generator=generator)
    half = slice(rank * 8 // world, (rank + 1) * 8 // world)
    phases.append(gp.phase)
    gp.step(lambda: F.cross_entropy(shared(x[half]), y[half]))
assert phases.count("gp") > 3, phases
torch.save({"model": model.state_dict(), "predictor": gp.state_dict()["predictor"]},
           f"{folder}/{world}-{rank}.pt")
if world > 1:
    torch.distributed.destroy_process_group()
"""


def start(folder: Path, rank: int, world: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(rank), str(world), str(folder)],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )


def test_two_processes_stay_equal_and_equal_one(tmp_path):
    processes = [start(tmp_path, 0, 2), start(tmp_path, 1, 2), start(tmp_path, 0, 1)]
    try:
        for process in processes:
            _, errors = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, errors
    finally:
        for process in processes:
            process.kill()
    one, other, alone = (torch.load(tmp_path / name, weights_only=True) for name in ("2-0.pt", "2-1.pt", "1-0.pt"))
    for part in ("model", "predictor"):
        for name, value in one[part].items():
            assert torch.equal(value, other[part][name]), name
            # The mean of two halves is the mean of the whole, but for the order of additions.
            torch.testing.assert_close(value, alone[part][name], rtol=2e-3, atol=2e-5, msg=name)
