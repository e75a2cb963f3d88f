"""Batches in parts, own updates, a GradScaler, and when the predictor learns."""

from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from adagp._impl import reference  # noqa: E402
from adagp.errors import UsageError  # noqa: E402
from adagp.predict import wrap  # noqa: E402

X = torch.randn(12, 4, generator=torch.Generator().manual_seed(3))


def small():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))


def wrapped(schedule="1ep bp, 1:1", model=None, **options):
    model = model or small()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    return wrap(model, optimizer, schedule, **{"epochs": 2, "steps_per_epoch": 2, **options}), model, optimizer


def mean_square(model, part=slice(None)):
    return lambda: model(X[part]).square().mean()


def same_weights(one, other, **tolerance):
    for a, b in zip(one.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(a, b, **tolerance)


def test_a_batch_in_parts_is_the_batch():
    """Linear layers see rows alone, so parts of equal size give the gradients and summaries of the
    whole batch up to rounding."""
    whole, model, _ = wrapped()
    parts, other, _ = wrapped()
    for _ in range(4):
        expected = whole.step(mean_square(model))
        found = parts.step([mean_square(other, slice(i, i + 4)) for i in (0, 4, 8)])
        torch.testing.assert_close(found, expected)
        torch.testing.assert_close(parts._taps.rows, whole._taps.rows)
    assert whole._exact_steps == 3
    same_weights(model, other)


def test_an_update_that_does_not_step_is_refused():
    gp, model, optimizer = wrapped()
    with pytest.raises(UsageError, match=r"update: it did not step.*gp.step\(\[closure"):
        gp.step(mean_square(model), update=lambda: None)
    gp, model, optimizer = wrapped()
    for update in (optimizer.step, lambda: optimizer.step()):  # the first is not seen being called
        gp.step(mean_square(model), update=update)
    assert gp.steps == 2 and "step" not in optimizer.__dict__


def test_a_scheduler_and_its_own_step_stay():
    gp, model, optimizer = wrapped()
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    step = optimizer.step
    gp.step(mean_square(model), update=lambda: (optimizer.step(), scheduler.step()))
    assert optimizer.step is step and optimizer.param_groups[0]["lr"] == 0.05


@pytest.mark.parametrize("method", ["adagp", "zero"])
def test_update_is_called_on_both_kinds_of_batches(method):
    gp, model, optimizer = wrapped(method=method)
    told, norms = [], []

    def update(phase):
        told.append((phase, gp.phase))
        nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
        norms.append(torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]).norm())
        optimizer.step()

    for _ in range(4):
        gp.step(mean_square(model), update=update)
    assert told == [(phase, phase) for phase in ("bp", "bp", "gp", "bp")]
    assert max(norms) < 1.01e-3
    coming, calls = gp.phase, []
    gp.step(mean_square(model), update=lambda *, phase: (calls.append(phase), optimizer.step()))
    assert calls == [coming]


def test_an_update_sees_the_predicted_gradients():
    """A step by hand with what lies in p.grad is the step without update."""
    plain, model, _ = wrapped()
    own, other, optimizer = wrapped()
    for _ in range(4):
        plain.step(mean_square(model))
        own.step(mean_square(other), update=lambda: optimizer.step())
    same_weights(model, other, rtol=0, atol=0)


def test_a_dropped_batch_has_no_update():
    gp, model, optimizer = wrapped(method="skip")
    told = []
    for _ in range(4):
        gp.step(mean_square(model), update=lambda phase: (told.append(phase), optimizer.step()))
    assert told == ["bp", "bp", "bp"]


def test_a_scaler_changes_nothing_that_is_learned():
    """A scale that is a power of two is exact."""
    plain, model, _ = wrapped()
    scaled, other, _ = wrapped()
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=1000)
    for _ in range(4):
        plain.step(mean_square(model))
        scaled.step(mean_square(other), scaler=scaler)
    same_weights(model, other, rtol=0, atol=0)
    ours, theirs = (gp.state_dict()["predictor"] for gp in (plain, scaled))
    assert ours.keys() == theirs.keys()
    for key, value in ours.items():
        if isinstance(value, torch.Tensor):
            assert torch.equal(value, theirs[key]), key


