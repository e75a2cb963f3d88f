#!/usr/bin/env bash
# Everything a build needs: distribution packages and a .venv with LibTorch, CMake and Ninja.
# Safe to call before every build: it says nothing and takes milliseconds when nothing is missing.
#
#   --sim    CMake and Ninja alone: the torch-free parts (make sim-only)
#   --slim   + LibTorch for C++ (over 1 GB); `import torch` does not work in it
#   --full   + all that `import torch` and the tests need (5 GB)
#   --auto   full where there is an NVIDIA GPU, slim elsewhere (default)
#   --lint   also clang-format, clang-tidy, shellcheck and, in .venv, ruff
#   --fuzz   also clang with libFuzzer
#   --synth  also Yosys, Verilator and cell libraries (rtl/tools/synth.py, energy.py)
#
# ADAGP_TORCH_VERSION=2.15.0 takes another LibTorch than 2.11.0.
# ADAGP_DEPS_DIR=<folder with include/> replaces the distribution packages on machines without them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

torch_version=${ADAGP_TORCH_VERSION:-2.11.0}
tools=(cmake==4.4.4 ninja==1.13.2)
linters=(ruff==0.17.5)  # PyPI has no shellcheck for aarch64: the distribution's is taken
torch=("torch==$torch_version")
tests=(torchvision==0.26.0 timm==1.0.30 numpy safetensors tensorboard pytest pyyaml pillow sacrebleu scalesim==3.0.0
       onnx==1.23.2 onnxscript==0.7.2 nanobind==3.1.0)
[[ $torch_version == 2.11.0 ]] || tests[0]='torchvision>=0.26.0'  # pip takes the one that fits torch

say() { echo "setup: $*" >&2; }
die() { say "$*"; exit 1; }
source scripts/setup_packages.sh

[[ $torch_version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] ||
  die "ADAGP_TORCH_VERSION='$torch_version': expected three numbers, such as 2.11.0"
printf '2.11.0\n%s\n' "$torch_version" | sort -CV ||
  die "ADAGP_TORCH_VERSION=$torch_version: LibTorch 2.11.0 or newer is needed"

want=auto lint=no
for arg in "$@"; do
  case $arg in
    --sim | --slim | --full | --auto) want=${arg#--} ;;
    --lint) lint=yes required+=(clang-format:clang-format clang-tidy:clang-tidy shellcheck:shellcheck) ;;
    --fuzz) required+=(clang:clang++) optional+=(libclang-rt-dev:libclang_rt) ;;
    --synth) required+=(yosys:yosys iverilog:iverilog verilator:verilator qflow-tech-osu018:qflow qflow-tech-osu035:qflow) ;;
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    *) say "unknown option '$arg' (see --help)"; exit 2 ;;
  esac
done
for_tests=$([[ $want == full ]] && echo yes || echo no)
if [[ $want == auto ]]; then
  if scripts/have_gpu.sh; then want=full; else want=slim; fi  # libtorch_cuda.so loads cuDNN etc.
fi

# ---------------------------------------------------------------- .venv

venv=.venv
stamp=$venv/.adagp-stamp            # written last: one line "<set> <hash>" per complete set
unfinished=$venv/.adagp-unfinished  # there while an installation is under way
version='import sys; print("%d.%d" % sys.version_info[:2])'

# The python3 of the path, not the one of a .venv that is about to be rebuilt.
PATH=$(tr ':' '\n' <<<"$PATH" | grep -vxF "$PWD/.venv/bin" | paste -sd:)
[[ ${VIRTUAL_ENV:-} != "$PWD/.venv" ]] || unset VIRTUAL_ENV

fingerprint() {
  local set
  case $1 in
    sim) set="${tools[*]}" ;;
    slim) set="${tools[*]} ${torch[*]} cudart cupti" ;;
    full) set="${tools[*]} ${torch[*]} ${tests[*]}" ;;
    lint) set="${linters[*]}" ;;
  esac
  printf '%s %s' "$1" "$(cksum <<<"$set" | tr ' ' -)"
}

# The python inside .venv still is the version that the packages were installed for.
venv_works() {
  local minor
  [[ -x $venv/bin/python3 ]] || return 1
  minor=$("$venv/bin/python3" -ISc "$version" 2>/dev/null) || return 1
  [[ -d $venv/lib/python$minor/site-packages ]]
}

