"""adagp report: one HTML file of runs, comparisons and results of the simulators."""

import json
import os
import re
import signal
import subprocess

import pytest

from harness import BIN, adagp, finish, start, wait_until


def write_run(folder, method="bp", seed=0, epochs=3, score=50.0, finished=True, model="net", train=1):
    """A run folder; `train` records for each epoch, as real runs have."""
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(f'method = "{method}"\nseed = {seed}\nepochs = {epochs}\nbatch = 10\n'
                                        f'[model]\nname = "{model}"\n[data]\nname = "toy"\n')
    with open(folder / "metrics.jsonl", "w") as file:
        for epoch in range(epochs):
            for i in range(train):
                print(json.dumps({"kind": "train", "epoch": epoch, "step": 10 * epoch + i, "loss": 2.0}), file=file)
            print(json.dumps({"kind": "epoch", "epoch": epoch, "step": 10 * (epoch + 1),
                              "test_loss": 2.123456 - epoch / epochs, "test_top1": score * (epoch + 1) / epochs,
                              "test_top5": 90.123456, "train_loss": 1.5 + seed / 7,
                              "train_seconds": 1.234567 * (epoch + 1),
                              "cost_epochs": epoch + 1.01234567}), file=file)
    if finished:
        (folder / "summary.json").write_text(json.dumps(
            {"method": method, "model": model, "data": "toy", "device": "cpu", "precision": "fp32", "seed": seed,
             "epochs": epochs, "batch": 10, "task": "classification", "metric": "top1", "figures": {"top1": score},
             "loss": 1.0, "best_top1": score, "train_seconds": 1.5 * epochs, "eval_seconds": 0.5,
             "bp_batches": 10 * epochs, "gp_batches": 0, "cosine": None, "q": None}))
    return folder


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.S).group(1))


def comparison(folder):
    for seed in range(3):
        for method, score in (("bp", 80), ("skip", 70), ("adagp", 75)):
            write_run(folder / f"{method}-seed{seed}", method, seed, score=score + seed)
    return folder


def test_runs_results_and_pipelines_in_one_file(tmp_path):
    sim, pipe = tmp_path / "sim.json", tmp_path / "pipe.json"
    sim.write_text(adagp("simulate", "--model", "resnet8", "--input", "cifar", "--per-layer", "--json").stdout)
    pipe.write_text(adagp("pipeline", "--schedule", "gpipe,dapple", "--gantt", "--json").stdout)
    out = tmp_path / "r.html"
    done = adagp("report", comparison(tmp_path / "runs"), sim, pipe, "-o", out, "--title", "A < B")
    assert done.stdout == "" and "written" in done.stderr
    page = out.read_text()
    assert "<title>A &lt; B</title>" in page
    charts = data_of(page)
    assert [s["n"] for s in charts["runs-1-curves"]["s"]] == ["bp", "adagp", "skip"]
    assert {"accelerator-1-cycles", "accelerator-1-energy", "accelerator-1-roof-1", "pipeline-1-1",
            "pipeline-1-2"} <= charts.keys()
    # Roofline: what the JSON says of a layer's pass.
    layer = json.loads(sim.read_text())["layers"][0]
    forward = next(s for s in charts["accelerator-1-roof-1"]["s"] if s["n"] == "forward")
    place = forward["t"].index(layer["name"])
    cost = layer["passes"]["forward"]
    assert forward["x"]["intensity"][place] == pytest.approx(cost["macs"] / cost["dram_words"], rel=1e-4)
    assert forward["y"]["rate"]["v"][place] == pytest.approx(cost["macs"] / cost["cycles"], rel=1e-4)
    # The Gantt chart has every event.
    events = json.loads(pipe.read_text())[0]["events"]
    figure = page[page.index('id="pipeline-1-1"'):page.index('id="pipeline-1-2"')]
    assert len(re.findall(r'class="fs\d+ box"', figure)) == len(events) == 4 * (4 + 4)


