"""Steps of wrap with the operators train what plain torch trains."""

from __future__ import annotations

import copy
import warnings
from collections import Counter

import pytest

torch = pytest.importorskip("torch")
from op_devices import device, needs_cuda  # noqa: E402, F401
from torch import nn  # noqa: E402
from torch._dynamo.utils import counters  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from adagp._impl.kernel_steps import KernelSteps  # noqa: E402
from adagp.predict import wrap  # noqa: E402


@pytest.mark.parametrize("compiled", [False, True])
def test_hooked_network_with_operators_equals_the_reference(compiled):
    torch.manual_seed(0)
    first = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 4, 3), nn.Flatten(), nn.Linear(256, 5)
    )
    results = []
    for kernels in (False, True):
        torch._dynamo.reset()
        counters.clear()
        model = copy.deepcopy(first)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
        gp = wrap(model, optimizer, "1ep bp, 1:1", epochs=3, steps_per_epoch=2)
        gp._taps.use_kernels(kernels)
        run = torch.compile(model, fullgraph=True, backend="aot_eager") if compiled and kernels else model
        generator = torch.Generator().manual_seed(1)
        for _ in range(6):
            x = torch.randn(8, 3, 12, 12, generator=generator)
            y = torch.randint(0, 5, (8,), generator=generator)
            gp.step(lambda: F.cross_entropy(run(x), y))  # noqa: B023
        results.append((model.state_dict(), gp._taps.rows))
        # Compiled once for BP batches, GP batches, and BP batches from which nothing is learned.
        assert counters["stats"]["unique_graphs"] == (3 if compiled and kernels else 0)
    for name, value in results[0][0].items():
        torch.testing.assert_close(value, results[1][0][name], rtol=1e-4, atol=1e-5, msg=name)
    torch.testing.assert_close(results[0][1], results[1][1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("parts", [1, 2])
def test_a_layer_used_twice_has_the_mean_of_its_uses(device, parts):
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.inner = nn.Conv2d(2, 2, 1), nn.Linear(6, 6)

        def forward(self, x):
            return self.inner(self.inner(self.first(x)))

    rows = []
    for kernels in (False, True):
        torch.manual_seed(0)
        model = Twice().to(device)
        gp = wrap(model, torch.optim.SGD(model.parameters(), lr=0.1), "2ep bp, gp", epochs=3, steps_per_epoch=2)
        gp._taps.use_kernels(kernels)
        gp._kernels = None
        x = torch.randn(4, 2, 5, 6, device=device)
        gp.step([lambda part=part: model(part).square().mean() for part in x.chunk(parts)])
        assert gp._taps.uses == [parts, 2 * parts]
        rows.append(gp._taps.rows)
    torch.testing.assert_close(rows[0], rows[1], rtol=1e-3, atol=1e-4)  # TF32 on a GPU


KINDS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.02, momentum=0.9, weight_decay=0.01),
    "plain sgd": lambda p: torch.optim.SGD(p, lr=0.02),
    "nesterov": lambda p: torch.optim.SGD(p, lr=0.02, momentum=0.9, nesterov=True),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.002, fused=True),
    "adam": lambda p: torch.optim.Adam(p, lr=0.002, weight_decay=0.01, fused=True),
}


