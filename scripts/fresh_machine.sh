#!/usr/bin/env bash
# fresh_machine.sh SUITE [options]: the two commands of the README on a system with nothing on it.
#
# Makes a minimal Debian or Ubuntu (debootstrap --variant=minbase; bookworm, trixie, jammy, noble ...) in
# a folder, clones the committed state of this checkout into it, runs `make run` and `make test` there
# and prints how long each step took and what set-up had to install. Needs root and debootstrap.
#
#   --folder DIR    where the system is made, or found again (default: /var/tmp/adagp-SUITE): a new folder,
#                   an empty one, or one that this script made (it has the file .adagp-begun)
#   --only STEP     only this step: setup, run or test; may be given several times
#   --command CMD   runs CMD in the checkout instead of the steps (--only is ignored then)
#   --ccache DIR    shares a compiler cache with other calls, for repeated runs (times then say little)
#   --mirror URL    package mirror (default: this machine's, if it and SUITE are Debian; else debootstrap's)
#   --anew          empties the folder first; only one that this script made
#   --log FILE      also writes all output to FILE
#
# Package and pip settings (proxy variables, apt's Acquire options, pip.conf, certificates) are those of
# this machine. Mounts and processes live in namespaces of their own and end with this script.
set -euo pipefail

say() { echo "fresh_machine: $*"; }
die() { say "$*" >&2; exit 1; }
usage() { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; }

suite='' folder='' ccache='' mirror='' anew=no log='' command=''
steps=()
arguments=("$@")
while [[ $# -gt 0 ]]; do
  case $1 in
    --folder | --only | --command | --ccache | --mirror | --log)
      [[ $# -ge 2 ]] || die "$1 needs a value"
      case $1 in
        --folder) folder=$2 ;;
        --only) steps+=("$2") ;;
        --command) command=$2 ;;
        --ccache) ccache=$2 ;;
        --mirror) mirror=$2 ;;
        --log) log=$2 ;;
      esac
      shift 2 ;;
    --anew) anew=yes; shift ;;
    -h | --help) usage; exit 0 ;;
    -*) say "unknown option '$1' (see --help)" >&2; exit 2 ;;
    *) [[ -z $suite ]] || die "one suite at a time, got '$suite' and '$1'"
      suite=$1; shift ;;
  esac
done
[[ $suite =~ ^[a-z]+$ ]] || { usage >&2; exit 2; }
for step in ${steps[@]+"${steps[@]}"}; do
  [[ $step =~ ^(setup|run|test)$ ]] || die "--only $step: expected setup, run or test"
