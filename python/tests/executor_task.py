"""A small comparison whose parts another process can import."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def data(examples, seed):
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 4, (examples,), generator=generator)
    means = torch.randn(4, 3, 16, 16, generator=torch.Generator().manual_seed(7))
    return TensorDataset(means[labels] + torch.randn(examples, 3, 16, 16, generator=generator), labels)


TRAIN = DataLoader(data(120, 1), batch_size=20, shuffle=True)
TEST = DataLoader(data(60, 2), batch_size=30)


def network():
    return nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(4, 4))  # fmt: skip


def broken_network():
    raise RuntimeError("no network today")
