#!/usr/bin/env bash
# lint.sh COMMAND: the parts of `make lint` and `make format`, over the sources that git knows.
#   check                      clang-format, ruff and shellcheck; files of more than 300 lines are named, and no error
#   format                     clang-format in place
#   list HALF all|changed      prints C++ sources: HALF is free (what build/lint compiles) or torch (all others)
#   tidy BUILD JOBS HALF all|changed   clang-tidy on these files, as BUILD compiles them
#
# Changed are what is not committed yet and the commits since LINT_BASE; by default since the branch left its
# upstream, or, where that is where we are, since the commit before. At most 48 changed files of the half without
# and 16 of the half with LibTorch (TIDY_LIMIT=n: so many of each), those that changed last: a file with LibTorch
# in it takes half a minute, another one ten seconds. `make lint ALL=1` looks at all.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH=$PWD/.venv/bin:$PATH
cpp=('*.cpp' '*.h' '*.cu' '*.cuh')
failed=0

say() { echo "lint: $*"; }

# Tracked files and those about to be; git leaves out what .gitignore names.
sources() { git ls-files -co --exclude-standard -- "$@" | while read -r f; do [[ ! -f $f ]] || echo "$f"; done; }

installed() {
  command -v "$1" >/dev/null || { say "$1: not installed (scripts/setup.sh --sim --lint installs it)"; failed=1; return 1; }
}

formatting() {
  local log
  installed clang-format || return 0
  if log=$(sources "${cpp[@]}" | xargs -rd '\n' clang-format --dry-run -Werror 2>&1); then
    say "clang-format: clean"
    return
  fi
  grep -E '^[^ ]+:[0-9]+:[0-9]+: error' <<<"$log" | cut -d: -f1 | sort | uniq -c | awk '{print $2 ": " $1 " places"}' ||
    echo "$log"
  say "clang-format: not formatted; run make format"
  failed=1
}

# linter NAME COMMAND...: the command gets the names from its input.
linter() {
  local log
  installed "$1" || return 0
  if log=$(xargs -rd '\n' "${@:2}" 2>&1); then
    say "$1: clean"
  else
    echo "$log"
    say "$1: findings, see above"
    failed=1
  fi
}

long_files() {
  local long
  long=$(sources "${cpp[@]}" '*.py' '*.sh' '*.sv' '*.js' | xargs -rd '\n' awk '
    FNR == 1 && NR > 1 {if (lines > 300) print lines, file}
    {lines = FNR; file = FILENAME}
    END {if (lines > 300) print lines, file}' | sort -rn)
  [[ -n $long ]] || return 0
  say "$(wc -l <<<"$long") files have more than 300 lines (no error):"
  awk '{printf "%s%s %s", (NR > 1 ? ", " : ""), $2, $1} END {print ""}' <<<"$long" | fold -sw 116 | sed 's/^/  /'
}

base() {
  local upstream
  if [[ -n ${LINT_BASE:-} ]]; then
    git rev-parse --verify --quiet "$LINT_BASE^{commit}" && return
    say "LINT_BASE=$LINT_BASE is no commit here: taking the commit before" >&2
  elif upstream=$(git merge-base HEAD '@{upstream}' 2>/dev/null) && [[ $upstream != $(git rev-parse HEAD) ]]; then
    echo "$upstream"
    return
  fi
  git rev-parse --verify --quiet HEAD~1
}

# Changed C++ files; a header stands for the source beside it. Those that changed last come first.
changed() {
  local since
  since=$(base) || { say "no commit before this one: nothing counts as changed" >&2; return 0; }
  {
    git ls-files -mo --exclude-standard -- 'src/*' 'apps/*'
    git diff --name-only --cached -- src apps
    git log --format= --name-only "$since..HEAD" -- src apps
  } | sed -n 's/\.\(cpp\|h\)$/.cpp/p' | awk '!seen[$0]++'
}

compiled() { sed -n "s#^ *\"file\": \"$PWD/\(.*\)\",\{0,1\}\$#\1#p" "$1/compile_commands.json"; }

list() {
  local half limit chosen
  case $1 in
    free) half=$(compiled build/lint) limit=${TIDY_LIMIT:-48} ;;
    torch)
      half=$(sources 'src/*.cpp' 'apps/*.cpp' | grep -vxFf <(compiled build/lint))
      limit=${TIDY_LIMIT:-16} ;;
    *) usage ;;
  esac
  case $2 in
    all) echo "$half" ;;
    changed)
      mapfile -t chosen < <(changed | grep -xFf <(echo "$half"))
      if [[ ${#chosen[@]} -gt $limit ]]; then
        say "clang-tidy ($1): $((${#chosen[@]} - limit)) of ${#chosen[@]} changed files are left to make lint ALL=1" >&2
      fi
      printf '%s\n' "${chosen[@]:0:limit}" | grep . || true ;;
    *) usage ;;
  esac
}

tidy() {
  local build=$1 jobs=$2 done_folder=$1/tidy file ok newest todo=()
  mkdir -p "$done_folder"
  # A file is looked at again when it, any header or the list of checks is newer than its mark.
  newest=$(sources 'src/*.h' 'apps/*.h' .clang-tidy | xargs -d '\n' ls -t | sed -n 1p)
  while read -r file; do
    ok=$done_folder/${file//\//-}.ok
    [[ $ok -nt $file && $ok -nt $newest ]] || todo+=("$file")
  done < <(list "$3" "$4" | grep -xFf <(compiled "$build"))
  [[ ${#todo[@]} -eq 0 ]] && { say "clang-tidy ($3): nothing changed"; return; }
  say "clang-tidy ($3): ${#todo[@]} files"
  # shellcheck disable=SC2016  # expanded by the inner shell
  printf '%s\n' "${todo[@]}" | BUILD=$build DONE=$done_folder xargs -d '\n' -P "$jobs" -I{} bash -c '
    log=$(clang-tidy --quiet -p "$BUILD" --extra-arg=-Wno-unknown-warning-option "$1" 2>&1) ||
      { echo "$log"; exit 1; }
    touch "$DONE/${1//\//-}.ok"' _ {} || { say "clang-tidy ($3): findings, see above"; exit 1; }
  say "clang-tidy ($3): clean"
}

usage() { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2; exit 2; }

case ${1:-} in
  check)
    formatting
    linter ruff ruff check --quiet --output-format concise < <(sources '*.py')
    linter shellcheck shellcheck --format gcc < <(sources '*.sh' .ci/run)
    long_files
    exit $failed ;;
  format) sources "${cpp[@]}" | xargs -rd '\n' clang-format -i ;;
  list) [[ $# -eq 3 ]] || usage; list "${@:2}" ;;
  tidy) [[ $# -eq 5 ]] || usage; tidy "${@:2}" ;;
  *) usage ;;
esac
