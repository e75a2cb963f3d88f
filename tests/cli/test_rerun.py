"""adagp rerun: a finished run made again, and what its record says."""

import json
import shutil
import signal

import pytest

from harness import BIN, TINY, adagp, finish, newest_step, sets, start, wait_until


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
    done = adagp("rerun", run, "-o", tmp_path / "again")
    assert "equal: the weights of both runs are the same bytes" in done.stdout
    assert (tmp_path / "again/weights.safetensors").read_bytes() == (run / "weights.safetensors").read_bytes()
    # The same command shows the finished rerun.
    found = json.loads(adagp("rerun", run, "-o", tmp_path / "again", "--json").stdout)
    assert found["bytes_equal"] and found["equality_expected"] and not found["differences"]


def test_what_is_not_as_it_was_is_said(run, tmp_path):
    folder = copy_of(run, tmp_path, version="0.0.1", libtorch="1.0", data="1+1 images, 00000000")
    done = adagp("rerun", f"{folder}/")
    assert (tmp_path / "run-rerun/summary.json").exists()
    for word in ("version 0.0.1, now ", "libtorch 1.0, now ", "data 1+1 images, 00000000, now 200+50"):
        assert word in done.stderr
    assert not json.loads(adagp("rerun", folder, "--json").stdout)["equality_expected"]


def test_other_weights_are_noticed(run, tmp_path):
    folder = copy_of(run, tmp_path)
    adagp("train", *TINY, "--method", "adagp", "--epochs", "2", "--seed", "7", "-o", tmp_path / "other")
    shutil.copy(tmp_path / "other/weights.safetensors", folder)
    done = adagp("rerun", folder, code=1)
    assert "not equal: the weights differ by at most" in done.stdout
    weights = bytearray((folder / "weights.safetensors").read_bytes())
    weights[-2] ^= 1
    (folder / "weights.safetensors").write_bytes(weights)
    assert "damaged" in adagp("rerun", folder, code=3).stderr


def test_an_interrupted_rerun_goes_on(run, tmp_path):
    long = tmp_path / "long"
    adagp("train", *TINY, "--epochs", "30", *sets(checkpoint_every="5ba"), "-o", long)
    process = start("rerun", long, "-o", tmp_path / "again")
    assert wait_until(lambda: newest_step(tmp_path / "again") > 0, process)
    process.send_signal(signal.SIGTERM)
    finish(process)
    assert process.returncode == 128 + signal.SIGTERM
    assert "equal: " in adagp("rerun", long, "-o", tmp_path / "again").stdout


def test_what_cannot_be_made_again_is_refused(run, tmp_path):
    assert "no run is there" in adagp("rerun", tmp_path, code=3).stderr
    unfinished = copy_of(run, tmp_path)
    (unfinished / "summary.json").unlink()
    assert "not finished" in adagp("rerun", unfinished, code=3).stderr
    shutil.rmtree(unfinished)
    several = copy_of(run, tmp_path, command=["adagp", "train", "--parallel", "data,local=2"])
    assert "several processes" in adagp("rerun", several, code=2).stderr
