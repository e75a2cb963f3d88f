"""A checkpoint is of one run; what a run folder brings is its own and of a sane size."""

import json
import shutil

import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from harness import NET, TINY, adagp, checkpoints, contents, sets

BASE = [*TINY, *sets(method="bp", epochs=2)]


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    folder = tmp_path_factory.mktemp("identity") / "first"
    adagp("train", *BASE, "-o", folder)
    return folder


def unfinished(run, tmp_path, checkpoints_of=None):
    """The run without its end; its checkpoints may be another's."""
    folder = shutil.copytree(run, tmp_path / "run")
    (folder / "summary.json").unlink()
    if checkpoints_of is not None:
        shutil.rmtree(folder / "checkpoint")
        shutil.copytree(checkpoints_of / "checkpoint", folder / "checkpoint")
    return folder


def change_state(file, change, name=None):
    """Rewrites a checkpoint's state as another program would: without our checksums."""
    with safe_open(file, "np") as opened:
        state = json.loads(opened.metadata()["adagp.checkpoint"])
    tensors = load_file(file)
    file.unlink()
    change(state)
    save_file(tensors, file.with_name(name or file.name), {"adagp.checkpoint": json.dumps(state)})


@pytest.mark.parametrize("other, words", [
    (["--seed", "5"], "seed 5, expected 0"),
    (sets(method="adagp"), "method 'adagp', expected 'bp'"),
    (sets(optim__lr=0.015625), "optim.lr 0.015625, expected "),
    (sets(epochs=3), "epochs 3, expected 2"),
    ([], "run "),  # the same configuration and data, but not the same start
])
def test_a_checkpoint_of_another_run_is_refused(other, words, first, tmp_path):
    adagp("train", *BASE, *other, "-o", tmp_path / "other")
    folder = unfinished(first, tmp_path, tmp_path / "other")
    before = contents(folder)
    err = adagp("train", *BASE, "-o", folder, code=3).stderr
    assert f"{checkpoints(folder)[-1]}: is of another run: {words}" in err and "--overwrite" in err
    assert contents(folder) == before


def test_checkpoints_of_another_run_push_out_none_of_this_one(first, tmp_path):
    adagp("train", *BASE, *sets(epochs=4), "-o", tmp_path / "other")
    folder = unfinished(first, tmp_path)
    for file in checkpoints(tmp_path / "other"):
        shutil.copy(file, folder / "checkpoint")
    assert len(checkpoints(folder)) == 4
    before = contents(folder)
    assert "is of another run: epochs 4" in adagp("train", *BASE, "-o", folder, code=3).stderr
    assert contents(folder) == before


def test_a_checkpoint_of_other_data_is_refused(tmp_path):
    data = tmp_path / "all.safetensors"

    def make(seed):
        data.unlink(missing_ok=True)
        adagp("data", "pack", "--data", "synthetic", "--size", "8", "--train", "60", "--test", "20", "--seed", seed,
              "-o", data)
    make(1)
    train = ["train", "--data", "packed", "--data-dir", data, "--threads", "1", *NET, "--batch", "20",
             "--method", "bp", "--epochs", "1",
             *sets(data__mean="[0.5,0.5,0.5]", data__std="[0.2,0.2,0.2]"), "-o", tmp_path / "run"]
    adagp(*train)
    (tmp_path / "run/summary.json").unlink()
    make(2)
    err = adagp(*train, code=3).stderr
    assert "is of another run: data 60+20 images, " in err and "expected 60+20 images, " in err


def test_a_checkpoint_that_names_no_run_is_refused(first, tmp_path):
    folder = unfinished(first, tmp_path)
    change_state(checkpoints(folder)[-1], lambda state: state.pop("run"))
    err = adagp("train", *BASE, "-o", folder, code=3).stderr
    assert "does not say which run it is of" in err and "--overwrite" in err


def test_a_checkpoint_beyond_the_end_is_refused(first, tmp_path):
    folder = unfinished(first, tmp_path)
    change_state(checkpoints(folder)[-1], lambda state: state.update(step=32), "step-0000000032.safetensors")
    err = adagp("train", *BASE, "-o", folder, code=3).stderr
    assert "is of batch 32, beyond the end of the run (20 batches)" in err


@pytest.mark.parametrize("change, words", [
    (lambda state: state.update(step="x"), "key 'step' is \"x\", expected a whole number"),
    (lambda state: state.update(step=3), "is of batch 3, expected the name step-0000000003.safetensors"),
])
def test_a_checkpoint_that_is_not_what_its_name_says_is_passed_over(change, words, first, tmp_path):
    folder = unfinished(first, tmp_path)
    change_state(checkpoints(folder)[-1], change)
    err = adagp("train", *BASE, "-o", folder).stderr
    assert words in err and "trying the checkpoint before" in err and "json.exception" not in err
    assert (folder / "weights.safetensors").read_bytes() == (first / "weights.safetensors").read_bytes()


@pytest.mark.parametrize("name", ["checkpoint", "tb", "metrics.jsonl", "checkpoint/step-0000000099.safetensors"])
def test_links_in_a_run_folder_are_not_written_through(name, first, tmp_path):
    elsewhere = shutil.copytree(first, tmp_path / "elsewhere")
    (elsewhere / "checkpoint/step-0000000099.safetensors").write_text("old")
    before = contents(elsewhere)
    folder = unfinished(first, tmp_path)
    own = folder / name
    shutil.rmtree(own) if own.is_dir() else own.unlink(missing_ok=True)
    own.symlink_to(elsewhere / name)
    err = adagp("train", *BASE, "-o", folder, code=3).stderr
    assert f"{folder / name}: is a link" in err
    assert contents(elsewhere) == before
    # A new run takes the place of the link, not of what it leads to.
    adagp("train", *BASE, "-o", folder, "--overwrite")
    assert contents(elsewhere) == before and not (folder / name).is_symlink()


def test_a_finished_run_with_links_is_shown(first, tmp_path):
    folder = shutil.copytree(first, tmp_path / "run")
    (folder / "weights.safetensors").unlink()
    (folder / "weights.safetensors").symlink_to(first / "weights.safetensors")
    assert "bp resnet8" in adagp("train", *BASE, "-o", folder).stdout


def test_missing_weights_are_noticed_before_a_budget_is_measured(first, tmp_path):
    err = adagp("train", *TINY, "--method", "equal-time", "--epochs", "2", "--weights", tmp_path / "none.safetensors",
                *sets(equal_time__reference=first), "-o", tmp_path / "run", code=3).stderr
    assert "none.safetensors: cannot be opened" in err and " buy " not in err
    assert not (tmp_path / "run").exists()
