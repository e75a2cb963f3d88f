#!/usr/bin/env bash
# model.sh DESIGN ROWSxCOLS FORMAT [options]: builds the Verilator model of one configuration
# into build/rtl/<name>/, unless it is there and the sources are unchanged, and prints the
# executable's path.
#   --predictor RxC   size of the predictor array (8x10)      --predictor-modes 1|3  its cells (1)
#   --bits N          address bits of X, Y, W and predictor memories (those of rtl/machine.toml);
#                     or four numbers X,Y,W,PREDICTOR
#   --descriptor-bits N  address bits of the program memory (those of rtl/machine.toml)
#   --dpi             bf16: the multiply-add in C++, about ten times as fast
#   --trace           waveforms (--vcd FILE)                  --main "A.cpp B.cpp"  other sources
#   --rtl DIR         sources from there instead of rtl/      --build DIR      instead of build/rtl
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
fail() { echo "model.sh: $*" >&2; exit 2; }
[[ $# -ge 3 ]] || { sed -n '2,12s/^# //p' "${BASH_SOURCE[0]}" >&2; exit 2; }
design=$1 array=$2 format=$3
shift 3
predictor=8x10 modes=1 bits='' descriptor='' dpi='' trace=''
main=$root/rtl/sim/main.cpp rtl=$root/rtl build=$root/build/rtl
while [[ $# -gt 0 ]]; do
  case $1 in
    --dpi) dpi=1 && shift && continue ;;
    --trace) trace=1 && shift && continue ;;
  esac
  [[ $# -ge 2 ]] || fail "$1 needs a value"
  case $1 in
    --predictor) predictor=$2 ;; --predictor-modes) modes=$2 ;;
    --bits) bits=$2 ;; --descriptor-bits) descriptor=$2 ;;
    --main) main=$2 ;; --rtl) rtl=$2 ;; --build) build=$2 ;;
    *) fail "unknown option $1" ;;
  esac
  shift 2
done
case $design in baseline) D=0 ;; low) D=1 ;; efficient) D=2 ;; max) D=3 ;;
  *) fail "no design '$design': choose one of baseline, low, efficient, max" ;; esac
case $format in fixed) F=0 ;; bf16) F=1 ;; *) fail "no format '$format': choose fixed or bf16" ;; esac
case $modes in 1) P=0 ;; 3) P=1 ;; *) fail "--predictor-modes is 1 or 3" ;; esac
for size in "$array" "$predictor"; do
  [[ $size =~ ^([1-9][0-9]{0,2})x([1-9][0-9]{0,2})$ && ${BASH_REMATCH[1]} -le 255 && ${BASH_REMATCH[2]} -le 255 ]] ||
    fail "an array of '$size': write ROWSxCOLS, each 1 to 255"