base_complete() {
  [[ -e $stamp && ! -e $unfinished && -x $venv/bin/cmake && -x $venv/bin/ninja ]] || return 1
  grep -qxF "$(fingerprint "$want")" "$stamp" ||
    { [[ $want == slim ]] && grep -qxF "$(fingerprint full)" "$stamp"; } || return 1
  [[ $want == sim ]] || compgen -G "$venv/lib/python3*/site-packages/torch/lib/libtorch_cpu.so" \
    >/dev/null || return 1
  venv_works
}

linters_complete() { grep -qxF "$(fingerprint lint)" "$stamp" 2>/dev/null && [[ -x $venv/bin/ruff ]]; }

venv_complete() { base_complete && { [[ $lint == no ]] || linters_complete; }; }

# A machine that brings LibTorch, CMake and Ninja itself (a GPU node without network).
own_torch() {
  command -v ninja >/dev/null || return 1
  # 3.22 is what CMakePresets.json needs.
  printf '3.22\n%s\n' "$(cmake --version 2>/dev/null | awk 'NR==1 {print $3}')" | sort -CV || return 1
  [[ $want == sim ]] && return 0
  python3 - "$torch_version" 2>/dev/null <<'PY'
import importlib.metadata, importlib.util, pathlib, sys
where = importlib.util.find_spec("torch").submodule_search_locations[0]
same = importlib.metadata.version("torch").split("+")[0] == sys.argv[1]
sys.exit(not (same and (pathlib.Path(where) / "lib/libtorch_cpu.so").exists()))
PY
}

own_tests() {
  python3 -c 'from importlib.util import find_spec
names = ("numpy", "safetensors", "torchvision", "timm", "tensorboard", "pytest", "PIL")
raise SystemExit(not all(map(find_spec, names)))' 2>/dev/null
}

own_linters() { [[ $(ruff --version 2>/dev/null) == "ruff ${linters[0]#*==}" ]]; }

check_python() {
  python3 -ISc 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null ||
    die "python3 3.10 or newer is needed, got: $(python3 -V 2>&1 || true)"
  present venv || die "python3 cannot make a virtual environment: apt-get install python3-venv"
}

empty_venv() {
  mkdir -p "$venv" && touch "$unfinished"
  # The mark goes last, so that a removal cut short is taken up again.
  find "$venv/" -mindepth 1 -maxdepth 1 ! -name "${unfinished##*/}" -exec rm -rf {} +
}

pip_install() {
  local quiet=(-q --progress-bar off) log=$venv/.adagp-pip.log
  [[ -t 2 ]] && quiet=()
  rm -f "$log"
  # -I: packages that PYTHONPATH or the user's own folder add are not in .venv.
  if ! "$venv/bin/python3" -I -m pip install --disable-pip-version-check --no-input \
      --log "$log" ${quiet[@]+"${quiet[@]}"} "$@" >&2; then
    # Nothing was touched yet (no network, say): what was complete before still is.
    grep -q 'Installing collected packages' "$log" 2>/dev/null || rm -f "$unfinished"
    return 1
  fi
}

# What libtorch_cpu.so loads beside the wheel: CUDA's runtime and CUPTI, of the CUDA it was built with.
torch_loads() {
  local cuda
  cuda=$(sed -n "s/^cuda.*= '\(.*\)'$/\1/p" "$venv"/lib/python3*/site-packages/torch/version.py)
  [[ -z $cuda ]] || printf '%s\n' "nvidia-cuda-runtime==$cuda.*" "nvidia-cuda-cupti==$cuda.*"
}

make_venv() {
  exec 9<scripts/setup.sh && flock 9  # two builds at once: one installs, the other waits
  venv_complete && return 0
  local base=no
  base_complete && base=yes
  [[ ! -e $venv || -w $venv ]] || die "$venv is not complete, and $(id -un) may not write to it"
  check_python
  if [[ -e $unfinished ]]; then
    say "the last installation was cut short: starting anew"
    empty_venv
  elif [[ $base == no && -d $venv ]] && { ! venv_works ||
      [[ $("$venv/bin/python3" -ISc "$version") != "$(python3 -ISc "$version")" ]]; }; then
    say "$venv was made by another Python: rebuilding it"
    empty_venv
  fi
  mkdir -p "$venv" && touch "$unfinished"
  [[ -x $venv/bin/pip ]] || python3 -m venv "$venv"

  [[ $base == yes ]] || install_base || return 1
  if [[ $lint == yes ]]; then
    say "installing ${linters[*]} into $venv"
    pip_install "${linters[@]}" || return 1
    { grep -v '^lint ' "$stamp"; fingerprint lint; echo; } >"$stamp.new"
    mv "$stamp.new" "$stamp"
  fi
  rm -f "$unfinished" "$venv/.adagp-pip.log"
  venv_complete || die "$venv is still not complete after its installation: remove it and run this again"
}

