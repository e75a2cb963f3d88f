"""Do plans choose the engine's examples, and does a loop with them see what was planned?"""

import json
import os
import pickle
import re
import subprocess
import warnings

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import adagp

BATCH, EXAMPLES, SIDE = 8, 100, 16


def images(examples=EXAMPLES):
    generator = torch.Generator().manual_seed(1)
    x = torch.rand(examples, 3, SIDE, SIDE, generator=generator)
    return TensorDataset(x, torch.arange(examples) % 4, torch.arange(examples))


def plan_of(method="progressive+stored-loss", epochs=8, **options):
    return adagp.Plan(method, images(), batch_size=BATCH, epochs=epochs, seed=3, **options)


def losses_of(numbers):
    return (numbers.float() * 37) % 101 / 10


def run(plan, workers=0, persistent=False, stop=None):
    """Index lists, sides and rates of every batch, seen through a loader."""
    seen = []
    loader = DataLoader(images(), batch_sampler=plan, num_workers=workers, persistent_workers=persistent)
    for x, _, numbers in plan.batches(loader):
        plan.loss(losses_of(numbers))
        seen.append((plan.epoch, plan.position, x.shape[-1], plan.rate_factor, numbers.tolist()))
        if stop is not None and len(seen) == stop:
            break
    return seen


def program():
    found = os.environ.get("ADAGP_PROGRAM")
    if not found:
        pytest.skip("ADAGP_PROGRAM does not name a full build")
    return found


@pytest.mark.parametrize(
    "method", ["bp", "progressive", "low-res", "stored-loss", "infobatch", "progressive+stored-loss"]
)
def test_the_examples_are_the_engines(method, tmp_path):
    losses = losses_of(torch.arange(EXAMPLES)).tolist()
    (tmp_path / "losses").write_text("".join(f"{x!r}\n" for x in losses))
    rule = "stored-loss" in method or method == "infobatch"
    command = [program(), "train", "--data", "synthetic", "--set", f"data.limit={EXAMPLES}",
               "--model", "vgg8s", "--method", method, "--epochs", "9", "--batch", str(BATCH),
               "--seed", "5", "--dry-run", "--indices"]  # fmt: skip
    command += ["--losses", str(tmp_path / "losses")] if rule else []
    printed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert printed.returncode == 0, printed.stderr
    engine = [json.loads(line) for line in printed.stdout.splitlines()]
    assert {line["epoch"] for line in engine} == set(range(9))

    plan = adagp.Plan(method, EXAMPLES, batch_size=BATCH, epochs=9, seed=5, side=32)
    if plan._losses:
        plan._losses._table.copy_(torch.tensor(losses))
    ours = []
    for epoch in range(9):
        plan.set_epoch(epoch)
        for position, batch in enumerate(plan):
            plan.begin_batch(position)
            plan.loss(torch.tensor(losses)[batch])
            ours.append({"epoch": epoch, "batch": position, "side": plan.image_side,
                         "rate": plan.rate_factor, "progress": plan.progress,
                         "examples": batch})  # fmt: skip
    assert ours == engine


@pytest.mark.parametrize(("workers", "persistent"), [(0, False), (2, False), (2, True)])
def test_workers_change_nothing(workers, persistent):
    alone = run(plan_of())
    assert run(plan_of(), workers, persistent) == alone
    # Epochs have different lengths, sizes of images and of batches.
    assert len({side for _, _, side, _, _ in alone}) == 3
    assert len({len(batch) for *_, batch in alone}) > 1
    lengths = [sum(len(b) for e, *_, b in alone if e == epoch) for epoch in range(8)]
    assert lengths[0] > 1.3 * lengths[3]


def test_losses_decide_the_next_epoch():
    plan = plan_of("stored-loss")
    seen = run(plan)
    kept = np.zeros(EXAMPLES)
    for epoch, *_, batch in seen:
        if 1 <= epoch < 7:
            kept[batch] += 1
    losses = losses_of(torch.arange(EXAMPLES)).numpy()
    large, small = losses > np.median(losses), losses <= np.median(losses)
    assert kept[large].mean() > 2 * kept[small].mean()


