"""Translation as its users see it: training and evaluation by name, and text that cannot be used."""

import json
import tarfile

import pytest

from harness import adagp, assert_same_run, interrupt, newest_step, sets, summary

SMALL = ["--model", "transformer", "--threads", "1",
         *sets(model__width=16, model__heads=2, model__hidden=32, model__encoder_layers=1,
               model__decoder_layers=1, translation__min_frequency=1, optim__name="adam",
               optim__lr=0.005, optim__decay=0)]
SYNTHETIC = [*SMALL, "--data", "synthetic-translation", "--batch", "20",
             *sets(data__synthetic_train=200, data__synthetic_test=20)]

TEXT = {"train.en": "a man\na dog runs\n" * 10, "train.de": "ein mann\nein hund rennt\n" * 10,
        "val.en": "a dog\n", "val.de": "ein hund\n"}


@pytest.fixture
def folder(tmp_path):
    where = tmp_path / "text"
    where.mkdir()
    for name, text in TEXT.items():
        (where / name).write_text(text)
    return where


def train_on(path, *more, code=0):
    return adagp("train", *SMALL, "--data", "multi30k", "--data-dir", path, "--epochs", "1",
                 "--batch", "4", "--method", "bp", *more, "-o", str(path) + "-run", code=code).stderr


@pytest.mark.parametrize("method", ["bp", "adagp", "skip"])
def test_trains_and_evaluates(method, tmp_path):
    run = tmp_path / "run"
    adagp("train", *SYNTHETIC, "--method", method, "--epochs", "2", "-o", run,
          *sets(schedule="1ep bp, 1:1"))
    figures = summary(run)
    assert figures["task"] == "translation" and 0 < figures["accuracy"] <= 100
    assert 0 <= figures["bleu"] <= 100
    found = json.loads(adagp("eval", run, "--json").stdout)
    assert found["sentences"] == 20
    # Sums of another order where the thread counts differ.
    assert found["accuracy"] == pytest.approx(figures["accuracy"], abs=1e-6)
    assert found["bleu"] == pytest.approx(figures["bleu"], abs=1e-6)


@pytest.mark.parametrize("method", ["bp", "adagp", "skip"])
def test_resumes_within_an_epoch(method, tmp_path):
    """Batches of several lengths, their order, dropout and word counts go on where they stopped."""
    command = [*SYNTHETIC, "--method", method, "--seed", "3",
               *sets(schedule="1ep bp, 1:1", data__synthetic_train=800, checkpoint_every="5ba")]
    per_epoch = 800 // 20
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    adagp("train", *command, "--epochs", "3", "-o", whole)
    for epoch in (0, 1):
        code, _, err = interrupt(parts, *command, "--epochs", "3", at=epoch * per_epoch + 15)
        assert code == 143, err
        assert newest_step(parts) % per_epoch != 0
    adagp("train", *command, "--epochs", "3", "-o", parts)
    assert_same_run(parts, whole)


def test_folder_and_archive_are_the_same(folder, tmp_path):
    archive = tmp_path / "text.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder, arcname="inside")
    train_on(folder)
    train_on(archive)
    assert summary(str(folder) + "-run")["loss"] == summary(str(archive) + "-run")["loss"]


@pytest.mark.parametrize("name, text, expected", [
    ("train.de", "ein mann\n", "train.en:2"),
    ("train.en", TEXT["train.en"].replace("a man", " ", 1), "train.en:1"),
    ("val.en", "a cat\nzebra\n", "val.en"),
    ("val.en", "zebra\n", "val.en:1"),
])
def test_unusable_text(name, text, expected, folder):
    (folder / name).write_text(text)
    assert expected in train_on(folder, code=3)


def test_not_utf8(folder):
    (folder / "val.de").write_bytes("ein hündchen\n".encode("latin-1"))
    err = train_on(folder, code=3)
    assert "val.de:1" in err and "UTF-8" in err


def test_missing(folder, tmp_path):
    assert "no such" in train_on(tmp_path / "nowhere", code=3)
    (folder / "val.de").unlink()
    assert "val.de" in train_on(folder, code=3)


def test_other_task():
    err = adagp("train", "--model", "transformer", "--data", "synthetic", code=2).stderr
    assert "translation" in err and "classification" in err
