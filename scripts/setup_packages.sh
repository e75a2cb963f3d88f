# Distribution packages, for setup.sh: which are missing, and their installation with apt-get.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # variables that the two scripts share

# package:what shows that it is there (a header with a slash or .h, else a command)
required=(build-essential:g++ libcli11-dev:CLI/CLI.hpp libtomlplusplus-dev:toml++/toml.h
  libfmt-dev:fmt/core.h libspdlog-dev:spdlog/spdlog.h nlohmann-json3-dev:nlohmann/json.hpp libgtest-dev:gtest/gtest.h)
optional=(libbenchmark-dev:benchmark/benchmark.h libturbojpeg0-dev:turbojpeg.h libjpeg-dev:jpeglib.h
  libpng-dev:png.h libarchive-dev:archive.h libpugixml-dev:pugixml.hpp
  libgloo-dev:gloo/algorithm.h ccache:ccache mold:mold git:git)

present() {
  local probe=$1 dir
  case $probe in
    libclang_rt) compgen -G '/usr/lib/llvm-*/lib/clang/*/lib/*/libclang_rt.fuzzer*' >/dev/null ;;
    qflow) return 1 ;;  # data files alone: dpkg knows
    venv) python3 -ISc 'import ensurepip, venv' 2>/dev/null ;;
    */* | *.h | *.hpp)
      for dir in ${ADAGP_DEPS_DIR:+"$ADAGP_DEPS_DIR/include"} \
          ${ADAGP_DEPS_DIR:+"$ADAGP_DEPS_DIR/googletest/googletest/include"} \
          ${CPATH:+${CPATH//:/ }} /usr/include /usr/local/include; do
        [[ -e $dir/$probe ]] && return 0
      done
      return 1 ;;
    *) command -v "$probe" >/dev/null ;;
  esac
}

# Prints the packages among package:probe arguments whose probe fails and that dpkg does not know as
# installed (the probe may look elsewhere).
missing() {
  local entry
  for entry in "$@"; do
    present "${entry#*:}" ||
      [[ $(dpkg-query -W -f='${Status}' "${entry%%:*}" 2>/dev/null) == *" installed" ]] ||
      echo "${entry%%:*}"
  done
}

# How apt-get gets its rights here, in words; fails where it cannot.
rights() {
  command -v apt-get >/dev/null || return 1
  if [[ $(id -u) -eq 0 ]]; then
    echo "as root"
  elif command -v sudo >/dev/null; then
    echo "through sudo, which may ask for your password"
  else
    return 1
  fi
}

# Shows what apt-get says as one line that counts; its whole output goes to the file $1.
watch_apt() {
  local log=$1 line total='?' got=0 ready=0 last=
  while IFS= read -r line; do
    echo "$line" >>"$log"
    case $line in
      *' newly installed'*) total=${line#*, } total=${total%% *} ;;
      'Need to get'*) say "  apt-get: ${line%.}" ;;
      Get:*) got=$((got + 1)) last="$got downloaded" ;;
      'Setting up'*) ready=$((ready + 1)) last="$ready of $total packages ready" ;;
      *) continue ;;
    esac
    if [[ -t 2 && -n $last ]]; then
      printf '\rsetup:   apt-get: %-40s' "$last" >&2
    elif [[ $line == 'Setting up'* && $((ready % 50)) -eq 0 ]]; then
      say "  apt-get: $last"
    fi
  done
  [[ ! -t 2 || -z $last ]] || echo >&2
}

# Returns 2 where this user may not install anything.
apt_install() {
  [[ $# -gt 0 ]] || return 0
  rights >/dev/null || return 2
  local root=() log
  if [[ $(id -u) -ne 0 ]]; then
    root=(sudo)
    [[ -t 0 ]] || root=(sudo -n)  # no terminal to ask for a password on
    "${root[@]}" true || return 2
  fi
  local apt=(${root[@]+"${root[@]}"} env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -q -o Dpkg::Use-Pty=0)
  log=$(mktemp)
  # shellcheck disable=SC2094  # both append to the log
  # Package lists may be old or absent: refresh them only when that is what is in the way.
  if "${apt[@]}" install -y --no-install-recommends "$@" 2>>"$log" | watch_apt "$log" ||
    { say "  apt-get: refreshing the package lists" &&
      "${apt[@]}" update >>"$log" 2>&1 &&
      "${apt[@]}" install -y --no-install-recommends "$@" 2>>"$log" | watch_apt "$log"; }; then
    rm -f "$log"
    return 0
  fi
  grep -E '^(E|W):' "$log" | tail -5 | sed 's/^/setup:   apt-get: /' >&2
  rm -f "$log"
  return 1
}

# "${needed[@]}" must be had, "${nice[@]}" may be missing: what of it cannot be had stands in the file
# $without afterwards and is not asked for again.
install_packages() {
  local package left=() allowed=yes
  # Both at once is quicker; a package that this distribution lacks must not stop the others.
  apt_install ${needed[@]+"${needed[@]}"} ${nice[@]+"${nice[@]}"} && return 0
  [[ $? -ne 2 ]] || allowed=no
  if [[ ${#needed[@]} -gt 0 ]] && { [[ $allowed == no ]] || ! apt_install "${needed[@]}"; }; then
    say "these packages are missing and could not be installed from here:"
    say "  apt-get install ${needed[*]} ${nice[*]-}"
    say "(Debian and Ubuntu names; run it as root, or put copies of the headers under"
    die "\$ADAGP_DEPS_DIR/include)"
  fi
  for package in ${nice[@]+"${nice[@]}"}; do
    [[ $allowed == yes ]] && apt_install "$package" || left+=("$package")
  done
  [[ ${#left[@]} -gt 0 ]] || return 0
  say "continuing without ${left[*]} ('adagp doctor' says what does not work then)"
  mkdir -p "${without%/*}" && printf '%s\n' "${left[@]}" >>"$without"
}
