#!/usr/bin/env bash
# lint.sh check | format | tidy BUILD_FOLDER [JOBS]: formatting and clang-tidy over the sources git knows.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Tracked files and those about to be; git leaves out what .gitignore names.
sources() { git ls-files -co --exclude-standard -- "$@" | while read -r f; do [[ -f $f ]] && echo "$f"; done; }

tidy() {
  local build=$1 jobs=${2:-2} done_folder=$1/tidy file ok newest todo=()
  mkdir -p "$done_folder"
  # A file is looked at again when it, any header or the list of checks is newer than its mark.
  newest=$(sources 'src/*.h' 'apps/*.h' .clang-tidy | xargs -d '\n' ls -t | sed -n 1p)
  while read -r file; do
    ok=$done_folder/${file//\//-}.ok
    [[ $ok -nt $file && $ok -nt $newest ]] || todo+=("$file")
  done < <(sources 'src/*.cpp' 'apps/*.cpp' | while read -r file; do
    grep -qF "\"file\": \"$PWD/$file\"" "$build/compile_commands.json" && echo "$file"; done)
  [[ ${#todo[@]} -eq 0 ]] && { echo "lint: clang-tidy: nothing changed"; return; }
  echo "lint: clang-tidy on ${#todo[@]} files"
  # shellcheck disable=SC2016  # expanded by the inner shell
  printf '%s\n' "${todo[@]}" | BUILD=$build DONE=$done_folder xargs -d '\n' -P "$jobs" -I{} bash -c '
    log=$(clang-tidy --quiet -p "$BUILD" --extra-arg=-Wno-unknown-warning-option "$1" 2>&1) ||
      { echo "$log"; exit 1; }
    touch "$DONE/${1//\//-}.ok"' _ {}
  echo "lint: clang-tidy: clean"
}

case ${1:-} in
  check)
    if ! log=$(sources '*.cpp' '*.h' '*.cu' '*.cuh' | xargs -d '\n' clang-format --dry-run -Werror 2>&1); then
      grep -E '^[^ ]+:[0-9]+:[0-9]+: error' <<<"$log" | cut -d: -f1 | sort | uniq -c |
        awk '{print $2 ": " $1 " places"}'
      echo "lint: not formatted; run make format"
      exit 1
    fi
    echo "lint: formatting: clean" ;;
  format) sources '*.cpp' '*.h' '*.cu' '*.cuh' | xargs -d '\n' clang-format -i ;;
  tidy) tidy "${@:2}" ;;
  *) echo "usage: lint.sh check | format | tidy BUILD_FOLDER [JOBS]" >&2; exit 2 ;;
esac
