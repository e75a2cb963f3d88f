#!/usr/bin/env bash
# offline_bundle.sh [FOLDER] [--from ROOT]: copies the header-only libraries and GoogleTest's
# sources out of the installed packages into FOLDER (local/deps), for machines with neither packages
# nor network: build there with ADAGP_DEPS_DIR=FOLDER. Real copies, no links. Safe to repeat.
set -euo pipefail

say() { echo "offline-bundle: $*" >&2; }

root=
folder=
while [[ $# -gt 0 ]]; do
  case $1 in
    --from) root=${2:?--from needs a folder}; shift 2 ;;
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    -*) say "unknown option '$1' (see --help)"; exit 2 ;;
    *) folder=$1; shift ;;
  esac
done
folder=${folder:-$(dirname "${BASH_SOURCE[0]}")/../local/deps}

# package:folder of headers:a header in it
libraries=(libcli11-dev:CLI:CLI.hpp libtomlplusplus-dev:toml++:toml.h
  nlohmann-json3-dev:nlohmann:json.hpp libfmt-dev:fmt:core.h libspdlog-dev:spdlog:spdlog.h)
optional=(libgloo-dev:gloo:algorithm.h)  # a program without it runs as one process

# The first of the arguments that exists.
first_of() {
  local path
  for path in "$@"; do [[ -e $path ]] && { echo "$path"; return 0; }; done
  return 1
}

sources=()  # "from to" pairs
missing=()
for entry in "${libraries[@]}" "${optional[@]}"; do
  IFS=: read -r package name header <<<"$entry"
  if found=$(first_of "$root"/usr/{local/,}include/"$name/$header"); then
    sources+=("${found%/*}" "include/$name")
  elif [[ " ${optional[*]} " == *" $entry "* ]]; then
    say "continuing without $package"
  else
    missing+=("$package")
  fi
done
if found=$(first_of "$root"/usr/{local/,}src/googletest/CMakeLists.txt); then
  sources+=("${found%/*}" googletest)
else
  missing+=(googletest)
fi
if [[ ${#missing[@]} -gt 0 ]]; then
  say "not installed: ${missing[*]} (Debian and Ubuntu names; apt-get install ${missing[*]})"
  exit 1
fi

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
new=$(mktemp -d "$folder/.new.XXXXXX")
trap 'rm -rf "$new"' EXIT
mkdir "$new/include"
for ((i = 0; i < ${#sources[@]}; i += 2)); do
  cp -RL "${sources[i]}" "$new/${sources[i + 1]}"
done
# GoogleTest's own tests are most of its size.
rm -rf "$new"/googletest/*/{test,samples,docs}
mkdir -p "$folder/include"
for ((i = 0; i < ${#sources[@]}; i += 2)); do
  part=${sources[i + 1]}
  rm -rf "${folder:?}/$part"
  mv "$new/$part" "$folder/$part"
done
echo "offline-bundle: $folder, $(du -sh "$folder" | cut -f1)"
