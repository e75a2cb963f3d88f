# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # variables that it shares with same_results.sh
# The commands that same_results.sh gives to both programs: a function cases_GROUP for each group.

keys=()               # group/name, in order
declare -A commands   # of each: its words, quoted for a shell
declare -A begun_by   # old or new: who begins NEW's run, stops on the way, and leaves the rest to NEW
add() {
  local key=$group/$1
  shift
  [[ -z ${commands[$key]:-} ]] || { say "two cases are called $key" >&2; exit 1; }
  keys+=("$key")
  printf -v "commands[$key]" ' %q' "$@"
}

# What OLD knows, into `listed`: 'names methods', and from its answer to a wrong value 'choices policy.name'.
take() {
  mapfile -t listed
  [[ ${listed[*]-} =~ ^[a-z0-9_+\ -]+$ ]] && return
  say "OLD does not tell its $1 as this script expects" >&2
  exit 1
}
names() { take "$1" < <("${programs[old]}" list "$1" --json | sed -n 's/^ *"name": "\(.*\)",$/\1/p'); }
wrong() { { "${programs[old]}" "$@" 2>&1 || true; } | sed 's/, /\n/g'; }
choices() { take "$1" < <(wrong train --set "$1=?" | sed -e 's/.*(one of: //' -e 's/)$//'); }
kinds() { take kinds < <(wrong list '?' | sed -e 's/.*known: //' -e 's/ (.*//'); }
subcommands() {
  "${programs[old]}" "$@" --help |
    awk '/^[A-Za-z]+:$/ {on = tolower($0) !~ /^(options|positionals|examples):/; next} on && /^  [a-z]/ {print $1}'
}

