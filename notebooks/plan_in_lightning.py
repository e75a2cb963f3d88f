# ---
# jupyter:
#   jupytext:
#     formats: py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A plan in Lightning
#
# `adagp.Plan` chooses which examples an epoch has, how large its batches are and how large its images are. The steps
# stay exact backprop; there are fewer of them, or they are cheaper. Here a small network is trained in Lightning with
# and without a plan, and the run is interrupted and goes on.
#
# The data are made here: ten kinds of noisy stripes. What comes out says how the package is used, and nothing about
# your data. For that there is `adagp.compare`.

# %%
import logging
import tempfile
import time
import warnings

import lightning.pytorch as L
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

import adagp
from adagp.integrations.lightning import PlanCallback

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore")
torch.set_num_threads(1)  # the network is too small for more


# %%
def stripes(examples, seed):
    """Images [N, 3, 32, 32] of stripes in ten directions, under noise."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(examples) % 10
    angle = labels * torch.pi / 10
    at = torch.arange(32) / 32
    along = angle.cos()[:, None, None] * at[:, None] + angle.sin()[:, None, None] * at
    phase = torch.rand(examples, 1, 1, generator=generator) * 6.3
    waves = torch.sin(along * 16 + phase)[:, None].expand(-1, 3, -1, -1)
    noise = torch.randn(examples, 3, 32, 32, generator=generator)
    return TensorDataset(0.25 * waves + noise, labels)


train_set, test_set = stripes(2000, 1), stripes(1000, 2)

# %% [markdown]
# ## The module
#
# `training_step` differs from the usual one in two lines: the losses are kept for each example
# (`reduction="none"`) and given to `plan.loss`, and the learning rate comes from `plan.set_rate`, because schedulers
# that count steps do not know how long the epochs are.


# %%
class Classifier(L.LightningModule):
    def __init__(self, plan):
        super().__init__()
        self.plan = plan
        self.lengths, self.sides = [], []
        widths = [3, 8, 16, 32]
        blocks = [
            nn.Sequential(nn.Conv2d(a, b, 3, 1, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(),
                          nn.MaxPool2d(2))
            for a, b in zip(widths, widths[1:])
        ]  # fmt: skip
        self.model = nn.Sequential(
            *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)
        )

    def on_train_epoch_start(self):
        self.lengths.append(self.trainer.num_training_batches)

    def training_step(self, batch, batch_idx):
        x, y = batch
        if batch_idx == 0:
            self.sides.append(x.shape[-1])
        self.plan.set_rate(self.optimizers(), 0.1, "one-cycle")
        return self.plan.loss(F.cross_entropy(self.model(x), y, reduction="none"))

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("accuracy", (self.model(x).argmax(1) == y).float().mean())

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)


def fit(method, epochs=6, callbacks=(), ckpt_path=None):
    L.seed_everything(0, verbose=False)
    plan = adagp.Plan(method, train_set, batch_size=50, epochs=epochs, seed=0)
    module = Classifier(plan)
    trainer = L.Trainer(
        max_epochs=epochs, callbacks=[PlanCallback(plan), *callbacks], accelerator="cpu",
        logger=False, enable_checkpointing=bool(callbacks), enable_progress_bar=False,
        enable_model_summary=False, use_distributed_sampler=False, num_sanity_val_steps=0,
    )  # fmt: skip
    begin = time.process_time()
    trainer.fit(
        module,
        DataLoader(train_set, batch_sampler=plan),
        DataLoader(test_set, batch_size=500),
        ckpt_path=ckpt_path,
    )
    seconds = time.process_time() - begin
    return module, float(trainer.callback_metrics["accuracy"]), seconds


# %% [markdown]
# ## With and without
#
# `bp` is plain backprop on all examples. `progressive+stored-loss` begins with small images in large batches and leaves
# out examples with small losses. Lightning sees the length of each epoch.

# %%
results = {}
for method in ("bp", "progressive", "stored-loss", "progressive+stored-loss"):
    module, accuracy, seconds = results[method] = fit(method)
    print(f"{method:24} {seconds:5.1f} s of CPU time, accuracy {100 * accuracy:5.1f} %")
    print(f"{'':24} batches of the epochs {module.lengths}, sides of the images {module.sides}")

# %%
fast, plain = results["progressive+stored-loss"], results["bp"]
print(f"The same number of epochs took {fast[2] / plain[2]:.2f} of the CPU time of bp, "
      f"and the accuracy changed by {100 * (fast[1] - plain[1]):+.1f} points.")  # fmt: skip
print("One seed and one length: a shorter bp run may do as well. adagp.compare looks at that too.")

# %% [markdown]
# ## Interrupted in mid-epoch
#
# The plan's position and its table of losses are in Lightning's checkpoint.

# %%
with tempfile.TemporaryDirectory() as folder:
    saved = L.callbacks.ModelCheckpoint(folder, "{step}", every_n_train_steps=40, save_top_k=-1)
    whole, *_ = fit("progressive+stored-loss", callbacks=[saved])
    resumed, *_ = fit("progressive+stored-loss", ckpt_path=f"{folder}/step=40.ckpt")

equal = all(
    torch.equal(a, b) for a, b in zip(whole.parameters(), resumed.parameters(), strict=True)
)
print(f"resumed after 40 of {sum(whole.lengths)} batches; the weights are",
      "equal" if equal else "NOT equal")  # fmt: skip
assert equal
