"""What results have in common: texts that may become files, and the frame of pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DataError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def text_or_file(text: str, path: Any) -> str | None:
    """The text; with a path a file of it, and None, as pandas does it."""
    if path is None:
        return text
    try:
        Path(path).write_text(text, encoding="utf-8")
    except (OSError, TypeError) as error:
        raise DataError(f"{path}: {error}") from error
    return None


def finish_axes(axes: Axes, title: str, x: str, y: str, legend: bool = True) -> Axes:
    """What every picture has: a title, names of the axes, a grid."""
    axes.set_title(title, fontsize="medium")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(True, which="both", alpha=0.3)
    axes.set_axisbelow(True)
    if legend:
        axes.legend(fontsize="small", framealpha=0.5)  # bars behind it stay visible
    return axes
