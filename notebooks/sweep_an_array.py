# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Sweep an array
#
# Which systolic array trains this network best, and what does gradient prediction save on it?
# The simulator counts cycles and energy from closed forms, so thousands of machines take seconds.
# It needs no GPU. Formulas: docs/simulator.md.

# %%
import torch
from torch import nn

import adagp


class SmallNet(nn.Module):
    """A network of your own: anything that torch.export can read."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.depthwise = nn.Conv2d(width, width, 3, padding=1, groups=width)
        self.pointwise = nn.Conv2d(width, 4 * width, 1)
        self.head = nn.Linear(4 * width, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.stem(x))
        x = x + torch.relu(self.depthwise(x))
        return self.head(torch.relu(self.pointwise(x)).mean((2, 3)))


net = SmallNet()
table = adagp.layers(net, input=(3, 32, 32))
table

# %% [markdown]
# The table has a row for each operation. `table.missing` says which multiply-accumulates it leaves
# out; here there are none.

# %%
assert table.missing == ""
table.to_pandas()[["name", "op", "in_c", "out_c", "macs", "weights"]]

# %% [markdown]
# SCALE-Sim users get a topology with the same MACs.

# %%
print(table.to_scalesim())

# %% [markdown]
# ## One machine
#
# `baseline` is plain backprop; `low`, `efficient` and `max` are the three designs of ADA-GP.

# %%
one = adagp.simulate(table, batch=128, array="12x15", epochs=90)
one

# %%
print(one.explain("depthwise"))

# %% [markdown]
# ## Many machines
#
# Lists and ranges make a sweep over all combinations.

# %%
sweep = adagp.simulate(
    table, batch=128, array="4..64:4x4..64:4", dataflow=["ws", "os", "is"], epochs=90
)
frame = sweep.to_pandas()
len(frame)

# %% [markdown]
# What nothing else beats in both cycles and energy:

# %%
front = sweep.pareto("cycles", "energy")
front.to_pandas()[["array", "dataflow", "design", "total_cycles", "energy_j", "speedup"]].head(12)

# %% [markdown]
# How fast for how many PEs? Cycles say nothing about accuracy: whether predicted batches keep it is
# a question for training (`adagp.compare`).

# %%
ax = sweep.pareto("pes", "cycles").plot("total_cycles", x="pes")
ax.set_yscale("log")

# %% [markdown]
# How the speed-up depends on the array:

# %%
chosen = frame[(frame.design == "max") & (frame.dataflow == "ws")]
square = chosen[chosen.array_rows == chosen.array_columns]
axes = square.plot(x="array_rows", y="speedup", marker="o", legend=False, figsize=(7, 3.5))
axes.set_xlabel("rows and columns of the array")
axes.set_ylabel("speed-up of design max over backprop")

# %% [markdown]
# ## A slower memory
#
# `settings` are the keys of accelerator files (docs/accelerators.md).

# %%
for bandwidth in (0, 16, 4):
    limited = adagp.simulate(
        table, array=32, designs=["baseline", "max"],
        settings={"buffer.bytes": 2**17, "dram.bytes_per_cycle": bandwidth},
    )  # fmt: skip
    print(bandwidth or "no limit", limited["stall_cycles"], limited["speedup"].round(3))
