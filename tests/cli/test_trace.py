"""Traces of zeros in the run folder: resumed, on a full disk, refused."""

import json
import resource
import signal

import pytest

from harness import DATA, NET, TINY, adagp, assert_same_run, interrupt, sets, summary

RUN = [*TINY, "--epochs", "4", *sets(trace__every="1ep", checkpoint_every="3ba")]
TRACED = [*RUN, "--method", "adagp", "--schedule", "1ep bp, 1:1"]
FILES = [f"trace/e00{epoch}.safetensors" for epoch in (1, 2, 3, 4)]


def traces(folder):
    return sorted(str(file.relative_to(folder)) for file in folder.glob("trace/*"))


def test_a_resumed_run_has_the_same_traces(tmp_path):
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    adagp("train", *TRACED, "-o", whole)
    for at in (6, 24):
        code, _, err = interrupt(cut, *TRACED, at=at)
        assert code == 143, err
    adagp("train", *TRACED, "-o", cut)
    assert_same_run(cut, whole)
    assert traces(whole) == traces(cut) == FILES
    for name in FILES:
        assert (cut / name).read_bytes() == (whole / name).read_bytes(), name


def test_a_machine_needs_nothing_but_the_run(tmp_path):
    run = tmp_path / "run"
    adagp("train", *TRACED, "-o", run)
    told = ["simulate", "--machine", "tensordash", "--trace", run, "--json"]
    found = json.loads(adagp(*told).stdout)
    assert found == json.loads(adagp(*told, "--examples", summary(run)["train_examples"]).stdout)
    assert found["machine_speedup"] > 1
    assert summary(run)["trace_seconds"] > 0


def test_a_trace_that_does_not_fit_the_disk_is_one_warning(tmp_path):
    plain, full = tmp_path / "plain", tmp_path / "full"
    run = [*DATA, *NET, "--batch", "100", "--epochs", "4", "--method", "bp",
           *sets(trace__every="1ep", trace__examples=100, data__synthetic_size=32)]
    adagp("train", *run, "-o", plain)
    largest = max(file.stat().st_size for file in plain.rglob("*") if "trace" not in file.parts)
    limit = (plain / FILES[0]).stat().st_size - 1
    assert limit > largest, "the trace must be the only file that does not fit"

    def little_room():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = adagp("train", *run, "-o", full, preexec_fn=little_room)
    assert_same_run(full, plain)
    assert traces(full) == []
    assert done.stderr.count("trace of epoch") == 1
    assert "trace of epoch 1 is left out, training goes on" in done.stderr
    assert "File too large" in done.stderr


def test_what_stands_in_the_way_of_traces(tmp_path):
    folder = tmp_path / "run"
    adagp("train", *TRACED, *sets(trace__every="0ep"), "-o", folder)
    (folder / "trace").write_text("no folder")
    assert "trace: is no folder" in adagp("train", *TRACED, "-o", folder, code=3).stderr


def test_an_overwritten_run_takes_its_traces_along(tmp_path):
    folder = tmp_path / "run"
    adagp("train", *TRACED, "-o", folder)
    adagp("train", *TRACED, *sets(trace__every="3ep"), "--overwrite", "-o", folder)
    assert traces(folder) == [FILES[2]]


@pytest.mark.parametrize("keys, words", [
    ({"trace__every": "20ba"}, "trace.every = 20ba: expected whole epochs"),
    ({"trace__every": "0.5ep"}, "trace.every = 0.5ep: expected whole epochs"),
    ({"trace__every": "often"}, "duration 'often'"),
    ({"trace__examples": 0}, "trace.examples"),
])
def test_keys_that_make_no_sense(keys, words, tmp_path):
    assert words in adagp("train", *TINY, *sets(**keys), "-o", tmp_path / "run", code=2).stderr


def test_several_processes_have_no_traces(tmp_path):
    refused = adagp("train", *TRACED, "--parallel", "data,local=2", "-o", tmp_path / "run", code=2)
    assert "trace.every = 1ep: traces are recorded in one process" in refused.stderr
