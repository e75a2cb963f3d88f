"""Copies of a network train what one process trains, with methods that plan their epochs."""

import re
import signal

import numpy as np
import pytest
from safetensors.numpy import load_file

from harness import adagp, checkpoints, interrupt, sets, summary
from parting import distance, losses
from test_parallel import beginnings

# 110 examples in batches of 24: the last 14 are dropped, a rule leaves epochs of any length, and batches
# of small images have 32. Rates at which roundings stay small, and no norms: after a norm, one ReLU that a
# rounding turns on or off moves a bias that is nearly 0 by a percent, and a run has a million of them.
# Without norms it moves such a bias by some 1e-4. Other examples move weights by 1e-1 (tested below).
KINK = 1e-3
COMMON = ["--data", "synthetic", "--threads", "1", "--batch", "24", "--epochs", "4",
          *sets(data__synthetic_train=110, data__synthetic_test=40, log_every="1ba", optim__lr=0.01,
                select__anneal=0.25, optim__decay=0.01)]
PLAIN = [*COMMON, "--model", "vgg11",
         *sets(model__width_divisor=16, model__form="cifar", data__synthetic_size=32)]
SIZES = [*PLAIN, *sets(data__synthetic_size=40, low_res__sizes="[32, 40]", low_res__shares="[0.5, 0.5]")]
NORMS = [*COMMON, "--model", "resnet8", *sets(
    model__width_divisor=4, data__synthetic_size=8, low_res__sizes="[4, 8]", low_res__shares="[0.5, 0.5]")]
FROZEN = sets(freeze__blocks="[2]", freeze__at="[0.5]")
SCHEDULE = ["--schedule", "1ep bp, 1:1"]
RUNS = {
    "stored-loss": PLAIN,
    "infobatch": PLAIN,
    "freeze": [*PLAIN, *FROZEN],
    "freeze+stored-loss": [*PLAIN, *FROZEN],
    "adagp+stored-loss": [*PLAIN, *SCHEDULE],
    # A grown batch has all 30 examples, which four processes cannot share equally.
    "progressive": [*SIZES, *sets(data__synthetic_train=30)],
    "progressive+stored-loss": SIZES,
    "progressive+infobatch": SIZES,
    "low-res": [*SIZES, *SCHEDULE],
    "partial": [*PLAIN, *SCHEDULE, *sets(partial__blocks=2)],
    # Epochs of one batch, of what a rule keeps of 30 examples: shares are unlike. Predictions are 0, and
    # the gradient of the head is that of the whole batch (PREDICT).
    "zero+stored-loss": [*PLAIN, "--schedule", "1ep bp, 1ep gp, 1ep bp, gp",
                         *sets(data__synthetic_train=30, head="exact")],
}
METHODS = [pytest.param(name, marks=pytest.mark.rivals if name == "partial" else ()) for name in RUNS]

PREDICT = {"zero+stored-loss": ["predict=gradients"]}


def command(method):
    return [*RUNS[method], "--method", method]


def copies(processes, *words):
    return ["--parallel", ",".join(["data", f"local={processes}", *words])]


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """(method) -> the weights to begin with, the run of one process, and how far another order of additions
    may lead away from it (parting.py). Each is made once.

    A loss that differs by a rounding may put an example on the other side of its draw. Of N examples, N^2
    pairs in 1e6 change places, and one in N/2 of them has a draw between: about once in 1e4 runs."""
    made = {}

    def runs(method):
        if method not in made:
            top = tmp_path_factory.mktemp("alone")
            folders = [top / "a", top / "b"]
            begin = beginnings(RUNS[method], top)
            for weights, folder in zip(begin, folders):
                adagp("train", *command(method), "--weights", weights, "-o", folder)
            allowed = max(KINK, len(losses(folders[0])) * distance(*folders))
            made[method] = ["--weights", begin[0]], folders[0], allowed
        return made[method]

    return runs


def table(folder):
    """The losses of the examples in the newest checkpoint; None: it has none."""
    return load_file(checkpoints(folder)[-1]).get("examples.losses")


def assert_alike(folder, method, expected):
    _, reference, allowed = expected
    assert distance(folder, reference) <= allowed
    one, two = summary(folder), summary(reference)
    assert one["cost_epochs"] == pytest.approx(two["cost_epochs"])
    assert (one["bp_batches"], one["gp_batches"]) == (two["bp_batches"], two["gp_batches"])
    ours, theirs = table(folder), table(reference)
    by_losses = "stored-loss" in method or "infobatch" in method
    assert (ours is not None) == (theirs is not None) == by_losses
    if ours is not None:
        assert (ours >= 0).all()  # each example was seen, and its process told the others
        np.testing.assert_allclose(ours, theirs, atol=allowed * theirs.max())


@pytest.mark.parametrize("processes", [2, 4])
@pytest.mark.parametrize("method", METHODS)
def test_copies_are_one_process(tmp_path, alone, method, processes):
    folder = tmp_path / "run"
    plain, _, _ = alone(method)
    adagp("train", *command(method), *plain,
          *copies(processes, *PREDICT.get(method, [])), "-o", folder)
    assert_alike(folder, method, alone(method))


@pytest.mark.parametrize("method", ["stored-loss", "progressive+infobatch"])
def test_the_bound_tells_other_examples(tmp_path, alone, method):
    folder = tmp_path / "run"
    plain, reference, allowed = alone(method)
    steps = sets(stored_loss__power=0.9, infobatch__prune=0.4)
    adagp("train", *command(method), *plain, *steps, "-o", folder)
    ours, theirs = (load_file(f / "weights.safetensors") for f in (folder, reference))
    apart = max(np.abs(ours[name].astype(float) - theirs[name]).max() /
                max(1e-3, np.abs(theirs[name]).max()) for name in theirs)
    assert apart > 10 * allowed


