"""A process of a pipeline and what it holds: its own stages, with or without their activations."""

import re

import numpy as np
import pytest
from safetensors.numpy import load_file

from harness import adagp, sets
from parting import distance, losses
from test_parallel import EACH, NORMS, beginnings

SENTENCES = ["--data", "synthetic-translation", "--model", "transformer", "--threads", "1",
             "--batch", "16", "--epochs", "1", *sets(
                 model__width=16, model__heads=2, model__hidden=32, model__encoder_layers=2,
                 model__decoder_layers=2, model__longest=64, translation__longest=40,
                 translation__beam=1, data__synthetic_train=160, data__synthetic_test=20,
                 optim__lr=0.1, log_every="1ba")]


def weights(folder):
    return load_file(folder / "weights.safetensors")


def assert_same_weights(one, two):
    assert one.keys() == two.keys()
    for name in one:
        assert (one[name] == two[name]).all(), name


@pytest.mark.parametrize("schedule", [*EACH, "interleaved,chunks=2"])
def test_stages_that_run_forward_again_give_the_same_bits(tmp_path, schedule):
    how = f"pipeline={schedule},micro-batches=4,local=2"
    for name, words in (("kept", how), ("again", how + ",recompute")):
        adagp("train", *NORMS, "--method", "adagp", "--parallel", words, "-o", tmp_path / name)
    assert_same_weights(weights(tmp_path / "again"), weights(tmp_path / "kept"))
    assert losses(tmp_path / "again") == losses(tmp_path / "kept")


def test_a_pass_that_is_run_again_drops_the_same_features(tmp_path):
    run = [*SENTENCES, *sets(model__dropout=0.2), "--method", "bp"]
    for name, words in (("kept", ""), ("again", ",recompute")):
        adagp("train", *run, "--parallel", f"pipeline=gpipe,micro-batches=2,local=2{words}",
              "-o", tmp_path / name)
    assert_same_weights(weights(tmp_path / "again"), weights(tmp_path / "kept"))


@pytest.mark.parametrize("how", ["pipeline=dapple,local=2", "pipeline=gpipe,local=3",
                                 "pipeline=interleaved,chunks=2,local=2",
                                 "pipeline=chimera,local=2", "pipeline=chimera,local=4",
                                 "data,pipeline=gpipe,stages=2,local=4"])
def test_a_tied_weight_in_two_stages_gets_the_gradients_of_both(tmp_path, how):
    """The Transformer's target embedding is also the weight of its output layer."""
    run = [*SENTENCES, *sets(model__tied="true", model__dropout=0, clip=1)]
    begin, nudged = beginnings(run, tmp_path)
    run = [*run, "--method", "bp"]
    # The loss is a mean over the words of a micro-batch: one process takes the same four.
    alone = [*run, *sets(accumulate=4)]
    for name, start_from in (("alone", begin), ("nudged", nudged)):
        adagp("train", *alone, "--weights", start_from, "-o", tmp_path / name)
    adagp("train", *run, "--weights", begin, "--parallel",
          f"{how},micro-batches={2 if 'data' in how else 4}", "-o", tmp_path / "run")
    allowed = 10 * distance(tmp_path / "nudged", tmp_path / "alone")
    assert distance(tmp_path / "run", tmp_path / "alone") <= allowed
    # The bound tells something: the embedding has moved by much more.
    moved = np.abs(weights(tmp_path / "alone")["tgt_embedding.weight"] -
                   load_file(begin)["tgt_embedding.weight"]).max()
    assert moved > 100 * allowed * np.abs(load_file(begin)["tgt_embedding.weight"]).max()


def peaks(stderr):
    line = re.search(r"peak memory by process: (.*)", stderr)[1]
    return [float(each) for each in re.findall(r"([0-9.]+) [KMG]i?B \(", line)]


def test_a_run_tells_the_memory_of_its_processes(tmp_path):
    done = adagp("train", *NORMS, "--method", "bp", "--parallel",
                 "pipeline=gpipe,micro-batches=3,local=3", "-o", tmp_path / "run")
    assert len(peaks(done.stderr)) == 3, done.stderr
