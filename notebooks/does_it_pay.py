# ---
# jupyter:
#   jupytext:
#     formats: py:percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Does it pay on my model?
#
# `adagp.compare` trains *your* network with *your* loaders by several methods and says which of them
# is better than plain backprop that costs the same. Here the network and the data are small, so that
# the page runs in two minutes on two cores. Put your own in their place.

# %%
import tempfile

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import adagp

torch.set_num_threads(2)

# %% [markdown]
# ## The network and the data
# Eight classes. Every image is its class's pattern at a random place, with much noise.


# %%
def make_data(examples: int, seed: int) -> TensorDataset:
    generator = torch.Generator().manual_seed(seed)
    patterns = torch.randn(8, 3, 16, 16, generator=torch.Generator().manual_seed(0))
    labels = torch.randint(0, 8, (examples,), generator=generator)
    shifts = torch.randint(0, 16, (examples, 2), generator=generator).tolist()
    images = torch.stack(
        [patterns[y].roll(shift, (1, 2)) for y, shift in zip(labels.tolist(), shifts, strict=True)]
    )
    return TensorDataset(images + 1.5 * torch.randn(images.shape, generator=generator), labels)


train = DataLoader(make_data(1200, 1), batch_size=50, shuffle=True)
test = DataLoader(make_data(500, 2), batch_size=500)


def network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
        nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 8),
    )


# %% [markdown]
# ## What would run, and for how long

# %%
settings = {
    "epochs": 4,
    "seeds": 3,
    "methods": ["progressive", "stored-loss", "adagp"],
    "folder": tempfile.mkdtemp(),
    "progress": False,
}
adagp.compare(network, train, test, dry_run=True, **settings)

# %% [markdown]
# `bp` runs at three lengths: a curve of accuracy against cost. Every other method runs for the number
# of epochs that costs as much as four epochs of `bp`. `adagp` brought its controls along: `skip` drops
# the batches whose gradients `adagp` predicts, and `zero` lets momentum alone move the weights.
#
# ## The comparison

# %%
result = adagp.compare(network, train, test, **settings)
result

# %%
result.to_pandas()[["method", "epochs", "n", "top1_mean", "top1_sd", "cost_mean", "seconds_mean"]]

# %%
result.plot();  # noqa: E703

# %% [markdown]
# "Points" are percent of the test images. A method pays when it is above `bp` of equal seconds by more
# than two standard errors. With three seeds only large differences can be told; with your own model,
# use longer runs and more seeds before you believe a small one.
#
# Every run is a folder (`adagp.runs(folder)`), and the same call goes on where Ctrl-C stopped it.

# %%
[(run.name, run.summary.score) for run in result.runs[:4]]
