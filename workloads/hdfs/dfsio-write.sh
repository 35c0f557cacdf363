#!/usr/bin/env bash
# TestDFSIO: a share's files of FILE_BYTES each, written at once.
set -euo pipefail
results=$(mktemp) # several shares may be at work in one container
job org.apache.hadoop.fs.TestDFSIO -Dtest.build.data="$FOLDER/dfsio/$SHARE" \
    -Dmapreduce.local.map.tasks.maximum="$STREAMS" -write -nrFiles "$((BYTES / FILE_BYTES))" \
    -size "${FILE_BYTES}B" -resFile "$results"
rm "$results"
