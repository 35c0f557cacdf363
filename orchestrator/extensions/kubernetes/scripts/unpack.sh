#!/bin/sh
# Files into a folder of a pod. $0: the folder, $1: how many bytes come, for standard
# input may stay open. `main` may have another user than this computer.

head -c "$1" | tar -x -C "$0" --no-same-owner -f -