def test_one_process_goes_on_from_four_which_went_on_from_two(tmp_path, alone):
    """Stopped in epochs of which a rule has left out examples."""
    folder, method = tmp_path / "run", "progressive+stored-loss"
    plain, _, _ = alone(method)
    run = [*command(method), *plain, *sets(checkpoint_every="1ba")]
    seen = []
    for processes, at in ((2, 2), (4, 5)):
        code, _, err = interrupt(folder, *run, *copies(processes), at=at, whom="parent")
        assert code == 128 + signal.SIGTERM, err
        seen.append((table(folder) >= 0).sum())
    assert 0 < seen[0] <= seen[1], seen
    done = adagp("train", *run, "-o", folder)
    assert "resumed after batch" in done.stderr
    assert_alike(folder, method, alone(method))


@pytest.mark.parametrize("method", ["stored-loss", "progressive+infobatch"])
def test_a_killed_process_stops_the_others_and_the_run_goes_on(tmp_path, alone, method):
    folder = tmp_path / "run"
    plain, _, _ = alone(method)
    run = [*command(method), *plain, *copies(2), *sets(checkpoint_every="1ba")]
    code, _, err = interrupt(folder, *run, at=5, how=signal.SIGKILL, whom="sibling")
    assert code == 1 and "rank 1" in err, err
    adagp("train", *run, "-o", folder)
    assert_alike(folder, method, alone(method))


@pytest.mark.parametrize("options", [
    [],
    pytest.param(sets(compress__kind="top-k", compress__share=0.1), marks=pytest.mark.rivals),
], ids=["whole", "top-k"])
def test_frozen_blocks_do_not_move(tmp_path, options):
    """Though copies exchange gradients, and the rate, the decay and the momentum would move them."""
    run = [*PLAIN, "--method", "freeze", *sets(freeze__blocks="[2]", freeze__at="[0.0]")]
    begin, folder = tmp_path / "begin", tmp_path / "run"
    adagp("train", *PLAIN, "--method", "bp", "-o", begin)
    before = load_file(begin / "weights.safetensors")
    adagp("train", *run, *options, "--weights", begin / "weights.safetensors", "--parallel",
          "data,local=2", "-o", folder)
    after = load_file(folder / "weights.safetensors")
    still = {name for name in after if (after[name] == before[name]).all()}
    assert still == {f"features.{layer}.{kind}" for layer in (0, 3) for kind in ("weight", "bias")}


def test_fewer_examples_than_processes_are_refused_with_the_numbers(tmp_path):
    run = [*PLAIN, "--method", "stored-loss", *sets(stored_loss__power=100)]  # one in 101 stays
    done = adagp("train", *run, *copies(4), "-o", tmp_path / "run", code=2)
    assert re.search(r"a batch of epoch 2 has [123] examples?, and 4 processes", done.stderr)
    assert "resumed" in adagp("train", *run, "-o", tmp_path / "run").stderr  # one goes on


# Batches of 96, then of 40, then of 24.
SHRINKING = sets(accumulate=2, data__synthetic_train=96, low_res__sizes="[4, 6, 8]",
                 low_res__shares="[0.25, 0.25, 0.5]", checkpoint_every="1ba")


# Three copies cannot share 40 equally; what a rule keeps may be fewer than one batch.
@pytest.mark.parametrize("method", ["progressive", "stored-loss"])
def test_unlike_shares_in_micro_batches_do_not_fit_shared_norms(tmp_path, method):
    run = [*NORMS, *SHRINKING, "--method", method]
    done = adagp("train", *run, *copies(3, "sync-norm"), "-o", tmp_path / "run", code=2)
    assert f"sync-norm: method {method} may have batches that 3 copies cannot share" in done.stderr
    assert not checkpoints(tmp_path / "run")  # refused before the first batch
    adagp("train", *run, *copies(3), "-o", tmp_path / "other")


def test_micro_batches_of_equal_shares_have_shared_norms(tmp_path):
    run = [*NORMS, *SHRINKING, "--method", "progressive"]
    adagp("train", *run, *copies(2, "sync-norm"), "-o", tmp_path / "run")


def test_small_batches_and_a_rule_need_one_process(tmp_path):
    run = [*PLAIN, *SCHEDULE, "--method", "small-batch+stored-loss"]
    done = adagp("train", *run, *copies(2), "-o", tmp_path / "run", code=2)
    assert "method small-batch+stored-loss: a rule that leaves out examples" in done.stderr
    assert not checkpoints(tmp_path / "run")
    adagp("train", *run, "-o", tmp_path / "alone")


def test_shared_norms_see_the_whole_of_unlike_shares(tmp_path):
    """A mean over 23 of 70 examples is off by sqrt(1/23 - 1/70) = 0.17 of a deviation, in every norm and batch.
    With shared statistics, roundings alone are left; one that turns a ReLU moves a bias by 0.01 (KINK), which is
    less than a tenth of 0.17."""
    run = [*NORMS, "--method", "progressive", *sets(data__synthetic_train=70)]
    adagp("train", *run, "-o", tmp_path / "alone")
    adagp("train", *run, *copies(3, "sync-norm"), "-o", tmp_path / "shared")
    adagp("train", *run, *copies(3), "-o", tmp_path / "own")
    shared, own = (distance(tmp_path / name, tmp_path / "alone") for name in ("shared", "own"))
    assert 10 * shared < own
