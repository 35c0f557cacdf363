#!/bin/sh
# Where the reasons are, on a node. $0: the folder of its data. PostgreSQL's newest log,
# and what the servers keep of warnings and ends.

# shellcheck disable=SC2012,SC2046  # names of logs have no blanks, and the newest is wanted
cd "$0" && for file in logs/*.err \
    data/yb-data/*/logs/*.WARNING data/yb-data/*/logs/*.FATAL \
    $(ls -t data/yb-data/*/logs/postgresql-*.log | head -n 1); do
  [ -s "$file" ] && echo "$file:" && tail -n 8 "$file"
done 2>/dev/null
true
