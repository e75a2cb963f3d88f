"""Writes what PyTorch, torchvision and timm say about our networks into a folder:

small.<name>.safetensors  width/8, CIFAR form, fp64: logits, loss, gradients, training losses
narrow.<name>.safetensors width/8, ImageNet form, fp32: input and logits in evaluation mode, weights
large.<name>.safetensors  full size, fp32: the same, also of the CIFAR form (cifar.*) and of the
                          auxiliary head (auxiliary); memory of the forward pass (peak_bytes)
names.json                names and shapes of every network's parameters and buffers
"""

import json
import pathlib
import sys

import timm
import torch
import torchvision.models as zoo
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F
from torchvision.models.densenet import DenseNet
from torchvision.models.mobilenetv2 import MobileNetV2
from torchvision.models.resnet import Bottleneck, ResNet
from torchvision.models.vgg import VGG, cfgs, make_layers

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


def narrow_vgg(letter, norm, classes, head):
    """`head` has the width of the classifier's input and makes the classifier."""
    plan = [w if w == "M" else w // DIVISOR for w in cfgs[letter]]
    features = make_layers(plan, batch_norm=norm)
    for module in features:
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    with torch.device("meta"):  # its large classifier is replaced at once
        net = VGG(features, init_weights=False)
    net.classifier = head(512 // DIVISOR, classes)
    return net


def narrow_vgg13_bn(classes):
    net = narrow_vgg("B", True, classes, nn.Linear)
    net.avgpool = nn.AdaptiveAvgPool2d(1)
    return net


def imagenet_head(channels, classes):
    hidden = 4096 // DIVISOR
    layers = [nn.Linear(channels * 49, hidden), nn.ReLU(), nn.Dropout()]
    layers += [nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout(), nn.Linear(hidden, classes)]
    return nn.Sequential(*layers)


def narrow_densenet121(classes):
    net = DenseNet(32 // DIVISOR, (6, 12, 24, 16), 64 // DIVISOR, num_classes=classes)
    cifar_form(net)
    return net


def narrow_mobilenet_v2(classes):
    # Expansion, width, count and stride of the stages; those of width 24 keep small images large.
    stages = [[1, 16, 1, 1], [6, 24, 2, 1], [6, 32, 3, 2], [6, 64, 4, 2], [6, 96, 3, 1]]
    stages += [[6, 160, 3, 2], [6, 320, 1, 1]]
    net = MobileNetV2(
        classes, width_mult=1 / DIVISOR, inverted_residual_setting=stages, round_nearest=1
    )
    # torchvision never narrows the last convolution; ours is narrow.
    net.features[18] = type(net.features[18])(
        320 // DIVISOR, 1280 // DIVISOR, kernel_size=1, activation_layer=nn.ReLU6
    )
    net.classifier[1] = nn.Linear(1280 // DIVISOR, classes)
    net.features[0][0].stride = (1, 1)
    return net


def cifar_form(net):
    """Turns a published network into its form for 32x32 images, and returns what has new weights."""

    def same_size(module):  # a convolution or a pool with a 3x3 window
        module.stride = (1, 1) if isinstance(module, nn.Conv2d) else 1
        module.padding = (1, 1) if isinstance(module, nn.Conv2d) else 1

    kind = type(net).__name__
    if kind == "DenseNet":
        net.features.conv0 = nn.Conv2d(3, net.features.conv0.out_channels, 3, padding=1, bias=False)
        net.features.pool0 = nn.Identity()
        return ["features.conv0.weight"]
    if kind == "ResNet":
        net.conv1 = nn.Conv2d(3, net.conv1.out_channels, 3, padding=1, bias=False)
        net.maxpool = nn.Identity()
        return ["conv1.weight"]
    if kind == "MobileNetV2":
        net.features[0][0].stride = (1, 1)
        net.features[2].conv[1][0].stride = (1, 1)
        return []
    if kind == "Inception3":
        for name in ("Conv2d_1a_3x3", "Conv2d_2a_3x3", "Conv2d_4a_3x3"):
            same_size(getattr(net, name).conv)
        net.maxpool1 = net.maxpool2 = nn.Identity()
        net.AuxLogits = None
        return []
    assert kind == "InceptionV4", kind
    first, second, _, mixed3, mixed4, mixed5 = net.features[:6]
    for unit in (first, second, mixed3.conv, mixed4.branch0[1], mixed4.branch1[3], mixed5.conv):
        same_size(unit.conv)
    same_size(mixed3.maxpool)
    same_size(mixed5.maxpool)
    return []


def randomise_norms(net, side):
    """Statistics near those of random images, so that no signal grows or dies on its way."""
    norms = [module for module in net.modules() if isinstance(module, nn.BatchNorm2d)]
    for norm in norms:
        norm.momentum = 1.0
    with torch.no_grad():
        net.train()(torch.randn(2, 3, side, side))
        for norm in norms:
            norm.running_mean += 0.1 * torch.randn_like(norm.bias) * norm.running_var.sqrt()
            norm.running_var *= torch.empty_like(norm.bias).uniform_(0.5, 1.5)
            nn.init.uniform_(norm.weight, 0.5, 1.5)
            nn.init.normal_(norm.bias, 0, 0.1)


def write_small(folder, name, net, steps):
    net = net.double().train()
    out = {"state." + key: value.clone() for key, value in net.state_dict().items()}
    batch = 8
    images = torch.randn(steps, batch, 3, 32, 32, dtype=torch.float64)
    labels = torch.randint(0, 10, (steps, batch))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    losses = []
    torch.manual_seed(SEED)  # what dropout drops
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


def published(name):
    if name == "inception_v4":
        return timm.create_model(name)
    return zoo.inception_v3(init_weights=True) if name == "inception_v3" else getattr(zoo, name)()


def evaluate(net, side, batch=2):
    images = torch.randn(batch, 3, side, side)
    with torch.no_grad():
        return images, net.eval()(images)


def peak_bytes(net, images):
    """The most that live tensors of an evaluation hold, beside weights and images."""
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True
    ) as profile, torch.no_grad():
        net.eval()(images)
    events = [e for e in profile.profiler.kineto_results.events() if e.name() == "[memory]"]
    held = peak = 0
    for event in sorted(events, key=lambda e: e.start_ns()):
        held += event.nbytes()
        peak = max(peak, held)
    return torch.tensor(peak)


def auxiliary_logits(net, images):
    """Those of training, with the norms' running statistics."""
    net.train()
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.eval()
    with torch.no_grad():
        return net(images).aux_logits


def write_narrow(folder, name, net, side):
    randomise_norms(net, side)
    images, logits = evaluate(net, side)
    state = {"state." + k: v for k, v in net.state_dict().items()}
    save_file(state | {"images": images, "logits": logits}, folder / f"narrow.{name}.safetensors")


def write_large(folder, name, side, batch, cifar):
    torch.manual_seed(SEED)
    net = published(name)
    # bf16 halves the files, and fp32 networks must load it.
    for parameter in net.parameters():
        parameter.data = parameter.data.bfloat16().float()
    randomise_norms(net, side)
    out = {
        "state." + k: v.bfloat16() if v.dim() > 1 else v
        for k, v in net.state_dict().items()
        if v.numel() <= LARGEST_SAVED
    }
    out["images"], out["logits"] = evaluate(net, side, batch)
    out["peak_bytes"] = peak_bytes(net, out["images"])
    if name == "inception_v3":
        out["auxiliary"] = auxiliary_logits(net, out["images"])
    if cifar:
        for key in cifar_form(net):
            out["cifar.state." + key] = net.state_dict()[key]
        out["cifar.images"], out["cifar.logits"] = evaluate(net, 32, 1)
    save_file(out, folder / f"large.{name}.safetensors")


def shapes(items):
    return [[name, list(tensor.shape)] for name, tensor in items]


def write_names(folder):
    vggs = [f"vgg{depth}{norm}" for depth in (11, 13, 16, 19) for norm in ("", "_bn")]
    resnets = [f"resnet{depth}" for depth in (18, 34, 50, 101, 152)]
    densenets = [f"densenet{depth}" for depth in (121, 161, 169, 201)]
    names = {}
    for name in vggs + resnets + densenets + ["mobilenet_v2", "inception_v3", "inception_v4"]:
        with torch.device("meta"):
            net = published(name) if name != "inception_v3" else zoo.inception_v3(init_weights=False)
        names[name] = {
            "parameters": shapes(net.named_parameters()),
            "buffers": shapes(net.named_buffers()),
        }
    (folder / "names.json").write_text(json.dumps(names))


# Name, side of the images, batch, whether the CIFAR form is written too. The published size once per
# family; 96 pixels leave VGG a 3x3 map, which its average pool must stretch to 7x7; 75 is the
# smallest image of the Inceptions, 299 the smallest of the auxiliary head.
LARGE = (
    ("vgg11", 224, 1, False),
    ("vgg13_bn", 96, 2, False),
    ("resnet18", 224, 2, True),
    ("resnet34", 64, 1, False),
    ("resnet50", 224, 1, True),
    ("resnet101", 64, 1, False),
    ("resnet152", 64, 1, False),
    ("densenet121", 224, 1, True),
    ("densenet161", 64, 1, True),
    ("densenet169", 64, 1, False),
    ("densenet201", 64, 1, False),
    ("mobilenet_v2", 224, 2, True),
    ("inception_v3", 299, 1, True),
    ("inception_v4", 299, 1, True),
)
NARROW_VGGS = (("vgg11_bn", "A"), ("vgg13", "B"), ("vgg16", "D"), ("vgg16_bn", "D"),
               ("vgg19", "E"), ("vgg19_bn", "E"))  # fmt: skip


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)  # quick on a busy machine, and the same sums everywhere
    write_names(folder)
    torch.manual_seed(SEED)
    write_small(folder, "vgg13_bn", narrow_vgg13_bn(10), 10)
    write_small(folder, "resnet50", NarrowResNet([3, 4, 6, 3], 10), 10)
    write_small(folder, "densenet121", narrow_densenet121(10), 3)
    write_small(folder, "mobilenet_v2", narrow_mobilenet_v2(10), 3)
    for name, letter in NARROW_VGGS:
        write_narrow(folder, name, narrow_vgg(letter, "bn" in name, 1000, imagenet_head), 64)
    for arguments in LARGE:
        write_large(folder, *arguments)


if __name__ == "__main__":
    main()