def trained(device, kind, kernels):
    """Six steps of a small network in two parameter groups; the controller and the weights."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 3, bias=False), nn.Flatten(), nn.Linear(256, 5)
    ).to(device)
    model[2].to(memory_format=torch.channels_last)
    optimizer = KINDS[kind]([{"params": model[:3].parameters()}, {"params": model[3:].parameters(), "lr": 0.005}])
    gp = wrap(model, optimizer, "1ep bp, 1:1", epochs=3, steps_per_epoch=2)
    gp._kernels = KernelSteps(gp._predictor, gp._taps, optimizer) if kernels else None
    generator = torch.Generator().manual_seed(1)
    for step in range(6):
        x = torch.randn(8, 3, 12, 12, generator=generator).to(device)
        y = torch.randint(0, 5, (8,), generator=generator).to(device)
        if step == 3:
            optimizer.param_groups[0]["lr"] *= 0.5
        gp.step(lambda: F.cross_entropy(model(x), y))  # noqa: B023
    return gp, [p.detach() for p in model.parameters()], optimizer


@pytest.mark.parametrize("kind", KINDS)
def test_kernel_steps_equal_plain_torch(device, kind):
    gp, got, optimizer = trained(device, kind, kernels=True)
    assert gp._predictor.steps == 3  # after the last GP batch it does not learn
    plain, expected, reference = trained(device, kind, kernels=False)
    start = trained_start(device)
    for a, b, from_ in zip(got, expected, start):
        # The kernels' operands are bf16, those of plain convolutions on a GPU TF32: 2^-8 of the
        # predicted part of the way, and 2^-10 of the rest.
        torch.testing.assert_close(a, b, rtol=0, atol=0.02 * float((b - from_).abs().max()))
    state, wanted = optimizer.state_dict()["state"], reference.state_dict()["state"]
    for index, entry in wanted.items():
        assert state[index].keys() == entry.keys()
        if "step" in entry:
            assert state[index]["step"] == entry["step"]
    torch.testing.assert_close(gp._predictor.scale, plain._predictor.scale, rtol=1e-2, atol=0)
    assert gp._predictor.seen == plain._predictor.seen


def trained_start(device):
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 3, bias=False), nn.Flatten(), nn.Linear(256, 5)
    )
    return [p.detach().to(device) for p in model.parameters()]


def test_kernel_steps_go_on_after_plain_steps_and_a_loaded_state(device):
    gp, _, optimizer = trained(device, "sgd", kernels=True)
    saved = copy.deepcopy(gp.state_dict())
    other, _, _ = trained(device, "sgd", kernels=True)
    other.load_state_dict(saved)
    rows = torch.randn_like(gp._taps.rows)
    gradients = {i: torch.randn(p.filters, p.cols, device=device) for i, p in enumerate(gp._predictor.places)}
    for controller in (gp, other):
        controller._predictor.learn(rows, gradients)  # plain torch
        assert controller._kernels.learn(rows, gradients)
    for name, value in gp._predictor.state_dict().items():
        torch.testing.assert_close(value, other._predictor.state_dict()[name], rtol=0, atol=0)


@pytest.mark.parametrize(
    "optimizer, why",
    [
        (lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.5), "dampening=0.5"),
        (lambda p: torch.optim.SGD(p, lr=0.1, maximize=True), "maximize=True"),
        (lambda p: torch.optim.RMSprop(p, lr=0.001), "RMSprop"),
    ],
)
def test_another_optimizer_takes_plain_torch_and_says_so_once(device, optimizer, why):
    model = nn.Linear(4, 3).to(device)
    gp = wrap(model, optimizer(model.parameters()), "1ep bp, 1:1", epochs=3, steps_per_epoch=1)
    gp._kernels = KernelSteps(gp._predictor, gp._taps, gp.optimizer)
    x = torch.ones(2, 4, device=device)
    gp.step(lambda: model(x).square().mean())
    before = model.weight.detach().clone()
    with pytest.warns(UserWarning, match=why):
        gp.step(lambda: model(x).square().mean())
    assert not torch.equal(before, model.weight)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gp.step(lambda: model(x).square().mean())


def called(work) -> Counter:
    """Which operators, and how often."""
    found = Counter()

    class Count(TorchDispatchMode):
        def __torch_dispatch__(self, operator, types, args=(), options=None):
            if not str(operator).startswith("profiler."):
                found[str(operator)] += 1
            return operator(*args, **(options or {}))

    with Count():
        work()
    return found


@pytest.mark.parametrize("kind", ["sgd", "adamw"])
def test_a_step_calls_one_operator_more_for_each_layer_and_five_beside(kind):
    """What a step costs where the CPU that launches is the limit."""
    torch.manual_seed(0)
    model = nn.Sequential(
        *[nn.Sequential(nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4), nn.ReLU(inplace=True)) for _ in range(6)],
        nn.Flatten(),
        nn.Linear(16, 3),
    ).to(memory_format=torch.channels_last)
    plain = copy.deepcopy(model)
    x, y = torch.randn(2, 4, 2, 2).contiguous(memory_format=torch.channels_last), torch.tensor([0, 1])
    optimizers = [KINDS[kind](one.parameters()) for one in (plain, model)]
    gp = wrap(model, optimizers[1], "2ep bp, 1:1", epochs=9, steps_per_epoch=3, probe_every=0)
    gp._taps.use_kernels(True)
    gp._kernels = KernelSteps(gp._predictor, gp._taps, optimizers[1])

    def forward():
        with torch.no_grad():
            F.cross_entropy(plain(x), y)

    def exact():
        optimizers[0].zero_grad(set_to_none=True)
        F.cross_entropy(plain(x), y).backward()
        optimizers[0].step()

    def step():
        gp.step(lambda: F.cross_entropy(model(x), y))

    layers = 7
    # The loss is detached, and on a CPU looked at.
    beside = {"adagp.summarise_.default": layers, "adagp.pool_.default": 1, "adagp.features.default": 1,
              "aten.detach.default": 1, "aten._local_scalar_dense.default": 1}  # fmt: skip
    for _ in range(7):  # with the first GP batch, which may bring moments into the weights' layout
        exact(), step()
    assert gp.phase == "bp" and called(step) - called(exact) == beside | {"adagp.predictor_learn_.default": 1}
    assert gp.phase == "gp" and called(step) - called(forward) == beside | {"adagp.predict_update_.default": 1}


@needs_cuda
@pytest.mark.parametrize("mode", [None, "reduce-overhead"])
def test_a_compiled_network_on_a_gpu_equals_the_reference(mode):
    results = []
    for compiled in (False, True):
        torch._dynamo.reset()
        torch.manual_seed(0)
        model = nn.Sequential(
            nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 4, 3), nn.Flatten(), nn.Linear(256, 5)
        ).cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
        gp = wrap(model, optimizer, "1ep bp, 1:1", epochs=4, steps_per_epoch=3)
        assert gp._kernels is not None
        if not compiled:
            gp._kernels, gp._taps.kernels = None, False
        run = torch.compile(model, fullgraph=True, mode=mode) if compiled else model
        generator = torch.Generator().manual_seed(1)
        for _ in range(12):
            x = torch.randn(8, 3, 12, 12, generator=generator).cuda()
            y = torch.randint(0, 5, (8,), generator=generator).cuda()
            gp.step(lambda: F.cross_entropy(run(x), y))  # noqa: B023
        results.append([p.detach().clone() for p in model.parameters()])
    for got, want in zip(results[1], results[0]):
        torch.testing.assert_close(got, want, rtol=2e-2, atol=2e-3)


@needs_cuda
def test_no_step_waits_for_the_gpu():
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Flatten(), nn.Linear(800, 5)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, fused=True)
    gp = wrap(model, optimizer, "1ep bp, 1:1", epochs=2, steps_per_epoch=8, probe_every=0)
    x, y = torch.randn(8, 3, 12, 12).cuda(), torch.zeros(8, dtype=torch.long).cuda()
    for _ in range(8):
        gp.step(lambda: F.cross_entropy(model(x), y))
    torch.cuda.set_sync_debug_mode("error")
    try:
        phases = []
        for _ in range(7):  # the last step of an epoch looks at the losses, and waits
            phases.append(gp.phase)
            gp.step(lambda: F.cross_entropy(model(x), y))
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert set(phases) == {"bp", "gp"}
