"""The shared predictor in plain PyTorch: predictions, loss, gradients and three Adam steps.

Usage: predictor.py IN.safetensors OUT.safetensors [joint|per-layer [conv-pool|pool-conv]]
IN holds rows [R, s*s], param.*, and per layer: shape.<l> = (filters, cols), gradient.<l>.<step>.
"""

import sys

import torch
from safetensors.torch import load_file, save_file

LR, DECAY, STEPS = 1e-4, 0.95, 3


def features(p, rows, order):
    side = int(rows.shape[1] ** 0.5)
    x = rows.view(-1, 1, side, side)
    if order == "pool-conv":
        x = torch.nn.functional.adaptive_avg_pool2d(x, 4)
    x = torch.relu(torch.nn.functional.conv2d(x, p["conv.weight"], p["conv.bias"], padding=1))
    if order == "conv-pool":
        x = torch.nn.functional.adaptive_avg_pool2d(x, 4)
    return x.flatten(1)


def outputs(p, rows, order):
    """Full-width: the definition, not the shortcut."""
    return torch.nn.functional.linear(features(p, rows, order), p["fc.weight"], p["fc.bias"])


def main(source, target, steps="joint", order="conv-pool"):
    data = load_file(source)
    p = {k[len("param."):]: v.clone().requires_grad_() for k, v in data.items() if k.startswith("param.")}
    rows = data["rows"]
    shapes = []
    while f"shape.{len(shapes)}" in data:
        shapes.append(tuple(data[f"shape.{len(shapes)}"].tolist()))
    adam = torch.optim.Adam(list(p.values()), lr=LR)
    square = [None] * len(shapes)
    first = [sum(filters for filters, _ in shapes[:l]) for l in range(len(shapes))]
    out = {}

    def predicted(l):
        filters, cols = shapes[l]
        return outputs(p, rows, order)[first[l] : first[l] + filters, :cols]

    def loss_of(l, step):
        g = data[f"gradient.{l}.{step}"]
        now = g.square().mean()
        square[l] = now if square[l] is None else DECAY * square[l] + (1 - DECAY) * now
        return (predicted(l) - g / square[l].sqrt()).square().mean()

    def learn(loss):
        adam.zero_grad()
        loss.backward()
        for name, value in p.items():
            out.setdefault(f"grad.{name}", value.grad.clone())  # of the first step
        adam.step()
        return loss.detach()

    for step in range(STEPS):
        if steps == "joint":
            loss = learn(torch.stack([loss_of(l, step) for l in range(len(shapes))]).mean())
        else:
            loss = torch.stack([learn(loss_of(l, step)) for l in reversed(range(len(shapes)))]).mean()
        out[f"loss.{step}"] = loss.reshape(1)
    for name, value in p.items():
        out[f"param.{name}"] = value.detach()
    for l in range(len(shapes)):
        out[f"predicted.{l}"] = (predicted(l).detach() * square[l].sqrt()).contiguous()
    save_file(out, target)


if __name__ == "__main__":
    main(*sys.argv[1:])