# The same numbers in every shell.
picked='' random=2026
pick() {
  random=$(((random * 1103515245 + 12345) % 2147483648))
  local at=$(((random >> 16) % $# + 1))
  picked=${!at}
}

cases_list() {
  local kind
  kinds
  for kind in "${listed[@]}"; do
    add "$kind" list "$kind"
    add "$kind-json" list "$kind" --json
    [[ $kind != *keys ]] || add "$kind-markdown" list "$kind" --markdown
  done
  add unknown list '?'
}

cases_help() {
  local command inner
  add adagp --help
  for command in $(subcommands); do
    add "$command" "$command" --help
    for inner in $(subcommands "$command"); do add "$command-$inner" "$command" "$inner" --help; done
  done
}

cases_layers() {
  local table name input
  for table in "$root"/configs/layers/*.csv; do
    name=${table##*/} name=${name%.csv}
    input=(--input "${name##*-}")
    [[ $name == *-cifar || $name == *-imagenet ]] || input=()
    add "$name-csv" layers --model "${name%-*}" "${input[@]}" --all --csv
    add "$name-json" layers --model "${name%-*}" "${input[@]}" --json
    add "$name-coverage" layers --model "${name%-*}" "${input[@]}" --coverage --csv
  done
  add text layers --model resnet8
  add slim layers --model vgg11 --input 64x48 --classes 7 --form imagenet --all --json
  add words layers --model transformer --input tokens:9,11 --words 100,200 --all --json
  add head layers --model resnet18 --coverage --head exact --json
  add zoo layers --zoo zoo
}

cases_simulate() {
  local tables=("$root"/configs/layers/*.csv) i words name accelerators dataflows designs
  names accelerators
  accelerators=("${listed[@]}" "$root/configs/accelerators/eyeriss.toml" ../../../inputs/small.toml)
  names dataflows
  dataflows=("${listed[@]}")
  names designs
  designs=("${listed[@]}")
  cat >"$work/inputs/small.toml" <<'TOML'
dataflow = "os"
clock_mhz = 500
word_bytes = 1

[array]
rows = 24
columns = 10

[buffer]
bytes = 32768
bytes_per_cycle = 24

[dram]
bytes_per_cycle = 6
TOML
  for ((i = 1; i <= 200; ++i)); do
    pick "${tables[@]}"
    name=${picked##*/} name=${name%.csv}
    words=(--model "${name%-*}" --input "${name##*-}")
    pick 1 2 12 64 128 300; words+=(--batch "$picked")
    pick "${accelerators[@]}"; words+=(--accelerator "$picked")
    pick '' '' 8x8 12x15 7x9 32x32 128x64; [[ -z $picked ]] || words+=(--array "$picked")
    pick '' "${dataflows[@]}"; [[ -z $picked ]] || words+=(--dataflow "$picked")
    pick '' '' buffer.bytes=65536 buffer.double_buffered=false vector.lanes=64 predictor.full_width=true
    [[ -z $picked ]] || words+=(--set "$picked")
    pick '' '' dram.bytes_per_cycle=4 buffer.bytes_per_cycle=8 predictor.rows=5 energy.dram_standby_mw=20
    [[ -z $picked ]] || words+=(--set "$picked")
    pick '' '' '' --per-layer --products-only; [[ -z $picked ]] || words+=("$picked")
    pick train train train train inference
    if [[ $picked == inference ]]; then
      words+=(--inference)
    else
      pick all all "${designs[@]}"; words+=(--designs "$picked")
      pick 1 9 30 90; words+=(--epochs "$picked")
      pick auto auto paper bp '2ep bp, 1ep 3:1, 1:1'; words+=(--schedule "$picked")
      pick shared shared remap; words+=(--predictor "$picked")
      pick '' '' 8 32; [[ -z $picked ]] || words+=(--predictor-channels "$picked")
      pick '' '' '' 1000 50000; [[ -z $picked ]] || words+=(--examples "$picked")
    fi
    add "$(printf 'point-%03d' "$i")" simulate "${words[@]}" --json
  done
  local sweep=(--model 'vgg13,resnet18' --input cifar --array '8..32*2x16' --dataflow all --designs all
    --threads 2)
  add sweep-json simulate "${sweep[@]}" --json
  add sweep-csv simulate "${sweep[@]}" --csv
  add sweep-text simulate "${sweep[@]}"
  add pareto simulate "${sweep[@]}" --pareto cycles,energy --json --plot front.svg
  add every-network simulate --model all --input cifar --designs all --json
  add text simulate --model resnet50 --plot layers.svg
  add layers-csv simulate --model mobilenet_v2 --per-layer --csv
  add explain simulate --model resnet18 --explain conv1
  add table simulate --table "$root/configs/layers/resnet8-cifar.csv" --designs all --json
  add topology simulate --topology "$root/tests/fuzz/corpus/topology/conv" --inference --json
  add gemm simulate --topology "$root/tests/fuzz/corpus/topology/gemm" --topology-kind gemm --inference \
    --json
}

cases_pipeline() {
  local schedule stages parts phases
  names pipelines
  for schedule in "${listed[@]}"; do
    for stages in 2 4; do
      for parts in 4 8; do
        for phases in bp gp-bp 'gp*4-bp'; do
          add "$schedule-$stages-$parts-${phases/\*/}" pipeline --schedule "$schedule" --stages $stages \
            --micro-batches $parts --phases "$phases" --json
        done
      done
    done
    add "$schedule-text" pipeline --schedule "$schedule" --phases gp-bp --gantt --plot gantt.svg
    add "$schedule-costs" pipeline --schedule "$schedule" --phases gp-bp --fw 1.5 --bw 2.5 --predictor 0.5 \
      --summary 0.1 --optimizer 0.2 --latency 0.25 --bandwidth 8 --bytes 2 --weight-bytes 4 \
      --summary-bytes 1 --json
    add "$schedule-network" pipeline --schedule "$schedule" --model resnet50 --phases gp-bp --json
    add "$schedule-files" pipeline --schedule "$schedule" --costs ../../../inputs/costs.csv --stages 2 --json
  done
  printf '%s\n' name,forward,backward,output_bytes a,1,2,8 b,1,2,8 c,2,4,8 d,0.5,1,4 e,3,5,8 \
    >"$work/inputs/costs.csv"
  add sweep pipeline --schedule all --sweep --csv
  add batch-by-batch pipeline --schedule chimera --phases gp-bp --batch-by-batch --json
  add long pipeline --schedule all --phases gp-bp --batches 1000 --json
  add transformer pipeline --model transformer --input multi30k --accelerator eyeriss --batch 64 --memory 2 \
    --json
}

cases_paper() {
  add json paper --json
  add text paper --networks --plot plots
  add larger paper --array 32x32 --batch 64 --epochs 30 --vector-passes --json
}

cases_scalesim() {
  local corpus=$root/tests/fuzz/corpus config dataflow memory topology kind name
  for config in "$corpus"/scalesim_config/*; do
    for dataflow in ws is os; do
      for memory in 64 1; do
        name=${config##*/}-$dataflow-$memory
        sed -e "s/^Dataflow : ws/Dataflow : $dataflow/" -e "s/SzkB : 64/SzkB : $memory/" "$config" \
          >"$work/inputs/$name.cfg"
        for topology in "$corpus"/topology/*; do
          kind=conv
          [[ $topology != */gemm ]] || kind=gemm
          add "$name-${topology##*/}" scalesim -c "../../../inputs/$name.cfg" -t "$topology" -i $kind \
            -p out --json
        done
      done
    done
    add "${config##*/}-text" scalesim -c "$config" -t "$corpus/topology/conv" -p out
  done
}

cases_data() {
  local name format
  for name in synthetic synthetic-detection synthetic-translation; do
    add "$name" data info --data $name --train 40 --test 10 --json
  done
  for format in folder cifar10 packed; do
    add "make-$format" data make --data synthetic --train 40 --test 10 --format $format -o made
  done
  add make-boxes data make --data synthetic-detection --size 64 --train 10 --test 4 -o made
  add pack data pack --data synthetic --size 16 --train 40 --test 10 -o made
}

# ---------------------------------------------------------------- training

# Some ten batches of milliseconds an epoch. -q: the rest of stderr has times.
common=(-q train --json --device cpu --threads 1 --seed 7 --schedule '1ep bp, 1:1' --set log_every=4ba
  --set probe_every=4ba)
images=(--data synthetic --batch 20 --set data.synthetic_size=16 --set data.synthetic_train=200
  --set data.synthetic_test=40 --set optim.lr=0.05 --set model.width_divisor=4)
