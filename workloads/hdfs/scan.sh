#!/usr/bin/env bash
# TeraValidate: reads a share's sorted rows, and says their checksum and what is out of order; then
# the checksum that TeraGen had.
set -euo pipefail
job org.apache.hadoop.fs.FsShell -rm -r -f -skipTrash "$FOLDER/report/$SHARE" >/dev/null
job org.apache.hadoop.examples.terasort.TeraValidate "$FOLDER/sort/$SHARE" "$FOLDER/report/$SHARE"
job org.apache.hadoop.fs.FsShell -cat "$FOLDER/report/$SHARE/part-r-00000" "$FOLDER/checksum-$SHARE"
