#!/usr/bin/env bash
# Everything a build needs: distribution packages and a .venv with LibTorch, CMake and Ninja.
# Safe to call before every build: it says nothing and takes milliseconds when nothing is missing.
#
#   --sim    CMake and Ninja alone: the torch-free parts (make sim-only)
#   --slim   + LibTorch for C++ (over 1 GB); `import torch` does not work in it
#   --full   + all that `import torch` and the tests need (5 GB)
#   --auto   full where there is an NVIDIA GPU, slim elsewhere (default)
#   --lint   also clang-format and clang-tidy
#   --fuzz   also clang with libFuzzer
#
# ADAGP_DEPS_DIR=<folder with include/> replaces the distribution packages on machines without them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools=(cmake==4.4.4 ninja==1.13.2)
torch=(torch==2.11.0)
torch_loads=('nvidia-cuda-runtime==13.0.*' 'nvidia-cuda-cupti==13.0.*')  # what libtorch_cpu.so links
tests=(torchvision==0.26.0 timm==1.0.30 numpy safetensors tensorboard pytest pillow sacrebleu scalesim==3.0.0)

# package:what shows that it is there (a header with a slash or .h, else a command)
required=(build-essential:g++ libcli11-dev:CLI/CLI.hpp libtomlplusplus-dev:toml++/toml.h
  libfmt-dev:fmt/core.h libspdlog-dev:spdlog/spdlog.h nlohmann-json3-dev:nlohmann/json.hpp libgtest-dev:gtest/gtest.h)
optional=(libbenchmark-dev:benchmark/benchmark.h libturbojpeg0-dev:turbojpeg.h libjpeg-dev:jpeglib.h
  libpng-dev:png.h libarchive-dev:archive.h libpugixml-dev:pugixml.hpp
  libgloo-dev:gloo/algorithm.h ccache:ccache mold:mold git:git)

say() { echo "setup: $*" >&2; }
die() { say "$*"; exit 1; }

want=auto
for arg in "$@"; do
  case $arg in
    --sim | --slim | --full | --auto) want=${arg#--} ;;
    --lint) required+=(clang-format:clang-format clang-tidy:clang-tidy) ;;
    --fuzz) required+=(clang:clang++) optional+=(libclang-rt-dev:libclang_rt) ;;
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    *) say "unknown option '$arg' (see --help)"; exit 2 ;;
  esac
done
for_tests=$([[ $want == full ]] && echo yes || echo no)
if [[ $want == auto ]]; then
  if [[ -e /dev/nvidia0 ]]; then want=full; else want=slim; fi  # libtorch_cuda.so loads cuDNN etc.
fi

# ---------------------------------------------------------------- distribution packages

present() {
  local probe=$1 dir
  case $probe in
    libclang_rt) compgen -G '/usr/lib/llvm-*/lib/clang/*/lib/*/libclang_rt.fuzzer*' >/dev/null ;;
    */* | *.h | *.hpp)
      for dir in ${ADAGP_DEPS_DIR:+"$ADAGP_DEPS_DIR/include"} \
          ${ADAGP_DEPS_DIR:+"$ADAGP_DEPS_DIR/googletest/googletest/include"} \
          ${CPATH:+${CPATH//:/ }} /usr/include /usr/local/include; do
        [[ -e $dir/$probe ]] && return 0
      done
      return 1 ;;
    *) command -v "$probe" >/dev/null ;;
  esac
}

# Prints the packages among package:probe arguments whose probe fails.
missing() {
  local entry
  for entry in "$@"; do present "${entry#*:}" || echo "${entry%%:*}"; done
}

apt_install() {
  local root=() found=() package
  for package in "$@"; do
    # Installed although the probe looked elsewhere: nothing to do.
    [[ $(dpkg-query -W -f='${Status}' "$package" 2>/dev/null) == *" installed" ]] ||
      found+=("$package")
  done
  [[ ${#found[@]} -eq 0 ]] && return 0
  command -v apt-get >/dev/null || return 1
  if [[ $(id -u) -ne 0 ]]; then
    command -v sudo >/dev/null || return 1
    root=(sudo)
    [[ -t 0 ]] || root=(sudo -n)  # no terminal to ask for a password on
    "${root[@]}" true 2>/dev/null || return 1
  fi
  local apt=(${root[@]+"${root[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0)
  say "installing ${found[*]}"
  # Package lists may be old or absent: refresh them only when that is what is in the way.
  "${apt[@]}" install -y --no-install-recommends "${found[@]}" >/dev/null 2>&1 ||
    { "${apt[@]}" update >/dev/null 2>&1 &&
      "${apt[@]}" install -y --no-install-recommends "${found[@]}" >/dev/null; }
}

packages() {
  local needed nice
  mapfile -t needed < <(missing "${required[@]}")
  mapfile -t nice < <(missing "${optional[@]}")
  [[ ${#needed[@]} -eq 0 && ${#nice[@]} -eq 0 ]] && return 0
  if [[ ${#needed[@]} -gt 0 ]] && ! apt_install "${needed[@]}"; then
    say "these packages are missing and could not be installed from here:"
    say "  apt-get install ${needed[*]} ${nice[*]-}"
    say "(Debian and Ubuntu names; run it as root, or put copies of the headers under"
    die "\$ADAGP_DEPS_DIR/include)"
  fi
  [[ ${#nice[@]} -eq 0 || -n ${ADAGP_DEPS_DIR:-} ]] && return 0
  apt_install "${nice[@]}" ||
    say "continuing without ${nice[*]} ('adagp doctor' says what that costs)"
}

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
    slim) set="${tools[*]} ${torch[*]} ${torch_loads[*]}" ;;
    full) set="${tools[*]} ${torch[*]} ${tests[*]}" ;;
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

venv_complete() {
  [[ -e $stamp && ! -e $unfinished && -x $venv/bin/cmake && -x $venv/bin/ninja ]] || return 1
  grep -qxF "$(fingerprint "$want")" "$stamp" || return 1
  [[ $want == sim ]] || compgen -G "$venv/lib/python3*/site-packages/torch/lib/libtorch_cpu.so" \
    >/dev/null || return 1
  venv_works
}

