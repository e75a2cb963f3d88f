"""What a run folder promises: new, unfinished, finished, someone else's."""

import json
import os
import resource
import shutil
import signal

import pytest

from harness import (NET, TINY, adagp, assert_same_run, checkpoints, contents, finish, interrupt,
                     newest_step, records, sets, start_and_stop, summary)

SHORT = [*TINY, "--epochs", "3", "--seed", "1"]  # the `finished` fixture's


def test_files_of_a_finished_run(finished):
    for name in ("config.toml", "metrics.jsonl", "weights.safetensors", "best.safetensors",
                 "layers.csv", "environment.json", "summary.json"):
        assert (finished / name).stat().st_size > 0, name
    assert checkpoints(finished) and list((finished / "tb").iterdir())
    assert summary(finished)["gp_batches"] > 0 and summary(finished)["bp_batches"] > 0


def test_a_run_beside_other_files_says_so(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    (tmp_path / ".hidden").write_text("mine")
    run = ["train", *TINY, "--epochs", "1", "--method", "bp", "-o", tmp_path]
    (tmp_path / "config.toml.0a1b2c3d.tmp").write_text("of a run that was killed")
    assert "other files are here (thesis.txt); the files of the run go beside them" in adagp(*run).stderr
    assert "other files" not in adagp(*run, "--overwrite").stderr and (tmp_path / "thesis.txt").read_text() == "mine"


def test_records_of_epochs_tell_examples_and_parts_of_the_seconds(finished):
    epochs = [record for record in records(finished) if record["kind"] == "epoch"]
    assert [record["examples"] for record in epochs] == [200, 400, 600]
    for record in epochs:
        parts = record["bp_seconds"] + record["gp_seconds"] + record["data_seconds"]
        assert 0 < parts <= record["train_seconds"] and record["bp_seconds"] > 0
    # The parts are of the run so far; GP batches come after the first epoch.
    for key in ("bp_seconds", "data_seconds", "train_seconds"):
        assert [r[key] for r in epochs] == sorted(r[key] for r in epochs)
    assert epochs[-1]["gp_seconds"] > 0


def test_batches_that_are_not_loaded_count_no_examples(tmp_path):
    adagp("train", *TINY, "--epochs", "2", "--method", "skip", "--schedule", "1ep bp, 1:1", "-o", tmp_path / "a")
    examples = [record["examples"] for record in records(tmp_path / "a") if record["kind"] == "epoch"]
    assert examples == [200, 200 + 100]


def test_finished_folder_prints_its_summary_and_trains_nothing(finished):
    before = contents(finished)
    again = adagp("train", *SHORT, "-o", finished, "--json")
    assert json.loads(again.stdout) == summary(finished)
    assert "epoch" not in again.stderr and "finished before; --overwrite" in again.stderr
    assert contents(finished) == before


@pytest.mark.parametrize("change, key", [
    (["--epochs", "4", "--seed", "1"], "epochs"),
    (["--epochs", "3", "--seed", "1", *sets(optim__lr=0.02)], "optim.lr"),
    (["--epochs", "3", "--seed", "2", *sets(predictor__channels=8)], "seed, predictor.channels"),
])
def test_another_configuration_is_refused(change, key, finished):
    before = contents(finished)
    err = adagp("train", *TINY, *change, "-o", finished, code=2).stderr
    assert f"({key})" in err and str(finished) in err and "--overwrite" in err
    assert contents(finished) == before


def test_keys_that_change_nothing_are_not_refused(finished):
    adagp("train", *SHORT, *sets(log_every="7ba", checkpoint_every="2ba", augment__workers=0),
          "-o", finished)


def test_a_finished_run_is_extended(tmp_path):
    """Where nothing of its beginning depends on its length, the longer run is one from the start."""
    command = ["train", *TINY, *sets(policy__name="constant", log_every="4ba"),
               "--schedule", "1ep bp, 2:1"]
    adagp(*command, "--epochs", "2", "-o", tmp_path / "run")
    done = adagp(*command, "--epochs", "4", "-o", tmp_path / "run")
    assert "extended from 2 to 4 epochs" in done.stderr
    assert "resumed after batch 20 of 40" in done.stderr
    adagp(*command, "--epochs", "4", "-o", tmp_path / "whole")
    assert_same_run(tmp_path / "run", tmp_path / "whole")
    assert "epoch" not in adagp(*command, "--epochs", "4", "-o", tmp_path / "run").stderr


@pytest.mark.rivals
@pytest.mark.parametrize("rule", ["temporal-low-to-high", "temporal-high-to-low", "adaptive"])
def test_widths_that_follow_the_length_are_not_extended(rule, tmp_path):
    """A longer run would have had other widths from its start."""
    command = ["train", *TINY, "--method", "bp", "--precision", "fast",
               *sets(policy__name="constant", fast__rule=rule), "-o", tmp_path / "run"]
    adagp(*command, "--epochs", "1")
    said = adagp(*command, "--epochs", "2", code=2).stderr
    assert "cannot be extended" in said and f"fast.rule = {rule}" in said


@pytest.mark.rivals
@pytest.mark.parametrize("rule", [sets(fast__rule="fixed"), sets(fast__beta=0, fast__every="3ba")])
def test_widths_that_do_not_follow_the_length_are_extended(rule, tmp_path):
    command = ["train", *TINY, "--method", "bp", "--precision", "fast",
               *sets(policy__name="constant"), *rule]
    adagp(*command, "--epochs", "1", "-o", tmp_path / "run")
    assert "extended" in adagp(*command, "--epochs", "2", "-o", tmp_path / "run").stderr
    adagp(*command, "--epochs", "2", "-o", tmp_path / "whole")
    assert_same_run(tmp_path / "run", tmp_path / "whole")


def test_summary_says_what_the_score_is_of(tmp_path):
    adagp("train", *TINY, "--epochs", "1", "--method", "bp", "-o", tmp_path / "run",
          *sets(data__limit=100, data__test_limit=30, data__synthetic_noise=2))
    told = summary(tmp_path / "run")
    assert (told["data_limit"], told["data_test_limit"]) == (100, 30)
    assert (told["train_examples"], told["test_examples"]) == (100, 30)
    assert told["input"] == "8x8" and not told["from_weights"]
    assert told["settings"] == {"data.synthetic_noise": "2.0", "model.width_divisor": "4"}


def test_overwrite_starts_anew(tmp_path, finished):
    folder = tmp_path / "run"
    adagp("train", *TINY, "--epochs", "1", "-o", folder)
    adagp("train", *SHORT, "-o", folder, code=2)
    adagp("train", *SHORT, "-o", folder, "--overwrite")
    assert_same_run(folder, finished)


def test_a_run_that_lacks_only_its_end_is_ended(tmp_path, finished):
    """Killed after the last checkpoint, before or while the results were written."""
    folder = shutil.copytree(finished, tmp_path / "run")
    for name in ("summary.json", "weights.safetensors"):
        (folder / name).rename(folder / (name + ".0123abcd.tmp"))
    done = adagp("train", *SHORT, "-o", folder)
    assert "resumed after batch 30 of 30" in done.stderr
    assert_same_run(folder, finished)


def test_equal_seeds_give_equal_bytes(tmp_path, finished):
    adagp("train", *SHORT, "-o", tmp_path / "run")
    assert_same_run(tmp_path / "run", finished)


def test_another_seed_gives_other_bytes(tmp_path, finished):
    adagp("train", *TINY, "--epochs", "3", "--seed", "2", "-o", tmp_path / "run")
    weights = (tmp_path / "run/weights.safetensors").read_bytes()
    assert weights != (finished / "weights.safetensors").read_bytes()


def test_acceptance_command_twice(tmp_path):
    """The issue's own line, the default data made smaller; as many threads as there are."""
    for name in ("a", "b"):
        adagp("train", "--data", "synthetic", "--model", "vgg8s", "--method", "adagp", "--epochs",
              "3", "--seed", "1", *sets(data__synthetic_train=256, data__synthetic_test=50),
              "-o", tmp_path / name)
    assert summary(tmp_path / "a")["gp_batches"] > 0
    assert_same_run(tmp_path / "a", tmp_path / "b")


def test_second_process_is_refused_and_harms_nothing(tmp_path, long_run, uninterrupted):
    folder = tmp_path / "run"
    command = ["train", *long_run, "--method", "adagp", "-o", folder]
    first = start_and_stop(*command)  # so that it cannot end before the second has tried
    for extra in ([], ["--overwrite"]):
        err = adagp(*command, *extra, code=2).stderr
        assert str(folder) in err and "another process" in err
    first.send_signal(signal.SIGCONT)
    _, err = finish(first)
    assert first.returncode == 0, err
    assert_same_run(folder, uninterrupted("adagp"))


@pytest.mark.parametrize("fate", ["moved", "replaced", "deleted"])
def test_a_folder_taken_away_while_training(fate, tmp_path, long_run, finished, uninterrupted):
    folder, moved = tmp_path / "run", tmp_path / "moved"
    command = ["train", *long_run, "--method", "adagp", "-o"]
    process = start_and_stop(*command, folder)
    folder.rename(moved)
    if fate == "replaced":
        shutil.copytree(finished, folder)
    if fate == "deleted":
        shutil.rmtree(moved)
    before = contents(folder)
    process.send_signal(signal.SIGCONT)
    _, err = finish(process)
    assert process.returncode == 1, err
    assert contents(folder) == before and folder.exists() == (fate == "replaced")
    if fate == "deleted":
        assert str(folder) in err and "deleted" in err
        return
    assert str(moved) in err and f"saved after batch {newest_step(moved)}" in err
    assert "resumed" in adagp(*command, moved).stderr
    assert_same_run(moved, uninterrupted("adagp"))


def test_the_summary_of_another_run_is_refused(tmp_path, finished):
    folder = shutil.copytree(finished, tmp_path / "run")
    other = {**summary(folder), "seed": 2, "method": "bp"}
    (folder / "summary.json").write_text(json.dumps(other))
    err = adagp("train", *SHORT, "-o", folder, code=3).stderr
    assert "summary.json" in err and "method bp, expected adagp; seed 2, expected 1" in err
    assert "delete it" in err
    (folder / "summary.json").unlink()
    adagp("train", *SHORT, "-o", folder)
    assert_same_run(folder, finished)


@pytest.mark.parametrize("keep", [0, 0.5])
def test_a_summary_that_is_cut_off_is_named(keep, tmp_path, finished):
    folder = shutil.copytree(finished, tmp_path / "run")
    whole = (folder / "summary.json").read_text()
    (folder / "summary.json").write_text(whole[:int(keep * len(whole))])
    err = adagp("train", *SHORT, "-o", folder, code=3).stderr
    assert "summary.json: not JSON" in err and "json.exception" not in err


def test_a_data_folder_whose_name_is_not_utf8(tmp_path):
    data = os.fsdecode(os.fsencode(tmp_path) + b"/gr\xfc\xdfe")
    adagp("data", "make", "--train", "40", "--test", "20", "--size", "32", "--format", "cifar10",
          "-o", data, errors="replace")
    command = ["train", *NET, "--data", "cifar10", "--data-dir", data, "--batch", "20", "--epochs",
               "1", "-o", tmp_path / "run"]
    adagp(*command, errors="replace")
    (tmp_path / "run/config.toml").read_text("utf-8")
    again = adagp(*command, "--json", errors="replace")
    assert json.loads(again.stdout) == summary(tmp_path / "run")


def full_disk(limit):
    """Writes beyond `limit` bytes of a file fail, as they do on a full disk."""
    def apply():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    return apply


def test_full_disk_keeps_the_checkpoint_before(tmp_path, long_run, uninterrupted):
    folder = tmp_path / "run"
    command = [*long_run, "--method", "adagp", *sets(checkpoint_every="3ba")]
    interrupt(folder, *command, at=60)
    before = {file: file.read_bytes() for file in checkpoints(folder)}
    size = min(map(len, before.values()))

    failed = adagp("train", *command, "-o", folder, code=1, preexec_fn=full_disk(size // 2))
    written = folder / f"checkpoint/step-{newest_step(folder) + 3:010}.safetensors"
    assert str(written) in failed.stderr and "File too large" in failed.stderr
    assert {file: file.read_bytes() for file in checkpoints(folder)} == before
    assert not list(folder.rglob("*.tmp"))

    adagp("train", *command, "-o", folder)
    assert_same_run(folder, uninterrupted("adagp"))


def test_refused_run_leaves_no_folder_and_touches_no_other(tmp_path):
    refused = ["train", *TINY, *sets(data__synthetic_train=8)]
    done = adagp(*refused, "-o", tmp_path / "new", code=2)
    assert "do not fill one batch" in done.stderr
    assert not (tmp_path / "new").exists()
    (tmp_path / "old").mkdir()
    (tmp_path / "old/notes.txt").write_text("mine")
    adagp(*refused, "-o", tmp_path / "old", code=2)
    assert (tmp_path / "old/notes.txt").read_text() == "mine"
