"""adagp.wrap with graph=True: recorded passes train what unrecorded ones train."""

from __future__ import annotations

import copy
import functools
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from adagp._impl import graphs  # noqa: E402
from adagp._impl.loss_watch import LossWatch  # noqa: E402
from adagp.errors import DivergedError, UsageError  # noqa: E402
from adagp.predict import wrap  # noqa: E402

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


class Replayed:
    """Stands for graphs.Graph where there is no GPU: replaying does the work again and writes where
    the first time left its results. Unlike a recording, it also does it when it is made."""

    made = 0

    def __init__(self, work, pool):
        Replayed.made += 1
        self.work, self.parameters = work, Replayed.parameters()
        self.result = work()
        self.gradients = [p.grad for p in self.parameters]

    def replay(self):
        for parameter in self.parameters:
            parameter.grad = None
        self.result.copy_(self.work())
        for parameter, written in zip(self.parameters, self.gradients):
            if written is not None:
                written.copy_(parameter.grad)
            parameter.grad = None  # a replay sets no Python attribute


def network():
    """With neither dropout nor norms, which `Replayed` would move twice."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 6, 3), nn.ReLU(), nn.Conv2d(6, 4, 3), nn.Flatten(), nn.Linear(64, 5))


def batches(count, size=8, device="cpu"):
    generator = torch.Generator().manual_seed(1)
    for _ in range(count):
        x = torch.randn(size, 3, 8, 8, generator=generator)
        yield x.to(device), torch.randint(0, 5, (size,), generator=generator).to(device)


def trained(graph, device="cpu", steps=18, make=network, method="adagp", low=False, rate=0.02, stop=None):
    """(controller, model, optimizer, losses); with `stop` the first steps are of another process."""

    def fresh():
        model = make().to(device)
        optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9, weight_decay=1e-3)
        gp = wrap(model, optimizer, "1ep bp, 1:2", epochs=3, steps_per_epoch=steps // 3, method=method, graph=graph)
        return gp, model, optimizer

    gp, model, optimizer = fresh()
    Replayed.parameters = lambda: list(model.parameters())
    losses = []

    def loss_of(x, y):
        with torch.autocast(device, torch.bfloat16, enabled=low):
            return F.cross_entropy(model(x), y)

    for step, (x, y) in enumerate(batches(steps, device=device)):
        if step == stop:
            saved = copy.deepcopy((gp.state_dict(), model.state_dict(), optimizer.state_dict()))
            gp, model, optimizer = fresh()
            for one, state in zip((gp, model, optimizer), saved):
                one.load_state_dict(state)
        if step == steps // 2:
            optimizer.param_groups[0]["lr"] *= 0.5
        losses.append(gp.step(loss_of, inputs=(x, y)))
    return gp, model, optimizer, torch.stack(losses)


@pytest.fixture
def without_gpu(monkeypatch):
    monkeypatch.setattr(graphs, "Graph", Replayed)
    monkeypatch.setattr(graphs, "records_on", lambda device: True)
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: None)
    Replayed.made = 0


def assert_same(one, other):
    assert torch.equal(one[3], other[3])
    for (name, a), b in zip(one[1].state_dict().items(), other[1].state_dict().values()):
        assert torch.equal(a, b), name
    for a, b in zip(one[2].state.values(), other[2].state.values()):
        assert torch.equal(a["momentum_buffer"], b["momentum_buffer"])
    for (name, a), b in zip(one[0].state_dict()["predictor"].items(), other[0].state_dict()["predictor"].values()):
        assert torch.equal(a, b), name


@pytest.mark.parametrize("method", ["adagp", "skip", "zero"])
def test_replays_train_what_steps_train(without_gpu, method):
    expected = trained(False, method=method)
    found = trained(True, method=method)
    # BP batches that teach, GP batches, and BP batches behind the last GP one: each as a graph.
    assert Replayed.made == len(found[0]._graphs) == (2 if method == "adagp" else 1)
    assert_same(expected, found)


def test_a_run_that_goes_on_records_again_and_ends_the_same(without_gpu):
    assert_same(trained(False), trained(True, stop=11))


def wrapped(make=network, **options):
    model = make()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    Replayed.parameters = lambda: list(model.parameters())
    gp = wrap(model, optimizer, "2ep bp, gp", epochs=9, steps_per_epoch=100, graph=True, **options)
    return gp, model


def test_each_shape_and_each_closure_has_its_recording(without_gpu):
    gp, model = wrapped()

    def step(size, factor=1.0):
        x, y = next(batches(1, size))
        return gp.step(lambda x, y: factor * F.cross_entropy(model(x), y), inputs=(x, y))

    for size in (8, 8, 8, 8, 6, 8, 6, 6):
        step(size)
    assert len(gp._graphs) == 2
    loss = step(8)
    assert len(gp._graphs) == 2
    for _ in range(3):  # the number is fixed in a recording
        other = step(8, 100.0)
    assert len(gp._graphs) == 3 and other > 50 * loss


def test_what_a_closure_takes_by_name_is_fixed_in_its_recording(without_gpu):
    gp, model = wrapped()
    x, y = next(batches(1))

    def step(factor):
        return gp.step(lambda x, y, *, factor=factor: factor * F.cross_entropy(model(x), y), inputs=(x, y))

    for _ in range(4):
        loss = step(1.0)
    assert step(100.0) > 50 * loss


def test_a_closure_may_refer_to_a_name_without_a_value(without_gpu):
    gp, model = wrapped()
    x, y = next(batches(1))

    def loss(x, y):
        return F.cross_entropy(model(x), y) if gp.steps < 9 else later

    for _ in range(4):
        gp.step(loss, inputs=(x, y))
    later = loss(x, y)
    assert len(gp._graphs) == 1


def test_frozen_and_moved_weights_are_recorded_anew(without_gpu):
    gp, model = wrapped()
    x, y = next(batches(1))
    loss = lambda x, y: F.cross_entropy(model(x), y)
    for _ in range(4):
        gp.step(loss, inputs=(x, y))
    model[0].requires_grad_(False)
    before = model[0].weight.detach().clone()
    for _ in range(4):
        gp.step(loss, inputs=(x, y))
    assert len(gp._graphs) == 2 and torch.equal(before, model[0].weight)
    model[4].weight.data = model[4].weight.data.clone()
    gp.step(loss, inputs=(x, y))
    assert len(gp._graphs) == 2 and len(gp._graphs._seen) == 3


CHANGES = {
    "frozen weight moved": lambda gp, teacher, tensor: moved(gp.model[0].weight),
    "buffer replaced": lambda gp, teacher, tensor: setattr(gp.model[1], "running_mean", torch.zeros(16)),
    "sparse buffer replaced": lambda gp, teacher, tensor: setattr(gp.model, "links", torch.eye(2).to_sparse()),
    "norm not in training": lambda gp, teacher, tensor: gp.model[1].eval(),
    "teacher's weight moved": lambda gp, teacher, tensor: moved(teacher.weight),
    "teacher not in training": lambda gp, teacher, tensor: teacher.eval(),
    "teacher learns": lambda gp, teacher, tensor: teacher.requires_grad_(True),
    "closure's tensor moved": lambda gp, teacher, tensor: moved(tensor),
    "rows moved": lambda gp, teacher, tensor: setattr(gp._taps, "rows", gp._taps.rows.clone()),
}


def moved(tensor):
    tensor.data = tensor.data.clone()


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_a_replay_would_read_wrongly_is_recorded_anew(without_gpu, change):
    gp, model = wrapped(with_norm)
    model[0].requires_grad_(False)
    model.register_buffer("links", torch.eye(2).to_sparse())
    teacher, tensor = nn.Linear(192, 5).requires_grad_(False), torch.ones(5)
    x, y = next(batches(1))
    loss = lambda x, y: F.cross_entropy(model(x) * tensor + teacher(x.flatten(1)), y)
    for _ in range(4):
        gp.step(loss, inputs=(x, y))
    assert len(gp._graphs) == len(gp._graphs._seen) == 1
    change(gp, teacher, tensor)
    gp.step(loss, inputs=(x, y))
    assert len(gp._graphs) == 1 and len(gp._graphs._seen) == 2


def test_a_partial_is_known_by_what_it_holds(without_gpu):
    gp, model = wrapped()
    x, y = next(batches(1))

    def loss(x, y, times=1.0, plus=0.0):
        return times * F.cross_entropy(model(x), y) + plus

    one, many = torch.tensor(1.0), torch.tensor(100.0)
    kept = [functools.partial(loss, times=one) for _ in range(5)]
    small = [gp.step(closure, inputs=(x, y)) for closure in kept][-1]
    assert len(gp._graphs) == len(gp._graphs._seen) == 1
    assert gp.step(functools.partial(loss, times=many), inputs=(x, y)) > 50 * small
    gp.step(functools.partial(loss, plus=one), inputs=(x, y))
    assert len(gp._graphs) == 1 and len(gp._graphs._seen) == 3


def test_a_learning_parameter_of_another_optimizer_is_refused(without_gpu):
    """A replay would leave it without a gradient, and nothing would say so."""
    model = network()
    optimizer = torch.optim.SGD(list(model.parameters())[:-1], lr=0.02)
    gp = wrap(model, optimizer, "bp", epochs=1, steps_per_epoch=9, graph=True)
    Replayed.parameters = lambda: list(model.parameters())
    x, y = next(batches(1))
    step = lambda: gp.step(lambda x, y: F.cross_entropy(model(x), y), inputs=(x, y))
    with pytest.raises(UsageError, match=r"graph: the optimizer does not own '4\.bias'.*requires_grad_\(False\)"):
        step()
    assert gp.steps == 0
    model[4].bias.requires_grad_(False)
    for _ in range(4):
        step()
    assert len(gp._graphs) == 1


def test_distributed_models_are_refused_also_in_closures(without_gpu):
    gp, model = wrapped()
    other = network()
    distributed = nn.parallel.DistributedDataParallel.__new__(nn.parallel.DistributedDataParallel)
    nn.Module.__init__(distributed)  # without the processes that its own wants
    distributed.module = other
    x, y = next(batches(1))
    with pytest.raises(UsageError, match="graph: a model in DistributedDataParallel"):
        gp.step(lambda x, y: F.cross_entropy(model(x) + distributed.module(x), y), inputs=(x, y))
    with pytest.raises(UsageError, match="graph: a model in DistributedDataParallel"):
        optimizer = torch.optim.SGD(other.parameters(), lr=0.02)
        wrap(distributed, optimizer, "bp", epochs=1, steps_per_epoch=9, graph=True)


@pytest.mark.parametrize(
    "error, said, kind, text",
    [
        (torch.cuda.OutOfMemoryError, "out of memory", torch.cuda.OutOfMemoryError, "^out of memory"),
        (DivergedError, "layer '0'", DivergedError, "^layer '0'"),
        (RuntimeError, "not permitted\nwhen capturing", UsageError, r"as a CUDA graph \(not permitted\)"),
        (RuntimeError, "", UsageError, r"as a CUDA graph \(RuntimeError\)"),
    ],
)
def test_errors_of_a_recording(without_gpu, monkeypatch, error, said, kind, text):
    gp, model = wrapped()
    x, y = next(batches(1))

    def broken(work, pool):
        raise error(said)

    monkeypatch.setattr(graphs, "Graph", broken)
    step = lambda: gp.step(lambda x, y: F.cross_entropy(model(x), y), inputs=(x, y))
    for _ in range(graphs.WARM_UPS):
        step()
    with pytest.raises(kind, match=text):
        step()


def test_a_step_is_over_with_inputs_of_the_cpu(without_gpu, monkeypatch):
    """They may be in pinned memory, which the loop fills with the next batch."""
    gp, model = wrapped()
    x, y = next(batches(1))
    copies, copy_ = [], torch.Tensor.copy_

    def watched(to, value, non_blocking=False):
        copies.append(non_blocking)
        return copy_(to, value, non_blocking)

    monkeypatch.setattr(torch.Tensor, "copy_", watched)
    for _ in range(4):
        gp.step(lambda x, y: F.cross_entropy(model(x), y), inputs=(x, y))
    assert len(gp._graphs) == 1 and copies and not any(copies)


class Elsewhere(torch.Tensor):
    """On the CPU, and says that it is not."""

    device = property(lambda self: torch.device("cuda"))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_losses_are_seen_before_the_next_one_takes_their_place(value):
    watch = LossWatch(lambda: "layer '0'")
    loss = torch.ones(1).as_subclass(Elsewhere)
    for number in (1.0, value, 1.0):
        watch.see(loss.fill_(number), 0, "bp")
    with pytest.raises(DivergedError, match="loss: not finite before step 3; layer '0'"):
        watch.ask(3)
    watch.see(loss, 3, "bp")
    loss.fill_(value)  # nobody has seen it yet
    watch.ask(4)


def test_closures_that_always_differ_are_told_about_once(without_gpu, monkeypatch):
    monkeypatch.setattr(graphs, "MOST", 3)
    gp, model = wrapped()
    x, y = next(batches(1))

    def step(number):
        gp.step(lambda x, y: F.cross_entropy(model(x), y) + 0.0 * len(number), inputs=(x, y))

    different = [[index] for index in range(5)]
    for number in different[:3]:
        step(number)
    with pytest.warns(UserWarning, match=r"the first 3 shapes .* belongs into inputs="):
        step(different[3])
    step(different[4])
    assert not len(gp._graphs) and len(gp._graphs._seen) == 3


def test_a_cpu_records_nothing_and_trains():
    assert_same(trained(False), trained(True))
    assert not len(trained(True)[0]._graphs)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda gp, loss, x: gp.step(lambda: loss(x)), "step: graph=True takes one closure and inputs="),
        (lambda gp, loss, x: gp.step([loss, loss], inputs=(x,)), "step: graph=True takes one closure"),
        (lambda gp, loss, x: gp.step(loss, lambda loss: loss.backward(), inputs=(x,)), "neither backward="),
        (lambda gp, loss, x: gp.step(loss, inputs=x), r"inputs: got Tensor, expected a list"),
        (lambda gp, loss, x: gp.step(loss, inputs=[3]), r"inputs: got list, expected a list of tensors"),
        (lambda gp, loss, x: gp.step(loss, inputs=(x.requires_grad_(),)), r"inputs: .* no gradients; give x.detach"),
    ],
)
def test_what_cannot_be_recorded_is_refused(call, text):
    gp, model = wrapped()
    with pytest.raises(UsageError, match=text):
        call(gp, lambda x: model(x).square().mean(), torch.randn(2, 3, 8, 8))
    assert gp.steps == 0


def test_autocast_around_the_step_is_refused(without_gpu):
    gp, model = wrapped()
    x, y = next(batches(1))
    with torch.autocast("cpu", torch.bfloat16), pytest.raises(UsageError, match="autocast belongs inside"):
        gp.step(lambda x, y: F.cross_entropy(model(x), y), inputs=(x, y))


def test_inputs_reach_closures_that_are_not_recorded():
    model = network()
    gp = wrap(model, torch.optim.SGD(model.parameters(), lr=0.02), "1:1", epochs=1, steps_per_epoch=4)
    x, y = next(batches(1))
    seen = []
    gp.step(lambda *given: (seen.extend(given), F.cross_entropy(model(x), y))[1], inputs=(x, y))
    assert seen[0] is x and seen[1] is y


def with_norm():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True),
        nn.Conv2d(16, 8, 3), nn.Flatten(), nn.Linear(128, 5),
    )  # fmt: skip


@needs_cuda
@pytest.mark.parametrize("low", [False, True])
@pytest.mark.parametrize("method", ["adagp", "zero"])
def test_recorded_equals_unrecorded_on_a_gpu(method, low):
    torch.backends.cudnn.deterministic, before = True, torch.backends.cudnn.deterministic
    try:
        expected = trained(False, "cuda", 36, with_norm, method, low)
        found = trained(True, "cuda", 36, with_norm, method, low)
    finally:
        torch.backends.cudnn.deterministic = before
    # The two BP batches behind the last GP one, from which nothing is learned, only warm up.
    assert len(found[0]._graphs) == (2 if method == "adagp" else 1)
    assert_same(expected, found)  # a recording has the same kernels in the same order


@needs_cuda
def test_a_resumed_recorded_run_is_exact_on_a_gpu():
    torch.backends.cudnn.deterministic, before = True, torch.backends.cudnn.deterministic
    try:
        assert_same(trained(False, "cuda", 36, with_norm), trained(True, "cuda", 36, with_norm, stop=23))
    finally:
        torch.backends.cudnn.deterministic = before


@needs_cuda
def test_a_recorded_schedule_bp_is_the_plain_loop():
    data = list(batches(12, device="cuda"))
    plain = with_norm().cuda()
    optimizer = torch.optim.SGD(plain.parameters(), lr=0.02, momentum=0.9)
    torch.backends.cudnn.deterministic, before = True, torch.backends.cudnn.deterministic
    try:
        for x, y in data:
            optimizer.zero_grad(set_to_none=True)
            F.cross_entropy(plain(x), y).backward()
            optimizer.step()
        model = with_norm().cuda()
        theirs = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
        gp = wrap(model, theirs, "bp", epochs=2, steps_per_epoch=6, graph=True)
        for x, y in data:
            gp.step(lambda x, y: F.cross_entropy(model(x), y), inputs=(x, y))
    finally:
        torch.backends.cudnn.deterministic = before
    assert len(gp._graphs) == 1
    for (name, a), b in zip(plain.state_dict().items(), model.state_dict().values()):
        assert torch.equal(a, b), name


@needs_cuda
def test_dropout_draws_anew_in_each_replay():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.Dropout(0.5), nn.Linear(64, 4)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    gp = wrap(model, optimizer, "bp", epochs=1, steps_per_epoch=8, graph=True)
    x = torch.randn(32, 64, device="cuda")
    losses = [gp.step(lambda x: model(x).square().mean(), inputs=(x,)).item() for _ in range(8)]
    assert len(gp._graphs) == 1 and len(set(losses)) == 8


WAITS = """
import torch
from adagp.errors import UsageError
from adagp.predict import wrap

model = torch.nn.Linear(4, 2).cuda()
gp = wrap(model, torch.optim.SGD(model.parameters(), lr=0.1), "bp", epochs=1, steps_per_epoch=8, graph=True)
x = torch.ones(3, 4).cuda()
for step in range(3):
    try:
        gp.step(lambda x: model(x).square().mean() * (1.0 + 0.0 * model.weight.sum().item()), inputs=(x,))
    except UsageError as error:
        print(step, torch.cuda.current_stream() == torch.cuda.default_stream(), error)
"""


@needs_cuda
def test_a_closure_that_waits_is_refused():
    """In a process of its own: torch is not whole after a broken recording."""
    done = subprocess.run([sys.executable, "-c", WAITS], capture_output=True, text=True)
    assert done.stdout.startswith("2 True closure: it cannot be recorded as a CUDA graph"), done
