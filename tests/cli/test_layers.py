"""adagp layers and adagp list models as a user sees them."""

import csv
import io
import json
import zipfile

import pytest

from harness import ROOT, adagp

PAPER = ["vgg13", "vgg16", "vgg19", "resnet18", "resnet50", "resnet101", "resnet152", "densenet121",
         "densenet161", "densenet169", "densenet201", "mobilenet_v2", "inception_v3", "inception_v4",
         "yolov3", "transformer"]


def test_all_networks_are_listed():
    models = {m["name"]: m for m in json.loads(adagp("list", "models", "--json").stdout)}
    assert set(PAPER) <= models.keys()
    published = {"vgg16": 138357544, "resnet50": 25557032, "resnet152": 60192808,
                 "densenet121": 7978856, "densenet161": 28681000, "densenet201": 20013928,
                 "mobilenet_v2": 3504872, "inception_v3": 27161264, "inception_v4": 42679816,
                 "yolov3": 61949149}
    assert {name: models[name]["parameters"] for name in published} == published
    macs = {"resnet50": 4.09e9, "vgg16": 15.47e9, "densenet121": 2.83e9, "mobilenet_v2": 0.30e9,
            "inception_v3": 5.71e9}
    for name, value in macs.items():
        assert models[name]["macs"] == pytest.approx(value, rel=0.01), name
    assert models["inception_v3"]["input"] == "3x299x299"
    assert models["yolov3"]["task"] == "detection" and models["yolov3"]["forms"] == []
    assert models["transformer"]["task"] == "translation"
    text = adagp("list", "models").stdout
    assert all(name in text for name in PAPER)


def test_csv_json_and_text_say_the_same(tmp_path):
    arguments = ["layers", "--model", "resnet50", "--input", "imagenet"]
    table = json.loads(adagp(*arguments, "--json").stdout)
    assert len(table["layers"]) == 54  # 53 convolutions and the classifier
    assert table["parameters"] == 25557032
    adagp(*arguments, "--csv", "-o", tmp_path / "t.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "t.csv").read_text())))
    assert [r["name"] for r in rows] == [l["name"] for l in table["layers"]]
    assert sum(int(r["macs"]) for r in rows) == table["macs"]
    everything = json.loads(adagp(*arguments, "--all", "--json").stdout)
    assert everything["macs"] == table["macs"] and len(everything["layers"]) > 2 * 54
    assert "54 products" in adagp(*arguments).stdout


@pytest.mark.parametrize("model", ["mobilenet_v2", "transformer", "yolov3", "inception_v3"])
def test_coverage_leaves_nothing_out(model):
    for head in ("predicted", "exact", "frozen"):
        found = json.loads(adagp("layers", "--model", model, "--coverage", "--head", head,
                                 "--json").stdout)
        assert sum(t["parameters"] for t in found["tensors"]) == found["parameters"]
        assert sum(s["share"] for s in found["summary"]) == pytest.approx(1)
        assert len({t["name"] for t in found["tensors"]}) == len(found["tensors"])
        assert all(t["kind"] != "other" for t in found["tensors"])
        assert any(t["treatment"] == "exact" for t in found["tensors"]) == (head == "exact")


def test_an_exported_network(tmp_path):
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(),
                                torch.nn.Flatten(), torch.nn.Linear(8 * 6 * 6, 5))
    program = torch.export.export(model, (torch.zeros(2, 3, 6, 6),))
    torch.export.save(program, str(tmp_path / "mine.pt2"))
    table = json.loads(adagp("layers", "--pt2", tmp_path / "mine.pt2", "--all", "--json").stdout)
    assert [(l["name"], l["op"], l["macs"]) for l in table["layers"]] == [
        ("0", "conv2d", 8 * 36 * 27), ("0/activation", "activation", 0), ("3", "linear", 288 * 5)]
    assert table["model"] == "mine" and table["input"] == "3x6x6"
    assert table["parameters"] == sum(p.numel() for p in model.parameters())


def test_an_archive_with_two_networks_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "two.pt2", "w") as archive:
        for name in ("a/models/model.json", "b/models/model.json"):
            archive.writestr(name, "{}")
    err = adagp("layers", "--pt2", tmp_path / "two.pt2", "--csv", code=3).stderr
    assert "two networks, a/models/model.json and b/models/model.json" in err


def test_a_deep_program_is_refused(tmp_path):
    depth = 100_000
    argument = depth * '{"as_optional_tensors":[' + depth * "]}"
    node = f'{{"target": "t", "inputs": [], "outputs": [{argument}]}}'
    with zipfile.ZipFile(tmp_path / "deep.pt2", "w") as archive:
        archive.writestr("deep/models/model.json", f'{{"graph_module": {{"graph": {{"nodes": [{node}]}}}}}}')
    assert "lie in each other" in adagp("layers", "--pt2", tmp_path / "deep.pt2", "--csv", code=3).stderr


def test_usage_errors(tmp_path):
    assert "did you mean 'resnet50'" in adagp("layers", "--model", "resnet5O", code=2).stderr
    assert "--model, --pt2, --onnx or --table" in adagp("layers", code=2).stderr
    assert "tokens:SRC,TGT" in adagp("layers", "--model", "transformer", "--input", "cifar",
                                     code=2).stderr
    assert "takes images" in adagp("layers", "--model", "vgg11", "--input", "tokens:3,4",
                                   code=2).stderr
    (tmp_path / "no.pt2").write_text("not an archive")
    assert "no.pt2" in adagp("layers", "--pt2", tmp_path / "no.pt2", code=3).stderr


def test_zoo_is_what_the_repository_holds(tmp_path):
    adagp("layers", "--zoo", tmp_path / "zoo")
    kept = {f.name: f.read_text() for f in (ROOT / "configs/layers").glob("*.csv")}
    assert {f.name: f.read_text() for f in (tmp_path / "zoo").glob("*.csv")} == kept
