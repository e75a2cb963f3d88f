"""Layer tables of ONNX files: against torch's exporter, and operators by hand."""

import json
import warnings

import pytest

from adagp.errors import DataError, UsageError
from adagp.layer_table import layers


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


def onnx_file(torch, model, shape, path):
    pytest.importorskip("onnx")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model.eval(), (torch.rand(shape),), str(path), dynamo=False,
                          do_constant_folding=False, training=torch.onnx.TrainingMode.TRAINING,
                          opset_version=17)  # fmt: skip
    model.eval()
    return path


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2", "squeezenet1_1", "densenet121", "efficientnet_b0"])
def test_onnx_equals_the_export(torch, tmp_path, name):
    models = pytest.importorskip("torchvision").models
    model = models.get_model(name)
    shape = (2, 3, 64, 64)
    got = layers(onnx_file(torch, model, shape, tmp_path / f"{name}.onnx")).products()
    expected = layers(model, torch.zeros(shape), name=name).products()
    assert got.macs == expected.macs and got.weights == expected.weights
    rows = [json.loads(table.json())["layers"] for table in (got, expected)]
    assert rows[0] == rows[1]
    assert got.unknown == []


def tiny_onnx(tmp_path, nodes, initializers, shape=("N", 4, 9, 9)):
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper, numpy_helper

    numpy = pytest.importorskip("numpy")
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(numpy.zeros(size, "float32"), n)
         for n, size in initializers.items()],
    )  # fmt: skip
    path = tmp_path / "tiny.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), str(path))
    return path


def test_onnx_operators(tmp_path):
    helper = pytest.importorskip("onnx").helper
    nodes = [
        helper.make_node("Conv", ["x", "a.weight"], ["c"], strides=[2, 1], pads=[0, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c", "s", "s", "s", "s"], ["n"]),
        helper.make_node("Relu", ["n"], ["r"]),
        helper.make_node("ConvTranspose", ["r", "t.weight"], ["u"], strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["u"], ["p"]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("Gemm", ["f", "g.weight", "g.bias"], ["y"], transB=1),
    ]
    weights = {"a.weight": (6, 4, 3, 3), "s": (6,), "t.weight": (6, 5, 2, 2),
               "g.weight": (7, 5), "g.bias": (7,)}  # fmt: skip
    table = layers(tiny_onnx(tmp_path, nodes, weights), batch=3)
    by_op = {row.op: row for row in table}
    assert set(by_op) == {"conv2d", "batch_norm", "activation", "conv_transpose", "pool", "linear"}
    assert list(by_op["conv2d"].output) == [6, 4, 9]
    assert by_op["conv2d"].macs == 6 * 4 * 9 * 4 * 9
    assert by_op["conv_transpose"].macs == 4 * 9 * 6 * 5 * 4
    assert by_op["linear"].macs == 35 and by_op["linear"].bias == 7
    assert by_op["conv2d"].name == "a" and by_op["linear"].name == "g"


def test_onnx_says_what_has_no_row(tmp_path):
    helper = pytest.importorskip("onnx").helper
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Det", ["r"], ["y"])]
    table = layers(tiny_onnx(tmp_path, nodes, {}))
    assert [one.op for one in table.unknown] == ["onnx.Det"]
    assert table.unknown[0].macs is None


def test_onnx_with_free_sizes_asks_for_them(tmp_path):
    helper = pytest.importorskip("onnx").helper
    path = tiny_onnx(tmp_path, [helper.make_node("Relu", ["x"], ["y"])], {}, ("N", 4, "H", "W"))
    with pytest.raises(UsageError, match=r"input 'x' has the shape Nx4xHxW.*input="):
        layers(path)
    assert layers(path, input=(4, 6, 6))[0].output == [4, 6, 6]
    with pytest.raises(UsageError, match="input 'x'"):
        layers(path, input=(5, 6, 6))


def test_a_file_that_is_none(tmp_path):
    pytest.importorskip("onnx")
    path = tmp_path / "bad.onnx"
    path.write_bytes(b"\xff\xff\xff")
    with pytest.raises(DataError, match="bad.onnx"):
        layers(path)
    with pytest.raises(DataError, match="No such file"):
        layers(tmp_path / "none.onnx")
