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
# # Pipelines
#
# A network is cut into stages, one for each device, and micro-batches pass through them. Devices
# wait for each other: these bubbles are the price. Batches whose gradients are predicted (GP) have
# no backward pass, so that the pipeline fills and drains once less. This notebook shows the
# schedules, what they cost, and what GP batches save. What is counted: docs/pipelines.md.

# %%
import torch
from torch import nn

import adagp

steps = adagp.pipeline(stages=4, micro_batches=8, schedule="all", phases="gp-bp")
steps.to_pandas()

# %% [markdown]
# ## Who does what when
#
# One GP batch and one BP batch, first GPipe, then Chimera, in which two copies of the network run
# in opposite directions.

# %%
steps.gantt("gpipe")

# %%
steps.gantt("chimera")

# %% [markdown]
# The op lists behind the pictures, which a device executes one after another:

# %%
import pandas

ops = pandas.DataFrame(steps.ops("gpipe"))
ops[ops.device == 1].head(12)

# %% [markdown]
# ## A real network on accelerators
#
# The stages now take the cycles of their layers on a systolic array; layers are cut so that the
# slowest stage is as fast as possible.

# %%
cycles = adagp.pipeline(
    "resnet18", input="cifar", batch=128, array="32x32",
    stages=[2, 4], micro_batches=[8, 16], schedule=["gpipe", "dapple", "chimera"], phases="gp-bp",
)  # fmt: skip
cycles.to_pandas()[["schedule", "stages", "micro_batches", "utilisation", "training_speedup"]]

# %% [markdown]
# ## Your network, measured here
#
# `time_blocks` times each block of a module alone, forward and backward, for one micro-batch.

# %%
torch.manual_seed(0)
net = nn.Sequential(
    *[
        nn.Sequential(nn.Conv2d(c, d, 3, padding=1, stride=s), nn.BatchNorm2d(d), nn.ReLU())
        for c, d, s in [(3, 32, 1), (32, 64, 2), (64, 64, 1), (64, 128, 2), (128, 128, 1)]
    ],
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10),
)  # fmt: skip
times = adagp.time_blocks(net, torch.rand(16, 3, 32, 32))
times.to_pandas()

# %%
measured = adagp.pipeline(costs=times, stages=4, micro_batches=8,
                          schedule=["gpipe", "dapple", "zero-bubble"], phases="gp-bp")  # fmt: skip
measured

# %%
measured.gantt("zero-bubble")

# %% [markdown]
# ## More micro-batches, smaller bubbles

# %%
many = adagp.pipeline(stages=8, micro_batches="8..128*2", schedule=["gpipe", "chimera"],
                      phases="gp-bp")  # fmt: skip
table = many.to_pandas().pivot(index="micro_batches", columns="schedule", values="utilisation")
axes = table.plot(marker="o", logx=True, figsize=(7, 3.5))
axes.set_ylabel("mean utilisation")
