#!/usr/bin/env python3
"""What the loop of `adagp.compare` costs beside a loop by hand.

    compare_loop.py random --rounds 5

Both train the same resnet18 by plain backprop on the same loader and take turns. Two ratios: of the
seconds of training (those that a run folder names), and of everything. The second has what a run
does once, whatever its length: one batch to warm up, the table of layers, the run folder.
"""

import argparse
import json
import statistics
import tempfile
import time

import torch
from torch.nn import functional as F

import adagp
from small_images import OnDevice, resnet18


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9, weight_decay=5e-4, nesterov=True)


def wait(device):
    if device != "cpu":
        torch.cuda.synchronize()


def by_hand(train, test, epochs, device, folder):
    torch.manual_seed(0)
    net = resnet18().to(device)
    optimizer = sgd(net.parameters())
    rate = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, epochs * len(train))
    seconds = 0.0
    for _ in range(epochs):
        start = time.perf_counter()
        net.train()
        total = torch.zeros((), device=device)
        for x, y in train:
            loss = F.cross_entropy(net(x), y)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            rate.step()
            total += loss.detach()
        wait(device)
        seconds += time.perf_counter() - start
        net.eval()
        with torch.no_grad():
            hits = sum((net(x).argmax(1) == y).sum() for x, y in test)
        print(f"by hand: loss {float(total) / len(train):.3f}, {int(hits)} right")
    torch.save(net.state_dict(), f"{folder}/weights.pt")
    return seconds


def by_compare(train, test, epochs, device, folder):
    adagp.compare(resnet18, train, test, epochs=epochs, seeds=1, methods=["bp"], equal="epochs",
                  optimizer=sgd, device=device, folder=folder, progress=False)
    return json.loads((next(iter(adagp.runs(folder))).path / "summary.json").read_text())[
        "train_seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="packed image file, or 'random'")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    train = OnDevice(args.data, "train", args.device, augment=True).loader(
        batch_size=args.batch, shuffle=True, drop_last=True)
    test = OnDevice(args.data, "test", args.device).loader(batch_size=args.batch)
    ratios = []
    for index in range(args.rounds + 1):  # the first round is for warming up
        found = []
        for run in (by_hand, by_compare):
            with tempfile.TemporaryDirectory() as folder:
                start = time.perf_counter()
                found.append((run(train, test, args.epochs, args.device, folder),
                              time.perf_counter() - start))
        (hand, hand_all), (lab, lab_all) = found
        print(f"training {hand:.2f} s by hand, {lab:.2f} s by compare; all {hand_all:.2f} and "
              f"{lab_all:.2f} s", flush=True)
        if index > 0:
            ratios.append((lab / hand, lab_all / hand_all))
    for name, column in zip(("training", "everything"), zip(*ratios)):
        print(f"{name}, compare / by hand: {statistics.median(column):.3f} ({min(column):.3f} to "
              f"{max(column):.3f}), median of {args.rounds} rounds")


if __name__ == "__main__":
    main()
