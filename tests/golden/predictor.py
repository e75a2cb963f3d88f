"""The shared predictor in plain PyTorch: predictions, loss, gradients and three Adam steps.

Usage: predictor.py IN.safetensors OUT.safetensors
IN holds rows [R, s*s], param.*, and per layer: shape.<l> = (filters, cols), gradient.<l>.<step>.
"""

import sys

import torch
from safetensors.torch import load_file, save_file

LR, DECAY, STEPS = 1e-4, 0.95, 3


def features(p, rows):
    side = int(rows.shape[1] ** 0.5)
    x = torch.nn.functional.conv2d(rows.view(-1, 1, side, side), p["conv.weight"], p["conv.bias"], padding=1)
    return torch.nn.functional.adaptive_avg_pool2d(torch.relu(x), 4).flatten(1)


def main(source, target):
    data = load_file(source)
    p = {k[len("param."):]: v.clone().requires_grad_() for k, v in data.items() if k.startswith("param.")}
    rows = data["rows"]
    shapes = []
    while f"shape.{len(shapes)}" in data:
        shapes.append(tuple(data[f"shape.{len(shapes)}"].tolist()))
    adam = torch.optim.Adam(list(p.values()), lr=LR)
    square = [None] * len(shapes)
    out = {}
    for step in range(STEPS):
        # Full-width output, then the mask: the definition, not the shortcut.
        wide = torch.nn.functional.linear(features(p, rows), p["fc.weight"], p["fc.bias"])
        losses, first = [], 0
        for l, (filters, cols) in enumerate(shapes):
            g = data[f"gradient.{l}.{step}"]
            now = g.square().mean()
            square[l] = now if square[l] is None else DECAY * square[l] + (1 - DECAY) * now
            predicted = wide[first : first + filters, :cols]
            losses.append((predicted - g / square[l].sqrt()).square().mean())
            first += filters
        loss = torch.stack(losses).mean()
        adam.zero_grad()
        loss.backward()
        out[f"loss.{step}"] = loss.detach().reshape(1)
        if step == 0:
            for name, value in p.items():
                out[f"grad.{name}"] = value.grad.clone()
        adam.step()
    for name, value in p.items():
        out[f"param.{name}"] = value.detach()
    wide = torch.nn.functional.linear(features(p, rows), p["fc.weight"], p["fc.bias"]).detach()
    first = 0
    for l, (filters, cols) in enumerate(shapes):
        out[f"predicted.{l}"] = (wide[first : first + filters, :cols] * square[l].sqrt()).contiguous()
        first += filters
    save_file(out, target)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
