"""A slim YOLO-v3 in plain PyTorch with random weights: yolo.safetensors in the folder given.

The network is written from the published table of layers, as one list per scale; only the names of
its state are those of ultralytics/yolov3.
"""

import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

CLASSES, DIVISOR = 3, 16

torch.manual_seed(5)
state = {}


def unit(name, x, out, kernel, stride, training):
    weight, norm = f"{name}.conv.weight", f"{name}.bn."
    if weight not in state:
        fan = x.shape[1] * kernel * kernel
        state[weight] = torch.randn(out, x.shape[1], kernel, kernel) * (2 / fan) ** 0.5
        state[norm + "weight"] = torch.rand(out) + 0.5
        state[norm + "bias"] = torch.randn(out) * 0.1
        state[norm + "running_mean"] = torch.randn(out) * 0.1
        state[norm + "running_var"] = torch.rand(out) + 0.5
        state[norm + "num_batches_tracked"] = torch.tensor(0)
    y = F.conv2d(x, state[weight], stride=stride, padding=kernel // 2)
    mean, var = (state[norm + k].clone() for k in ("running_mean", "running_var"))
    y = F.batch_norm(y, mean, var, state[norm + "weight"], state[norm + "bias"], training=training)
    return F.leaky_relu(y, 0.1)


def head(number, x):
    weight, bias = f"model.28.m.{number}.weight", f"model.28.m.{number}.bias"
    if weight not in state:
        state[weight] = torch.randn(3 * (5 + CLASSES), x.shape[1], 1, 1) / x.shape[1] ** 0.5
        state[bias] = torch.randn(3 * (5 + CLASSES))
    return F.conv2d(x, state[weight], state[bias])


def forward(x, training):
    w = lambda channels: channels // DIVISOR
    go = lambda name, x, out, kernel, stride=1: unit(
        f"model.{name}", x, w(out), kernel, stride, training)
    two = lambda name, x, out: go(f"{name}.cv2", go(f"{name}.cv1", x, out // 2, 1), out, 3)
    x = go("0", x, 32, 3)
    routes, width = {}, 32
    for stage, count in enumerate([1, 2, 8, 8, 4]):
        width *= 2
        x = go(f"{2 * stage + 1}", x, width, 3, 2)
        for i in range(count):
            name = f"{2 * stage + 2}" + (f".{i}" if count > 1 else "")
            x = x + two(name, x, width)
        routes[stage] = x
    x = two("11", x, 1024)
    x = go("14", go("13", go("12", x, 512, 1), 1024, 3), 512, 1)
    coarse = go("15", x, 1024, 3)
    twice = lambda x: x.repeat_interleave(2, 2).repeat_interleave(2, 3)
    x = torch.cat([twice(go("16", x, 256, 1)), routes[3]], 1)
    x = go("21", two("20", two("19", x, 512), 512), 256, 1)
    middle = go("22", x, 512, 3)
    x = torch.cat([twice(go("23", x, 128, 1)), routes[2]], 1)
    fine = two("27.1", two("27.0", two("26", x, 256), 256), 256)
    return [head(0, fine), head(1, middle), head(2, coarse)]


with torch.no_grad():
    images = torch.randn(2, 3, 96, 64)
    tensors = {"images": images}
    for training in (False, True):
        for i, out in enumerate(forward(images, training)):
            tensors[f"{'train' if training else 'eval'}.{i}"] = out.contiguous()
tensors |= {f"state.{k}": v.clone() for k, v in state.items()}
save_file(tensors, Path(sys.argv[1]) / "yolo.safetensors")