done
IFS=, read -r -a each <<<"$bits"
[[ ${#each[@]} -le 1 || ${#each[@]} -eq 4 ]] || fail "--bits is one number or four: X,Y,W,PREDICTOR"
for number in "${each[@]}"; do
  [[ $number =~ ^[0-9]+$ && $number -ge 2 && $number -le 16 ]] || fail "--bits is 2 to 16"
done
[[ -z $descriptor || ( $descriptor =~ ^[0-9]+$ && $descriptor -ge 2 && $descriptor -le 22 ) ]] ||
  fail "--descriptor-bits is 2 to 22"
command -v verilator >/dev/null || fail "Verilator is missing: make test WHAT=rtl installs it"

table() {
  awk -v k="$1" '/^\[/ {s = $0} s == "[address_bits]" && $1 == k {print $3}' "$root/rtl/machine.toml"
}
LX=${each[0]:-$(table x)} LY=${each[1]:-${each[0]:-$(table y)}}
LW=${each[2]:-${each[0]:-$(table w)}} LP=${each[3]:-${each[0]:-$(table predictor)}}
LD=${descriptor:-$(table descriptor)}
set_=(DESIGN="$D" FORMAT="$F" ROWS="${array%x*}" COLS="${array#*x}"
  PROWS="${predictor%x*}" PCOLS="${predictor#*x}"
  PMODES="$P" LX="$LX" LY="$LY" LW="$LW" LP="$LP" LD="$LD")
name=$design-$array-$format-p$predictor-m$modes${bits:+-b${bits//,/-}}
name+=${descriptor:+-d$descriptor}${dpi:+-dpi}${trace:+-trace}
folder=$build/$name
read -ra mains <<<"$main"
program=$folder/$(basename "${mains[0]}" .cpp)
sv=() ; while read -r f; do sv+=("$rtl/$f"); done <"$rtl/files.txt"

# Objects that every configuration links: src/, the main program, Verilator's runtime. A lock, since
# two configurations may be built side by side.
common=$build/common
share=$(verilator --getenv VERILATOR_ROOT)/include
cache=$(command -v ccache || true)
flags=(-std=c++20 -O2 -Wall -Wextra -I"$root/src" -I"$root/rtl/sim")
mkdir -p "$common" "$folder"
objects=()
stale() { [[ ! -f $1 ]] || [[ -n $(find "${@:2}" -newer "$1" -print -quit) ]]; }
compile() {  # NAME SOURCE DEPENDENCY... -- FLAG...
  local object=$common/$1.o depends=()
  objects+=("$object")
  shift
  local source=$1
  while [[ $1 != -- ]]; do depends+=("$1"); shift; done
  shift
  stale "$object" "${depends[@]}" || return 0
  $cache g++ "$@" -c "$source" -o "$object.$$" && mv "$object.$$" "$object"
}
exec 9>"$common/lock"
flock 9
for unit in base/core/files base/core/special_files base/core/message base/core/foreign_text base/core/text base/core/interrupt \
    base/schedule/schedule sim/rtl/phases \
    sim/rtl/machine sim/rtl/descriptor sim/rtl/program_check sim/rtl/program_file sim/rtl/cycle_model \
    sim/rtl/program_parts sim/rtl/layer_program sim/rtl/layer_predictor sim/rtl/layer_learning \
    sim/rtl/beside_learning \
    sim/rtl/predictor_step sim/rtl/network_program; do
  compile "${unit//\//-}" "$root/src/adagp/$unit.cpp" "$root"/src/adagp/sim/rtl/*.h -- "${flags[@]}"
done
for source in "${mains[@]}"; do
  compile "$(basename "$source" .cpp)" "$source" "$root"/src/adagp/sim/rtl/*.h "$root"/rtl/sim/*.h \
    "$root"/tests/rtl/*.h -- "${flags[@]}"
done
for unit in verilated verilated_threads ${trace:+verilated_vcd_c}; do
  compile "$unit${trace:+-trace}" "$share/$unit.cpp" -- -std=c++20 -O2 -DVM_TRACE=${trace:-0} \
    -DVM_TRACE_VCD=${trace:-0} -I"$share" -I"$share/vltstd"
done
exec 9>&-

inline=
[[ $format == bf16 && -z $dpi ]] && inline=-DADAGP_PE_OUT_OF_LINE
library=$folder/Vadagp_top__ALL.a
if stale "$library" "${sv[@]}" "$root/rtl/sim/asserts.sv" "${BASH_SOURCE[0]}"; then
  rm -rf "${folder:?}"/*
  verilator --cc --top-module adagp_top --Mdir "$folder" -O3 --x-assign fast --x-initial fast --assert \
    -Wall -Wno-UNUSED -Wno-DECLFILENAME ${trace:+--trace} ${dpi:+-DADAGP_DPI_MAC} $inline \
    "${set_[@]/#/-G}" "${sv[@]}" "$root/rtl/sim/asserts.sv" >"$folder/verilator.log" 2>&1 ||
    { cat "$folder/verilator.log" >&2; exit 1; }
  OBJCACHE=$cache make -s -C "$folder" -f Vadagp_top.mk -j "${JOBS:-2}" OPT_FAST="${ADAGP_RTL_OPT:--O3}" OPT_SLOW=-O0 OPT_GLOBAL=-O1 \
    Vadagp_top__ALL.a >"$folder/make.log" 2>&1 || { cat "$folder/make.log" >&2; exit 1; }
fi
model=$folder/model.o
if stale "$model" "$library" "$root"/rtl/sim/model.* "$root"/src/adagp/sim/rtl/*.h; then
  $cache g++ "${flags[@]}" "${set_[@]/#/-DADAGP_}" -DVM_TRACE=${trace:-0} -isystem "$share" \
    -isystem "$share/vltstd" -I"$folder" -c "$root/rtl/sim/model.cpp" -o "$model"
fi
if stale "$program" "$library" "$model" "${objects[@]}"; then
  g++ "$model" "${objects[@]}" "$library" -pthread -o "$program"
fi
echo "$program"
