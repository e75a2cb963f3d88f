"""Does compare() use a finished run for what it is alone, and refuse what it cannot train at once?"""

import re
import warnings
from functools import partial

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset, WeightedRandomSampler

import adagp
from adagp._impl import lab_setting

pytestmark = pytest.mark.usefixtures("one_thread")


class PixelCosts:
    """Exporting a network takes seconds; these tests ask nothing about costs."""

    def __init__(self, model, example, sides):
        self.full = example.shape[-1]

    def forward(self, side=0):
        return self.backprop(side) / 3

    def backprop(self, side=0):
        return ((side or self.full) / self.full) ** 2

    def batch(self, method, predicted, side, examples):
        return 0.0 if predicted else examples * self.backprop(side)


@pytest.fixture(autouse=True)
def costs_by_pixels(monkeypatch):
    monkeypatch.setattr(lab_setting, "Costs", PixelCosts)


def data(examples=40, seed=1, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 4, (examples,), generator=generator)
    return TensorDataset(torch.randn(examples, 3, 8, 8, generator=generator).to(dtype), labels)


X, Y = data().tensors
TRAIN, TEST = DataLoader(data(), batch_size=10), DataLoader(data(20, 2), batch_size=10)


def network(width=4, classes=4):
    return nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, classes))  # fmt: skip


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.05, momentum=0.9)


def compare(folder, make=network, train=TRAIN, test=TEST, **options):
    chosen = {"epochs": 1, "seeds": 1, "methods": [], "equal": "epochs", "progress": False,
              "optimizer": sgd, "device": "cpu", **options}  # fmt: skip
    return adagp.compare(make, train, test, folder=folder, **chosen)


def weighted(power):
    return lambda outputs, targets: F.cross_entropy(outputs, targets, reduction="none") * power


def by_depth(rate):
    def make(model):
        return torch.optim.SGD([{"params": model[0].parameters(), "lr": rate},
                                {"params": model[5].parameters()}], lr=0.05)  # fmt: skip

    return make


def halved(net):
    with torch.no_grad():
        net[0].weight /= 2
    return net


OTHERS = {
    "network": ({}, {"make": lambda: network().append(nn.Identity())}),
    "first_weights": ({}, {"make": lambda: halved(network())}),
    "train_data": ({}, {"train": DataLoader(data(seed=9), batch_size=10)}),
    "test_data": ({}, {"test": DataLoader(data(20, 9), batch_size=10)}),
    "loss_code": ({"loss": weighted(1.0)}, {"loss": weighted(2.0)}),
    "score_code": ({"score": lambda o, t: (o.argmax(1) == t) * 1.0},
                   {"score": lambda o, t: (o.argmax(1) == t) * 9.0}),
    "parameter_groups": ({"optimizer": by_depth(0.1)}, {"optimizer": by_depth(0.2)}),
    "policy_options.peak": ({"policy": "one-cycle", "settings": {"policy.peak": 0.3}},
                            {"policy": "one-cycle", "settings": {"policy.peak": 0.2}}),
}  # fmt: skip


@pytest.mark.parametrize("key", OTHERS)
def test_a_finished_run_of_something_else_is_refused_by_name(tmp_path, key):
    first, second = OTHERS[key]
    compare(tmp_path, **first)
    compare(tmp_path, **first)
    with pytest.raises(adagp.UsageError, match=rf"another configuration \([^)]*\b{key}\b"):
        compare(tmp_path, **second)


def test_finished_runs_are_named(tmp_path, capfd):
    compare(tmp_path)
    dry = compare(tmp_path, seeds=2, dry_run=True)
    assert [row["finished"] for row in dry.rows] == [True, False]
    assert re.search(r"bp .* 0 .* finished\n", repr(dry)) and "1 of them finished" in repr(dry)
    capfd.readouterr()
    compare(tmp_path, seeds=2, progress=True)
    said = capfd.readouterr().err
    assert "finished before, used again" in said
    assert "run 2 of 2, bp-1ep-b10-seed1; " in said


