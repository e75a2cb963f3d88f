#!/usr/bin/env bash
# gpu.sh COMMAND: the parts of `make test-gpu` and `make bench-gpu`. They work on a machine with
# packages or network, and on one with neither: from the checkout, local/deps (scripts/offline_bundle.sh)
# and what a GPU node brings itself, a python3 with torch, CMake, Ninja, g++ and nvcc.
#
#   ready           exit 1 and one line without a GPU; else installs what is missing and can be had
#   args            the options that CMake needs on this machine
#   test BUILD      the kernels' tests, then the unit tests of what runs on the GPU
#   sanitize BUILD  the kernels' tests under compute-sanitizer (slow; GTEST_FILTER chooses some)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Unit tests that use a GPU where one is.
units='^unit\.(cuda|data|nn|models|optim|predictor|metrics|task|method|train)$'

say() { echo "gpu: $*" >&2; }

have_headers() {
  local header
  for header in CLI/CLI.hpp toml++/toml.h nlohmann/json.hpp fmt/core.h spdlog/spdlog.h \
    gtest/gtest.h; do
    [[ -e /usr/include/$header || -e /usr/local/include/$header ]] || return 1
  done
}

# The copies of the libraries, where the system has none.
deps() {
  if [[ -n ${ADAGP_DEPS_DIR:-} ]]; then
    echo "$ADAGP_DEPS_DIR"
  elif [[ -d local/deps/include ]] && ! have_headers; then
    echo "$PWD/local/deps"
  fi
}

args() {
  local folder
  folder=$(deps)
  [[ -z $folder ]] || echo "-DADAGP_DEPS_DIR=$folder"
  # The compiler of such machines, also one that CXX names, may have no shared libstdc++, which LibTorch needs.
  if [[ -x /usr/bin/g++ && $("${CXX:-c++}" -print-file-name=libstdc++.so 2>/dev/null) != /* ]]; then
    say "${CXX:-c++} has no shared libstdc++, which LibTorch needs: compiling with /usr/bin/g++"
    echo -DCMAKE_CXX_COMPILER=/usr/bin/g++
  fi
  command -v nvcc >/dev/null || [[ -n ${CUDACXX:-} || ! -x /usr/local/cuda/bin/nvcc ]] ||
    echo -DCMAKE_CUDA_COMPILER=/usr/local/cuda/bin/nvcc
}

ready() {
  scripts/have_gpu.sh || { say "no NVIDIA GPU on this machine (nvidia-smi lists none)"; exit 1; }
  local folder
  folder=$(deps)
  [[ -z $folder ]] || export ADAGP_DEPS_DIR=$folder
  # Makes nothing and asks no network when this machine brings all there is to bring.
  scripts/setup.sh --auto
}

# Tests skip themselves where they find no usable GPU: that must not pass for success here.
some_ran() {
  grep -q 'PASSED  \] 0 tests' "$1" || return 0
  say "a test program skipped all of its tests ('adagp doctor' says what is wrong with the GPU)"
  return 1
}

run_tests() {
  local build=$1 log=$1/test-gpu.log failed=0
  if [[ ! -x $build/bin/test_kernels ]]; then
    say "built without the CUDA kernels, because CMake found no nvcc: put it on the PATH"
    return 1
  fi
  ctest --test-dir "$build" -L gpu -V --no-tests=error 2>&1 | tee "$log" || failed=1
  some_ran "$log" || failed=1
  ctest --test-dir "$build" -R "$units" --output-on-failure --no-tests=error -j 1 || failed=1
  return $failed
}

sanitize() {
  local build=$1 tool log failed=0
  PATH=$PATH:/usr/local/cuda/bin
  command -v compute-sanitizer >/dev/null ||
    { say "no compute-sanitizer on the PATH: it is part of the CUDA toolkit"; return 1; }
  for tool in memcheck racecheck; do
    log=$build/sanitize-$tool.log
    say "compute-sanitizer --tool $tool test_kernels"
    compute-sanitizer --tool "$tool" --error-exitcode 1 "$build/bin/test_kernels" --gtest_brief=1 \
      2>&1 | tee "$log" || failed=1
    some_ran "$log" || failed=1
    grep -q 'SUMMARY: 0 ' "$log" || { say "$tool: errors, or it did not run: see $log"; failed=1; }
  done
  return $failed
}

case ${1:-} in
  ready | args) "$1" ;;
  test) run_tests "${2:?the build folder}" ;;
  sanitize) sanitize "${2:?the build folder}" ;;
  *) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2; exit 2 ;;
esac
