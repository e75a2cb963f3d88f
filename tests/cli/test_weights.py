"""Weights travel to PyTorch and back: the same logits there and here."""

import json
import subprocess
import sys

import numpy as np
import pytest

from harness import DATA, ROOT, TINY, adagp, sets, summary

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")
from safetensors import safe_open  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

# Pixels as x / 255: what PyTorch is fed below.
PLAIN = sets(data__mean=0, data__std=1)


def convert(source, target, code=0):
    done = subprocess.run([sys.executable, ROOT / "scripts/weights.py", source, target], text=True,
                          capture_output=True)
    assert done.returncode == code, done.stderr
    return done


def random_model(build, seed=0):
    """With statistics in the norms as after training, so that evaluation mode is put to the test."""
    torch.manual_seed(seed)
    model = build()
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.uniform_(-0.1, 0.1)
            module.running_var.uniform_(0.5, 1.5)
            module.num_batches_tracked.fill_(7)
    return model.eval()


def packed(path, count, side, classes):
    """Images and labels without class names; returns what PyTorch sees."""
    generator = torch.Generator().manual_seed(1)
    images = torch.randint(256, (count, 3, side, side), dtype=torch.uint8, generator=generator)
    save_file({"images": images, "labels": torch.arange(count) % classes}, path)
    return images.float() / 255


def our_logits(weights, data, out, *more):
    adagp("eval", weights, "--data", "packed", "--data-dir", data, *PLAIN, "--threads", "1",
          "--logits", out, *more)
    return load_file(out)["logits"]


def assert_close(ours, theirs, tolerance=1e-4):
    assert ours.shape == theirs.shape
    gap = (ours - theirs).abs().max() / theirs.abs().max()
    assert gap < tolerance, f"{gap:g} of the largest logit apart"  # sums in another order


@pytest.fixture(scope="module")
def resnet(tmp_path_factory):
    """torchvision's resnet18 for 7 classes as a training script leaves it behind."""
    folder = tmp_path_factory.mktemp("resnet")
    model = random_model(lambda: torchvision.models.resnet18(num_classes=7))
    state = {"module." + name: value for name, value in model.state_dict().items()}
    torch.save({"state_dict": state, "epoch": 3}, folder / "w.pth")
    convert(folder / "w.pth", folder / "w.safetensors")
    with torch.no_grad():
        logits = model(packed(folder / "data.safetensors", 5, 64, 7))
    return folder, model, logits


def test_logits_of_torchvision_weights(resnet, tmp_path):
    folder, model, theirs = resnet
    state = load_file(folder / "w.safetensors")
    assert state.keys() == model.state_dict().keys()
    assert int(state["bn1.num_batches_tracked"]) == 7
    # Neither form nor classes are said anywhere but in the shapes.
    ours = our_logits(folder / "w.safetensors", folder / "data.safetensors",
                      tmp_path / "out.safetensors", "--model", "resnet18")
    assert_close(ours, theirs)


def test_the_stem_tells_the_form(tmp_path):
    """A CIFAR-form network on images as large as ImageNet-form ones would be for."""
    def build():
        model = torchvision.models.resnet18(num_classes=4)
        model.conv1 = torch.nn.Conv2d(3, 64, 3, 1, 1, bias=False)
        model.maxpool = torch.nn.Identity()
        return model

    model = random_model(build)
    torch.save(model.state_dict(), tmp_path / "w.pth")
    convert(tmp_path / "w.pth", tmp_path / "w.safetensors")
    with torch.no_grad():
        theirs = model(packed(tmp_path / "data.safetensors", 3, 48, 4))
    ours = our_logits(tmp_path / "w.safetensors", tmp_path / "data.safetensors",
                      tmp_path / "out.safetensors", "--model", "resnet18")
    assert_close(ours, theirs)


@pytest.mark.parametrize("precision", [torch.float16, torch.bfloat16])
def test_half_files_become_fp32(resnet, tmp_path, precision):
    folder, model, _ = resnet
    half = {name: value.to(precision) if value.is_floating_point() else value
            for name, value in model.state_dict().items()}
    save_file(half, tmp_path / "half.safetensors")
    rounded = torchvision.models.resnet18(num_classes=7)
    rounded.load_state_dict({name: value.float() if value.is_floating_point() else value
                             for name, value in half.items()})
    with torch.no_grad():
        theirs = rounded.eval()(load_file(folder / "data.safetensors")["images"].float() / 255)
    ours = our_logits(tmp_path / "half.safetensors", folder / "data.safetensors",
                      tmp_path / "out.safetensors", "--model", "resnet18")
    assert ours.dtype == torch.float32
    assert_close(ours, theirs)


