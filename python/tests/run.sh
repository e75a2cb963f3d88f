#!/usr/bin/env bash
# run.sh [pytest options]: the tests of the Python package against the built wheel (dist/*.whl) in a
# virtual environment of its own, build/python-venv.
#
# torch comes from .venv through a .pth file, so that its 4.5 GB are not installed twice. The tests that
# compare with the training engine use build/bin/adagp where it is, or what ADAGP_PROGRAM names.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
say() { echo "test-python: $*" >&2; }

# shellcheck source=scripts/tool_venv.sh
source scripts/tool_venv.sh

venv_begun() {  # torch of the engine
  local site
  site=$("$1/bin/python" -c 'import site; print(site.getsitepackages()[0])')
  echo "$PWD/.venv/lib/$(basename "$(dirname "$site")")/site-packages" >"$site/torch-of-the-engine.pth"
}
venv=build/python-venv tool_python=.venv/bin/python3
tool_venv $venv -r python/tests/requirements.txt
"$venv/bin/pip" install -q --disable-pip-version-check --force-reinstall --no-deps dist/adagp-*.whl
if [[ -z ${ADAGP_PROGRAM:-} && -x build/bin/adagp ]]; then
  export ADAGP_PROGRAM=$PWD/build/bin/adagp
fi
cd build  # so that the installed package is tested and not the sources
"../$venv/bin/python" -m pytest -c ../python/tests/pytest.ini --rootdir .. ../python/tests "$@"
cd ..
"$venv/bin/python" -m mypy --config-file pyproject.toml -p adagp
