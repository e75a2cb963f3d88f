"""Cheap batches that are exact, rules for the examples of an epoch, the controller, budgets."""

import json

import pytest

from harness import DATA, NET, TINY, adagp, assert_same_run, checkpoints, interrupt, sets

SMALL = ["--epochs", "12", *sets(checkpoint_every="3ba", log_every="5ba")]
# The rate falls after every epoch that does not lower the loss by a tenth.
HELD_OUT = sets(policy__name="plateau", policy__watch="held-out", policy__patience=0, policy__threshold=0.1,
                policy__factor=0.8)
METHODS = {
    "progressive": [],
    "low-res": ["--schedule", "1:1"],
    "low-res-fixed": ["--schedule", "1:1", *sets(low_res__scale_batch="false")],
    "stored-loss": [],
    "infobatch": [],
    "progressive+stored-loss": [],
    "adagp+stored-loss": ["--schedule", "1ep bp, 1:1"],
    "freeze": [],
    "bp:held-out": HELD_OUT,
    "adagp+stored-loss:held-out": ["--schedule", "1ep bp, 1:1", *HELD_OUT],
}


def command(name, options):
    method = name.removesuffix("-fixed").split(":")[0]
    return [*TINY, *SMALL, "--method", method, *options]


def stopped_run_ends_the_same(command, tmp_path):
    """Stopped twice, at moments that fall into an epoch, a stage or a trial."""
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    adagp("train", *command, "-o", whole)
    for at in (6, 20):
        code, _, err = interrupt(cut, *command, at=at)
        assert code == 143, err
    adagp("train", *command, "-o", cut)
    assert_same_run(cut, whole)


@pytest.mark.parametrize("name", METHODS)
def test_a_run_stopped_on_the_way_ends_the_same(name, tmp_path):
    stopped_run_ends_the_same(command(name, METHODS[name]), tmp_path)


def test_a_checkpoint_an_epoch_is_one_also_where_epochs_are_short(tmp_path):
    folder = tmp_path / "run"
    run = [*TINY, "--epochs", "8", "--method", "stored-loss"]
    adagp("train", *run, "-o", folder)
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    ends = [row["step"] for row in rows if row["kind"] == "epoch"]
    assert len(ends) == 8 and ends[1] - ends[0] < 10
    assert [int(file.stem.split("-")[1]) for file in checkpoints(folder)] == ends[-2:]


@pytest.mark.parametrize("keys, power", [
    ({}, 1), ({"low_res__scale_lr": 0.5}, 0.5), ({"low_res__scale_lr": 0}, 0),
    ({"low_res__scale_batch": "false"}, 0)])
def test_a_grown_batch_takes_a_grown_step(keys, power, tmp_path):
    """Images of half the side, batches of four times the size, until half of the run."""
    folder = tmp_path / "run"
    run = [*TINY, "--epochs", "4", "--method", "progressive",
           *sets(low_res__sizes="[4, 8]", low_res__shares="[0.5, 0.5]", batch=8, optim__lr=0.01,
                 policy__name="constant", log_every="1ba", **keys)]
    adagp("train", *run, "-o", folder)
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    rates = {row["epoch"]: row["lr"] for row in rows if row["kind"] == "train"}
    assert rates[0] == rates[1] == pytest.approx(0.01 * 4 ** power)
    assert rates[2] == rates[3] == pytest.approx(0.01)


@pytest.mark.parametrize("args, words", [
    (["--method", "progressive", *sets(low_res__sizes="[4, 6, 9]")], ["9", "1 to 8"]),
    (["--method", "progressive", *sets(low_res__shares="[0.4, 1.3, 0.3]")], ["1.3", "0 to 1"]),
    (["--method", "progressive", *sets(low_res__sizes="[4]")], ["1 and 3", "equally many"]),
    (["--method", "infobatch", *sets(infobatch__prune=-0.1)], ["infobatch.prune", "-0.1"]),
    (["--method", "stored-loss", *sets(select__anneal=2)], ["select.anneal", "2"]),
    (["--method", "freeze", *sets(freeze__blocks="[1, 99]")], ["freeze.blocks", "99",
                                                             "expected 0 to"]),
    (["--method", "stored-loss+infobatch"], ["two rules"]),
    (["--method", "equal-time+stored-loss"], ["equal-time", "no rule"]),
    *[(["--method", method, "--parallel", spec], [f"method {method}", "stages", "--parallel data"])
      for method, spec in (("stored-loss", "pipeline=gpipe,micro-batches=2,local=2"),
                           ("progressive", "pipeline=gpipe,micro-batches=2,local=2"),
                           ("freeze+infobatch", "data,pipeline=dapple,stages=2,local=4"))],
    ([*HELD_OUT, "--parallel", "data,local=2"], ["policy.watch = held-out", "--parallel"]),
    ([*HELD_OUT, *sets(data__limit=30)], ["policy.watch = held-out", "30 training examples"]),
])
def test_what_cannot_be_is_refused_with_the_range(args, words, tmp_path):
    done = adagp("train", *TINY, "--epochs", "1", *args, "-o", tmp_path / "run", code=2)
    for word in words:
        assert word in done.stderr


