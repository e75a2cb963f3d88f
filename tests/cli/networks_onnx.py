"""Further networks for the tests of ONNX files: torchvision's and transformers, with few layers each."""

import torch
import torchvision
from torch import nn

from networks import image, made, segmentation


class Translator(nn.Module):
    """An encoder and a decoder with a mask, words in and words out."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(40, 16)
        self.layers = nn.Transformer(16, 4, 2, 1, 24, batch_first=True)
        self.out = nn.Linear(16, 40)

    def forward(self, x):  # [B, 6, 16]
        mask = nn.Transformer.generate_square_subsequent_mask(6)
        y = self.layers(x, x, tgt_mask=mask.to(x.device), tgt_is_causal=False)
        return self.out(y) + self.words.weight.sum()


class Decoder(nn.Module):
    """A block as in GPT, its products written by hand: heads by reshaping, a causal mask."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(24)
        self.qkv = nn.Linear(24, 72)
        self.out = nn.Linear(24, 24, bias=False)
        self.register_buffer("mask", torch.ones(9, 9).tril().log())

    def forward(self, x):  # [B, T, 24]
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, t, 3, 4, c // 4).permute(2, 0, 3, 1, 4)
        scores = (q @ k.transpose(-2, -1) * c**-0.5 + self.mask[:t, :t]).softmax(-1)
        return x + self.out((scores @ v).transpose(1, 2).reshape(b, t, c))


class Experts(nn.Module):
    """A stack of weights, one for each head, and one that all heads share."""

    def __init__(self):
        super().__init__()
        self.experts = nn.Parameter(torch.rand(3, 8, 5))
        self.vote = nn.Parameter(torch.rand(5, 1))

    def forward(self, x):  # [B, 3, 7, 8]
        return (x @ self.experts).relu() @ self.vote


# Name -> network, shapes of its inputs, and options, as in networks.py.
MORE = {
    "alexnet": made(lambda: torchvision.models.alexnet(weights=None), (1, 3, 224, 224)),
    "vgg11_bn": made(lambda: torchvision.models.vgg11_bn(weights=None), (1, 3, 224, 224)),
    "resnext50": image("resnext50_32x4d"),
    "densenet121": image("densenet121"),
    "squeezenet": image("squeezenet1_1"),
    "mobilenet_v2": image("mobilenet_v2"),
    "efficientnet": image("efficientnet_b0"),
    "mnasnet": image("mnasnet0_5"),
    "regnet": image("regnet_y_400mf"),
    "lraspp": segmentation("lraspp_mobilenet_v3_large"),
    "translator": made(Translator, (2, 6, 16)),
    "decoder": made(Decoder, (2, 9, 24)),
    "experts": made(Experts, (2, 3, 7, 8)),
}
