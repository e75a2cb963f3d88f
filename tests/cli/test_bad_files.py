"""Exit code 3 names the file, what was expected and what was found; exit code 4 is divergence."""

import io
import json
import os
import re
import shutil
import tarfile
import zipfile

import numpy as np
import pytest
from PIL import Image
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from harness import DATA, NET, TINY, adagp, checkpoints, sets, start

SMALL = ["--data", "synthetic", "--size", "32", "--train", "60", "--test", "20"]


def train_on(name, path, *more, code=3):
    return adagp("train", "--model", "resnet8", *sets(model__width_divisor=4), "--threads", "1",
                 "--data", name, "--data-dir", path, "--epochs", "1", "--batch", "10", *more,
                 "-o", str(path) + "-run", code=code).stderr


def cut(file, count):
    file.write_bytes(file.read_bytes()[:-count])


@pytest.mark.parametrize("name", ["cifar10", "cifar100", "image-folder", "packed"])
def test_missing_data(name, tmp_path):
    err = train_on(name, tmp_path / "nowhere")
    assert str(tmp_path / "nowhere") in err and "no such" in err.lower()


def test_cifar_files(tmp_path):
    folder = tmp_path / "cifar"
    adagp("data", "make", *SMALL, "--format", "cifar10", "-o", folder)
    train_on("cifar10", folder, code=0)
    third = next(folder.rglob("data_batch_3.bin"))
    size = third.stat().st_size
    cut(third, 100)
    err = train_on("cifar10", folder, "--seed", "1")
    assert third.name in err and str(size - 100) in err.replace(" ", "") and "cut short" in err
    third.unlink()
    assert third.name in train_on("cifar10", folder, "--seed", "1")


def test_packed_file(tmp_path):
    file = tmp_path / "all.safetensors"
    adagp("data", "pack", *SMALL, "-o", file)
    train_on("packed", file, code=0)
    cut(file, 100)
    err = train_on("packed", file, "--seed", "1")
    assert str(file) in err and "cut short" in err


@pytest.fixture
def jpeg_folder(tmp_path):
    """Two classes of noise, 12 training and 10 test images each."""
    rng = np.random.default_rng(3)
    for split, count in (("train", 12), ("test", 10)):
        for label in ("cat", "dog"):
            folder = tmp_path / "images" / split / label
            folder.mkdir(parents=True)
            for i in range(count):
                pixels = rng.integers(0, 256, (32, 32, 3), dtype=np.uint8)
                Image.fromarray(pixels).save(folder / f"{i:02}.jpg")
    return tmp_path / "images"