def test_a_scaler_that_overflows_teaches_nothing():
    gp, model, optimizer = wrapped()
    before = copy.deepcopy(model.state_dict())
    scaler = torch.amp.GradScaler("cpu", init_scale=3e38)
    gp.step(lambda: 100 * model(X).square().mean(), scaler=scaler)
    assert scaler.get_scale() < 3e38 and not any(gp._predictor.seen)
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())
    with pytest.raises(UsageError, match="update: with scaler= it must take the phase"):
        gp.step(mean_square(model), scaler=scaler, update=lambda: optimizer.step())
    with pytest.raises(UsageError, match="backward: scaler= brings its own"):
        gp.step(mean_square(model), scaler=scaler, backward=lambda loss: loss.backward())

    def update(phase):
        if phase == "gp":
            optimizer.step()
        else:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()

    for _ in range(3):
        gp.step(mean_square(model), scaler=scaler, update=update)
    assert gp.steps == 4


def test_wrapping_twice_is_refused():
    gp, model, optimizer = wrapped()
    for again in (model, torch.compile(model, backend="eager")):
        with pytest.raises(UsageError, match=r"model: adagp.wrap was called on it before.*remove\(\)"):
            wrap(again, optimizer, epochs=1, steps_per_epoch=1)
    other = copy.deepcopy(model)  # whose hooks did not come along
    wrap(other, torch.optim.SGD(other.parameters(), lr=1), epochs=1, steps_per_epoch=1)
    gp.remove()
    wrap(model, optimizer, epochs=1, steps_per_epoch=1)


def test_a_meta_model_is_refused():
    model = small().to("meta")
    with pytest.raises(UsageError, match="'0.weight' is on the meta device"):
        wrap(model, torch.optim.SGD(model.parameters(), lr=1), epochs=1, steps_per_epoch=1)


def test_a_ratio_longer_than_an_epoch_is_told():
    with pytest.warns(UserWarning, match="36 of 40 batches are GP, and 9 of 10 epochs have no BP"):
        wrapped("1ep bp, 4:1", epochs=10, steps_per_epoch=4)


@pytest.mark.parametrize(("schedule", "steps"), [("1ep bp, 4:1", 5), ("1ep bp, gp", 4), ("bp", 1)])
def test_other_schedules_are_not_told_about(schedule, steps, recwarn):
    wrapped(schedule, epochs=10, steps_per_epoch=steps)
    assert not [w for w in recwarn if "BP batch" in str(w.message)]


@pytest.mark.parametrize(
    ("schedule", "options", "learned"),
    [
        ("bp", {}, []),
        ("bp", {"probe_every": 2}, [0, 1, 2, 3, 4, 5]),
        ("1ep 1:1, bp", {}, []),
        ("1ep bp, 1ep 1:1, bp", {}, [0, 1]),
        ("1:1", {}, [1, 3]),
    ],
)
def test_the_predictor_learns_for_gp_batches_to_come(monkeypatch, schedule, options, learned):
    calls = []
    learn = reference.SharedPredictor.learn
    monkeypatch.setattr(
        reference.SharedPredictor, "learn", lambda self, *given: (calls.append(gp.steps), learn(self, *given))[1]
    )
    gp, model, _ = wrapped(schedule, epochs=3, steps_per_epoch=2, **options)
    for step in range(6):
        rows = gp._taps.rows.clone()
        predicts = gp.phase == "gp"
        gp.step(mean_square(model))
        if step not in learned and not predicts:  # then no output is summarised either
            assert torch.equal(rows, gp._taps.rows)
    assert calls == learned
