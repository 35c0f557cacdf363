#!/bin/sh
# Heartbeats of the client, one a line. $0: their file.

while read -r number; do
  echo "$number" > "$0"
done
