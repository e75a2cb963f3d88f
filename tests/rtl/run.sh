#!/usr/bin/env bash
# run.sh [--no-mutations | --smoke]: every test of rtl/. Installs Verilator where it is
# missing. --smoke: one small configuration, for `make test`; without Verilator it says so and exits
# with 77.
#   lint    four designs, two formats, by Verilator and, where it is installed, by Yosys
#   arithmetic  10 million vectors of the multiply-add against native float, a million of the left shift
#   arrays  random programs, tiles and training steps on 4x5 and odd sizes, all designs, both formats
#   12x15   the paper's size, with the speed in cycles per second
# JOBS=n changes how many configurations are built side by side. Longer learning, in bfloat16 and of a whole network,
# is `make nightly NIGHTLY=vgg8s`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
say() { echo "test-rtl: $*" >&2; }
die() { say "$*"; exit 1; }
jobs=${JOBS:-2}
export JOBS=1  # for each of them

if ! command -v verilator >/dev/null; then
  if [[ ${1:-} == --smoke ]]; then
    say "skipped: Verilator is not installed (make test WHAT=rtl installs it)"
    exit 77
  fi
  # shellcheck source=scripts/setup_packages.sh
  source scripts/setup_packages.sh
  say "installing Verilator with apt-get ($(rights || echo "not allowed here"))"
  needed=(verilator) nice=() without=build/rtl/without
  install_packages
fi

mkdir -p build/rtl
start=$SECONDS
# Processor seconds, too: they count where the machine has other work. A pipe would start a shell that has no children.
step() {
  times >build/rtl/times
  say "$((SECONDS - start)) s, $(awk -F '[ms ]' 'NR == 2 {printf "%d", 60 * ($1 + $4) + $2 + $5}' build/rtl/times) of a processor: $*"
}
mapfile -t sv < <(sed 's#^#rtl/#' rtl/files.txt)

lint() {
  local design format warnings
  for design in 0 1 2 3; do
    for format in 0 1; do
      verilator --lint-only -Wall -Wno-UNUSED -Wno-DECLFILENAME --top-module adagp_top -GDESIGN=$design \
        -GFORMAT=$format "${sv[@]}" || die "Verilator finds fault with design $design, format $format"
      command -v yosys >/dev/null || continue
      warnings=$(yosys -q -p "read_verilog -sv ${sv[*]}; hierarchy -check -top adagp_top -chparam DESIGN $design \
        -chparam FORMAT $format -chparam LX 4 -chparam LY 4 -chparam LW 4 -chparam LP 4 -chparam LD 4; proc; check -assert" \
        2>&1) || { echo "$warnings"; die "Yosys finds fault with design $design, format $format"; }
    done
  done
  command -v yosys >/dev/null || say "Yosys is not installed: linted with Verilator alone"
}

# MODULE VECTORS FILE...
arithmetic() {
  local module=$1 vectors=$2 format folder
  shift 2
  for format in 0 1; do
    folder=build/rtl/$module$format
    verilator --cc --exe --build -O3 --Mdir "$folder" -GFORMAT=$format --top-module "$module" -o "test_$module" \
      -CFLAGS "-std=c++20 -O2 -I$PWD/src -I$PWD/rtl/sim -DADAGP_FORMAT=$format" "$@" \
      "$PWD/tests/rtl/test_$module.cpp" >"$folder.log" 2>&1 || { cat "$folder.log"; die "no $module"; }
    "$folder/test_$module" "$vectors"
  done
}

# PROGRAMS TRAIN DESIGN ARRAY FORMAT OPTION...
configuration() {
  local programs=$1 train=$2 model tests=tests/rtl
  shift 2
  model=$(rtl/tools/model.sh "$@" --main "$tests/test_programs.cpp $tests/golden.cpp")
  "$model" "$programs" 1
  model=$(rtl/tools/model.sh "$@" --main $tests/test_tiles.cpp)
  "$model"
  [[ $train == - ]] && return
  model=$(rtl/tools/model.sh "$@" --main "$tests/test_training.cpp $tests/golden.cpp $tests/direct_net.cpp \
    $tests/small_net.cpp $tests/small_net_predict.cpp")
  "$model" "$train"
}

