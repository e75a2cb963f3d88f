"""Layer tables: what a network computes, layer by layer."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, overload

from . import _core
from ._impl.arguments import flag, listed, text, whole
from ._impl.extras import need
from ._core import Layer
from ._impl.showing import text_or_file
from .errors import DataError, UsageError

_TABLE_START = "model,input,name,op,"


class Uncounted(NamedTuple):
    """An operation that has no row."""

    name: str
    op: str
    macs: int | None  # None: not known
    times: int


class LayerTable:
    """The operations of a network for one example, in the order in which they run.

    >>> import adagp
    >>> table = adagp.layers("resnet18", input="cifar")
    >>> table[0].name, table.macs
    ('conv1', 555422720)
    """

    def __init__(
        self,
        table: _core.Table,
        note: str = "",
        topology: bool = False,
        parameters: int | None = None,
    ) -> None:
        self._table = table
        self._topology = topology  # SCALE-Sim rounds sizes up
        self.note = note  # which size was taken for the batch
        self.parameters = parameters  # numbers in all parameters, of an exported network

    @property
    def model(self) -> str:
        return self._table.model

    @property
    def input(self) -> str:
        return self._table.input

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one example, of all rows."""
        return self._table.total_macs()

    @property
    def weights(self) -> int:
        """Weights of the products, each layer once."""
        return self._table.total_weights()

    @property
    def uncounted(self) -> list[Uncounted]:
        """Operations that have no row, also those without MACs."""
        return [Uncounted(*one) for one in self._table.uncounted()]

    @property
    def unknown(self) -> list[Uncounted]:
        """Operations whose MACs the rows leave out, known or not."""
        return [one for one in self.uncounted if one.macs != 0]

    @property
    def missing(self) -> str:
        """Which MACs the rows leave out, in words; "" when nothing."""
        return self._table.missing_text()

    def __len__(self) -> int:
        return len(self._table)

    def __getitem__(self, index: int) -> Layer:
        return self._table[whole(index, "index", -(2**62))]

    def __iter__(self) -> Iterator[Layer]:
        return (self._table[i] for i in range(len(self._table)))

    def products(self) -> LayerTable:
        """The rows that have MACs."""
        table = self._table.only_products()
        return LayerTable(table, self.note, self._topology, self.parameters)

    def to_pandas(self) -> Any:
        """A DataFrame with a line for each row. `attrs["uncounted"]` has what has no row."""
        pandas = need("pandas", "LayerTable.to_pandas")
        columns = {"model": self.model, "input": self.input, **self._table.columns()}
        frame = pandas.DataFrame(columns)
        frame.attrs["uncounted"] = [tuple(one) for one in self.uncounted]
        return frame

    @overload
    def to_csv(self) -> str: ...
    @overload
    def to_csv(self, path: str | PathLike[str]) -> None: ...
    def to_csv(self, path: str | PathLike[str] | None = None) -> str | None:
        """The table as the program writes it, or with `path` a file of it."""
        return text_or_file(self._table.csv(), path)

    @overload
    def to_scalesim(self) -> str: ...
    @overload
    def to_scalesim(self, path: str | PathLike[str]) -> None: ...
    def to_scalesim(self, path: str | PathLike[str] | None = None) -> str | None:
        """A topology for SCALE-Sim with the same MACs, or with `path` a file of it: products alone,
        padding in the sizes.

        What SCALE-Sim's convolutions cannot say (dilation, two strides, a third axis, transposed
        ones) is written as a matrix product; every group has a line.
        """
        return text_or_file(self._table.topology(), path)

    def to_timeloop(
        self,
        folder: str | PathLike[str],
        accelerator: str | PathLike[str] = "adagp-180",
        batch: int = 1,
    ) -> None:
        """Timeloop's files (0.4) of a training batch: a problem with the constraints of the
        dataflow for each product, and the architecture of a preset or TOML file."""
        self._write_for("timeloop", folder, accelerator, batch)

    def to_zigzag(
        self,
        folder: str | PathLike[str],
        accelerator: str | PathLike[str] = "adagp-180",
        batch: int = 1,
    ) -> None:
        """ZigZag's workload, mapping and accelerator of a training batch: forward products and
        gradients, as `adagp layers --to zigzag` writes them."""
        self._write_for("zigzag", folder, accelerator, batch)

    def _write_for(self, form: str, folder: Any, accelerator: Any, batch: int) -> None:
        machine = listed(accelerator, "accelerator")
        examples = whole(batch, "batch", 1)
        self._table.write_for(form, listed(folder, "folder"), machine, examples, self._topology)

    def json(self) -> str:
        """The table as JSON, as `adagp layers --all --json` writes it."""
        return self._table.json()

    def __repr__(self) -> str:
        rest = f"; {self.missing}" if self.missing else ""
        return (
            f"<LayerTable {self.model}, input {self.input}: {len(self)} rows, "
            f"{self.macs / 1e9:.3f} GMACs, {self.weights:,} weights{rest}>"
        )

    def _repr_html_(self) -> str:
        from ._impl.html import table_html

        keep = ["name", "op", "in_c", "in_h", "in_w", "out_c", "out_h", "out_w", "macs", "weights"]
        columns = self._table.columns()
        return table_html({name: columns[name] for name in keep}, heading=repr(self)[1:-1])


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", errors="surrogateescape")
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from error


def _checked(exported: _core.ExportedTable, name: str) -> LayerTable:
    if len(exported.table) == 0:
        raise DataError(f"{name}: has no operation that a layer table could show")
    return LayerTable(exported.table, exported.note, parameters=exported.parameters)


