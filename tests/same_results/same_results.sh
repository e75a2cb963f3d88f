#!/usr/bin/env bash
# same_results.sh OLD NEW [options]: do two built programs give the same results, byte for byte?
#
# OLD and NEW are adagp programs, as of two commits. Both get the same commands: the guard for refactorings
# that must not change behaviour. Some seven minutes on two cores. Groups:
#
#   list, help   what the program knows; the help of every command (a difference there is a note, no failure)
#   layers       layer tables and coverage of every network of configs/layers
#   simulate     200 points chosen by a fixed seed, and some sweeps, pictures and files
#   pipeline, paper, scalesim
#   data         the generated data sets, described and written in every format
#   methods      every method x vgg8s, resnet8, a translator, a detector; 3 epochs of tiny data
#   options      every predictor, optimizer and policy; heads, accumulation, clipping and others
#   parallel     pipelines and copies, two to four processes on this machine
#   resume       stopped on the way and resumed by NEW; begun by OLD and resumed by NEW (the same weights, or
#                refused with exit code 2 or 3 and one sentence, which is shown as a note)
#
#   --only GROUP  only this group; may be given several times
#   --keep DIR    keeps the outputs as DIR/old/GROUP/CASE and DIR/new/GROUP/CASE. OLD's are used again as long
#                 as OLD's file, its libraries and this script are unchanged (never where OLD is a script that
#                 starts the program). DIR is new, empty, or one that this script made.
#   --jobs N      cases side by side (default 2); each computes with one thread
#
# Compared are exit code, stdout, stderr (of `train`: warnings and errors) and the files written; of a run the
# weights (last, best, exported), layers.csv, and summary.json and metrics.jsonl without times. Being refused
# by both with the same words is equal, and counted. Not compared: tb/, environment.json and checkpoints,
# which hold times; a difference in config.toml is a note. Nothing runs on a GPU. Works in a temporary folder,
# which is removed at the end, also after Ctrl-C; ~/.cache is not touched.
#
# Exit code: 0 all equal, 1 something differs, 2 usage.
set -euo pipefail

say() { echo "same_results: $*"; }
bad() { say "$*" >&2; exit 2; }
usage() { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; }

all_groups=(list help layers simulate pipeline paper scalesim data methods options parallel resume)
of_torch=' data methods options parallel resume '
keep='' jobs=2
groups=() given=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --only | --keep | --jobs)
      [[ $# -ge 2 && -n $2 ]] || bad "$1 needs a value"
      case $1 in
        --only) [[ " ${groups[*]-} " == *" $2 "* ]] || groups+=("$2") ;;
        --keep) keep=$2 ;;
        --jobs) jobs=$2 ;;
      esac
      shift 2 ;;
    -h | --help) usage; exit 0 ;;
    -*) bad "unknown option '$1' (see --help)" ;;
    *) given+=("$1"); shift ;;
  esac