# A machine that brings LibTorch, CMake and Ninja itself (a GPU node without network).
own_torch() {
  command -v ninja >/dev/null || return 1
  # 3.22 is what CMakePresets.json needs.
  printf '3.22\n%s\n' "$(cmake --version 2>/dev/null | awk 'NR==1 {print $3}')" | sort -CV || return 1
  [[ $want == sim ]] && return 0
  python3 - "${torch[0]#torch==}" 2>/dev/null <<'PY'
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

check_python() {
  python3 -ISc 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null ||
    die "python3 3.10 or newer is needed, got: $(python3 -V 2>&1 || true)"
  python3 -ISc 'import ensurepip, venv' 2>/dev/null || apt_install python3-venv ||
    die "python3 cannot make a virtual environment: apt-get install python3-venv"
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

make_venv() {
  exec 9<scripts/setup.sh && flock 9  # two builds at once: one installs, the other waits
  venv_complete && return 0
  [[ ! -e $venv || -w $venv ]] || die "$venv is not complete, and $(id -un) may not write to it"
  check_python
  if [[ -e $unfinished ]]; then
    say "the last installation was cut short: starting anew"
    empty_venv
  elif [[ -d $venv ]] && { ! venv_works ||
      [[ $("$venv/bin/python3" -ISc "$version") != "$(python3 -ISc "$version")" ]]; }; then
    say "$venv was made by another Python: rebuilding it"
    empty_venv
  fi
  mkdir -p "$venv" && touch "$unfinished"
  [[ -x $venv/bin/pip ]] || python3 -m venv "$venv"

  local done_sets=() size
  case $want in
    sim) say "installing CMake and Ninja into $venv"
      pip_install "${tools[@]}" || return 1
      done_sets=(sim) ;;
    slim) say "installing CMake, Ninja and LibTorch (slim set, over 1 GB) into $venv: about a minute"
      pip_install "${tools[@]}" && pip_install --no-deps "${torch[@]}" "${torch_loads[@]}" || return 1
      done_sets=(sim slim) ;;
    full) say "installing CMake, Ninja, LibTorch and the tests' packages (5 GB) into $venv: minutes"
      pip_install "${tools[@]}" "${torch[@]}" "${tests[@]}" || return 1
      done_sets=(sim slim full) ;;
  esac
  for size in "${done_sets[@]}"; do fingerprint "$size"; echo; done >"$stamp.new"
  mv "$stamp.new" "$stamp"
  rm -f "$unfinished" "$venv/.adagp-pip.log"
  venv_complete || die "$venv is still not complete after its installation: remove it and run this again"
}

packages
venv_complete && exit 0
if [[ ! -e $venv ]] && own_torch; then
  if [[ $for_tests == no ]] || own_tests; then
    [[ $want == sim ]] || say "using the torch ${torch[0]#torch==} of $(command -v python3); no $venv made"
    exit 0
  fi
  (make_venv) && exit 0
  rm -rf "$venv"
  say "using the torch of $(command -v python3); tests that need what it lacks of ${tests[*]} cannot run"
  exit 0
fi
make_venv || die "pip failed (see above and $venv/.adagp-pip.log); run it again when the cause is gone"
