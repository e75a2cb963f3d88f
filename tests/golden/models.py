"""Writes what PyTorch and torchvision say about our networks into a folder:

small.<name>.safetensors  width/8, CIFAR form, fp64: logits, loss, gradients, ten training losses
large.<name>.safetensors  full size, fp32: input and logits in evaluation mode, weights (see below)
init.resnet18.safetensors the weights that seed 3 gives
names.json                names and shapes of every network's parameters and buffers
"""

import json
import pathlib
import sys

import torch
import torchvision.models as zoo
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F
from torchvision.models.resnet import Bottleneck, ResNet
from torchvision.models.vgg import VGG, make_layers

SEED = 3
DIVISOR = 8
# Larger tensors are not written: both sides draw them from the same seed.
LARGEST_SAVED = 4_000_000


class NarrowResNet(ResNet):
    """torchvision's ResNet in CIFAR form with every width divided."""

    def __init__(self, layers, classes):
        super().__init__(Bottleneck, layers)
        self.conv1 = nn.Conv2d(3, 64 // DIVISOR, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(64 // DIVISOR)
        self.maxpool = nn.Identity()
        self.fc = nn.Linear(512 // DIVISOR * Bottleneck.expansion, classes)
        # Residual branches at full strength make ten steps chaotic: rounding grows a billionfold
        # (measured), and no two orders of summation agree. Damped, it does not grow.
        for module in self.modules():
            if isinstance(module, Bottleneck):
                nn.init.constant_(module.bn3.weight, 0.2)

    def _make_layer(self, block, planes, *args, **kwargs):
        if planes == 64:
            self.inplanes = 64 // DIVISOR
        return super()._make_layer(block, planes // DIVISOR, *args, **kwargs)


def narrow_vgg13_bn(classes):
    widths = [64, 64, "M", 128, 128, "M", 256, 256, "M", 512, 512, "M", 512, 512, "M"]
    plan = [w if w == "M" else w // DIVISOR for w in widths]
    features = make_layers(plan, batch_norm=True)
    with torch.device("meta"):  # its large classifier is replaced at once
        net = VGG(features, init_weights=False)
    net.avgpool = nn.AdaptiveAvgPool2d(1)
    net.classifier = nn.Linear(512 // DIVISOR, classes)
    return net


def randomise_norms(net):
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias, 0, 0.1)
            nn.init.normal_(module.running_mean, 0, 0.1)
            nn.init.uniform_(module.running_var, 0.5, 1.5)


def write_small(folder, name, net):
    net = net.double().train()
    out = {"state." + key: value.clone() for key, value in net.state_dict().items()}
    steps, batch = 10, 8
    images = torch.randn(steps, batch, 3, 32, 32, dtype=torch.float64)
    labels = torch.randint(0, 10, (steps, batch))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        logits = net(images[step])
        loss = F.cross_entropy(logits, labels[step])
        loss.backward()
        losses.append(loss.detach())
        if step == 0:
            out["logits"] = logits.detach()
            out.update({"grad." + key: p.grad.clone() for key, p in net.named_parameters()})
        optimizer.step()
    out.update(images=images, labels=labels, losses=torch.stack(losses))
    save_file(out, folder / f"small.{name}.safetensors")


def write_large(folder, name, side):
    torch.manual_seed(SEED)
    net = getattr(zoo, name)()
    if name == "resnet18":
        save_file(dict(net.named_parameters()), folder / "init.resnet18.safetensors")
    randomise_norms(net)
    images = torch.randn(2, 3, side, side)
    with torch.no_grad():
        logits = net.eval()(images)
    state = {"state." + k: v for k, v in net.state_dict().items() if v.numel() <= LARGEST_SAVED}
    save_file(state | {"images": images, "logits": logits}, folder / f"large.{name}.safetensors")


def shapes(items):
    return [[name, list(tensor.shape)] for name, tensor in items]


def write_names(folder):
    vggs = [f"vgg{depth}{norm}" for depth in (11, 13, 16, 19) for norm in ("", "_bn")]
    resnets = [f"resnet{depth}" for depth in (18, 34, 50, 101, 152)]
    names = {}
    for name in vggs + resnets:
        with torch.device("meta"):
            net = getattr(zoo, name)()
        names[name] = {
            "parameters": shapes(net.named_parameters()),
            "buffers": shapes(net.named_buffers()),
        }
    (folder / "names.json").write_text(json.dumps(names))


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)  # quick on a busy machine, and the same sums everywhere
    write_names(folder)
    torch.manual_seed(SEED)
    write_small(folder, "vgg13_bn", narrow_vgg13_bn(10))
    write_small(folder, "resnet50", NarrowResNet([3, 4, 6, 3], 10))
    # 96 pixels leave VGG a 3x3 map, which its average pool must stretch to 7x7.
    for name, side in (("resnet18", 224), ("resnet50", 224), ("vgg11", 224), ("vgg13_bn", 96)):
        write_large(folder, name, side)


if __name__ == "__main__":
    main()
