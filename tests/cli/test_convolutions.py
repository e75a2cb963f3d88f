"""cpu.convolution: layouts of convolutions are measured once for a machine and kept with the run."""

import json
import shutil
import signal

import pytest

from harness import (DATA, NET, TINY, adagp, assert_same_run, checkpoints, interrupt, sets)

TABLE = "convolutions.json"
MEASURED = sets(cpu__convolution="measured")
SHORT = [*DATA, *NET, *MEASURED, "--method", "adagp", *sets(checkpoint_every="3ba")]
RUN = [*SHORT, "--batch", "20", "--epochs", "4"]
ONE_EPOCH = [*SHORT, "--batch", "20", "--epochs", "1"]
OTHER = {"channels-last": "contiguous", "contiguous": "channels-last"}
PRODUCTS = ("forward", "input-gradient", "weight-gradient")


def cache_file(folder):
    return folder / "adagp" / TABLE


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache folder of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def choices(table):
    return [shape[product]["chosen"] for shape in table["shapes"] for product in PRODUCTS]


def change(cache, choose):
    """Replaces each choice of the cache: choose(number, present)."""
    stored = json.loads(cache_file(cache).read_text())
    number = 0
    for machine in stored["machines"]:
        for shape in machine["shapes"]:
            for product in PRODUCTS:
                shape[product]["chosen"] = choose(number, shape[product]["chosen"])
                number += 1
    cache_file(cache).write_text(json.dumps(stored))


@pytest.fixture
def mixed(cache, tmp_path):
    """A cache in which every second product is in contiguous memory, whatever this machine prefers."""
    adagp("train", *ONE_EPOCH, "-o", tmp_path / "measuring")
    change(cache, lambda number, _: "contiguous" if number % 2 else "channels-last")
    return cache


def test_a_machine_measures_a_shape_once(cache, tmp_path):
    first = adagp("train", *RUN, "-o", tmp_path / "a")
    assert first.stderr.count("measuring") == 1
    table = json.loads((tmp_path / "a" / TABLE).read_text())
    assert table["threads"] == 1 and table["torch"] and len(table["shapes"]) > 3
    assert all(shape["examples"] == 20 for shape in table["shapes"])
    [machine] = json.loads(cache_file(cache).read_text())["machines"]
    assert machine == table
    again = adagp("train", *RUN, "-o", tmp_path / "b")
    assert "measuring" not in again.stderr
    assert_same_run(tmp_path / "b", tmp_path / "a")
    assert json.loads((tmp_path / "b" / TABLE).read_text()) == table
    # Another batch is another measurement; the first one's stay.
    other = adagp("train", *SHORT, "--batch", "10", "--epochs", "1", "-o", tmp_path / "c")
    assert "measuring" in other.stderr
    [machine] = json.loads(cache_file(cache).read_text())["machines"]
    assert {shape["examples"] for shape in machine["shapes"]} == {10, 20}


def test_only_measured_layouts_have_a_table(mixed, tmp_path):
    adagp("train", *RUN, "-o", tmp_path / "mixed")
    for layout in OTHER:
        adagp("train", *TINY, "--epochs", "1", *sets(cpu__convolution=layout), "-o", tmp_path / layout)
        assert not (tmp_path / layout / TABLE).exists()
    table = json.loads((tmp_path / "mixed" / TABLE).read_text())
    assert set(choices(table)) == set(OTHER)


def test_a_resumed_run_takes_its_own_table(mixed, tmp_path):
    adagp("train", *RUN, "-o", tmp_path / "whole")
    folder = tmp_path / "stopped"
    interrupt(folder, *RUN, at=6, how=signal.SIGKILL)
    change(mixed, lambda _, present: OTHER[present])  # a machine that would choose the opposite
    resumed = adagp("train", *RUN, "-o", folder)
    assert "measuring" not in resumed.stderr
    assert_same_run(folder, tmp_path / "whole")
    assert (folder / TABLE).read_bytes() == (tmp_path / "whole" / TABLE).read_bytes()


def test_a_rerun_takes_the_table_of_its_run(mixed, tmp_path):
    adagp("train", *RUN, "-o", tmp_path / "run")
    change(mixed, lambda _, present: OTHER[present])
    assert "equal: the weights" in adagp("rerun", tmp_path / "run").stdout


