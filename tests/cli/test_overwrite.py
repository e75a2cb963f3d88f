"""--overwrite: the old run is there until the new one is."""

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

from harness import (BIN, PATIENCE, TINY, adagp, assert_same_run, contents, environment, interrupt,
                     newest_step, sets, stopping)

SHORT = [*TINY, "--epochs", "3", "--seed", "1"]  # the `finished` fixture's
OLD, MOVING = ".old-run", ".old-run.moving"


@pytest.fixture
def folder(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "run")


def assert_old_run(folder, before):
    """It is as it was, and counts as finished."""
    assert contents(folder) == before
    assert "epoch" not in adagp("train", *SHORT, "-o", folder).stderr
    assert not (folder / OLD).exists() and not (folder / MOVING).exists()


def test_a_refused_command_keeps_the_run(folder):
    before = contents(folder)
    for wrong, code in ((["--batch", "9999"], 2), (["--device", "cuda:77"], 2),
                        (["--weights", folder / "nothing"], 3), (sets(optim__momentum=1), 2),
                        (["--weights", folder / "best.safetensors"], 2)):
        err = adagp("train", *SHORT, *wrong, "-o", folder, "--overwrite", code=code).stderr
        assert contents(folder) == before, wrong
    assert "best.safetensors" in err and "copy it elsewhere" in err
    assert_old_run(folder, before)


def test_a_new_run_that_fails_before_its_first_checkpoint_brings_the_old_one_back(folder):
    before = contents(folder)
    err = adagp("train", *SHORT, *sets(optim__lr=1e9), "-o", folder, "--overwrite", code=4).stderr
    assert "diverged" in err and "holds the old run again" in err
    assert_old_run(folder, before)


def test_killed_before_its_first_checkpoint_the_old_run_comes_back(folder, long_run):
    before = contents(folder)
    adagp("train", *long_run, *sets(checkpoint_every="30ep"), "-o", folder, "--overwrite",
          env=stopping(f"{folder}/config.toml", signal.SIGKILL), code=-signal.SIGKILL)
    assert (folder / OLD).exists()
    # What is no checkpoint does not make it a run worth keeping.
    (folder / "checkpoint").mkdir()
    for name in (".nfs0001", "step-0000000005.safetensors.corrupt"):
        (folder / "checkpoint" / name).write_text("left there")
    again = adagp("train", *SHORT, "-o", folder)
    assert "holds the old run again" in again.stderr
    assert_old_run(folder, before)


def test_killed_while_files_were_moved(folder, finished):
    """The states between two renames, made by hand."""
    before = contents(folder)
    (folder / MOVING).mkdir()
    for name in ("config.toml", "tb", "summary.json"):
        (folder / name).rename(folder / MOVING / name)
    adagp("train", *SHORT, "-o", folder)
    assert_old_run(folder, before)

    (folder / OLD).mkdir()
    for entry in [e for e in folder.iterdir() if not e.name.startswith(".")]:
        entry.rename(folder / OLD / entry.name)
    (folder / "config.toml").write_text("of the new run")
    adagp("train", *SHORT, "-o", folder)
    assert_old_run(folder, before)

    (folder / OLD).mkdir()
    (folder / OLD / "config.toml").write_text("of an older run; the new one has checkpoints")
    adagp("train", *SHORT, "-o", folder)
    assert_old_run(folder, before)


def test_interrupted_it_goes_on_without_the_flag(folder, long_run, uninterrupted):
    command = [*long_run, "--method", "adagp"]
    code, _, err = interrupt(folder, *command, "--overwrite", at=100, how=signal.SIGTERM)
    assert code == 143 and "the same command without --overwrite goes on from there" in err, err
    assert not (folder / OLD).exists()
    again = adagp("train", *command, "-o", folder)
    assert f"resumed after batch {newest_step(folder)}" not in err and "resumed" in again.stderr
    assert_same_run(folder, uninterrupted("adagp"))


def ordinary_user():
    """Options of subprocess: root may write everywhere, so the program runs as nobody."""
    if os.geteuid() != 0:
        return {}
    options = {"user": 65534, "group": 65534, "extra_groups": []}
    try:
        subprocess.run([BIN, "--version"], check=True, capture_output=True, timeout=PATIENCE,
                       env=environment(), cwd="/", **options)
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"the program cannot be started as an ordinary user here: {error}")
    return options


def test_a_read_only_folder_is_refused_and_keeps_its_run(finished):
    options = ordinary_user()
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        folder = shutil.copytree(finished, Path(place) / "run")
        if options:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, options["user"], options["group"])
        before = contents(folder)
        folder.chmod(0o555)
        err = adagp("train", *SHORT, "-o", folder, "--overwrite", code=1, cwd="/", **options).stderr
        assert str(folder) in err and "Permission denied" in err and "as it was" in err
        assert contents(folder) == before
        folder.chmod(0o755)