done
[[ ${#steps[@]} -gt 0 ]] || steps=(run test)
[[ -z $command ]] || steps=(command)
[[ $(id -u) -eq 0 ]] || die "needs root (it makes a system in a folder and mounts /proc there)"
PATH=$PATH:/usr/sbin:/sbin
command -v debootstrap >/dev/null || die "debootstrap is missing: apt-get install debootstrap"
checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=$(realpath -m "${folder:-/var/tmp/adagp-$suite}")
[[ $folder != / ]] || die "--folder / is this machine itself"

# In namespaces of its own: however this ends, mounts and processes end with it. The first process of a
# namespace and unshare itself are deaf to Ctrl-C, so this one listens and kills them all.
if [[ -z ${ADAGP_FRESH_MACHINE:-} ]]; then
  export ADAGP_FRESH_MACHINE=inside
  [[ -z $log ]] || mkdir -p "$(dirname "$log")"
  unshare --mount --pid --fork --kill-child -- "${BASH_SOURCE[0]}" "${arguments[@]}" \
    > >(if [[ -n $log ]]; then tee "$log"; else cat; fi) 2>&1 &
  child=$!
  trap 'kill -KILL $child 2>/dev/null; die "stopped; $folder can be used again or removed"' INT TERM HUP
  status=0
  wait $child || status=$?
  exit $status
fi

# ---------------------------------------------------------------- the system

# The mirror that this machine takes Debian's packages from, where it is a Debian.
host_mirror() {
  grep -q '^ID=debian' /etc/os-release || return 0
  # shellcheck disable=SC2016  # apt-get's own variable
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 2>/dev/null |
    grep -v security | sed -n 1p
}

# Marks the folder as this script's. What others put there is never removed: a folder that is neither new
# nor empty and has no mark is refused.
claim_folder() {
  [[ ! -e $folder/.adagp-complete && ! -e $folder/.adagp-begun ]] || return 0
  [[ ! -e $folder || -d $folder ]] || die "--folder $folder: not a folder"
  [[ ! -d $folder || -z $(ls -A "$folder") ]] ||
    die "--folder $folder: not made by this script and not empty; choose another, or remove it yourself"
  mkdir -p "$folder"
}

make_system() {
  claim_folder
  [[ $anew == yes || ! -e $folder/.adagp-complete ]] || return 0
  # The mark stays, so that a removal cut short can be finished.
  { touch "$folder/.adagp-begun" && rm -f "$folder/.adagp-complete" &&
    find "$folder" -mindepth 1 -maxdepth 1 ! -name .adagp-begun -exec rm -rf --one-file-system {} +; } ||
    die "$folder could not be emptied"
  local components=main
  if [[ $(readlink -f "/usr/share/debootstrap/scripts/$suite") == *gutsy ]]; then
    components=main,universe  # an Ubuntu; debootstrap knows its mirror
  else
    mirror=${mirror:-$(host_mirror)}
  fi
  debootstrap --variant=minbase --components="$components" "$suite" "$folder" ${mirror:+"$mirror"} \
    >"$folder.log" 2>&1 || { tail -5 "$folder.log" >&2; die "debootstrap failed (see $folder.log)"; }
  rm -f "$folder.log"
  touch "$folder/.adagp-complete"
}

# What lets this machine reach packages: proxies, certificates, pip's settings. No host is named here.
copy_settings() {
  local name certificates=/etc/this-machine.crt bundle=${PIP_CERT:-${SSL_CERT_FILE:-}}
  cp -L /etc/resolv.conf "$folder/etc/resolv.conf"
  # What an installer writes and debootstrap does not; torchrun's processes meet at these names.
  printf '127.0.0.1 localhost\n127.0.1.1 %s\n::1 localhost ip6-localhost ip6-loopback\n' "$(hostname)" \
    >"$folder/etc/hosts"
  [[ ! -f /etc/pip.conf ]] || cp /etc/pip.conf "$folder/etc/pip.conf"
  apt-config dump | grep -E '^Acquire::(https?::|Check-Valid-Until|Retries)' \
    >"$folder/etc/apt/apt.conf.d/99this-machine" || true
  environment=(HOME=/root TERM="${TERM:-dumb}" LANG=C.UTF-8
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
  for name in $(compgen -e | grep -iE '^((https?|no|all)_proxy|pip_(index_url|extra_index_url|default_timeout|.*host))$'); do
    environment+=("$name=${!name}")
  done
  # A file of its own: the package ca-certificates writes the usual one anew.
  [[ -n $bundle || ! -f /etc/pip.conf ]] || bundle=$(sed -n 's/^cert *= *//p' /etc/pip.conf)
  [[ ! -f $bundle ]] || { cp -L "$bundle" "$folder$certificates" && environment+=("PIP_CERT=$certificates"); }
}

mounts() {
  mount --make-rprivate /
  mount -t proc proc "$folder/proc"
  mount --rbind /sys "$folder/sys"
  mount --rbind /dev "$folder/dev"
  if [[ -n $ccache ]]; then
    mkdir -p "$ccache" "$folder/root/.cache/ccache"
    mount --bind "$ccache" "$folder/root/.cache/ccache"
    environment+=(CCACHE_DIR=/root/.cache/ccache)
  fi
}

inside() { chroot "$folder" env -i "${environment[@]}" bash -c "$1"; }

# The committed state of this checkout; a checkout that is there already is brought up to it, so that
# its .venv and build folder serve again.
clone() {
  local there=$folder/root/adagp
  if [[ ! -d $there/.git ]]; then
    git -c safe.directory='*' clone -q --no-hardlinks "$checkout" "$there"
  fi
  git -c safe.directory='*' -C "$there" fetch -q "$checkout" HEAD
  git -c safe.directory='*' -C "$there" reset -q --hard FETCH_HEAD
}

# ---------------------------------------------------------------- steps and their times

times=()
failed=0
timed() {
  local what=$1 start=$SECONDS status=0
  shift
  say "--- $what"
  "$@" || status=$?
  times+=("$(printf '%6d s  %-8s %s' $((SECONDS - start)) "$([[ $status -eq 0 ]] && echo ok || echo "exit $status")" "$what")")
  [[ $status -eq 0 ]] || failed=1
  return $status
}

packages() { inside "dpkg-query -W -f='\${Package} \${Installed-Size}\n'" | sort; }

timed "debootstrap $suite" make_system
copy_settings
mounts
clone
before=$(packages)
# The only thing that a newcomer must bring.
timed "apt-get install make" inside 'command -v make >/dev/null ||
  { apt-get -qq update && apt-get -qq install -y --no-install-recommends make; } >/dev/null 2>&1' ||
  die "make could not be installed: no package lists from here?"
for step in "${steps[@]}"; do
  case $step in
    command) timed "$command" inside "cd /root/adagp && $command" || break ;;
    *) timed "make $step" inside "cd /root/adagp && make $step" || break ;;
  esac
done
# shellcheck disable=SC2016  # expanded inside
say "--- $(inside 'source /etc/os-release && echo "$PRETTY_NAME"'), $(uname -m), $(nproc) cores, commit $(git -c safe.directory='*' -C "$folder/root/adagp" rev-parse --short HEAD)"
say "$(inside 'g++ --version 2>/dev/null | head -1; python3 -V 2>/dev/null' | paste -sd' ')"
say "set-up added $(comm -13 <(echo "$before") <(packages) |
  awk '{kb += $2} END {printf "%d packages, %d MB", NR, kb / 1000}'), .venv $(du -sh "$folder/root/adagp/.venv" 2>/dev/null | cut -f1 || true)"
printf 'fresh_machine: %s\n' "${times[@]}"
exit $failed
