"""adagp.wrap in a user's loop: BP batches are the user's, GP batches are the reference's."""

from __future__ import annotations

import copy
import gc
import io
import pickle

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from adagp._impl import reference as ref  # noqa: E402
from adagp.errors import UsageError  # noqa: E402
from adagp.predict import wrap  # noqa: E402

OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=5e-4),
    "adamw": lambda p: torch.optim.AdamW(p, lr=1e-3, weight_decay=1e-2),
}


def network(seed: int = 0) -> nn.Sequential:
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(inplace=True),
        nn.Conv2d(8, 12, 3, stride=2, groups=2),
        nn.ReLU(),
        nn.Dropout(0.1),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(48, 5),
    )


def batches(count: int, seed: int = 1):
    generator = torch.Generator().manual_seed(seed)
    return [
        (torch.randn(8, 3, 12, 12, generator=generator), torch.randint(0, 5, (8,), generator=generator))
        for _ in range(count)
    ]


def controller(model, schedule="1ep bp, gp", name="sgd", **options):
    optimizer = OPTIMIZERS[name](model.parameters())
    options = {"epochs": 4, "steps_per_epoch": 3, **options}
    return wrap(model, optimizer, schedule, **options), optimizer


def advance(gp, model, data):
    return [gp.step(lambda: F.cross_entropy(model(x), y)) for x, y in data]  # noqa: B023


