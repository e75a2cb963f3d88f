"""Networks of many kinds for the tests of layer tables: torchvision's, and small ones made by hand.

Built without memory (on the meta device): a table and torch's own counter need shapes alone.
"""

import torch
import torchvision
from torch import nn
from torch.nn import functional as F
from torchvision.models.convnext import CNBlockConfig

IMAGE = (2, 3, 64, 64)


class Result(nn.Module):
    """The output of a network that returns several, as segmentation networks do."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x):
        return self.network(x)["out"]


class Recurrent(nn.Module):
    """Two layers in both directions, then steps of a cell that a loop runs."""

    def __init__(self, kind, **options):
        super().__init__()
        self.layers = kind(6, 8, num_layers=2, bidirectional=True, batch_first=True, **options)
        width = 2 * options.get("proj_size", 8)
        self.cell = {nn.LSTM: nn.LSTMCell, nn.GRU: nn.GRUCell, nn.RNN: nn.RNNCell}[kind](width, 5)
        self.out = nn.Linear(5, 3)

    def forward(self, x):
        y, _ = self.layers(x)
        state = None
        for step in range(3):
            state = self.cell(y[:, step], state)
        return self.out(state[0] if isinstance(state, tuple) else state)


class Attention(nn.Module):
    """Self- and cross-attention, with the batch first or the sequence first."""

    def __init__(self, batch_first):
        super().__init__()
        self.encode = nn.TransformerEncoderLayer(16, 4, 24, batch_first=batch_first)
        self.decode = nn.TransformerDecoderLayer(16, 2, 24, batch_first=batch_first)

    def forward(self, source, target):
        return self.decode(target, self.encode(source))


class Products(nn.Module):
    """Products written by hand: einsum with and without weights, a stack of experts, baddbmm, a weight
    on the left, an ellipsis, three operands."""

    def __init__(self):
        super().__init__()
        self.heads = nn.Parameter(torch.empty(12, 4, 3))
        self.experts = nn.Parameter(torch.empty(4, 3, 5))
        self.mix = nn.Parameter(torch.empty(9, 7))
        self.table = nn.Parameter(torch.empty(5, 6))

    def forward(self, x):  # [B, 7, 12]
        heads = torch.einsum("bsd,dhk->bhsk", x, self.heads)  # [B, 4, 7, 3]
        scores = torch.einsum("bhqk,bhsk->bhqs", heads, heads).softmax(-1)
        mixed = torch.einsum("bhqs,bhsk->bhqk", scores, heads)
        by_expert = torch.bmm(mixed.permute(1, 0, 2, 3).flatten(1, 2), self.experts)  # [4, B*7, 5]
        rows = self.mix @ x  # [B, 9, 12]
        biased = torch.baddbmm(rows[:, :, :9], rows, rows.transpose(1, 2))
        three = torch.einsum("...i,ij,...j->...", by_expert, self.table, by_expert @ self.table)
        return biased, three


class Frames(nn.Module):
    """A picture network that sees every frame of a film on its own, and one that joins them."""

    def __init__(self):
        super().__init__()
        self.picture = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.film = nn.Conv3d(8, 6, (3, 3, 3), padding=(1, 2, 2), dilation=(1, 2, 2), groups=2)
        self.up = nn.ConvTranspose3d(6, 4, (2, 3, 3), stride=(2, 2, 2), padding=(0, 1, 1),
                                     output_padding=(0, 1, 1))

    def forward(self, x):  # [B, T, 3, H, W]
        y = F.relu(self.picture(x.flatten(0, 1))).unflatten(0, x.shape[:2])
        return self.up(self.film(y.transpose(1, 2)))


class Waves(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv1d(4, 6, 5, stride=2, padding=4, dilation=2, groups=2)
        self.same = nn.Conv1d(6, 6, 4, padding="same")
        self.up = nn.ConvTranspose1d(6, 4, 4, stride=3, groups=2, dilation=2)

    def forward(self, x):
        return self.up(F.relu(self.same(self.down(x))))


class Maps(nn.Module):
    """A small U-shaped network with dilated and transposed convolutions."""

    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.wide = nn.Conv2d(8, 12, 3, padding=(4, 2), dilation=(4, 2), bias=False)
        self.up = nn.ConvTranspose2d(12, 8, 4, stride=2, padding=1)
        self.deep = nn.ConvTranspose2d(8, 8, 3, padding=1, groups=8)
        self.out = nn.Conv2d(11, 5, 1)

    def forward(self, x):
        y = self.deep(self.up(self.wide(F.relu(self.down(x)))))
        return self.out(torch.cat([x, y], 1))


def image(name, **options):
    model = getattr(torchvision.models, name, None) or getattr(torchvision.models.segmentation, name)
    return lambda: (model(weights=None, **options), [IMAGE], {})


def segmentation(name):
    build = getattr(torchvision.models.segmentation, name)
    return lambda: (Result(build(weights=None, weights_backbone=None)), [IMAGE], {})


def made(build, *shapes, **options):
    return lambda: (build(), list(shapes), options)


# Published networks with every kind of layer they have, and few of each: exporting takes long.
def convnext():
    blocks = [CNBlockConfig(96, 192, 1), CNBlockConfig(192, None, 1)]
    return torchvision.models.ConvNeXt(blocks)


def vit():
    return torchvision.models.VisionTransformer(64, 32, num_layers=2, num_heads=12, hidden_dim=768,
                                                mlp_dim=3072)


def swin():
    """Windows that are shifted in every second block, and patches that are merged between stages."""
    return torchvision.models.SwinTransformer([4, 4], 96, depths=[2, 2], num_heads=[3, 6],
                                              window_size=[7, 7])


FILM = (1, 3, 4, 32, 32)

# Name -> network, shapes of its inputs, and options: how it is exported and read.
NETWORKS = {
    "resnet18": image("resnet18"),
    "mobilenet_v3_small": image("mobilenet_v3_small"),
    "shufflenet": image("shufflenet_v2_x0_5"),
    "googlenet": image("googlenet", aux_logits=False, init_weights=False),
    "convnext": made(convnext, IMAGE),
    "vit": made(vit, IMAGE),
    "swin": made(swin, IMAGE),
    "fcn_resnet50": segmentation("fcn_resnet50"),
    "deeplabv3": segmentation("deeplabv3_mobilenet_v3_large"),
    "deeplabv3_resnet50": segmentation("deeplabv3_resnet50"),
    "r3d_18": made(lambda: torchvision.models.video.r3d_18(weights=None), FILM),
    "r2plus1d": made(lambda: torchvision.models.video.r2plus1d_18(weights=None), FILM),
    "waves": made(Waves, (3, 4, 32)),
    "maps": made(Maps, IMAGE),
    "frames": made(Frames, (2, 4, 3, 16, 16)),
    "lstm": made(lambda: Recurrent(nn.LSTM), (2, 7, 6)),
    "lstm_decomposed": made(lambda: Recurrent(nn.LSTM), (2, 7, 6), decompose=True),
    "lstm_projected": made(lambda: Recurrent(nn.LSTM, proj_size=3), (2, 7, 6)),
    "gru": made(lambda: Recurrent(nn.GRU), (2, 7, 6)),
    "gru_decomposed": made(lambda: Recurrent(nn.GRU), (2, 7, 6), decompose=True),
    "rnn": made(lambda: Recurrent(nn.RNN), (2, 7, 6)),
    "attention": made(lambda: Attention(True), (3, 7, 16), (3, 5, 16)),
    "attention_sequence_first": made(lambda: Attention(False), (7, 3, 16), (5, 3, 16), batch=3),
    "attention_decomposed": made(lambda: Attention(True), (3, 7, 16), (3, 5, 16), decompose=True),
    "products": made(Products, (2, 7, 12)),
    "products_decomposed": made(Products, (2, 7, 12), decompose=True),
}