def test_the_roofline_of_a_sweep_has_a_point_for_each_run_and_pass(tmp_path):
    sim, out = tmp_path / "sim.json", tmp_path / "r.html"
    sim.write_text(adagp("simulate", "--model", "resnet8", "--input", "cifar", "--array", "12x15,8x8", "--set",
                         "dram.bytes_per_cycle=16", "--per-layer", "--json").stdout)
    adagp("report", sim, "-o", out)
    charts = data_of(out.read_text())
    runs = json.loads(sim.read_text())
    assert len(runs) == 2 and {"accelerator-1-roof-1", "accelerator-1-roof-2"} <= charts.keys()
    lines = charts["accelerator-1-roof"]["s"]
    # Of a run all layers together.
    backward = next(s for s in lines if s["n"] == "weight gradient")
    for place, run in enumerate(runs):
        passes = [layer["passes"]["weight gradient"] for layer in run["layers"] if "passes" in layer]
        macs, words, cycles = (sum(one[key] for one in passes) for key in ("macs", "dram_words", "cycles"))
        assert backward["t"][place] == f"resnet8 {run['array']}"
        assert backward["x"]["intensity"][place] == pytest.approx(macs / words, rel=1e-4)
        assert backward["y"]["rate"]["v"][place] == pytest.approx(macs / cycles, rel=1e-4)
    # Two arrays, two roofs, at most the number of PEs high.
    roofs = {s["n"]: max(s["y"]["rate"]["v"]) for s in lines if s["n"].startswith("roof")}
    assert len(roofs) == 2
    assert all(height <= int(name.split()[1]) for name, height in roofs.items())


def test_equal_runs_give_equal_bytes(tmp_path):
    runs, out = comparison(tmp_path / "runs"), tmp_path / "r.html"
    pages = []
    for _ in range(2):
        adagp("report", runs, "-o", out)
        pages.append(out.read_bytes())
    assert pages[0] == pages[1]


def test_what_is_left_out_is_said(tmp_path):
    runs = comparison(tmp_path / "runs")
    with open(runs / "bp-seed0/metrics.jsonl", "a") as file:
        file.write('rubbish\n{"kind": "epoch", "ep')
    (tmp_path / "empty").mkdir()
    out = tmp_path / "r.html"
    done = adagp("report", runs, tmp_path / "empty", "-o", out)
    for text in (done.stderr, out.read_text()):
        assert "metrics.jsonl:7: not a record" in text
        assert "no run folder" in text


def test_a_run_of_an_earlier_version_is_shown(tmp_path):
    """With a key, a value of a key, and a file that are no more."""
    run = write_run(tmp_path / "skip", "skip")
    config = run / "config.toml"
    config.write_text('depthwise_kernels = false\ncpu.convolution = "measured"\n' + config.read_text())
    (run / "convolutions.json").write_text('{"format": 1, "shapes": []}')
    done = adagp("report", run, "-o", tmp_path / "r.html")
    assert "config.toml" not in done.stderr and "convolutions.json" not in done.stderr
    assert [s["n"] for s in data_of((tmp_path / "r.html").read_text())["runs-1-curves"]["s"]] == ["skip"]


def test_nothing_to_report_is_a_data_error(tmp_path):
    (tmp_path / "empty").mkdir()
    done = adagp("report", tmp_path / "empty", "-o", tmp_path / "r.html", code=3)
    assert "no run folder" in done.stderr and not (tmp_path / "r.html").exists()
    assert "no such file" in adagp("report", tmp_path / "none", code=3, cwd=tmp_path).stderr
    adagp("report", code=2)
    runs = comparison(tmp_path / "runs")
    assert "twice" in adagp("report", runs, f"{runs}/", code=2, cwd=tmp_path).stderr
    assert "--follow" in adagp("report", runs, "--every", 3, code=2, cwd=tmp_path).stderr


