"""Suppression and mean average precision the slow way.

detection_reference.py FILE   reads pictures from FILE (JSON) and prints what stays after
suppression (torchvision's) and the average precisions (plain loops over the challenge's rules).
"""

import json
import sys

import torch
from torchvision.ops import batched_nms


def overlap(a, b):
    wide = max(0.0, min(a[2], b[2]) - max(a[0], b[0]))
    tall = max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    area = lambda r: (r[2] - r[0]) * (r[3] - r[1])
    return wide * tall / (area(a) + area(b) - wide * tall)


def average_precision(pictures, label, limit):
    """All detections of a class in one list, the challenge's own order of things."""
    answers, wanted, taken = [], 0, {}
    for number, picture in enumerate(pictures):
        wanted += sum(o["label"] == label and not o["difficult"] for o in picture["objects"])
        answers += [(-f["score"], number, f["box"]) for f in picture["found"] if f["label"] == label]
    if wanted == 0:
        return None
    hits = []
    for _, number, box in sorted(answers, key=lambda a: a[0]):
        objects = [o for o in pictures[number]["objects"] if o["label"] == label]
        shared = [overlap(box, o["box"]) for o in objects]
        nearest = max(range(len(objects)), key=shared.__getitem__) if objects else None
        if nearest is None or shared[nearest] < limit:
            hits.append(0)
        elif not objects[nearest]["difficult"]:
            hits.append(0 if taken.get((number, nearest)) else 1)
            taken[number, nearest] = True
    points = [(sum(hits[: i + 1]) / wanted, sum(hits[: i + 1]) / (i + 1)) for i in range(len(hits))]
    best = lambda recall: max([p for r, p in points if r >= recall - 1e-12], default=0.0)
    # Precision made falling is a staircase: it changes at the recalls k / wanted only.
    area = sum(best(k / wanted) / wanted for k in range(1, wanted + 1))
    eleven = sum(best(t / 10) for t in range(11)) / 11
    return area, eleven


def main():
    case = json.load(open(sys.argv[1]))
    kept = []
    for picture in case["pictures"]:
        found = picture["found"]
        boxes = torch.tensor([f["box"] for f in found], dtype=torch.float64).view(-1, 4)
        scores = torch.tensor([f["score"] for f in found], dtype=torch.float64)
        labels = torch.tensor([f["label"] for f in found], dtype=torch.int64)
        kept.append(batched_nms(boxes, scores, labels, case["overlap"]).tolist())
    each = [average_precision(case["pictures"], c, 0.5) for c in range(case["classes"])]
    print(json.dumps({"kept": kept, "classes": each}))


main()