def test_a_run_goes_to_pytorch(tmp_path):
    """export -> weights.py -> torchvision's module of the same shapes -> our own logits."""
    adagp("train", "--model", "vgg11", "--data", "synthetic", "--threads", "1", "--batch", "20",
          "--epochs", "1", *sets(data__synthetic_size=32, data__synthetic_train=20,
                                 data__synthetic_test=20, model__width_divisor=8), "-o",
          tmp_path / "run")
    out = adagp("export", tmp_path / "run", "-o", tmp_path / "w.safetensors").stdout
    assert "w.safetensors" in out
    with safe_open(tmp_path / "w.safetensors", "pt") as file:
        assert file.metadata()["model"] == "vgg11"
    convert(tmp_path / "w.safetensors", tmp_path / "w.pth")
    state = torch.load(tmp_path / "w.pth", weights_only=True)

    layers, channels = [], 3
    for width in [64, "M", 128, "M", 256, 256, "M", 512, 512, "M", 512, 512, "M"]:
        if width == "M":
            layers.append(torch.nn.MaxPool2d(2, 2))
        else:
            layers += [torch.nn.Conv2d(channels, width // 8, 3, padding=1), torch.nn.ReLU()]
            channels = width // 8
    model = torch.nn.Sequential()
    model.features = torch.nn.Sequential(*layers)
    model.flat = torch.nn.Flatten()
    model.classifier = torch.nn.Linear(64, 10)
    model.load_state_dict(state)
    with torch.no_grad():
        theirs = model(packed(tmp_path / "data.safetensors", 6, 32, 10))
    ours = our_logits(tmp_path / "run", tmp_path / "data.safetensors", tmp_path / "out.safetensors")
    assert_close(ours, theirs)


def test_train_from_weights(tmp_path, finished):
    """The file's weights are where training begins: nothing moves at a learning rate of zero."""
    adagp("train", *TINY, "--epochs", "1", "--method", "bp",
          "--weights", finished / "weights.safetensors", *sets(optim__lr=0, optim__momentum=0),
          "-o", tmp_path / "run")
    before = load_file(finished / "weights.safetensors")
    after = load_file(tmp_path / "run/weights.safetensors")
    moved = [n for n in before if not torch.equal(before[n], after[n])]
    assert all("running" in n or "tracked" in n for n in moved), moved


def test_fine_tuning_onto_other_classes(tmp_path, finished):
    """All but the head comes from the file, and one line says so."""
    weights = finished / "weights.safetensors"
    done = adagp("train", *TINY, "--epochs", "1", "--method", "bp", "--weights", weights,
                 *sets(optim__lr=0, optim__momentum=0, model__classes=13), "-o", tmp_path / "run")
    before, after = load_file(weights), load_file(tmp_path / "run/weights.safetensors")
    told = [line for line in done.stderr.splitlines() if str(weights) in line]
    assert len(told) == 1 and "fc.weight" in told[0] and "fc.bias" in told[0], done.stderr
    assert after["fc.weight"].shape[0] == 13
    moved = [n for n in before
             if before[n].shape != after[n].shape or not torch.equal(before[n], after[n])]
    assert all(n.startswith("fc.") or "running" in n or "tracked" in n for n in moved), moved
    # Other differences of shape stay errors.
    err = adagp("train", *TINY, "--epochs", "1", "--weights", weights, "-o", tmp_path / "wide",
                *sets(model__width_divisor=2), code=3).stderr
    assert "of another shape" in err


def test_what_does_not_fit_is_listed(resnet, tmp_path):
    folder, _, _ = resnet
    state = load_file(folder / "w.safetensors")
    convs = [name for name in state if ".conv" in name]
    broken = {name: value for name, value in state.items() if name not in convs[:12]}
    broken["stranger.weight"] = torch.zeros(2)
    broken["bn1.bias"] = torch.zeros(65)
    save_file(broken, tmp_path / "broken.safetensors")
    err = adagp("eval", tmp_path / "broken.safetensors", "--model", "resnet18", "--data", "packed",
                "--data-dir", folder / "data.safetensors", code=3).stderr
    assert "12 missing" in err and sum(name in err for name in convs[:12]) == 10
    assert "1 unexpected: stranger.weight" in err
    assert "bn1.bias (got [65], expected [64])" in err
    # An old file without the norms' counters is whole.
    old = {name: value for name, value in state.items() if "num_batches" not in name}
    save_file(old, tmp_path / "old.safetensors")
    adagp("eval", tmp_path / "old.safetensors", "--model", "resnet18", "--data", "packed",
          "--data-dir", folder / "data.safetensors")


def test_weights_script_refuses_clearly(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(3))
    (tmp_path / "x.pth").write_bytes(b"no zip and no pickle")
    torch.save({"epoch": 1, "lr": 0.1}, tmp_path / "empty.pth")
    for source, words in (("absent.pth", "no such file"), ("x.npy", "ending"),
                          ("x.pth", "cannot be read"), ("empty.pth", "no state dict")):
        err = convert(tmp_path / source, tmp_path / "out.safetensors", code=1).stderr
        assert words in err and source in err
    assert not (tmp_path / "out.safetensors").exists()


def test_weights_script_keeps_tied_and_strided_tensors(tmp_path):
    shared = torch.arange(6.0).reshape(2, 3)
    torch.save({"a": shared, "b": shared, "c": shared.t()}, tmp_path / "w.pth")
    convert(tmp_path / "w.pth", tmp_path / "w.safetensors")
    back = load_file(tmp_path / "w.safetensors")
    assert torch.equal(back["a"], shared) and torch.equal(back["b"], shared)
    assert torch.equal(back["c"], shared.t())


OTHER_EYES = sets(data__mean="[0.1,0.2,0.3]", data__std="[0.5,0.6,0.7]", data__image_size=6)


@pytest.fixture(scope="module")
def other_eyes(tmp_path_factory):
    """A run on pixels and sizes that are not those of its data, and its exported weights."""
    folder = tmp_path_factory.mktemp("eyes")
    adagp("train", *TINY, *OTHER_EYES, "--epochs", "2", "--method", "bp", "-o", folder / "run")
    adagp("export", folder / "run", "-o", folder / "w.safetensors")
    return folder


def save_changed(state, like, path):
    """With the metadata of another file, less the checksums."""
    with safe_open(like, "pt") as file:
        said = {key: value for key, value in file.metadata().items() if "adagp." not in key}
    save_file(state, path, said)


def evaluated(*args):
    threads = [] if "--threads" in args else ["--threads", "1"]
    done = adagp("eval", *args, *threads, "--json")
    return json.loads(done.stdout), done.stderr


def test_exported_weights_evaluate_as_the_run_did(other_eyes):
    told = summary(other_eyes / "run")
    alone, err = evaluated(other_eyes / "w.safetensors")
    assert (alone["loss"], alone["top1"]) == (told["loss"], told["top1"])
    assert "assumed" not in err
    assert evaluated(other_eyes / "run")[0]["loss"] == told["loss"]
    # What is said on the command line comes first.
    other, _ = evaluated(other_eyes / "w.safetensors", *sets(data__mean=0.5))
    assert other["loss"] != told["loss"]


def test_an_old_file_says_what_is_assumed(other_eyes, tmp_path):
    with safe_open(other_eyes / "w.safetensors", "pt") as file:
        kept = {key: file.metadata()[key] for key in ("model", "form", "classes", "width_divisor")}
    save_file(load_file(other_eyes / "w.safetensors"), tmp_path / "old.safetensors", kept)
    _, err = evaluated(tmp_path / "old.safetensors", *DATA)
    assert "does not say how its images were normalised" in err and "--set data.mean=[" in err
    again, err = evaluated(tmp_path / "old.safetensors", *DATA, *OTHER_EYES)
    assert "assumed" not in err
    assert again["loss"] == summary(other_eyes / "run")["loss"]
    # Metadata that cannot be.
    save_file(load_file(other_eyes / "w.safetensors"), tmp_path / "bad.safetensors",
              {**kept, "data.image_size": "1000000000"})
    err = adagp("eval", tmp_path / "bad.safetensors", code=3).stderr
    assert "bad.safetensors" in err and "1000000000" in err


def test_training_goes_on_with_the_weights_network_and_pixels(other_eyes, tmp_path):
    """Neither network nor normalisation are named again; images of another size are told."""
    done = adagp("train", *DATA, "--batch", "20", "--epochs", "1", "--method", "bp", "--weights",
                 other_eyes / "w.safetensors", "-o", tmp_path / "run")
    config = (tmp_path / "run/config.toml").read_text()
    assert "mean = [0.1, 0.2, 0.3]" in config and 'name = "resnet8"' in config.replace("'", '"')
    assert "trained on images of 6x6, used on 8x8" in done.stderr
    assert summary(tmp_path / "run")["from_weights"]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused(value, other_eyes, tmp_path):
    state = load_file(other_eyes / "w.safetensors")
    name = "layer1.0.conv1.weight"
    state[name].view(-1)[3] = value
    save_changed(state, other_eyes / "w.safetensors", tmp_path / "broken.safetensors")
    done = adagp("eval", tmp_path / "broken.safetensors", code=3)
    assert done.stdout == ""
    for word in ("broken.safetensors", f"'{name}'", "1 of", "not finite"):
        assert word in done.stderr
    if value == value:
        return
    done = adagp("train", *TINY, "--weights", tmp_path / "broken.safetensors", "--epochs", "1",
                 "-o", tmp_path / "run", code=3)
    assert f"'{name}'" in done.stderr


def test_answers_that_are_not_finite_are_refused(other_eyes, tmp_path):
    """Every weight is finite, and the network overflows all the same."""
    state = load_file(other_eyes / "w.safetensors")
    for name in state:
        if name.endswith("conv1.weight"):
            state[name].mul_(1e30)
    save_changed(state, other_eyes / "w.safetensors", tmp_path / "huge.safetensors")
    done = adagp("eval", tmp_path / "huge.safetensors", code=4)
    assert done.stdout == "" and "not finite" in done.stderr and "layer '" in done.stderr
