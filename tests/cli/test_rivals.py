"""Methods of other papers as users meet them: their limits, their messages, their bytes."""

import re

import numpy as np
import pytest
from safetensors.numpy import load_file

from harness import TINY, adagp, assert_same_run, interrupt, sets, summary
from test_parallel import NORMS, PLAIN, assert_alike

pytestmark = pytest.mark.rivals

SHORT = [*TINY, "--epochs", "2", *sets(checkpoint_every="3ba", log_every="1ba")]
COPIES = ["--method", "bp", "--parallel", "data,local=2"]
KINDS = {
    "top-k": sets(compress__kind="top-k", compress__share=0.05),
    "power-sgd": sets(compress__kind="power-sgd", compress__rank=1),
    "sign": sets(compress__kind="sign"),
}


def weights(folder):
    return load_file(folder / "weights.safetensors")


@pytest.mark.parametrize("args, words", [
    (["--method", "modules", *sets(modules__count=9)], ["modules.count = 9", "expected 1 to 5"]),
    (["--method", "modules", *sets(modules__count=0)], ["modules.count", "1"]),
    (["--method", "modules", *sets(modules__signal="delay")], ["modules.signal", "delayed"]),
    (["--method", "modules", *sets(modules__shrink=1.5)], ["modules.shrink"]),
    (["--method", "modules", *sets(accumulate=2)], ["accumulate = 2", "accumulate = 1"]),
    (["--method", "modules", "--parallel", "data,local=2"], ["modules", "leave out --parallel"]),
    (["--method", "noise", *sets(noise__eta=-1)], ["noise.eta", "-1"]),
    (["--method", "xgrad", *sets(optim__momentum=0)], ["optim.momentum = 0", "xgrad"]),
    (["--method", "bp", *sets(compress__kind="top-k")],
     ["compress.kind = top-k", "--parallel data"]),
    (["--method", "bp", *sets(compress__kind="sign"), "--parallel", "pipeline=gpipe,local=2"],
     ["compress.kind = sign", "1 copy"]),
    ([*COPIES, *sets(compress__kind="top-k", compress__share=0)], ["compress.share = 0"]),
    (["--method", "adagp", *sets(predictor__kind="dni", predictor__input="zeros")],
     ["predictor.input = zeros"]),
    (["--method", "adagp", *sets(predictor__input="noise"), "--parallel", "data,local=2"],
     ["predictor.input = noise", "leave out --parallel"]),
])
def test_what_cannot_be_is_refused(args, words, tmp_path):
    done = adagp("train", *SHORT, *args, "-o", tmp_path / "run", code=2)
    for word in words:
        assert word in done.stderr


def test_keys_of_another_signal_are_named(tmp_path):
    done = adagp("train", *SHORT, "--method", "modules", "-o", tmp_path / "run",
                 *sets(modules__signal="auxiliary", modules__shrink=0.5))
    assert "modules.shrink" in done.stderr and "changes nothing here" in done.stderr


SENTENCES = ["--data", "synthetic-translation", "--model", "transformer", "--threads", "1",
             "--batch", "16", "--epochs", "2", *sets(
                 model__width=16, model__heads=2, model__hidden=32, model__encoder_layers=2,
                 model__decoder_layers=2, model__longest=64, model__dropout=0.2,
                 model__tied="false", translation__longest=40, translation__beam=1,
                 data__synthetic_train=160, data__synthetic_test=20, optim__name="adam",
                 optim__lr=0.001, checkpoint_every="3ba", log_every="1ba")]


@pytest.mark.parametrize("options", [
    sets(modules__count=3),
    sets(modules__count=3, modules__unlocked="true"),
    sets(modules__signal="replay"),
], ids=["delayed", "unlocked", "replay"])
def test_dropout_and_several_tensors_at_a_cut_survive_an_interruption(options, tmp_path):
    """What is rebuilt from a checkpoint drops the same features as before."""
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    command = [*SENTENCES, "--method", "modules", *options]
    adagp("train", *command, "-o", whole)
    code, _, err = interrupt(cut, *command, at=6)
    assert code == 143, err
    adagp("train", *command, "-o", cut)
    assert_same_run(cut, whole)


