"""A GPU is here when the driver says so: scripts/have_gpu.sh, which set-up and CMake ask."""

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
