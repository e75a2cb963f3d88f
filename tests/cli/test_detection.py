"""Detection from end to end: a folder of Pascal VOC is made, trained on, resumed, and spoilt."""

import json
import re

import pytest

from harness import adagp, sets

TINY = ["--model", "yolov3", *sets(model__width_divisor=32, data__image_size=64, eval_batch=8),
        "--threads", "1", "--batch", "4", "--epochs", "2", "--set", "schedule=1ep bp, 1:1",
        *sets(optim__name="adam", optim__lr=0.001)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("voc")
    adagp("data", "make", "--data", "synthetic-detection", "--size", "64", "--train", "12",
          "--test", "5", "-o", path)
    return path


def train(folder, out, *more, code=0):
    return adagp("train", *TINY, "--data", "voc", "--data-dir", folder, *more, "-o", out, code=code)


def test_made_folder_trains_by_every_kind_of_step(folder, tmp_path):
    for method in ("bp", "adagp", "ema"):
        train(folder, tmp_path / method, "--method", method)
        summary = json.loads((tmp_path / method / "summary.json").read_text())
        figures = summary.get("figures", summary)
        for name in ("map50", "map50_11", "class_accuracy", "object_recall"):
            assert 0 <= figures[name] <= 100
    again = train(folder, tmp_path / "bp", "--method", "bp")  # finished: answers at once
    assert again.returncode == 0


def test_info_counts_objects(folder):
    info = json.loads(adagp("data", "info", "--data", "voc", "--data-dir", folder, "--json").stdout)
    written = sum(len(re.findall("<object>", f.read_text()))
                  for f in (folder / "VOCdevkit/VOC2007/Annotations").iterdir())
    assert sum(c["train"] + c["test"] for c in info["objects"]) == written
    assert (info["train"], info["test"]) == (12, 5)


def test_bad_boxes_are_skipped_or_refused(folder, tmp_path):
    file = folder / "VOCdevkit/VOC2007/Annotations/000003.xml"
    whole = file.read_text()
    try:
        file.write_text(re.sub("<name>[a-z]+</name>", "<name>dragon</name>", whole))
        err = train(folder, tmp_path / "skip").stderr
        assert "000003.xml" in err and "dragon" in err and "1 pictures without a box" in err
        err = train(folder, tmp_path / "refuse", *sets(data__bad_boxes="refuse"), code=3).stderr
        assert "000003.xml" in err and "dragon" in err
    finally:
        file.write_text(whole)


def test_boxes_need_a_network_that_finds_them(folder, tmp_path):
    err = adagp("train", "--model", "resnet8", "--data", "voc", "--data-dir", folder,
                "-o", tmp_path / "x", code=2).stderr
    assert "detection" in err and "resnet8" in err
    adagp("data", "pack", "--data", "voc", "--data-dir", folder, "-o", tmp_path / "p", code=2)
