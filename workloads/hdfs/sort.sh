#!/usr/bin/env bash
# TeraSort of a share's rows. Hadoop's local runner sorts within the share: nothing is exchanged
# between shares, and what does not fit into memory is spilled beside the blocks.
set -euo pipefail
job org.apache.hadoop.examples.terasort.TeraSort "$FOLDER/gen/$SHARE" "$FOLDER/sort/$SHARE"
