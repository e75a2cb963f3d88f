#!/usr/bin/env bash
# run.sh [BUILD_FOLDER]: runs every fuzz target of build/fuzz (`make fuzz` builds them first) for
# FUZZ_SECONDS (10), or the same FUZZ_RUNS inputs every time, for a minute at the most (continuous
# integration must not fail by chance), from its seeds in tests/fuzz/corpus; one line each. Inputs
# that widen the coverage stay in the build folder for the next time. A crash shows the end of the
# log, keeps the input beside it, and makes the exit code 1.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
seconds=${FUZZ_SECONDS:-10}
bound=(-max_total_time="$seconds")
# A target that writes files takes minutes for as many inputs: a minute is enough.
[[ -n ${FUZZ_RUNS:-} ]] && bound=(-runs="$FUZZ_RUNS" -seed=1 -max_total_time=60)
build=${1:-build/fuzz}

shopt -s nullglob
targets=("$build"/bin/fuzz_*)
[[ ${#targets[@]} -gt 0 ]] || { echo "fuzz: no fuzz_* program in $build/bin: run make fuzz" >&2; exit 1; }
failed=0
for target in "${targets[@]}"; do
  name=${target##*/fuzz_}
  found=$build/corpus/$name
  log=$build/corpus/$name.log
  mkdir -p "$found"
  seeds=()
  [[ -d tests/fuzz/corpus/$name ]] && seeds=("tests/fuzz/corpus/$name")
  if "$target" "${bound[@]}" -timeout=120 -rss_limit_mb=2048 -max_len=8192 \
      -print_final_stats=1 -artifact_prefix="$found-" "$found" "${seeds[@]}" >"$log" 2>&1; then
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    echo "fuzz: $name: ok, $runs inputs"
  else
    echo "fuzz: $name: FAILED, see $log"
    tail -n 30 "$log" >&2
    failed=1
  fi
done
exit $failed