@pytest.mark.parametrize("signal", ["auxiliary", "critic", "synthetic", "feedback"])
def test_signals_that_need_classes_say_so(signal, tmp_path):
    done = adagp("train", *SENTENCES, "--method", "modules", *sets(modules__signal=signal),
                 "-o", tmp_path / "run", code=2)
    assert "needs classes" in done.stderr and "delayed" in done.stderr


def test_batches_that_have_not_reached_the_loss_are_no_divergence(tmp_path):
    """FDG's first steps have no loss, and every step is logged here."""
    run = tmp_path / "run"
    adagp("train", *SHORT, "--method", "modules", "-o", run,
          *sets(modules__count=4, modules__unlocked="true"))
    assert summary(run)["bp_batches"] == 20


@pytest.mark.parametrize("run, how, reference", [
    (PLAIN, "data", []),
    (NORMS, "pipeline=gpipe,micro-batches=4", sets(accumulate=4)),
], ids=["copies", "stages"])
def test_noise_is_the_same_in_every_process(run, how, reference, tmp_path):
    """It is far larger than the order of additions: with noise of their own, processes would part."""
    noisy = [*run, "--method", "noise", *sets(noise__eta=1e-4)]
    adagp("train", *noisy, "--parallel", f"{how},local=2", "-o", tmp_path / "together")
    adagp("train", *noisy, *reference, "-o", tmp_path / "alone")
    assert_alike(tmp_path / "together", tmp_path / "alone")


@pytest.mark.parametrize("kind", ["mlp", "shared", "remap"])
@pytest.mark.parametrize("shown", ["zeros", "noise", "labels"])
def test_ablations_of_the_predictor_run(kind, shown, tmp_path):
    run = tmp_path / "run"
    adagp("train", *SHORT, "--method", "adagp", "--schedule", "1ep bp, 1:1", "-o", run,
          *sets(predictor__kind=kind, predictor__input=shown, predictor__remap_outputs=50))
    assert summary(run)["gp_batches"] == 5


@pytest.fixture(scope="module")
def uncompressed(tmp_path_factory):
    run = tmp_path_factory.mktemp("whole") / "run"
    done = adagp("train", *SHORT, *COPIES, "-o", run)
    return run, sent(done)


def sent(done):
    """Bytes of gradients in a BP batch, as the run tells."""
    found = re.search(r"of gradients \(([\d.]+) (\w+) in each of 20 BP batches\)", done.stderr)
    assert found, done.stderr
    return float(found[1]) * {"B": 1, "KB": 1e3, "KiB": 2**10, "MB": 1e6, "MiB": 2**20}[found[2]]


def test_all_of_the_largest_numbers_are_the_gradient(uncompressed, tmp_path):
    """The sum of two numbers does not depend on their order, so even the bits are the same."""
    run = tmp_path / "run"
    adagp("train", *SHORT, *COPIES, *sets(compress__kind="top-k", compress__share=1), "-o", run)
    plain = weights(uncompressed[0])
    for name, tensor in weights(run).items():
        assert np.array_equal(tensor, plain[name]), name


@pytest.mark.parametrize("kind", KINDS)
def test_compressed_copies_send_less_and_learn_something_else(kind, uncompressed, tmp_path):
    run = tmp_path / "run"
    done = adagp("train", *SHORT, *COPIES, *KINDS[kind], "-o", run)
    assert sent(done) < uncompressed[1] / 3
    assert not np.array_equal(weights(run)["fc.weight"], weights(uncompressed[0])["fc.weight"])


@pytest.mark.parametrize("kind", KINDS)
def test_a_stopped_run_keeps_what_was_left_out(kind, tmp_path):
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    command = [*SHORT, *COPIES, *KINDS[kind]]
    adagp("train", *command, "-o", whole)
    code, _, err = interrupt(cut, *command, at=6, whom="parent")
    assert code == 143, err
    adagp("train", *command, "-o", cut)
    plain = weights(whole)
    for name, tensor in weights(cut).items():
        # A checkpoint takes the mean of the copies' running statistics, wherever it falls.
        if "running" not in name:
            assert np.array_equal(tensor, plain[name]), name