done
[[ ${#given[@]} -eq 2 ]] || bad "expected two programs, OLD and NEW, got ${#given[@]} (see --help)"
[[ $jobs =~ ^[1-9][0-9]{0,2}$ ]] || bad "--jobs $jobs: expected a number from 1 to 999"
for group in ${groups[@]+"${groups[@]}"}; do
  [[ " ${all_groups[*]} " == *" $group "* ]] || bad "--only $group: expected one of ${all_groups[*]}"
done
[[ ${#groups[@]} -gt 0 ]] || groups=("${all_groups[@]}")
declare -A programs
programs=([old]=${given[0]} [new]=${given[1]})
for side in old new; do
  [[ -f ${programs[$side]} && -x ${programs[$side]} ]] || bad "${programs[$side]}: not a program"
  programs[$side]=$(realpath "${programs[$side]}")
done
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# ---------------------------------------------------------------- where things are

# Ctrl-C reaches this script alone: every case is a process group of its own, which is ended here.
set -m
work=''
clean_up() {
  local pid running
  trap '' INT TERM HUP
  running=$(jobs -rp)
  [[ -z $running ]] || exec 2>/dev/null  # this shell would tell that they were ended
  for pid in $running; do kill -TERM -- "-$pid" 2>/dev/null || true; done
  for pid in $running; do
    for _ in {1..200}; do
      kill -0 -- "-$pid" 2>/dev/null || break
      sleep 0.1
    done
    kill -KILL -- "-$pid" 2>/dev/null || true
  done
  [[ -z $work ]] || rm -rf "$work/scratch"
  [[ -n $keep || -z $work ]] || rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

if [[ -n $keep ]]; then
  [[ ! -e $keep || -d $keep ]] || bad "--keep $keep: not a folder"
  [[ ! -d $keep || -e $keep/.same_results || -z $(ls -A "$keep") ]] ||
    bad "--keep $keep: not made by this script and not empty; choose another folder"
  mkdir -p "$keep"
  work=$(realpath "$keep")
  touch "$work/.same_results"
else
  work=$(mktemp -d)
fi
mkdir -p "$work/scratch/home" "$work/inputs"

# The programs see nothing of this shell's settings, and nothing of the user's home.
# shellcheck disable=SC2086
unset ${!ADAGP_@} RANK WORLD_SIZE LOCAL_RANK MASTER_ADDR MASTER_PORT NO_COLOR CLICOLOR_FORCE
export LC_ALL=C OMP_NUM_THREADS=1
export HOME=$work/scratch/home XDG_CACHE_HOME=$work/scratch/home TMPDIR=$work/scratch
for side in old new; do
  "${programs[$side]}" --version >"$work/scratch/version" 2>&1 ||
    bad "${programs[$side]}: does not run: $(head -1 "$work/scratch/version")"
done

# What decides OLD's results beside the commands: its file, the libraries it finds, this script and the files
# it hands out. Nothing where OLD is a script, which may start anything.
identity() {
  [[ $(head -c 2 "$1" | tr -d '\0') != '#!' ]] || return 0
  sha256sum <"$1"
  ldd "$1" | awk '$3 ~ "^/" {print $3}' | sort | xargs -r stat -Lc '%n %s %Y'
  cat "$root"/tests/same_results/*.sh "$root"/configs/{accelerators,layers}/* \
    "$root"/tests/fuzz/corpus/{topology,scalesim_config}/* | sha256sum
}
identity=$(identity "${programs[old]}")
[[ -n $identity && -f $work/old.program && $(<"$work/old.program") == "$identity" ]] || rm -rf "$work/old"
echo "$identity" >"$work/old.program"

# shellcheck source=tests/same_results/cases.sh
source "$root/tests/same_results/cases.sh"

# ---------------------------------------------------------------- running one

# The batch of the newest checkpoint.
newest_step() {
  local files=(run/checkpoint/step-*[0-9].safetensors) number
  number=${files[-1]##*/step-} number=${number%.safetensors}
  [[ $number == *[!0-9]* ]] && echo 0 || echo $((10#$number))
}

# PROGRAM WORDS...: trains into the second epoch, where GP and BP batches take turns and rules choose, and
# sends SIGTERM. On a busy machine the run may be over first.
stop_midway() {
  local code pid
  for _ in {1..200}; do
    rm -rf run
    code=0
    "$@" >stdout 2>stderr </dev/null &
    pid=$!
    while [[ $(newest_step) -lt 12 ]] && kill -0 $pid 2>/dev/null; do sleep 0.01; done
    kill -TERM $pid 2>/dev/null || true
    wait $pid || code=$?
    [[ $code == 0 ]] || break
  done
  echo $code >begun
}

# The folder of a run becomes what of it can be compared. Seconds are the clock's; those of a decision are
# counted (auto.clock).
reduce_run() {
  local seconds='"[a-z_]*seconds[a-z_]*": *' name
  [[ ! -f run/summary.json ]] || "$1" export run -o exported.safetensors >exported.txt 2>&1 || true
  for name in weights.safetensors best.safetensors layers.csv summary.json metrics.jsonl; do
    [[ ! -f run/$name ]] || mv "run/$name" .
  done
  [[ ! -f run/config.toml ]] || mv run/config.toml config.toml.note
  rm -rf run
  for name in summary.json stdout; do
    [[ ! -f $name ]] || sed -i "/^ *$seconds/d" "$name"
  done
  [[ ! -f metrics.jsonl ]] ||
    sed -i -e "/\"kind\":\"decision\"/!s/${seconds}[^,}]*,\{0,1\}//g" metrics.jsonl
}

# SIDE CASE. A file "*.note" is compared, too, but its difference is a note. What a failure of OLD left behind
# is not used again: it may have been the machine's.
run_case() {
  local folder=$work/$1/$2 program=${programs[$1]} begins=${begun_by[$2]:-} words code=0
  trap 'exit 143' TERM  # not before the program, which gets the signal too, has ended
  if [[ $1 == old && -f $folder/.done && $(<"$folder/.done") == "${commands[$2]}" ]]; then
    [[ $(<"$folder/code") != [02] ]] || return 0
  fi
  rm -rf "$folder"
  mkdir -p "$folder"
  cd "$folder"
  eval "words=(${commands[$2]})"
  [[ $1 == old || -z $begins ]] || stop_midway "${programs[$begins]}" "${words[@]}"
  "$program" "${words[@]}" >stdout 2>stderr </dev/null || code=$?
  [[ ${words[1]:-} != train ]] || reduce_run "$program"
  [[ $2 != help/* ]] || mv stdout stdout.note
  echo $code >code
  printf '%s' "${commands[$2]}" >.done
}

start() {
  while [[ $(jobs -rp | wc -l) -ge $jobs ]]; do wait -n || true; done
  "$@" &
}

# ---------------------------------------------------------------- comparing

# What differs between the two folders of a case, a name a line.
differing() {
  local old=$work/old/$1 new=$work/new/$1 literal
  if [[ ! -f $old/.done || ! -f $new/.done ]]; then
    echo "it was not run to its end"
  else
    # shellcheck disable=SC2001  # the replacement holds what was found
    literal=$(sed 's,[].[*^$+?(){}|\\!],\\&,g' <<<"$old")  # names of methods have a '+'
    { diff -rq --exclude=.done --exclude=begun "$old" "$new" || true; } |
      sed -E -e "s!^Files $literal/(.*) and .* differ\$!\1!" \
        -e "s!^Only in $work/(old|new)/[^:]*: (.*)!\2 (\1 alone)!"
  fi
}

# NEW does not go on with a run that OLD began, and says so in one sentence, perhaps below warnings.
refused_by_new() {
  local new=$work/new/$1
  [[ ${begun_by[$1]:-} == old && -f $new/.done && $(<"$new/code") =~ ^[23]$ && $(<"$new/begun") == 143 &&
    $(grep -cv '^W ' "$new/stderr") == 1 && ! -s $new/stdout && $(<"$work/old/$1/code") == 0 ]]
}

# What is said of a case below the line of its group, with the way to see it.
told='' notes=0
tell() {
  told+=$'\n'"    $1: $2"$'\n'"      adagp${commands[$1]}"
  [[ -z $keep ]] || told+=$'\n'"      diff -r $keep/old/$1 $keep/new/$1"
}
note() { tell "$1" "note: $2"; notes=$((notes + 1)); }

cases=0 differences=0
compare_group() {
  local key found new code ran=0 refused=0 differ=0
  told=''
  for key in "${keys[@]}"; do
    new=$work/new/$key
    code=$(cat "$new/code" 2>/dev/null || true)
    found=$(differing "$key")
    if [[ -z $found && $code == 0 ]]; then
      ran=$((ran + 1))
    elif [[ -z $found ]]; then
      refused=$((refused + 1))
      [[ $code == 2 ]] || note "$key" "both end with exit code $code: $(tail -1 "$new/stderr")"
    elif refused_by_new "$key"; then
      note "$key" "NEW refuses what OLD began (exit code $code): $(tail -1 "$new/stderr")"
    elif ! grep -qv '\.note$' <<<"$found"; then
      ran=$((ran + 1))
      note "$key" "$(paste -sd, <<<"${found//.note/}") differs"
    else
      differ=$((differ + 1))
      tell "$key" "DIFFERS: $(paste -sd, <<<"$found" | sed 's/,/, /g')"
    fi
    [[ ! -f $new/begun || $(<"$new/begun") != 0 ]] || note "$key" "it was over before it could be stopped"
  done
  if [[ $ran -eq 0 ]]; then
    differ=$((differ + 1))
    told+=$'\n'"    DIFFERS: no case ran to its end with the same results"
  fi
  cases=$((cases + ${#keys[@]})) differences=$((differences + differ))
  say "$(printf '%-9s %4d cases, %d different%s, %d s' "$group" ${#keys[@]} $differ \
    "$([[ $refused -eq 0 ]] || echo " ($refused refused by both)")" $((SECONDS - began)))$told"
}

say "OLD ${programs[old]}"
say "NEW ${programs[new]}"
[[ ! -d $work/old ]] || say "OLD's outputs in $keep are used again"
trains=yes
"${programs[old]}" train --help >/dev/null 2>&1 || trains=no
for group in "${groups[@]}"; do
  if [[ $trains == no && $of_torch == *" $group "* ]]; then
    say "$(printf '%-9s left out: OLD is built without LibTorch' "$group")"
    continue
  fi
  began=$SECONDS
  keys=()
  rm -rf "${work:?}/new/$group"
  "cases_$group"
  for side in old new; do
    for key in "${keys[@]}"; do start run_case $side "$key"; done
  done
  wait
  compare_group
done
also=$([[ $notes -eq 0 ]] || echo ", $notes notes")
if [[ $differences -gt 0 ]]; then
  say "$differences of $cases cases are different$also, $SECONDS s${keep:+; outputs are in $keep}"
  [[ -n $keep ]] || say "to look at them: --keep DIR, then diff -r DIR/old/CASE DIR/new/CASE"
  exit 1
fi
say "all equal: $cases cases$also, $SECONDS s"
