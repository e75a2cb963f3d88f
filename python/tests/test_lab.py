"""Does compare() train what a loop by hand trains, go on after Ctrl-C, and say what it cannot do?"""

import json
import warnings

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

import adagp
from adagp import lab
from adagp._impl import lab_costs, lab_setting
from adagp._impl.lab_job import Job
from adagp._impl.lab_run import Training
from adagp._impl.lab_setting import Asked, make_setting

METHODS = ["progressive", "stored-loss", "low-res", "adagp", "skip", "zero"]


def data(examples, seed):
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 4, (examples,), generator=generator)
    means = torch.randn(4, 3, 16, 16, generator=torch.Generator().manual_seed(7))
    noise = torch.randn(examples, 3, 16, 16, generator=generator)
    return TensorDataset(means[labels] + noise, labels)


KNOWN = {}


@pytest.fixture(autouse=True)
def costs_are_counted_once(monkeypatch):
    """Exporting the network takes seconds, and all tests have the same one."""

    def cached(model, example, sides):
        key = (tuple(example.shape), tuple(sorted(sides)))
        if key not in KNOWN:
            KNOWN[key] = lab_costs.Costs(network(), example, sides)
        return KNOWN[key]

    monkeypatch.setattr(lab_setting, "Costs", cached)


TRAIN = DataLoader(data(120, 1), batch_size=20, shuffle=True)
TEST = DataLoader(data(60, 2), batch_size=30)


def network():
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(),
        nn.Conv2d(4, 8, 3, 2, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4),
    )  # fmt: skip


def compare(folder, make=network, **options):
    chosen = {"epochs": 4, "seeds": 2, "methods": METHODS, "progress": False, **options}
    return adagp.compare(make, TRAIN, TEST, folder=folder, **chosen)


def weights(run):
    return {name: value.clone() for name, value in run.weights().items()}


def test_a_table_a_verdict_and_run_folders(tmp_path):
    result = compare(tmp_path)
    frame = result.to_pandas()
    assert set(frame["method"]) == {"bp", *METHODS}
    assert sorted(frame.loc[frame["method"] == "bp", "epochs"]) == [2, 4, 6]
    assert (frame["n"] == 2).all()
    # Equal cost: within half an epoch of what was asked for.
    others = frame.loc[frame["method"] != "bp"]
    assert ((others["cost_mean"] - 4).abs() < 0.6).all()
    assert "backprop" in result.verdict
    assert (tmp_path / "budget.svg").read_text().count("<svg") == 1
    assert json.loads((tmp_path / "budget.json").read_text())["verdict"] == result.verdict
    run = adagp.Run(tmp_path / "bp-4ep-b20-seed0")
    assert run.summary.bp_batches == 24 and run.summary.gp_batches == 0
    assert run.summary.conditions.train_examples == 120
    assert [r["kind"] for r in run.records] == ["train", "epoch"] * 4
    assert run.config["origin"] == "python"
    skip = adagp.runs(tmp_path).where(lambda r: r.summary.method == "skip")[0].summary
    assert skip.gp_batches > 0 and skip.bp_batches + skip.gp_batches == 6 * skip.epochs
    network().load_state_dict(run.weights())


def test_finished_runs_are_used_again(tmp_path):
    compare(tmp_path)
    before = {at: at.stat().st_mtime_ns for at in tmp_path.glob("*/*")}
    compare(tmp_path)
    assert {at: at.stat().st_mtime_ns for at in tmp_path.glob("*/*")} == before


def test_bp_is_a_loop_by_hand(tmp_path):
    """Bit for bit: the same network, batches, rates and steps."""
    compare(tmp_path, methods=[], seeds=[3])
    torch.manual_seed(3 * 1_000_003)
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4, nesterov=True)
    plan = adagp.Plan("bp", TRAIN.dataset, batch_size=20, epochs=4, seed=3)
    for _ in range(4):
        for batch in plan:
            plan.begin_batch()
            x, y = (torch.stack([TRAIN.dataset[i][part] for i in batch]) for part in (0, 1))
            loss = nn.functional.cross_entropy(model(x), y, reduction="none").mean()
            optimizer.zero_grad()
            loss.backward()
            plan.set_rate(optimizer, 0.1, "triangle")
            optimizer.step()
    found = adagp.Run(tmp_path / "bp-4ep-b20-seed3").weights()
    for name, value in model.state_dict().items():
        assert torch.equal(found[name], value), name


class Stops(nn.Module):
    """A network at whose 60th forward pass the user presses Ctrl-C."""

    left = 60

    def __init__(self):
        super().__init__()
        self.net = network()

    def forward(self, x):
        Stops.left -= 1
        if Stops.left == 0:
            raise KeyboardInterrupt
        return self.net(x)