# What $want says, and its lines of the stamp.
install_base() {
  local done_sets=() size
  case $want in
    sim) say "installing CMake and Ninja into $venv"
      pip_install "${tools[@]}" || return 1
      done_sets=(sim) ;;
    slim) say "installing CMake, Ninja and LibTorch into $venv"
      local loads
      pip_install "${tools[@]}" && pip_install --no-deps "${torch[@]}" || return 1
      mapfile -t loads < <(torch_loads)
      [[ ${#loads[@]} -eq 0 ]] || pip_install --no-deps "${loads[@]}" || return 1
      done_sets=(sim slim) ;;
    full) say "installing CMake, Ninja, LibTorch and the tests' packages into $venv"
      pip_install "${tools[@]}" "${torch[@]}" "${tests[@]}" || return 1
      done_sets=(sim slim full) ;;
  esac
  {
    for size in "${done_sets[@]}"; do fingerprint "$size"; echo; done
    grep '^lint ' "$stamp" 2>/dev/null || true
  } >"$stamp.new"
  mv "$stamp.new" "$stamp"
}

# Says what is about to be installed, before anything is.
announce() {
  local how=$1 number=$((${#needed[@]} + ${#nice[@]}))
  say "this machine lacks things that the build needs:"
  if [[ $number -gt 0 ]]; then
    say "* $number packages of the distribution and their dependencies (apt-get, $how);"
    say "  on a bare system about 500 MB and two minutes: ${needed[*]-} ${nice[*]-}"
  fi
  [[ $make == no ]] && return
  [[ $lint == no ]] || say "* ${linters[*]} from PyPI into $venv: 30 MB, seconds"
  ! base_complete || return 0
  case $want in
    sim) say "* CMake and Ninja from PyPI into $venv: 100 MB, seconds" ;;
    slim) say "* CMake, Ninja and LibTorch $torch_version from PyPI into $venv: 600 MB to download," \
      "1.4 GB on disk, one to five minutes" ;;
    full) say "* CMake, Ninja, LibTorch $torch_version, CUDA's libraries and the tests' Python packages from" \
      "PyPI into $venv: 3 GB to download, 5 GB on disk, two to ten minutes" ;;
  esac
}

# Whether .venv is to be made or mended, and whether a torch of the machine's own is left without it.
make=no own=no
if ! venv_complete; then
  if [[ ! -e $venv ]] && own_torch; then own=yes; fi
  { [[ $own == yes ]] && { [[ $for_tests == no ]] || own_tests; } && { [[ $lint == no ]] || own_linters; }; } || make=yes
fi
[[ $make == no ]] || required+=(python3:python3)
if [[ $make == yes ]]; then
  if [[ $own == yes ]]; then optional+=(python3-venv:venv); else required+=(python3-venv:venv); fi
fi
mapfile -t needed < <(missing "${required[@]}")
without=build/.packages-without  # removed by make clean
mapfile -t nice < <(missing "${optional[@]}" | grep -vxFf <(cat "$without" 2>/dev/null) || true)
# Copies of the headers: a machine without packages, where nothing more is asked for.
[[ -z ${ADAGP_DEPS_DIR:-} ]] || nice=()
how=$(rights) || { [[ ${#needed[@]} -gt 0 ]] || nice=(); }
if [[ ${#needed[@]} -gt 0 || ${#nice[@]} -gt 0 || $make == yes ]]; then
  announce "${how:-not possible here}"
  install_packages
fi
if [[ $own == yes ]]; then
  if [[ $make == no ]]; then
    [[ $want == sim ]] || say "using the torch $torch_version of $(command -v python3); no $venv made"
    exit 0
  fi
  (make_venv) && exit 0
  rm -rf "$venv"
  [[ $lint == no ]] || die "make lint needs ${linters[*]}, which could not be installed (see above)"
  say "using the torch of $(command -v python3); tests that need a package it lacks cannot run" \
    "(packages: ${tests[*]})"
  exit 0
fi
[[ $make == no ]] || make_venv ||
  die "pip failed (see above and $venv/.adagp-pip.log); fix the cause and run the same command again"
