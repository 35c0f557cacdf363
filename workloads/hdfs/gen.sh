#!/usr/bin/env bash
# TeraGen: a share's rows of 100 bytes, whose checksum is kept for the scan that reads them sorted.
set -euo pipefail
said=$(mktemp) # several shares may be made in one container
job org.apache.hadoop.examples.terasort.TeraGen "$((BYTES / 100))" "$FOLDER/gen/$SHARE" |
    tee "$said"
grep -o 'CHECKSUM=.*' "$said" |
    job org.apache.hadoop.fs.FsShell -put -f - "$FOLDER/checksum-$SHARE"
rm "$said"
