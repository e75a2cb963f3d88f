"""adagp reproduce RUN: a finished run made again, and what its record says."""

import json
import os
import shutil
import signal

import pytest

from harness import BIN, CHECKPOINT, TINY, adagp, newest_step, sets, stopping


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "first"
    adagp("train", *TINY, "--method", "adagp", "--epochs", "2", "-o", folder)
    return folder


def copy_of(run, tmp_path, **environment):
    """The run in another folder, its environment.json changed."""
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    record = json.loads((folder / "environment.json").read_text())
    (folder / "environment.json").write_text(json.dumps({**record, **environment}))
    return folder


def test_the_record_says_what_made_the_run(run):
    record = json.loads((run / "environment.json").read_text())
    assert record["command"][0] == BIN and "--method" in record["command"]
    assert record["version"] == adagp("--version").stdout.split()[-1]
    assert record["data"].startswith("200+50 images, ")
    assert record["threads"] == 1 and record["device"] == "cpu" and record["libtorch"]


def test_other_data_has_another_fingerprint(run, tmp_path):
    adagp("train", *TINY, "--method", "bp", "--epochs", "1", *sets(data__synthetic_noise=0.9), "-o", tmp_path / "a")
    first, other = (json.loads((folder / "environment.json").read_text())["data"] for folder in (run, tmp_path / "a"))
    assert first != other and first.startswith("200+50") and other.startswith("200+50")


def test_a_run_on_a_cpu_gives_the_same_bytes(run, tmp_path):
    done = adagp("reproduce", run, "-o", tmp_path / "again")
    assert "equal: the weights of both runs are the same bytes" in done.stdout
    assert (tmp_path / "again/weights.safetensors").read_bytes() == (run / "weights.safetensors").read_bytes()
    # The same command shows the finished rerun.
    found = json.loads(adagp("reproduce", run, "-o", tmp_path / "again", "--json").stdout)
    assert found["bytes_equal"] and found["equality_expected"] and not found["differences"]


def test_what_is_not_as_it_was_is_said(run, tmp_path):
    folder = copy_of(run, tmp_path, version="0.0.1", libtorch="1.0", data="1+1 images, 00000000")
    done = adagp("reproduce", f"{folder}/")
    assert (tmp_path / "run-rerun/summary.json").exists()
    for word in ("version 0.0.1, now ", "libtorch 1.0, now ", "data 1+1 images, 00000000, now 200+50"):
        assert word in done.stderr
    assert not json.loads(adagp("reproduce", folder, "--json").stdout)["equality_expected"]


def test_other_weights_are_noticed(run, tmp_path):
    folder = copy_of(run, tmp_path)
    adagp("train", *TINY, "--method", "adagp", "--epochs", "2", "--seed", "7", "-o", tmp_path / "other")
    shutil.copy(tmp_path / "other/weights.safetensors", folder)
    done = adagp("reproduce", folder, code=1)
    assert "not equal: the weights differ by at most" in done.stdout
    weights = bytearray((folder / "weights.safetensors").read_bytes())
    weights[-2] ^= 1
    (folder / "weights.safetensors").write_bytes(weights)
    assert "damaged" in adagp("reproduce", folder, code=3).stderr


def test_an_interrupted_rerun_goes_on(run, tmp_path):
    long = tmp_path / "long"
    adagp("train", *TINY, "--epochs", "30", *sets(checkpoint_every="5ba"), "-o", long)
    adagp("reproduce", long, "-o", tmp_path / "again", env=stopping(CHECKPOINT), code=128 + signal.SIGTERM)
    assert newest_step(tmp_path / "again") > 0
    assert "equal: " in adagp("reproduce", long, "-o", tmp_path / "again").stdout


def test_what_cannot_be_made_again_is_refused(run, tmp_path):
    assert "no run is there" in adagp("reproduce", tmp_path, code=3).stderr
    unfinished = copy_of(run, tmp_path)
    (unfinished / "summary.json").unlink()
    assert "not finished" in adagp("reproduce", unfinished, code=3).stderr
    shutil.rmtree(unfinished)
    several = copy_of(run, tmp_path, command=["adagp", "train", "--parallel", "data,local=2"])
    assert "several processes" in adagp("reproduce", several, code=2).stderr
    assert "--epochs: a run is made again as it was" in adagp("reproduce", run, "--epochs", 2, code=2).stderr
    assert "no folder of a run" in adagp("reproduce", tmp_path / "none", code=2).stderr


def test_a_run_is_not_compared_with_itself(run, tmp_path):
    (tmp_path / "link").symlink_to(run)
    for same in (run, f"{run}/", run / ".." / run.name, tmp_path / "link"):
        assert "is the run itself" in adagp("reproduce", run, "-o", same, code=2).stderr
    # Nor are its weights by another name.
    done = shutil.copytree(run, tmp_path / "copy")
    (done / "weights.safetensors").unlink()
    os.link(run / "weights.safetensors", done / "weights.safetensors")
    assert "is the run itself" in adagp("reproduce", run, "-o", done, code=2).stderr


def test_a_rerun_of_the_present_folder_lies_beside_it(run, tmp_path):
    folder = copy_of(run, tmp_path)
    assert "equal: " in adagp("reproduce", ".", cwd=folder).stdout
    assert (tmp_path / "run-rerun/summary.json").exists()
    assert not list(folder.glob("*rerun*"))


def test_missing_weights_are_noticed_before_the_training(run, tmp_path):
    folder = copy_of(run, tmp_path)
    (folder / "weights.safetensors").unlink()
    assert "weights.safetensors: cannot be opened" in adagp("reproduce", folder, code=3).stderr
    os.mkfifo(folder / "weights.safetensors")
    assert "is a pipe, expected a file" in adagp("reproduce", folder, code=3).stderr
    assert not (tmp_path / "run-rerun").exists()


@pytest.mark.parametrize("kind", ["deep", "pipe", "device", "large"])
def test_a_record_of_any_kind_is_survived(kind, run, tmp_path):
    folder = copy_of(run, tmp_path)
    record = folder / "environment.json"
    record.unlink()
    if kind == "deep":
        record.write_text('{"version": ' + 200_000 * "[" + 200_000 * "]" + "}")
    elif kind == "pipe":
        os.mkfifo(record)
    elif kind == "device":
        record.symlink_to("/dev/zero")
    else:
        record.touch()
        os.truncate(record, 2**40)  # no bytes on the disk
    done = adagp("reproduce", folder)
    assert "environment.json: missing or not readable" in done.stderr and "equal: " in done.stdout


def test_a_name_that_is_too_long_is_said_in_plain_words(tmp_path):
    name = 256 * "n"
    err = adagp("reproduce", name, code=2, cwd=tmp_path).stderr
    assert "no folder of a run" in err and "filesystem error" not in err
