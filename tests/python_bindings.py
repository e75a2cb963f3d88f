"""python_bindings.py COMPILER FOLDER...: do the bindings of the Python package compile against today's headers?

The package is a build of its own (`make wheel`), which neither `make test` nor continuous integration makes.
"""

import importlib.util
import pathlib
import subprocess
import sys
import sysconfig

ROOT = pathlib.Path(__file__).resolve().parent.parent
SKIPPED = 77


def headers():
    python = pathlib.Path(sysconfig.get_paths()["include"])
    if not (python / "Python.h").exists():
        print(f"skipped: {python} has no Python.h")
        sys.exit(SKIPPED)
    found = importlib.util.find_spec("nanobind")
    if found is None:
        print("skipped: nanobind is not installed (scripts/setup.sh --full)")
        sys.exit(SKIPPED)
    return [python, pathlib.Path(found.origin).parent / "include", ROOT / "src", ROOT / "python/bindings"]


def main(compiler, *folders):
    bindings = sorted((ROOT / "python/bindings").glob("*.cpp"))
    # In one piece, as the package compiles them.
    together = "".join(f'#include "{path}"\n' for path in bindings)
    command = [compiler, "-x", "c++", "-std=c++20", "-fsyntax-only", "-"]
    command += [word for folder in [*headers(), *folders] for word in ("-I", str(folder))]
    sys.exit(subprocess.run(command, input=together, text=True).returncode)


if __name__ == "__main__":
    main(*sys.argv[1:])
