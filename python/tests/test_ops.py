"""The operators against the reference in plain torch; the CPU runs the kernels' definitions."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
from op_devices import device, needs_cuda  # noqa: E402, F401
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from adagp._impl import reference as ref  # noqa: E402
from adagp._impl.ops import CELLS  # noqa: E402

ops = torch.ops.adagp
PLACES = [ref.Place("a", 0, 6, 27), ref.Place("b", 6, 9, 40), ref.Place("c", 15, 5, 12)]
SHAPES = [(6, 3, 3, 3), (9, 40), (5, 3, 2, 2)]
NO_BYTES = torch.zeros(0, dtype=torch.uint8)  # a CPU needs no workspace


def map_of(x, convolution):
    """Batch, height, width, channels."""
    if convolution:
        return [x.shape[0], x.shape[2], x.shape[3], x.shape[1]]
    return [x.shape[0], x[0, ..., 0].numel(), 1, x.shape[-1]]


def outputs(device, dtype=torch.float32):
    torch.manual_seed(0)
    last = torch.randn(4, 8, 9, 7).to(memory_format=torch.channels_last)
    for x, convolution in (
        (torch.randn(4, 8, 16, 16), True),
        (last, True),
        (torch.randn(4, 8, 3, 3), True),
        (torch.randn(5, 8), False),
        (torch.randn(3, 11, 8), False),
        (torch.randn(2, 3, 5, 8), False),
    ):
        yield x.to(device, dtype), convolution


@pytest.mark.parametrize("dtype, near", [(torch.float32, 1e-5), (torch.bfloat16, 1e-2)])
def test_summaries(device, dtype, near):
    for x, convolution in outputs(device, dtype):
        rows = torch.full((12, 64), 7.0, device=device)
        cells, workspace = rows.new_zeros(12 * CELLS), ops.summary_workspace(rows, 8)
        ops.summarise_(x, rows, cells, workspace, 2, convolution, 1)
        assert (rows == 7).all()
        ops.pool_(cells, rows, [2], map_of(x, convolution))
        expected = ref.summarise(x.float(), convolution)
        torch.testing.assert_close(rows[2:10], expected, rtol=near, atol=near)
        assert (rows[:2] == 7).all() and (rows[10:] == 7).all()
        ops.summarise_(2 * x, rows, cells, workspace, 2, convolution, 2)  # the mean of two uses
        torch.testing.assert_close(rows[2:10], 1.5 * expected, rtol=near, atol=near)


def test_layers_are_pooled_together(device):
    """In the order of the list, each in its own rows."""
    shapes = [(4, 6, 16, 16), (2, 5, 3, 9), (3, 40)]
    torch.manual_seed(2)
    layers = [torch.randn(shape, device=device) for shape in shapes]
    rows = torch.zeros(51, 64, device=device)
    cells, workspace = rows.new_zeros(51 * CELLS), ops.summary_workspace(rows, 40)
    firsts, maps = [45, 40, 0], []
    for x, first in zip(layers, firsts):
        ops.summarise_(x, rows, cells, workspace, first, x.dim() == 4, 1)
        maps += map_of(x, x.dim() == 4)
    ops.pool_(cells, rows, firsts, maps)
    for x, first in zip(layers, firsts):
        expected = ref.summarise(x, x.dim() == 4)
        torch.testing.assert_close(rows[first : first + x.shape[1]], expected, rtol=1e-5, atol=1e-5)


def predictor(device) -> ref.SharedPredictor:
    out = ref.SharedPredictor(PLACES, 3, device, torch.float32)
    torch.manual_seed(1)
    for _ in range(2):
        out.learn(torch.randn(20, 64, device=device), gradients(device))
    return out


def gradients(device):
    return {i: torch.randn(p.filters, p.cols, device=device) * 0.1**i for i, p in enumerate(PLACES)}


def test_features(device):
    p = predictor(device).params
    rows = torch.randn(20, 64, device=device)
    got = ops.features(rows, p["conv.weight"].detach(), p["conv.bias"].detach())
    expected = ref.features(rows, p["conv.weight"], p["conv.bias"]).detach()
    assert got.dtype == torch.bfloat16
    torch.testing.assert_close(got.float(), expected, rtol=1e-2, atol=1e-2)


RULES = {
    "sgd": (0, [0.9, 0.0, 0.0], lambda p: torch.optim.SGD(p, 0.1, 0.9, weight_decay=0.01)),
    "nesterov": (0, [0.9, 1.0, 0.0], lambda p: torch.optim.SGD(p, 0.1, 0.9, weight_decay=0.01, nesterov=True)),
    "adam": (1, [0.9, 0.999, 1e-8], lambda p: torch.optim.Adam(p, 0.1, weight_decay=0.01)),
    "adamw": (2, [0.9, 0.999, 1e-8], lambda p: torch.optim.AdamW(p, 0.1, weight_decay=0.01)),
}


def update_arguments(device, name):
    net = predictor(device)
    rows = torch.randn(20, 64, device=device)
    low = net.params["fc.weight"].detach().bfloat16()
    features = ops.features(rows, net.params["conv.weight"].detach(), net.params["conv.bias"].detach())
    weights = [torch.randn(shape, device=device) for shape in SHAPES]
    weights[0] = weights[0].to(memory_format=torch.channels_last)
    first = [torch.rand_like(w) for w in weights]
    second = [torch.rand_like(w) + 0.1 for w in weights] if "adam" in name else []
    steps = [torch.full((1,), 3.0, device=device) for _ in weights] if "adam" in name else []
    kind, numbers, make = RULES[name]
    rate = torch.tensor([0.1], device=device)
    return (
        features,
        low,
        net.params["fc.bias"].detach(),
        net.scale,
        [0, 1, 2],
        [p.first for p in PLACES],
        weights,
        first,
        second,
        steps,
        rate,
        [0.01] * 3,
        kind,
        numbers,
    ), make


@pytest.mark.parametrize("name", RULES)
def test_update_is_the_optimizers_step_with_the_prediction(device, name):
    arguments, make = update_arguments(device, name)
    features, low, bias, scale, _, firsts, weights, first, second, steps = arguments[:10]
    expected = [nn.Parameter(w.clone(memory_format=torch.preserve_format)) for w in weights]
    optimizer = make(expected)
    for i, w in enumerate(expected):
        keys = ("exp_avg", "exp_avg_sq", "step") if second else ("momentum_buffer",)
        lists = (first, second, [s[0].cpu() for s in steps])
        optimizer.state[w] = {k: v[i].clone(memory_format=torch.preserve_format) for k, v in zip(keys, lists)}
        # Operands are bf16 by definition; the products between are exact.
        guess = features[firsts[i] :][: w.shape[0]].double() @ low[: w[0].numel()].double().t()
        guess = (guess + bias[: w[0].numel()].double()) * scale[i].double()
        w.grad = ref.like_weight(guess.float(), w.detach())
    optimizer.step()
    ops.predict_update_(*arguments)
    for got, want in zip(weights, expected):
        # 0.999 in float32 changes 1 - 0.999^4, and with it a step of 0.1, by 1e-5 of its size.
        torch.testing.assert_close(got, want.detach(), rtol=1e-5, atol=5e-6)
        assert got.stride() == want.stride()
    for got, want in zip(first, expected):
        state = optimizer.state[want]
        torch.testing.assert_close(got, state.get("exp_avg", state.get("momentum_buffer")), rtol=1e-5, atol=1e-6)


def learn_arguments(device, net: ref.SharedPredictor):
    state = net.state_dict()
    names = list(net.params)
    rows, targets = torch.randn(20, 64, device=device), gradients(device)
    features = ops.features(rows, state["param.conv.weight"], state["param.conv.bias"])
    values = [state[f"param.{n}"] for n in names]
    values += [
        values[2].bfloat16(),
        net.mean_square.clone(),
        net.scale.clone(),
        torch.ones(1, dtype=torch.uint8, device=device),
        torch.zeros(1, device=device),
    ]
    moments = [[state[f"optimizer.{kind}.{n}"] for n in names] for kind in ("mean", "square")]
    steps = [state[f"optimizer.step.{n}"].reshape(1).to(device) for n in names]
    arguments = (
        rows,
        features,
        [p.first for p in PLACES],
        list(targets.values()),
        values,
        *moments,
        steps,
        ops.learn_workspace(rows, [p.filters for p in PLACES], [p.cols for p in PLACES], values[3].numel()),
        torch.tensor([ref.RATE], device=device),
        ref.RMS_DECAY,
    )
    return arguments, rows, targets


def test_learning(device):
    net = predictor(device)
    arguments, rows, targets = learn_arguments(device, net)
    ops.predictor_learn_(*arguments)
    before = {name: value.detach().clone() for name, value in net.params.items()}
    loss = net.learn(rows, targets)
    values = arguments[4]
    torch.testing.assert_close(values[8][0], loss, rtol=1e-2, atol=1e-3)
    torch.testing.assert_close(values[6], net.scale, rtol=1e-5, atol=1e-8)
    for value, (name, expected) in zip(values, net.params.items()):
        # bf16 operands can turn the sign of a tiny gradient: a step of Adam either way.
        moved, wanted = value - before[name], expected.detach() - before[name]
        near = (moved - wanted).abs() <= 0.02 * ref.RATE
        assert near.float().mean() > 0.95, name
        assert F.cosine_similarity(moved.flatten(), wanted.flatten(), dim=0) > 0.99, name


def test_opcheck():
    cpu = torch.device("cpu")
    net = predictor(cpu)
    conv = net.params["conv.weight"].detach(), net.params["conv.bias"].detach()
    torch.library.opcheck(ops.features, (torch.randn(20, 64), *conv))
    for x, convolution in outputs(cpu):
        for use in (1, 2):
            arguments = (x, torch.zeros(8, 64), torch.zeros(8 * CELLS), NO_BYTES, 0, convolution, use)
            torch.library.opcheck(ops.summarise_, arguments)
        torch.library.opcheck(ops.pool_, (torch.rand(8 * CELLS), torch.zeros(8, 64), [0], map_of(x, convolution)))
    torch.library.opcheck(ops.learn_workspace, (torch.zeros(20, 64), [6], [27], 40))
    torch.library.opcheck(ops.predict_update_, update_arguments(cpu, "adamw")[0])
    torch.library.opcheck(ops.predictor_learn_, learn_arguments(cpu, net)[0])


def summarised(y, rows, first=0, convolution=True):
    ops.summarise_(y, rows, torch.zeros(rows.shape[0] * CELLS), NO_BYTES, first, convolution, 1)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: summarised(torch.zeros(2, 3, 4, 4), torch.zeros(2, 64)), "rows 0 to 3"),
        (lambda: summarised(torch.zeros(2, 3, 4, 4), torch.zeros(3, 63)), "64"),
        (lambda: summarised(torch.zeros(2, 3, 4), torch.zeros(3, 64)), "3 axes"),
        (lambda: summarised(torch.zeros(2, 3).half(), torch.zeros(3, 64), convolution=False), "bfloat16"),
        (lambda: summarised(torch.zeros(2, 3), torch.zeros(3, 64), -1, False), "rows -1"),
        (lambda: ops.summarise_(torch.zeros(2, 3), torch.zeros(3, 64), torch.zeros(9), NO_BYTES, 0, False, 1), "675"),
        (lambda: ops.pool_(torch.zeros(2 * CELLS), torch.zeros(2, 64), [1], [1, 1, 1, 2]), "layer 0 does not fit"),
        (lambda: ops.pool_(torch.zeros(2 * CELLS), torch.zeros(2, 64), [0], [1, 1, 1]), "four for each"),
        (lambda: ops.features(torch.zeros(2, 64), torch.zeros(15, 9), torch.zeros(16)), "conv_weight"),
    ],
)
def test_wrong_tensors_are_refused(call, text):
    with pytest.raises(RuntimeError, match=text):
        call()


@needs_cuda
def test_operators_in_a_cuda_graph():
    cuda = torch.device("cuda")
    arguments, _ = update_arguments(cuda, "sgd")
    x = torch.randn(4, 6, 16, 16, device=cuda)
    rows = torch.zeros(20, 64, device=cuda)
    cells, workspace = rows.new_zeros(20 * CELLS), ops.summary_workspace(rows, 6)
    net = predictor(cuda)
    conv = [net.params[name].detach() for name in ("conv.weight", "conv.bias")]
    start = [w.clone() for w in arguments[6] + arguments[7]]

    def run():
        ops.summarise_(x, rows, cells, workspace, 0, True, 1)
        ops.pool_(cells, rows, [0], [4, 16, 16, 6])
        ops.predict_update_(ops.features(rows, *conv), *arguments[1:])

    run()
    expected = [w.clone() for w in arguments[6]]
    for w, first in zip(arguments[6] + arguments[7], start):
        w.copy_(first)
    graph = torch.cuda.CUDAGraph()
    stream = torch.cuda.Stream()
    with torch.cuda.graph(graph, stream=stream):
        run()
    graph.replay()
    torch.cuda.synchronize()
    for got, want in zip(arguments[6], expected):
        torch.testing.assert_close(got, want, rtol=0, atol=0)
