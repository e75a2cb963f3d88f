"""Learning rates that torch.optim.lr_scheduler gives, for tests/unit/schedule/policy_test.cpp.

    python3 tests/golden/policies.py        rewrites tests/golden/fixtures/policies.json

Each case holds the options as PolicyConfig names them, the run, and the rate of every batch (for
plateau: of every epoch, with the losses told after each).
"""
import json
import math
import pathlib

import torch
from torch.optim import lr_scheduler as ls

TOTAL, PER_EPOCH = 60, 6


def optimizer(base):
    return torch.optim.SGD([torch.zeros(1)], lr=base)


def rates(base, make, steps=TOTAL):
    opt = optimizer(base)
    scheduler = make(opt)
    out = []
    for _ in range(steps):
        out.append(opt.param_groups[0]["lr"])
        opt.step()
        scheduler.step()
    return out


def plateau(base, losses, **options):
    opt = optimizer(base)
    scheduler = ls.ReduceLROnPlateau(opt, **options)
    out = []
    for loss in losses:
        out.append(opt.param_groups[0]["lr"])
        scheduler.step(loss)
    return out


def case(name, base, lr, **options):
    return {"policy": name, "base": base, "total": TOTAL, "per_epoch": PER_EPOCH,
            "options": options, "lr": lr}


def triangle(up):
    return lambda s: (s + 1) / up if s < up else (TOTAL - s) / (TOTAL - up)


def inverse_sqrt(w):
    return lambda s: min((s + 1) / w, math.sqrt(w / (s + 1)))


def warm_stairs(w):
    """Stairs at batches 12 and 36 under a linear warm-up."""
    return lambda s: min(1, (s + 1) / w) * 0.1 ** ((s >= 12) + (s >= 36))


def warm_cosine(base, w, floor):
    ramp = rates(base, lambda o: ls.LambdaLR(o, lambda s: (s + 1) / w), w)
    return ramp + rates(base, lambda o: ls.CosineAnnealingLR(o, TOTAL - w, floor), TOTAL - w)


def main():
    losses = [2.0, 1.5, 1.4, 1.41, 1.40, 1.39995, 1.42, 1.2, 1.3, 1.3, 1.3, 1.3, 1.3, 1.25, 1.21,
              1.0, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1]
    cases = [
        case("constant", 0.3, rates(0.3, lambda o: ls.ConstantLR(o, factor=1.0))),
        case("step", 0.1, rates(0.1, lambda o: ls.StepLR(o, 18, 0.3)), every="3ep", gamma=0.3),
        case("multi-step", 0.1, rates(0.1, lambda o: ls.MultiStepLR(o, [12, 31, 40], 0.2)),
             milestones=["2ep", "31ba", "40ba"], gamma=0.2),
        case("multi-step", 0.1, rates(0.1, lambda o: ls.LambdaLR(o, warm_stairs(15))),
             milestones=["2ep", "6ep"], warmup="15ba"),
        case("cosine", 0.2, rates(0.2, lambda o: ls.CosineAnnealingLR(o, TOTAL))),
        case("cosine", 0.2, rates(0.2, lambda o: ls.CosineAnnealingLR(o, TOTAL, 0.01)), floor=0.01),
        case("cosine", 0.2, warm_cosine(0.2, 12, 0.001), floor=0.001, warmup="2ep"),
        case("triangle", 0.4, rates(0.4, lambda o: ls.LambdaLR(o, triangle(9)))),
        case("triangle", 0.4, rates(0.4, lambda o: ls.LambdaLR(o, triangle(24))), peak=0.4),
        case("inverse-sqrt", 0.5, rates(0.5, lambda o: ls.LambdaLR(o, inverse_sqrt(18))),
             warmup="3ep"),
        case("plateau", 0.1, plateau(0.1, losses)),
        case("plateau", 0.1,
             plateau(0.1, losses, factor=0.5, patience=2, threshold=1e-2),
             factor=0.5, patience=2, threshold=1e-2),
    ]
    for pct, div in [(0.3, 25.0), (0.15, 10.0), (0.01, 25.0)]:
        lr = rates(0.8, lambda o: ls.OneCycleLR(o, 0.8, total_steps=TOTAL, pct_start=pct,
                                                div_factor=div,
                                                cycle_momentum=False))
        cases.append(case("one-cycle", 0.8, lr, peak=pct, div=div))
    path = pathlib.Path(__file__).parent / "fixtures" / "policies.json"
    path.parent.mkdir(exist_ok=True)
    lines = ",\n".join(json.dumps(c) for c in cases)
    path.write_text(f'{{"losses": {json.dumps(losses)},\n"cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
