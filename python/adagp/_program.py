"""The command `adagp`: the program that came with the package, or the one ADAGP_PROGRAM names."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from .errors import DataError


def program() -> str:
    """The path of the program. A full build, named by ADAGP_PROGRAM, can train too."""
    named = os.environ.get("ADAGP_PROGRAM")
    path = Path(named) if named else Path(__file__).parent / "bin" / "adagp"
    if not (path.is_file() and os.access(path, os.X_OK)):
        source = "ADAGP_PROGRAM" if named else "the package"
        raise DataError(f"{source} names {path}, which is not a program")
    return str(path)


def main() -> None:
    try:
        path = program()
    except DataError as error:
        sys.exit(f"adagp: {error}")
    os.execv(path, [path, *sys.argv[1:]])
