#!/usr/bin/env bash
# Keeps directories of nodes, in a container that sees the machine's disks. First
# argument: how; then pairs of a source and a target, which are saved all at once.
# What is below the name of a snapshot is whole: it gets its name when it is on the disk.

how=$1
shift
pids=()
failed=0

save() {
  if [ "$how" = move ]; then
    sync -f "$1" && mv -- "$1" "$2"
    return
  fi
  cp -a --reflink=never -- "$1" "$2.partial" &&
    sync -f "$2.partial" &&
    mv -- "$2.partial" "$2"
}

while (($#)); do
  save "$1" "$2" &
  pids+=($!)
  shift 2
done
for pid in "${pids[@]}"; do
  wait "$pid" || failed=1
done
exit $failed
