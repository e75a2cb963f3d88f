"""A small table: a list of records that Jupyter shows and pandas takes."""

from __future__ import annotations

from html import escape
from importlib import import_module
from collections.abc import Sequence
from typing import Any

from ..errors import UsageError


class Records(list[dict[str, Any]]):
    """A list of dicts with the same keys.

    >>> table = Records(("layer", "cosine"))
    >>> table.add("features.0", 0.5)
    >>> print(table)
    layer       cosine
    features.0  0.5
    """

    def __init__(self, columns: Sequence[str]) -> None:
        super().__init__()
        self.columns = tuple(columns)

    def add(self, *values: Any) -> None:
        self.append(dict(zip(self.columns, values, strict=True)))

    def to_pandas(self) -> Any:
        """The same as a pandas DataFrame."""
        try:
            pandas = import_module("pandas")  # by name: it need not be there, nor its types
        except ImportError:
            raise UsageError("to_pandas() needs pandas: pip install 'adagp[pandas]'") from None
        return pandas.DataFrame(list(self), columns=list(self.columns))

    def _texts(self) -> list[list[str]]:
        def text(value: Any) -> str:
            return f"{value:.4g}" if isinstance(value, float) else str(value)

        return [list(self.columns)] + [[text(value) for value in row.values()] for row in self]

    def __str__(self) -> str:
        texts = self._texts()
        widths = [max(len(row[i]) for row in texts) for i in range(len(self.columns))]
        lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths)) for row in texts)
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str:
        head, *body = self._texts()
        top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
        rows = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in body)
        return (
            "<table><thead><tr>"
            + top
            + "</tr></thead><tbody>"
            + "".join(f"<tr>{row}</tr>" for row in rows)
            + "</tbody></table>"
        )