def test_mid_epoch_state_is_exact():
    whole = run(plan_of())
    for stop in (1, 5, 12, 13, 20):
        plan = plan_of()
        first = run(plan, stop=stop)
        state = torch.tensor([0])
        state = plan.state_dict()
        again = plan_of()
        again.load_state_dict(state)
        assert first + run(again, workers=2) == whole, stop


def test_a_state_of_other_data_is_refused():
    plan = plan_of()
    run(plan, stop=3)
    other = adagp.Plan(plan.method, 90, batch_size=BATCH, epochs=8, seed=3, side=SIDE)
    with pytest.raises(adagp.DataError, match="100 stored losses, and the data set has 90"):
        other.load_state_dict(plan.state_dict())


def test_a_state_of_another_plan_is_refused():
    plan = plan_of()
    run(plan, stop=3)
    other = adagp.Plan("progressive+stored-loss", images(), batch_size=BATCH, epochs=8, seed=4)
    with pytest.raises(adagp.DataError, match="seed 3, and this plan has 4"):
        other.load_state_dict(plan.state_dict())


def test_losses_of_several_processes_need_a_group():
    plan = adagp.Plan("stored-loss", 40, batch_size=8, epochs=3, rank=0, world=2)
    for batch in plan:
        plan.begin_batch()
        plan.loss(torch.ones(len(batch)))
    with pytest.raises(adagp.UsageError, match="torch.distributed is not initialized"):
        plan.next_epoch()


def test_weights_of_infobatch_keep_the_expected_gradient():
    plan = plan_of("infobatch")
    loader = DataLoader(images(), batch_sampler=plan)
    weighted = plain = 0.0
    for _, _, numbers in plan.batches(loader):
        losses = losses_of(numbers)
        loss = plan.loss(losses)
        if 1 <= plan.epoch < 7:
            weighted += float(loss) * len(losses)
            plain += float(losses.sum())
    assert weighted > 1.05 * plain
    whole = 6 * float(losses_of(torch.arange(EXAMPLES)).sum())
    assert weighted == pytest.approx(whole, rel=0.12)


def test_two_processes_have_each_example_once():
    one = [batch for batch in plan_of("bp", epochs=1)]
    parts = [list(plan_of("bp", epochs=1, rank=r, world=2)) for r in (0, 1)]
    assert [a + b for a, b in zip(*parts, strict=True)] == one


def test_loss_is_the_mean_over_all_processes():
    losses = losses_of(torch.arange(BATCH))
    expected = losses.mean()
    found = 0.0
    for rank in range(3):  # 8 examples do not divide by 3
        plan = adagp.Plan("bp", 40, batch_size=BATCH, epochs=1, rank=rank, world=3)
        first, last = BATCH * rank // 3, BATCH * (rank + 1) // 3
        found += float(plan.loss(losses[first:last])) / 3
    assert found == pytest.approx(float(expected))


def test_rates_are_the_engines_policies():
    plan = adagp.Plan("bp", 64, batch_size=8, epochs=4)
    weight = torch.nn.Parameter(torch.zeros(1))
    ours = torch.optim.SGD([weight], lr=0.5)
    theirs = torch.optim.SGD([weight], lr=0.5)
    torchs = torch.optim.lr_scheduler.OneCycleLR(theirs, 0.5, total_steps=32, cycle_momentum=False)
    for _ in range(4):
        for position, _ in enumerate(plan):
            plan.begin_batch(position)
            plan.set_rate(ours, 0.5, "one-cycle", peak=0.3)
            assert ours.param_groups[0]["lr"] == pytest.approx(theirs.param_groups[0]["lr"])
            theirs.step()
            torchs.step()
    assert plan.finished


def test_an_option_of_another_policy_is_refused():
    plan = adagp.Plan("bp", 64, batch_size=8, epochs=4)
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.5)
    plan.begin_batch()
    with pytest.raises(adagp.UsageError, match="'one-cycle' does not read policy.patience"):
        plan.set_rate(optimizer, patience=3)


def test_a_rate_of_every_group_has_its_own_base():
    plan = adagp.Plan("bp", 64, batch_size=8, epochs=4)
    groups = [{"params": [torch.nn.Parameter(torch.zeros(1))], "lr": lr} for lr in (0.1, 0.4)]
    optimizer = torch.optim.SGD(groups)
    plan.begin_batch()
    plan.set_rate(optimizer, policy="one-cycle")
    plan.begin_batch()
    plan.set_rate(optimizer, policy="one-cycle")
    low, high = (group["lr"] for group in optimizer.param_groups)
    assert high == pytest.approx(4 * low)


