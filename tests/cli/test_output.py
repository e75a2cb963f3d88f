"""What the commands print: data on stdout, JSON that parses, no escape codes outside a terminal."""

import csv
import json
import os
import pty
import re
import resource
import subprocess

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from harness import BIN, DATA, NET, TINY, adagp, environment, sets, summary


def as_json(*args):
    return json.loads(adagp(*args, "--json").stdout)


def test_list_models():
    models = {entry["name"]: entry for entry in as_json("list", "models")}
    assert all({"name", "task", "parameters", "macs", "input"} <= set(entry)
               for entry in models.values())
    # Published counts (torchvision's model pages).
    assert models["resnet50"]["parameters"] == 25_557_032
    assert models["vgg16"]["parameters"] == 138_357_544
    assert models["vgg16"]["input"] == "3x224x224"


@pytest.mark.parametrize("kind, some", [
    ("methods", {"bp", "adagp", "skip", "zero", "ema", "small-batch", "wrong-input", "equal-time"}),
    ("data", {"synthetic", "cifar10", "cifar100", "image-folder", "packed"}),
    ("predictors", {"shared", "remap"}),
    ("schedules", {"auto", "paper", "bp"}),
])
def test_other_lists(kind, some):
    entries = as_json("list", kind)
    assert some <= {entry["name"] for entry in entries}
    assert all(name in adagp("list", kind).stdout for name in some)


def test_layers():
    table = as_json("layers", "--model", "vgg16", "--input", "imagenet")
    text = json.dumps(table)
    assert "features.0" in text and "classifier.6" in text
    covered = as_json("layers", "--model", "vgg16", "--coverage")
    assert covered["parameters"] == 138_357_544
    assert sum(row["parameters"] for row in covered["summary"]) == covered["parameters"]


def test_outputs_that_are_no_plain_files(tmp_path):
    command = ["layers", "--model", "resnet8", "--csv", "-o"]
    link, file, own = (tmp_path / name for name in ("link.csv", "file.csv", "link.csv.tmp"))
    file.write_text("old")
    link.symlink_to(file.name)
    own.write_text("the user's")
    adagp(*command, link)
    assert link.is_symlink() and own.read_text() == "the user's"
    assert file.read_text() == adagp(*command, "/dev/stdout").stdout
    assert file.read_text().startswith("model,")
    assert adagp(*command, "/dev/full", code=1).stderr.count("No space left on device") == 1
    assert os.stat("/dev/full").st_mode & 0o170000 == 0o020000, "a device was replaced"


def test_doctor():
    report = as_json("doctor")
    assert report["training_possible"] is True
    assert {"LibTorch", "CPU", "memory", "disk"} <= {check["name"] for check in report["checks"]}
    assert "Training is possible" in adagp("doctor").stdout


def test_data_info():
    info = as_json("data", "info", "--train", "70", "--test", "30", "--size", "16")
    assert (info["train"], info["test"], info["height"], info["width"]) == (70, 30, 16, 16)
    assert sum(entry["train"] for entry in info["classes"]) == 70


def test_dry_run_agrees_with_the_run_and_leaves_nothing(finished, tmp_path):
    args = ["train", *TINY, "--epochs", "3", "--seed", "1"]
    plan = json.loads(adagp(*args, "--dry-run", "--json", cwd=tmp_path).stdout)
    done = summary(finished)
    assert (plan["bp_batches"], plan["gp_batches"]) == (done["bp_batches"], done["gp_batches"])
    assert plan["batches_per_epoch"] == 10 and plan["total_seconds"] > 0
    assert "memory" in adagp(*args, "--dry-run", cwd=tmp_path).stdout
    assert not list(tmp_path.iterdir())


def test_a_run_without_gp_batches_says_so(tmp_path):
    args = ["train", *TINY, "--epochs", "1", "--method", "adagp"]
    for extra in (["--dry-run"], ["-o", tmp_path / "run"]):
        told = [line for line in adagp(*args, *extra, cwd=tmp_path).stderr.splitlines()
                if "no GP batch" in line]
        assert len(told) == 1 and "--schedule" in told[0]


def test_batches_without_a_forward_pass_have_no_loss(tmp_path):
    done = adagp("train", *TINY, "--epochs", "2", "--method", "zero", "--schedule", "1ep bp, gp",
                 *sets(log_every="5ba"), "-o", tmp_path / "run")
    assert re.search(r"epoch 2 .* loss - top1 - ", done.stderr) and "nan" not in done.stderr


