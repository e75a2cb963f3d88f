#!/bin/sh
# in_shards.sh N PROGRAM ARG...: the tests of a gtest program in N processes side by side.
count=$1
shift
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
pids=
for index in $(seq 0 $((count - 1))); do
  GTEST_TOTAL_SHARDS=$count GTEST_SHARD_INDEX=$index "$@" > "$folder/$index" 2>&1 &
  pids="$pids $!"
done
index=0
result=0
for pid in $pids; do
  wait "$pid" || result=1
  cat "$folder/$index"
  index=$((index + 1))
done
exit $result
