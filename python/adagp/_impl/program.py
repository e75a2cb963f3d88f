"""The command `adagp`: the program that came with the package, or the one ADAGP_PROGRAM names."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ..errors import DataError

# Commands of the training engine, and what does the same in Python, where something does.
_ENGINE = {
    "train": "adagp.compare(..., methods=[METHOD]), or adagp.Plan and adagp.wrap in your own loop",
    "compare": "adagp.compare",
    "sweep": "adagp.compare(..., settings=...)",
    "eval": "adagp.Run(FOLDER).load(model)",
    "export": "adagp.Run(FOLDER).weights()",
    "bench": "adagp.compare(..., dry_run=True)",
    "reproduce": "adagp.compare(..., overwrite=True) to make a run again",
    "data": "",
}


def program() -> str:
    """The path of the program. A full build, named by ADAGP_PROGRAM, can train too."""
    named = os.environ.get("ADAGP_PROGRAM")
    path = Path(named) if named else Path(__file__).parents[1] / "bin" / "adagp"
    if not (path.is_file() and os.access(path, os.X_OK)):
        source = "ADAGP_PROGRAM" if named else "the package"
        raise DataError(f"{source} names {path}, which is not a program")
    return str(path)


def _engine_text(command: str) -> str:
    """Why the package's program has no such command, and what to do."""
    ours = f"in Python use {_ENGINE[command]}; " if _ENGINE[command] else ""
    return (
        f"adagp: '{command}' needs the training engine, which the Python package does not "
        f"bring: {ours}or build the engine in a clone (make build) and name it: "
        f"ADAGP_PROGRAM=build/bin/adagp adagp {command} ..."
    )


def main() -> None:
    """The console script."""
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    if not os.environ.get("ADAGP_PROGRAM"):
        if command in _ENGINE:
            print(_engine_text(command), file=sys.stderr)
            sys.exit(2)
        if command == "doctor":
            from .doctor import doctor

            doctor()
            sys.exit(0)
    try:
        path = program()
    except DataError as error:
        sys.exit(f"adagp: {error}")
    os.execv(path, [path, *sys.argv[1:]])