def test_what_changes_in_every_call_does_not_refuse_a_run(tmp_path):
    class Noisy(TensorDataset):
        def __getitem__(self, index):
            x, y = super().__getitem__(index)
            return x + torch.randn(x.shape, generator=self.own), y

    noisy = Noisy(*data().tensors)
    noisy.own = torch.Generator().manual_seed(0)
    loader = DataLoader(noisy, batch_size=10)
    compare(tmp_path, train=loader)
    compare(tmp_path, train=loader)
    assert adagp.Run(tmp_path / "bp-1ep-b10-seed0").config["train_data"] == "other in every call"


class Scaled(nn.Module):
    """Its text shows neither its scale nor its activation."""

    def __init__(self, scale=1.0):
        super().__init__()
        self.scale, self.net = scale, network()

    def forward(self, x):
        return torch.relu(self.net(x)) * self.scale


class ScaledTanh(Scaled):
    def forward(self, x):
        return torch.tanh(self.net(x)) * self.scale


ScaledTanh.__name__ = ScaledTanh.__qualname__ = "Scaled"


class Power(nn.Module):
    def __init__(self, power):
        super().__init__()
        self.power = power

    def forward(self, outputs, targets):
        return F.cross_entropy(outputs, targets, reduction="none") ** self.power


def smoothed(share):
    return nn.CrossEntropyLoss(reduction="none", label_smoothing=share)


@pytest.mark.parametrize(("key", "first", "second"), [
    ("network", {"make": Scaled}, {"make": lambda: Scaled(2.0)}),
    ("network", {"make": Scaled}, {"make": ScaledTanh}),
    ("loss_code", {"loss": smoothed(0.0)}, {"loss": smoothed(0.3)}),
    ("loss_code", {"loss": Power(1)}, {"loss": Power(2)}),
])  # fmt: skip
def test_what_a_modules_text_does_not_show_is_known(tmp_path, key, first, second):
    compare(tmp_path, **first)
    with pytest.raises(adagp.UsageError, match=rf"another configuration \([^)]*\b{key}\b"):
        compare(tmp_path, **second)


HISTORY: list[float] = []
size = 3


def with_history(outputs, targets):
    losses = F.cross_entropy(outputs, targets, reduction="none")
    HISTORY.append(losses.detach().mean().item())
    return losses


def with_attribute(outputs, targets):
    assert isinstance(outputs, Tensor) and outputs.size()
    return F.cross_entropy(outputs, targets, reduction="none")


@pytest.mark.parametrize(("first", "second"), [
    ({"loss": Power(1)}, {"loss": Power(1)}),
    ({"loss": partial(F.cross_entropy, reduction="none")},) * 2,
    ({"loss": with_history},) * 2,
    ({"loss": with_attribute},) * 2,
])  # fmt: skip
def test_the_same_again_is_used_again(tmp_path, monkeypatch, first, second):
    compare(tmp_path, **first)
    monkeypatch.setitem(globals(), "size", 4)  # outputs.size() does not name this one
    compare(tmp_path, **second)


def in_a_cell(activation, line):
    """A network and a loss as a notebook defines them."""
    cell = f"""class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.out = torch.nn.Linear(192, 4)
    def forward(self, x):
        return self.out(torch.{activation}(x.flatten(1)))

def loss(outputs, targets):
    return cross_entropy(outputs, targets, reduction="none") * (1 if "a" in {{"a", "b"}} else 2)
"""
    names = {"torch": torch, "cross_entropy": F.cross_entropy, "__name__": "__main__"}
    exec(compile("\n" * line + cell, f"<cell {line}>", "exec"), names)
    return {"make": names["Net"], "loss": names["loss"]}


def test_a_cell_that_is_run_again(tmp_path):
    compare(tmp_path, **in_a_cell("relu", 1))
    compare(tmp_path, **in_a_cell("relu", 9))
    with pytest.raises(adagp.UsageError, match=r"another configuration \(network\)"):
        compare(tmp_path, **in_a_cell("tanh", 1))


def test_a_text_with_an_address_is_the_same_in_the_next_process(tmp_path):
    kept = []

    class Printed(Scaled):
        def extra_repr(self):
            kept.append(object())  # so that no address comes twice
            return f"hook={kept[-1]}"

    compare(tmp_path, make=Printed)
    assert adagp.Run(tmp_path / "bp-1ep-b10-seed0").config["network"] != "other in every call"
    compare(tmp_path, make=Printed)


