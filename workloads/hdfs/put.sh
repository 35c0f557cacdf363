#!/usr/bin/env bash
# `-put`: a share's files of FILE_BYTES each, all of one content that no disk can shorten.
set -euo pipefail
folder=$(mktemp -d)
head -c "$FILE_BYTES" /dev/urandom >"$folder/0"
sync "$folder/0"
for number in $(seq "$((BYTES / FILE_BYTES - 1))"); do ln "$folder/0" "$folder/$number"; done
job org.apache.hadoop.fs.FsShell -mkdir -p "$FOLDER/put/$SHARE"
echo "tierbench: begins"
job org.apache.hadoop.fs.FsShell -put -t "$STREAMS" "$folder"/* "$FOLDER/put/$SHARE"
echo "tierbench: ends"
sha256sum "$folder/0" | cut -d ' ' -f 1 |
    job org.apache.hadoop.fs.FsShell -put -f - "$FOLDER/sum-$SHARE"
rm -r "$folder"
