#!/usr/bin/env python3
"""adagp.compare on networks that are not in the program's zoo: torchvision's RegNet and ViT.

    other_model.py cifar10.safetensors --epochs 5 --seeds 2 --folder runs/regnet
    other_model.py cifar10.safetensors --network vit --epochs 4 --seeds 2 --folder runs/vit
"""

import argparse
import json

import torch

import adagp
from small_images import OnDevice


def regnet():
    import torchvision

    net = torchvision.models.regnet_y_400mf(num_classes=10)
    net.stem[0].stride = (1, 1)  # images are small
    return net.to(memory_format=torch.channels_last)


def vit():
    """A small one, with positions for images of 32x32 alone."""
    from torchvision.models import VisionTransformer

    return VisionTransformer(image_size=32, patch_size=4, num_layers=6, num_heads=6, hidden_dim=192,
                             mlp_dim=768, num_classes=10)


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9, weight_decay=5e-4,
                           fused=torch.cuda.is_available())


def adamw(parameters):
    return torch.optim.AdamW(parameters, lr=1e-3, weight_decay=0.05, fused=torch.cuda.is_available())


NETWORKS = {"regnet": (regnet, sgd), "vit": (vit, adamw)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="packed image file, or 'random'")
    parser.add_argument("--network", choices=NETWORKS, default="regnet")
    parser.add_argument("--methods", help="by default those of adagp.compare")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--folder", default="runs/regnet")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    train = OnDevice(args.data, "train", args.device, augment=True)
    test = OnDevice(args.data, "test", args.device)
    network, optimizer = NETWORKS[args.network]
    chosen = {"methods": args.methods.split(",")} if args.methods else {}
    result = adagp.compare(
        network, train.loader(batch_size=args.batch, shuffle=True, drop_last=True),
        test.loader(batch_size=1000), epochs=args.epochs,
        seeds=range(args.first_seed, args.first_seed + args.seeds),
        folder=args.folder, device=args.device, precision="bf16", data="cifar10 (re-encoded)",
        optimizer=optimizer, settings={"policy.peak": 0.15}, **chosen)
    print(result)
    runs = [json.loads((run.path / "summary.json").read_text()) for run in adagp.runs(args.folder)]
    for run in sorted(runs, key=lambda r: (r["method"], r["epochs"], r["seed"])):
        print({key: run[key] for key in run
               if key in ("method", "epochs", "seed", "score", "figures", "train_seconds",
                          "cost_epochs", "bp_batches", "gp_batches")})


if __name__ == "__main__":
    main()
