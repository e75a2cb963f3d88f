"""What the commands print: data on stdout, JSON that parses, no escape codes outside a terminal."""

import json
import os
import pty
import re
import resource
import subprocess

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from harness import BIN, DATA, NET, TINY, adagp, as_json, environment, sets, summary


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
    text = adagp("doctor").stdout
    assert "Training is possible" in text
    values = [line.index(check["value"]) for line, check in zip(text.splitlines(), report["checks"])
              if check["name"] not in ("memory", "disk")]  # these change
    assert len(set(values)) == 1  # one column


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


def test_a_thread_that_cannot_be_started_is_an_error(tmp_path):
    """A thread's stack is as large as the limit of stacks, which does not fit into the memory."""
    def no_thread():
        resource.setrlimit(resource.RLIMIT_AS, (24 << 30, 24 << 30))
        resource.setrlimit(resource.RLIMIT_STACK, (48 << 30, resource.RLIM_INFINITY))
    err = adagp("train", *TINY, "--epochs", "1", *sets(augment__workers=2), "--device", "cpu",
                "-o", tmp_path / "run", code=1, preexec_fn=no_thread).stderr
    errors = [line for line in err.splitlines() if line.startswith("E ")]
    assert len(errors) == 1 and "started" in errors[0] and "augment.workers" in errors[0], err


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