def test_overwriting_takes_a_new_table(mixed, tmp_path):
    adagp("train", *RUN, "-o", tmp_path / "run")
    before = json.loads((tmp_path / "run" / TABLE).read_text())
    change(mixed, lambda _, present: OTHER[present])
    adagp("train", *RUN, "--overwrite", "-o", tmp_path / "run")
    after = json.loads((tmp_path / "run" / TABLE).read_text())
    assert choices(after) == [OTHER[choice] for choice in choices(before)]


def stopped_run(tmp_path):
    folder = tmp_path / "run"
    interrupt(folder, *RUN, at=3)
    assert checkpoints(folder) and not (folder / "summary.json").exists()
    return folder


def test_a_lost_or_damaged_table_of_a_run_is_an_error(cache, tmp_path):
    folder = stopped_run(tmp_path)
    text = (folder / TABLE).read_text()
    (folder / TABLE).write_text(text[:len(text) // 2])
    assert "--overwrite" in adagp("train", *RUN, "-o", folder, code=3).stderr
    (folder / TABLE).unlink()
    assert "missing" in adagp("train", *RUN, "-o", folder, code=3).stderr
    (folder / TABLE).write_text(text)
    adagp("train", *RUN, "-o", folder)


def test_a_damaged_cache_is_measured_again(cache, tmp_path):
    adagp("train", *ONE_EPOCH, "-o", tmp_path / "a")
    whole = cache_file(cache).read_bytes()
    cache_file(cache).write_bytes(whole[:len(whole) // 2])
    done = adagp("train", *ONE_EPOCH, "-o", tmp_path / "b")
    assert done.stderr.count(": damaged (") == 1 and "measuring" in done.stderr
    assert len(json.loads(cache_file(cache).read_text())["machines"]) == 1
    assert list(cache_file(cache).parent.iterdir()) == [cache_file(cache)]


def test_a_cache_that_cannot_be_written_costs_a_warning(tmp_path):
    done = adagp("train", *ONE_EPOCH, "-o", tmp_path / "run",
                 env={"XDG_CACHE_HOME": "/dev/null/cache"})
    assert done.stderr.count("is not kept for other runs") == 1
    assert (tmp_path / "run" / TABLE).exists()


def test_processes_share_the_leaders_table(mixed, tmp_path):
    """The halves of a batch are measured by one process, and a folder's table holds for all."""
    shared = [*RUN, "--parallel", "data,local=2"]
    done = adagp("train", *shared, "-o", tmp_path / "a")
    assert done.stderr.count("measuring") == 1
    table = json.loads((tmp_path / "a" / TABLE).read_text())
    assert all(shape["examples"] == 10 for shape in table["shapes"])
    # Copies whose products differed would part: they do not, and so a resumed run is the same.
    change(mixed, lambda number, _: "contiguous" if number % 2 else "channels-last")
    adagp("train", *shared, "-o", tmp_path / "b")
    change(mixed, lambda _, present: OTHER[present])
    (tmp_path / "c").mkdir()
    shutil.copy(tmp_path / "b" / TABLE, tmp_path / "c")
    adagp("train", *shared, "-o", tmp_path / "c")
    assert_same_run(tmp_path / "c", tmp_path / "b")


def test_bench_shows_the_choice(mixed):
    bench = ["bench", *NET, "--threads", "1", "--batch", "20", "--input", "8x8", "--repeats", "1"]
    found = json.loads(adagp(*bench, *MEASURED, "--json").stdout)["layouts"]
    assert len({row["layer"] for row in found}) * len(PRODUCTS) == len(found)
    for row in found:
        assert row["chosen"] in OTHER and row["product"] in PRODUCTS
        assert all(row["ms"][layout] > 0 for layout in OTHER)
    assert {row["chosen"] for row in found} == set(OTHER)
    text = adagp(*bench, *MEASURED).stdout
    assert "channels-last ms" in text and "all products:" in text
    assert "layouts" not in json.loads(adagp(*bench, "--json").stdout)


def test_an_unknown_value_is_refused(tmp_path):
    bad = adagp("train", *TINY, *sets(cpu__convolution="fastest"), "-o", tmp_path / "run", code=2)
    assert "measured" in bad.stderr
