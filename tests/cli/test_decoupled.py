"""The modules of method modules in processes of their own compute what one process computes."""

import signal

import numpy as np
import pytest
from safetensors.numpy import load_file

from harness import adagp, interrupt, sets
from parting import losses
from test_parallel import NORMS, longer

pytestmark = pytest.mark.rivals

MODULES = [*NORMS, "--method", "modules"]
# Sentences: several tensors cross a cut, and every batch has its lengths.
SENTENCES = ["--data", "synthetic-translation", "--model", "transformer", "--threads", "1",
             "--batch", "16", "--epochs", "1", "--method", "modules", *sets(
                 model__width=16, model__heads=2, model__hidden=32, model__encoder_layers=2,
                 model__decoder_layers=2, model__longest=64, model__dropout=0,
                 translation__longest=40, translation__beam=1, data__synthetic_train=160,
                 data__synthetic_test=20, optim__lr=0.1, log_every="1ba")]


def assert_same_run(folder, reference):
    """Every process adds in the order in which one process adds: bit for bit."""
    assert losses(folder) == losses(reference) or np.allclose(
        [loss for _, loss in losses(folder)], [loss for _, loss in losses(reference)], rtol=0,
        atol=0, equal_nan=True)
    ours, theirs = (load_file(f / "weights.safetensors") for f in (folder, reference))
    assert ours.keys() == theirs.keys()
    for name in ours:
        assert (ours[name] == theirs[name]).all(), name


@pytest.mark.parametrize("run,count,options", [
    (MODULES, 2, sets(modules__unlocked="true")),
    (MODULES, 4, sets(modules__unlocked="true", modules__shrink=0.5)),
    (MODULES, 3, []),
    (MODULES, 3, sets(modules__signal="replay", modules__unlocked="true")),
    (SENTENCES, 3, sets(modules__unlocked="true")),
], ids=["FDG-2", "FDG-4", "DDG", "replay", "sentences"])
def test_processes_are_one_process(tmp_path, run, count, options):
    run = [*run, *sets(modules__count=count), *options]
    adagp("train", *run, "-o", tmp_path / "alone")
    adagp("train", *run, "--parallel", f"pipeline=decoupled,local={count}", "-o", tmp_path / "run")
    assert_same_run(tmp_path / "run", tmp_path / "alone")


@pytest.mark.parametrize("then", ["alone", "together"])
def test_a_checkpoint_is_taken_over_by_one_process_or_by_all(tmp_path, then):
    """With activations and gradients under way between the processes."""
    run = [*longer(MODULES, 12), *sets(modules__count=3, modules__unlocked="true",
                                       checkpoint_every="3ba")]
    how = ["--parallel", "pipeline=decoupled,local=3"]
    adagp("train", *run, "-o", tmp_path / "alone")
    code, _, err = interrupt(tmp_path / "run", *run, *how, at=3, whom="parent")
    assert code == 128 + signal.SIGTERM, err
    done = adagp("train", *run, *([] if then == "alone" else how), "-o", tmp_path / "run")
    assert "resumed after batch" in done.stderr
    assert_same_run(tmp_path / "run", tmp_path / "alone")


@pytest.mark.parametrize("run,how,words", [
    ([*NORMS, "--method", "bp"], "local=2", ["method bp", "pipeline=decoupled"]),
    ([*MODULES, *sets(modules__count=3)], "local=2", ["modules.count = 3", "2 processes"]),
    ([*MODULES, *sets(modules__count=2, modules__signal="auxiliary")], "local=2",
     ["modules.signal = auxiliary", "one process"]),
    ([*MODULES, *sets(modules__count=2)], "micro-batches=2,local=2", ["'micro-batches'"]),
])
def test_what_cannot_be_is_refused(tmp_path, run, how, words):
    done = adagp("train", *run, "--parallel", f"pipeline=decoupled,{how}", "-o", tmp_path / "run",
                 code=2)
    for word in words:
        assert word in done.stderr, done.stderr
