"""What the build promises people with other compilers, other LibTorchs, and projects of their own."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness import BIN, ROOT, environment

PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
CMAKE = shutil.which("cmake", path=PATH)
BUILD = Path(BIN).resolve().parents[1]


def cmake(*args, code=0, **extra):
    done = subprocess.run([CMAKE, *map(str, args)], cwd=ROOT, env=environment(**{"PATH": PATH, **extra}),
                          capture_output=True, text=True)
    text = done.stdout + done.stderr
    assert (done.returncode == 0) == (code == 0), text
    return " ".join(text.split())  # CMake breaks its lines


def configure(folder, *args, preset="release", **extra):
    """Configures the torch-free half; what it would compile with."""
    text = cmake("--preset", preset, "-B", folder, "-DADAGP_TORCH=OFF", "-DADAGP_TESTS=OFF",
                 "-DADAGP_BENCH=OFF", *args, **extra)
    return text, (folder / "build.ninja").read_text()


def test_warnings_are_errors_for_developers_and_ci_alone(tmp_path):
    assert "-Werror" not in configure(tmp_path / "users")[1]
    assert "-Werror" in configure(tmp_path / "ci", preset="ci")[1]
    assert "make test PRESET=ci" in (ROOT / ".ci/run").read_text()
    # Without what a `make test PRESET=ci` around this test hands down.
    alone = {name: value for name, value in environment().items()
             if name not in ("PRESET", "MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS")}
    told = subprocess.run(["make", "-n", "test"], cwd=ROOT, env=alone, capture_output=True,
                          text=True).stdout
    assert "cmake --preset release " in told and "WERROR" not in told


def test_no_test_program_may_take_more_than_15_minutes():
    found = subprocess.run(["ctest", "--test-dir", BUILD, "--show-only=json-v1"], env=environment(PATH=PATH),
                           capture_output=True, text=True, check=True).stdout
    limits = {test["name"]: [p["value"] for p in test["properties"] if p["name"] == "TIMEOUT"]
              for test in json.loads(found)["tests"]}
    assert {"unit.core", "cli.prompt", "installed.install", "include_directions"} <= limits.keys()
    assert set(map(tuple, limits.values())) == {(900,)}, limits


def test_a_commit_links_nothing_again_that_does_not_record_it(tmp_path):
    assert "commit.cpp" not in configure(tmp_path / "sim")[1]
    if "libadagp_run.a" in (ninja := (BUILD / "build.ninja").read_text()):
        programs = re.findall(r"^build (bin/\w+): CXX_EXECUTABLE_LINKER(.*)$", ninja, re.MULTILINE)
        again = {name for name, inputs in programs if "libadagp_run.a" in inputs}
        assert "bin/adagp" in again and not again & {"bin/adagp_sim", "bin/test_core", "bin/test_nn", "bin/test_comm"}


def test_mold_and_ccache_are_left_alone_where_they_do_not_work(tmp_path):
    """A compiler that cannot use mold, and a ccache that fails whatever it is asked."""
    compiler, ccache = tmp_path / "compiler", tmp_path / "ccache"
    compiler.write_text('#!/bin/sh\ncase "$*" in *-fuse-ld=mold*) exit 1;; esac\nexec g++ "$@"\n')
    ccache.write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "mold").write_text("#!/bin/sh\nexit 1\n")
    for tool in (compiler, ccache, tmp_path / "mold"):
        tool.chmod(0o755)
    text, ninja = configure(tmp_path / "build", f"-DCMAKE_CXX_COMPILER={compiler}",
                            f"-DADAGP_CCACHE={ccache}", f"-DADAGP_MOLD={tmp_path / 'mold'}")
    assert "mold: " in text and "ccache: " in text and text.count("not used") == 2
    assert "fuse-ld=mold" not in ninja and str(ccache) not in ninja


KERNELS = """
cmake_minimum_required(VERSION 3.22)
project(kernels CXX)
list(APPEND CMAKE_MODULE_PATH {root}/cmake)
set(ADAGP_TORCH ON)
include(Cuda)
"""


@pytest.mark.parametrize("gpus, options, looks", [
    ("", [], False),
    ("GPU 0: NVIDIA H200", [], True),
    ("GPU 0: NVIDIA H200", ["-DADAGP_CUDA=OFF"], False),
    ("", ["-DADAGP_CUDA=ON"], True),
    ("", ["-DADAGP_KERNELS=NVCC"], True),
    ("GPU 0: NVIDIA H200", ["-DADAGP_KERNELS=OFF"], False),
])
def test_kernels_are_compiled_where_a_gpu_is_or_when_asked(tmp_path, gpus, options, looks):
    """Without a reason CMake does not even look for nvcc, which here would not work."""
    (tmp_path / "scripts").symlink_to(ROOT / "scripts")
    (tmp_path / "CMakeLists.txt").write_text(KERNELS.format(root=ROOT))
    driver = tmp_path / "tools/nvidia-smi"
    driver.parent.mkdir()
    driver.write_text(f"#!/bin/sh\necho '{gpus}'\n")
    driver.chmod(0o755)
    text = cmake("-S", tmp_path, "-B", tmp_path / "build", "-DADAGP_CUDA=AUTO", *options,
                 PATH=f"{driver.parent}:{PATH}", CUDACXX="/bin/false")
    assert ("Looking for a CUDA compiler" in text) == looks


def fake_torch(folder, version):
    (folder / "lib").mkdir(parents=True)
    (folder / "lib/libtorch_cpu.so").touch()
    (folder / "version.py").write_text(f"__version__ = '{version}'\n")
    return folder


@pytest.mark.parametrize("found, wanted, told", [
    ("2.9.1+cu128", "", "is LibTorch 2.9.1+cu128; adagp needs 2.11.0 or newer"),
    ("2.11.0+cu130", "2.15.0", "'make build ADAGP_TORCH_VERSION=2.15.0' installs and takes it"),
])
def test_a_libtorch_that_does_not_do_is_refused_by_its_version(tmp_path, found, wanted, told):
    torch = fake_torch(tmp_path / "torch", found)
    text = cmake("-S", ROOT, "-B", tmp_path / "build", f"-DADAGP_TORCH_DIR={torch}",
                 f"-DADAGP_TORCH_VERSION={wanted}", "-DADAGP_KERNELS=OFF", code=1)
    assert told in text


@pytest.mark.parametrize("version, told", [("2.9.0", "2.11.0 or newer"), ("newest", "three numbers")])
def test_set_up_refuses_a_version_before_it_installs_anything(version, told):
    done = subprocess.run([ROOT / "scripts/setup.sh", "--sim"], capture_output=True, text=True,
                          env={**os.environ, "ADAGP_TORCH_VERSION": version})
    assert done.returncode == 1 and told in done.stderr


CONSUMER = """
cmake_minimum_required(VERSION 3.22)
project(plain CXX)
find_package(adagp REQUIRED)
add_executable(plain main.cpp)
target_link_libraries(plain adagp::schedule)
if(TARGET adagp::torch)
  get_target_property(folders adagp::torch INTERFACE_INCLUDE_DIRECTORIES)
  message(STATUS "torch headers: ${folders}")
