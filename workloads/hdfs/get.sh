#!/usr/bin/env bash
# `-get`: reads what put.sh wrote into files on the reader's own disk, and holds them against it.
set -euo pipefail
folder=$(mktemp -d)
echo "tierbench: begins"
job org.apache.hadoop.fs.FsShell -get -t "$STREAMS" "/put/$SHARE/*" "$folder"
echo "tierbench: ends"
sum=$(job org.apache.hadoop.fs.FsShell -cat "/sum-$SHARE" | tail -n 1) # behind what is logged
for file in "$folder"/*; do echo "$sum  $file"; done | sha256sum --check --strict --quiet
test "$(ls "$folder" | wc -l)" = "$((BYTES / FILE_BYTES))"
rm -r "$folder"