def _onnx_sizes(given: Any) -> list[tuple[str, list[int]]]:
    """Sizes of inputs by name, or in their order where the name is ""."""

    def sizes(value: Any) -> list[int]:
        return [whole(size, "input", 1) for size in (value.shape if hasattr(value, "shape") else value)]

    if given is None:
        return []
    if isinstance(given, Mapping):
        return [(str(name), sizes(value)) for name, value in given.items()]
    if hasattr(given, "shape"):
        return [("", sizes(given))]
    if isinstance(given, (tuple, list)) and given:
        arrays = all(hasattr(one, "shape") for one in given)
        return [("", sizes(one)) for one in (given if arrays else [given])]
    raise UsageError(f"input is {given!r}, expected the shape of one example such as (3, 224, 224), or arrays")


def _from_file(path: Path, given: Any, batch: int, kind: str | None) -> LayerTable:
    ending = path.suffix.lower()
    wanted = 0 if batch == 1 else batch  # a file knows its batch itself; 1 is the default
    if ending == ".onnx":
        return _checked(_core.table_from_onnx(str(path), wanted, _onnx_sizes(given)), str(path))
    if ending in (".pt2", ".zip"):
        from ._impl.export import graph_json

        graph = graph_json(path, str(path))
        return _checked(_core.table_from_export(graph, path.stem, str(path), wanted), str(path))
    content = _read(path)
    # Bytes that are no UTF-8 would not reach C++; it names them in its own way otherwise.
    content = content.encode("utf-8", errors="replace").decode("utf-8")
    if kind is None and content.lstrip("\ufeff").startswith(_TABLE_START[:-1]):
        return LayerTable(_core.table_from_csv(content, str(path)))
    if kind is None and not _looks_like_topology(content):
        return LayerTable(_core.table_from_csv(content, str(path)))  # says what is wrong
    return LayerTable(_core.table_from_topology(content, str(path), kind or "conv"), topology=True)


def _looks_like_topology(content: str) -> bool:
    return content.lstrip("\ufeff \t").lower().startswith("layer")


def _from_frame(frame: Any) -> LayerTable:
    buffer = io.StringIO()
    frame.to_csv(buffer, index=False, lineterminator="\n")
    table = _core.table_from_csv(buffer.getvalue(), "DataFrame")
    uncounted = getattr(frame, "attrs", {}).get("uncounted", [])
    try:
        return LayerTable(table.with_uncounted([tuple(one) for one in uncounted]))
    except TypeError as error:
        raise UsageError(f"DataFrame: attrs['uncounted'] is {uncounted!r}, expected (name, op, macs, times)") from error


def _from_name(name: str, given: Any) -> LayerTable:
    if given is not None and not isinstance(given, str):
        raise UsageError(
            f"input is {given!r}, but '{name}' is a network by name: expected input='imagenet', "
            "'cifar' or another of adagp.networks()"
        )
    return LayerTable(_core.zoo_table(name, given or "imagenet"))


def is_path(value: Any) -> bool:
    """Whether a text or path means a file and not a network's name."""
    if hasattr(value, "__fspath__"):
        return True
    endings = (".csv", ".pt2", ".onnx", ".zip")
    return isinstance(value, str) and ("/" in value or value.lower().endswith(endings))


def networks() -> dict[str, list[str]]:
    """Networks that are known by name, with the inputs they take.

    >>> import adagp
    >>> adagp.networks()["resnet18"]
    ['cifar', 'cifar100', 'imagenet']
    """
    return {name: _core.zoo_inputs(name) for name in _core.zoo_models()}


def layers(
    source: Any,
    input: Any = None,
    batch: int = 1,
    *,
    name: str | None = None,
    train: bool = False,
    topology: str | None = None,
) -> LayerTable:
    """The layer table of a network.

    `source` is a torch module, the name of a network (`adagp.networks()`), a file (.pt2 of
    torch.export.save, .onnx, .csv of a layer table or of SCALE-Sim), a DataFrame that
    `LayerTable.to_pandas` made, or a table. `input` is the shape of one example (of a module
    (3, 224, 224) unless told), a tensor, a tuple or dict of tensors with a batch dimension; of a
    network by name "imagenet", "cifar", ... `batch` is the number of examples the graph is read
    with. A module is read in evaluation mode unless `train` is true. `topology` ("conv", "gemm")
    says that a CSV file is SCALE-Sim's.

    >>> import adagp, torch
    >>> table = adagp.layers(torch.nn.Linear(8, 4), input=(8,))
    >>> table.macs
    32
    """
    whole(batch, "batch", 1)
    flag(train, "train")
    if isinstance(source, LayerTable):
        return source
    if hasattr(source, "to_csv") and hasattr(source, "columns"):
        return _from_frame(source)
    if is_path(source):
        return _from_file(Path(source), input, batch, topology)
    if isinstance(source, str):
        return _from_name(source, input)
    if hasattr(source, "named_modules") and hasattr(source, "state_dict"):
        from ._impl.export import export_module

        model = text(name, "name") if name is not None else type(source).__name__
        graph = export_module(source, (3, 224, 224) if input is None else input, batch, train)
        wanted = batch if isinstance(input, (tuple, list)) or input is None else 0
        wanted = 0 if wanted == 1 else wanted
        return _checked(_core.table_from_export(graph, model, model, wanted), model)
    raise UsageError(
        f"source is a {type(source).__name__}, expected a torch module, the name of a network, "
        "a file (.pt2, .onnx, .csv), a DataFrame or a LayerTable"
    )
