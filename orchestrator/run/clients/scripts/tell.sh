#!/bin/sh
# The client's time, for each line that comes.

while read -r _; do
  date +%s.%N
done
