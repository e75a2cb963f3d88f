#!/usr/bin/env bash
# rtl_synth.sh [options of rtl/tools/synth.py]: what the four designs need on a Xilinx 7-series FPGA
# and in standard cells, into build/rtl-synth (`make rtl-synth` installs the tools first).
#
#   LIBERTY=FILE  one more cell library
#   COPY=1        also docs/results/<date>-rtl-resources.csv, for the documents
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
options=()
[[ -z ${LIBERTY:-} ]] || options+=(--liberty "$LIBERTY")
[[ -z ${COPY:-} ]] || options+=(--copy "docs/results/$(date +%F)-rtl-resources.csv")
exec python3 rtl/tools/synth.py ${options[@]+"${options[@]}"} "$@"
