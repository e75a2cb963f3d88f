#!/usr/bin/env bash
# run.sh PROGRAM [pytest options]: the page of `adagp report` in the distribution's Chromium, which it
# installs where it is missing. Python's packages (tests/browser/requirements.txt) go into build/browser-venv.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
say() { echo "test-report: $*" >&2; }
die() { say "$*"; exit 1; }
program=$(realpath "${1:?the program to test}")
shift

export ADAGP_BROWSER=${ADAGP_BROWSER:-/usr/bin/chromium} ADAGP_BROWSER_DRIVER=${ADAGP_BROWSER_DRIVER:-/usr/bin/chromedriver}
if [[ ! -x $ADAGP_BROWSER || ! -x $ADAGP_BROWSER_DRIVER ]]; then
  # shellcheck source=scripts/setup_packages.sh
  source scripts/setup_packages.sh
  say "installing Chromium and its driver with apt-get ($(rights || echo "not allowed here"))"
  mkdir -p build
  needed=(chromium chromium-driver) nice=() without=build/browser-without
  install_packages
fi

# shellcheck source=scripts/tool_venv.sh
source scripts/tool_venv.sh
venv=build/browser-venv
tool_venv $venv -r tests/browser/requirements.txt
ADAGP_BIN=$program PYTHONDONTWRITEBYTECODE=1 "$venv/bin/python" -m pytest -q -p no:cacheprovider tests/browser "$@"