def snapshot(model, optimizer):
    moments = [
        {k: v.clone() for k, v in slot.items() if isinstance(v, torch.Tensor)} for slot in optimizer.state.values()
    ]
    return {k: v.clone() for k, v in model.state_dict().items()}, moments


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_schedule_bp_is_the_plain_loop_bit_for_bit(name):
    data = batches(50)
    plain = network()
    optimizer = OPTIMIZERS[name](plain.parameters())
    torch.manual_seed(7)  # dropout
    losses = []
    for x, y in data:
        optimizer.zero_grad()
        loss = F.cross_entropy(plain(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())

    model = network()
    gp, theirs = controller(model, "bp", name, epochs=5, steps_per_epoch=10)
    torch.manual_seed(7)
    seen = advance(gp, model, data[:23])
    file = io.BytesIO()  # a checkpoint in the middle, in fresh objects
    torch.save(
        {"gp": gp.state_dict(), "model": model.state_dict(), "opt": theirs.state_dict(), "rng": torch.get_rng_state()},
        file,
    )
    file.seek(0)
    saved = torch.load(file, weights_only=True)
    model = network(seed=99)
    gp, theirs = controller(model, "bp", name, epochs=5, steps_per_epoch=10)
    model.load_state_dict(saved["model"])
    theirs.load_state_dict(saved["opt"])
    gp.load_state_dict(saved["gp"])
    torch.set_rng_state(saved["rng"])
    seen += advance(gp, model, data[23:])
    assert torch.equal(torch.stack(seen), torch.stack(losses))
    for key, value in plain.state_dict().items():
        assert torch.equal(value, model.state_dict()[key]), key
    assert gp.epoch == 5


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_gp_moves_weights_as_the_optimizer_does_with_the_prediction(name, layout):
    data = batches(4)
    model = network().to(memory_format=layout)
    gp, optimizer = controller(model, name=name)
    advance(gp, model, data[:3])
    other, state = copy.deepcopy(model), copy.deepcopy(optimizer.state_dict())
    their = OPTIMIZERS[name](other.parameters())
    their.load_state_dict(state)
    predictor = ref.SharedPredictor(gp._predictor.places, 0, torch.device("cpu"), torch.float32)
    predictor.load_state_dict(gp.state_dict()["predictor"])

    assert gp.phase == "gp"
    torch.manual_seed(5)
    advance(gp, model, data[3:])
    # By hand: outputs of the three layers, from a copy whose hooks did not come along.
    torch.manual_seed(5)
    layers = [other[0], other[3], other[8]]
    outputs = []
    for layer in layers:
        layer.register_forward_hook(lambda m, i, o: outputs.append(o.detach().clone()))
    with torch.no_grad():
        other(data[3][0])
    rows = torch.cat(
        [ref.summarise(outputs[0], True), ref.summarise(outputs[1], True), ref.summarise(outputs[2], False)]
    )
    for layer, predicted in zip(layers, predictor.predict(rows, range(3))):
        layer.weight.grad = ref.like_weight(predicted, layer.weight)
    their.step()
    for (key, value), expected in zip(model.state_dict().items(), other.state_dict().values()):
        assert torch.equal(value, expected), key
    assert all(p.grad is None for p in model.parameters())


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_frozen_weights_and_their_moments_do_not_move(name):
    data = batches(5)
    model = network()
    gp, optimizer = controller(model, name=name, skip=("3",))
    advance(gp, model, data[:3])
    before = snapshot(model, optimizer)[0], copy.deepcopy(optimizer.state_dict()["state"])
    advance(gp, model, data[3:])
    moved = set()
    for place, (key, value) in enumerate(model.named_parameters()):
        slot, old = optimizer.state_dict()["state"][place], before[1][place]
        same = all(torch.equal(slot[k], old[k]) for k in slot)
        assert torch.equal(value, before[0][key]) == same, key
        if not same:
            moved.add(key)
    assert moved == {"0.weight", "8.weight"}
    rows = {row["parameter"]: (row["in_gp"], row["why"]) for row in gp.coverage}
    assert rows["0.weight"] == ("predicted", "")
    assert rows["3.weight"] == ("frozen", "skip='3'")
    assert rows["1.weight"][0] == rows["0.bias"][0] == "frozen"
    assert "BatchNorm" not in str(gp.coverage) and "parameter" in str(gp.coverage)


def test_skip_changes_nothing_and_zero_moves_by_momentum():
    data = batches(5)
    model = network()
    gp, optimizer = controller(model, method="skip")
    losses = advance(gp, model, data[:3])
    before = snapshot(model, optimizer)
    calls = []
    again = [gp.step(lambda: calls.append(1)) for _ in range(2)]
    after = snapshot(model, optimizer)
    assert not calls and all(torch.equal(loss, losses[-1]) for loss in again)
    assert all(torch.equal(before[0][k], after[0][k]) for k in before[0])
    assert all(torch.equal(a[k], b[k]) for a, b in zip(before[1], after[1]) for k in a)

    model = network()
    gp, optimizer = controller(model, method="zero")
    advance(gp, model, data[:3])
    weight, buffer = model[0].weight.detach().clone(), optimizer.state[model[0].weight]["momentum_buffer"].clone()
    bias = model[0].bias.detach().clone()
    gp.step(lambda: calls.append(1))
    expected = weight - 0.05 * (0.9 * buffer + 5e-4 * weight)
    torch.testing.assert_close(model[0].weight.detach(), expected, rtol=1e-6, atol=1e-7)
    assert torch.equal(model[0].bias, bias) and not calls


def test_gp_builds_no_graph_and_keeps_no_activation():
    model = nn.Sequential(
        *[nn.Conv2d(16, 16, 3, padding=1) for _ in range(8)], nn.Flatten(), nn.Linear(16 * 32 * 32, 2)
    )
    gp, _ = controller(model, "1ep bp, gp", steps_per_epoch=1, skip=("9",))
    x, y = torch.randn(32, 16, 32, 32), torch.zeros(32, dtype=torch.long)  # 2 MiB a map

    def large() -> set[int]:
        return {id(t) for t in gc.get_objects() if type(t) is torch.Tensor and t.numel() >= x.numel()}

    before, live = large(), []

    def watch(module, inputs, output):
        live.append(len(large() - before))
        assert output.requires_grad == (gp.phase == "bp")

    gp.step(lambda: F.cross_entropy(model(x), y))
    handles = [module.register_forward_hook(watch) for module in list(model)[:8]]
    loss = gp.step(lambda: F.cross_entropy(model(x), y))
    assert not loss.requires_grad and loss.grad_fn is None
    # The input of the layer and its output; never the maps before.
    assert max(live) <= 2 and len(live) == 8
    for handle in handles:
        handle.remove()


def test_probes_measure_on_bp_batches_only():
    data = batches(9)
    model = network()
    gp, _ = controller(model, "bp", probe_every=4)
    advance(gp, model, data)
    assert sorted({row["step"] for row in gp.probes}) == [4, 8]
    assert [row["layer"] for row in gp.probes][:3] == ["0", "3", "8"]
    assert all(-1 <= row["cosine"] <= 1 and row["norm_ratio"] > 0 for row in gp.probes)
    assert all(row["q"] == row["q"] for row in gp.probes)  # G of the batch before was kept
    saved = gp.state_dict()
    other, _ = controller(network(), "bp", probe_every=4)
    other.load_state_dict(saved)
    assert list(other.probes) == list(gp.probes)


def test_layer_used_twice_counts_as_the_mean_of_its_uses():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(6, 6)

        def forward(self, x):
            return self.inner(self.inner(x))

    model = Twice()
    gp, _ = controller(model)
    x, y = torch.randn(4, 6), torch.zeros(4, dtype=torch.long)
    with torch.no_grad():
        first = model.inner(x)
        expected = (ref.summarise(first, False) + ref.summarise(model.inner(first), False)) / 2
    gp.step(lambda: F.cross_entropy(model(x), y))
    torch.testing.assert_close(gp._taps.rows, expected)


def test_copies_and_pickles_of_the_model_do_not_report():
    model = network()
    gp, _ = controller(model)
    advance(gp, model, batches(1))
    rows = gp._taps.rows.clone()
    x = torch.ones(2, 3, 12, 12)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        gp._taps.active = True
        other(x)
        assert torch.equal(rows, gp._taps.rows)


def test_compiled_whole_equals_eager():
    data = batches(8)
    results = []
    for compiled in (False, True):
        torch._dynamo.reset()
        model = network()
        model[5].p = 0.0
        gp, optimizer = controller(model, "1ep bp, 1:1")
        run = torch.compile(model, fullgraph=True, backend="aot_eager") if compiled else model
        advance(gp, run, data)
        results.append((snapshot(model, optimizer)[0], gp.state_dict()["predictor"]))
    for eager, compiled in zip(*results):
        for key in eager:
            torch.testing.assert_close(eager[key], compiled[key], rtol=1e-4, atol=1e-5)


def test_double_and_bf16_weights():
    for dtype in (torch.float64, torch.bfloat16):
        model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(400, 5)).to(dtype)
        gp, _ = controller(model)
        before = model[0].weight.detach().clone()
        advance(gp, model, [(x.to(dtype), y) for x, y in batches(4)])
        assert model[0].weight.dtype == dtype and not torch.equal(before, model[0].weight)