endif()
"""
MAIN = """
#include "adagp/base/schedule/schedule.h"
int main() {
  const auto schedule = adagp::schedule::Schedule::parse("1ep bp, 1:1", 2);
  return schedule.at(0, 0) == adagp::schedule::Phase::kBackprop ? 0 : 1;
}
"""


def torch_without_version(folder):
    """The torch of this build without the file that tells its version, or None."""
    cache = (BUILD / "CMakeCache.txt").read_text().splitlines()
    found = [line.split("=", 1)[1] for line in cache if line.startswith("ADAGP_TORCH_DIR:")]
    if not found or not Path(found[0], "lib/libtorch_cpu.so").exists():
        return None
    folder.mkdir()
    for part in ("include", "lib"):
        (folder / part).symlink_to(Path(found[0], part))
    return folder


def test_a_plain_project_finds_and_uses_the_library(tmp_path):
    """No C++ standard is set there, and neither torch says its version."""
    if not list(BUILD.glob("src/adagp/libadagp_*.a")):
        pytest.skip("the libraries are not built")
    prefix, project = tmp_path / "prefix", tmp_path / "project"
    installed = subprocess.run([CMAKE, "--install", BUILD, "--prefix", prefix],
                               capture_output=True, text=True)
    if re.search(r'cannot find\s+"[^"]*libadagp_\w+\.a"', installed.stderr):
        pytest.skip("not all libraries are built: " + installed.stderr)
    assert installed.returncode == 0, installed.stderr
    config = next(prefix.rglob("adagpConfig.cmake"))
    lines = config.read_text().splitlines()
    config.write_text("\n".join(line if "set(adagp_TORCH_VERSION" not in line
                                else '  set(adagp_TORCH_VERSION "")' for line in lines))
    project.mkdir()
    (project / "CMakeLists.txt").write_text(CONSUMER)
    (project / "main.cpp").write_text(MAIN)
    torch = torch_without_version(tmp_path / "torch")
    text = cmake("-G", "Ninja", "-S", project, "-B", project / "build",
                 f"-DCMAKE_PREFIX_PATH={prefix}", *([f"-DADAGP_TORCH_DIR={torch}"] if torch else []))
    if torch:
        assert f"{torch}/include;{torch}/include/torch/csrc/api/include" in text
    cmake("--build", project / "build")
    assert subprocess.run([project / "build/plain"]).returncode == 0
