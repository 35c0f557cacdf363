#!/usr/bin/env bash
# `-get`: reads what put.sh wrote into files on the reader's own disk, and holds them against it.
set -euo pipefail
folder=$(mktemp -d)
echo "tierbench: begins"
job org.apache.hadoop.fs.FsShell -get -t "$STREAMS" "$FOLDER/put/$SHARE/*" "$folder"
echo "tierbench: ends"
# Its last line: the rest is what is logged.
sum=$(job org.apache.hadoop.fs.FsShell -cat "$FOLDER/sum-$SHARE" | tail -n 1)
for file in "$folder"/*; do echo "$sum  $file"; done | sha256sum --check --strict --quiet
test "$(ls "$folder" | wc -l)" = "$((BYTES / FILE_BYTES))"
rm -r "$folder"