def test_a_loop_without_helpers_advances_by_itself():
    plan = plan_of("progressive", epochs=4)
    loader = DataLoader(images(), batch_sampler=plan)
    sides = []
    for _ in range(4):
        for x, _, _ in loader:
            sides.append(plan.shrink(x).shape[-1])
    assert sorted(set(sides)) == [8, 12, 16]
    assert sides[0] == 8 and sides[-1] == 16 and plan.finished
    with pytest.raises(adagp.UsageError, match="all of them are done"):
        next(iter(loader))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: adagp.Plan("adagp", 100, batch_size=8, epochs=2), "unknown plan 'adagp'"),
        (lambda: adagp.Plan("stored-los", 100, batch_size=8, epochs=2), "'stored-loss'"),
        (lambda: adagp.Plan("bp", 4, batch_size=8, epochs=2), "data set has 4"),
        (lambda: adagp.Plan("bp", iter([]), batch_size=8, epochs=2), "has no length"),
        (lambda: adagp.Plan("bp", 100, batch_size=8, epochs=2, rank=2, world=2), "rank: 2"),
        (lambda: adagp.Plan("progressive", 100, batch_size=8, epochs=2), "square images"),
        (lambda: plan_of(settings={"stored_loss.powr": 1}), "stored_loss.power"),
        (lambda: plan_of(settings={"stored_loss.power": object()}), "is a object"),
        (lambda: plan_of().set_epoch(99), "expected 0 to 7"),
        (lambda: adagp.Plan("bp", 100, batch_size="32", epochs=2), "batch_size is '32'"),
        (lambda: adagp.Plan("bp", 100, batch_size=8, epochs=2.0), "epochs is 2.0"),
        (lambda: adagp.Plan(3, 100, batch_size=8, epochs=2), "method is 3, expected a text"),
        (lambda: plan_of().loss(torch.tensor(1.0)), "one loss for each example"),
        (lambda: plan_of().loss(torch.ones(3)), r"shape \(3,\)"),
        (lambda: next(plan_of().batches([1])), "batch_sampler=plan"),
    ],
)
def test_bad_input_names_the_argument(make, text):
    with pytest.raises(adagp.UsageError, match=text):
        make()


@pytest.mark.parametrize("method", ["stored-loss", "infobatch", "progressive+stored-loss"])
def test_a_forgotten_loss_is_refused_when_the_first_epoch_is_over(method):
    plan = plan_of(method)
    loader = DataLoader(images(), batch_sampler=plan)
    with pytest.raises(adagp.UsageError, match=r"epoch 0 is over, and plan.loss\(\) was not called"):
        for _ in plan.batches(loader):
            assert plan.epoch == 0
    plan = plan_of(method)
    loader = DataLoader(images(), batch_sampler=plan)
    list(loader)
    with pytest.raises(adagp.UsageError, match=r"plan.loss\(\) was not called"):
        list(loader)


def test_forgotten_small_images_are_refused_when_the_first_epoch_is_over():
    plan = plan_of("progressive")
    loader = DataLoader(images(), batch_sampler=plan)
    for _, _, numbers in loader:
        plan.loss(losses_of(numbers))
    with pytest.raises(adagp.UsageError, match="images of side 8 there.*plan.shrink"):
        next(iter(loader))
    plan = plan_of("progressive")
    for _ in range(2):  # a loop that makes images smaller in its own way
        for _, _, numbers in DataLoader(images(), batch_sampler=plan):
            plan.loss(losses_of(numbers))
            assert plan.image_side == 8
    assert plan.epoch == 1


@pytest.mark.parametrize("workers", [0, 1])
def test_a_forgotten_loss_is_refused_when_the_last_epoch_is_over(workers):
    plan = plan_of("stored-loss", epochs=1)
    loader = DataLoader(images(), batch_sampler=plan, num_workers=workers)
    with (
        warnings.catch_warnings(record=True) as found,
        pytest.raises(adagp.UsageError, match=r"epoch 0 is over, and plan.loss\(\) was not called"),
    ):
        list(plan.batches(loader))
    assert not found  # it is said once


