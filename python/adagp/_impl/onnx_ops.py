"""ONNX operators as torch's, with the arguments that decide shapes and MACs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

Arguments = dict[str, Any]


class Translated(NamedTuple):
    target: str
    arguments: Arguments
    outputs: list[str]


class Node:
    """A node of an ONNX graph with its attributes as Python values."""

    def __init__(self, proto: Any) -> None:
        from onnx import helper

        self.op: str = proto.op_type
        self.domain: str = proto.domain
        self.inputs: list[str] = list(proto.input)
        self.outputs: list[str] = [name for name in proto.output if name]
        self.attributes: dict[str, Any] = {
            one.name: helper.get_attribute_value(one) for one in proto.attribute
        }

    def input(self, place: int) -> str:
        """"" when there is none."""
        return self.inputs[place] if place < len(self.inputs) else ""

    def get(self, name: str, otherwise: Any) -> Any:
        return self.attributes.get(name, otherwise)


# Operators whose first input decides, by the name of torch's operation.
_SIMPLE = {
    "BatchNormalization": "batch_norm", "LayerNormalization": "layer_norm",
    "InstanceNormalization": "instance_norm", "GroupNormalization": "group_norm",
    "RMSNormalization": "rms_norm", "SimplifiedLayerNormalization": "rms_norm",
    "Relu": "relu", "LeakyRelu": "leaky_relu", "Sigmoid": "sigmoid", "Tanh": "tanh", "Elu": "elu",
    "Selu": "selu", "Celu": "celu", "HardSwish": "hardswish", "HardSigmoid": "hardsigmoid",
    "Gelu": "gelu", "Mish": "mish", "PRelu": "prelu", "Softplus": "softplus", "Clip": "clamp",
    "Swish": "silu", "MaxPool": "max_pool2d", "AveragePool": "avg_pool2d",
    "GlobalAveragePool": "adaptive_avg_pool2d", "GlobalMaxPool": "adaptive_max_pool2d",
    "ReduceMean": "mean", "LpPool": "lp_pool2d", "LRN": "local_response_norm",
}  # fmt: skip

_MOVES = {  # no arithmetic
    "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Slice", "Split", "Tile", "Pad", "Identity",
    "Cast", "CastLike", "Dropout", "Shape", "Size", "Constant", "ConstantOfShape", "Range",
    "DepthToSpace", "SpaceToDepth", "Transpose", "GatherND", "GatherElements", "EyeLike", "Trilu",
    "ReverseSequence", "DynamicQuantizeLinear", "QuantizeLinear", "DequantizeLinear",
}  # fmt: skip

_NO_PRODUCTS = {  # arithmetic, no MACs
    "Mul", "Div", "Exp", "Log", "Sqrt", "Reciprocal", "Pow", "Neg", "Abs", "Sign", "Erf", "Sin",
    "Cos", "Tan", "Atan", "Floor", "Ceil", "Round", "Mod", "Where", "Equal", "Greater", "Less",
    "GreaterOrEqual", "LessOrEqual", "Not", "And", "Or", "Xor", "Max", "Min", "Sum", "Mean",
    "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSumExp",
    "ReduceSumSquare", "ArgMax", "ArgMin", "TopK", "CumSum", "Resize", "Upsample", "IsNaN", "IsInf",
    "GridSample", "ScatterND", "ScatterElements", "NonZero", "OneHot", "RandomNormalLike",
    "RandomUniformLike", "Bernoulli", "Softsign", "ThresholdedRelu", "Shrink", "Hardmax", "Unique",
}  # fmt: skip


def _tensor(name: str) -> Arguments:
    return {"as_tensor": {"name": name}}


def _tensors(**named: str) -> Arguments:
    return {argument: _tensor(name) for argument, name in named.items() if name}


def _ints(values: Any) -> Arguments:
    return {"as_ints": [int(value) for value in values]}


def _aten(op: str, arguments: Arguments, outputs: list[str]) -> Translated:
    return Translated(f"torch.ops.aten.{op}.default", arguments, outputs)


def _padding(node: Node, inputs: list[int], kernel: list[int], stride: list[int],
             dilation: list[int]) -> list[int]:  # fmt: skip
    """On each side of an axis. Of uneven ones the larger: a table has one number."""
    axes = len(kernel)
    mode = node.get("auto_pad", b"NOTSET")
    if mode in (b"SAME_UPPER", b"SAME_LOWER", "SAME_UPPER", "SAME_LOWER"):
        out = []
        for size, k, s, d in zip(inputs, kernel, stride, dilation):
            total = max((-(-size // s) - 1) * s + d * (k - 1) + 1 - size, 0)
            out.append(-(-total // 2))
        return out
    pads = node.get("pads", [0] * (2 * axes))
    return [max(pads[axis], pads[axis + axes], 0) for axis in range(axes)]


def _convolution(node: Node, shapes: dict[str, list[int]], _: set[str]) -> list[Translated]:
    weight = shapes[node.input(1)]
    kernel = weight[2:]
    axes = len(kernel)
    stride = list(node.get("strides", [1] * axes))
    dilation = list(node.get("dilations", [1] * axes))
    transposed = "_transpose" if node.op == "ConvTranspose" else ""
    arguments = _tensors(input=node.input(0), weight=node.input(1), bias=node.input(2))
    arguments["stride"] = _ints(stride)
    arguments["dilation"] = _ints(dilation)
    arguments["padding"] = _ints(
        _padding(node, shapes[node.input(0)][2:], kernel, stride, dilation)
    )
    arguments["groups"] = {"as_int": int(node.get("group", 1))}
    return [_aten(f"conv{transposed}{axes}d", arguments, node.outputs)]


def _gemm(node: Node, shapes: dict[str, list[int]], _: set[str]) -> list[Translated]:
    left, right, bias = node.input(0), node.input(1), node.input(2)
    out: list[Translated] = []
    if node.get("transA", 0):
        turned = left + "/transposed"
        shapes[turned] = shapes[left][::-1]
        out.append(_aten("t", _tensors(self=left), [turned]))
        left = turned
    if node.get("transB", 0):
        arguments = _tensors(input=left, weight=right, bias=bias)
        return [*out, _aten("linear", arguments, node.outputs)]
    if bias:
        arguments = _tensors(self=bias, mat1=left, mat2=right)
        return [*out, _aten("addmm", arguments, node.outputs)]
    return [*out, _aten("mm", _tensors(self=left, mat2=right), node.outputs)]


def _matmul(node: Node, _: dict[str, list[int]], __: set[str]) -> list[Translated]:
    return [_aten("matmul", _tensors(self=node.input(0), other=node.input(1)), node.outputs)]


def _einsum(node: Node, _: dict[str, list[int]], __: set[str]) -> list[Translated]:
    equation = node.get("equation", b"")
    arguments: Arguments = {
        "equation": {"as_string": equation.decode() if isinstance(equation, bytes) else equation},
        "tensors": {"as_tensors": [{"name": name} for name in node.inputs]},
    }
    return [_aten("einsum", arguments, node.outputs)]


def _gather(node: Node, _: dict[str, list[int]], parameters: set[str]) -> list[Translated]:
    if node.input(0) in parameters:
        arguments = _tensors(weight=node.input(0), indices=node.input(1))
        return [_aten("embedding", arguments, node.outputs)]
    return [_aten("index_select", _tensors(self=node.input(0)), node.outputs)]


def _softmax(node: Node, _: dict[str, list[int]], __: set[str]) -> list[Translated]:
    arguments = _tensors(self=node.input(0))
    arguments["dim"] = {"as_int": int(node.get("axis", -1))}
    return [_aten("softmax", arguments, node.outputs)]


def _add(node: Node, _: dict[str, list[int]], __: set[str]) -> list[Translated]:
    arguments = _tensors(self=node.input(0), other=node.input(1))
    return [_aten("add", arguments, node.outputs)]


def _concat(node: Node, _: dict[str, list[int]], __: set[str]) -> list[Translated]:
    arguments = {"tensors": {"as_tensors": [{"name": name} for name in node.inputs]}}
    return [_aten("cat", arguments, node.outputs)]


_Rule = Callable[[Node, dict[str, list[int]], set[str]], list[Translated]]
_RULES: dict[str, _Rule] = {
    "Conv": _convolution, "ConvTranspose": _convolution, "Gemm": _gemm, "MatMul": _matmul,
    "Einsum": _einsum, "Gather": _gather, "Softmax": _softmax, "LogSoftmax": _softmax,
    "Add": _add, "Sub": _add, "Concat": _concat,
}  # fmt: skip


def _all_inputs(node: Node) -> Arguments:
    return {f"input{i}": _tensor(name) for i, name in enumerate(node.inputs) if name}


def translate(node: Node, shapes: dict[str, list[int]], parameters: set[str]) -> list[Translated]:
    """The node as operations of torch. What torch does not have keeps ONNX's name, and no row."""
    if not node.outputs:
        return []
    standard = node.domain in ("", "ai.onnx")
    if standard and node.op in _RULES:
        return _RULES[node.op](node, shapes, parameters)
    if standard and node.op in _SIMPLE:
        arguments = _tensors(input=node.input(0))
        if node.op.endswith("Normalization"):
            arguments |= _tensors(weight=node.input(1), bias=node.input(2))
        # Further outputs, as of indices, have no row of their own.
        return [_aten(_SIMPLE[node.op], arguments, node.outputs[:1])]
    if standard and node.op == "Expand":
        return [_aten("expand", _tensors(self=node.input(0)), node.outputs)]
    if standard and node.op in _MOVES:
        return [_aten("view", _tensors(self=node.input(0)), node.outputs)]
    if standard and node.op in _NO_PRODUCTS:
        return [_aten("mul", _all_inputs(node), node.outputs)]
    name = f"onnx.{node.domain + '.' if not standard else ''}{node.op}"
    return [Translated(name, _all_inputs(node), node.outputs)]