@pytest.mark.parametrize("method", ["stored-loss", "progressive"])
def test_sentences_have_no_losses_by_example_and_no_sizes(method, tmp_path):
    done = adagp("train", "--model", "transformer", "--data", "synthetic-translation",
                 "--method", method, "--epochs", "1", "-o", tmp_path / "run", code=2)
    assert "translation" in done.stderr and method in done.stderr


def test_no_sentence_is_held_out(tmp_path):
    done = adagp("train", "--model", "transformer", "--data", "synthetic-translation", *HELD_OUT,
                 "--epochs", "1", "-o", tmp_path / "run", code=2)
    assert "policy.watch = held-out" in done.stderr and "translation" in done.stderr


def test_a_size_that_a_network_cannot_take(tmp_path):
    done = adagp("train", *DATA, "--model", "densenet121", *sets(model__width_divisor=4),
                 "--method", "progressive", *sets(low_res__sizes="[1, 4, 8]"), "--batch", "20",
                 "--epochs", "1", "-o", tmp_path / "run", code=2)
    assert "1x1" in done.stderr and "densenet121" in done.stderr


def test_lengths_and_keys_of_a_method_need_budget(tmp_path):
    done = adagp("compare", *TINY, "--methods", "bp,progressive@3", "-o", tmp_path / "c", code=2)
    assert "--budget" in done.stderr
    done = adagp("compare", "--budget", "--epochs", "3", *TINY, "-o", tmp_path / "c", code=2)
    assert "--epochs" in done.stderr
    for wrong in ("0", "a"):
        done = adagp("compare", "--budget", "--budget-epochs", wrong, *TINY, code=2)
        assert "--budget-epochs" in done.stderr and len(done.stderr) < 200


def test_losses_of_another_data_set_are_refused(tmp_path):
    """The same command, and the file behind it has become another."""
    data, folder = tmp_path / "data.safetensors", tmp_path / "run"
    make = ["data", "make", "--format", "packed", "--size", "8", "--test", "20", "-o", data]
    adagp(*make, "--train", "200")
    run = ["--data", "packed", "--data-dir", data, *NET, "--batch", "20", "--epochs", "30",
           "--threads", "1", "--method", "stored-loss", *sets(data__mean=0.5, data__std=0.25),
           *sets(checkpoint_every="3ba")]
    code, _, err = interrupt(folder, *run, at=30)
    assert code == 143, err
    data.unlink()
    adagp(*make, "--train", "240")
    done = adagp("train", *run, "-o", folder, code=3)
    assert "is of another run: data 200+20 images" in done.stderr
    assert "expected 240+20 images" in done.stderr


def test_what_the_last_run_cannot_do_is_said_before_the_first(tmp_path):
    folder = tmp_path / "c"
    methods = "bp@2,freeze[freeze.blocks=[99]; freeze.at=[0.5]]@2"
    done = adagp("compare", "--budget", *TINY, "--methods", methods, "-o", folder, code=2)
    assert "freeze.blocks" in done.stderr and "run 1 of" not in done.stderr
    assert not list(folder.glob("bp*"))


def test_targets_are_lengths_of_bp(tmp_path):
    run = ["compare", "--budget", *TINY, "--seeds", "1", "--budget-batches", "20", "--methods",
           "bp@1/2", "-o", tmp_path / "b"]
    done = adagp(*run, "--targets", "5", code=2)
    assert "--targets: 5" in done.stderr and "1, 2" in done.stderr
    done = adagp(*run, "--json")
    assert "2 of 2 runs to do, which cost about 3 epochs" in done.stderr
    report = json.loads(done.stdout)
    assert [row["target"] for row in report["targets"]] == ["bp 2 ep"]
    assert "resnet8" in report["about"] or "vgg8s" in report["about"]


def test_short_runs_say_or_do_what_they_should(tmp_path):
    done = adagp("train", *TINY, "--epochs", "1", "--method", "progressive", "-o", tmp_path / "p")
    assert "cost of 1.00 BP epochs" in done.stdout + done.stderr  # it ends with whole images
    done = adagp("train", *TINY, "--epochs", "2", "--method", "stored-loss", "-o", tmp_path / "s")
    assert "leaves out no example" in done.stderr