# Whole networks need larger memories: NETWORKS BATCHES DESIGN ARRAY FORMAT OPTION...
networks() {
  local count=$1 batches=$2 model
  shift 2
  model=$(rtl/tools/model.sh "${@:1:3}" --bits 12,12,14,14 --descriptor-bits 16 "${@:4}" \
    --main "tests/rtl/test_networks.cpp tests/rtl/golden.cpp")
  "$model" "$count" "$batches"
}

case ${1:-} in
  --configuration | --networks)
    read -ra words <<<"$2"
    # Compiling for speed repays itself on the large arrays alone.
    [[ $2 == *12x15* ]] || export ADAGP_RTL_OPT=-O1
    if [[ $1 == --networks ]]; then networks "${words[@]}"; else configuration "${words[@]}"; fi
    exit ;;
  --smoke)
    export ADAGP_RTL_OPT=-O1
    rtl/tools/table.py --check
    configuration 40 - max 2x3 fixed --predictor 1x2 --bits 8
    exit ;;
esac

step "table"
rtl/tools/table.py --check
step "lint"
lint
step "arithmetic"
arithmetic mac 10000000 rtl/add32.sv rtl/mac.sv
arithmetic raise 1000000 rtl/raise.sv
step "programs and training"
{
  for design in baseline low efficient max; do
    for format in fixed bf16; do echo "200 50 $design 4x5 $format --predictor 3x5 --bits 10 --predictor-modes 3"; done
  done
  # Odd sizes: one row, one column, primes, the predictor array wider and higher than the main one.
  echo "60 - baseline 2x2 fixed --predictor 2x2 --bits 8"
  echo "60 - max 5x4 bf16 --predictor 7x3 --bits 8"
  echo "60 - efficient 1x7 fixed --predictor 2x3 --bits 8"
  echo "60 - max 7x1 fixed --predictor 1x4 --bits 8"
  echo "60 - low 1x1 bf16 --predictor 1x1 --bits 8"
  echo "60 - max 3x11 fixed --predictor 5x2 --bits 8 --predictor-modes 3"
  echo "20 10 max 12x15 bf16 --predictor 8x10 --dpi --predictor-modes 3"
  echo "20 10 baseline 12x15 fixed"
} | xargs -d '\n' -P "$jobs" -I{} "${BASH_SOURCE[0]}" --configuration {} || die "a configuration fails"
step "programs of networks"
{
  # Batches in which the predictor learns are several times as long as others. Float sums of the RTL's own adders
  # are tested by the programs above.
  echo "60 1 baseline 4x5 fixed --predictor 3x5"
  echo "6 1 max 4x5 fixed --predictor 3x5 --predictor-modes 3 --descriptor-bits 17"
  echo "1 1 max 4x5 bf16 --predictor 3x5 --bits 12,13,14,14 --predictor-modes 3 --descriptor-bits 17 --dpi"
  echo "8 1 low 4x5 fixed --predictor 3x5"
  echo "12 1 efficient 4x5 fixed --predictor 3x5"
  echo "2 1 efficient 4x5 bf16 --predictor 3x5 --dpi"
  # Predictor memories that hold a part of the weights; an array higher than wide.
  echo "6 1 efficient 4x5 fixed --bits 12,12,14,12"
  echo "30 1 max 4x5 fixed --predictor 3x5 --bits 12,12,14,13"
  echo "4 1 max 4x5 fixed --predictor 3x5 --bits 12,13,14,13 --predictor-modes 3 --descriptor-bits 17"
  echo "4 1 low 7x3 fixed --bits 13,13,14,12"
} |
  xargs -d '\n' -P "$jobs" -I{} "${BASH_SOURCE[0]}" --networks {} || die "the program of a network fails"
step "harness"
tests/rtl/test_harness.sh
if [[ ${1:-} != --no-mutations ]]; then
  step "mutations"
  JOBS=$jobs rtl/tools/mutations.sh
fi
step "all passed"
