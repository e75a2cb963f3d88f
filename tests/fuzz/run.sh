#!/usr/bin/env bash
# run.sh [BUILD_FOLDER]: runs every fuzz target of build/fuzz (`make fuzz` builds them first) for
# FUZZ_SECONDS (10), or the same FUZZ_RUNS inputs every time, for a minute at the most (continuous
# integration must not fail by chance), from its seeds in tests/fuzz/corpus, as many targets side by side as
# there are processors (JOBS=n: n); one line each. Inputs that widen the coverage stay in the build folder for the
# next time. A crash shows the end of the log, keeps the input beside it, and makes the exit code 1.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
self=tests/fuzz/run.sh

one() {  # TARGET BUILD_FOLDER
  local target=$1 name=${1##*/fuzz_} found log runs bound=(-max_total_time="${FUZZ_SECONDS:-10}") seeds=()
  # A target that writes files takes minutes for as many inputs: a minute is enough.
  [[ -n ${FUZZ_RUNS:-} ]] && bound=(-runs="$FUZZ_RUNS" -seed=1 -max_total_time=60)
  found=$2/corpus/$name
  log=$found.log
  mkdir -p "$found"
  [[ -d tests/fuzz/corpus/$name ]] && seeds=("tests/fuzz/corpus/$name")
  if "$target" "${bound[@]}" -timeout=120 -rss_limit_mb=2048 -max_len=8192 \
      -print_final_stats=1 -artifact_prefix="$found-" "$found" "${seeds[@]}" >"$log" 2>&1; then
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    echo "fuzz: $name: ok, $runs inputs"
  else
    echo "fuzz: $name: FAILED, see $log"
    tail -n 30 "$log" >&2
    return 1
  fi
}

if [[ ${1:-} == --one ]]; then
  one "${@:2}"
  exit
fi
build=${1:-build/fuzz}
shopt -s nullglob
targets=("$build"/bin/fuzz_*)
[[ ${#targets[@]} -gt 0 ]] || { echo "fuzz: no fuzz_* program in $build/bin: run make fuzz" >&2; exit 1; }
printf '%s\n' "${targets[@]}" | xargs -d '\n' -P "${JOBS:-$(nproc)}" -I{} "$self" --one {} "$build" || exit 1