sentences=(--model transformer --data synthetic-translation --batch 20 --set data.synthetic_train=200
  --set data.synthetic_test=20 --set model.width=16 --set model.heads=2 --set model.hidden=32
  --set model.encoder_layers=1 --set model.decoder_layers=1 --set translation.min_frequency=1
  --set optim.name=adam --set optim.lr=0.005)
boxes=(--model yolov3 --data synthetic-detection --batch 4 --set eval_batch=8 --set data.image_size=64
  --set data.synthetic_train=28 --set data.synthetic_test=6 --set model.width_divisor=32
  --set optim.name=adam --set optim.lr=0.001)

# train NAME EPOCHS NETWORK METHOD [OPTION...]: a case that trains.
train() {
  local name=$1 epochs=$2 network=$3 method=$4 data options=()
  shift 4
  case $network in
    transformer) data=("${sentences[@]}") ;;
    yolov3) data=("${boxes[@]}") ;;
    *) data=(--model "$network" "${images[@]}") ;;
  esac
  case $method in
    equal-time) options=(--set equal_time.batches=$((6 * epochs))) ;;
    freeze) options=(--set 'freeze.at=[0.3, 0.6]') ;;
    # No clock, and so easily convinced that it adopts something in a short run.
    auto) options=(--set auto.clock=counted --set auto.heldout=20 --set auto.window=2 --set auto.pairs=3
      --set auto.confidence=0.6 --set auto.probe_share=0.5
      --set 'auto.steps=["low-res", "adagp", "skip", "partial"]') ;;
  esac
  add "$name" "${common[@]}" --epochs "$epochs" "${data[@]}" --method "$method" \
    ${options[@]+"${options[@]}"} "$@" -o run
}

cases_methods() {
  local network method
  names methods
  for network in vgg8s resnet8 transformer yolov3; do
    for method in "${listed[@]}" progressive+stored-loss; do
      train "$network-$method" 3 "$network" "$method"
    done
  done
}

cases_options() {
  local name options
  names predictors
  for name in "${listed[@]}"; do train "predictor-$name" 3 vgg8s adagp --set "predictor.kind=$name"; done
  choices optim.name
  for name in "${listed[@]}"; do train "optimizer-$name" 3 vgg8s adagp --set "optim.name=$name"; done
  choices policy.name
  for name in "${listed[@]}"; do
    case $name in
      step) options=(--set policy.every=1ep) ;;
      multi-step) options=(--set 'policy.milestones=["1ep", "25ba"]') ;;
      plateau) options=(--set policy.patience=0 --set policy.threshold=0.5) ;;
      *) options=() ;;
    esac
    train "policy-$name" 3 resnet8 adagp --set "policy.name=$name" ${options[@]+"${options[@]}"}
  done
  for name in exact frozen; do train "head-$name" 3 vgg8s adagp --set head=$name; done
  train head-exact-translation 3 transformer adagp --set head=exact
  train head-exact-detection 3 yolov3 adagp --set head=exact
  train accumulate 3 resnet8 adagp --set accumulate=4
  train clip 3 resnet8 adagp --set clip=0.5 --set accumulate=2
  train nesterov 3 vgg8s bp --set optim.nesterov=true --set optim.decay_norm_bias=false
  train smoothed 3 resnet8 adagp --set label_smoothing=0.1
  train selective-priority 3 resnet8 selective --set selective.rule=priority
  train raw-target 3 vgg8s adagp --set predictor.target=raw --set 'predictor.milestones=["1ep"]'
  train joined 3 resnet8 selective+infobatch
  train tied 3 transformer adagp --set model.tied=true --set translation.beam=1
}

cases_parallel() {
  local schedule
  names pipelines
  for schedule in "${listed[@]}"; do
    train "$schedule" 3 resnet8 adagp --parallel "pipeline=$schedule,micro-batches=4,local=2"
  done
  train gpipe-translation 3 transformer adagp --parallel pipeline=gpipe,micro-batches=2,local=2
  train copies 3 resnet8 adagp --parallel data,local=2
  train copies-bp 3 vgg8s bp --parallel data,sync-norm,local=2
  train copies-gradients 3 vgg8s adagp --parallel data,predict=gradients,local=2
  train copies-of-pipelines 3 resnet8 adagp --parallel data,pipeline=chimera,stages=2,micro-batches=2,local=4
}

cases_resume() {
  local network method
  for network in resnet8 transformer yolov3; do
    train "$network-stopped" 12 "$network" adagp --set checkpoint_every=3ba
    begun_by["$group/$network-stopped"]=new
  done
  for network in transformer yolov3; do
    train "$network-begun-by-old" 12 "$network" adagp --set checkpoint_every=3ba
    begun_by["$group/$network-begun-by-old"]=old
  done
  # What each method keeps in a checkpoint.
  names methods
  for method in "${listed[@]}" progressive+stored-loss; do
    train "resnet8-$method-begun-by-old" 12 resnet8 "$method" --set checkpoint_every=3ba
    begun_by["$group/resnet8-$method-begun-by-old"]=old
  done
}