def test_a_loop_without_helpers_is_looked_at_when_the_last_epoch_is_over():
    plan = plan_of("progressive+stored-loss", epochs=1)
    with pytest.raises(adagp.UsageError, match=r"plan.loss\(\) was not called"):
        for x, _, _ in DataLoader(images(), batch_sampler=plan):
            plan.shrink(x)
    assert plan.finished


def loop(plan, workers, *, images_smaller, losses, most=None):
    """A loop of one epoch without `batches`."""
    for i, (x, _, numbers) in enumerate(DataLoader(images(), batch_sampler=plan, num_workers=workers)):
        if i == most:
            return
        if images_smaller:
            plan.shrink(x)
        if losses:
            plan.loss(losses_of(numbers))


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(
    ("method", "images_smaller", "losses", "text"),
    [
        ("stored-loss", False, False, r"plan.loss\(\) was not called"),
        ("progressive+stored-loss", True, False, r"plan.loss\(\) was not called"),
        ("low-res", False, False, "images were not made smaller"),
        ("low-res+stored-loss", False, True, "images were not made smaller"),
    ],
)
def test_what_a_loop_of_one_epoch_forgets_is_said(method, images_smaller, losses, text, workers):
    """An error where the loop's end can be told, else a warning."""
    plan = plan_of(method, epochs=1, schedule="1:1")
    said = warnings.catch_warnings(record=True)
    refused = ""
    with said as found:
        warnings.simplefilter("always")
        try:
            loop(plan, workers, images_smaller=images_smaller, losses=losses)
        except adagp.UsageError as error:
            refused = str(error)
    told = [str(w.message) for w in found if "the last one, was given out" in str(w.message)]
    assert bool(refused) + len(told) == 1  # once, in one way
    assert re.search(text, refused or told[0])


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(
    ("method", "images_smaller", "losses", "most"),
    [
        ("bp", False, False, None),
        ("stored-loss", False, True, None),
        ("low-res", True, False, None),
        ("low-res+stored-loss", True, True, None),
        ("stored-loss", True, False, 10),  # broken off
    ],
)
def test_nothing_is_said_where_nothing_is_forgotten(method, images_smaller, losses, most, workers):
    plan = plan_of(method, epochs=1, schedule="1:1")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        loop(plan, workers, images_smaller=images_smaller, losses=losses, most=most)
    assert not [w for w in found if "given out" in str(w.message)]


def test_nothing_is_refused_after_a_restart_between_epochs():
    plan = plan_of("stored-loss")
    run(plan, stop=len(plan))
    again = plan_of("stored-loss")
    again.load_state_dict(plan.state_dict())
    again.next_epoch()
    assert again.epoch == 1


@pytest.mark.parametrize(("value", "error", "text"), [
    (float("nan"), adagp.DivergedError, "1 of 100 examples have a loss that is not finite"),
    (float("inf"), adagp.DivergedError, r"\(example \d+: inf\)"),
    (-0.5, adagp.UsageError, "has the loss -0.5; .*losses of 0 or more"),
])  # fmt: skip
def test_losses_that_cannot_be_chosen_by_are_refused(value, error, text):
    plan = plan_of("stored-loss", epochs=3)
    for position, batch in enumerate(plan):
        plan.begin_batch()
        losses = torch.ones(len(batch))
        losses[0] = value if position == 3 else 1.0
        plan.loss(losses)
    with pytest.raises(error, match=text):
        plan.next_epoch()


@pytest.mark.parametrize(("value", "error"), [(float("nan"), adagp.DivergedError),
                                              (-0.5, adagp.UsageError)])  # fmt: skip
def test_losses_of_the_last_epoch_are_refused_with_its_last_batch(value, error):
    plan = plan_of("stored-loss", epochs=2)
    for batch in plan:
        plan.loss(torch.ones(len(batch)))
    *first, last = plan
    for batch in first:
        losses = torch.ones(len(batch))
        losses[0] = value
        plan.loss(losses)
    with pytest.raises(error, match="example"):
        plan.loss(torch.ones(len(last)))


@pytest.mark.parametrize("world", [1, 3])
@pytest.mark.parametrize("method", ["bp", "low-res", "progressive", "progressive+stored-loss",
                                    "low-res+stored-loss"])  # fmt: skip
