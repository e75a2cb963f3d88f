"""A GPU is here when the driver says so: scripts/have_gpu.sh, which set-up and CMake ask. And the compiler there."""

import os
import shutil
import subprocess
import sys

import pytest

from harness import ROOT

DRIVER = """
int cuInit(unsigned flags) { return (int)flags; }
int cuDeviceGetCount(int* count) { *count = DEVICES; return 0; }
"""


def found(tmp_path, **extra):
    """With nothing on the path but what the script needs, and what the test adds."""
    for tool in ("bash", "timeout", "grep", "python3"):
        link = tmp_path / "bin" / tool
        if not link.exists():
            link.parent.mkdir(exist_ok=True)
            real = sys.executable if tool == "python3" else shutil.which(tool)
            link.symlink_to(os.path.realpath(real))
    done = subprocess.run([shutil.which("bash"), ROOT / "scripts/have_gpu.sh"], text=True,
                          capture_output=True, env={"PATH": str(tmp_path / "bin"), **extra})
    assert done.stdout == "" and done.stderr == ""
    return done.returncode == 0


@pytest.mark.parametrize("told, expected", [
    ("GPU 0: NVIDIA H200 (UUID: GPU-1)", True),
    ("No devices found.", False),
    ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", False)])
def test_the_drivers_tool_is_asked(tmp_path, told, expected):
    (tmp_path / "bin").mkdir()
    tool = tmp_path / "bin/nvidia-smi"
    tool.write_text(f'#!/bin/sh\necho "{told}"\n')
    tool.chmod(0o755)
    assert found(tmp_path) == expected


@pytest.mark.parametrize("devices", [0, 1])
def test_without_the_tool_its_library_is_asked(tmp_path, devices):
    """A container with libcuda alone; the device files of /dev say nothing."""
    if os.path.exists("/usr/lib/wsl/lib/nvidia-smi"):
        pytest.skip("WSL2 brings its own nvidia-smi")
    source, library = tmp_path / "cuda.c", tmp_path / "libcuda.so.1"
    source.write_text(DRIVER)
    subprocess.run(["gcc", "-shared", "-fPIC", f"-DDEVICES={devices}", "-Wl,-soname,libcuda.so.1",
                    source, "-o", library], check=True)
    assert found(tmp_path, LD_LIBRARY_PATH=str(tmp_path)) == (devices > 0)


@pytest.mark.skipif(not os.path.exists("/usr/bin/g++"), reason="no /usr/bin/g++ to fall back on")
@pytest.mark.parametrize("library, chosen", [("libstdc++.so", True), ("/usr/lib/libstdc++.so", False)])
def test_a_compiler_without_the_shared_library_is_not_used(tmp_path, library, chosen):
    """CXX of a GPU node may name a compiler that has the static libstdc++ alone."""
    compiler = tmp_path / "g++"
    compiler.write_text(f"#!/bin/sh\necho {library}\n")
    compiler.chmod(0o755)
    done = subprocess.run([ROOT / "scripts/gpu.sh", "args"], text=True, capture_output=True,
                          env={**os.environ, "CXX": str(compiler)})
    assert done.returncode == 0
    assert ("-DCMAKE_CXX_COMPILER=/usr/bin/g++" in done.stdout.split()) == chosen
    assert (str(compiler) in done.stderr) == chosen