def test_dry_run_says_what_it_does_and_takes_any_length(tmp_path):
    done = adagp("train", *TINY, "--epochs", "1000000000", "--dry-run", "--json", cwd=tmp_path)
    for step in ("opening data", "making network", "timing steps"):
        assert f"dry run: {step}" in done.stderr
    plan = json.loads(done.stdout)
    assert plan["bp_batches"] + plan["gp_batches"] == 10 * 10**9
    assert "no GP batch" not in done.stderr


def test_bf16_on_a_cpu_is_fp32_and_says_so(tmp_path):
    """As with a recipe made for a GPU."""
    args = [*TINY, "--epochs", "2", "--method", "bp", "--precision", "bf16", "--device", "cpu"]
    done = adagp("train", *args, "-o", tmp_path / "run")
    told = [line for line in done.stderr.splitlines() if "precision = bf16" in line]
    assert len(told) == 1 and "fp32" in told[0] and "GPU" in told[0], done.stderr
    assert summary(tmp_path / "run")["precision"] == "fp32"
    assert 'precision = "fp32"' in (tmp_path / "run/config.toml").read_text().replace("'", '"')
    again = adagp("train", *args, "-o", tmp_path / "run")  # finished, and not another configuration
    assert again.stdout == done.stdout
    adagp("train", *args, "--dry-run", cwd=tmp_path)
    # Progress tells how long the rest will take, but not at the end.
    epochs = [line for line in done.stderr.splitlines() if " done: " in line]
    assert re.search(r" left [0-9.]+ s$", epochs[0]) and " left " not in epochs[1], epochs


def test_too_many_threads_are_an_error(tmp_path):
    """Stacks of 20,000 threads do not fit into what is allowed here: at least 2 MiB each."""
    def little_memory():
        resource.setrlimit(resource.RLIMIT_AS, (24 << 30, 24 << 30))
    err = adagp("train", *TINY, "--epochs", "1", *sets(augment__workers=20000), "--device", "cpu",
                "-o", tmp_path / "run", code=1, preexec_fn=little_memory).stderr
    assert "of 20000 cannot be started" in err and "augment.workers" in err


def test_bench():
    result = as_json("bench", "--model", "resnet8", "--input", "8x8", "--batch", "8", "--repeats",
                     "2", "--threads", "1", "--set", "head=exact")
    forward, gp, bp = (result[k] for k in ("fw_ms", "gp_ms", "bp_ms"))
    assert min(forward, gp, bp, result["bp_train_ms"], *result["peak_mib"].values()) > 0
    assert abs(result["ratio_gp_fw"] - gp / forward) < 1e-9
    assert result["spread"]["bp_ms"][0] <= bp <= result["spread"]["bp_ms"][1]
    assert result["graph"] is False and result["device"].startswith("CPU")
    ceiling = bp / (bp + result["gp_share"] * (forward - bp))  # GP = forward, BP + predictor = BP
    assert abs(result["ceiling"] - ceiling) < 1e-9


def test_bench_roofline(tmp_path):
    """Counted work beside measured time; twice the limits halve the time at the limit."""
    picture = tmp_path / "roof.svg"
    tiny = ["bench", "--roofline", "--input", "8x8", "--batch", "4", "--repeats", "2", "--threads", "1",
            "--peak-gflops", "10"]
    slow, fast = (as_json(*tiny, "--models", "resnet8,vgg8s", "--peak-bandwidth", str(rate),
                          "--plot", picture) for rate in (1e-6, 2e-6))
    assert [network["model"] for network in slow] == ["resnet8", "vgg8s"]
    for network, other in zip(slow, fast):
        for name, step in network["steps"].items():
            kinds = step["kinds"].values()
            # Memory this slow decides the time of every piece.
            assert abs(step["limit_ms"] / other["steps"][name]["limit_ms"] - 2) < 1e-6
            assert abs(sum(kind["flops"] for kind in kinds) / step["flops"] - 1) < 1e-9
            # The kinds and `other` are the whole step.
            assert abs(sum(kind["measured_ms"] for kind in kinds) / step["measured_ms"] - 1) < 1e-6
            assert step["kinds"]["convolution"]["measured_ms"] > 0
        assert network["steps"]["gp"]["kinds"]["predictor"]["measured_ms"] > 0
        assert network["steps"]["gp"]["kinds"]["summaries"]["measured_ms"] > 0
        assert network["steps"]["bp"]["kinds"]["optimizer"]["measured_ms"] > 0
        assert "predictor" not in network["steps"]["bp"]["kinds"]
        assert network["limits"]["given"] and network["not_counted"]
    drawn = picture.read_text()
    assert all(word in drawn for word in ("<svg", "resnet8: limit", "vgg8s: limit", "convolution"))
    text = adagp(*tiny, "--model", "resnet8").stdout  # the bandwidth is measured
    assert "10.0 GFLOP/s (a product as given)" in text and "share of the limit" in text and "not counted" in text


