"""Methods of the library of rivals: runs that are stopped on the way, and the controller's decisions."""

import json

import pytest

from harness import TINY, adagp, assert_same_run, interrupt, sets
from test_methods import command, stopped_run_ends_the_same

pytestmark = pytest.mark.rivals

AUTO = sets(auto__heldout=20, auto__window=4, auto__pairs=3, auto__probe_share=0.5,
            auto__clock="counted", auto__steps='["low-res", "adagp", "skip", "partial"]')
METHODS = {
    "selective": ["--schedule", "1:1", *sets(selective__rule="priority")],
    "partial": ["--schedule", "1:1"],
    "control-variate": ["--schedule", "1ep bp, 1:1"],
    "selective+infobatch": ["--schedule", "1:1"],
    "auto": AUTO,
}
for signal in ("auxiliary", "delayed", "replay", "critic", "synthetic", "feedback"):
    METHODS[f"modules:{signal}"] = sets(modules__signal=signal, modules__count=3)
METHODS["modules:unlocked"] = sets(modules__count=3, modules__unlocked="true", modules__shrink=0.5)
METHODS["xgrad"] = []
METHODS["noise"] = []
METHODS["dropback"] = []
METHODS["dropback:frozen"] = sets(dropback__freeze="12ba", dropback__init_decay=1)
METHODS["dropback+stored-loss"] = sets(dropback__threshold="estimate", dropback__keep=0.3)
METHODS["modules+infobatch"] = sets(modules__count=2, modules__unlocked="true")


@pytest.mark.parametrize("name", METHODS)
def test_a_run_stopped_on_the_way_ends_the_same(name, tmp_path):
    stopped_run_ends_the_same(command(name, METHODS[name]), tmp_path)


@pytest.fixture(scope="module")
def auto_run(tmp_path_factory):
    """A run of auto that nothing stopped, and its command."""
    run = [*command("auto", METHODS["auto"]), *sets(checkpoint_every="1ba", log_every="50ba")]
    folder = tmp_path_factory.mktemp("auto") / "whole"
    adagp("train", *run, "-o", folder)
    return folder, run


@pytest.mark.parametrize("at", range(34, 60, 5))
def test_auto_stopped_around_a_decision_ends_the_same(at, auto_run, tmp_path):
    (whole, run), cut = auto_run, tmp_path / "cut"
    code, _, err = interrupt(cut, *run, at=at)
    assert code == 143, err
    adagp("train", *run, "-o", cut)
    assert_same_run(cut, whole)


def test_auto_tells_what_it_decided(auto_run):
    folder, _ = auto_run
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    decisions = [row for row in rows if row["kind"] == "decision"]
    assert decisions
    for row in decisions:
        assert row["what"] in ("adopt", "raise", "lower", "drop", "keep", "reject")
        if row["what"] in ("adopt", "raise", "keep"):
            assert row["low"] > 0
        assert row["seconds"] > 0 and row["bp_seconds"] > 0


@pytest.mark.parametrize("args, words", [
    (["--method", "selective", *sets(selective__share=1.5)], ["selective.share", "1.5", "0", "1"]),
    (["--method", "selective", *sets(selective__share=0)], ["selective.share", "expected"]),
    (["--method", "partial", *sets(partial__blocks=99)], ["partial.blocks", "99", "expected 0 to"]),
    (["--method", "auto", *sets(auto__steps='["bp"]')], ["auto.steps", "'bp'"]),
    (["--method", "auto", *sets(auto__steps='["low-rez"]')], ["did you mean 'low-res'"]),
    (["--method", "auto", *sets(auto__steps='["ema"]')], ["auto.steps", "'ema'"]),
    (["--method", "auto+stored-loss"], ["auto", "cannot be joined"]),
    (["--method", "dfa"], ["predictor.kind=dfa"]),
    *[(["--method", method, "--parallel", spec], ["one process", "--parallel"])
      for method in ("selective", "auto")
      for spec in ("data,local=2", "pipeline=gpipe,micro-batches=2,local=2")],
    (["--method", "partial", "--parallel", "pipeline=gpipe,micro-batches=2,local=2"], ["pipeline", "--parallel data"]),
    (["--method", "adagp", *sets(predictor__steps="per-layer"), "--parallel",
      "pipeline=gpipe,micro-batches=2,local=2"], ["predictor.steps = per-layer", "joint"]),
])
def test_what_cannot_be_is_refused_with_the_range(args, words, tmp_path):
    done = adagp("train", *TINY, "--epochs", "1", *args, "-o", tmp_path / "run", code=2)
    for word in words:
        assert word in done.stderr


def test_what_the_last_run_cannot_do_is_said_before_the_first(tmp_path):
    folder = tmp_path / "c"
    done = adagp("compare", *TINY, "--methods", "bp,partial", *sets(partial__blocks=99), "-o", folder, code=2)
    assert "partial.blocks" in done.stderr and "run 1 of" not in done.stderr
    assert not list(folder.glob("bp*"))


def test_sentences_have_no_losses_by_example(tmp_path):
    done = adagp("train", "--model", "transformer", "--data", "synthetic-translation",
                 "--method", "selective", "--epochs", "1", "-o", tmp_path / "run", code=2)
    assert "translation" in done.stderr and "selective" in done.stderr