def test_a_sampler_that_leaves_examples_out_is_refused(tmp_path):
    half = DataLoader(data(), batch_size=10, sampler=SubsetRandomSampler(range(20)))
    with pytest.raises(adagp.UsageError, match="SubsetRandomSampler gives 20 of 40 .*Subset"):
        compare(tmp_path, train=half)
    weighted = DataLoader(data(), batch_size=10, sampler=WeightedRandomSampler([1.0] * 40, 40))
    with pytest.warns(UserWarning, match="its sampler WeightedRandomSampler is not used"):
        compare(tmp_path, train=weighted, dry_run=True)


def test_test_images_may_differ_in_size(tmp_path):
    images = [(torch.ones(3, 8, 8 + i), i % 4) for i in range(4)]
    compare(tmp_path, test=DataLoader(images, batch_size=1))
    assert adagp.Run(tmp_path / "bp-1ep-b10-seed0").finished


def test_a_large_loss_from_the_beginning_is_no_divergence(tmp_path):
    prices = DataLoader(TensorDataset(X, 3e5 + X.mean((1, 2, 3))), batch_size=10)
    compare(tmp_path, lambda: network(classes=1), prices, prices,
            score=lambda o, t: -(o[:, 0] - t).abs(),
            loss=lambda o, t: (o[:, 0] - t) ** 2, optimizer=torch.optim.Adam)  # fmt: skip
    assert adagp.Run(tmp_path / "bp-1ep-b10-seed0").finished


@pytest.mark.parametrize("score", [lambda o, t: (o.argmax(1) == t).float().mean() * 100,
                                   lambda o, t: 34.4])  # fmt: skip
def test_a_score_of_the_whole_batch_is_refused(tmp_path, score):
    with pytest.raises(adagp.UsageError, match=r"score: it gave a .*one number for each example"):
        compare(tmp_path, score=score)
    assert not list(tmp_path.glob("*/summary.json"))


def test_an_optimizer_of_the_model(tmp_path):
    rates = []

    def make(model):
        groups = [
            {"params": [p for n, p in model.named_parameters() if "bias" not in n]},
            {"params": [p for n, p in model.named_parameters() if "bias" in n], "lr": 0.01},
        ]
        made = torch.optim.SGD(groups, lr=0.1)
        rates.append([group["lr"] for group in made.param_groups])
        return made  # fmt: skip

    compare(tmp_path, optimizer=make)
    assert rates and all(found == [0.1, 0.01] for found in rates)


class Fixed(nn.Module):
    """Takes images of side 8 alone, as a vision transformer does."""

    def __init__(self):
        super().__init__()
        self.out = nn.Linear(192, 4)

    def forward(self, x):
        assert x.shape[-1] == 8, "Wrong image size"
        return self.out(x.flatten(1))


def test_a_network_of_one_image_size(tmp_path):
    with pytest.raises(adagp.UsageError, match=r"methods: 'progressive': .*side 4.*Wrong image size"):
        compare(tmp_path, Fixed, methods=["progressive"])
    assert not list(tmp_path.iterdir())
    with pytest.warns(UserWarning, match="'progressive' is left out") as said:
        dry = adagp.compare(Fixed, TRAIN, TEST, epochs=1, seeds=1, folder=tmp_path, dry_run=True,
                            progress=False, device="cpu", optimizer=sgd)  # fmt: skip
    assert {row["method"] for row in dry.rows} == {"bp", "stored-loss", "skip"}
    assert sum("left out" in str(w.message) for w in said) == 2


def kept(net):
    net.requires_grad_(False)
    return net


def in_dict():
    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = network()

        def forward(self, x):
            return {"logits": self.net(x)}

    return Named()


def loader_of(*tensors, **options):
    return DataLoader(TensorDataset(*tensors), batch_size=10, **options)


TEXTS = DataLoader([(x, "cat") for x in X], batch_size=10)