def test_cut_off_jpeg(jpeg_folder):
    train_on("image-folder", jpeg_folder, code=0)
    broken = jpeg_folder / "train/dog/07.jpg"
    cut(broken, broken.stat().st_size // 2)
    assert str(broken) in train_on("image-folder", jpeg_folder, "--seed", "1")


def test_not_an_image(jpeg_folder):
    broken = jpeg_folder / "test/cat/03.jpg"
    broken.write_text("<html>404</html>")
    assert str(broken) in train_on("image-folder", jpeg_folder)


@pytest.mark.parametrize("kind", ["gz", "xz", ""])
def test_cut_off_archive(kind, jpeg_folder, tmp_path):
    archive = tmp_path / f"images.tar{'.' + kind if kind else ''}"
    with tarfile.open(archive, f"w:{kind}") as out:
        for split in ("train", "test"):
            out.add(jpeg_folder / split, split)
    train_on("image-folder", archive, code=0)
    cut(archive, archive.stat().st_size // 2)
    assert str(archive) in train_on("image-folder", archive, "--seed", "1")


def peak_memory(*args):
    """Bytes of a program that ends well."""
    process = start(*args)
    process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, args
    return usage.ru_maxrss * 1024


def test_unwanted_members_of_an_archive_take_no_memory(jpeg_folder, tmp_path):
    """Files of 200 kB and 900 kB with a member of 200 MB that is no image."""
    bomb = bytes(200_000_000)
    archives = [tmp_path / "plain.zip", tmp_path / "bomb.zip", tmp_path / "bomb.tar.gz"]
    for archive in archives[:2]:
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:
            for file in sorted(jpeg_folder.rglob("*.jpg")):
                out.write(file, file.relative_to(jpeg_folder))
            if archive.stem == "bomb":
                out.writestr("notes.txt", bomb)
    with tarfile.open(archives[2], "w:gz", compresslevel=1) as out:
        item = tarfile.TarInfo("notes.txt")
        item.size = len(bomb)
        out.addfile(item, io.BytesIO(bomb))
        out.add(jpeg_folder, "set")
    plain, *bombs = [peak_memory("data", "info", "--data", "image-folder", "--data-dir", archive)
                     for archive in archives]
    for peak in bombs:
        assert peak < plain + len(bomb) / 4, (peak, plain)


def test_images_that_unpack_to_more_than_the_archive_can_honestly_hold(tmp_path):
    archive = tmp_path / "images.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as out:
        for split, count in (("train", 5), ("test", 1)):
            for i in range(count):
                out.writestr(f"{split}/cat/{i}.png", bytes(60_000_000))
    err = adagp("data", "info", "--data", "image-folder", "--data-dir", archive, code=3).stderr
    assert str(archive) in err and "unpacks to more than" in err


def test_class_names_stay_inside_and_sets_apart(tmp_path):
    outside = tmp_path / "a/b/out"
    for name in ("../../../x", str(tmp_path / "absolute"), ".."):
        save_file({"images": np.zeros((2, 3, 8, 8), np.uint8), "labels": np.arange(2)},
                  tmp_path / "p.safetensors", {"classes": json.dumps(["good", name])})
        err = adagp("data", "make", "--data", "packed", "--data-dir", tmp_path / "p.safetensors",
                    "-o", outside, code=3).stderr
        assert repr(name) in err and "cannot be the name of a folder" in err
    assert {p.name for p in tmp_path.iterdir()} == {"p.safetensors"}
    adagp("data", "make", *SMALL, "-o", outside)
    before = sorted(outside.rglob("*"))
    err = adagp("data", "make", *SMALL, "--seed", "5", "-o", outside, code=2).stderr
    assert str(outside) in err and "choose another folder" in err
    assert sorted(outside.rglob("*")) == before


def train_from(weights, tmp_path, *more, code=3):
    return adagp("train", *DATA, "--batch", "20", "--epochs", "1", "--weights", weights,
                 *(more or NET), "-o", tmp_path / "run", code=code).stderr


def test_weights_file(finished, tmp_path):
    good = tmp_path / "good.safetensors"
    adagp("export", finished, "-o", good)
    train_from(good, tmp_path, code=0)
    whole = good.read_bytes()
    for name, damaged in (("cut", whole[:-10]), ("head", whole[:50]), ("empty", b""),
                          ("flip", whole[:-10] + bytes([whole[-10] ^ 4]) + whole[-9:]),
                          ("text", b"these are no weights at all")):
        file = tmp_path / f"{name}.safetensors"
        file.write_bytes(damaged)
        for err in (train_from(file, tmp_path / name), adagp("eval", file, *DATA, code=3).stderr):
            assert str(file) in err, (name, err)


def test_weights_that_claim_more_classes_than_they_have(finished, tmp_path):
    file = tmp_path / "claim.safetensors"
    with safe_open(finished / "weights.safetensors", "np") as weights:
        metadata = weights.metadata()
    # Another program's file: without our checksums of the header.
    metadata = {k: v for k, v in metadata.items() if not k.startswith("adagp.crc32c")}
    for classes in (11, 10**12, 2**63 - 1):
        save_file(load_file(finished / "weights.safetensors"), file,
                  {**metadata, "classes": str(classes)})
        err = adagp("eval", file, *DATA, code=3).stderr
        assert str(file) in err and ("fc.weight" in err or f"{classes} classes" in err), err


def test_weights_of_another_network(finished, tmp_path):
    weights = finished / "weights.safetensors"
    err = train_from(weights, tmp_path, "--model", "resnet8", *sets(model__width_divisor=2))
    assert str(weights) in err and "of another shape" in err
    assert re.search(r"got \[[\d, ]+\], expected \[[\d, ]+\]", err), err

    renamed = load_file(weights)
    renamed["head.weight"] = renamed.pop("fc.weight")
    save_file(renamed, tmp_path / "renamed.safetensors")
    err = train_from(tmp_path / "renamed.safetensors", tmp_path / "other")
    assert "missing: fc.weight" in err and "unexpected: head.weight" in err


def test_folders_that_are_no_runs(tmp_path):
    for command in (["eval", tmp_path, *DATA], ["export", tmp_path, "-o", tmp_path / "x"],
                    ["eval", tmp_path / "nowhere"]):
        assert str(tmp_path) in adagp(*command, code=3).stderr


def test_a_run_folder_without_its_configuration_is_refused(tmp_path):
    folder = tmp_path / "run"
    adagp("train", *TINY, "--epochs", "1", "-o", folder)
    (folder / "config.toml").unlink()
    err = adagp("train", *TINY, "--epochs", "1", "-o", folder, code=3).stderr
    assert str(folder) in err and "config.toml" in err and "--overwrite" in err


def test_pipes_in_a_run_folder_are_refused(finished, tmp_path):
    """Opening one would wait for a writer for ever."""
    folder = shutil.copytree(finished, tmp_path / "run")
    train = ["train", *TINY, "--epochs", "3", "--seed", "1", "-o", folder]
    for name, command in (("summary.json", train), ("config.toml", train), ("layers.csv", train),
                          ("weights.safetensors", ["export", folder, "-o", tmp_path / "x"]),
                          ("best.safetensors", ["eval", folder, "--best"])):
        kept = (folder / name).rename(tmp_path / "kept")
        os.mkfifo(folder / name)
        assert f"{folder / name}: is a pipe, expected a file" in adagp(*command, code=3).stderr
        kept.rename(folder / name)


def test_a_pipe_in_a_folder_of_packed_data_is_refused(tmp_path):
    os.mkfifo(tmp_path / "train.safetensors")
    assert f"{tmp_path / 'train.safetensors'}: is a pipe, expected a file" in train_on("packed", tmp_path)


def test_a_pipe_among_the_checkpoints_is_passed_over(finished, tmp_path):
    folder = shutil.copytree(finished, tmp_path / "run")
    (folder / "summary.json").unlink()
    os.mkfifo(folder / "checkpoint/step-0000000099.safetensors")
    err = adagp("train", *TINY, "--epochs", "3", "--seed", "1", "-o", folder).stderr
    assert "is a pipe" in err and "resumed after batch 30 of 30" in err


DIVERGED = r"diverged: loss .* at epoch \d+ batch \d+, .*layer '[\w.]+'"


def test_divergence_is_an_error(tmp_path):
    folder = tmp_path / "run"
    err = adagp("train", *TINY, "--epochs", "2", *sets(optim__lr=1e9), "-o", folder, code=4).stderr
    assert re.search(DIVERGED, err), err
    assert not (folder / "summary.json").exists() and not (folder / "weights.safetensors").exists()


def test_divergence_keeps_the_last_good_checkpoint(tmp_path):
    """One-cycle begins at lr / div = 0.1: the first batch is sound, those after it are not."""
    folder = tmp_path / "run"
    command = ["train", *TINY, "--epochs", "2", "--method", "adagp", "-o", folder,
               *sets(checkpoint_every="1ba", optim__lr=1e9, policy__name="one-cycle",
                     policy__div=1e10)]
    first = adagp(*command, code=4).stderr
    assert re.search(DIVERGED, first), first
    for file in checkpoints(folder):
        for name, value in load_file(file).items():
            if name.startswith("net.") and value.dtype.kind == "f":
                assert np.isfinite(value).all(), (file, name)
    assert checkpoints(folder)[0].name == "step-0000000001.safetensors"
    again = adagp(*command, code=4).stderr  # the checkpoint is good: it ends in the same place
    assert "resumed after batch" in again and first.splitlines()[-1] in again


def test_a_poisoned_checkpoint_is_not_written(finished, tmp_path):
    """A norm's input whose variance fp32 cannot hold: the loss is sound, the statistics are not."""
    folder = tmp_path / "run"
    weights = load_file(finished / "weights.safetensors")
    weights["conv1.weight"] *= np.float32(1e20)
    save_file(weights, tmp_path / "poison.safetensors")
    err = adagp("train", *TINY, "--epochs", "1", "--method", "bp", "-o", folder, "--weights",
                tmp_path / "poison.safetensors", *sets(checkpoint_every="1ba"), code=4).stderr
    assert re.search(r"diverged: 'net.bn1.running_var' is not finite .*epoch 1 batch 1", err), err
    assert not checkpoints(folder)


def test_loss_limit(tmp_path):
    err = adagp("train", *TINY, "--epochs", "1", *sets(loss_limit=0.5), "-o", tmp_path / "run",
                code=4).stderr
    assert re.search(r"loss 2\.\d+ \(limit 0\.5\) at epoch 1 batch 1", err), err
