"""Exports networks as a user would, and says what their layers are by looking with hooks.

export_models.py FOLDER   writes FOLDER/<name>.pt2 and FOLDER/<name>.json: for every call of a
                          convolution or linear layer its name, shapes and multiply-accumulates
"""

import json
import sys
from pathlib import Path

import torch
import torchvision
from torch import nn

FOLDER = Path(sys.argv[1])


class Encoder(nn.Module):
    """Two attention layers, sequence first inside, behind an embedding; the last layer is used twice."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(50, 16)
        layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.1, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(16, 16)

    def forward(self, x):
        return torch.erfinv(self.out(torch.tanh(self.out(self.layers(self.words(x))))))


class CrossAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attend = nn.MultiheadAttention(12, 3, batch_first=True)

    def forward(self, queries, memory):
        return self.attend(queries, memory, memory, need_weights=False)[0]


class Odd(nn.Module):
    """What networks also have: one-dimensional, dilated and padded-to-size convolutions, a matrix of
    the user's own, batched products written by hand."""

    def __init__(self):
        super().__init__()
        self.wave = nn.Conv1d(4, 6, 5, stride=2, padding=2, groups=2)
        self.dilated = nn.Conv2d(1, 2, 3, padding=2, dilation=2, bias=False)
        self.same = nn.Conv2d(2, 3, (3, 1), padding="same")
        self.up = nn.ConvTranspose2d(3, 1, 2)
        self.matrix = nn.Parameter(torch.randn(6, 9))

    def forward(self, x):
        x = self.wave(x)  # [B, 6, 8]
        y = torch.bmm(x.transpose(1, 2), x) @ torch.ones(8, 8)  # [B, 8, 8]
        y = self.up(self.same(self.dilated(y[:, None])))
        return x.transpose(1, 2) @ self.matrix, y


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 4, batch_first=True)

    def forward(self, x):
        return self.lstm(x)[0]


class Frames(nn.Module):
    """A picture network over every frame, then one that joins three frames."""

    def __init__(self):
        super().__init__()
        self.picture = nn.Conv2d(3, 2, 3, padding=1)
        self.film = nn.Conv3d(2, 5, (3, 1, 1))

    def forward(self, x):  # [B, T, 3, H, W]
        y = self.picture(x.flatten(0, 1)).unflatten(0, x.shape[:2])
        return self.film(y.transpose(1, 2))


class Strange(nn.Module):
    """A weight that is itself a product of weights, and an operation nobody counts."""

    def __init__(self):
        super().__init__()
        self.inner = Merged()

    def forward(self, x):
        return self.inner(x)


class Merged(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.randn(4, 2))
        self.b = nn.Parameter(torch.randn(2, 4))

    def forward(self, x):
        return torch.fft.fft(nn.functional.linear(x, self.a @ self.b)).real


class SequenceFirst(nn.Module):
    def __init__(self):
        super().__init__()
        self.attend = nn.MultiheadAttention(8, 2)

    def forward(self, x):
        return self.attend(x, x, x, need_weights=False)[0]


def look(model, inputs):
    """Calls of weight layers with shapes without the batch, by PyTorch's own hooks."""
    calls, batch = [], inputs[0].shape[0]

    def hook(name):
        def note(layer, given, made):
            x, y = given[0], made
            if isinstance(layer, nn.Linear):
                positions = y.numel() // y.shape[-1] // batch
                calls.append({"name": name, "op": "linear", "input": [x.shape[-1], 1, positions],
                              "output": [y.shape[-1], 1, positions],
                              "macs": positions * layer.weight.numel(),
                              "weights": layer.weight.numel()})
            else:
                macs = y[0].numel() * layer.weight[0].numel()
                calls.append({"name": name, "op": "conv2d", "input": list(x.shape[1:]),
                              "output": list(y.shape[1:]), "macs": macs,
                              "weights": layer.weight.numel()})
        return note

    for name, layer in model.named_modules():
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            layer.register_forward_hook(hook(name))
    with torch.no_grad():
        model(*inputs)
    for layer in model.modules():
        layer._forward_hooks.clear()
    return calls


def export(name, model, *inputs, training=False, decompose=False, hooks=True, dynamic=None):
    model.train(training)
    calls = look(model, inputs) if hooks else []
    program = torch.export.export(model, inputs, dynamic_shapes=dynamic)
    if decompose:
        program = program.run_decompositions()
    torch.export.save(program, str(FOLDER / f"{name}.pt2"))
    parameters = sum(p.numel() for p in model.parameters())
    (FOLDER / f"{name}.json").write_text(json.dumps({"layers": calls, "parameters": parameters}))


def main():
    torch.manual_seed(0)
    image = torch.zeros(1, 3, 224, 224)
    models = torchvision.models
    export("resnet18", models.resnet18(), image)
    export("resnet18-core", models.resnet18(), torch.zeros(2, 3, 64, 64), decompose=True)
    export("mobilenet_v2", models.mobilenet_v2(), torch.zeros(2, 3, 224, 224), training=True)
    with torch.device("meta"):  # half a gigabyte of weights otherwise
        export("vgg11", models.vgg11(), torch.zeros(1, 3, 224, 224))
    words = torch.zeros(3, 7, dtype=torch.long)
    # In evaluation mode with no gradient PyTorch takes a fused path past the layers' hooks.
    export("encoder", Encoder(), words, training=True, hooks=False)
    export("encoder-core", Encoder(), words, decompose=True, hooks=False)
    export("cross", CrossAttention(), torch.zeros(2, 5, 12), torch.zeros(2, 7, 12), hooks=False)
    export("odd", Odd(), torch.zeros(2, 4, 16), hooks=False)
    export("lstm", Sequence(), torch.zeros(2, 5, 3), hooks=False)
    export("lstm-core", Sequence(), torch.zeros(2, 5, 3), decompose=True, hooks=False)
    export("steps-first", nn.GRU(3, 4), torch.zeros(2, 4, 3), hooks=False)
    export("frames", Frames(), torch.zeros(2, 4, 3, 6, 6), hooks=False)
    conv = nn.Conv2d(3, 4, 3)
    head = nn.Sequential(conv, nn.Flatten(), nn.Linear(64, 5))
    export("dynamic", head, torch.zeros(2, 3, 6, 6), hooks=False,
           dynamic=({0: torch.export.Dim("batch")},))
    export("alone", conv, torch.zeros(3, 6, 6), hooks=False)
    export("alone-core", conv, torch.zeros(3, 6, 6), decompose=True, hooks=False)
    export("features", nn.Linear(6, 5), torch.zeros(6), hooks=False)
    export("sequence-first", SequenceFirst(), torch.zeros(7, 2, 8), hooks=False)
    export("strange", Strange(), torch.zeros(2, 3, 4), hooks=False)


if __name__ == "__main__":
    main()
