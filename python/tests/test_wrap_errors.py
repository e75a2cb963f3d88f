"""What adagp.wrap refuses, and whether the text names the argument or layer and the way out."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from adagp.errors import DataError, DivergedError, UsageError  # noqa: E402
from adagp.predict import wrap  # noqa: E402


def small() -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))


def wrapped(model=None, schedule="1ep bp, gp", parameters=None, **options):
    model = model or small()
    optimizer = torch.optim.SGD(parameters or model.parameters(), lr=0.1)
    return wrap(model, optimizer, schedule, **{"epochs": 2, "steps_per_epoch": 1, **options}), model


@pytest.mark.parametrize(
    "options, text",
    [
        ({"epochs": 0}, "epochs: got 0"),
        ({"steps_per_epoch": 1.5}, "steps_per_epoch: got 1.5"),
        ({"steps_per_epoch": True}, "steps_per_epoch: got True"),
        ({"method": "adagpp"}, "method: got 'adagpp', expected one of adagp, skip, zero"),
        ({"schedule": "10ep pb"}, "schedule"),
        ({"schedule": None}, "schedule: got None"),
        ({"probe_every": -1}, "probe_every"),
        ({"skip": ("1",)}, "skip: '1' is no Conv2d or Linear of the model; there are 0, 2"),
        ({"skip": ("0", "2")}, "no nn.Conv2d or nn.Linear"),
    ],
)
def test_bad_options(options, text):
    with pytest.raises(UsageError) as error:
        wrapped(**options)
    assert text in str(error.value)


def test_bad_model_and_optimizer():
    model = small()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(UsageError, match="model: got function"):
        wrap(lambda x: x, optimizer, epochs=1, steps_per_epoch=1)
    with pytest.raises(UsageError, match="optimizer: got list"):
        wrap(model, [optimizer], epochs=1, steps_per_epoch=1)
    with pytest.raises(UsageError, match="LBFGS"):
        wrap(model, torch.optim.LBFGS(model.parameters()), epochs=1, steps_per_epoch=1)
    with pytest.raises(UsageError, match="no nn.Conv2d or nn.Linear"):
        norm = nn.BatchNorm1d(3)
        wrap(norm, torch.optim.SGD(norm.parameters(), lr=1), epochs=1, steps_per_epoch=1)


def test_parameters_the_optimizer_does_not_own():
    model = small()
    with pytest.raises(UsageError, match=r"layer '2'.*requires_grad_.*skip=\('2',\)"):
        wrapped(model, parameters=list(model[0].parameters()))
    wrapped(model, parameters=list(model[0].parameters()), skip=("2",))[0].remove()
    model[2].requires_grad_(False)
    gp, _ = wrapped(model, parameters=list(model[0].parameters()))
    states = {row["parameter"]: row["why"] for row in gp.coverage}
    assert states["2.weight"] == "requires_grad is False"


def test_lazy_modules():
    model = nn.Sequential(nn.Linear(4, 6), nn.LazyLinear(2))
    with pytest.raises(UsageError, match=r"layer '1' \(LazyLinear\).*one batch"):
        wrapped(model)
    model(torch.zeros(1, 4))
    wrapped(model)


def test_weights_without_a_call_of_their_module_stay():
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.MultiheadAttention(8, 2, batch_first=True)
            self.head = nn.utils.parametrizations.weight_norm(nn.Linear(8, 2))
            self.last = nn.Linear(8, 2)

        def forward(self, x):
            mixed = self.inner(x, x, x)[0].mean(1)
            return self.last(mixed) + self.head(mixed)

    gp, model = wrapped(Attention())
    x, y = torch.randn(3, 5, 8), torch.zeros(3, dtype=torch.long)
    gp.step(lambda: F.cross_entropy(model(x), y))
    rows = {row["parameter"]: row for row in gp.coverage}
    assert "not called" in rows["inner.out_proj.weight"]["why"]
    assert "computed" in rows["head.parametrizations.weight.original1"]["why"]
    assert rows["last.weight"]["in_gp"] == "predicted"
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    gp.step(lambda: F.cross_entropy(model(x), y))
    moved = {name for name, value in model.named_parameters() if not value.equal(before[name])}
    assert moved == {"last.weight"}


@pytest.mark.parametrize("steps", [0, 1], ids=["bp", "gp"])
def test_nan_loss_diverges_before_anything_moves(steps):
    gp, model = wrapped()
    x = torch.randn(3, 4)
    for _ in range(steps):
        gp.step(lambda: model(x).square().mean())
    before = [p.detach().clone() for p in model.parameters()]
    with pytest.raises(DivergedError, match=r"loss: nan in step \d.*layer '0': output not finite"):
        gp.step(lambda: model(x * math.inf).square().mean() - math.inf)
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters()))
    gp.step(lambda: model(x).square().mean())  # the caller may go on


@pytest.mark.parametrize(
    "result, text",
    [
        (None, "returned NoneType"),
        (0.5, "returned float"),
        (torch.zeros(3), r"a tensor of shape \(3,\)"),
        (torch.zeros(()), "no graph"),
    ],
)
def test_closures_that_return_no_loss(result, text):
    gp, _ = wrapped()
    with pytest.raises(UsageError, match=f"closure: .*{text}"):
        gp.step(lambda: result)
    with pytest.raises(UsageError, match="closure: got Tensor"):
        gp.step(torch.zeros(()))
    assert gp.steps == 0


def test_backward_that_leaves_nothing():
    gp, model = wrapped()
    with pytest.raises(UsageError, match="backward: it left no gradient"):
        gp.step(lambda: model(torch.randn(3, 4)).mean(), backward=lambda loss: None)


def test_an_error_in_the_closure_passes_through():
    gp, model = wrapped()
    with pytest.raises(KeyError):
        gp.step(lambda: {}["x"])
    assert not gp._taps.active


def test_use_after_remove():
    gp, model = wrapped()
    gp.step(lambda: model(torch.randn(3, 4)).mean())
    gp.remove()
    assert not any(module._forward_hooks for module in model.modules())
    with pytest.raises(UsageError, match="remove"):
        gp.step(lambda: model(torch.randn(3, 4)).mean())


def test_states_of_something_else():
    gp, _ = wrapped()
    with pytest.raises(DataError, match="'method' is missing"):
        gp.load_state_dict([])
    other, _ = wrapped(method="skip")
    with pytest.raises(DataError, match="method='skip'"):
        gp.load_state_dict(other.state_dict())
    wider, _ = wrapped(nn.Sequential(nn.Linear(9, 6), nn.Linear(6, 2)))
    with pytest.raises(DataError, match="another model"):
        gp.load_state_dict(wider.state_dict())


def test_backward_is_called_on_bp_batches_only():
    gp, model = wrapped(schedule="1:1", epochs=1, steps_per_epoch=4)
    calls = []
    for _ in range(4):
        gp.step(
            lambda: model(torch.randn(3, 4)).square().mean(),
            backward=lambda loss: (calls.append(gp.phase), loss.backward()),
        )
    assert calls == ["bp", "bp"]
