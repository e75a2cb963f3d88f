"""Exit code 2: what was wrong, where, and the nearest thing that would have been right."""

import re

import pytest

from harness import DATA, NET, TINY, adagp, sets

TRAIN = ["train", *TINY, "--epochs", "1"]
NO_MODEL = ["train", *DATA, "--epochs", "1"]
NO_DATA = ["train", *NET, "--epochs", "1"]


@pytest.mark.parametrize("args, wrong, near", [
    ([*TRAIN, "--epoch", "3"], "--epoch", "--epochs"),
    ([*TRAIN, "--overwrit"], "--overwrit", "--overwrite"),
    (["compare", "--seedss", "3"], "--seedss", "--seeds"),
    (["export", "run", "--ouput", "x"], "--ouput", "--output"),
    (["data", "info", "--tarin", "5"], "--tarin", "--train"),
    (["trian"], "trian", "train"),
    (["data", "inof"], "inof", "info"),
    (["list", "modles"], "modles", "models"),
    ([*NO_MODEL, "--model", "resnt8"], "resnt8", "resnet8"),
    ([*TRAIN, "--method", "adapg"], "adapg", "adagp"),
    ([*NO_DATA, "--data", "cifar-10"], "cifar-10", "cifar10"),
    ([*TRAIN, *sets(predictor__kind="shard")], "shard", "shared"),
    ([*TRAIN, "--schedule", "papr"], "papr", "paper"),
    ([*TRAIN, *sets(optim__name="sdg")], "sdg", "sgd"),
    ([*TRAIN, *sets(policy__name="cosin")], "cosin", "cosine"),
    ([*TRAIN, *sets(optmi__lr=3)], "optmi.lr", "optim.lr"),
    ([*TRAIN, *sets(head="exat")], "exat", "exact"),
    (["layers", "--model", "resnet501"], "resnet501", "resnet50"),
    (["compare", *TINY, "--methods", "bp,adapg"], "adapg", "adagp"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_unknown_names_get_the_nearest(args, wrong, near, tmp_path):
    done = adagp(*args, code=2, cwd=tmp_path)
    assert f"'{wrong}'" in done.stderr and f"did you mean '{near}'" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("text, where, what", [
    ("epochs = 3\n\n[optim]\n  lrr = 0.1\n", "4", "'optim.lrr'; did you mean 'optim.lr'?"),
    ("epochs = '3'\n", "1", "expected a whole number"),
    ("[optim]\nlr = 'big'\n", "2", "expected a number"),
    ("method = 'bp'\nbatch = 0\n", "2", "expected at least 1"),
    ("epochs = 3\nmethod =\n", "2", "not TOML"),
    ("epochs = 3\nepochs = 4\n", "2", "not TOML"),
])
def test_recipe_errors_say_file_line_and_column(text, where, what, tmp_path):
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(text)
    err = adagp("train", recipe, code=2, cwd=tmp_path).stderr
    assert re.search(rf"{re.escape(str(recipe))}:{where}:\d+: ", err), err
    assert what in err


@pytest.mark.parametrize("args, words", [
    (["nope.toml"], ["nope.toml", "No such file"]),
    (["."], ["recipe", "folder"]),
    (["--epochs", "many"], ["--epochs", "'many'", "whole number"]),
    (["--epochs", "2.5"], ["--epochs", "2.5", "whole number"]),
    (["--seed", "-1"], ["--seed", "-1", "at least 0"]),
    (["--set", "epochs"], ["--set epochs", "key=value"]),
    (["--precision", "fp16"], ["'fp16'", "fp32", "bf16"]),
    ([*TINY, "--device", "cpuu"], ["'cpuu'", "did you mean 'cpu'"]),
    (["--epochs", "4611686018427387904"], ["--epochs", "expected 1 to 1000000000"]),
    ([*DATA, *NET, "--batch", "201"], ["201", "200"]),
    ([*TINY, "--method", "equal-time"], ["equal_time.reference", "equal_time.batches"]),
    (["--data", "cifar10"], ["cifar10", "--data-dir"]),
    ([*DATA, "--model", "vgg11", *sets(model__form="imagenet")], ["too small"]),
    ([*TINY, *sets(checkpoint_every="3 parsecs")], ["parsecs"]),
    ([*TINY, *sets(model__classes=3)], ["model.classes", "3", "10"]),
    ([*TINY, "--schedule", "4ep 4:1, 0:0"], ["schedule", "0:0"]),
    ([*TINY, "--epochs"], ["--epochs"]),
], ids=lambda value: value[-1][-20:] if value and value[0] in ("--data", "nope.toml") else "")
def test_train_refuses(args, words, tmp_path):
    err = adagp("train", *args, code=2, cwd=tmp_path).stderr
    for word in words:
        assert word in err, f"'{word}' is not in: {err}"


@pytest.mark.parametrize("args, code, words", [
    (["info", "--data", "multi30k"], 2,
     ["'multi30k' is sentences", "synthetic-detection", "--model transformer", "--dry-run",
      "--data synthetic-translation"]),
    (["make", "--data", "synthetic-translation", "-o", "x"], 2, ["sentences", "cifar10"]),
    (["info", "--data", "voc"], 2, ["--data-dir", "VOCdevkit", "--data synthetic-detection"]),
    (["info", "--data", "voc", "--data-dir", "nowhere"], 3,
     ["nowhere", "no such folder", "adagp data make --data synthetic-detection"]),
])
def test_data_names_the_alternatives(args, code, words, tmp_path):
    err = adagp("data", *args, code=code, cwd=tmp_path).stderr
    for word in words:
        assert word in err, f"'{word}' is not in: {err}"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("args, words", [
    (["--methods", "bp,bp"], ["'bp' twice"]),
    (["--methods", "bp,equal-time"], ["equal-time", "adagp"]),
    (["--methods", "bp", "--seeds", "0"], ["--seeds"]),
])
def test_compare_refuses_before_any_run(args, words, tmp_path):
    err = adagp("compare", *TINY, *args, "-o", tmp_path / "out", code=2).stderr
    assert all(word in err for word in words), err
    assert len(err) < 400 and not (tmp_path / "out").exists()


def test_no_gpu(tmp_path):
    """CUDA_VISIBLE_DEVICES hides the GPUs of a machine that has some."""
    err = adagp(*TRAIN, "--device", "cuda", code=2, cwd=tmp_path,
                env={"CUDA_VISIBLE_DEVICES": ""}).stderr
    assert "'cuda'" in err and "no GPU" in err and "--device cpu" in err


def test_help_and_version_are_not_errors():
    commands = ("train", "compare", "eval", "bench", "layers", "list", "data", "export", "doctor")
    text = adagp("--help").stdout
    assert all(command in text for command in commands)
    for command in commands:
        assert "--help" in adagp(command, "--help").stdout
    assert re.fullmatch(r"adagp \d+\.\d+\.\d+\n", adagp("--version").stdout)


@pytest.mark.parametrize("args, choices", [
    (["list"], ("models", "methods", "accelerators")),
    (["reproduce"], ("paper-table1", "term-project", "review")),
    (["data"], ("info",)),
])
def test_a_missing_argument_comes_with_its_choices(args, choices):
    done = adagp(*args, code=2)
    assert "is required: " in done.stderr and all(word in done.stderr for word in choices)


@pytest.mark.parametrize("flag", ["--model", "--epochs", "--output"])
def test_a_flag_without_its_value(flag):
    done = adagp("train", flag, code=2)
    assert f"{flag}: expected a value (see 'adagp train --help')" in done.stderr


@pytest.mark.parametrize("command", [["train"], ["compare"], ["compare", "--budget"], ["train", "--method", "skip"],
                                     ["sweep", "--over", "optim.lr=0.1,0.2"], ["train", "--threads", "1"]])
def test_nothing_is_trained_that_was_not_named(command, tmp_path):
    done = adagp(*command, "-o", tmp_path / "a", code=2)
    assert "nothing says what to train" in done.stderr and "demo.toml" in done.stderr
    assert not (tmp_path / "a").exists()


def test_review_takes_no_option_of_training(tmp_path):
    for wrong in (["--data-dir", str(tmp_path)], ["--epochs", "3"], sets(batch=32)):
        done = adagp("reproduce", "review", *wrong, "-o", tmp_path / "review", code=2)
        assert "reproduce review trains nothing" in done.stderr
    assert not (tmp_path / "review").exists()
