#!/usr/bin/env bash
# mutations.sh [PATTERN]: a test of the tests. Each mutation of tests/rtl/mutations.txt is made
# in a copy of rtl/, the model is built from it, and the random programs must find it. Prints "n of
# n detected".
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
programs="$root/tests/rtl/test_programs.cpp $root/tests/rtl/golden.cpp"
work=$root/build/rtl/mutations

one() {  # NUMBER FILE CONFIGURATION EXPRESSION WHAT
  local number=$1 file=$2 configuration=$3 expression=$4 what=$5 folder=$work/$1 args program log
  case $configuration in
    F) args=(max 2x3 fixed --predictor-modes 3) ;;
    B) args=(max 2x3 bf16 --predictor-modes 3) ;; E) args=(efficient 2x3 fixed) ;;
    W) args=(max 3x2 fixed --predictor-modes 3 --predictor 2x1) ;;
    *) echo "mutation $number: configuration '$configuration' is unknown"; return ;;
  esac
  rm -rf "$folder"
  mkdir -p "$folder/build"
  ln -s "$root/build/rtl/common" "$folder/build/common"
  cp -r "$root/rtl" "$folder/rtl"
  sed -i "$expression" "$folder/rtl/$file"
  if cmp -s "$root/rtl/$file" "$folder/rtl/$file"; then
    echo "NOT MADE  $what ($file): the expression fits no line"
    return
  fi
  # Built badly is not detected: the mutation must be one that a compiler accepts.
  if ! program=$(ADAGP_RTL_OPT=-O0 JOBS=1 "$root/rtl/tools/model.sh" "${args[@]:0:3}" --predictor 1x2 "${args[@]:3}" --bits 8 \
      --rtl "$folder/rtl" --build "$folder/build" --main "$programs" 2>"$folder/log"); then
    echo "NOT BUILT $what ($file): $(head -1 "$folder/log")"
    return
  fi
  if log=$("$program" 40 2>&1); then
    echo "MISSED    $what ($file)"
  else
    echo "detected  $what: $(grep -v ' wrong$' <<<"$log" | head -1 | cut -c1-110)"
  fi
  rm -rf "$folder"
}

if [[ ${1:-} == --one ]]; then
  one "${@:2}"
  exit
fi
mkdir -p "$work"
# The unchanged machine must pass, or "detected" would mean nothing.
for args in "max 2x3 fixed --predictor-modes 3" "max 2x3 bf16 --predictor-modes 3" "efficient 2x3 fixed" \
  "max 3x2 fixed --predictor-modes 3 --predictor 2x1"; do
  read -ra config <<<"$args"
  program=$("$root/rtl/tools/model.sh" "${config[@]:0:3}" --predictor 1x2 "${config[@]:3}" --bits 8 --main "$programs")
  "$program" 40 >/dev/null || { echo "mutations: the unchanged machine fails on $args"; exit 1; }
done
grep -v '^#' "$root/tests/rtl/mutations.txt" | grep -e "${1:-.}" | awk -F ' [|] ' '{
  # the expression itself may hold " | "
  e = $3; for (i = 4; i < NF; i++) e = e " | " $i
  printf "%d%c%s%c%s%c%s%c%s%c", NR, 0, $1, 0, $2, 0, e, 0, $NF, 0 }' |
  xargs -0 -n 5 -P "${JOBS:-2}" "${BASH_SOURCE[0]}" --one | tee "$work/result"
detected=$(grep -c '^detected' "$work/result" || true) all=$(wc -l <"$work/result")
echo "mutations: $detected of $all detected"
[[ $detected -eq $all && $all -gt 0 ]]