def test_compiled_code_of_networks_with_and_without_hooks_is_kept_apart():
    def network():
        return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5))

    def compiled(model):
        return torch.compile(model, backend="aot_eager", fullgraph=True)

    x, y = torch.randn(4, 3, 8, 8), torch.tensor([0, 1, 2, 3])
    model = network()
    gp = wrap(model, torch.optim.SGD(model.parameters(), lr=0.1), "1ep bp, 1:1", epochs=2, steps_per_epoch=2)
    run = compiled(model)
    for _ in range(4):
        gp.step(lambda: F.cross_entropy(run(x), y))
    before = gp._taps.rows.clone()
    gp._taps.active = True  # as inside a closure that also calls a teacher network
    compiled(network())(2 * x)
    assert torch.equal(before, gp._taps.rows)


def test_code_that_was_compiled_without_hooks_is_refused(monkeypatch):
    torch._dynamo.reset()
    monkeypatch.setattr(torch._dynamo.config, "skip_nnmodule_hook_guards", True)

    def network():
        return nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))

    x, y = torch.randn(4, 4), torch.tensor([0, 1, 0, 1])
    torch.compile(network(), backend="aot_eager")(x).sum().backward()
    model = network()
    gp = wrap(model, torch.optim.SGD(model.parameters(), lr=0.1), "1ep bp, 1:1", epochs=2, steps_per_epoch=2)
    run = torch.compile(model, backend="aot_eager")
    with pytest.raises(UsageError, match="no layer of the model ran"):
        gp.step(lambda: F.cross_entropy(run(x), y))
    torch._dynamo.reset()
    gp.step(lambda: F.cross_entropy(run(x), y))
