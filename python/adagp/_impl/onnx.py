"""An ONNX graph in the form of torch's exported graphs, which the C++ reader turns into rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import DataError, UsageError
from .arguments import whole
from .extras import need
from .onnx_ops import Node, Translated, translate


def _load(path: Path) -> Any:
    onnx = need("onnx", "a table of an .onnx file")
    try:
        model = onnx.load(str(path), load_external_data=False)  # shapes are enough
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from error
    except Exception as error:
        raise DataError(f"{path}: is no ONNX file: {error}") from error
    if model.functions:
        model = need("onnx.inliner", "a table of an .onnx file").inline_local_functions(
            model
        )
    return model


def _sizes(value: Any) -> list[int | None]:
    shape = value.type.tensor_type.shape
    return [d.dim_value if d.HasField("dim_value") else None for d in shape.dim]


def _wanted(given: Any, names: list[str], batch: int) -> dict[str, list[int]]:
    """The shapes that `input` names, by the graph's inputs."""

    def shape_of(value: Any) -> list[int]:
        sizes = value.shape if hasattr(value, "shape") else value
        return [whole(size, "input", 1) for size in sizes]

    if given is None:
        return {}
    if isinstance(given, Mapping):
        return {str(name): shape_of(value) for name, value in given.items()}
    if hasattr(given, "shape"):
        return {names[0]: shape_of(given)}
    if isinstance(given, (tuple, list)) and given:
        if all(hasattr(one, "shape") for one in given):
            return {name: shape_of(one) for name, one in zip(names, given)}
        return {names[0]: [batch, *(whole(size, "input", 1) for size in given)]}
    raise UsageError(
        f"input is {given!r}, expected the shape of one example such as (3, 224, 224), or arrays"
    )


def _fix_inputs(model: Any, path: Path, given: Any, batch: int) -> list[str]:
    """Gives every input a size along every axis; the names of the inputs."""
    constants = {one.name for one in model.graph.initializer}
    inputs = [one for one in model.graph.input if one.name not in constants]
    if not inputs:
        raise DataError(f"{path}: has no input")
    wanted = _wanted(given, [one.name for one in inputs], batch)
    for name in wanted:
        if name not in {one.name for one in inputs}:
            raise UsageError(f"input: '{name}' is no input of {path}")
    for one in inputs:
        sizes = _sizes(one)
        shape = wanted.get(one.name)
        if shape is None:
            shape = [size or (batch if axis == 0 else 0) for axis, size in enumerate(sizes)]
        fits = len(shape) == len(sizes) and all(a in (None, b) for a, b in zip(sizes, shape))
        if not fits or 0 in shape:
            text = "x".join("?" if size is None else str(size) for size in sizes)
            raise UsageError(
                f"{path}: input '{one.name}' has the shape {text}; tell its sizes by input= "
                "(the shape of one example, or arrays with a batch dimension)"
            )
        for dim, size in zip(one.type.tensor_type.shape.dim, shape):
            dim.dim_value = size
    return [one.name for one in inputs]


def _shapes(model: Any, path: Path) -> dict[str, list[int]]:
    """The sizes of every tensor of the graph that has fixed ones."""
    inference = need("onnx.shape_inference", "a table of an .onnx file")
    del model.graph.value_info[:]  # may hold symbols for what is fixed now
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    try:
        inferred = inference.infer_shapes(model, data_prop=True)
    except Exception as error:
        raise DataError(f"{path}: its shapes do not fit together: {error}") from error
    graph = inferred.graph
    out: dict[str, list[int]] = {}
    for value in [*graph.input, *graph.value_info, *graph.output]:
        sizes = _sizes(value)
        if value.type.tensor_type.HasField("shape") and None not in sizes:
            out[value.name] = [size for size in sizes if size is not None]
    for constant in graph.initializer:
        out[constant.name] = list(constant.dims)
    return out


def _module_path(node_name: str) -> str:
    """ "/layer1/layer1.0/conv1/Conv" -> "layer1.0.conv1", as torch's exporter names nodes."""
    path: list[str] = []
    for part in node_name.strip("/").split("/")[:-1]:
        if path and part.startswith(path[-1] + "."):
            path[-1] = part
        else:
            path.append(part)
    return ".".join(path)


def _parameter_names(model: Any) -> dict[str, str]:
    """Initializers of numbers, by the names that rows get: their own, or their layer's."""
    onnx = need("onnx", "a table of an .onnx file")
    floats = {onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16,
              onnx.TensorProto.DOUBLE, onnx.TensorProto.INT8, onnx.TensorProto.UINT8}
    names = {one.name: one.name for one in model.graph.initializer if one.data_type in floats}
    for node in model.graph.node:
        for place, name in enumerate(node.input):
            if name in names and names[name].startswith("onnx::"):
                path = _module_path(node.name) or node.name or node.output[0]
                names[name] = path + (".weight" if place < 2 else ".bias")
    return names


def _item(translated: Translated, module: str) -> dict[str, Any]:
    return {
        "target": translated.target,
        "inputs": [{"name": name, "arg": arg} for name, arg in translated.arguments.items()],
        "outputs": [{"as_tensor": {"name": name}} for name in translated.outputs],
        "metadata": {"nn_module_stack": f"x,{module},x" if "," not in module else ""},
    }


def onnx_json(path: Path, given: Any, batch: int) -> str:
    """The JSON of the graph in `path`, for `_core.table_from_export`."""
    model = _load(path)
    inputs = _fix_inputs(model, path, given, batch)
    shapes = _shapes(model, path)
    parameters = _parameter_names(model)
    items: list[dict[str, Any]] = []
    for node in model.graph.node:
        for name in [*node.input, *node.output]:
            if name and name not in shapes:
                raise DataError(
                    f"{path}: the shape of '{name}' (at {node.op_type} '{node.name}') is not "
                    "known; tell the sizes of the inputs by input=, or simplify the graph first"
                )
        for translated in translate(Node(node), shapes, set(parameters)):
            items.append(_item(translated, _module_path(node.name)))
    specs: list[dict[str, Any]] = [
        {"parameter": {"arg": {"name": name}, "parameter_name": shown}}
        for name, shown in parameters.items()
    ]
    specs += [{"user_input": {"arg": {"as_tensor": {"name": name}}}} for name in inputs]
    values = {name: {"sizes": [{"as_int": s} for s in sizes]} for name, sizes in shapes.items()}
    graph = {"tensor_values": values, "nodes": items}
    return json.dumps({"graph_module": {"graph": graph, "signature": {"input_specs": specs}}})
