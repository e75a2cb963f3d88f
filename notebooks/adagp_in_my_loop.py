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
# # ADA-GP in my own training loop
#
# ADA-GP trains with two kinds of batches. A BP batch runs backpropagation. A GP batch runs the
# forward pass alone, and a small network predicts the weight gradients. `adagp.wrap` puts this
# beside a model of yours. The model, the optimizer and the loop stay yours.
#
# The question is not only "does it train?", but "is it better than not doing the GP batches at
# all?". So every run here comes with two controls on the same schedule.

# %%
import time

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional as F

import adagp

torch.manual_seed(0)

# %% [markdown]
# A small problem that needs no download: ten classes of striped images under noise.


# %%
def images(count, seed):
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 10, (count,), generator=generator)
    at = torch.linspace(-1, 1, 16)
    angle = labels * torch.pi / 10
    shift = 6 * torch.rand(count, generator=generator)
    along = (torch.cos(angle)[:, None, None] * at[None, :, None]
             + torch.sin(angle)[:, None, None] * at[None, None, :])
    stripes = torch.sin(6 * along + shift[:, None, None])
    colour = torch.rand(count, 3, 1, 1, generator=generator)
    noise = torch.randn(count, 3, 16, 16, generator=generator)
    return stripes[:, None] * colour + 1.2 * noise, labels


train_x, train_y = images(1536, seed=1)
test_x, test_y = images(1024, seed=2)


def network():
    torch.manual_seed(0)
    steps, channels = [], 3
    for width in (16, 32, 32):
        steps += [nn.Conv2d(channels, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
                  nn.MaxPool2d(2)]
        channels = width
    return nn.Sequential(*steps, nn.Flatten(), nn.Linear(channels * 4, 10))


# %% [markdown]
# ## The loop
#
# Two lines differ from a plain loop: `adagp.wrap`, and `gp.step` in place of `zero_grad`,
# `backward` and `step`. `schedule="bp"` gives the plain loop back, bit for bit.

# %%
EPOCHS, BATCH = 6, 64
SCHEDULE = "2ep bp, 1ep 2:1, 1:1"
STEPS = len(train_x) // BATCH


def run(method, schedule):
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    gp = adagp.wrap(model, optimizer, schedule, epochs=EPOCHS, steps_per_epoch=STEPS,
                    method=method, probe_every=5)
    rate = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.05, EPOCHS * STEPS)
    generator = torch.Generator().manual_seed(3)
    seconds = {"bp": 0.0, "gp": 0.0}
    counts = {"bp": 0, "gp": 0}
    scores = []
    for _ in range(EPOCHS):
        model.train()
        for chosen in torch.randperm(len(train_x), generator=generator).split(BATCH):
            x, y, phase, start = train_x[chosen], train_y[chosen], gp.phase, time.perf_counter()
            gp.step(lambda: F.cross_entropy(model(x), y))
            seconds[phase] += time.perf_counter() - start
            counts[phase] += 1
            rate.step()
        model.eval()
        with torch.no_grad():
            scores.append((model(test_x).argmax(1) == test_y).float().mean().item())
    return gp, scores, seconds, counts


# %%
results = {
    "bp": run("skip", "bp"),  # no GP batch, so nothing is skipped
    "adagp": run("adagp", SCHEDULE),
    "skip": run("skip", SCHEDULE),
    "zero": run("zero", SCHEDULE),
}
print(f"{'method':8}{'test accuracy':>15}{'BP batches':>12}{'GP batches':>12}{'seconds':>10}")
for name, (_, scores, seconds, counts) in results.items():
    print(f"{name:8}{scores[-1]:15.3f}{counts['bp']:12}{counts['gp']:12}"
          f"{sum(seconds.values()):10.2f}")

# %% [markdown]
# Read `adagp` against `skip`: both do the same BP batches, and `skip` does nothing in between. If
# `skip` is as good, the predicted gradients bought nothing, and the GP batches cost time. One seed
# is an anecdote; `adagp.compare` runs several and gives a verdict.

# %%
for name, (_, scores, _, _) in results.items():
    plt.plot(range(1, EPOCHS + 1), scores, marker="o", label=name)
plt.xlabel("epoch")
plt.ylabel("test accuracy")
plt.legend()
plt.show()

# %% [markdown]
# ## What was predicted
#
# `coverage` says for each parameter whether GP batches move it, and if not, why.

# %%
gp = results["adagp"][0]
gp.coverage

# %% [markdown]
# ## How good were the predictions?
#
# On some BP batches the prediction is compared with the true gradient. The cosine is 1 for a
# perfect prediction and 0 for one that has nothing to do with the gradient.

# %%
by_layer = {}
for row in gp.probes:
    by_layer.setdefault(row["layer"], []).append((row["step"], row["cosine"]))
for name, points in by_layer.items():
    plt.plot(*zip(*points), marker=".", label=f"layer {name}")
plt.axhline(0, color="black", linewidth=0.5)
plt.ylim(-1, 1)
plt.xlabel("step")
plt.ylabel("cosine of predicted and true gradient")
plt.legend()
plt.show()

# %% [markdown]
# ## Checkpoints
#
# `gp.state_dict()` belongs beside those of the model and the optimizer. `gp.remove()` takes the
# hooks off the model.

# %%
state = gp.state_dict()
print(sorted(state), "after", state["steps"], "steps")
gp.remove()
