#!/usr/bin/env bash
# nightly.sh [NAME...]: tests that take too long for every commit, one after the other (all of them,
# or those named). Each gets a line with its time, and a log in build/nightly. A failure does not
# stop the others; the exit code is then 1.
#   asan     the unit tests under AddressSanitizer and UndefinedBehaviorSanitizer: a second build of all, too long
#            for every commit (`make test WHAT=asan-sim` has the torch-free ones)
#   tsan     the unit tests of what has threads (comm, data, plan, parallel) under ThreadSanitizer
#   bare     build and tests without the library of rivals
#   lint     clang-tidy on every source; `make lint` looks at the torch-free ones and at what changed
#   fuzz     every fuzz target for five minutes
#   kills    train, compare and sweep killed (-9) in a hundred places each: the same command ends the same; and
#            a sweep that four processes share, all of them killed again and again, twenty times; ranks of torchrun
#            killed ten times in each run
#   python   the Python package's tests, fast and slow: they need the wheel and packages of their own
#   onnx     ONNX files of both of torch's exporters, of all networks of the tests
#   report   the page of `adagp report` in Chromium, which is installed for it
#   rtl      the tests of the hardware
#   zigzag   the package's own cost model on our files for it, in a .venv of its own (450 MB)
#   vgg8s    vgg8s (CIFAR's sizes, batches of 4) trained for two epochs of ten batches on the RTL of each design that
#            learns: all bits equal to the golden model's after each layer, values near the formulas, the loss falls
#   vgg13    a BP and a GP batch of VGG13 (CIFAR, batch 1) on the RTL of each design: counters equal
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
self=scripts/nightly.sh
logs=build/nightly
mkdir -p "$logs"
failed=0

one() {
  case $1 in
    asan | tsan | bare | report | rtl) make test WHAT="$1" ;;
    lint) make lint ALL=1 ;;
    fuzz) make fuzz FUZZ_SECONDS=300 ;;
    kills)
      make build
      python=.venv/bin/python3
      [[ -x $python ]] || python=python3
      "$python" tests/cli/kill_everywhere.py
      scripts/setup.sh --full
      ADAGP_KILLS=10 .venv/bin/python3 -m pytest -q tests/cli/test_elastic.py ;;
    onnx)
      make build
      ADAGP_ALL_EXPORTS=1 .venv/bin/python3 -m pytest -q tests/cli/test_onnx.py ;;
    python) make test-python PYTEST_ARGS="-m ''" ;;
    zigzag)
      make sim-only
      venv=build/zigzag-venv
      [[ -x $venv/bin/python3 ]] || python3 -m venv "$venv"
      # It imports six without naming it.
      "$venv/bin/pip" install --quiet zigzag-dse==3.9.1 six pytest
      ADAGP_BIN=build/sim-only/bin/adagp "$venv/bin/python3" -m pytest -q tests/cli/test_zigzag.py ;;
    vgg8s)
      for design in low efficient max; do
        model=$(rtl/tools/model.sh "$design" 12x15 bf16 --predictor 8x10 --predictor-modes 3 --dpi \
          --bits 13,14,14,15 --descriptor-bits 16 --main "tests/rtl/test_table_training.cpp tests/rtl/golden.cpp")
        "$model" configs/layers/vgg8s-cifar.csv
      done ;;
    vgg13)
      make sim-only
      for design in baseline low efficient max; do
        build/sim-only/bin/adagp rtl program --model vgg13 --input cifar --design "$design" \
          --set rtl.descriptor_bits=20 --schedule "1ep bp, gp" --epochs 2 --examples 1 \
          -o "$logs/vgg13-$design.hex"
        build/sim-only/bin/adagp rtl run "$logs/vgg13-$design.hex"
      done ;;
  esac
}

if [[ ${1:-} == --one ]]; then
  one "$2"
  exit
fi
all=(asan tsan bare lint fuzz kills python onnx report rtl zigzag vgg8s vgg13)
names=("$@")
[[ $# -gt 0 ]] || names=("${all[@]}")
for name in "${names[@]}"; do
  [[ " ${all[*]} " == *" $name "* ]] ||
    { echo "nightly: no test '$name': choose from ${all[*]}" >&2; exit 2; }
done
for name in "${names[@]}"; do
  start=$SECONDS
  # A new process: within `if`, this one would go on after an error.
  if "$self" --one "$name" >"$logs/$name.log" 2>&1; then
    echo "nightly: $name: ok, $((SECONDS - start)) s"
  else
    echo "nightly: $name: FAILED after $((SECONDS - start)) s, see $logs/$name.log"
    tail -n 20 "$logs/$name.log" >&2
    failed=1
  fi
done
exit $failed