def test_bench_roofline_names_what_a_network_computes_twice():
    tiny = ["bench", "--roofline", "--input", "8x8", "--batch", "2", "--repeats", "1", "--threads",
            "1", "--peak-bandwidth", "1", "--models", "resnet8,revnet18s"]
    plain, reversible = (network["not_counted"] for network in as_json(*tiny))
    assert [what for what in reversible if what not in plain] == [
        "the second forward pass of reversible blocks in bp and bp-train"]
    assert {network["limits"]["product"] for network in as_json(*tiny)} == {"fp32"}


def test_bench_roofline_as_csv_and_markdown():
    tiny = ["bench", "--roofline", "--input", "8x8", "--batch", "4", "--repeats", "1", "--threads", "1",
            "--peak-gflops", "10", "--peak-bandwidth", "1", "--models", "resnet8,vgg8s"]
    rows = list(csv.DictReader(adagp(*tiny, "--csv").stdout.splitlines()))
    assert {row["network"] for row in rows} == {"resnet8", "vgg8s"}
    for network in ("resnet8", "vgg8s"):
        for step in ("forward", "gp", "bp", "bp-train"):
            own = {row["kind"]: row for row in rows if (row["network"], row["step"]) == (network, step)}
            whole = own.pop("all")
            # The kinds add up to the whole, counted and measured.
            for column in ("flops", "bytes", "limit_ms", "measured_ms"):
                parts = sum(float(row[column]) for row in own.values())
                assert abs(parts / float(whole[column]) - 1) < 1e-6, (network, step, column)
    lines = adagp(*tiny, "--markdown").stdout.splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 2 + 2 * 4 and "convolution" in table[0] and table[2].startswith("| resnet8 |")


def test_bench_depthwise():
    """On a CPU: the references beside LibTorch's convolutions, on the shapes of a narrow network."""
    tiny = ["bench", "--depthwise", "--input", "8x8", "--batch", "1", "--repeats", "1", "--threads", "1",
            "--peak-bandwidth", "1", "--model", "mobilenet_v2", "--set", "model.width_divisor=2"]
    found = as_json(*tiny)
    assert found["references"] and found["model"] == "mobilenet_v2"
    products = found["products"]
    assert {p["product"] for p in products} == {"forward", "input gradient", "weight gradient"}
    assert sum(p["layers"] for p in products if p["product"] == "forward") == 17
    first = products[0]
    assert (first["height"], first["width"], first["channels"], first["stride"]) == (8, 8, 16, 1)
    for p in products:
        out = (p["height"] - 1) // p["stride"] + 1
        assert p["bytes"] == 4 * p["channels"] * (p["height"] ** 2 + out ** 2)
        assert abs(p["limit_us"] / (p["bytes"] / 1e3) - 1) < 1e-9  # at 1 GB/s
        assert p["library_us"] > 0 and p["own_us"] > 0
    text = adagp(*tiny).stdout
    assert "a whole step" in text and "references" in text
    refused = adagp("bench", "--depthwise", "--input", "8x8", "--model", "resnet8", code=2).stderr
    assert "resnet8 has no 3x3 depthwise" in refused


def test_bench_roofline_refuses_what_does_not_fit():
    for wrong, told in ((["--models", "resnet8"], "--roofline"),
                        (["--roofline", "--models", "resnet8,resnet9"], "resnet9"),
                        (["--roofline", "--models", ","], "names no network"),
                        (["--roofline", "--only", "bp"], "--only"),
                        (["--roofline", "--precision", "fast"], "precision = fast"),
                        (["--roofline", "--peak-gflops", "0"], "--peak-gflops"),
                        (["--roofline", "--csv", "--json"], "--json"),
                        (["--csv"], "--roofline"), (["--depthwise", "--roofline"], "--roofline"),
                        (["--peak-bandwidth", "5"], "requires --roofline or --depthwise")):
        assert told in adagp("bench", "--input", "8x8", *wrong, code=2).stderr