def test_a_report_that_cannot_be_written_leaves_the_earlier_one(tmp_path):
    runs, out = comparison(tmp_path / "runs"), tmp_path / "r.html"
    out.write_text("earlier")
    # As on a full disk: no file may be longer than 1,000 bytes.
    command = ["bash", "-c", 'ulimit -f 1; trap "" XFSZ; exec "$@"', "bash", BIN, "report", str(runs), "-o", str(out)]
    done = subprocess.run(command, text=True, capture_output=True)
    assert done.returncode == 1 and "r.html" in done.stderr
    assert out.read_text() == "earlier"
    assert sorted(os.listdir(tmp_path)) == ["r.html", "runs"]


def test_follow_writes_until_the_runs_are_finished(tmp_path):
    run, out = write_run(tmp_path / "run", finished=False, epochs=2), tmp_path / "r.html"
    process = start("report", run, "-o", out, "--follow", "--every", 1)
    assert wait_until(lambda: out.exists() and "data-reload" in out.read_text(), process)
    assert len(data_of(out.read_text())["runs-1-curves"]["s"][0]["x"]["epoch"]) == 2
    with open(run / "metrics.jsonl", "a") as file:
        print(json.dumps({"kind": "epoch", "epoch": 2, "step": 30, "test_top1": 60, "train_seconds": 4}), file=file)
    assert wait_until(lambda: len(data_of(out.read_text())["runs-1-curves"]["s"][0]["x"]["epoch"]) == 3, process)
    write_run(tmp_path / "other")
    os.rename(tmp_path / "other/summary.json", run / "summary.json")
    _, err = finish(process)
    assert process.returncode == 0 and "all runs are finished" in err
    assert "data-reload" not in out.read_text()


@pytest.mark.parametrize("begun", [False, True])
def test_follow_waits_for_the_first_run(tmp_path, begun):
    runs, out = tmp_path / "runs", tmp_path / "r.html"
    if begun:
        runs.mkdir()  # as 'compare' makes it before its first run
    process = start("report", runs, "-o", out, "--follow", "--every", 1)
    said = process.stderr.readline()
    assert "waiting for the first run" in said and not out.exists()
    runs.mkdir(exist_ok=True)
    write_run(tmp_path / "other")
    os.rename(tmp_path / "other", runs / "bp-seed0")
    _, err = finish(process)
    assert process.returncode == 0 and "all runs are finished" in err and "</html>" in out.read_text()
    assert "waiting for the first run" not in err, "told twice"
    # Nothing will come of a file.
    (tmp_path / "x.json").write_text("rubbish")
    adagp("report", tmp_path / "x.json", "--follow", "-o", tmp_path / "x.html", code=3)


def test_ctrl_c_ends_waiting_for_the_first_run(tmp_path):
    process = start("report", tmp_path / "none", "-o", tmp_path / "r.html", "--follow")
    assert "waiting" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, err = finish(process)
    assert process.returncode == 130 and "no run has begun" in err
    assert os.listdir(tmp_path) == []


def test_ctrl_c_ends_following(tmp_path):
    run, out = write_run(tmp_path / "run", finished=False), tmp_path / "r.html"
    process = start("report", run, "-o", out, "--follow", "--every", 60)
    assert wait_until(out.exists, process)
    process.send_signal(signal.SIGINT)
    _, err = finish(process)
    assert process.returncode == 130 and "stopped" in err
    assert "</html>" in out.read_text()


@pytest.mark.parametrize("methods, seeds, epochs, kilobytes", [(5, 3, 30, 500), (10, 10, 300, 3000)])
def test_size(tmp_path, methods, seeds, epochs, kilobytes):
    for method in range(methods):
        for seed in range(seeds):
            write_run(tmp_path / f"runs/m{method}-seed{seed}", f"m{method}", seed, epochs, 50 + method, train=2)
    adagp("report", tmp_path / "runs", "-o", tmp_path / "r.html")
    assert (tmp_path / "r.html").stat().st_size <= 1000 * kilobytes
