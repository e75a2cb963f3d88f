"""flag > --set > ADAGP_* > recipe > default."""

import re

import pytest

from harness import DATA, NET, TINY, adagp, sets


def epochs(tmp_path, *args, **env):
    """Of the run that these would make."""
    folder = tmp_path / "run"
    adagp("train", *args, *TINY, "--overwrite", "-o", folder, env=env)
    return int(re.search(r"^epochs = (\d+)$", (folder / "config.toml").read_text(), re.M)[1])


def test_each_beats_the_next(tmp_path):
    recipe = tmp_path / "recipe.toml"
    recipe.write_text("epochs = 4\n")
    by_env = {"ADAGP_EPOCHS": "3"}
    assert epochs(tmp_path, recipe) == 4
    assert epochs(tmp_path, recipe, **by_env) == 3
    assert epochs(tmp_path, recipe, *sets(epochs=2), **by_env) == 2
    assert epochs(tmp_path, recipe, *sets(epochs=2), "--epochs", "1", **by_env) == 1


def test_environment_names_follow_the_keys(tmp_path):
    adagp("train", *DATA, *NET, "--epochs", "1", "-o", tmp_path / "run",
          env={"ADAGP_OPTIM_LR": "0.025", "ADAGP_BATCH": "50"})
    text = (tmp_path / "run/config.toml").read_text()
    assert re.search(r"^lr = 0.025$", text, re.M) and re.search(r"^batch = 50$", text, re.M)


def test_a_bad_variable_is_named(tmp_path):
    err = adagp("train", *TINY, code=2, cwd=tmp_path, env={"ADAGP_EPOCHS": "lots"}).stderr
    assert "ADAGP_EPOCHS" in err and "'lots'" in err


def test_a_misspelt_variable_is_named_with_the_nearest(tmp_path):
    err = adagp("train", *TINY, "--dry-run", cwd=tmp_path,
                env={"ADAGP_EPOCS": "3", "ADAGP_DEPS_DIR": "/x"}).stderr
    assert "ADAGP_EPOCS is no key" in err and "ADAGP_EPOCHS?" in err
    assert "ADAGP_DEPS_DIR" not in err


def test_set_takes_bare_strings_and_toml(tmp_path):
    adagp("train", *TINY, "--epochs", "1", "-o", tmp_path / "run",
          *sets(policy__name="cosine", schedule="1ep bp, 1:1", data__mean="[0.4, 0.5, 0.6]",
                data__std=0.25))
    text = (tmp_path / "run/config.toml").read_text()
    assert "mean = [0.4, 0.5, 0.6]" in text and "std = [0.25" in text and "1ep bp, 1:1" in text


def test_a_run_repeats_from_its_own_config(tmp_path, finished):
    adagp("train", finished / "config.toml", "-o", tmp_path / "run")
    ours = (tmp_path / "run/weights.safetensors").read_bytes()
    assert ours == (finished / "weights.safetensors").read_bytes()


@pytest.mark.rivals
def test_keys_without_effect_are_named(tmp_path):
    """Those given by hand, once; a recipe may serve several methods."""
    plain = ["train", *TINY, "--epochs", "1"]
    err = adagp(*plain, "--method", "bp", "--schedule", "1:1", *sets(predictor__kind="remap"),
                "-o", tmp_path / "bp", env={"ADAGP_EMA_DECAY": "0.5"}).stderr
    warnings = [line for line in err.splitlines() if "changes nothing" in line]
    assert len(warnings) == 1
    for word in ("--schedule", "--set predictor.kind", "ADAGP_EMA_DECAY", "method bp"):
        assert word in warnings[0]
    assert "--batch" not in warnings[0]

    recipe = tmp_path / "recipe.toml"
    recipe.write_text("method = 'bp'\nschedule = '1:1'\n")
    for quiet in ([recipe, "-o", tmp_path / "recipe"],
                  ["--method", "skip", "--schedule", "1:1", "-o", tmp_path / "skip"]):
        assert "changes nothing" not in adagp(*plain, *quiet).stderr
    compare = ["compare", *TINY, "--epochs", "1", "--seeds", "1", "--schedule", "1:1",
               *sets(predictor__kind="remap")]
    err = adagp(*compare, "--methods", "bp,skip", "-o", tmp_path / "compare").stderr
    assert "changes nothing here: --set predictor.kind (method bp, method skip)" in err