def test_shapes_are_those_that_come(method, world):
    """Of sets that are not tiny; the second has a cycle of more than 50 batches."""
    for examples, schedule in ((1000, "auto"), (1000, "60:1")):
        plan = adagp.Plan(method, examples, batch_size=8, epochs=5, side=32, schedule=schedule,
                          rank=world - 1, world=world)  # fmt: skip
        found = set()
        for epoch in range(5):
            known = torch.linspace(0, 1, examples).numpy() if plan.by_loss else None
            plan._lay_out(epoch, known)
            for position in range(len(plan._counts)):
                begin, end = plan._mine(position)
                found.add((plan._plan.shape(epoch, position)[0], end - begin))
        assert set(plan.shapes()) == found


def test_shapes_of_a_tiny_set_are_the_most_that_comes():
    with pytest.warns(UserWarning, match="epoch of images of side 8 is one batch of all 70"):
        plan = adagp.Plan("progressive+stored-loss", 70, batch_size=20, epochs=6, side=16, seed=1)
    most = dict(plan.shapes())
    assert most[8] == 70 and most[0] == 20
    for epoch in range(6):
        plan._lay_out(epoch, torch.linspace(0, 1, 70).numpy())
        for position, count in enumerate(plan._counts):
            assert count <= most[plan._plan.shape(epoch, position)[0]]


def test_norms_keep_their_statistics_on_small_images():
    plan = plan_of("low-res", schedule="1:1")
    norm = torch.nn.BatchNorm2d(3)
    moved = {}
    for position in range(2):
        plan.begin_batch(position)
        before = norm.running_mean.clone()
        with plan.norms(norm):
            norm(torch.rand(8, 3, 8, 8) + position)
        moved[plan.image_side] = not torch.equal(before, norm.running_mean)
    assert moved == {8: False, 0: True} and norm.momentum == 0.1


def test_keeping_norms_does_not_make_images_smaller():
    plan = plan_of("low-res", schedule="1:1")
    for _ in plan:
        plan.begin_batch()
        with plan.norms(torch.nn.BatchNorm2d(3)):
            pass
    with pytest.raises(adagp.UsageError, match="its images were not made smaller"):
        plan.next_epoch()


@pytest.mark.parametrize("stop", [5, 7])
def test_naming_the_epoch_after_a_restart_keeps_the_position(stop):
    whole = run(plan_of("bp", epochs=2))
    assert whole[11][0] == 0 and whole[12][0] == 1
    plan = plan_of("bp", epochs=2)
    run(plan, stop=stop)
    again = plan_of("bp", epochs=2)
    again.load_state_dict(plan.state_dict())
    assert (len(again), again.taken, again.epoch_done) == (12, stop, False)
    again.set_epoch(0)
    assert [w[4] for w in whole[stop:12]] == list(again)
    again.set_epoch(1)
    assert (len(again), again.taken) == (12, 0)


def test_the_state_after_an_epochs_last_batch_begins_the_next():
    whole = run(plan_of())
    last = sum(1 for epoch, *_ in whole if epoch < 3)
    plan = plan_of()
    run(plan, stop=last)
    again = plan_of()
    again.load_state_dict(plan.state_dict())
    assert again.epoch_done and again.epoch == 2 and not again.finished
    again.auto_advance = False
    assert list(again) == []
    again.auto_advance = True
    assert run(again) == whole[last:]


def test_a_loader_that_was_not_used_takes_no_epoch():
    plan = adagp.Plan("bp", images(), batch_size=40, epochs=2)
    loader = DataLoader(images(), batch_sampler=plan, num_workers=2)
    unused = iter(loader)  # its workers have all index lists of the short epoch
    plan.set_epoch(0)
    assert [batch[2].tolist() for batch in loader] == list(adagp.Plan("bp", images(), batch_size=40, epochs=2))
    assert plan.epoch == 0
    del unused


def test_split_says_later_which_process_this_is():
    for rank in (0, 1):
        plan = plan_of()
        assert len(plan) > 0
        plan.split(rank, 2)
        assert list(plan) == list(plan_of(rank=rank, world=2))
        plan.begin_batch(0)
        plan.split(rank, 2)  # nothing new
        with pytest.raises(adagp.UsageError, match="split: the plan has begun"):
            plan.split(0, 1)
    with pytest.raises(adagp.UsageError, match="batch_size: 8, expected 9 or more"):
        plan_of().split(0, 9)


