"""YOLO-v3's loss and answers, object by object and cell by cell.

yolo_reference.py FOLDER   reads case.safetensors (maps m0..m2, objects, anchors) with the numbers
size, ignore and classes in its metadata, and writes result.safetensors: the loss, its gradients by
the maps, every prediction's box and class scores, and per object whether class and presence are
right.
"""

import math
import sys
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

folder = Path(sys.argv[1])
case = load_file(folder / "case.safetensors")
with safe_open(folder / "case.safetensors", "pt") as f:
    meta = f.metadata()
size, classes, ignore = int(meta["size"]), int(meta["classes"]), float(meta["ignore"])
maps = [case[f"m{i}"].double().requires_grad_() for i in range(3)]
anchors = case["anchors"].double().view(9, 2).tolist()
sigmoid = torch.sigmoid


def bce(logit, target):
    p = sigmoid(logit)
    return -(target * torch.log(p) + (1 - target) * torch.log(1 - p))


def overlap(a, b):
    wide = max(0.0, min(a[2], b[2]) - max(a[0], b[0]))
    tall = max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    area = lambda r: (r[2] - r[0]) * (r[3] - r[1])
    return wide * tall / (area(a) + area(b) - wide * tall)


def predictions(image):
    """(scale, row, column, anchor, values) in the order of scales, rows, columns, anchors."""
    for s, m in enumerate(maps):
        for y in range(m.shape[2]):
            for x in range(m.shape[3]):
                for a in range(3):
                    yield s, y, x, a, m[image, a * (5 + classes):(a + 1) * (5 + classes), y, x]


def box_of(s, y, x, a, v):
    stride, (w, h) = size / maps[s].shape[3], anchors[3 * s + a]
    v = v.detach()
    cx, cy = (x + sigmoid(v[0]).item()) * stride, (y + sigmoid(v[1]).item()) * stride
    w, h = w * math.exp(v[2].item()), h * math.exp(v[3].item())
    return [cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2]


total, boxes, scores, right, seen = 0.0, [], [], [], []
for image, rows in enumerate(case["objects"].double().tolist()):
    objects = [r for r in rows if r[0] >= 0]
    corners = [[(c - e / 2) * size for c, e in zip(r[1:3], r[3:5])] +
               [(c + e / 2) * size for c, e in zip(r[1:3], r[3:5])] for r in objects]
    answering = {}
    for r in objects:
        w, h = r[3] * size, r[4] * size
        shapes = [min(w, a) * min(h, b) / (w * h + a * b - min(w, a) * min(h, b)) for a, b in anchors]
        best = shapes.index(max(shapes))
        s = best // 3
        stride = size / maps[s].shape[3]
        x, y = int(r[1] * size / stride), int(r[2] * size / stride)
        v = maps[s][image, (best % 3) * (5 + classes):(best % 3 + 1) * (5 + classes), y, x]
        answering[s, y, x, best % 3] = True
        balance = 2 - r[3] * r[4]
        centre = bce(v[0], r[1] * size / stride - x) + bce(v[1], r[2] * size / stride - y)
        extent = ((v[2] - math.log(w / anchors[best][0])) ** 2 +
                  (v[3] - math.log(h / anchors[best][1])) ** 2) / 2
        kinds = sum(bce(v[5 + c], 1.0 if c == int(r[0]) else 0.0) for c in range(classes))
        total = total + balance * (centre + extent) + kinds
        right.append(int(v[5:].argmax()) == int(r[0]))
        seen.append(v[4].item() > 0)
    for s, y, x, a, v in predictions(image):
        box = box_of(s, y, x, a, v)
        boxes.append(box)
        scores.append((sigmoid(v[4]) * sigmoid(v[5:])).detach())
        if (s, y, x, a) in answering:
            total = total + bce(v[4], 1.0)
        elif all(overlap(box, c) <= ignore for c in corners):
            total = total + bce(v[4], 0.0)
loss = total / len(case["objects"])
loss.backward()
save_file({"loss": loss.detach(), "boxes": torch.tensor(boxes, dtype=torch.float64),
           "scores": torch.stack(scores), "right": torch.tensor([sum(right), sum(seen), len(right)]),
           **{f"g{i}": m.grad for i, m in enumerate(maps)}}, folder / "result.safetensors")
