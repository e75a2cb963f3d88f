"""Small tables for notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

_MOST_ROWS = 60


def _cell(value: Any) -> str:
    if isinstance(value, (str, bool)):
        return escape(str(value))
    if hasattr(value, "__index__"):
        return f"{int(value):,}"
    return f"{float(value):.4g}"


def table_html(columns: Mapping[str, Any], heading: str = "") -> str:
    """Columns as an HTML table; of many rows the first and the last."""
    names = list(columns)
    count = len(columns[names[0]]) if names else 0
    shown = list(range(count))
    if count > _MOST_ROWS:
        shown = [*range(_MOST_ROWS - 10), -1, *range(count - 10, count)]
    lines = ["<table>", "<tr>", *(f"<th>{escape(name)}</th>" for name in names), "</tr>"]
    for row in shown:
        cells = ["&hellip;" if row < 0 else _cell(columns[name][row]) for name in names]
        lines += ["<tr>", *(f"<td>{cell}</td>" for cell in cells), "</tr>"]
    lines.append("</table>")
    return (f"<p>{escape(heading)}</p>" if heading else "") + "".join(lines)