def test_a_plan_can_be_pickled():
    whole = run(plan_of())
    plan = plan_of()
    run(plan, stop=9)
    again = pickle.loads(pickle.dumps(plan))
    assert run(again) == whole[9:]
    settings = {"stored_loss.power": 2}
    fresh = pickle.loads(pickle.dumps(plan_of(settings=settings)))
    assert run(fresh) == run(plan_of(settings=settings)) != whole


def test_an_unused_state_changes_nothing():
    again = plan_of()
    again.load_state_dict(plan_of().state_dict())
    assert run(again) == run(plan_of())


# ------------------------------------------------------------ weights

WEIGHTS = np.r_[np.full(50, 1.0), np.full(30, 4.0), np.zeros(20)]


def drawn(plan):
    return [number for *_, numbers in run(plan) for number in numbers]


@pytest.mark.parametrize("weights", [WEIGHTS, torch.from_numpy(WEIGHTS), WEIGHTS.tolist()])
def test_weighted_draws_by_the_weights(weights):
    numbers = np.array(drawn(plan_of("weighted", epochs=200, weights=weights)))
    assert len(numbers) == 200 * (EXAMPLES // BATCH) * BATCH
    assert numbers.max() < 80  # no example without weight
    share = (numbers >= 50).mean()  # 120 of 170
    assert abs(share - 120 / 170) < 5 * (0.25 / len(numbers)) ** 0.5


def test_weighted_without_replacement_has_each_example_once():
    plan = plan_of("weighted", epochs=3, weights=WEIGHTS, replacement=False, draws=40)
    epochs = [[n for batch in plan for n in batch] for _ in range(3)]
    for numbers in epochs:
        assert len(numbers) == len(set(numbers)) == 40 and max(numbers) < 80
    assert epochs[0] != epochs[1]


def test_weighted_processes_have_the_parts_of_one():
    one = plan_of("weighted", epochs=2, weights=WEIGHTS)
    parts = [plan_of("weighted", epochs=2, weights=WEIGHTS, rank=r, world=3) for r in range(3)]
    for _ in range(2):
        whole, *split = ([list(batch) for batch in plan] for plan in (one, *parts))
        assert whole == [a + b + c for a, b, c in zip(*split, strict=True)]


def test_weighted_goes_on_where_it_was():
    options = {"epochs": 3, "weights": WEIGHTS, "draws": 64}
    plan = plan_of("weighted", **options)
    whole = run(plan_of("weighted", **options))
    begun = run(plan, stop=11)
    other = plan_of("weighted", **options)
    other.load_state_dict(plan.state_dict())
    assert begun + run(other) == whole
    copied = pickle.loads(pickle.dumps(plan))
    assert begun + run(copied) == whole
    with pytest.raises(adagp.DataError, match="weights"):
        plan_of("weighted", **options | {"weights": WEIGHTS + 1}).load_state_dict(plan.state_dict())


def test_weighted_images_can_be_small():
    seen = run(plan_of("progressive+weighted", weights=WEIGHTS))
    assert {side for _, _, side, *_ in seen} > {SIDE}
    assert max(number for *_, numbers in seen for number in numbers) < 80


@pytest.mark.parametrize(
    "method, options, match",
    [
        ("weighted", {}, "one number for each example"),
        ("weighted", {"weights": WEIGHTS[:-1]}, r"shape \(99,\), expected \(100,\)"),
        ("weighted", {"weights": -WEIGHTS}, "number 0 is -1, expected 0 or more"),
        ("weighted", {"weights": WEIGHTS * np.nan}, "expected 0 or more"),
        ("weighted", {"weights": WEIGHTS * 0}, "0 of 100 are above 0"),
        ("weighted", {"weights": WEIGHTS, "replacement": False}, "80 of 100 are above 0"),
        ("weighted", {"weights": WEIGHTS, "draws": 4}, "batch_size: 8"),
        ("weighted", {"weights": "heavy"}, "weights: expected numbers"),
        ("weighted+stored-loss", {"weights": WEIGHTS}, "leave out one"),
        ("bp", {"weights": WEIGHTS}, r"bp\+weighted"),
    ],
)
def test_weights_that_cannot_be_drawn_by_are_refused(method, options, match):
    with pytest.raises(adagp.UsageError, match=match):
        plan_of(method, **options)
