# shellcheck shell=bash
# Sourced by scripts that need Python tools of their own: a virtual environment in build/ that is
# made again when the list of packages or the version of python3 changes.
# Callers define say().

# tool_venv FOLDER PACKAGES...: also takes pip's -r FILE. $tool_python makes the environment, and
# the function venv_begun FOLDER, where the caller has one, runs before the packages are installed.
tool_venv() {
  local venv=$1 python=${tool_python:-python3} stamp=$1/.adagp-packages wanted word installed
  shift
  installed="$*"
  wanted="$* $("$python" -V)"
  for word in "$@"; do [[ ! -f $word ]] || wanted+=" $(cat "$word")"; done
  [[ $(cat "$stamp" 2>/dev/null) != "$wanted" ]] || return 0
  say "installing ${installed#-r } into $venv"
  rm -rf "$venv" && "$python" -m venv "$venv" || return 1
  if declare -F venv_begun >/dev/null; then venv_begun "$venv"; fi
  "$venv/bin/pip" install -q --disable-pip-version-check "$@" || return 1
  echo "$wanted" >"$stamp"
}
