"""scripts/offline_bundle.sh: a folder that stands in for the packages on a machine without them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness import ROOT

SCRIPT = ROOT / "scripts/offline_bundle.sh"
HEADERS = ("CLI/CLI.hpp", "toml++/toml.h", "nlohmann/json.hpp", "fmt/core.h", "spdlog/spdlog.h")
# Of LibTorch's header for gloo.
GLOO = ("gloo/algorithm.h", "gloo/common/error.h", "gloo/context.h", "gloo/rendezvous/store.h",
        "gloo/transport/device.h")


def bundle(*args):
    return subprocess.run([SCRIPT, *map(str, args)], capture_output=True, text=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("bundle") / "deps"
    done = bundle(made)
    if "not installed" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    return made


def test_headers_are_complete(folder, tmp_path):
    """What the libraries include of themselves and each other is all in the folder."""
    source, seen = tmp_path / "all.cpp", tmp_path / "all.d"
    headers = HEADERS + (GLOO if Path("/usr/include", GLOO[0]).exists() else ())
    source.write_text("".join(f"#include <{header}>\n" for header in headers)
                      + "#include <gtest/gtest.h>\nint main() { return 0; }\n")
    includes = [folder / "include", folder / "googletest/googletest/include"]
    subprocess.run(["g++", "-std=c++20", "-DFMT_HEADER_ONLY=1", "-DSPDLOG_FMT_EXTERNAL=1",
                    *(f"-I{path}" for path in includes), "-M", "-MF", seen, source], check=True)
    names = {header.split("/")[0] for header in (*headers, "gtest/gtest.h")}
    ours = [Path(word) for word in seen.read_text().split() if names & set(Path(word).parts)]
    assert {folder / "include" / header for header in headers} <= set(ours)
    assert [path for path in ours if not path.is_relative_to(folder)] == []


def test_cmake_takes_googletest_and_headers_from_it(folder, tmp_path):
    cmake = shutil.which("cmake", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    done = subprocess.run([cmake, "-S", ROOT, "-B", tmp_path / "build", "-DADAGP_TORCH=OFF",
                           f"-DADAGP_DEPS_DIR={folder}"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    commands = json.loads((tmp_path / "build/compile_commands.json").read_text())
    assert any(Path(c["file"]).is_relative_to(folder / "googletest") for c in commands)
    core = next(c["command"] for c in commands if "src/adagp/base/core" in c["file"])
    assert f"-isystem {folder}/include" in core


def test_repeating_changes_nothing_and_leaves_nothing_behind(folder):
    def tree():
        return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*")
                if path.is_file()}

    before = tree()
    (folder / "include/CLI/stale.hpp").write_text("from an older package")
    assert bundle(folder).returncode == 0
    assert tree() == before
    assert not [path for path in folder.rglob("*") if path.is_symlink()]


def test_what_is_missing_is_named(tmp_path):
    include = tmp_path / "root/usr/include"
    (include / "CLI").mkdir(parents=True)
    (include / "CLI/CLI.hpp").touch()
    done = bundle(tmp_path / "out", "--from", tmp_path / "root")
    assert done.returncode == 1
    assert "libtomlplusplus-dev" in done.stderr and "googletest" in done.stderr
    assert "libcli11-dev" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_gloo_may_be_missing(tmp_path):
    root, out = tmp_path / "root", tmp_path / "out"
    for file in (*(f"include/{header}" for header in HEADERS), "src/googletest/CMakeLists.txt"):
        (root / "usr" / file).parent.mkdir(parents=True)
        (root / "usr" / file).touch()
    done = bundle(out, "--from", root)
    assert done.returncode == 0, done.stderr
    assert "continuing without libgloo-dev" in done.stderr
    assert (out / "include/CLI/CLI.hpp").exists() and not (out / "include/gloo").exists()


def test_without_a_gpu_the_gpu_targets_say_so_in_one_line(tmp_path):
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\nexit 9\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    done = subprocess.run([ROOT / "scripts/gpu.sh", "ready"], capture_output=True, text=True,
                          env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert done.returncode == 1
    assert done.stderr == "gpu: no NVIDIA GPU on this machine (nvidia-smi lists none)\n"
