#!/usr/bin/env bash
# test_harness.sh: the command line of one model: a program file and a memory image in, counters and
# memory out; bad files are refused with one sentence and the exit code 2 or 3; nothing hangs.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
config=(max 4x5 fixed --predictor 3x5 --bits 10 --predictor-modes 3)
run=$("$root/rtl/tools/model.sh" "${config[@]}")
tests=$root/tests/rtl
train=$("$root/rtl/tools/model.sh" "${config[@]}" \
  --main "$tests/test_training.cpp $tests/golden.cpp $tests/direct_net.cpp $tests/small_net.cpp \
    $tests/small_net_predict.cpp")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "test_harness: $*"; exit 1; }

"$train" --write "$work"
"$run" "$work/program.hex" --memory "$work/before.bin" --dump "$work/dump.bin" >"$work/out.json"
cmp "$work/dump.bin" "$work/after.bin" || fail "the memory after six batches differs from the golden model"
python3 - "$work/out.json" <<'PY' || fail "the counters differ from the cycle model"
import json, sys
out = json.load(open(sys.argv[1]))
e = out["events"]
assert out["equal"] is True and out["cycles"] == e["cycles"] == out["simulator"]["cycles"] > 10000
assert (e["warm_batches"], e["gp_batches"], e["bp_batches"]) == (1, 3, 2), e
PY
"$run" "$work/program.hex" --memory "$work/before.bin" --dump "$work/dump.bin" --stalls 0.4 --seed 3 >"$work/slow.json"
cmp "$work/dump.bin" "$work/after.bin" || fail "stalls change the data"
python3 - "$work/out.json" "$work/slow.json" <<'PY' || fail "stalls cost more or less than they may"
import json, sys
fast, slow = (json.load(open(p)) for p in sys.argv[1:])
assert 0 < slow["cycles"] - fast["cycles"] <= slow["events"]["dma_stalls"], slow
PY

refuse() {  # CODE PART COMMAND...
  local code=$1 part=$2 got=0
  shift 2
  timeout 3600 "$@" >"$work/stdout" 2>"$work/stderr" || got=$?
  [[ $got -eq $code ]] || fail "exit code $got, not $code: $*"
  grep -qF -- "$part" "$work/stderr" || fail "no '$part' in: $(cat "$work/stderr")"
}
head -c 3000 "$work/program.hex" >"$work/cut.hex"
sed 's/^x_bits 10/x_bits 11/' "$work/program.hex" >"$work/other.hex"
sed 's/^descriptors .*/descriptors 9999999999/' "$work/program.hex" >"$work/many.hex"
head -c 4096 /dev/urandom >"$work/noise.hex"
head -c 7 "$work/before.bin" >"$work/odd.bin"
cat "$work/before.bin" "$work/before.bin" >"$work/long.bin"
refuse 3 "cut off" "$run" "$work/cut.hex"
refuse 3 "another machine" "$run" "$work/other.hex"
refuse 3 "at most 4194304" "$run" "$work/many.hex"
refuse 3 "expected 'adagp-rtl program 2'" "$run" "$work/noise.hex"
refuse 3 "missing.hex" "$run" "$work/missing.hex"
refuse 3 "whole 32-bit words" "$run" "$work/program.hex" --memory "$work/odd.bin"
refuse 3 "at most" "$run" "$work/program.hex" --memory "$work/long.bin"
refuse 2 "0 to 0.99" "$run" "$work/program.hex" --stalls 1
refuse 2 "is no number" "$run" "$work/program.hex" --stalls many
refuse 2 "usage" "$run"
refuse 2 "without waveforms" "$run" "$work/program.hex" --vcd "$work/x.vcd"
refuse 2 "each 1 to 255" "$root/rtl/tools/model.sh" low 0x5 fixed
refuse 2 "no design" "$root/rtl/tools/model.sh" lower 4x5 fixed
echo "harness: six batches, with and without stalls, and 13 bad inputs: all as they should be"