def test_budgets_side_by_side(tmp_path):
    folder = tmp_path / "budget"
    arguments = ["compare", "--budget", *TINY, "--seeds", "2", "--budget-epochs", "1,2,3",
                 "--budget-batches", "10", "--targets", "2", "--methods",
                 "progressive,stored-loss[stored_loss.power=0.5]@3", "-o", folder]
    done = adagp(*arguments, "--json")
    report = json.loads(done.stdout)
    assert {p.name for p in folder.iterdir() if p.is_file()} >= {"budget.md", "budget.json",
                                                                "budget.csv", "budget.svg"}
    assert report == json.loads((folder / "budget.json").read_text())
    rows = {(r["method"], r["batch"], r["epochs"]): r for r in report["rows"]}
    assert rows["bp", 20, 3]["n"] == 2 and rows["bp", 10, 3]["n"] == 2
    assert abs(rows["bp", 20, 3]["cost_mean"] - 3) < 1e-9
    assert rows["progressive", 20, 3]["cost_mean"] < 2.5
    assert ("stored-loss[stored_loss.power=0.5]", 20, 3) in rows
    again = adagp(*arguments, "--json")
    assert again.stderr.count("already finished") == 2 * (3 + 3 + 3 + 1)


@pytest.mark.parametrize("methods, words", [
    ("progressive@x", ["'x'", "epochs"]),
    ("progressive[a=1]", ["a"]),
    ("equal-time", ["equal-time"]),
    ("bp,bp", ["twice"]),
    ("stored-loss[data.limit=32]@2", ["data.limit", "outside of the brackets"]),
    ("stored-loss[seed=9]", ["seed", "outside of the brackets"]),
    ("progressive[epochs=9]@2", ["lengths", "bp@20/24"]),
    ("progressive[low_res.scale_btch=1]@2", ["progressive[", "did you mean"]),
    ("progressive[low_res.sizes=[4,9];low_res.shares=[0.5,0.5]]@1", ["9", "1 to 8"]),
])
def test_budget_specifications_that_are_none(methods, words, tmp_path):
    done = adagp("compare", "--budget", *TINY, "--methods", methods, "-o", tmp_path / "b", code=2)
    for word in words:
        assert word in done.stderr


def index_lists(*args):
    done = adagp("train", *TINY, "--epochs", "6", "--dry-run", "--indices", *args)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_indices_are_the_batches_of_the_run(tmp_path):
    whole = index_lists("--method", "bp")
    assert [(line["epoch"], line["batch"]) for line in whole] == [
        (epoch, batch) for epoch in range(6) for batch in range(10)]
    for epoch in range(6):
        seen = [i for line in whole if line["epoch"] == epoch for i in line["examples"]]
        assert sorted(seen) == list(range(200))
    assert [line["progress"] for line in whole] == pytest.approx([i / 60 for i in range(60)])

    losses = tmp_path / "losses"
    losses.write_text("".join(f"{i % 50}\n" for i in range(200)))
    chosen = index_lists("--method", "progressive+stored-loss", "--losses", losses)
    first = [i for line in chosen if line["epoch"] == 0 for i in line["examples"]]
    kept = [i for line in chosen if line["epoch"] in (1, 2, 3, 4) for i in line["examples"]]
    assert {line["side"] for line in chosen} == {4, 6, 0}
    assert len(set(first)) == len(first) and len(kept) < 0.7 * 4 * len(first)
    assert sum(i % 50 >= 25 for i in kept) > 2 * sum(i % 50 < 25 for i in kept)


def test_held_out_examples_are_in_no_batch():
    def seen(*args):
        lines = index_lists("--method", "bp", *HELD_OUT, *args)
        epochs = [[i for line in lines if line["epoch"] == epoch for i in line["examples"]]
                  for epoch in range(6)]
        assert all(len(examples) == 180 for examples in epochs)
        assert len({frozenset(examples) for examples in epochs}) == 1
        return set(epochs[0])
    # 200 examples, 20 of a batch held out.
    assert len(seen()) == 180
    assert seen() != seen("--seed", "1")


def test_indices_of_a_wrong_file_are_refused(tmp_path):
    losses = tmp_path / "losses"
    losses.write_text("1\n2\n")
    command = ["train", *TINY, "--dry-run", "--indices", "--method", "stored-loss"]
    assert "2 losses, and there are 200" in adagp(*command, "--losses", losses, code=3).stderr
    losses.write_text("x\n" * 200)
    assert "expected a number a line" in adagp(*command, "--losses", losses, code=3).stderr
    assert "reads none" in adagp("train", *TINY, "--dry-run", "--indices", "--method", "bp",
                                 "--losses", losses, code=2).stderr
    assert "--dry-run" in adagp("train", *TINY, "--indices", code=2).stderr
