"""The HTML report of run folders, written by the program that came with the package."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from ..errors import DataError, Error, UsageError
from .program import program

_ERRORS: dict[int, type[Error]] = {2: UsageError, 3: DataError}


def write_page(inputs: Sequence[Path], output: str | PathLike[str], title: str | None) -> Path:
    """`adagp report INPUTS... -o OUTPUT`. Says where the file is."""
    options = ["-o", str(output)] + ([] if title is None else ["--title", title])
    command = [program(), "report", *options, "--", *map(str, inputs)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode == 0:
        return Path(output)
    said = done.stderr.strip().splitlines()
    text = said[-1].removeprefix("E ") if said else f"exit code {done.returncode}"
    raise _ERRORS.get(done.returncode, Error)(f"report: {text}")