def test_ctrl_c_leaves_a_folder_that_goes_on(tmp_path):
    Stops.left = 10**9
    compare(tmp_path / "whole", Stops, seeds=1)
    interrupted = 0
    Stops.left = 60
    while True:
        try:
            compare(tmp_path / "parts", Stops, seeds=1)
            break
        except KeyboardInterrupt:
            interrupted += 1
            Stops.left = 60
    assert interrupted >= 3
    for run in adagp.runs(tmp_path / "whole"):
        again = adagp.Run(tmp_path / "parts" / run.path.name)
        ours, theirs = weights(run), weights(again)
        assert all(torch.equal(ours[name], theirs[name]) for name in ours), run.path.name
        assert again.summary.cost_epochs == run.summary.cost_epochs
        assert [r["epoch"] for r in again.records] == [r["epoch"] for r in run.records]


def test_a_predicting_method_brings_its_controls():
    assert lab._with_controls(["adagp"]) == ["bp", "adagp", "skip", "zero"]
    assert lab._with_controls(["stored-loss"]) == ["bp", "stored-loss"]


def test_equal_epochs_is_the_programs_comparison(tmp_path):
    result = compare(tmp_path, methods=["skip", "stored-loss"], equal="epochs", seeds=3)
    assert [row.method for row in result.table.methods] == ["bp", "skip", "stored-loss"]
    assert all(row.n == 3 for row in result.table.methods)
    assert (tmp_path / "compare.md").exists()
    # Seconds of a busy machine show beside those of the processor.
    epochs = [r for run in adagp.runs(tmp_path) for r in run.records if r["kind"] == "epoch"]
    assert all(r["processor_seconds"] > 0 for r in epochs)


def test_a_dry_run_writes_nothing(tmp_path):
    result = compare(tmp_path / "none", dry_run=True)
    assert not (tmp_path / "none").exists()
    assert len(result.rows) == 2 * (3 + len(METHODS)) and result.seconds > 0
    assert "runs, about" in repr(result)


def test_costs_are_those_of_the_layer_table():
    costs = lab_costs.Costs(network(), torch.zeros(3, 16, 16), [8])
    macs = [row.macs for row in adagp.layers(network(), (3, 16, 16)) if row.macs > 0]
    assert macs == [27 * 4 * 256, 36 * 8 * 64, 32]
    assert costs.forward() == pytest.approx(sum(macs) / (3 * sum(macs) - macs[0]))
    assert 0.24 < costs.backprop(8) < 0.26


def test_a_prediction_is_counted():
    costs = lab_costs.Costs(network(), torch.zeros(3, 16, 16), [])
    before = costs.batch("adagp", True, 0, 20)
    made = lab_setting.sgd(network().parameters())
    model = network()
    macs = lab_setting.predictor_macs(model, lab_setting.sgd(model.parameters()))
    # Two convolutions and a linear layer: filters x (convolution of the summary + features x columns).
    expected = sum(n * (16 * 9 * 64 + 256 * cols) for n, cols in ((4, 27), (8, 36), (4, 8)))
    assert macs == expected and made.defaults["lr"] == 0.1
    costs.add_predictor(macs)
    whole = 3 * (27 * 4 * 256 + 36 * 8 * 64 + 32) - 27 * 4 * 256
    assert costs.batch("adagp", True, 0, 20) == pytest.approx(before + macs / whole)
    assert costs.batch("adagp", False, 0, 20) == pytest.approx(20 + 3 * macs / whole)
    assert costs.batch("skip", True, 0, 20) == 0


def test_low_res_keeps_the_statistics_of_norms():
    setting = make_setting(Asked(network, TRAIN, TEST, ["bp", "low-res"], [0], policy="constant", schedule="1:1"))
    training = Training(setting, Job("low-res", 4, 0, 20))
    norm = training.model[1]
    before = norm.running_mean.clone()
    training.plan.begin_batch(0)
    assert training.plan.image_side == 8
    count = training.plan._counts[0]
    training.one_batch(torch.randn(count, 3, 8, 8), torch.zeros(count, dtype=torch.int64))
    assert torch.equal(norm.running_mean, before) and norm.momentum == 0.1
    position = next(i for i in range(6) if training.plan._plan.shape(0, i)[0] == 0)
    training.plan.begin_batch(position)
    count = training.plan._counts[position]
    training.one_batch(torch.randn(count, 3, 16, 16), torch.zeros(count, dtype=torch.int64))
    assert not torch.equal(norm.running_mean, before)