@pytest.mark.parametrize(("options", "text"), [
    ({"train": loader_of((X * 9).to(torch.uint8), Y)}, "train_loader: .*torch.uint8"),
    ({"train": loader_of(X.double(), Y)}, "train_loader: .*torch.float64"),
    ({"train": loader_of(X, Y + 3)}, "train_loader: targets: labels 3 to 6, and .* 4 outputs"),
    ({"train": loader_of(X, Y.sort().values + (torch.arange(40) == 39))}, "labels 0 to 4"),
    ({"make": lambda: nn.Sequential(nn.Flatten(), nn.LazyLinear(4))}, "lazy layers"),
    ({"train": TEXTS}, "train_loader: its targets are a tuple"),
    ({"test": loader_of(X, Y + 3)}, "labels 3 to 6"),
    ({"train": loader_of(X, Y, Y)}, r"a list of 3 instead of \(inputs, targets\)"),
    ({"train": loader_of(X[:0], Y[:0])}, "train_loader: its data set has no examples"),
    ({"test": loader_of(X[:0], Y[:0])}, "test_loader: its data set has no examples"),
    ({"train": DataLoader(data(), batch_size=99)}, "batch size is 99.* has 40 examples"),
    ({"make": in_dict}, "the network gives a dict"),
    ({"make": lambda: kept(network())}, "nothing to train"),
    ({"make": lambda: network().to("meta")}, "meta device"),
    ({"make": lambda: 3 / 0}, "model_fn: .*ZeroDivisionError"),
    ({"make": network()}, "model_fn: got a network .Sequential."),
    ({"make": "resnet18"}, "model_fn: got 'resnet18', expected a function"),
    ({"make": lambda net=network(): net}, "the same weights twice"),  # noqa: B008  # that is the mistake
    ({"optimizer": "adam"}, "optimizer: got 'adam'; give a function"),
    ({"optimizer": sgd(network().parameters())}, "optimizer: got a SGD of one network's"),
    ({"optimizer": lambda p: 3}, "optimizer: it returned a int"),
    ({"optimizer": lambda: 3}, "optimizer: calling it failed"),
    ({"loss": "mse"}, "loss: got 'mse', expected a function"),
    ({"score": 3}, "score: got 3, expected a function"),
    ({"loss": lambda o, t: o.nonsense}, "a trial step of method 'bp' failed: AttributeError"),
    ({"epochs": "2"}, "epochs is '2', expected a whole number"),
    ({"seeds": "3"}, "seeds: got '3'"),
    ({"device": "cuda:99"}, "device: 'cuda:99'"),
    ({"methods": 3}, "methods: got 3, expected a name or a list"),
    ({"settings": [1]}, "settings: got .1., expected a dict"),
])  # fmt: skip
@pytest.mark.parametrize("dry_run", [False, True])
def test_what_cannot_be_trained_is_refused_before_the_first_run(tmp_path, options, text, dry_run):
    with pytest.raises(adagp.UsageError, match=text):
        compare(tmp_path, dry_run=dry_run, **options)
    assert not list(tmp_path.iterdir())


def test_torchs_error_is_the_cause(tmp_path):
    with pytest.raises(adagp.UsageError) as error:
        compare(tmp_path, train=loader_of(X.double(), Y))
    assert isinstance(error.value.__cause__, RuntimeError)


def test_no_folder():
    with pytest.raises(adagp.UsageError, match="folder: got None, expected a path"):
        compare(None)


def test_a_file_in_place_of_the_folder(tmp_path):
    (tmp_path / "a").write_text("")
    with pytest.raises(adagp.DataError, match="a: is a file"):
        compare(tmp_path / "a")


def test_a_loss_over_the_limit_is_divergence(tmp_path):
    with pytest.raises(adagp.DivergedError, match="of epoch 1 is .* is divergence"):
        compare(tmp_path, optimizer=lambda p: torch.optim.SGD(p, lr=1e7), policy="constant")
    assert not adagp.Run(tmp_path / "bp-1ep-b10-seed0").finished


def test_nothing_is_written_of_a_network_that_cannot_be_counted(capfd):
    from adagp._impl.lab_costs import Costs

    class Branches(Fixed):
        def forward(self, x):
            return super().forward(x) if x.sum() > 0 else self.out(x.flatten(1))

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        costs = Costs(Branches(), torch.zeros(3, 8, 8), [4])
    assert ["counted by pixels" in str(w.message) for w in said].count(True) == 1
    assert costs.backprop(4) == 0.25
    assert "".join(capfd.readouterr()) == ""
