"""metrics.jsonl: one JSON object a line, written while the run goes on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError

Record = dict[str, Any]
Columns = dict[str, "np.ndarray[Any, Any]"]

# What a list inside "probes" holds, in this order (docs/run-folder.md).
PROBE_FIGURES = ("cosine", "relative_error", "norm_ratio", "r2", "mse", "mape", "q", "bias")
_FIRST = ("kind", "step", "epoch")


def read_bytes(file: Path) -> bytes:
    """The file's bytes; DataError with its path where it cannot be read."""
    try:
        if not file.is_file():  # a pipe would wait for its writer
            raise DataError(f"{file}: is missing, or no regular file")
        return file.read_bytes()
    except OSError as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{file}: cannot be read: {error.strerror}") from None


def decode(data: bytes, file: Path) -> str:
    """The text of a file of ours."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{file}: not UTF-8 at byte {error.start}; copy it again") from None


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def parse_json(text: str) -> Any:
    """As json.loads, but NaN and Infinity are refused: the program writes them as null."""
    return json.loads(text, parse_constant=_refuse_constant)


def read_records(file: Path) -> list[Record]:
    """All records. A last line without its end is left out: the run may be writing it just now."""
    data = read_bytes(file)
    whole = decode(data[: data.rfind(b"\n") + 1], file)
    lines = [line for line in whole.split("\n") if line.strip()]
    try:
        # One call for all lines takes a third of the time of a call for each.
        records = parse_json("[" + ",".join(lines) + "]")
    except (ValueError, RecursionError):
        records = None
    if records is None or len(records) != len(lines) or not _all_records(records):
        _name_bad_line(whole, file)
    return records  # type: ignore[no-any-return]


def _all_records(records: Iterable[Any]) -> bool:
    return all(isinstance(record, dict) and "kind" in record for record in records)


def _name_bad_line(text: str, file: Path) -> None:
    advice = "the file was changed or damaged; remove the line, or run again"
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = parse_json(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{file}:{number}: not JSON: {error}; {advice}") from None
        if not _all_records([record]):
            raise DataError(f'{file}:{number}: not a run\'s record (no "kind"); {advice}')
    raise DataError(f"{file}: not a file of records; {advice}")


def to_columns(records: Sequence[Mapping[str, Any]]) -> Columns:
    """The figures of "train" and "epoch" records as arrays; NaN where a record has none."""
    wanted = [record for record in records if record["kind"] in ("train", "epoch")]
    names: dict[str, None] = dict.fromkeys(_FIRST)
    for record in wanted:
        names.update(dict.fromkeys(record))
    names.pop("probes", None)
    return {name: _column([record.get(name) for record in wanted]) for name in names}


def _column(values: list[Any]) -> np.ndarray[Any, Any]:
    whole = all(type(value) is int and abs(value) < 2**63 for value in values)
    try:
        return np.array(values, dtype=np.int64 if whole else np.float64)  # None becomes NaN
    except (TypeError, ValueError, OverflowError):
        return np.array(values, dtype=object)


def probe_columns(records: Sequence[Mapping[str, Any]], layers: Sequence[str], file: Path) -> Columns:
    """One row for each step and layer. Layers without a name get their number."""
    steps: list[int] = []
    names: list[str] = []
    values: list[Sequence[Any]] = []
    for record in records:
        probes = record.get("probes")
        if not isinstance(probes, list) or not isinstance(record.get("step"), int):
            continue
        if len(layers) == len(probes):
            names.extend(layers)
        else:
            names.extend(str(number) for number in range(len(probes)))
        steps.extend([record["step"]] * len(probes))
        values.extend(probes)
    if any(not isinstance(row, list) or len(row) != len(PROBE_FIGURES) for row in values):
        raise DataError(
            f"{file}: its probes have other figures than {', '.join(PROBE_FIGURES)}: "
            "written by another version; read it with that one"
        )
    table = np.array(values, dtype=np.float64).reshape(len(values), len(PROBE_FIGURES))
    out: Columns = {"step": np.array(steps, dtype=np.int64), "layer": np.array(names, dtype=object)}
    out.update((name, table[:, i]) for i, name in enumerate(PROBE_FIGURES))
    return out
