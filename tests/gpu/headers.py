"""headers.py COMPILER SOURCE FOLDER...: does SOURCE find CUDA's headers in the FOLDERs of its target?

For machines without a GPU, where nothing compiles what is inside `#ifdef ADAGP_WITH_CUDA`. A compiler that
finds the toolkit by itself (/usr/local/include, CPATH) would hide a folder that the target lacks.
"""

import os
import pathlib
import subprocess
import sys


def main(compiler, source, *folders):
    environment = {k: v for k, v in os.environ.items() if k not in ("CPATH", "CPLUS_INCLUDE_PATH")}
    command = [compiler, "-std=c++20", "-DADAGP_WITH_CUDA=1", "-M", source]
    command += [word for folder in folders for word in ("-I", folder)]
    made = subprocess.run(command, env=environment, capture_output=True, text=True)
    if made.returncode != 0:
        sys.exit(made.stderr)
    read = made.stdout.replace("\\\n", " ").split()
    found = [pathlib.Path(path) for path in read if path.endswith("/cuda_runtime.h")]
    if not found:
        sys.exit(f"{source}: includes no cuda_runtime.h: this check is of no use for it")
    for path in found:
        if not any(path.is_relative_to(folder) for folder in folders):
            sys.exit(f"{source}: {path} is in no include folder of its target: name CUDAToolkit_INCLUDE_DIRS there")


if __name__ == "__main__":
    main(*sys.argv[1:])