def test_a_cycle_longer_than_an_epoch_is_told_once_and_at_the_call(tmp_path):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        compare(tmp_path, methods="adagp", schedule="1ep bp, 8:1", equal="epochs", dry_run=True)
    told = [w for w in said if "3 of 4 epochs have no BP batch" in str(w.message)]
    assert [w.filename for w in told] == [__file__]


def test_a_length_of_equal_cost():
    assert lab_costs.equal_cost_epochs(lambda n: 0.6 * n, 15) == 25
    assert lab_costs.equal_cost_epochs(lambda n: 3.0 * n, 2) == 1
    assert lab_costs.equal_cost_epochs(lambda n: float(n), 1) == 1


class Endless(IterableDataset):
    def __iter__(self):
        yield torch.zeros(3, 16, 16), 0


def nan_loss(outputs, targets):
    return nn.functional.cross_entropy(outputs, targets, reduction="none") * float("nan")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"methods": ["stored-los"]}, "'stored-loss'"),
        ({"methods": ["low-res", "progressive+stored-loss+infobatch"]}, "two rules"),
        ({"epochs": 0}, "epochs is 0, expected 1 or more"),
        ({"seeds": [1, 1]}, "different seeds"),
        ({"equal": "time"}, "'cost' or 'epochs'"),
        ({"policy": "cosin"}, "cosine"),
        ({"policy": "plateau"}, "plateau"),
        ({"settings": {"policy.peek": 0.2}}, "policy.peak"),
        (
            {"settings": {"policy.patience": 3}},
            "'triangle' does not read policy.patience.*plateau; it reads policy.peak",
        ),
        ({"settings": {"policy.watch": "train"}}, "'triangle' does not read policy.watch"),
        (
            {"policy": "cosine", "settings": {"policy.peak": 0.2}},
            "triangle, one-cycle; it reads policy.floor, policy.warmup",
        ),
        ({"settings": {"optim.lr": 0.5}}, "no plan reads optim.lr"),
        ({"methods": "stored-los"}, "'stored-loss'"),
        ({"precision": "fp16"}, "precision"),
        ({"make": lambda: 3}, "model_fn"),
        ({"loss": lambda outputs, targets: outputs.mean()}, "one number for each example"),
        ({"settings": {"stored_loss.powr": 2}}, "stored_loss.power"),
    ],
)
def test_bad_input_names_the_argument(tmp_path, options, text):
    with pytest.raises(adagp.UsageError, match=text):
        compare(tmp_path, **options)


def test_an_iterable_data_set_is_refused(tmp_path):
    loader = DataLoader(Endless(), batch_size=2)
    with pytest.raises(adagp.UsageError, match="Endless is an iterable one"):
        adagp.compare(network, loader, TEST, epochs=1, folder=tmp_path)


def test_a_nan_loss_ends_the_run_and_the_folder_is_not_finished(tmp_path):
    with pytest.raises(adagp.DivergedError, match="bp-2ep-b20-seed0: the training loss"):
        compare(tmp_path, loss=nan_loss)
    assert not adagp.Run(tmp_path / "bp-2ep-b20-seed0").finished


def test_another_setting_in_the_same_folder_is_refused(tmp_path):
    compare(tmp_path, methods=[], seeds=1)
    with pytest.raises(adagp.UsageError, match="another configuration"):
        compare(tmp_path, methods=[], seeds=1, policy="cosine")
    other = DataLoader(data(100, 1), batch_size=20)
    with pytest.raises(adagp.UsageError, match="train_examples"):
        adagp.compare(network, other, TEST, epochs=4, seeds=1, methods=[], folder=tmp_path)


def test_a_constant_rate_may_have_a_warm_up(tmp_path):
    options = {"methods": [], "seeds": 1, "policy": "constant", "equal": "epochs"}
    rates = []
    for settings in ({}, {"policy.warmup": "2ep"}):
        result = compare(tmp_path / str(len(rates)), settings=settings, **options)
        rates.append([r["lr"] for r in result.runs[0].records if r["kind"] == "train"])
    base, warmed = rates
    assert len(set(base)) == 1 and warmed[0] < warmed[-1] == base[0]


def test_jobs_take_turns_over_the_seeds():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        setting = make_setting(Asked(network, TRAIN, TEST, ["bp", "skip"], [0, 1]))
    jobs = lab._jobs(setting, ["bp", "skip"], 4, [0, 1], "epochs")
    assert jobs == [Job("bp", 4, 0, 20), Job("skip", 4, 0, 20), Job("bp", 4, 1, 20),
                    Job("skip", 4, 1, 20)]  # fmt: skip
