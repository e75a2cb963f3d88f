"""Network duplex: a frozen backbone from a file, a trained branch beside it."""

import pytest
from safetensors import safe_open

from harness import DATA, TINY, adagp, assert_same_run, interrupt, sets, summary

BRANCH = sets(model__backbone="resnet8", model__branch_blocks=4, model__branch_width=32,
              model__branch_side=4, model__width_divisor=4)
RUN = [*DATA, "--model", "duplex", *BRANCH, "--batch", "20",
       *sets(epochs=8, checkpoint_every="3ba", optim__decay=0.01)]


@pytest.fixture(scope="module")
def backbone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("backbone") / "run"
    adagp("train", *TINY, "--epochs", "2", "--method", "bp", "-o", folder)
    return folder / "weights.safetensors"


def tensors(file):
    with safe_open(file, "np") as content:
        return {name: content.get_tensor(name).tobytes() for name in content.keys()}


@pytest.mark.parametrize("method", ["bp", "adagp"])
def test_the_backbone_is_the_file_byte_for_byte_after_training(method, backbone, tmp_path):
    run = [*RUN, "--method", method, *sets(model__backbone_weights=backbone)]
    if method == "adagp":
        run += ["--schedule", "1ep bp, 1:1"]
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    said = adagp("train", *run, "-o", whole).stderr
    assert "random weights" not in said
    trained, file = tensors(whole / "weights.safetensors"), tensors(backbone)
    frozen = {name.removeprefix("backbone."): value for name, value in trained.items()
              if name.startswith("backbone.")}
    assert frozen == {name: value for name, value in file.items() if not name.startswith("fc.")}
    code, _, err = interrupt(cut, *run, at=12)
    assert code == 143, err
    adagp("train", *run, "-o", cut)
    assert_same_run(cut, whole)


def test_a_run_is_evaluated_without_the_file_of_its_backbone(backbone, tmp_path):
    file = tmp_path / "backbone.safetensors"
    file.write_bytes(backbone.read_bytes())
    adagp("train", *RUN, "--method", "bp", *sets(model__backbone_weights=file),
          "-o", tmp_path / "run")
    file.unlink()
    score = summary(tmp_path / "run")["top1"]
    for what in ("run", "run/weights.safetensors"):
        said = adagp("eval", tmp_path / what, *DATA).stdout
        assert f"{score:.2f}" in said, said


def test_a_backbone_without_a_file_is_told(tmp_path):
    said = adagp("train", *RUN, *sets(epochs=1), "--method", "bp", "-o", tmp_path / "run").stderr
    assert "backbone (resnet8) has random weights" in said


def test_the_layer_table_says_what_is_frozen(tmp_path):
    adagp("train", *RUN, *sets(epochs=1), "--method", "bp", "-o", tmp_path / "run")
    lines = [line.split(",") for line in
             (tmp_path / "run/layers.csv").read_text().splitlines() if line]
    frozen = lines[0].index("frozen")
    for row in lines[1:]:
        assert row[frozen] == ("1" if row[2].startswith("backbone.") else "0")


@pytest.mark.parametrize("wrong, told, code", [
    (sets(model__backbone="resnet9"), "resnet8", 2),
    (sets(model__backbone="yolov3"), "expected a classifier", 2),
    (sets(model__branch_width=33), "halved", 2),
    (sets(model__branch_blocks=0), "model.branch_blocks = 0", 2),
    (sets(model__backbone_weights="missing.safetensors"), "missing.safetensors", 3),
    (["--method", "modules"], "frozen blocks", 2),
    (["--parallel", "pipeline=gpipe,local=2"], "a stage of them alone", 2),
])
def test_bad_input(wrong, told, code, tmp_path):
    said = adagp("train", *RUN, *sets(model__width_divisor=1), *wrong, "-o", tmp_path / "run",
                 code=code)
    assert told in said.stderr


def test_a_file_of_another_network_is_refused(backbone, tmp_path):
    said = adagp("train", *RUN, *sets(model__backbone="vgg8s", model__width_divisor=1,
                                      model__backbone_weights=backbone), "-o", tmp_path / "run",
                 code=3).stderr
    assert "does not fit the network" in said
    said = adagp("train", *TINY, *sets(model__backbone_weights=backbone), "-o", tmp_path / "run",
                 code=2).stderr
    assert "only network duplex has a backbone" in said