def test_bench_takes_the_length_of_sentences():
    tiny = ["bench", "--model", "transformer", "--batch", "2", "--repeats", "2", "--threads", "1",
            "--set", "model.width=16", "--set", "model.heads=2", "--set", "model.hidden=32"]
    # Fifty times the words are far more than twice the work, whatever a word costs. On a busy machine
    # a short pass now and then takes as long as a long one: one measurement of five will do.
    for _ in range(5):
        short, long = (as_json(*tiny, "--input", f"tokens:{n},{n}") for n in (4, 200))
        if long["fw_ms"] > 2 * short["fw_ms"]:
            break
    assert long["fw_ms"] > 2 * short["fw_ms"]
    # The predictor's work is the same: its share of the forward pass falls with the words.
    ratio = short["predictor_macs_over_forward"] / long["predictor_macs_over_forward"]
    assert ratio > 50  # products of attention grow with the square
    for wrong, told in (("cifar", "tokens:SRC,TGT"), ("tokens:8,600", "model.longest")):
        refused = adagp(*tiny, "--input", wrong, code=2)
        assert told in refused.stderr


def test_train_prints_its_summary(finished):
    done = adagp("train", *TINY, "--epochs", "3", "--seed", "1", "-o", finished)
    assert len(done.stdout.splitlines()) == 1
    assert f"top1 {summary(finished)['top1']:.2f}" in done.stdout


def test_eval_of_a_run_gives_its_summary(finished):
    found = as_json("eval", finished)
    done = summary(finished)
    assert (found["top1"], found["top5"], found["images"]) == (done["top1"], done["top5"], 50)
    assert found["loss"] == pytest.approx(done["loss"], rel=1e-6)
    assert as_json("eval", finished, "--best")["top1"] == done["best_top1"]
    assert as_json("eval", finished, "--split", "train")["images"] == 200


def test_eval_takes_what_the_command_line_says(finished):
    assert as_json("eval", finished, *sets(data__test_limit=20))["images"] == 20
    err = adagp("eval", finished, "--model", "vgg8s", code=3).stderr
    assert "does not fit the network" in err


def test_logits(finished, tmp_path):
    """Their argmax, against the labels of the packed data, is the accuracy."""
    found = as_json("eval", finished, "--logits", tmp_path / "logits.safetensors")
    adagp("data", "pack", "--size", "8", "--train", "200", "--test", "50", "-o",
          tmp_path / "data.safetensors")
    logits = load_file(tmp_path / "logits.safetensors")["logits"]
    assert logits.shape == (50, 10)
    packed = load_file(tmp_path / "data.safetensors")
    labels = next(v for k, v in packed.items() if "label" in k and v.shape == (50,))
    assert found["top1"] == pytest.approx(100 * np.mean(logits.argmax(1) == labels), abs=1e-4)


def test_exported_weights_evaluate_alike(finished, tmp_path):
    top1 = summary(finished)["top1"]
    file = tmp_path / "w.safetensors"
    adagp("export", finished, "-o", file)
    assert as_json("eval", file, *DATA)["top1"] == top1
    assert as_json("eval", file, *DATA, *NET)["top1"] == top1

    # From Python, without our metadata: the network must be named.
    plain = tmp_path / "plain.safetensors"
    save_file(load_file(file), plain)
    assert as_json("eval", plain, *DATA, *NET)["top1"] == top1
    assert "--model" in adagp("eval", plain, *DATA, code=2).stderr
    assert "does not fit" in adagp("eval", plain, *DATA, "--model", "vgg8s", code=3).stderr


def on_a_terminal(*args, **env):
    """stderr of the program when it is a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([BIN, *map(str, args)], stderr=theirs, stdout=subprocess.DEVNULL,
                               env=environment(TERM="xterm-256color", **env))
    os.close(theirs)
    text = b""
    while True:
        try:
            block = os.read(ours, 4096)
        except OSError:  # the other end was closed
            break
        if not block:
            break
        text += block
    os.close(ours)
    assert process.wait() == 0
    return text


COLOUR = (b"\x1b[3", b"\x1b[1m", b"\x1b[0m", b"\x1b[m")


def test_colour_on_a_terminal_only_and_not_with_no_color(tmp_path):
    args = ["train", *TINY, "--epochs", "2", "-o"]
    piped = adagp(*args, tmp_path / "a")
    assert "\x1b" not in piped.stderr and "\r" not in piped.stderr
    assert any(code in on_a_terminal(*args, tmp_path / "b") for code in COLOUR)
    plain = on_a_terminal(*args, tmp_path / "c", NO_COLOR="1")
    assert not any(code in plain for code in COLOUR)


def test_quiet(tmp_path):
    done = adagp("-q", "train", *TINY, "--epochs", "1", "--method", "bp", "-o", tmp_path / "run")
    assert done.stderr == "" and "top1" in done.stdout
