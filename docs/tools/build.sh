#!/usr/bin/env bash
# build.sh: the documentation site in build/docs/site. It asks for nothing from the network; its
# search needs a server: python3 -m http.server -d build/docs/site. A dead link, a dead anchor or a
# page that nothing leads to is an error. Tools live in build/docs-venv.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
say() { echo "docs: $*" >&2; }

# shellcheck source=scripts/tool_venv.sh
source scripts/tool_venv.sh

venv=build/docs-venv
tool_venv $venv mkdocs==1.6.1 mkdocs-material==9.8.1 mkdocstrings==1.0.8 mkdocstrings-python==2.0.10 \
  cffconvert==2.0.0
rm -rf build/docs && mkdir -p build/docs
"$venv/bin/cffconvert" --validate >/dev/null || { say "CITATION.cff is not valid"; exit 1; }
"$venv/bin/python" docs/tools/pages.py build/docs/pages
NO_MKDOCS_2_WARNING=1 "$venv/bin/mkdocs" build --strict --quiet
say "build/docs/site/index.html"
