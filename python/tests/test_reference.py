"""The predictor in plain torch against autograd over its full width, and against the C++ engine."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from limits import PATIENCE

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from adagp._impl import reference as ref  # noqa: E402
from adagp.errors import DataError  # noqa: E402

CPU = torch.device("cpu")
PLACES = [ref.Place("a", 0, 5, 27), ref.Place("b", 5, 7, 40), ref.Place("c", 12, 3, 8)]


def predictor(dtype: torch.dtype = torch.float64) -> ref.SharedPredictor:
    return ref.SharedPredictor(PLACES, seed=3, device=CPU, dtype=dtype)


@pytest.mark.parametrize("shape", [(4, 6, 32, 32), (3, 2, 7, 5), (2, 3, 1, 1), (5, 2, 8, 8)])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_map_is_mean_then_pool(shape, layout):
    x = torch.randn(shape).contiguous(memory_format=layout)
    expected = F.adaptive_avg_pool2d(x.double().mean(0).unsqueeze(1), 8).flatten(1)
    torch.testing.assert_close(ref.summarise(x, True).double(), expected, rtol=1e-5, atol=1e-6)


def test_linear_outputs():
    x = torch.randn(6, 3)
    torch.testing.assert_close(ref.summarise(x, False), x.mean(0)[:, None].expand(3, 64))
    tokens = torch.randn(6, 16, 3)  # 16 positions: each of 8 windows is the mean of two
    pairs = tokens.mean(0).view(8, 2, 3).mean(1)  # [8, 3]
    expected = pairs.t()[:, :, None].expand(3, 8, 8).reshape(3, 64)
    torch.testing.assert_close(ref.summarise(tokens, False), expected)
    deep = tokens.view(6, 4, 4, 3)  # any axes between are positions
    torch.testing.assert_close(ref.summarise(deep, False), expected)


def test_one_example_without_batch_axis():
    x = torch.randn(3, 9, 9)
    torch.testing.assert_close(ref.summarise(x, True), ref.summarise(x[None], True))


def test_low_precision_is_averaged_in_fp32():
    x = torch.randn(300, 2, 8, 8).bfloat16()
    assert ref.summarise(x, True).dtype == torch.float32
    expected = x.float().mean(0).flatten(1)
    torch.testing.assert_close(ref.summarise(x, True), expected, rtol=1e-5, atol=1e-6)
    with torch.autocast("cpu", dtype=torch.bfloat16):  # which would run a product in bf16
        torch.testing.assert_close(ref.summarise(x.float(), True), expected, rtol=1e-5, atol=1e-6)


def test_learning_equals_autograd_over_the_full_width():
    ours = predictor()
    p = {name: value.detach().clone().requires_grad_() for name, value in ours.params.items()}
    adam = torch.optim.Adam(list(p.values()), lr=ref.RATE)
    squares: list[torch.Tensor | None] = [None] * len(PLACES)
    for _ in range(4):
        rows = torch.randn(15, 64, dtype=torch.float64)
        gradients = {i: torch.randn(x.filters, x.cols, dtype=torch.float64) * 10.0**-i for i, x in enumerate(PLACES)}
        x = F.conv2d(rows.view(-1, 1, 8, 8), p["conv.weight"], p["conv.bias"], padding=1)
        x = F.adaptive_avg_pool2d(torch.relu(x), 4).flatten(1)
        wide = F.linear(x, p["fc.weight"], p["fc.bias"])  # all columns, then the mask
        losses = []
        for i, g in gradients.items():
            now, old = g.square().mean(), squares[i]
            squares[i] = now if old is None else 0.95 * old + 0.05 * now
            part = wide[PLACES[i].first :][: PLACES[i].filters, : PLACES[i].cols]
            losses.append((part - g / squares[i].sqrt()).square().mean())
        loss = torch.stack(losses).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
        torch.testing.assert_close(ours.learn(rows, gradients), loss.detach())
    for name, value in p.items():
        torch.testing.assert_close(ours.params[name], value, msg=name)
    rows = torch.randn(15, 64, dtype=torch.float64)
    x = F.conv2d(rows.view(-1, 1, 8, 8), p["conv.weight"], p["conv.bias"], padding=1)
    wide = F.linear(F.adaptive_avg_pool2d(torch.relu(x), 4).flatten(1), p["fc.weight"], p["fc.bias"]).detach()
    for i, got in enumerate(ours.predict(rows, range(3))):
        part = wide[PLACES[i].first :][: PLACES[i].filters, : PLACES[i].cols]
        torch.testing.assert_close(got, part * squares[i].sqrt())


def test_state_goes_on_exactly_and_names_what_is_wrong():
    one, other = predictor(torch.float32), ref.SharedPredictor(PLACES, 9, CPU, torch.float32)
    draw = lambda: (torch.randn(15, 64), {0: torch.randn(5, 27), 2: torch.randn(3, 8)})  # noqa: E731
    for _ in range(2):
        one.learn(*draw())
    other.load_state_dict(one.state_dict())
    batch = draw()
    assert torch.equal(one.learn(*batch), other.learn(*batch))
    for name, value in one.state_dict().items():
        assert torch.equal(value, other.state_dict()[name]), name
    assert one.seen == [True, False, True]
    with pytest.raises(DataError, match="rms.b"):
        other.load_state_dict({k: v for k, v in one.state_dict().items() if k != "rms.b"})
    narrow = ref.SharedPredictor(PLACES[:1], 0, CPU, torch.float32)
    with pytest.raises(DataError, match="fc.weight"):
        narrow.load_state_dict(one.state_dict())


def test_rows_follow_the_memory_of_the_weight():
    weight = torch.randn(4, 3, 2, 2)
    last = weight.contiguous(memory_format=torch.channels_last)
    for value in (weight, last, torch.randn(4, 6)):
        rows = ref.as_rows(value, value)
        assert torch.equal(ref.like_weight(rows, value), value)
        assert ref.like_weight(rows, value).stride() == value.stride()
    # A gradient in another layout than its weight is read in the weight's order.
    assert torch.equal(ref.as_rows(weight, last), ref.as_rows(last, last))


def engine() -> str | None:
    """A full build of the program: the one in the package cannot train."""
    named = os.environ.get("ADAGP_PROGRAM")
    beside = Path(__file__).resolve().parents[2] / "build" / "bin" / "adagp"
    return named or (str(beside) if beside.exists() else shutil.which("adagp-full"))


class Vgg8s(nn.Module):
    """The engine's vgg8s, with its names."""

    def __init__(self) -> None:
        super().__init__()
        steps: list[nn.Module] = []
        channels = 3
        for stage in ((16,), (32,), (32, 64), (64, 128), (128,)):
            for width in stage:
                steps += [nn.Conv2d(channels, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
                channels = width
            steps.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*steps)
        self.classifier = nn.Linear(channels, 10)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def engine_steps(folder: Path, optimizer: list[str]) -> tuple[dict, dict, dict]:
    """Data, and two steps of the engine: the checkpoints after two BP batches, one more, one GP."""
    from safetensors.torch import load_file, save_file

    generator = torch.Generator().manual_seed(1)
    data = {
        "images": torch.randint(0, 256, (32, 3, 32, 32), generator=generator).byte(),
        "labels": torch.arange(32) % 10,
    }
    save_file(data, folder / "data.safetensors")
    saved = []
    # One batch holds all images: the order in it moves nothing but the last bits.
    for epochs in (3, 4):
        subprocess.run(
            [
                engine(),
                "train",
                "--data",
                "packed",
                "--data-dir",
                folder / "data.safetensors",
                "--model",
                "vgg8s",
                "--method",
                "adagp",
                "--schedule",
                "3ep bp, gp",
                "--epochs",
                str(epochs),
                "--batch",
                "32",
                "--device",
                "cpu",
                "-o",
                folder / "run",
                "--set",
                "policy.name=constant",
                "--set",
                "augment.crop=none",
                "--set",
                "augment.flip=false",
                "--set",
                "data.mean=[0.5]",
                "--set",
                "data.std=[0.25]",
                *[part for key in optimizer for part in ("--set", key)],
            ],
            check=True,
            capture_output=True,
            timeout=PATIENCE,
        )
        files = sorted((folder / "run" / "checkpoint").glob("step-*.safetensors"))
        saved += [load_file(file) for file in files]
    return data, *(saved[i] for i in (0, 1, 3))


def under(state: dict, prefix: str) -> dict:
    return {k[len(prefix) :]: v for k, v in state.items() if k.startswith(prefix)}


def resume(gp, model, optimizer, state: dict, step: int) -> None:
    """The engine's checkpoint in torch's objects."""
    model.load_state_dict(under(state, "net."))
    for name, parameter in model.named_parameters():
        if isinstance(optimizer, torch.optim.SGD):
            slot = {"momentum_buffer": state[f"optimizer.momentum.{name}"].clone()}
        else:
            slot = {
                "exp_avg": state[f"optimizer.mean.{name}"].clone(),
                "exp_avg_sq": state[f"optimizer.square.{name}"].clone(),
                "step": state[f"optimizer.step.{name}"].clone(),
            }
        optimizer.state[parameter] = slot
    gp.load_state_dict({**gp.state_dict(), "steps": step, "exact_steps": step, "predictor": under(state, "predictor.")})


@pytest.mark.skipif(engine() is None, reason="needs a full build of the program: ADAGP_PROGRAM")
@pytest.mark.parametrize("name", ["sgd", "adamw"])
def test_a_step_equals_the_engines(tmp_path, name):
    import adagp.predict as predict

    keys = ["optim.name=adamw", "optim.lr=0.001"] if name == "adamw" else []
    data, before, after_bp, after_gp = engine_steps(tmp_path, keys)
    x = (data["images"].float() / 255 - 0.5) / 0.25
    for start, end, step in ((before, after_bp, 2), (after_bp, after_gp, 3)):
        # The engine keeps convolutions channels-last, and the order of a filter's weights in
        # memory is their order in a prediction.
        model = Vgg8s().train().to(memory_format=torch.channels_last)
        make = torch.optim.SGD if name == "sgd" else torch.optim.AdamW
        options = {"lr": 0.1, "momentum": 0.9} if name == "sgd" else {"lr": 1e-3}
        optimizer = make(model.parameters(), weight_decay=5e-4, **options)
        gp = predict.wrap(model, optimizer, "3ep bp, gp", epochs=4, steps_per_epoch=1)
        resume(gp, model, optimizer, start, step)
        assert gp.phase == ("bp" if step == 2 else "gp")
        gp.step(lambda: F.cross_entropy(model(x), data["labels"]))
        # True gradients of a bias before a norm are nothing but rounding.
        noise = {f"net.features.{i}.bias" for i, part in enumerate(model.features) if isinstance(part, nn.Conv2d)}
        got = {
            **{"net." + k: v for k, v in model.state_dict().items()},
            **{"predictor." + k: v for k, v in gp.state_dict()["predictor"].items()},
        }
        assert len(got) > 60
        for key, value in got.items():
            if step == 2 and key in noise:
                continue
            largest = end[key].double().abs().max().clamp(min=1e-12)
            error = float((value.double() - end[key].double()).abs().max() / largest)
            assert error < 1e-5, (step, key, error)
        moved = end["net.features.4.weight"] - start["net.features.4.weight"]
        assert moved.abs().max() > 1e-4  # or the comparison would say nothing
