#!/usr/bin/env bash
# cross_check.sh [--run] [COMPILER]: compiles everything that needs no LibTorch for the other kind of CPU,
# aarch64 on an x86_64 machine and x86_64 on an aarch64 one, and says what it compiled.
#
# 1. every source whose includes reach no LibTorch header (the torch-free folders, the kernels' references
#    on the CPU, what the engine has of such files, their tests), alone, at the release flags (-O3);
# 2. the torch-free program and its tests as `make test WHAT=sim` builds them, linked;
# --run  runs those tests, too, under qemu-user where it is installed.
#
# COMPILER is by default the newest installed one of g++-*-<cpu>-linux-gnu (apt-get install
# g++-12-aarch64-linux-gnu). Results are in build/cross.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH=$PWD/.venv/bin:$PATH

say() { echo "cross_check: $*"; }
die() { say "$*" >&2; exit 1; }

run=no compiler=
for arg in "$@"; do
  case $arg in
    --run) run=yes ;;
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    -*) say "unknown option '$arg' (see --help)" >&2; exit 2 ;;
    *) compiler=$arg ;;
  esac
done
case $(uname -m) in
  x86_64) cpu=aarch64 ;;
  aarch64) cpu=x86_64 ;;
  *) die "this machine is $(uname -m): only x86_64 and aarch64 are checked" ;;
esac
triple=${cpu/x86_64/x86-64}-linux-gnu  # Debian writes x86-64 in names of packages, x86_64 in those of programs
compiler=${compiler:-$(compgen -c "$cpu-linux-gnu-g++" | sort -uV | tail -1 || true)}
command -v "${compiler:-no compiler}" >/dev/null ||
  die "no compiler for $cpu: apt-get install g++-12-$triple"
scripts/setup.sh --sim
folder=build/cross/$cpu
jobs=${JOBS:-$(nproc)}
mkdir -p "$folder/objects"

# Headers of the other CPU's packages are not here; the ones that we need are the same for all.
scripts/offline_bundle.sh "$folder/deps" >/dev/null
export ADAGP_DEPS_DIR=$PWD/$folder/deps
include=(-Isrc -Iapps/adagp -Itests -isystem "$ADAGP_DEPS_DIR/include"
  -isystem "$ADAGP_DEPS_DIR/googletest/googletest/include")
flags=(-std=c++20 -O3 -DNDEBUG -fPIC -Wall -Wextra -Wshadow=local -Wnon-virtual-dtor -Wno-maybe-uninitialized
  -Wno-array-bounds -Wno-stringop-overflow -Wno-restrict -Wno-dangling-pointer -Werror
  -DFMT_HEADER_ONLY=1 -DSPDLOG_FMT_EXTERNAL=1 '-DADAGP_VERSION="cross"' "-DADAGP_SOURCE_DIR=\"$PWD\""
  '-DADAGP_PYTHON="python3"' '-DADAGP_MEMBER="member"')

# One source: silent where it needs what is not here, else "ok" or "FAILED" and its name.
check_one() {
  local source=$1 object
  object=$folder/objects/${source//\//-}.o
  # -MG takes headers that are missing for generated ones and names them.
  if "$compiler" "${flags[@]}" "${include[@]}" -M -MG "$source" 2>/dev/null |
    grep -E ' (torch|ATen|c10|benchmark)/| cuda_runtime' >/dev/null; then
    return 0
  fi
  if "$compiler" "${flags[@]}" "${include[@]}" -c "$source" -o "$object" 2>"$object.log"; then
    echo "ok $source"
    rm -f "$object" "$object.log"
  else
    echo "FAILED $source (see $object.log)"
  fi
}

say "$($compiler --version | head -1)"
start=$SECONDS
git ls-files -co --exclude-standard 'src/*.cpp' 'apps/*.cpp' 'tests/unit/*.cpp' 'tests/fuzz/*.cpp' |
  while read -r source; do
    while [[ $(jobs -rp | wc -l) -ge $jobs ]]; do wait -n || true; done
    [[ ! -f $source ]] || check_one "$source" &
    jobs >/dev/null  # forget those that ended
  done | sort >"$folder/compiled.txt"
grep '^ok' "$folder/compiled.txt" | sed 's/^ok //; s|/[^/]*$||' | sort | uniq -c |
  awk '{printf "  %4d  %s\n", $1, $2}'
say "$(grep -c '^ok' "$folder/compiled.txt") files compiled alone at -O3 for $cpu in $((SECONDS - start)) s"
if grep '^FAILED' "$folder/compiled.txt"; then die "not every file compiles for $cpu"; fi

start=$SECONDS
emulator=$(command -v "qemu-$cpu-static" || command -v "qemu-$cpu" || true)
cmake --preset sim-only -B "$folder/sim" -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="$cpu" \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_FIND_ROOT_PATH="/usr/$cpu-linux-gnu;$ADAGP_DEPS_DIR" \
  -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY \
  -DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=ONLY -DADAGP_WERROR=ON -DADAGP_BENCH=OFF \
  "-DCMAKE_CROSSCOMPILING_EMULATOR=$emulator${emulator:+;-L;/usr/$cpu-linux-gnu}" >"$folder/cmake.log" ||
  { tail -20 "$folder/cmake.log"; die "CMake failed (see $folder/cmake.log)"; }
ninja -j "$jobs" -C "$folder/sim" sim_tests >"$folder/ninja.log" ||
  { tail -30 "$folder/ninja.log"; die "the torch-free build for $cpu failed (see $folder/ninja.log)"; }
say "the torch-free program and its tests are built for $cpu in $((SECONDS - start)) s: $folder/sim/bin"
if [[ $run == yes ]]; then
  [[ -n $emulator ]] || die "--run needs an emulator: apt-get install qemu-user-static"
  ctest --test-dir "$folder/sim" -R '^unit\.' --output-on-failure --timeout 3000
fi
